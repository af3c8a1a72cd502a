"""Kernel rows are those of the definition, whatever the form of the data, and memory is kept."""

from functools import partial

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.svm import SVC

from semisvm.engine import DualProblem, Limits, make_formula, parallel, solve
from semisvm.engine.device import choose_device, on_host
from semisvm.engine.formula import Formula
from semisvm.engine.kernels import kernel_of, memory, sources
from semisvm.engine.kernels.bytes import ByteSource, has_products_of_bytes
from semisvm.engine.kernels.kernel import Kernel
from semisvm.engine.kernels.loops import finish_block
from semisvm.engine.kernels.sources import DataSource, PanelSource
from tests.helpers.engine_cases import naive_kernel

FORMULAS = {
    "linear": {},
    "rbf": {"gamma": 0.4},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 3},
    "sigmoid": {"gamma": 0.2, "coef0": 0.1},
}
FORMS = {"dense": np.asarray, "csr": sparse.csr_matrix, "fortran": np.asfortranarray}


def rows_of(n, d, seed=0, share=0.5):
    rng = np.random.default_rng(seed)
    return np.round(4 * rng.normal(size=(n, d)) * (rng.random((n, d)) < share)) / 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FORMULAS)
def test_the_four_verbs_are_those_of_the_naive_kernel(name, form, dtype):
    X = rows_of(70, 5)
    X[3], X[:, 2] = 0, 0  # an empty row, an empty column
    X = X / 2 if name == "poly" else X
    K, given = naive_kernel(name, X, **FORMULAS[name]), FORMS[form](X)
    formula = make_formula(name, given, **FORMULAS[name])
    rng = np.random.default_rng(1)
    beta = rng.normal(size=70) * (rng.random(70) < 0.4)
    close = partial(assert_allclose, rtol=1e-4 if dtype == np.float32 else 1e-9)
    for cache_size in (1e-3, 1.0):  # none or three rows, and all of them
        kernel = kernel_of(given, formula, dtype=dtype, cache_size=cache_size)
        close(kernel.diagonal, np.diagonal(K), atol=1e-6)
        some, others = rng.permutation(70)[:9], rng.permutation(70)[:20]
        close(kernel.rows(some), K[some], atol=1e-6)
        close(kernel.block(some, others), K[np.ix_(some, others)], atol=1e-6)
        for _ in range(2):
            close(kernel.times(beta), K @ beta, atol=1e-5)
            moved = kernel.spread(some, beta[some], beta[some] > 0)
            close(moved, beta[some] @ K[some], atol=1e-5)
        whole = kernel.whole()
        assert (whole is None) == (cache_size < 1)
        close(K if whole is None else whole, K, atol=1e-6)
        G, row = np.zeros((20, 36), dtype), others.copy()
        for new in (np.arange(20), np.array([3, 4, 5]), np.array([1, 17])):
            row[new] = rng.permutation(70)[: len(new)]
            kernel.fill_gram(G, row, new)
            close(G[:, :20], K[np.ix_(row, row)], atol=1e-6)


@pytest.mark.parametrize("source", [DataSource, PanelSource])
@pytest.mark.parametrize("n_features", [1, 40, 3_000])
@pytest.mark.parametrize("n_rows", [1, 129, 1_100])
def test_blocks_of_any_size_are_right_and_panels_repeat_to_the_last_bit(source, n_features, n_rows):
    X = rows_of(n_rows, n_features, share=min(1, 12 / n_features))
    K = np.exp(-0.1 * ((X[:, None, :3] - X[None, :, :3]) ** 2).sum(-1)) if n_features == 1 else None
    if K is None:
        squares = (X**2).sum(1)
        K = np.exp(-0.1 * np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0))
    form = sparse.csr_matrix if source is PanelSource else np.asarray
    made = source(form(X), make_formula("rbf", X, gamma=0.1), np.float32)
    rows = np.random.default_rng(0).integers(n_rows, size=min(300, 2 * n_rows))
    block = made.values(rows, slice(0, n_rows))
    assert_allclose(block, K[rows], rtol=2e-5, atol=1e-6)
    assert_allclose(block[np.arange(len(rows)), rows], 1, rtol=0)
    if source is PanelSource:
        assert_array_equal(made.values(rows[:3], slice(0, n_rows)), block[:3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [1e3, 2.0**20])
def test_a_large_common_offset_costs_the_rbf_kernel_no_digits(offset, dtype):
    X = rows_of(60, 3)
    formula = make_formula("rbf", X + offset, gamma=0.5)
    kernel = kernel_of(X + offset, formula, dtype=dtype)
    assert_allclose(kernel.rows(np.arange(60)), naive_kernel("rbf", X, gamma=0.5), rtol=1e-5)
    assert not formula.needs_float64(X + offset)


def test_integers_lists_read_only_and_duplicate_entries_are_taken_and_left_as_they_are():
    X = np.arange(12).reshape(4, 3) % 5
    expected = naive_kernel("rbf", X, gamma=0.1)
    twice = sparse.csr_matrix(
        (np.c_[X, X].ravel() / 2, np.tile(np.arange(3), 8), np.arange(0, 25, 6)), shape=(4, 3)
    )
    frozen = X.astype(float)
    frozen.flags.writeable = False
    for given in (X, frozen, sparse.csr_matrix(X), twice):
        before = given.copy()
        kernel = kernel_of(given, make_formula("rbf", given, gamma=0.1))
        assert_allclose(kernel.rows(np.arange(4)), expected, rtol=1e-6)
        assert abs(given - before).max() == 0
    assert twice.nnz == 24


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_compiled_exponential_is_exact_and_stays_in_range(dtype):
    exponents = np.append(np.linspace(0, 80, 5000), [500, 1e4, 1e30])
    dots = np.zeros((1, len(exponents)), dtype)
    formula = Formula("rbf", gamma=1.0).numbers
    finish_block(dots, np.zeros(1, dtype), exponents.astype(dtype), formula)
    expected = np.exp(-exponents.astype(dtype).astype(np.float64))
    rounding = 3e-7 if dtype == np.float32 else 1e-14
    assert_allclose(dots[0], expected, rtol=rounding * 80, atol=1e-37)
    assert (np.diff(dots[0]) <= 1e-30).all()
    assert dots[0, 0] == 1


def test_a_callable_takes_two_blocks_of_rows_and_must_return_all_their_values():
    X = rows_of(300, 3)
    formula = make_formula(lambda A, B: A @ B.T, X)
    assert_allclose(kernel_of(X, formula).rows(np.array([5, 1])), X[[5, 1]] @ X.T)
    with pytest.raises(ValueError, match=r"returned an array of shape \(256,\) for blocks of 256"):
        kernel_of(X, make_formula(lambda A, B: np.ones(len(A)), X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_given_matrix_is_used_as_it_is_and_must_be_square(dtype):
    K = naive_kernel("rbf", rows_of(20, 3)).astype(dtype)
    kernel = kernel_of(K, make_formula("precomputed", K), cache_size=1e-6)
    assert kernel.whole() is K
    assert_array_equal(kernel.rows(np.array([4])), K[[4]])
    with pytest.raises(ValueError, match="must be a square matrix"):
        kernel_of(K[:5], make_formula("precomputed", K))


# --- products of bytes ---


def whole_numbers(unit, n=2_100, d=37):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 256, (n, d)) * (rng.random((n, d)) < 0.3)
    X[5], X[:, 8:12], X[7] = 0, 0, 255
    return unit * X


@pytest.mark.skipif(not has_products_of_bytes(), reason="needs a processor with AVX-512 VNNI")
@pytest.mark.parametrize("unit", [1.0, 0.1, 1 / 255])
def test_rows_of_whole_numbers_are_made_by_bytes_with_the_same_values(unit):
    X = whole_numbers(unit)
    formula = make_formula("rbf", X, gamma=1e-5 / unit**2)
    kernel = kernel_of(sparse.csr_matrix(X), formula, dtype=np.float32, cache_size=1)
    assert isinstance(kernel.source, ByteSource)
    rows = np.array([0, 7, 5, 2_099, 1_000])
    squares = (X**2).sum(1)
    distances = squares[rows, None] + squares - 2 * X[rows] @ X.T
    K = np.exp(-formula.gamma * np.maximum(distances, 0))
    assert_allclose(kernel.rows(rows), K, rtol=1e-5, atol=1e-6)
    assert_array_equal(kernel.rows(rows[::-1]), kernel.rows(rows)[::-1])
    assert_allclose(kernel.block(rows, rows), K[:, rows], rtol=1e-5)


def spoilt(X, row, column, value):
    X = X.copy()
    X[row, column] = value
    return X


@pytest.mark.parametrize("value", [0.5, 256.0, -1.0, 1.001])
def test_other_numbers_stay_floats(value):
    X = spoilt(whole_numbers(1.0), 3, 3, value)
    X[0, 0] = 1.0
    formula = make_formula("rbf", X, gamma=1e-5)
    source = kernel_of(sparse.csr_matrix(X), formula, dtype=np.float32, cache_size=1).source
    assert type(source) is PanelSource


# --- formulas ---


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_gamma_is_scikit_learns(gamma, form):
    X = FORMS[form](rows_of(50, 4) + 3)
    y = np.arange(50) % 2
    expected = SVC(gamma=gamma).fit(X, y)._gamma
    assert make_formula("rbf", X, gamma=gamma).gamma == pytest.approx(expected)
    twice = sparse.vstack([X, X[:10]]) if form == "csr" else np.vstack([X, X[:10]])
    weight = np.where(np.arange(50) < 10, 2.0, 1.0)
    weighted = make_formula("rbf", X, gamma=gamma, weight=weight).gamma
    assert weighted == pytest.approx(make_formula("rbf", twice, gamma=gamma).gamma)


def test_gamma_of_constant_rows_is_one():
    assert make_formula("rbf", np.ones((5, 2))).gamma == 1.0


@pytest.mark.parametrize(
    ("kernel", "settings", "words"),
    [
        ("cosine", {}, "kernel must be one of 'linear', 'rbf', .* got 'cosine'"),
        ("rbf", {"gamma": "huge"}, "gamma must be 'scale', 'auto' or a number, got 'huge'"),
        ("rbf", {"gamma": 0.0}, "gamma must be positive and finite, got 0.0"),
        ("rbf", {"gamma": np.nan}, "gamma must be positive and finite"),
        ("poly", {"degree": -1}, "degree must be 0 or more, got -1"),
    ],
)
def test_bad_parameters_are_refused(kernel, settings, words):
    with pytest.raises(ValueError, match=words):
        make_formula(kernel, np.eye(3), **settings)


@pytest.mark.parametrize(
    ("name", "parameters", "factor", "needs"),
    [
        ("linear", {}, 1, False),
        ("linear", {}, 100, True),
        ("rbf", {"gamma": 1.0}, 1, False),
        ("rbf", {"gamma": 1.0}, 100, True),
        ("rbf", {"gamma": 1e-30}, 1e17, True),
        ("poly", {"gamma": 1.0, "degree": 9}, 1, True),
        (lambda A, B: 1e6 * A @ B.T, {}, 1, True),
    ],
)
def test_float32_is_used_where_it_has_enough_digits(name, parameters, factor, needs):
    X = factor * rows_of(1_500, 4)
    formula = make_formula(name, X, **parameters)
    assert formula.needs_float64(X) == needs
    assert (kernel_of(X, formula).dtype == np.float64) == needs
    assert kernel_of(X, formula, tol=1e-6).dtype == np.float64
    assert kernel_of(X[:900], formula).dtype == np.float64


# --- memory ---


def test_rows_used_longest_ago_make_room_and_the_budget_is_kept():
    X = rows_of(200, 3)
    formula = make_formula("rbf", X, gamma=0.5)
    kernel = kernel_of(X, formula, dtype=np.float64, cache_size=8.5 * 200 * 8 / 1e6)
    for row in (3, 1, 4, 15, 9, 2, 6, 5, 3, 100):
        kernel.spread(np.array([row]), np.ones(1), np.ones(1, dtype=bool))
    assert sorted(kernel.owner) == [2, 3, 4, 5, 6, 9, 15, 100]
    assert kernel.values.nbytes <= 8.5 * 200 * 8
    many = np.arange(50)
    kernel.spread(many, np.ones(50), np.ones(50, dtype=bool))
    assert np.count_nonzero(kernel.slot >= 0) == 8


def test_a_million_rows_in_fifty_megabytes():
    X = np.zeros((1_000_000, 100), dtype=np.float32)
    X[:, 0] = np.linspace(-1, 1, 1_000_000)
    kernel = kernel_of(X, make_formula("rbf", X, gamma=1.0), cache_size=50, dtype=np.float32)
    sign = np.where(np.arange(1_000_000) % 250_000 == 0, np.sign(X[:, 0]), 0.0)
    problem = DualProblem(kernel, -sign, np.minimum(sign, 0), np.maximum(sign, 0))
    found = solve([problem])[0]
    assert found.status == "converged"
    assert kernel.values.nbytes <= 50e6
    assert_allclose(found.decision_values[[0, 999_999]], [-1, 1], atol=0.3)


@pytest.mark.parametrize("cache_size", [0, -1, np.nan, np.inf])
def test_a_cache_size_that_is_no_size_is_refused(cache_size):
    with pytest.raises(ValueError, match="cache_size must be a positive number of megabytes"):
        kernel_of(np.eye(3), Formula("linear"), cache_size=cache_size)


def test_the_default_budget_is_divided_among_the_workers_of_joblib(monkeypatch):
    monkeypatch.setattr(parallel, "_n_cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(memory, "free_bytes", lambda: 8_000)
    assert memory.budget_bytes(None) == 4_000
    assert memory.budget_bytes(2.5) == 2_500_000
    shares = Parallel(2, backend="threading")(delayed(memory.budget_bytes)(None) for _ in range(2))
    assert shares == [500, 500]  # each of the threads works on one core of eight
    assert memory.free_bytes() > 0


def test_what_is_free_is_known():
    assert 1e6 < memory.free_bytes() < 1e15


# --- means of rows ---


def extended(K, A, data):
    B = np.vstack([np.eye(len(K))[data], A])
    return B @ K @ B.T


@pytest.mark.parametrize("name", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("of_some", [False, True])
@pytest.mark.parametrize("cache_size", [0.01, 10.0])
def test_means_extend_the_kernel_by_their_definition(name, of_some, cache_size):
    X, rng = rows_of(90, 3), np.random.default_rng(0)
    K = naive_kernel("rbf" if name == "precomputed" else name, X, gamma=0.3)
    kernel = kernel_of(K if name == "precomputed" else X, make_formula(name, X, gamma=0.3),
                       dtype=np.float64, cache_size=cache_size)  # fmt: skip
    A = rng.dirichlet(np.ones(90), size=2) * (rng.random((2, 90)) < 0.7)
    data = rng.permutation(90)[:30] if of_some else np.arange(90)
    means = kernel.with_means(A, data=data if of_some else None, dtype=np.float64)
    E, n = extended(K, A, data), len(data) + 2
    assert_allclose(means.diagonal, np.diagonal(E))
    beta, some = rng.normal(size=n), np.r_[rng.permutation(n)[:7], n - 1]
    some = np.unique(some)
    for _ in range(2):
        assert_allclose(means.times(beta), E @ beta, atol=1e-12)
        moved = means.spread(some, beta[some], np.ones(len(some), dtype=bool))
        assert_allclose(moved, beta[some] @ E[some], atol=1e-12)
        assert_allclose(means.block(some, np.arange(n)), E[some], atol=1e-12)
        whole = means.whole()
    assert (whole is None) == (cache_size < 1 and n**2 * 8 > kernel.spare_bytes)
    assert_allclose(means.fold(beta), (beta @ np.vstack([np.eye(90)[data], A])), atol=1e-12)
    assert_allclose(means.data_scores(beta), K @ means.fold(beta), atol=1e-12)
    G, row = np.zeros((6, 22)), np.array([0, n - 1, 5, n - 2, 9, 3])
    means.fill_gram(G, row, np.arange(6))
    assert_allclose(G[:, :6], E[np.ix_(row, row)], atol=1e-12)


@pytest.mark.parametrize("cache_size", [0.5, 100.0])
def test_a_free_variable_on_a_mean_fixes_the_mean_of_f(cache_size):
    X, rng = rows_of(700, 3), np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], 700)
    kernel = kernel_of(X, make_formula("rbf", X, gamma=0.3), cache_size=cache_size)
    means = kernel.with_means(np.full(700, 1 / 700))
    problem = DualProblem(
        means,
        np.append(-sign, -0.2),
        np.append(np.minimum(sign, 0), -np.inf),
        np.append(np.maximum(sign, 0), np.inf),
    )
    found = solve([problem], limits=Limits(1e-4))[0]
    assert found.decision_values[:-1].mean() == pytest.approx(0.2, abs=1e-4)
    used = kernel.values.nbytes + (0 if means.whole() is None else means.whole().nbytes)
    assert used <= 1e6 * cache_size


def test_weights_of_another_length_are_refused():
    kernel = kernel_of(np.eye(3), Formula("linear"))
    with pytest.raises(ValueError, match="weights has 2 columns, but the kernel has 3 rows"):
        kernel.with_means(np.ones((1, 2)))


# --- a new source writes `values`, and nothing else ---


def test_a_source_of_values_alone_is_a_kernel():
    class Distances(sources.Source):
        n_rows, dtype, diagonal = 30, np.dtype(np.float64), np.full(30, 30.0)

        def values(self, rows, columns):
            return 30.0 - abs(rows[:, None] - np.arange(30)[columns])

    sign = np.where(np.arange(30) < 12, -1.0, 1.0)
    K = 30.0 - abs(np.arange(30)[:, None] - np.arange(30))
    problem = DualProblem(
        Kernel(Distances(), 2_000), -sign, np.minimum(sign, 0), np.maximum(sign, 0)
    )
    found = solve([problem])[0]
    assert found.status == "converged"
    assert_allclose(found.scores, K @ found.beta, atol=1e-9)


# --- devices ---


def test_devices_that_are_not_there_are_refused(monkeypatch):
    for name in ("gpu", "cuda:", "CUDA"):
        with pytest.raises(ValueError, match="device must be 'cpu', 'cuda' or 'auto'"):
            choose_device(name, 10)
    monkeypatch.setattr("semisvm.engine.device._missing_module", lambda: "torch")
    with pytest.raises(ValueError, match=r"needs torch, which is not installed: pip install"):
        choose_device("cuda", 10)
    assert choose_device("auto", 10**6) == "cpu"
    monkeypatch.setattr("semisvm.engine.device._missing_module", lambda: None)
    monkeypatch.setattr("semisvm.engine.device._n_devices", lambda: 1)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert (choose_device("auto", 19_999), choose_device("auto", 20_000)) == ("cpu", "cuda")
    with pytest.raises(ValueError, match="'cuda:1': torch sees 1 CUDA device here"):
        choose_device("cuda:1", 10)
    with pytest.raises(ValueError, match="set TRITON_INTERPRET=1"):
        choose_device("interpreter", 10)


def test_values_of_a_device_come_to_the_host_and_others_stay():
    class Elsewhere:
        __cuda_array_interface__ = None

        def get(self):
            return np.zeros(3)

    X = [[1.0]]
    assert on_host(X) is X
    assert_array_equal(on_host(Elsewhere()), np.zeros(3))
