"""Equal rows: all are found, and the fit on the distinct rows is the fit on all of them,
coefficient boxes included.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

from histories import records_of
from semisvm import SupervisedSVC
from semisvm.estimators import equal_rows
from semisvm.estimators.equal_rows import as_repetitions, find_equal_rows, find_repeats

TIGHT = {"tol": 1e-10, "gamma": 0.3, "C": 2.0}
SAME = 1e-9


def repeated(n_classes=2, n_distinct=60, n_rows=150, seed=0):
    """Rows drawn with repetition; copies of a row now and then disagree about its label."""
    X, y = make_classification(
        n_samples=n_distinct, n_features=5, n_informative=4, n_redundant=0, n_classes=n_classes, class_sep=0.6,
        random_state=seed,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, n_distinct, n_rows)
    X = X[drawn]
    y = y[drawn]
    X[np.abs(X) < 0.4] = 0
    y[::17] = (y[::17] + 1) % n_classes
    return X, y


def fit_both(monkeypatch, X, y, sample_weight=None, **parameters):
    """The model of the distinct rows, and the model that is never told of repeats."""
    merged = SupervisedSVC(**parameters).fit(X, y, sample_weight)
    with monkeypatch.context() as patch:
        patch.setattr(equal_rows, "FEWEST_COPIES", np.inf)
        plain = SupervisedSVC(**parameters).fit(X, y, sample_weight)
    return merged, plain


def row_beta(model, n_rows):
    beta = np.zeros((len(model.intercept_), n_rows))
    beta[:, model.support_] = model.dual_coef_
    return beta


WEIGHTS = {"unweighted": None, "weighted": np.random.default_rng(5).choice([0, 0.5, 1, 3], 150)}


@pytest.mark.parametrize(
    "as_input", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csr_array]
)
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "ovo"), (3, "ovo"), (3, "ovr")])
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("with_costs", [False, True])
def test_the_model_is_that_of_all_rows(
    monkeypatch, as_input, n_classes, multi_class, weight, with_costs
):
    X, y = repeated(n_classes)
    costs = {c: 1.0 + 0.7 * c for c in range(n_classes)} if with_costs else None
    merged, plain = fit_both(
        monkeypatch, as_input(X), y, weight, multi_class=multi_class, costs=costs, **TIGHT
    )
    new = np.random.default_rng(1).normal(size=(40, X.shape[1]))
    for rows in (X, new):
        np.testing.assert_allclose(
            merged.decision_function(rows), plain.decision_function(rows), rtol=0, atol=SAME
        )
    for ours, theirs in zip(records_of(merged), records_of(plain), strict=True):
        assert ours["objective"] == pytest.approx(theirs["objective"], rel=SAME)
        assert ours["problem"] == theirs["problem"]
    np.testing.assert_array_equal(merged.transduction_, plain.transduction_)


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid", "rbf"])
def test_every_kernel_with_a_formula_gives_the_same_model(monkeypatch, kernel):
    X, y = repeated()
    parameters = {
        **TIGHT,
        "kernel": kernel,
        "gamma": 0.05,
        "coef0": 0.0 if kernel == "sigmoid" else 0.5,
    }
    merged, plain = fit_both(monkeypatch, X, y, **parameters)
    np.testing.assert_allclose(
        merged.decision_function(X), plain.decision_function(X), rtol=0, atol=SAME
    )


def test_gamma_scale_is_that_of_all_rows(monkeypatch):
    X, y = repeated()
    merged, plain = fit_both(monkeypatch, X, y, gamma="scale")
    assert merged._formula.gamma == plain._formula.gamma


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_the_coefficients_solve_the_problem_of_all_rows(weight):
    """Feasible to the last bit, sums apart, and optimal by the conditions of Karush, Kuhn and
    Tucker.
    """
    X, y = repeated()
    costs = {0: 1.0, 1: 1.7}
    model = SupervisedSVC(costs=costs, **TIGHT).fit(X, y, weight)
    beta = row_beta(model, len(X))[0]
    sign = np.where(y == 1, 1.0, -1.0)
    box = TIGHT["C"] * (
        (np.ones(len(X)) if weight is None else weight) * np.array([costs[c] for c in y])
    )
    assert (beta * sign >= 0).all()
    assert (np.abs(beta) <= box).all()
    assert abs(beta.sum()) < 1e-10
    margin = sign * (rbf_kernel(X, gamma=TIGHT["gamma"]) @ beta + model.intercept_[0])
    counts = box > 0
    assert (margin[counts & (np.abs(beta) < box)] >= 1 - SAME).all()
    assert (margin[beta != 0] <= 1 + SAME).all()
    assert (np.abs(beta) == box)[counts].any(), "no row at its bound: the test is too easy"


def test_copies_share_the_coefficient_of_their_sum_by_weight():
    X, y = repeated()
    weight = np.random.default_rng(2).choice([0.5, 1, 3], len(X))
    found = find_repeats(X, y)
    distinct = SupervisedSVC(**TIGHT).fit(
        X[found.first], y[found.first], np.bincount(found.group, weight)
    )
    wanted = row_beta(distinct, len(found.first))[0]
    beta = row_beta(SupervisedSVC(**TIGHT).fit(X, y, weight), len(X))[0]
    np.testing.assert_allclose(np.bincount(found.group, beta), wanted, rtol=0, atol=SAME)
    per_weight = beta / weight
    np.testing.assert_allclose(per_weight, per_weight[found.first][found.group], rtol=1e-14)


def test_what_is_learned_has_the_shape_of_the_users_data():
    X, y = repeated(3)
    y = np.append(y, [-1, -1])
    X = np.vstack([X, X[:2]])
    model = SupervisedSVC(**TIGHT).fit(X, y)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert len(model.transduction_) == len(X)
    assert max(record["n_support"] for record in records_of(model)) <= len(model.support_)


def groups_by_python(X, codes):
    """The oracle: rows as keys of a dictionary; 0.0 and -0.0 are one key."""
    seen: dict = {}
    keys = [(code, *row) for code, row in zip(codes.tolist(), X.tolist(), strict=True)]
    return np.array([seen.setdefault(key, len(seen)) for key in keys])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 2, 7, 33, 1001])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix])
def test_every_repeat_is_found_and_nothing_else(dtype, n_columns, layout):
    rng = np.random.default_rng(n_columns)
    X = rng.normal(size=(120, n_columns)).astype(dtype)
    X[rng.random(X.shape) < 0.5] = 0
    X = X[rng.integers(0, 120, 700)]
    codes = rng.integers(0, 2, 700)
    found = find_repeats(layout(X), codes)
    np.testing.assert_array_equal(found.group, groups_by_python(X, codes))
    np.testing.assert_array_equal(found.group[found.first], np.arange(len(found.first)))
    assert (found.first[found.group] <= np.arange(len(X))).all()


def test_rows_that_only_share_a_fingerprint_stay_apart(monkeypatch):
    monkeypatch.setattr(equal_rows, "content_key", lambda X: np.zeros(X.shape[0]))
    X = np.array([[1.0, 0], [0, 1.0], [0, 1.0], [0, 0], [0, 0], [2.0, 0]])
    for rows in (X, sparse.csr_matrix(X)):
        np.testing.assert_array_equal(
            find_repeats(rows, np.zeros(6, int)).group, [0, 1, 1, 2, 2, 3]
        )


def test_equal_rows_are_found_between_others_with_their_fingerprint(monkeypatch):
    monkeypatch.setattr(equal_rows, "content_key", lambda X: np.zeros(X.shape[0]))
    X = np.array([[1.0, 0], [0, 1.0], [1.0, -0.0], [2.0, 0], [0, 1.0], [1.0, 0]])
    for rows in (X, sparse.csr_matrix(X)):
        np.testing.assert_array_equal(find_equal_rows(rows).group, [0, 1, 0, 2, 1, 0])
        np.testing.assert_array_equal(find_equal_rows(rows).first, [0, 1, 3])
        np.testing.assert_array_equal(
            find_repeats(rows, np.array([0, 0, 1, 0, 0, 1])).group, [0, 1, 2, 3, 1, 2]
        )


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix])
@pytest.mark.parametrize("scale", [1.0, 1e308])
def test_groups_are_those_of_a_dictionary_of_rows(layout, scale):
    """At the larger scale fingerprints overflow, and many rows share one."""
    X = scale * np.random.default_rng(0).integers(-1, 2, (300, 4))
    found = find_equal_rows(layout(X))
    np.testing.assert_array_equal(found.group, groups_by_python(X, np.zeros(300, int)))
    np.testing.assert_array_equal(found.group[found.first], np.arange(len(found.first)))


@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_weights_of_equal_rows_add_up(as_input):
    X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, -0.0], [0.0, 2.0], [3.0, 1.0]])
    found = find_equal_rows(as_input(X))
    assert found.group.tolist() == [0, 1, 0, 1, 2]
    assert found.first.tolist() == [0, 1, 4]
    assert found.total(np.array([1.0, 2.0, 4.0, 8.0, 16.0])).tolist() == [5.0, 10.0, 16.0]


def test_identical_rows_with_different_labels_stay_apart():
    X = np.zeros((6, 2))
    found = find_repeats(X, np.array([0, 1, 0, 1, 2, 2]))
    np.testing.assert_array_equal(found.first, [0, 1, 4])
    np.testing.assert_array_equal(found.group, [0, 1, 0, 1, 2, 2])


def test_minus_zero_is_zero():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [-0.0, -0.0], [0.0, 0.0]])
    stored = sparse.csr_matrix(
        (X.ravel(), [0, 1] * 4, [0, 2, 4, 6, 8]), shape=X.shape
    )  # its zeros are stored
    for rows in (X, stored):
        np.testing.assert_array_equal(find_repeats(rows, np.zeros(4, int)).group, [0, 0, 1, 1])
    assert stored.nnz == 8, "the user's matrix was changed"


def test_sparse_rows_are_compared_by_what_they_mean():
    """[3, 0, 2] three times: in order, out of order, and with the 3 in two pieces; then [3, 2,
    0].
    """
    data = [3.0, 2, 2, 3, 1, 2, 2, 3, 2]
    columns = [0, 2, 2, 0, 0, 2, 0, 0, 1]
    X = sparse.csr_matrix((data, columns, [0, 2, 4, 7, 9]), shape=(4, 3))
    np.testing.assert_array_equal(find_repeats(X, np.zeros(4, int)).group, [0, 0, 0, 1])
    assert X.data.tolist() == data, "the user's matrix was changed"


def test_few_copies_are_left_alone():
    X = np.arange(100.0)[:, None]
    X[96:] = X[:4]
    assert find_repeats(X, np.zeros(100, int)) is None
    X[95] = X[4]
    assert len(find_repeats(X, np.zeros(100, int)).first) == 95


def test_rows_too_large_to_project_do_no_harm():
    X = np.full((4, 3), 1.7e308)
    X[1] *= -1
    X[2, 0] *= -1
    assert len(find_repeats(X, np.zeros(4, int)).first) == 3


@pytest.mark.parametrize("kernel", ["precomputed", rbf_kernel])
def test_a_matrix_or_function_of_the_user_is_not_looked_into(monkeypatch, kernel):
    def refuse(*_):
        raise AssertionError("find_repeats was called")

    monkeypatch.setattr("semisvm.estimators.supervised.find_repeats", refuse)
    X, y = repeated()
    SupervisedSVC(kernel=kernel).fit(rbf_kernel(X) if kernel == "precomputed" else X, y)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 4),
    st.integers(0, 10_000),
    st.sampled_from(["ovo", "ovr"]),
    st.sampled_from(["scale", 0.5]),
)
def test_a_row_repeated_k_times_is_a_row_of_weight_k(most, seed, multi_class, gamma):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 3))
    y = rng.permutation(np.arange(24) % 3)
    times = rng.integers(1, most + 1, 24)
    shuffled = rng.permutation(times.sum())
    parameters = {"multi_class": multi_class, "gamma": gamma, "tol": 1e-12}
    weighted = SupervisedSVC(**parameters).fit(X, y, sample_weight=times)
    copied = SupervisedSVC(**parameters).fit(
        np.repeat(X, times, axis=0)[shuffled], np.repeat(y, times)[shuffled]
    )
    np.testing.assert_allclose(
        copied.decision_function(X), weighted.decision_function(X), rtol=0, atol=SAME
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_keys_put_rows_in_the_order_of_plain_ones(monkeypatch, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 37)).astype(dtype)
    X[1::7] = X[::7]
    X[rng.random(X.shape) < 0.01] = np.nan
    rows = rng.permutation(700)[:600]
    plain = equal_rows.content_key(X, rows)
    assert np.array_equal(plain, equal_rows.content_key(X[rows]))
    monkeypatch.setattr(equal_rows, "MANY_NUMBERS", 1)
    compiled = equal_rows.content_key(X, rows)
    assert compiled == pytest.approx(plain, rel=1e-13)
    same = (
        np.nan_to_num(X[rows], nan=equal_rows.GAP)[:, None]
        == np.nan_to_num(X[rows], nan=equal_rows.GAP)
    ).all(2)
    assert np.array_equal(compiled[:, None] == compiled, same)


def test_weights_are_repetitions_where_they_are_whole_and_not_all_one():
    assert as_repetitions(np.ones(3)) is None
    assert as_repetitions(np.array([1.0, 1.5])) is None
    assert as_repetitions(np.full(3, 10.0 * equal_rows.MOST_COPIES)) is None
    assert as_repetitions(np.array([1.0, 2.0, 0.0])).tolist() == [1, 2, 0]
