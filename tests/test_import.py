"""`import semisvm` loads no library, estimators load nothing heavy beyond scikit-learn, type
checkers know all names, and what needs the extra [cli] says so where it is missing.
"""

import ast
import functools
import subprocess
import sys

import pytest

import semisvm
import semisvm.estimators
from command_line import run_command
from semisvm import errors

HEAVY = ("numba", "torch", "triton", "pandas", "polars", "matplotlib", "rich", "click")


ADAPTED = ("torch", "cupy", "dask", "jax")


@functools.cache
def loaded_by(*statements):
    """The modules that a new process has loaded after each of the statements."""
    code = "\n".join(f"{statement}\nprint(*sys.modules)" for statement in statements)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}"], capture_output=True, text=True, check=True
    )
    return [set(line.split()) for line in done.stdout.splitlines()]


SCIKIT_LEARN = """import sklearn.svm, sklearn.model_selection
try: import sklearn.callback
except ImportError: pass
"""
# One process each, which several tests look at.
ONE_ESTIMATOR_THEN_AUTO = (
    SCIKIT_LEARN,
    "from semisvm import LaplacianSVC",
    "from semisvm import AutoSVC",
)
PREFERENCE = (SCIKIT_LEARN, "from semisvm import PreferenceSVC")


def test_importing_semisvm_loads_no_library():
    code = "import sys, semisvm; assert not {'numpy', 'scipy', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_estimators_adds_no_heavy_module_to_those_of_scikit_learn():
    for statements in (ONE_ESTIMATOR_THEN_AUTO, PREFERENCE):
        theirs, *_, ours = loaded_by(*statements)
        assert (ours - theirs) & set(HEAVY) == set()


def test_reading_and_writing_models_loads_no_library_that_scikit_learn_adapts_to():
    pytest.importorskip("skops")
    pytest.importorskip("dask")  # by skops alone it is loaded, from scikit-learn 1.7 on
    loaded, trusted, _ = loaded_by(
        "from semisvm.sklearn_private import import_skops_io as load; load().dumps(1)",
        "import skops.io._trusted_types as t; print(*t.SKLEARN_ESTIMATOR_TYPE_NAMES)",
    )
    assert loaded & set(ADAPTED) == set()
    code = (  # in a process of its own, in which no other test has enabled experimental ones
        "from sklearn.utils import all_estimators\n"
        "print(*(f'{estimator.__module__}.{name}' for name, estimator in all_estimators()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert trusted >= set(done.stdout.split())


@pytest.mark.parametrize("target", ["min_precision=0.9", "min_recall=0.8", "min_f=0.6"])
def test_a_campaign_about_scores_needs_numpy_alone(target):
    statement = f"""import numpy
from semisvm import Campaign
campaign = Campaign(numpy.linspace(-2, 2, 500), {target})
campaign.tell(campaign.draw(5), [1, 0, 1, None, 1])
campaign.verdict(), campaign.accepted()"""
    watched = ("scipy", "sklearn", "numba", "pandas", "semisvm.kernels", "semisvm.campaign.model")
    assert loaded_by(statement)[0] & set(watched) == set()


def test_an_estimator_is_imported_without_the_others():
    auto = "semisvm.estimators.auto"
    preference = "semisvm.estimators.preference"
    others = {auto, preference}
    _, laplacian, after_auto = loaded_by(*ONE_ESTIMATOR_THEN_AUTO)
    assert laplacian & others == set()
    assert after_auto & others == {auto}
    assert loaded_by(*PREFERENCE)[1] & others == {preference}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: semisvm.save(None, "m.skops"), "save needs skops"),
        (lambda: semisvm.load("m.skops"), "load needs skops"),
        (lambda: semisvm.write_report(None, [], []), "write_report needs jinja2 and pandas"),
    ],
)
def test_without_the_extra_the_error_has_the_line_to_run(monkeypatch, call, words):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=rf'{words}, .*pip install "semisvm\[cli\]"'):
        call()


def test_without_the_extra_the_command_says_what_to_run(monkeypatch, capsys):
    monkeypatch.setattr(errors, "find_spec", lambda name: name != "rich" or None)
    done = run_command(capsys, "info")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "Error: The command semisvm needs rich, which is not installed. Run: pip install"
        ' "semisvm[cli]"\n'
    )
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    assert (
        "click, jinja2, pandas, pyarrow, rich and skops, which are"
        in run_command(capsys, "info").err
    )


@pytest.mark.parametrize(
    "package", [semisvm, semisvm.estimators], ids=lambda package: package.__name__
)
def test_names_that_are_imported_late_are_imported_for_type_checkers(package):
    with open(package.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    known = {alias.name for node in imports for alias in node.names}
    known |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert set(package.__all__) <= known
