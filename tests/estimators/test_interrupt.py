"""Ctrl-C: a plain fit keeps the best model, the loop of someone else ends, and a second Ctrl-C
ends everything.
"""

import sys
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from semisvm import (
    ClusterSVC,
    LaplacianSVC,
    MixtureClassifier,
    PreferenceClassifier,
    SupervisedSVC,
)
from semisvm.estimators import progress

Y = np.arange(24) % 2
X = np.random.default_rng(0).normal(size=(24, 2)) + Y[:, None]


@pytest.fixture(autouse=True)
def nobody_pressed_before(monkeypatch):
    monkeypatch.setattr(progress, "_interrupted_at", -np.inf)


@pytest.fixture
def pressed(monkeypatch):
    """Every solve is interrupted at once; the list has one entry per solve."""
    from semisvm.dual import advance

    solves = []

    def interrupt(*_):
        solves.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(advance.PairwiseSteps, "_bring_in", interrupt)
    return solves


def test_one_ctrl_c_in_a_plain_fit_keeps_the_model(pressed):
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = SupervisedSVC().fit(X, Y)
    assert model.termination_condition_ == "interrupted"
    assert len(model.predict(X)) == 24


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_ctrl_c_in_a_pipeline_keeps_the_model(pressed):
    assert (
        make_pipeline(StandardScaler(), SupervisedSVC()).fit(X, Y)[-1].termination_condition_
        == "interrupted"
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "loop",
    [
        GridSearchCV(SupervisedSVC(), {"C": [0.1, 1.0, 10.0]}, cv=2),
        GridSearchCV(
            make_pipeline(StandardScaler(), SupervisedSVC()), {"supervisedsvc__C": [0.1, 1.0]}, cv=2
        ),
    ],
    ids=["search", "search of pipelines"],
)
def test_one_ctrl_c_inside_a_grid_search_ends_the_search(pressed, loop):
    with pytest.raises(KeyboardInterrupt):
        loop.fit(X, Y)
    assert len(pressed) == 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_one_ctrl_c_reaches_preference_classifier(pressed):
    with pytest.raises(KeyboardInterrupt):
        PreferenceClassifier(SupervisedSVC(), min_precision=0.8).fit(X, Y)
    assert len(pressed) == 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_second_ctrl_c_within_a_second_ends_the_users_own_loop(pressed):
    def fit_three():
        for C in (0.1, 1.0, 10.0):
            SupervisedSVC(C=C).fit(X, Y)

    with pytest.raises(KeyboardInterrupt):
        fit_three()
    assert len(pressed) == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_ctrl_c_ends_a_search_over_mixtures(monkeypatch):
    from semisvm.estimators import gaussians

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(gaussians, "estimate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(MixtureClassifier(), {"n_components": [1, 2]}, cv=2).fit(X, Y)


class PressAt:
    """A trace function that presses Ctrl-C at one of the calls of Python functions, where Python
    looks for signals. (Between two lines it does not always: a lock may be held there for ever.)
    Not at those of `warnings`, whose filters would not be put back where scikit-learn changes them.
    """

    def __init__(self, at):
        self.at = at
        self.n_passed = 0

    def __call__(self, frame, event, arg):
        if frame.f_globals.get("__name__") == "warnings":
            return
        self.n_passed += 1
        if self.n_passed == self.at:
            sys.settrace(None)
            raise KeyboardInterrupt


def fit_pressed_at(model, at):
    """Fit, interrupted at an instant: "kept", "raised", or another error, which is raised; and how
    many instants were passed.
    """
    before = sys.gettrace()
    config = sklearn.get_config()
    press = PressAt(at)
    try:
        sys.settrace(press)
        model.fit(X, np.where(np.arange(24) < 12, Y, -1))
        ending = "kept"
    except KeyboardInterrupt:
        ending = "raised"
    finally:
        sys.settrace(before)
        sklearn.set_config(**config)  # pressed inside of scikit-learn's own way to put it back
    return ending, press.n_passed


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", [LaplacianSVC, ClusterSVC], ids=lambda make: make.__name__)
def test_ctrl_c_at_any_instant_is_kept_or_raised_and_leaves_the_process_as_it_was(
    make, monkeypatch
):
    make().fit(X, Y)
    limits = [pool["num_threads"] for pool in threadpool_info()]
    filters = list(warnings.filters)
    _, n_instants = fit_pressed_at(make(), at=-1)
    endings = set()
    for at in np.linspace(1, n_instants - 1, 30).astype(int):
        monkeypatch.setattr(progress, "_interrupted_at", -np.inf)
        model = make()
        ending, _ = fit_pressed_at(model, at)
        endings.add(ending)
        if ending == "kept":
            assert len(model.predict(X)) == 24
        assert [pool["num_threads"] for pool in threadpool_info()] == limits
        assert warnings.filters == filters
    assert "raised" in endings
