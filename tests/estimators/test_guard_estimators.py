"""The guard in the estimators: its numbers by hand, what it changes, and what it leaves alone."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from semisvm import LabelMeanSVC, SupervisedSVC
from semisvm.decision.guard import guard, least_possible_cost, smoothed_confusion_cost
from semisvm.dual import Status
from semisvm.estimators import guarded as guard_module
from semisvm.estimators.binary import fit_pairs
from semisvm.model_selection.cross_fit import assign_folds, list_folds
from studies.data import load

BOTH = pytest.mark.parametrize("estimator", [SupervisedSVC, LabelMeanSVC])


def blobs(n=60, n_labeled=10, distance=1.5, seed=0):
    X, t = make_blobs(n, centers=[[0, 0], [distance, distance]], random_state=seed)
    labeled = np.append(
        np.flatnonzero(t == 0)[: n_labeled // 2], np.flatnonzero(t == 1)[: n_labeled // 2]
    )
    y = np.full(n, -1)
    y[labeled] = t[labeled]
    return X, y


def guarded(estimator, ratio, **parameters):
    return estimator(
        **{"costs": {0: 1, 1: ratio}, "guard": True, "gamma": 0.3, "tol": 1e-8} | parameters
    )


# The numbers.


def left_out_scores(model, X, y):
    """A fit from nothing for each labeled row, its label hidden, that scores it."""
    labeled = np.flatnonzero(y >= 0)
    scores = np.empty(len(labeled))
    for k, row in enumerate(labeled):
        without = y.copy()
        without[row] = -1
        scores[k] = (
            clone(model).set_params(guard=False).fit(X, without).decision_function(X[[row]])[0]
        )
    return scores, y[labeled]


def cost_by_hand(scores, truth, threshold, ratio):
    missed = np.sum((scores <= threshold) & (truth == 1))
    accepted = np.sum((scores > threshold) & (truth == 0))
    share = np.mean(truth)
    n_positive = np.sum(truth == 1)
    n_negative = np.sum(truth == 0)
    return ratio * share * (missed + 1) / (n_positive + 2) + (1 - share) * (accepted + 1) / (
        n_negative + 2
    )


@BOTH
@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_numbers_are_those_of_leaving_out_one_label_at_a_time(estimator, ratio, seed):
    X, y = blobs(seed=seed)
    model = guarded(estimator, ratio).fit(X, y)
    by_hand = guarded(estimator, ratio)
    if estimator is LabelMeanSVC:
        by_hand.set_params(
            positive_fraction=0.5
        )  # of all ten labels: the one that is hidden must not tell
    scores, truth = left_out_scores(by_hand, X, y)
    cuts = [cost_by_hand(scores, truth, cut, ratio) for cut in np.sort(scores)[:-1]]
    found = model.guard_
    assert found["own_cost"] == pytest.approx(cost_by_hand(scores, truth, 0.0, ratio))
    assert found["best_cut_cost"] == pytest.approx(min(cuts))
    assert found["constant_costs"] == pytest.approx({0: ratio * 0.5, 1: 0.5})
    assert found["n_fits"] == 10
    cheapest = 0 if ratio < 1 else 1
    if min(ratio * 0.5, 0.5) <= min(cuts):
        assert found["constant"] in ((0, 1) if ratio == 1 else (cheapest,))
    else:
        assert found["constant"] is None


def test_the_share_of_a_class_is_the_fraction_that_was_asked_for():
    X, y = blobs()
    found = guarded(LabelMeanSVC, 2.0, positive_fraction=0.2).fit(X, y).guard_
    assert found["class_shares"] == pytest.approx({0: 0.8, 1: 0.2})
    assert found["constant_costs"] == pytest.approx({0: 0.4, 1: 0.8})


def test_many_labels_are_held_out_in_folds_that_hold_each_once_and_every_class():
    codes = np.where(np.arange(300) < 90, np.arange(300) % 3, -1)
    folds = [test for _, test in list_folds(assign_folds(codes, guard_module.MOST_FITS)[0])]
    assert len(folds) == guard_module.MOST_FITS
    assert_array_equal(np.sort(np.concatenate(folds)), np.arange(90))
    assert all(len(set(codes[fold])) == 3 for fold in folds)


def test_each_of_two_classes_is_charged_one_error_in_two_rows():
    confusion = np.array([[4.0, 1.0], [2.0, 3.0]])
    costs = np.array([[0.0, 1.0], [7.0, 0.0]])
    expected = 7.0 * 0.3 * (2 + 1) / (5 + 2) + 1.0 * 0.7 * (1 + 1) / (5 + 2)
    assert smoothed_confusion_cost(confusion, costs, np.array([0.7, 0.3])) == pytest.approx(
        expected
    )


@pytest.mark.parametrize("n_classes", [2, 3, 6, 10])
def test_all_classes_together_are_charged_two_errors_in_four_rows(n_classes):
    n_labeled = np.arange(1.0, n_classes + 1)
    costs = 1 - np.eye(n_classes)
    shares = np.full(n_classes, 1 / n_classes)
    rates = [
        smoothed_confusion_cost(np.diag(n_labeled), costs, share) for share in np.eye(n_classes)
    ]
    charged_rows = n_labeled * rates / (0.5 - np.array(rates))  # rate = (rows / 2) / (n + rows)
    assert charged_rows.sum() / 2 == pytest.approx(2)
    assert smoothed_confusion_cost(
        np.zeros((n_classes, n_classes)), costs, shares
    ) == pytest.approx(0.5)


@BOTH
def test_of_three_classes_one_with_a_single_label_is_not_judged(estimator):
    X, t = make_blobs(60, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    y = np.full(60, -1)
    for label, n in enumerate((4, 3, 1)):
        y[np.flatnonzero(t == label)[:n]] = label
    costs = np.array([[0, 1, 2], [3, 0, 1], [2, 2, 0.0]])
    found = estimator(costs=costs, guard=True, gamma=0.03).fit(X, y).guard_
    assert found["n_fits"] == 7
    assert found["own_cost"] == pytest.approx(
        smoothed_confusion_cost(np.diag([4.0, 3.0, 0.0]), costs, np.array([4, 3, 1]) / 8)
    )
    assert found["constant"] is None


@BOTH
@pytest.mark.parametrize(("cost", "constant"), [(1.0, None), (50.0, 2)])
def test_where_no_class_has_two_labels_the_charge_alone_decides(estimator, cost, constant):
    X, t = make_blobs(60, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    y = np.full(60, -1)
    y[[np.flatnonzero(t == label)[0] for label in range(3)]] = range(3)
    model = estimator(costs={0: 1.0, 1: 1.0, 2: cost}, guard=True, gamma=0.03).fit(X, y)
    assert model.guard_["constant"] == constant
    assert model.guard_["n_fits"] == 0
    assert "expected to cost" in model.guard_["reason"]
    assert set(model.predict(X)) == ({0, 1, 2} if constant is None else {constant})


def test_a_constant_wins_where_it_costs_no_more_than_the_classifier():
    costs = np.array([[0, 1, 2], [3, 0, 1], [1, 9, 0.0]])
    shares = np.array([0.2, 0.3, 0.5])
    codes = np.arange(150) % 3
    perfect = guard(np.eye(3)[codes], codes, costs, shares)
    assert perfect.constant is None
    least = least_possible_cost(np.full(3, 50.0), costs, shares)
    assert_allclose([perfect.own_cost, perfect.best_cut_cost], least)
    assert_allclose(perfect.constant_costs, [0.3 * 3 + 0.5, 0.2 + 0.5 * 9, 0.2 * 2 + 0.3])
    knows_nothing = np.random.default_rng(0).normal(size=(150, 3))
    assert guard(knows_nothing, codes, costs, shares).constant == 2


def cuts_by_hand(decisions, codes, costs, shares):
    """est of the predictions at every number added to the scores of one class, constants left
    out.
    """
    for k in range(len(costs)):
        others = np.delete(decisions, k, axis=1).max(axis=1)
        leads = np.unique(others - decisions[:, k])
        for shift in np.concatenate([[leads[0] - 1], (leads[1:] + leads[:-1]) / 2]):
            given = (decisions + shift * (np.arange(len(costs)) == k)).argmax(axis=1)
            if len(set(given)) > 1:
                confusion = np.zeros_like(costs)
                np.add.at(confusion, (codes, given), 1)
                yield smoothed_confusion_cost(confusion, costs, shares)


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_the_classifier_may_have_the_best_cut_along_any_class(n_classes, seed):
    rng = np.random.default_rng(seed)
    codes = np.append(np.arange(n_classes), rng.integers(n_classes, size=12))
    decisions = (
        4 * (rng.normal(size=(len(codes), n_classes)) + np.eye(n_classes)[codes])
    ).round() / 4  # with ties
    costs = rng.uniform(1, 20, (n_classes, n_classes)) * (1 - np.eye(n_classes))
    found = guard(decisions, codes, costs, shares := rng.dirichlet(np.ones(n_classes)))
    best = min(cuts_by_hand(decisions, codes, costs, shares))
    assert found.best_cut_cost == pytest.approx(best)
    assert (found.constant is None) == (best < (shares @ costs).min())


# What it changes.


@BOTH
def test_where_no_outcome_could_help_no_fit_is_made(estimator, monkeypatch):
    X, y = blobs()
    fits = []
    fit_binary = estimator._fit_binary
    monkeypatch.setattr(
        estimator, "_fit_binary", lambda self, *task: fits.append(1) or fit_binary(self, *task)
    )
    model = guarded(estimator, 500).fit(X, y)
    assert len(fits) == 1
    assert model.guard_["constant"] == 1
    assert model.guard_["n_fits"] == 0
    assert "even a classifier without an error" in model.guard_["reason"]


@BOTH
@pytest.mark.parametrize("ratio", [500, 1 / 500])
def test_a_constant_is_predicted_and_the_ranking_stays(estimator, ratio):
    X, y = blobs()
    model = guarded(estimator, ratio).fit(X, y)
    free = guarded(estimator, ratio, guard=False).fit(X, y)
    constant = int(ratio > 1)
    assert model.guard_["constant"] == constant
    assert (model.predict(X) == constant).all()
    assert_array_equal(model.transduction_, np.where(y >= 0, y, constant))
    scores = model.decision_function(X)
    own = free.decision_function(X)
    assert ((scores > 0) == (constant == 1)).all()
    assert_allclose(scores, own + (2 * constant - 1) * np.sqrt(own**2 + 1), rtol=1e-9)
    assert_array_equal(np.argsort(scores), np.argsort(own))
    assert_array_equal(model.dual_coef_, free.dual_coef_)  # the machine is what it was


@BOTH
def test_the_ranking_stays_for_scores_of_any_size(estimator):
    X, y = blobs()
    model = guarded(estimator, 500, kernel="linear").fit(X, y)
    far = np.array([[-1e6, -1e6], [-1e5, -1e5], [1e5, 1e5], [1e6, 1e6]])
    scores = model.decision_function(far)
    assert (np.diff(scores) != 0).all()
    assert (scores > 0).all()


@BOTH
def test_a_machine_that_is_worth_it_is_left_alone(estimator):
    X, y = blobs(distance=8.0)
    model = guarded(estimator, 2.0).fit(X, y)
    free = guarded(estimator, 2.0, guard=False).fit(X, y)
    assert model.guard_["constant"] is None
    assert_array_equal(model.predict(X), free.predict(X))
    assert_array_equal(model.decision_function(X), free.decision_function(X))
    assert free.guard_ is None


@BOTH
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("costs", [{0: 1, 1: 1, 2: 500}, [[0, 1, 1], [1, 0, 1], [500, 400, 0]]])
def test_three_classes(estimator, multi_class, costs):
    X, t = load_iris(return_X_y=True)
    y = np.where(np.arange(150) % 50 < 4, t, -1)
    model = estimator(costs=costs, guard=True, multi_class=multi_class).fit(X, y)
    assert model.guard_["constant"] == 2
    assert (model.predict(X) == 2).all()
    assert (model.decision_function(X).argmax(axis=1) == 2).all()
    mild = estimator(costs=dict.fromkeys(range(3), 1), guard=True, multi_class=multi_class).fit(
        X, y
    )
    assert mild.guard_["constant"] is None
    assert mild.guard_["n_fits"] == 12
    assert 0 < mild.guard_["own_cost"] < min(mild.guard_["constant_costs"].values())


def test_names_of_classes_are_the_users_own():
    X, y = blobs()
    names = np.where(y == 1, "ill", np.where(y == 0, "well", ""))
    model = LabelMeanSVC(costs={"ill": 500, "well": 1}).fit(X, names)
    assert model.guard_["constant"] == "ill"
    assert "'ill'" in model.guard_["reason"]
    assert (model.predict(X) == "ill").all()


# What it leaves alone.


@BOTH
def test_no_costs_no_guard_and_a_fit_forgets_the_last(estimator):
    X, y = blobs()
    model = guarded(estimator, 500).fit(X, y)
    assert model.guard_["constant"] == 1
    model.set_params(costs=None).fit(X, y)
    assert model.guard_ is None
    assert set(model.predict(X)) == {0, 1}


def test_on_by_default_where_the_method_is_about_costs():
    assert LabelMeanSVC().guard is True
    assert SupervisedSVC().guard is False


@BOTH
def test_a_guarded_model_keeps_no_kernel_rows_and_pickles(estimator):
    X, y = blobs()
    model = guarded(estimator, 2.0).fit(X, y)
    assert not hasattr(model, "_kept_rows")
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.guard_ == model.guard_


class Recorder:
    """A callback that counts the fits it is told of."""

    def __init__(self):
        self.tasks = []

    def setup(self, estimator, context):
        self.tasks.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.tasks.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        return False

    def teardown(self, estimator, context):
        self.tasks.append("teardown")


def test_callbacks_hear_of_the_fit_alone():
    X, y = blobs()
    recorder = Recorder()
    model = guarded(LabelMeanSVC, 2.0).set_callbacks(recorder).fit(X, y)
    assert model.guard_["n_fits"] == 10
    assert (
        recorder.tasks.count("setup")
        == recorder.tasks.count("fit")
        == recorder.tasks.count("teardown")
        == 1
    )
    assert recorder.tasks.count("1 vs 0") == 1


@BOTH
@pytest.mark.parametrize("how", ["raised", "told"])
def test_ctrl_c_in_the_comparison_keeps_the_machine_and_says_so(estimator, how, monkeypatch):
    X, y = blobs()
    whole = guarded(estimator, 2.0, guard=False).fit(X, y)
    calls = []

    def interrupted(*args, **settings):
        calls.append(1)
        if len(calls) == 4 and how == "raised":
            raise KeyboardInterrupt
        fits = fit_pairs(*args, **settings)
        return fits if len(calls) < 4 else [replace(fit, status=Status.INTERRUPTED) for fit in fits]

    monkeypatch.setattr(f"{estimator.__module__}.fit_pairs", interrupted)
    with pytest.warns(ConvergenceWarning, match="guard of .* ended early") as told:
        model = guarded(estimator, 2.0).fit(X, y)
    assert told[0].filename == __file__
    assert len(calls) == 4
    assert model.guard_["constant"] is None
    assert "nothing was compared" in model.guard_["reason"]
    assert_allclose(model.decision_function(X), whole.decision_function(X))


@BOTH
def test_rows_of_more_weight_make_their_class_more_common(estimator):
    X, y = blobs()
    weight = np.where(y == 1, 3.0, 1.0)
    model = guarded(estimator, 2.0).fit(X, y, sample_weight=weight)
    assert model.guard_["class_shares"] == pytest.approx({0: 0.25, 1: 0.75})


# The paper's data: at a cost of a thousand nothing that ten labels can teach beats the constant.


@pytest.mark.data
@pytest.mark.parametrize("name", ["heart", "diabetes", "ionosphere"])
def test_at_large_costs_the_guarded_machines_cost_what_always_positive_does(paper_data, name):
    data = load(name, data_home=paper_data)
    X = np.asarray(data.X, dtype=np.float64)
    X = (X - X.min(axis=0)) / np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1)
    y = np.full(len(data.y) // 2, -1)
    truth = data.y[: 2 * len(y) : 2]
    for label in (0, 1):
        y[np.flatnonzero(truth == label)[:5]] = label
    for estimator in (SupervisedSVC, LabelMeanSVC):
        model = estimator(kernel="linear", costs={0: 1, 1: 1000}, guard=True).fit(
            X[: 2 * len(y) : 2], y
        )
        assert (model.predict(X[1::2]) == 1).all()
