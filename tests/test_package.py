"""The package as a whole: its names, what an import loads, and what it says without its extra."""

import subprocess
import sys

import pytest

import semisvm

PUBLIC = {
    *("AutoSVC", "UnlabeledKernel", "SupervisedSVC", "SVCCV"),
    *("TransductiveSVC", "LaplacianSVC", "LabelMeanSVC", "ProgressiveSVC", "ClusterSVC"),
    *("SelfTrainingSVC", "MixtureClassifier", "PaperPreferenceSVC"),
    *("PreferenceSVC", "PreferenceClassifier", "PositiveUnlabeledSVC", "certify"),
    *("Campaign", "Audit", "Monitor"),
    *("SemiSupervisedSplit", "SemiSupervisedCalibratedClassifierCV", "make_labeled_scorer"),
    *("compare", "check_fair_sample", "save", "load"),
}


def loaded_by(code):
    """The modules that a new process has loaded after some code."""
    code = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_public_names():
    assert set(semisvm.__all__) == PUBLIC
    assert all(getattr(semisvm, name).__doc__ for name in PUBLIC)
    assert set(dir(semisvm)) >= PUBLIC
    with pytest.raises(AttributeError, match="no_such_name"):
        semisvm.no_such_name  # noqa: B018


def test_what_is_imported_loads_what_it_needs():
    assert not {"numpy", "scipy", "sklearn"} & loaded_by("import semisvm")
    campaign = """import numpy, semisvm
campaign = semisvm.Campaign(numpy.linspace(-2, 2, 500), min_precision=0.9, random_state=0)
rows = campaign.draw(5)
campaign.tell(rows, [1, 0, 1, None, 1])
campaign.verdict(), campaign.accepted()"""
    assert not {"sklearn", "numba", "pandas", "torch"} & loaded_by(campaign)
    ours = loaded_by("import sklearn.svm, sklearn.model_selection; from semisvm import AutoSVC")
    theirs = loaded_by("import sklearn.svm, sklearn.model_selection")
    assert not {"torch", "triton", "pandas", "polars", "click", "rich"} & (ours - theirs)


@pytest.mark.parametrize("call", ["save(None, 'm.skops')", "load('m.skops')"])
def test_without_the_extra_an_error_has_the_line_to_run(call):
    code = f"""import sys
for name in ("skops", "click", "rich", "pandas", "pyarrow"):
    sys.modules[name] = None
import semisvm
try:
    semisvm.{call}
except ImportError as error:
    print(error)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "semisvm[cli]"' in done.stdout
