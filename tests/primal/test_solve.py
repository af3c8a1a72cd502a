"""The solvers of the primal problem against a general-purpose solver, the dual solver, LIBSVM
and LIBLINEAR.
"""

import signal

import clarabel
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC, LinearSVC

from oracles import solve_convex
from semisvm import dual
from semisvm.dual import Status
from semisvm.kernels import kernel_rows, make_formula
from semisvm.primal import Watcher, newton, passes, solve_primal
from semisvm.primal.descent import best_bias, best_bias_of_squares, solve_descent
from semisvm.primal.newton import solve_newton
from semisvm.primal.passes import StreamPasses
from semisvm.primal.problem import ClassPrices, GivenPrices, PrimalProblem
from semisvm.primal.rows import MemoryRows, gram

LOSSES = ["hinge", "squared_hinge"]


def two_classes(n=80, d=4, seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    sign = np.sign(X @ rng.standard_normal(d) + 0.5 + noise * rng.standard_normal(n))
    return X, sign


def priced(n=80, d=4, seed=0):
    """Rows with prices of every kind: one sign, both (a soft label), none."""
    X, sign = two_classes(n, d, seed)
    rng = np.random.default_rng(seed + 1)
    p = np.where(sign > 0, rng.uniform(0.1, 3, n), 0.0)
    q = np.where(sign < 0, rng.uniform(0.1, 3, n), 0.0)
    p[:10], q[:10] = rng.uniform(0.1, 1, 10), rng.uniform(0.1, 1, 10)
    p[10:20] = q[10:20] = 0.0
    return X, GivenPrices(p, q)


def objective(X, prices, w, bias, loss):
    """The objective, written out."""
    power = 2 if loss == "squared_hinge" else 1
    f = X @ w + bias
    losses = (
        prices.positive * np.maximum(0, 1 - f) ** power
        + prices.negative * np.maximum(0, 1 + f) ** power
    )
    return 0.5 * w @ w + losses.sum()


def oracle(X, prices, loss):
    """(w, bias, objective) by Clarabel, in w, bias and slacks."""
    n, d = X.shape
    row = np.concatenate([np.flatnonzero(prices.positive), np.flatnonzero(prices.negative)])
    n_positive = np.count_nonzero(prices.positive)
    side = np.where(np.arange(len(row)) < n_positive, 1.0, -1.0)
    price = np.concatenate(
        [prices.positive[prices.positive > 0], prices.negative[prices.negative > 0]]
    )
    m = len(row)
    quadratic = 2 * price if loss == "squared_hinge" else np.zeros(m)
    linear = np.zeros(m) if loss == "squared_hinge" else price
    H = sparse.diags_array(np.concatenate([np.ones(d), [0.0], quadratic])).tocsc()
    with_bias = np.hstack([X, np.ones((n, 1))])[row]
    A = sparse.vstack(
        [
            sparse.hstack([-side[:, None] * with_bias, -sparse.identity(m)]),
            sparse.hstack([sparse.csc_matrix((m, d + 1)), -sparse.identity(m)]),
        ],
        format="csc",
    )
    b = np.concatenate([-np.ones(m), np.zeros(m)])
    linear = np.concatenate([np.zeros(d + 1), linear])
    x, objective = solve_convex(H, linear, A, b, [clarabel.NonnegativeConeT(2 * m)])
    return x[:d], x[d], objective


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_a_general_purpose_solver(loss, form, seed):
    X, prices = priced(seed=seed)
    w, bias, best = oracle(X, prices, loss)
    found = solve_primal(PrimalProblem(MemoryRows(form(X)), prices, loss), tol=1e-9)
    assert found.status is Status.CONVERGED
    assert found.gap <= 1e-9
    assert_allclose(found.objective, best, rtol=1e-7)
    assert_allclose(found.w, w, atol=1e-4)
    assert_allclose(found.bias, bias, atol=1e-4)
    assert_allclose(objective(X, prices, found.w, found.bias, loss), found.objective, rtol=1e-10)
    assert_allclose(found.decision_values, X @ found.w + found.bias, atol=1e-10)
    assert_allclose(found.scores, X @ found.w, atol=1e-10)


def solvers():
    return {
        "newton": lambda problem, tol: solve_newton(problem, None, Watcher(tol, None, None, None)),
        "descent": lambda problem, tol: solve_descent(
            problem, None, Watcher(tol, None, None, None)
        ),
    }


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["newton", "descent"])
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_both_solvers_of_sparse_rows_are_certified(loss, solver, tol):
    X, prices = priced(300, 20)
    _, _, best = oracle(X, prices, loss)
    found = solvers()[solver](PrimalProblem(MemoryRows(sparse.csr_array(X)), prices, loss), tol)
    assert found.bound <= best * (1 + 1e-9)
    assert found.objective >= best * (1 - 1e-9)
    assert found.gap <= tol
    assert found.objective <= best * (1 + tol) / (1 - tol)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_bias_of_the_squared_hinge(seed):
    rng = np.random.default_rng(seed)
    scores = 3 * rng.standard_normal(50)
    p = rng.uniform(0, 2, 50)
    q = rng.uniform(0, 2, 50)
    p[rng.random(50) < 0.5], q[rng.random(50) < 0.5] = 0, 0

    def losses(bias):
        return p @ np.maximum(0, 1 - scores - bias) ** 2 + q @ np.maximum(0, 1 + scores + bias) ** 2

    expected = minimize_scalar(losses, (-20, 20), method="brent", options={"xtol": 1e-12}).fun
    assert losses(best_bias_of_squares(scores, p, q)) <= expected * (1 + 1e-12)
    assert best_bias_of_squares(scores, 0 * p, 0 * q) == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_columns_on_any_scales_are_certified(loss):
    """Columns from 1e-4 to 1e4: the gap is a proof, and the machine separates as well as that of
    scaled columns.
    """
    X, sign = two_classes(3_000, 9, noise=0.3)
    problem = PrimalProblem(
        MemoryRows(X * np.logspace(-4, 4, 9)), GivenPrices.of_signs(sign, np.ones(3_000)), loss
    )
    found = solve_primal(problem, tol=1e-6)
    assert found.status is Status.CONVERGED
    assert found.gap <= 1e-6
    assert_allclose(
        objective(problem.rows.X, problem.prices, found.w, found.bias, loss),
        found.objective,
        rtol=1e-9,
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [400, 3_000])
def test_a_million_features(loss, n):
    """Nothing of d^2 numbers is made; the machine is that of the columns that have any number."""
    X = sparse.random_array(
        (n, 1_000_000), density=2e-5, format="csr", random_state=np.random.default_rng(0)
    )
    sign = np.where(X @ np.random.default_rng(1).standard_normal(1_000_000) > 0, 1.0, -1.0)
    own = X[:, np.unique(X.indices)]
    prices = GivenPrices.of_signs(sign, np.ones(n))
    found, expected = (
        solve_primal(PrimalProblem(MemoryRows(rows), prices, loss), tol=1e-4) for rows in (X, own)
    )
    assert found.status is Status.CONVERGED
    assert found.gap <= 1e-4
    assert found.objective == pytest.approx(expected.objective, rel=2e-4)
    assert found.bound <= expected.objective * (1 + 1e-12)  # rounding
    assert np.count_nonzero(found.w) <= own.shape[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_sparse_rows_are_those_over_dense_ones(dtype):
    """Numbers may be float32, sums are in float64; rows without a number and columns without one
    count too.
    """
    rng = np.random.default_rng(0)
    X = sparse.random_array((500, 30), density=0.03, format="csr", random_state=rng).astype(dtype)
    assert (np.diff(X.indptr) == 0).any()
    rows = MemoryRows(X)
    wide = X.toarray().astype(np.float64)
    assert_allclose(MemoryRows(X.toarray()).square_norms, rows.square_norms, atol=1e-12)
    w = rng.standard_normal(30)
    net = rng.standard_normal(500)
    assert_allclose(rows.scores(w), wide @ w, atol=1e-12)
    assert_allclose(rows.times(net), wide.T @ net, atol=1e-12)
    assert_allclose(rows.square_norms, (wide**2).sum(axis=1), atol=1e-12)
    p, q = rng.uniform(0, 1, (2, 500))
    for loss in LOSSES:
        problems = [PrimalProblem(own, GivenPrices(p, q), loss) for own in (rows, MemoryRows(wide))]
        sparse_sums, dense_sums = (passes.MemoryPasses(problem) for problem in problems)
        dense_sums.kind = passes.DIAGONAL
        mu = 0.0 if loss == "squared_hinge" else 0.5
        direction = rng.standard_normal(31)
        found = sparse_sums.at(w, 0.2, mu)
        expected = dense_sums.at(w, 0.2, mu)
        assert_allclose(found.packed, expected.packed, atol=1e-10)
        assert_allclose(found.diagonal, expected.diagonal, atol=1e-10)
        times = [
            one.hessian_products(at)(direction)
            for one, at in ((sparse_sums, found), (dense_sums, expected))
        ]
        assert_allclose(*times, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "kind", ["hessian", "gram", "hessian of curved rows", "conjugate gradients"]
)
def test_the_ways_to_solve_the_newton_system_agree(loss, kind, monkeypatch):
    X, prices = priced(400, 15)
    if kind != "hessian":
        monkeypatch.setattr(passes, "WIDEST_HESSIAN", 0)
    if kind not in ("hessian", "gram"):
        monkeypatch.setattr(newton, "MOST_GRAM_ROWS", 0)
    if kind == "conjugate gradients":
        monkeypatch.setattr(newton, "MOST_EXACT", 0)
    found = solve_primal(PrimalProblem(MemoryRows(X), prices, loss), tol=1e-6)
    assert found.status is Status.CONVERGED
    assert_allclose(found.objective, oracle(X, prices, loss)[2], rtol=2e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("price", [0.01, 100.0], ids=["descent suffices", "descent is given up"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide_dense_rows_are_solved_by_descent_and_where_it_is_slow_by_exact_newton_steps(
    loss, price, dtype, monkeypatch
):
    """The optimum is that of a general-purpose solver, and the bound is below it."""
    monkeypatch.setattr(passes, "WIDEST_HESSIAN", 0)
    monkeypatch.setattr("semisvm.primal.FEW_WIDE_ROWS", 0)
    X, prices = priced(300, 60)
    X = np.asfortranarray(
        X @ np.linalg.qr(X[:60])[0] * np.logspace(0, -1, 60), dtype=dtype
    )  # not in the order of rows
    prices = GivenPrices(price * prices.positive, price * prices.negative)
    best = oracle(X.astype(np.float64), prices, loss)[2]
    found = solve_primal(PrimalProblem(MemoryRows(X), prices, loss))
    assert (found.beta is None) == (price == 100.0)  # only descent has dual variables
    assert found.status is Status.CONVERGED
    assert found.gap <= 1e-3
    assert found.bound <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= found.objective <= best / (1 - 1e-3)
    assert_allclose(found.decision_values, X @ found.w + found.bias, atol=1e-6)


@pytest.mark.parametrize("spread", [0.0, 2.0], ids=["equal columns", "columns of all sizes"])
def test_a_zone_that_takes_many_steps_is_no_stall(spread):
    """Zones were given up after 12 steps, and a solve whose zone had been widened counted as
    stalled.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4_000, 300))
    f = X @ rng.standard_normal(300)
    sign = np.where(f + 0.5 * f.std() * rng.standard_normal(4_000) > 0, 1.0, -1.0)
    X *= 10.0 ** rng.uniform(-spread, spread, 300)
    prices = GivenPrices.of_signs(sign, np.full(4_000, 1e3))
    found = solve_primal(PrimalProblem(MemoryRows(X), prices), max_iter=200)
    assert found.status is Status.CONVERGED
    assert_allclose(objective(X, prices, found.w, found.bias, "hinge"), found.objective, rtol=1e-9)


@pytest.mark.parametrize("price", [1.0, 1e3, 1e4])
def test_sparse_rows_with_columns_of_all_sizes_are_solved_by_exact_newton_steps(price):
    """Descent alone has a gap of 0.6 or more after 3,000 epochs."""
    rng = np.random.default_rng(0)
    X = sparse.random_array(
        (1_500, 300), density=0.03, random_state=rng, data_sampler=rng.standard_normal
    )
    X = sparse.csr_array(X * 10.0 ** rng.uniform(-2, 2, 300))
    f = X @ (rng.standard_normal(300) / np.sqrt((X * X).mean(axis=0)))
    sign = np.where(f + 0.5 * f.std() * rng.standard_normal(1_500) > 0, 1.0, -1.0)
    prices = GivenPrices.of_signs(sign, np.full(1_500, price))
    found = solve_primal(PrimalProblem(MemoryRows(X), prices), max_iter=3_000)
    assert found.status is Status.CONVERGED
    assert found.gap <= 1e-3
    dense = X.toarray()
    assert_allclose(
        objective(dense, prices, found.w, found.bias, "hinge"), found.objective, rtol=1e-9
    )
    best = oracle(dense, prices, "hinge")[2]
    assert found.bound <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= found.objective <= best / (1 - 1e-3) * (1 + 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_more_than_2000_dense_features_with_many_rows_on_the_margin(loss):
    """With inexact Newton steps the hinge took more than 160 of them, and the squared hinge
    ended without a bound.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_600, 2_010))
    sign = np.where(
        X @ rng.standard_normal(2_010) / np.sqrt(2_010) + 0.5 * rng.standard_normal(1_600) > 0,
        1.0,
        -1.0,
    )
    prices = GivenPrices.of_signs(sign, np.ones(1_600))
    found = solve_primal(PrimalProblem(MemoryRows(X), prices, loss), max_iter=60)
    assert found.status is Status.CONVERGED
    assert_allclose(objective(X, prices, found.w, found.bias, loss), found.objective, rtol=1e-9)
    if loss == "hinge":
        K = X @ X.T
        model = SVC(kernel="precomputed", tol=1e-5).fit(K, sign)
        dual = (
            np.abs(model.dual_coef_).sum()
            - 0.5 * model.dual_coef_[0] @ K[np.ix_(*2 * [model.support_])] @ (model.dual_coef_[0])
        )
        assert_allclose(found.objective, dual, rtol=2e-3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("share", [0.02, 0.5])
def test_products_of_rows_are_kept_and_the_same_whatever_was_asked_before(form, share, monkeypatch):
    monkeypatch.setattr("semisvm.primal.rows.ALWAYS_KEPT", 350)
    X = sparse.random_array(
        (700, 90), density=share, random_state=np.random.default_rng(0)
    ).toarray()
    rows = MemoryRows(form(X))
    rng = np.random.default_rng(1)
    for m in (100, 300, 310, 650, 2, 0, 690):
        own = rng.permutation(700)[:m]
        assert_allclose(gram(rows, own), X[own] @ X[own].T, atol=1e-12)
    assert_array_equal(gram(rows, np.arange(400)), gram(rows, np.arange(400)).T)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_products_that_are_kept_fit_into_the_memory_for_them(form):
    X = np.random.default_rng(0).standard_normal((900, 20))
    memory = 500**2 * 8
    rows = MemoryRows(form(X), memory=memory)
    for first, last in ((0, 300), (100, 480), (400, 800), (0, 900), (200, 650), (0, 40)):
        own = np.arange(first, last)
        assert_allclose(gram(rows, own), X[own] @ X[own].T, atol=1e-12)
        assert rows.products[1].nbytes <= memory
    assert rows.select(np.arange(900)).memory == memory


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("width", [passes.WIDEST_HESSIAN, 0])
def test_sums_alone_give_the_same_optimum(loss, width, monkeypatch):
    monkeypatch.setattr(passes, "WIDEST_HESSIAN", width)
    monkeypatch.setattr(newton, "passes_of", StreamPasses)
    X, prices = priced(400, 6)
    found = solve_newton(
        PrimalProblem(MemoryRows(X), prices, loss), None, Watcher(1e-5, None, None, None)
    )
    assert found.gap <= 1e-5
    assert_allclose(found.objective, oracle(X, prices, loss)[2], rtol=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_primal_and_dual_are_one_machine(seed):
    """Ten sets with prices of all sizes: the same objective to 1e-5, the same predictions."""
    X, prices = priced(150 + 20 * seed, 3 + seed, seed)
    prices = GivenPrices(np.where(prices.negative > 0, 0, prices.positive), prices.negative)
    sign = np.sign(prices.positive - prices.negative)
    kernel = kernel_rows(X, make_formula("linear", X), dtype=np.float64)
    by_dual = dual.solve(
        dual.DualProblem(kernel, -sign, -prices.negative, prices.positive), tol=1e-7
    )
    found = solve_primal(PrimalProblem(MemoryRows(X), prices), tol=1e-7)
    assert_allclose(found.objective, -by_dual.objective, rtol=1e-5)
    assert (np.sign(found.decision_values) == np.sign(by_dual.decision_values)).mean() >= 0.999
    assert_allclose(found.decision_values, by_dual.decision_values, atol=1e-3)


def test_it_is_the_machine_of_libsvm():
    X, sign = two_classes(2000, 10)
    model = SVC(kernel="linear", C=0.5, tol=1e-6).fit(X, sign)
    found = solve_primal(
        PrimalProblem(MemoryRows(X), GivenPrices.of_signs(sign, np.full(2000, 0.5))), tol=1e-9
    )
    assert_allclose(found.w, model.coef_[0], atol=1e-4)
    assert_allclose(found.bias, model.intercept_[0], atol=1e-4)


def test_with_the_bias_as_a_column_it_is_the_machine_of_liblinear():
    """LIBLINEAR regularizes its bias: so does a machine whose rows have one more column, when
    its own bias is 0.
    """
    X, sign = two_classes(500, 6)
    balanced = np.vstack([np.hstack([X, np.ones((500, 1))]), -np.hstack([X, np.ones((500, 1))])])
    signs = np.concatenate([sign, -sign])  # mirrored rows leave the free bias at 0
    for loss in LOSSES:
        model = LinearSVC(
            loss=loss, C=0.3, dual=True, tol=1e-8, max_iter=200_000, random_state=0
        ).fit(X, sign)
        prices = GivenPrices.of_signs(signs, np.full(1000, 0.15))
        found = solve_primal(PrimalProblem(MemoryRows(balanced), prices, loss), tol=1e-9)
        assert_allclose(found.w, np.append(model.coef_[0], model.intercept_), atol=2e-4)
        assert_allclose(found.bias, 0, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_start_from_the_solution_takes_fewer_steps(loss):
    X, sign = two_classes(3000, 20)
    rows = MemoryRows(X)
    first = solve_primal(PrimalProblem(rows, GivenPrices.of_signs(sign, np.ones(3000)), loss))
    sign[:5] *= -1
    problem = PrimalProblem(rows, GivenPrices.of_signs(sign, np.ones(3000)), loss)
    assert solve_primal(problem, first).n_iter < solve_primal(problem).n_iter


def test_descent_starts_from_the_variables_of_a_solution():
    X, sign = two_classes(1500, 20)
    rows = MemoryRows(sparse.csr_array(X))
    problem = PrimalProblem(rows, GivenPrices.of_signs(sign, np.full(1500, 0.01)))
    first = solve_primal(problem, tol=1e-4)
    assert first.beta is not None
    assert_allclose(first.beta @ X, first.w, atol=0.05)
    assert solve_primal(problem, first, tol=1e-3).n_iter == 0


def test_rows_without_a_price_do_not_count():
    X, sign = two_classes(3000, 8)
    sign[1500:] = 0
    for form in (np.asarray, sparse.csr_array):
        alone = solve_primal(
            PrimalProblem(
                MemoryRows(form(X[:1500])), GivenPrices.of_signs(sign[:1500], np.ones(1500))
            )
        )
        among = solve_primal(
            PrimalProblem(MemoryRows(form(X)), GivenPrices.of_signs(sign, np.ones(3000)))
        )
        assert_array_equal(alone.w, among.w)
        assert_allclose(among.decision_values, X @ among.w + among.bias)
        if among.beta is not None:
            assert not among.beta[1500:].any()


@pytest.mark.parametrize("sign", [1, -1])
def test_rows_of_one_sign_need_a_constant_only(sign):
    found = solve_primal(
        PrimalProblem(MemoryRows(np.eye(3)), GivenPrices.of_signs(np.full(3, sign), np.ones(3)))
    )
    assert (found.objective, found.gap, found.bias) == (0, 0, sign)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
def test_any_scale_of_rows_and_prices(scale, C):
    X, sign = two_classes(200, 3)
    prices = GivenPrices.of_signs(sign, np.full(200, C))
    found = solve_primal(PrimalProblem(MemoryRows(scale * X), prices), tol=1e-4)
    assert found.status is Status.CONVERGED
    _, _, best = oracle(scale * X, prices, "hinge")
    assert_allclose(found.objective, best, rtol=2e-4)


def test_columns_of_very_different_scales():
    X, sign = two_classes(500, 6)
    X = X * 10.0 ** np.array([-4, -2, 0, 2, 4, 5])
    for loss in LOSSES:
        prices = GivenPrices.of_signs(sign, np.ones(500))
        found = solve_primal(PrimalProblem(MemoryRows(X), prices, loss), tol=1e-4)
        assert found.status is Status.CONVERGED
        assert_allclose(found.objective, objective(X, prices, found.w, found.bias, loss), rtol=1e-9)


def test_the_number_of_threads_does_not_change_a_bit(monkeypatch):
    X, sign = two_classes(40_000, 30)
    problem = PrimalProblem(MemoryRows(X), GivenPrices.of_signs(sign, np.ones(len(sign))))
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(solve_primal(problem))
    assert_array_equal(found[0].w, found[1].w)
    assert found[0].gap <= 1e-3


def test_prices_of_classes_are_those_of_their_rows():
    X, _ = two_classes(300, 5)
    codes = np.random.default_rng(0).integers(-1, 3, 300)
    weight = np.random.default_rng(1).uniform(0.5, 2, 300)
    price = np.array([1.0, 2.0, 0.5])
    for negative in (None, 2):
        sign = np.where(
            codes == 1, 1, np.where((codes >= 0) if negative is None else (codes == 2), -1, 0)
        )
        given = GivenPrices.of_signs(sign, weight * price[np.maximum(codes, 0)])
        by_class = ClassPrices(1, negative, price)
        one = solve_primal(PrimalProblem(MemoryRows(X), given), tol=1e-6)
        other = solve_primal(PrimalProblem(MemoryRows(X, codes, weight), by_class), tol=1e-6)
        assert_allclose(one.objective, other.objective, rtol=2e-6)


# ---- limits ----


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_limits_end_a_solve_with_a_true_gap(form):
    X, sign = two_classes(3000, 20)
    problem = PrimalProblem(MemoryRows(form(X)), GivenPrices.of_signs(sign, np.ones(3000)))
    for limit, status in [({"max_iter": 1}, "max_iter"), ({"time_limit": 1e-9}, "time_limit")]:
        found = solve_primal(problem, tol=1e-9, **limit)
        assert found.status == status
        assert 1e-9 < found.gap <= 1
        assert_allclose(
            found.objective, objective(X, problem.prices, found.w, found.bias, "hinge"), rtol=1e-9
        )
    seen = []
    found = solve_primal(
        problem, tol=1e-9, callback=lambda n_iter, gap: seen.append((n_iter, gap)) or len(seen) == 3
    )
    assert found.status == "stopped_by_callback"
    assert len(seen) == 3


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_ctrl_c_keeps_the_best_point(form):
    X, sign = two_classes(3000, 20)
    problem = PrimalProblem(MemoryRows(form(X)), GivenPrices.of_signs(sign, np.ones(3000)))

    def interrupt(n_iter, gap):
        if n_iter >= 2:
            signal.raise_signal(signal.SIGINT)

    found = solve_primal(problem, tol=1e-12, callback=interrupt)
    assert found.status is Status.INTERRUPTED
    assert found.objective < problem.prices.positive.sum() + problem.prices.negative.sum()


def test_wrong_arguments_are_refused():
    rows = MemoryRows(np.eye(2))
    prices = GivenPrices.of_signs(np.array([1, -1]), np.ones(2))
    with pytest.raises(ValueError, match="loss must be"):
        PrimalProblem(rows, prices, "logistic")
    with pytest.raises(ValueError, match="tol must be positive"):
        solve_primal(PrimalProblem(rows, prices), tol=0)


def test_the_best_bias_is_the_best_of_all_places():
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores = rng.standard_normal(15)
        sign = rng.choice([-1, 0, 1], 15)
        box = rng.uniform(0.1, 2, 15)
        prices = GivenPrices.of_signs(sign, box)
        places = np.concatenate(
            [[best_bias(scores, prices.positive, prices.negative)], 1 - scores, -1 - scores]
        )
        slack = np.maximum(0, 1 - sign * (scores + places[:, None]))
        losses = slack @ (box * (sign != 0))
        assert_allclose(losses[0], losses.min())
