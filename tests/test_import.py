"""`import semisvm` brings in nothing heavy beyond what scikit-learn itself does."""

import subprocess
import sys

HEAVY = ("numba", "torch", "triton", "pandas", "polars", "matplotlib", "rich", "click")


def modules_after(statement):
    code = f"import sys; {statement}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_semisvm_adds_no_heavy_module_to_those_of_scikit_learn():
    ours = modules_after("import semisvm")
    theirs = modules_after("import sklearn.svm, sklearn.model_selection, sklearn.callback")
    assert ours - theirs == set()
