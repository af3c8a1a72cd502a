"""Ctrl-C: a plain fit keeps the best model, the loop of someone else ends, and a second Ctrl-C ends everything."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from semisvm import MixtureClassifier, PreferenceClassifier, SupervisedSVC
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
    assert make_pipeline(StandardScaler(), SupervisedSVC()).fit(X, Y)[-1].termination_condition_ == "interrupted"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "loop",
    [
        GridSearchCV(SupervisedSVC(), {"C": [0.1, 1.0, 10.0]}, cv=2),
        GridSearchCV(make_pipeline(StandardScaler(), SupervisedSVC()), {"supervisedsvc__C": [0.1, 1.0]}, cv=2),
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
