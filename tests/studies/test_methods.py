"""Methods by name, parameters left to the data, and scores, each against a plain computation."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from semisvm import SupervisedSVC
from studies.papers.baselines import PackageMixture
from studies.papers.methods import PAPER_METHODS, fit_method, missing_method
from studies.papers.run import run_cell
from studies.papers.samples import Sample, draw_sample
from studies.papers.scores import ROC_GRID, score
from studies.papers.simulate import bayes_rate
from studies.papers.tasks import Cell, Task
from studies.papers.tuning import median_gamma, tune


@pytest.fixture(scope="module")
def part():
    return draw_sample("A1", {"hidden": 0.9, "n": 200}, 0)


class Constant:
    """Predicts one class."""

    def __init__(self, label):
        self.label = label

    def predict(self, X):
        return np.full(len(X), self.label)


def test_tuning_hides_each_label_once_and_takes_the_first_of_equally_good_settings(part):
    hidden = []

    def fit(X, y, params):
        hidden.append(np.flatnonzero(part.is_labeled & (y == -1)))
        return Constant(0)

    assert tune(fit, part, {"a": [3, 1, 2], "b": "fixed"}, seed=0) == {"a": 3, "b": "fixed"}
    assert len(hidden) == 15
    assert sorted(np.concatenate(hidden[:5])) == np.flatnonzero(part.is_labeled).tolist()


def test_tuning_finds_the_setting_that_predicts_hidden_labels(part):
    def fit(X, y, params):
        return SupervisedSVC(kernel="linear", C=0.01).fit(X, y) if params["good"] else Constant(5)

    assert tune(fit, part, {"good": [False, True]}, seed=1) == {"good": True}


def test_nothing_is_fitted_where_nothing_is_left_open(part):
    assert tune(None, part, {"C": 1.0}, seed=0) == {"C": 1.0}


def test_the_median_bandwidth_is_that_of_the_labeled_rows():
    X = np.array([[0.0], [1.0], [3.0], [100.0]])
    part = Sample(X, np.array([0, 1, 0, -1]), np.zeros(4), X, np.zeros(4))
    assert median_gamma(part) == pytest.approx(1 / (2 * 2**2))  # distances 1, 2, 3
    same = Sample(np.ones((3, 1)), np.array([0, 1, 0]), np.zeros(3), X, np.zeros(4))
    assert median_gamma(same) == 0.5


def test_a_method_that_is_not_in_this_version_says_so(monkeypatch):
    assert missing_method("supervised") == ""
    monkeypatch.setitem(PAPER_METHODS, "later", replace(PAPER_METHODS["cluster"], needs="LaterSVC"))
    assert missing_method("later") == "LaterSVC is not in this version"


@pytest.mark.parametrize("method", [name for name in PAPER_METHODS if not missing_method(name)])
def test_every_method_that_is_there_runs_and_stays_below_the_bayes_rate(method):
    # a smoother norm is a smaller one, which leaves C = 0.01 nothing to do
    params = (
        {}
        if "mixture" in method
        else {"kernel": "linear", "C": 1.0 if method == "laplacian" else 0.01}
    )
    record = run_cell(Cell(Task("A1", method, {"hidden": 0.8, "n": 200}, params), 0))
    assert record["outcome"] == "done", record["why"]
    assert 0.5 < record["measures"]["accuracy"] <= bayes_rate("A1") + 0.02
    assert record["measures"]["accuracy_100"] != record["measures"]["accuracy"]


def test_an_oracle_sees_every_label(part):
    model = fit_method("oracle", part, {"kernel": "linear", "C": 0.01}, 0)()
    plain = SupervisedSVC(kernel="linear", C=0.01, multi_class="ovo").fit(part.X, part.truth)
    assert np.array_equal(model.predict(part.X_test), plain.predict(part.X_test))


def test_the_package_mixture_classifies_clusters_of_equal_width():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) + 3 * rng.integers(2, size=(300, 1))
    truth = (X.sum(axis=1) > 3).astype(int)
    y = np.where(np.arange(300) < 20, truth, -1)
    model = PackageMixture().fit(X, y)
    assert np.mean(model.predict(X) == truth) > 0.97
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(300))


def test_scores_are_those_of_scikit_learn(part):
    rng = np.random.default_rng(0)
    decision = rng.standard_normal(1000) + part.y_test
    model = SimpleNamespace(
        predict=lambda X: (decision > 0.5).astype(int),
        decision_function=lambda X: decision,
        transduction_=1 - part.truth,
        support_=np.arange(7),
        labeled_iter_=np.array([0, 3, -1]),
        history_=[
            SimpleNamespace(details=details)
            for details in ({"one_sided": True}, {"one_sided": False}, {})
        ],
    )
    scores, curves = score(model, part)
    predicted = decision > 0.5
    assert scores["precision"] == precision_score(part.y_test, predicted)
    assert scores["recall"] == recall_score(part.y_test, predicted)
    assert scores["f1"] == pytest.approx(f1_score(part.y_test, predicted))
    assert scores["auc"] == pytest.approx(roc_auc_score(part.y_test, decision))
    assert scores["errors"] == np.count_nonzero(predicted != part.y_test)
    assert scores["accuracy_100"] == np.mean((predicted == part.y_test)[:100])
    assert scores["unlabeled_errors"] == np.count_nonzero(~part.is_labeled)
    assert (scores["support"], scores["rounds"], scores["one_sided"]) == (7, 3, 0.5)
    assert scores["collapsed"] == float(scores["errors"] >= 250)
    roc = curves["roc"]
    assert roc == sorted(roc)
    assert roc[-1] == 1.0
    assert len(roc) == len(ROC_GRID)
    threshold = np.quantile(decision[part.y_test == 0], 0.9)
    at_a_tenth = np.mean(decision[part.y_test == 1] > threshold)
    assert roc[ROC_GRID.index(0.1)] == pytest.approx(at_a_tenth, abs=0.01)
