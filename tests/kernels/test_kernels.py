"""Kernel rows and scores of new rows are those of the naive double loop, in every form the data
can have.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.svm import SVC

from oracles import as_dense, naive_kernel
from semisvm import kernels
from semisvm.dual import DualProblem, solve
from semisvm.estimators.classifier import pick_rows
from semisvm.kernels import kernel_rows, make_formula, panel_source, scores_of_new_rows, sources
from semisvm.kernels.compiled import rbf_of_dot_rows
from semisvm.kernels.intrinsics import has_products_of_bytes
from semisvm.kernels.rows import CachedRows, GivenRows
from semisvm.kernels.virtual import VirtualRows
from semisvm.matrices import PickedRows
from semisvm.memory import budget_bytes, free_bytes

PARAMETERS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "poly": {"gamma": 0.4, "coef0": 0.7, "degree": 3},
    "sigmoid": {"gamma": 0.2, "coef0": -0.3},
}
FORMS = {
    "dense": lambda X: X,
    "dense, column by column": np.asfortranarray,
    "dense float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_matrix,
    "csr array": sparse.csr_array,
    "csr float32": lambda X: sparse.csr_matrix(X, dtype=np.float32),
    "csr with 64-bit indices": lambda X: with_long_indices(sparse.csr_matrix(X)),
}


def with_long_indices(X):
    X.indices = X.indices.astype(np.int64)
    X.indptr = X.indptr.astype(np.int64)
    return X


def make_data(n=50, n_features=7, seed=0, share_of_zeros=0.4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) > share_of_zeros)


def all_rows(rows):
    rows.require(np.arange(rows.n_rows))
    return rows.values[rows.slot]


def float32_error(name, X, K):
    """The accuracy of float32: a few roundings of numbers of the size of |x|^2, propagated
    through the formula.
    """
    size = (as_dense(X) ** 2).sum(axis=1).max()
    gamma = PARAMETERS[name].get("gamma", 1.0)
    return {
        "linear": 1e-6 * size,
        "rbf": 1e-6 * (1 + gamma * size),
        "poly": 1e-5 * np.abs(K).max(),
        "sigmoid": 1e-6 * (1 + gamma * size),
    }[name]


# --- rows between training rows ---


@pytest.mark.parametrize(
    "n_features", [7, 200]
)  # short rows and long ones are multiplied in different ways
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PARAMETERS)
def test_rows_are_those_of_the_double_loop(name, form, n_features):
    X = FORMS[form](make_data(50, n_features) / np.sqrt(n_features / 7))
    K = naive_kernel(name, X, **PARAMETERS[name])
    formula = make_formula(name, X, **PARAMETERS[name])
    exact, single = (kernel_rows(X, formula, dtype=dtype) for dtype in (np.float64, np.float32))
    assert (all_rows(exact).dtype, all_rows(single).dtype) == (np.float64, np.float32)
    assert_allclose(all_rows(exact), K, rtol=1e-12, atol=1e-12 * np.abs(K).max())
    assert_allclose(all_rows(single), K, rtol=1e-5, atol=float32_error(name, X, K))
    assert_allclose(exact.diagonal, np.diagonal(K), rtol=1e-12)
    assert_array_equal(np.diagonal(all_rows(single)), single.diagonal)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 127, 128, 129, 300, 513])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_do_not_fill_a_batch_or_tile_are_right(n, dtype):
    X = make_data(n, 5, share_of_zeros=0.8)
    X[0] = 0  # an empty row
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    rows = kernel_rows(sparse.csr_matrix(X), make_formula("rbf", X, gamma=0.3), dtype=dtype)
    assert_allclose(all_rows(rows), K, rtol=0, atol=3e-6 if dtype == np.float32 else 1e-13)


def test_sparse_rows_may_have_any_number_of_entries():
    X = np.tril(np.full((20, 20), 2.0))  # 1 to 20 of them
    rows = kernel_rows(sparse.csr_matrix(X), make_formula("linear", X))
    assert_array_equal(all_rows(rows), X @ X.T)


def test_a_row_is_the_same_whatever_batch_it_came_in():
    X = sparse.csr_matrix(make_data(300, 40, share_of_zeros=0.7))
    formula = make_formula("rbf", X, gamma=0.1)
    together = kernel_rows(X, formula)
    alone = kernel_rows(X, formula)
    all_rows(together)
    for i in (0, 17, 150, 299):
        alone.require(np.array([i]))
        assert_array_equal(alone.values[alone.slot[i]], together.values[together.slot[i]])


def test_empty_rows_and_empty_columns_of_a_sparse_matrix_are_kept():
    X = sparse.csr_matrix((6, 4))
    rows = kernel_rows(X, make_formula("rbf", X, gamma=1.0))
    assert_array_equal(all_rows(rows), np.ones((6, 6)))


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_one_feature_is_enough(form):
    X = FORMS[form](np.arange(5.0)[:, None])
    for name, parameters in PARAMETERS.items():
        K = naive_kernel(name, X, **parameters)
        assert_allclose(
            all_rows(kernel_rows(X, make_formula(name, X, **parameters))), K, rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("n_features", [5_000, 100_000])
def test_rows_of_a_hundred_thousand_features_are_right(name, n_features):
    # above some number of features SciPy computes the products
    rng = np.random.default_rng(0)
    shape = (150, n_features)
    density = 10 / n_features
    X = sparse.random_array(
        shape, density=density, random_state=rng, data_sampler=rng.normal, format="csr"
    )
    K = naive_kernel(name, X[:, np.unique(X.indices)], **PARAMETERS[name])
    formula = make_formula(name, X, **PARAMETERS[name])
    assert_allclose(
        all_rows(kernel_rows(X, formula, dtype=np.float64)),
        K,
        rtol=1e-12,
        atol=1e-12 * np.abs(K).max(),
    )
    assert_allclose(all_rows(kernel_rows(X, formula)), K, rtol=1e-5, atol=float32_error(name, X, K))


@pytest.mark.parametrize("n_features", [10, 200])
@pytest.mark.parametrize("zeros", [0.0, 0.9], ids=["full", "mostly zeros"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_a_large_common_offset_costs_the_rbf_kernel_no_digits(zeros, dtype, n_features):
    X = make_data(60, n_features, share_of_zeros=zeros) / np.sqrt(n_features / 10)
    X[:, 0] += 3e4  # a large offset changes the norms but not the distances
    X = X.astype(dtype)
    rows = all_rows(kernel_rows(X, make_formula("rbf", X, gamma=0.3)))
    assert_allclose(rows, naive_kernel("rbf", X, gamma=0.3), rtol=0, atol=1e-5)


def test_the_users_matrix_is_not_changed():
    # unsorted, with one entry stored in two parts
    X = sparse.csr_matrix(
        (np.array([1, 2, 3, 4], dtype=np.float32), np.array([2, 0, 0, 1]), np.array([0, 3, 4])),
        shape=(2, 3),
    )
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    rows = all_rows(kernel_rows(X, make_formula("linear", X)))
    assert_allclose(rows, [[26, 0], [0, 16]])
    for now, then in zip((X.data, X.indices, X.indptr), before, strict=True):
        assert_array_equal(now, then)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_read_only_arrays_are_accepted(form):
    X = FORMS[form](make_data())
    for array in (X,) if form == "dense" else (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    rows = all_rows(kernel_rows(X, make_formula("rbf", X, gamma=0.3)))
    assert_allclose(rows, naive_kernel("rbf", X, gamma=0.3), atol=1e-5)


def test_integers_are_accepted():
    X = np.arange(12).reshape(4, 3)
    assert_allclose(
        all_rows(kernel_rows(X, make_formula("rbf", X, gamma=0.01))),
        naive_kernel("rbf", X, gamma=0.01),
        rtol=1e-5,
    )


# --- the compiled exponential ---


def compiled_exponential(distances, gamma=1.0):
    """exp(-gamma d) through `rbf_of_dot_rows`, for squared distances d from the origin."""
    dots = np.zeros((1, len(distances)), dtype=np.float32)
    rbf_of_dot_rows(
        np.zeros(1, dtype=np.int64),
        dots,
        np.zeros(1, dtype=np.float32),
        distances.astype(np.float32),
        gamma,
    )
    return dots[0]


def test_the_compiled_exponential_is_exact_to_single_precision():
    # The argument is rounded too; its relative error is multiplied by the argument.
    distances = np.linspace(0, 87, 200_001).astype(np.float32)
    exact = np.exp(-distances.astype(np.float64))
    assert_allclose(compiled_exponential(distances) / exact, 1, rtol=0, atol=5e-7 + 1.5e-7 * 87)
    near = distances <= 2
    assert_allclose(compiled_exponential(distances[near]) / exact[near], 1, rtol=0, atol=5e-7)
    assert_allclose(compiled_exponential(distances), exact, rtol=0, atol=2e-7)


@pytest.mark.parametrize("gamma", [1e-30, 1e-3, 1.0, 1e3, 1e30])
def test_the_compiled_exponential_stays_finite_and_in_order(gamma):
    distances = np.concatenate([np.linspace(0, 200, 1000), 10.0 ** np.arange(3, 38)])
    values = compiled_exponential(distances, gamma)
    assert np.isfinite(values).all()
    assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(values) <= 2e-7 * values[:-1]).all()
    assert_allclose(values, np.exp(-gamma * distances), rtol=0, atol=2e-6)


def test_a_distance_of_zero_or_below_zero_by_rounding_gives_one():
    assert compiled_exponential(np.array([0.0]))[0] == 1
    dots = np.array([[1.0001]], dtype=np.float32)
    one = np.ones(1, dtype=np.float32)
    rbf_of_dot_rows(np.zeros(1, dtype=np.int64), dots, one, one, 5.0)
    assert dots[0, 0] == 1


# --- callables and matrices ---


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_callable_takes_two_blocks_of_rows(form):
    X = FORMS[form](make_data(300))
    rows = kernel_rows(
        X, make_formula(lambda left, right: as_dense(left @ right.T) ** 2, X), dtype=np.float64
    )
    K = (as_dense(X) @ as_dense(X).T) ** 2
    assert_allclose(rows.diagonal, np.diagonal(K))
    assert_allclose(all_rows(rows), K)


def test_a_callable_that_returns_too_few_values_is_refused():
    X = make_data()
    with pytest.raises(
        ValueError, match=r"returned an array of shape \(50,\) for blocks of 50 and 50 rows"
    ):
        kernel_rows(X, make_formula(lambda left, right: np.ones(len(left)), X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_precomputed_matrix_is_used_as_it_is(dtype):
    K = naive_kernel("rbf", make_data()).astype(dtype)
    rows = kernel_rows(K, make_formula("precomputed", K))
    assert isinstance(rows, GivenRows)
    assert np.shares_memory(rows.values, K)
    rows.require(np.array([3, 4]))
    assert (rows.n_made, rows.n_evicted) == (0, 0)
    assert rows.is_present.all()
    assert_array_equal(rows.diagonal, np.diagonal(K))
    beta = np.arange(50.0)
    assert_allclose(rows.times(beta), K @ beta, rtol=1e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize(
    "K",
    [np.eye(3, dtype=int), [[1, 0], [0, 1]], np.asfortranarray(np.eye(4))],
    ids=["int", "list", "columns"],
)
def test_any_square_of_numbers_is_a_precomputed_matrix(K):
    rows = kernel_rows(K, make_formula("precomputed", K))
    assert_array_equal(rows.values, np.asarray(K))
    assert rows.dtype == np.float64
    assert rows.values.flags.c_contiguous


@pytest.mark.parametrize("shape", [(3, 4), (3,), (2, 2, 2), ()])
def test_a_precomputed_matrix_that_is_not_square_is_refused(shape):
    K = np.ones(shape)
    with pytest.raises(ValueError, match="must be a square matrix"):
        kernel_rows(K, make_formula("precomputed", K))


# --- what all kinds of rows have in common ---


def kinds_of_rows(X):
    """Rows of the linear kernel of X, of each kind that the host has."""
    K = X @ X.T
    formula = make_formula("linear", X)
    yield "cached", kernel_rows(X, formula, dtype=np.float64)
    yield "cached, little memory", kernel_rows(X, formula, dtype=np.float64, cache_size=1e-9)
    yield "given", kernel_rows(K, make_formula("precomputed", K))
    yield (
        "virtual",
        VirtualRows(
            kernel_rows(X[:-1], formula, dtype=np.float64), np.linalg.pinv(X[:-1].T) @ X[-1]
        ),
    )


@pytest.mark.parametrize("n_required", [0, 3, 8])
def test_every_kind_of_rows_gives_the_same_rows_and_products(n_required):
    X = make_data(20, n_features=4)
    K = X @ X.T
    coefficients = np.linspace(-1, 1, 20)
    for kind, rows in kinds_of_rows(X):
        rows.require(np.arange(n_required))
        assert (rows.n_rows, rows.dtype, rows.home) == (20, np.float64, "cpu"), kind
        assert rows.capacity in (8, 20)
        assert_allclose(rows.diagonal, np.diagonal(K), atol=1e-12, err_msg=kind)
        assert_allclose(rows.fetch(np.array([3, 19, 3])), K[[3, 19, 3]], atol=1e-12, err_msg=kind)
        assert_allclose(rows.times(coefficients), K @ coefficients, atol=1e-12, err_msg=kind)
        assert_allclose(rows.times_dense(coefficients), K @ coefficients, atol=1e-12, err_msg=kind)


def test_rows_fetched_are_the_callers_own():
    for kind, rows in kinds_of_rows(make_data(20, n_features=4)):
        before = rows.fetch(np.arange(20))
        rows.fetch(np.arange(20))[:] = 0
        assert_array_equal(rows.fetch(np.arange(20)), before, err_msg=kind)


def test_a_product_with_all_rows_in_memory_has_their_precision():
    X = make_data(20)
    rows = kernel_rows(X, make_formula("linear", X))
    coefficients = np.linspace(-1, 1, 20)
    assert rows.times_dense(coefficients).dtype == np.float64
    rows.require(np.arange(20))
    assert rows.times_dense(coefficients).dtype == np.float32
    assert_allclose(rows.times_dense(coefficients), X @ X.T @ coefficients, atol=1e-4)


# --- parameters ---


@pytest.mark.parametrize("form", ["dense", "dense float32", "csr", "csr array"])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.25])
def test_gamma_is_scikit_learns(form, gamma):
    X = FORMS[form](make_data())
    svc = SVC(gamma=gamma).fit(X, np.arange(50) % 2)
    assert make_formula("rbf", X, gamma=gamma).gamma == pytest.approx(svc._gamma, rel=1e-6)


def test_gamma_scale_of_constant_data_is_one_as_in_scikit_learn():
    assert make_formula("rbf", np.ones((4, 3))).gamma == 1.0
    assert make_formula("rbf", sparse.csr_matrix((4, 3))).gamma == 1.0


@pytest.mark.parametrize("gamma", [0, -1.0, math.nan, "wide", math.inf])
def test_an_invalid_gamma_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma must be"):
        make_formula("rbf", make_data(), gamma=gamma)


@pytest.mark.parametrize("kernel", ["gaussian", None, 3, "RBF"])
def test_an_unknown_kernel_is_refused(kernel):
    with pytest.raises(ValueError, match=r"kernel must be one of 'linear', .* or a callable"):
        make_formula(kernel, make_data())


def test_a_negative_degree_is_refused():
    with pytest.raises(ValueError, match="degree must be 0 or more"):
        make_formula("poly", make_data(), degree=-1)


@pytest.mark.parametrize("cache_size", [0, -1, math.nan, -math.inf])
def test_an_invalid_cache_size_is_refused(cache_size):
    X = make_data()
    with pytest.raises(ValueError, match="cache_size must be a positive number"):
        kernel_rows(X, make_formula("linear", X), cache_size=cache_size)


def test_the_budget_is_in_megabytes_or_a_share_of_what_is_free():
    assert budget_bytes(1.5) == 1_500_000
    assert 0 < budget_bytes(None) <= free_bytes() + 2**30
    X = make_data(1000)
    assert kernel_rows(X, make_formula("linear", X), cache_size=0.4).capacity == 100
    assert kernel_rows(X, make_formula("linear", X), cache_size=1e-9).capacity == 8
    assert kernel_rows(X[:3], make_formula("linear", X), cache_size=1e-9).capacity == 3


# --- new rows ---


@pytest.mark.parametrize("block", [1, 3, 10**9])
@pytest.mark.parametrize("form", ["dense", "csr", "csr array", "dense float32"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_new_rows_are_scored_as_by_the_double_loop(name, form, block, monkeypatch):
    support = FORMS[form](make_data(12))
    new = FORMS[form](make_data(20, seed=1))
    coefficients = np.random.default_rng(0).normal(size=(3, 12))
    monkeypatch.setattr(kernels, "SCORED_BYTES", 8 * 12 * block)
    scores = scores_of_new_rows(
        new, support, coefficients, make_formula(name, support, **PARAMETERS[name])
    )
    exact = naive_kernel(name, new, support, **PARAMETERS[name]) @ coefficients.T
    assert scores.shape == (20, 3)
    assert_allclose(scores, exact, rtol=1e-10, atol=1e-5 if "32" in form else 1e-10)


@pytest.mark.parametrize("worth_compiling", [1, 1_000_000])
def test_new_rows_far_from_the_origin_are_scored_as_those_near_it(worth_compiling, monkeypatch):
    monkeypatch.setattr(kernels, "WORTH_COMPILING", worth_compiling)
    support = np.round(make_data(12), 2)
    new = np.round(make_data(20, seed=1), 2)
    formula = make_formula("rbf", support, gamma=0.3)
    far = scores_of_new_rows(new + 2.0**30, support + 2.0**30, np.ones((1, 12)), formula)
    assert_allclose(far, scores_of_new_rows(new, support, np.ones((1, 12)), formula), rtol=1e-5)


@pytest.mark.parametrize("worth_compiling", [1, 1_000_000])
def test_sparse_new_rows_meet_dense_support_rows_and_the_other_way_round(
    worth_compiling, monkeypatch
):
    monkeypatch.setattr(kernels, "WORTH_COMPILING", worth_compiling)
    monkeypatch.setattr(kernels, "SHORT_ROWS_AT_ONCE", 8)
    support = make_data(12)
    new = make_data(20, seed=1)
    coefficients = np.ones((1, 12))
    formula = make_formula("rbf", support, gamma=0.3)
    exact = naive_kernel("rbf", new, support, gamma=0.3) @ coefficients.T
    assert_allclose(
        scores_of_new_rows(sparse.csr_matrix(new), support, coefficients, formula), exact
    )
    assert_allclose(
        scores_of_new_rows(new, sparse.csr_matrix(support), coefficients, formula), exact
    )


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("block", [1, 10**9])
def test_new_rows_are_scored_by_a_callable_as_it_was_trained(form, block, monkeypatch):
    support = FORMS[form](make_data(12))
    new = FORMS[form](make_data(20, seed=1))
    monkeypatch.setattr(kernels, "SCORED_BYTES", 8 * 12 * block)
    formula = make_formula(lambda left, right: as_dense(left @ right.T), support)
    scores = scores_of_new_rows(new, support, np.ones((1, 12)), formula)
    assert_allclose(scores[:, 0], naive_kernel("linear", new, support).sum(axis=1))


@pytest.mark.parametrize("degree", [0, 1, 2, 5])
def test_every_degree_that_trains_also_predicts(degree):
    X = make_data(12)
    formula = make_formula("poly", X, gamma=0.5, coef0=1.0, degree=degree)
    scores = scores_of_new_rows(X, X, np.ones((1, 12)), formula)[:, 0]
    assert_allclose(scores, all_rows(kernel_rows(X, formula, dtype=np.float64)).sum(axis=1))


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_precomputed_kernel_brings_its_own_values(form):
    K = FORMS[form](np.arange(12.0).reshape(4, 3))
    scores = scores_of_new_rows(K, None, np.array([[1.0, 0, -1]]), make_formula("precomputed", K))
    assert_allclose(scores[:, 0], [-2, -2, -2, -2])


def test_no_support_rows_score_zero():
    X = make_data(5)
    assert_array_equal(
        scores_of_new_rows(X, X[:0], np.empty((2, 0)), make_formula("linear", X)), np.zeros((5, 2))
    )


def test_an_empty_block_of_new_rows_has_no_scores():
    X = make_data(5)
    assert scores_of_new_rows(X[:0], X, np.ones((2, 5)), make_formula("linear", X)).shape == (0, 2)


def test_rows_say_what_they_are():
    X = make_data(30)
    rows = kernel_rows(X, make_formula("linear", X))
    assert isinstance(rows, CachedRows)
    assert (rows.n_rows, rows.dtype, rows.n_made) == (30, np.float32, 0)
    assert not rows.is_present.any()


# --- rows of whole numbers ---


WHOLES = {
    "pixels": (255, 1 / 255, 0.8),
    "percentages": (100, 0.01, 0.5),
    "columns of 0 and 1": (1, 1.0, 0.9),
    "counts": (9, 1.0, 0.3),
}


def make_wholes(kind, n=300, n_features=37):
    """Rows of whole multiples of one number, some of which have all of the largest ones, and
    some nothing.
    """
    largest, unit, share_of_zeros = WHOLES[kind]
    rng = np.random.default_rng(0)
    wholes = rng.integers(1, largest + 1, (n, n_features)) * (
        rng.random((n, n_features)) > share_of_zeros
    )
    wholes[0], wholes[1:3], wholes[3, 0] = 0, largest, 1
    return wholes, unit


def source_of_wholes(X, gamma, monkeypatch, *, in_words=True, dtype=np.float32):
    monkeypatch.setattr(panel_source, "WORDS_PAY_FROM_ROWS", 1 if in_words else 10**9)
    return panel_source.sparse_source(
        sparse.csr_matrix(X), make_formula("rbf", X, gamma=gamma), dtype
    )


def is_in_words(source):
    return source.panel_rows.data.dtype == np.int32


needs_products_of_bytes = pytest.mark.skipif(
    not has_products_of_bytes(), reason="the processor has no products of bytes"
)


@needs_products_of_bytes
@pytest.mark.parametrize("kind", WHOLES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_whole_numbers_are_those_of_the_formula(kind, dtype, monkeypatch):
    wholes, unit = make_wholes(kind)
    X = (wholes * unit).astype(dtype)
    distances = ((wholes[:, None] - wholes[None]) ** 2).sum(axis=2) * unit**2
    gamma = 3 / np.median(distances)
    source = source_of_wholes(X, gamma, monkeypatch)
    out = np.empty((300, 300), dtype=np.float32)
    assert is_in_words(source)
    source.write(np.arange(300), out)
    # distances are exact: what is left is the exponent in float32, and the unit
    assert_allclose(out, np.exp(-gamma * distances), rtol=2e-6, atol=1e-12)
    assert_array_equal(out, out.T)
    G = np.zeros((200, 216), dtype=np.float32)
    source.fill_gram(G, np.arange(200), 30, np.arange(0, 300)[::-1].copy())
    wanted = out[::-1, ::-1][:200, :200].copy()
    wanted[:30, :30] = 0
    assert_array_equal(G[:200, :200], wanted)
    moves = np.random.default_rng(1).normal(size=101)
    change = np.empty(300)
    rows = np.arange(0, 300, 3)[:100]
    none = np.empty(0, dtype=np.intp)
    rows = np.append(rows, 1)  # an odd number of them
    source.spread(change, out, none, np.empty(0), np.full(101, -1), rows, moves)
    assert_allclose(change, moves @ out[rows].astype(np.float64), rtol=1e-12, atol=1e-12)


@needs_products_of_bytes
def test_the_largest_sums_of_bytes_are_exact(monkeypatch):
    n_features = panel_source.MOST_FEATURES_OF_WORDS
    X = np.full((3, n_features), 255.0)
    X[0, :7], X[1] = 1.0, 254.0
    X[1, 0] = 0.0
    gamma = 1e-5
    source = source_of_wholes(X, gamma, monkeypatch)
    out = np.empty((3, 3), dtype=np.float32)
    assert is_in_words(source)
    assert isinstance(source, panel_source.PanelSource)
    source.write(np.arange(3), out)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    assert_allclose(out, np.exp(-gamma * distances), rtol=gamma * 4 * 2.0**31 * 2.0**-24)
    with_one_more = np.full((3, n_features + 1), 255.0)
    assert not is_in_words(source_of_wholes(with_one_more, gamma, monkeypatch))


@needs_products_of_bytes
@pytest.mark.parametrize(
    "spoilt",
    [-1.0, 256.0, 1.001, 0.5],
    ids=["negative", "too large", "not whole", "below the unit"],
)
def test_other_numbers_stay_floats(spoilt, monkeypatch):
    wholes, _ = make_wholes("pixels")
    X = wholes.astype(np.float64)
    assert is_in_words(source_of_wholes(X, 1e-5, monkeypatch))
    X[250, 30] = spoilt
    source = source_of_wholes(X, 1e-5, monkeypatch)
    assert not is_in_words(source)


def test_whole_numbers_stay_floats_where_words_do_not_pay(monkeypatch):
    X = make_wholes("counts")[0].astype(np.float64)
    assert not is_in_words(source_of_wholes(X, 1.0, monkeypatch, in_words=False))
    assert not is_in_words(source_of_wholes(X, 1.0, monkeypatch, dtype=np.float64))
    monkeypatch.setattr("semisvm.kernels.intrinsics.has_products_of_bytes", lambda: False)
    assert not is_in_words(source_of_wholes(X, 1.0, monkeypatch))
    nothing = sparse.csr_matrix((5, 4))
    assert not is_in_words(source_of_wholes(nothing, 1.0, monkeypatch))


@needs_products_of_bytes
@pytest.mark.parametrize("kind", WHOLES)
def test_words_and_floats_give_the_same_solution(kind, monkeypatch):
    wholes, unit = make_wholes(kind, n=700)
    X = wholes * unit
    sign = np.where(wholes[:, :18].sum(axis=1) > wholes[:, 18:36].sum(axis=1), 1.0, -1.0)
    found = []
    for in_words in (True, False):
        source = source_of_wholes(X, 1 / X.var() / 37, monkeypatch, in_words=in_words)
        problem = DualProblem(
            CachedRows(source, 10**8), -sign, np.minimum(sign, 0.0), np.maximum(sign, 0.0)
        )
        found.append(solve(problem, tol=1e-5))
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-6)
    assert_allclose(found[0].scores, found[1].scores, rtol=0, atol=1e-4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_picked_when_they_are_scored_have_the_scores_of_picked_ones(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    rows = rng.permutation(60)[:40]
    coefficients = rng.normal(size=(2, 10))
    formula = make_formula("rbf", X, gamma=0.3)
    later = PickedRows(form(X), rows, pick_rows)
    assert later.shape == (40, 4)
    expected = scores_of_new_rows(form(X)[rows], form(X[:10]), coefficients, formula)
    assert np.array_equal(scores_of_new_rows(later, form(X[:10]), coefficients, formula), expected)
    if form is np.asarray:
        later.write(slice(5, 9), out := np.empty((4, 4)))
        assert np.array_equal(out, X[rows[5:9]])


@pytest.mark.parametrize("is_large", [False, True])
def test_products_of_sparse_rows_are_those_of_scipy_to_the_last_bit(monkeypatch, is_large):
    monkeypatch.setattr(sources, "WORTH_OWN_PRODUCT", 0 if is_large else np.inf)
    X, Z = (
        sparse.random(n, 30, density, format="csr", random_state=n)
        for n, density in ((37, 0.3), (50, 0.6))
    )
    X.data[X.indptr[3] : X.indptr[4]] = 0.0
    products = sources.sparse_products(X, Z)
    assert_array_equal(products, (X @ Z.T).toarray())
    assert_allclose(products, X.toarray() @ Z.toarray().T, atol=1e-12)
    assert_array_equal(sources.sparse_products(X, X), (X @ X.T).toarray())
