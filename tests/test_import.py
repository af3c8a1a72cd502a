"""`import semisvm` brings in nothing heavy beyond scikit-learn, and type checkers know all its names."""

import ast
import subprocess
import sys

import pytest

import semisvm
import semisvm.estimators

HEAVY = ("numba", "torch", "triton", "pandas", "polars", "matplotlib", "rich", "click")


def modules_after(statement):
    code = f"import sys; {statement}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_semisvm_adds_no_heavy_module_to_those_of_scikit_learn():
    ours = modules_after("import semisvm")
    theirs = modules_after("import sklearn.svm, sklearn.model_selection, sklearn.callback")
    assert ours - theirs == set()


@pytest.mark.parametrize("package", [semisvm, semisvm.estimators], ids=lambda package: package.__name__)
def test_names_that_are_imported_late_are_imported_for_type_checkers(package):
    with open(package.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    known = {alias.name for node in imports for alias in node.names}
    known |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert set(package.__all__) <= known
