"""Costs: one-sided regression as it is on paper, what costs mean in each estimator, and what is
refused.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from histories import records_of
from primal import primal_objective, solve_primal
from semisvm import (
    ClusterSVC,
    LabelMeanSVC,
    LaplacianSVC,
    MixtureClassifier,
    PreferenceSVC,
    ProgressiveSVC,
    SelfTrainingSVC,
    SemiSupervisedKFold,
    SupervisedSVC,
    TransductiveSVC,
)
from semisvm.estimators import class_shares
from semisvm.estimators.class_shares import assign, counts_of

TIGHT = {"tol": 1e-9}
MATRIX = np.array([[0.0, 1.0, 7.0], [3.0, 0.0, 0.5], [2.0, 10.0, 0.0]])
ASTRAY = (  # as it may, on rows as few as these
    "ignore:.* rounds of ProgressiveSVC had candidates on one side"
)
HONOR_A_MATRIX = [
    SupervisedSVC(),
    SelfTrainingSVC(),
    LaplacianSVC(),
    LabelMeanSVC(guard=False),
    LabelMeanSVC(),
    ClusterSVC(n_clusters=6, random_state=0),
]
HONOR_ROWS = [
    *HONOR_A_MATRIX,
    ProgressiveSVC(),
    TransductiveSVC(),
    TransductiveSVC(algorithm="cccp"),
    TransductiveSVC(algorithm="anneal"),
]


def blobs(n_classes=3, n=60, n_labels=24, seed=0):
    X, true = make_blobs(n, centers=n_classes, cluster_std=3.0, random_state=seed)
    true[:n_classes] = np.arange(n_classes)
    return X, np.where(np.arange(n) < n_labels, true, -1), true


# -- one-sided regression
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "ratio"), [(0.01, 1), (1, 1), (100, 1), (1, 0.3), (1, 10), (1, 1000)]
)
@pytest.mark.parametrize("n_classes", [3, 4])
def test_each_machine_is_the_regression_on_paper(scale, ratio, n_classes):
    X, y, _ = blobs(n_classes)
    rng = np.random.default_rng(n_classes)
    costs = scale * rng.uniform(0, 5, (n_classes, n_classes)) * (1 - np.eye(n_classes))
    costs[0, 2] = 0.0  # as good as right
    costs[1] *= ratio
    weight = rng.uniform(0.5, 2, len(y))
    tol = 1e-11 if ratio <= 10 else 1e-13  # the price of a slack grows with the square of the costs
    model = SupervisedSVC(C=2, costs=costs, gamma=0.1, tol=tol).fit(X, y, sample_weight=weight)
    labeled = np.flatnonzero(y >= 0)
    K = rbf_kernel(X[labeled], gamma=0.1)
    unit = costs.sum() / (n_classes * (n_classes - 1))
    for k in range(n_classes):
        target = costs[y[labeled], k]
        side = np.where(target > 0, 1.0, -1.0)
        pieces = (np.arange(len(labeled)), side, target, 2 * unit**2 / 2 * weight[labeled])
        estimates, objective = solve_primal(K, *pieces)
        coefficients = np.zeros(len(X))
        coefficients[model.support_] = model.dual_coef_[k]
        ours = primal_objective(K, coefficients[labeled], model.intercept_[k], *pieces)
        assert ours == pytest.approx(objective, rel=1e-8 if ratio <= 10 else 1e-6)
        assert -records_of(model)[k]["objective"] * (unit / 2) ** 2 == pytest.approx(
            objective, rel=1e-9
        )
        np.testing.assert_allclose(
            -model.decision_function(X[labeled])[:, k], estimates, atol=1e-5 * unit
        )


def test_where_all_costs_are_1_it_is_one_vs_rest():
    X, y, _ = blobs(4)
    equal = SupervisedSVC(C=3, costs=1 - np.eye(4), gamma=0.1, **TIGHT).fit(X, y)
    plain = SupervisedSVC(C=3, multi_class="ovr", gamma=0.1, **TIGHT).fit(X, y)
    np.testing.assert_allclose(
        2 * equal.decision_function(X) + 1, plain.decision_function(X), atol=1e-7
    )


@given(scale=st.sampled_from([0.25, 3.0, 1000.0]), seed=st.integers(0, 5))
def test_scaling_costs_is_scaling_c(scale, seed):
    X, y, _ = blobs(seed=seed)
    one = SupervisedSVC(C=scale, costs=MATRIX, gamma=0.1, **TIGHT).fit(X, y).decision_function(X)
    other = (
        SupervisedSVC(C=1, costs=scale * MATRIX, gamma=0.1, **TIGHT).fit(X, y).decision_function(X)
    )
    np.testing.assert_allclose(other, scale * one, atol=1e-6 * scale * (1 + np.abs(one).max()))


@given(order=st.permutations(range(3)))
def test_names_of_classes_do_not_matter(order):
    X, y, _ = blobs()
    order = np.array(order)
    renamed = np.where(y >= 0, order[y], -1)
    costs = np.empty_like(MATRIX)
    costs[np.ix_(order, order)] = MATRIX
    plain = SupervisedSVC(costs=MATRIX, gamma=0.1, **TIGHT).fit(X, y).decision_function(X)
    again = SupervisedSVC(costs=costs, gamma=0.1, **TIGHT).fit(X, renamed).decision_function(X)
    np.testing.assert_allclose(again[:, order], plain, atol=1e-6)


def test_repeated_rows_count_as_often_as_they_are_there():
    X, y, _ = blobs(n_labels=60)
    twice = np.repeat(np.arange(60), 2)
    merged = SupervisedSVC(C=1, costs=MATRIX, gamma=0.1, **TIGHT).fit(X[twice], y[twice])
    heavier = SupervisedSVC(C=2, costs=MATRIX, gamma=0.1, **TIGHT).fit(X, y)
    np.testing.assert_allclose(merged.decision_function(X), heavier.decision_function(X), atol=1e-6)


def test_an_expensive_mistake_is_made_less_often():
    X, y = load_iris(return_X_y=True)
    hidden = np.where(np.arange(150) % 3 == 0, y, -1)
    costs = np.array([[0, 1, 1], [1, 0, 1], [1, 20, 0]])
    expensive, plain = (
        SupervisedSVC(costs=c, gamma=0.5).fit(X[:, :2], hidden) for c in (costs, 1 - np.eye(3))
    )
    missed = [
        int(((y == 2) & (model.predict(X[:, :2]) == 1)).sum()) for model in (expensive, plain)
    ]
    assert missed[0] < missed[1] / 2
    assert costs[y, expensive.predict(X[:, :2])].sum() < costs[y, plain.predict(X[:, :2])].sum()


# -- every estimator
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", HONOR_A_MATRIX, ids=str)
def test_the_prediction_is_the_class_of_least_estimated_cost(estimator):
    X, y, _ = blobs()
    model = clone(estimator).set_params(costs=MATRIX).fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == (60, 3)
    np.testing.assert_array_equal(model.predict(X), decision.argmax(axis=1))
    assert len(model.history_) >= 1
    assert model.termination_condition_ in ("converged", "cycle")


@pytest.mark.filterwarnings(ASTRAY)
@pytest.mark.parametrize("estimator", [*HONOR_ROWS, PreferenceSVC(random_state=0)], ids=str)
def test_for_two_classes_a_matrix_is_the_dictionary(estimator):
    X, y, _ = blobs(2)
    by_name = clone(estimator).set_params(costs={0: 2.0, 1: 5.0}).fit(X, y).decision_function(X)
    by_matrix = clone(estimator).set_params(costs=[[0, 2], [5, 0]]).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(by_matrix, by_name)


@pytest.mark.filterwarnings(ASTRAY)
@pytest.mark.parametrize("estimator", [ProgressiveSVC(), TransductiveSVC()], ids=str)
def test_others_take_a_matrix_that_says_no_more_than_a_dictionary(estimator):
    X, y, _ = blobs()
    costs = np.array([1.0, 4.0, 2.0])
    by_name = (
        clone(estimator).set_params(costs=dict(enumerate(costs))).fit(X, y).decision_function(X)
    )
    by_matrix = (
        clone(estimator)
        .set_params(costs=costs[:, None] * (1 - np.eye(3)))
        .fit(X, y)
        .decision_function(X)
    )
    np.testing.assert_array_equal(by_matrix, by_name)
    with pytest.raises(ValueError, match="can't use a cost matrix between more than two classes"):
        clone(estimator).set_params(costs=MATRIX).fit(X, y)


@pytest.mark.filterwarnings(ASTRAY)
@pytest.mark.parametrize("estimator", HONOR_ROWS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_that_cost_as_their_class_does_are_the_costs_of_classes(estimator, n_classes):
    X, y, _ = blobs(n_classes)
    if hasattr(estimator, "guard"):  # which judges by costs of classes
        estimator = clone(estimator).set_params(guard=False)
    costs = {k: 1.0 + 2 * k for k in range(n_classes)}
    by_class = clone(estimator).set_params(costs=costs).fit(X, y).decision_function(X)
    sample_cost = np.tile(list(costs.values()), (len(y), 1))
    by_row = clone(estimator).fit(X, y, sample_cost=sample_cost).decision_function(X)
    np.testing.assert_allclose(by_row, by_class, atol=1e-9)


@pytest.mark.parametrize("estimator", HONOR_A_MATRIX, ids=str)
def test_one_matrix_per_row_that_is_the_same_for_all_is_the_matrix(estimator):
    X, y, _ = blobs()
    if hasattr(estimator, "guard"):  # which judges by costs of classes
        estimator = clone(estimator).set_params(guard=False)
    by_matrix = clone(estimator).set_params(costs=MATRIX).fit(X, y).decision_function(X)
    by_row = (
        clone(estimator).fit(X, y, sample_cost=np.tile(MATRIX, (len(y), 1, 1))).decision_function(X)
    )
    np.testing.assert_allclose(by_row, by_matrix, atol=1e-9)


@pytest.mark.parametrize("estimator", [SupervisedSVC(), LaplacianSVC(C_intrinsic=0.0)], ids=str)
def test_costs_of_unlabeled_rows_do_not_matter_where_they_get_no_label(estimator):
    X, y, _ = blobs()
    costs = np.tile(MATRIX, (len(y), 1, 1))
    model = clone(estimator).fit(X, y, sample_cost=costs)
    costs[y < 0] *= 100
    other = clone(estimator).fit(X, y, sample_cost=costs)
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


def test_one_cost_per_row_is_a_sample_weight_that_the_kernel_does_not_see():
    X, y, _ = blobs(2)
    cost = np.random.default_rng(0).uniform(0.5, 5, len(y))
    by_cost = SupervisedSVC(gamma=0.1, **TIGHT).fit(X, y, sample_cost=cost).decision_function(X)
    by_weight = SupervisedSVC(gamma=0.1, **TIGHT).fit(X, y, sample_weight=cost).decision_function(X)
    np.testing.assert_allclose(by_cost, by_weight, atol=1e-8)


def test_an_unlabeled_row_costs_what_the_class_it_is_given_costs():
    """A row that would be free as class 1 hardly counts once TSVM calls it that; as class 0 it
    counts in full.
    """
    X, y, _ = blobs(2, n=80, n_labels=10)
    one_sided = np.where(y[:, None] >= 0, 1.0, [1.0, 1e-9])
    by_row = TransductiveSVC(gamma=0.1, **TIGHT).fit(X, y, sample_cost=one_sided)
    is_given_1 = (y < 0) & (by_row.transduction_ == 1)
    assert is_given_1.any()
    coefficient = np.zeros(len(y))
    coefficient[by_row.support_] = by_row.dual_coef_[0]
    assert np.abs(coefficient[is_given_1]).max() <= 1e-9 * 1.001
    assert np.abs(coefficient[(y < 0) & ~is_given_1]).max() > 0.1


def test_costs_of_rows_follow_them_through_a_grid_search():
    X, y, _ = blobs(2, n_labels=40)
    cost = np.random.default_rng(0).uniform(0.5, 5, (len(y), 2))
    search = GridSearchCV(SupervisedSVC(gamma=0.1), {"C": [0.1, 1.0]}, cv=SemiSupervisedKFold(3))
    assert search.fit(X, y, sample_cost=cost).best_score_ > 0.5


def test_a_mixture_predicts_the_class_of_least_expected_cost():
    X, y, _ = blobs()
    blind = MixtureClassifier().fit(X, y)
    aware = MixtureClassifier(costs=MATRIX).fit(X, y)
    np.testing.assert_allclose(aware.predict_proba(X), blind.predict_proba(X))
    expected = blind.predict_proba(X) @ MATRIX
    np.testing.assert_array_equal(aware.predict(X), expected.argmin(axis=1))
    hidden = y < 0
    np.testing.assert_array_equal(aware.transduction_[hidden], aware.predict(X)[hidden])
    np.testing.assert_array_equal(
        MixtureClassifier(costs=1 - np.eye(3)).fit(X, y).predict(X), blind.predict(X)
    )
    by_name = MixtureClassifier(costs={0: 1, 1: 5, 2: 2}).fit(X, y)
    lines = np.array([[0, 1, 1], [5, 0, 5], [2, 2, 0]])
    np.testing.assert_array_equal(
        by_name.predict(X), MixtureClassifier(costs=lines).fit(X, y).predict(X)
    )


# -- the unlabeled part
# ------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 5), has_ties=st.booleans())
def test_the_assignment_is_the_best_there_is(seed, n_classes, has_ties):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    score = (
        rng.integers(0, 3, (n, n_classes)).astype(float)
        if has_ties
        else rng.normal(size=(n, n_classes))
    )
    count = rng.multinomial(n, rng.dirichlet(np.ones(n_classes)))
    given_classes = assign(score, count)
    np.testing.assert_array_equal(np.bincount(given_classes, minlength=n_classes), count)
    places = np.repeat(np.arange(n_classes), count)
    rows, columns = linear_sum_assignment(score[:, places], maximize=True)
    assert score[np.arange(n), given_classes].sum() == pytest.approx(
        score[rows, places[columns]].sum()
    )


@pytest.mark.parametrize("ties", [False, True])
def test_of_many_rows_the_assignment_is_the_best_too(ties):
    rng = np.random.default_rng(0)
    score = rng.normal(size=(400, 5)) + 3 * rng.normal(size=5)
    score = score.round() if ties else score
    count = np.array([200, 0, 80, 119, 1])
    given_classes = assign(score, count)
    places = np.repeat(np.arange(5), count)
    rows, columns = linear_sum_assignment(score[:, places], maximize=True)
    assert score[np.arange(400), given_classes].sum() == pytest.approx(
        score[rows, places[columns]].sum()
    )


def test_rows_that_tie_are_moved_together(monkeypatch):
    chains = []
    cheapest_chain = class_shares._cheapest_chain
    monkeypatch.setattr(
        class_shares, "_cheapest_chain", lambda *moves: chains.append(1) or cheapest_chain(*moves)
    )
    given_classes = assign(np.tile([0.3, 0.1, -0.2], (900, 1)), [300, 200, 400])
    assert np.bincount(given_classes).tolist() == [300, 200, 400]
    assert len(chains) <= 3


def test_for_two_classes_the_assignment_is_the_sort():
    score = np.random.default_rng(0).normal(size=(50, 2))
    order = np.argsort(score[:, 1] - score[:, 0], kind="stable")
    np.testing.assert_array_equal(np.flatnonzero(assign(score, [38, 12])), np.sort(order[-12:]))


def test_counts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="sum to 3"):
        assign(np.zeros((3, 2)), [1, 1])


@given(seed=st.integers(0, 1000), n=st.integers(1, 200), n_classes=st.integers(2, 6))
def test_counts_are_the_shares_rounded(seed, n, n_classes):
    share = np.random.default_rng(seed).dirichlet(np.ones(n_classes))
    count = counts_of(share, n)
    assert count.sum() == n
    if n >= n_classes:
        assert (count >= 1).all()
    if (n * share >= 1).all():
        assert np.abs(count - n * share).max() < 1


def test_guesses_keep_the_shares_of_the_labeled_classes():
    X, y, _ = blobs(n=120, n_labels=30)
    model = LabelMeanSVC(costs=MATRIX, guard=False, C_unlabeled=0.1).fit(X, y)
    share = np.bincount(y[y >= 0]) / 30
    np.testing.assert_allclose(model.positive_fraction_, share)
    assert model.positive_fraction_interval_.shape == (3, 2)
    supervised = SupervisedSVC(costs=MATRIX, gamma=model._formula.gamma).fit(X, y)
    hidden = y < 0
    guess = assign(supervised.decision_function(X)[hidden], counts_of(share, 90))
    pseudo = np.where(hidden, 0, y)
    pseudo[hidden] = guess
    weight = np.where(hidden, 0.1, 1.0)
    by_hand = SupervisedSVC(costs=MATRIX, gamma=model._formula.gamma, **TIGHT).fit(
        X, pseudo, sample_weight=weight
    )
    ours = LabelMeanSVC(costs=MATRIX, guard=False, **TIGHT).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), by_hand.decision_function(X), atol=1e-6)


# -- what is refused
# ----------------------------------------------------------------------------------------------

REFUSERS = [SupervisedSVC(), TransductiveSVC(), LabelMeanSVC(), LaplacianSVC(), MixtureClassifier()]
BAD_COSTS = [
    ({0: 1.0, 1: 2.0}, r"missing \[2\]"),
    ({0: 1.0, 1: 2.0, 2: 1.0, 3: 1.0}, r"not a class \[3\]"),
    ({0: 0.0, 1: 2.0, 2: 1.0}, "positive and finite"),
    ({0: -1.0, 1: 2.0, 2: 1.0}, "positive and finite"),
    ({0: np.nan, 1: 2.0, 2: 1.0}, "positive and finite"),
    ({0: np.inf, 1: 2.0, 2: 1.0}, "positive and finite"),
    ({0: "expensive", 1: 2.0, 2: 1.0}, "a number for each class"),
    (1 - np.eye(2), r"shape \(2, 2\) where \(3, 3\) is needed"),
    (np.ones(3), r"shape \(3,\) where \(3, 3\) is needed"),
    (np.ones((3, 3)), r"0 on the diagonal.* 1.0 for class 0"),
    (MATRIX * [[1], [-1], [1]], r"not negative, and costs\[1, 0\] is -3.0"),
    (MATRIX * [[1], [np.nan], [1]], r"finite and not negative, and costs\[1, 0\] is nan"),
    (MATRIX * [[1], [1], [0]], "mistaking class 2 costs nothing"),
    ([["a", "b", "c"]] * 3, "array of numbers"),
]


@pytest.mark.parametrize(("costs", "message"), BAD_COSTS, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("estimator", REFUSERS, ids=str)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_costs_that_make_no_sense_are_refused(estimator, costs, message):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=message):
        clone(estimator).set_params(costs=costs).fit(X, y)


BAD_SAMPLE_COSTS = [
    (np.ones(59), r"sample_cost has shape \(59,\)"),
    (np.ones((60, 2)), r"sample_cost has shape \(60, 2\)"),
    (np.zeros(60), r"sample_cost\[0\] is 0.0"),
    (np.full((60, 3), np.nan), r"sample_cost\[0, 0\] is nan"),
    (
        1 - np.eye(3)[np.arange(60) % 3],
        "column k is the cost of misclassifying the row if it is of class k",
    ),
    (np.ones((60, 3, 3)), "0 on the diagonal"),
    (
        (1 - np.eye(3)) * (np.arange(60) != 1)[:, None, None],
        r"sample_cost\[1, 0\] is all 0: .* sample_weight 0",
    ),
    (np.ones((60, 2, 2)), r"shape \(60, 2, 2\) where \(60, 3, 3\) is needed"),
    (["expensive"] * 60, "array of numbers"),
]


@pytest.mark.parametrize(
    ("sample_cost", "message"), BAD_SAMPLE_COSTS, ids=lambda value: str(value)[:40]
)
def test_costs_of_rows_that_make_no_sense_are_refused(sample_cost, message):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=message):
        SupervisedSVC().fit(X, y, sample_cost=sample_cost)


@pytest.mark.parametrize("shape", [(60,), (60, 3), (60, 3, 3)])
def test_rows_that_take_no_part_may_cost_anything(shape):
    X, y, _ = blobs()
    cost = np.ones(shape) * (1 - np.eye(3) if len(shape) == 3 else 1)
    weight = np.ones(60)
    weight[:3] = 0
    model = LabelMeanSVC(gamma=0.1).fit(X, y, sample_weight=weight, sample_cost=cost)
    cost[:3] = np.array([0, -1, np.nan]).reshape(3, *[1] * (len(shape) - 1))
    again = LabelMeanSVC(gamma=0.1).fit(X, y, sample_weight=weight, sample_cost=cost)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_costs_said_twice_are_refused():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="Both costs and sample_cost"):
        SupervisedSVC(costs=MATRIX).fit(X, y, sample_cost=np.ones(60))


def test_an_estimator_that_can_t_use_costs_of_rows_says_so():
    X, y, _ = blobs(2)
    with pytest.raises(TypeError, match="sample_cost"):
        PreferenceSVC().fit(X, y, sample_cost=np.ones(60))
    X, y, _ = blobs(3)
    with pytest.raises(ValueError, match="TransductiveSVC can't use a cost matrix"):
        TransductiveSVC().fit(X, y, sample_cost=np.tile(MATRIX, (60, 1, 1)))
