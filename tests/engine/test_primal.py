"""The primal form against a general-purpose solver, LIBSVM and LIBLINEAR: certified on rows of every
kind, in every scale, from any start.
"""

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC, LinearSVC

from semisvm.engine import GivenPenalties, Limits, PrimalProblem, Problem, Status, solve
from semisvm.engine.primal import (
    ClassPenalties,
    MemoryRows,
    StreamRows,
    choose_form,
    rows_of,
    solve_stalled,
)
from semisvm.engine.primal import rows as rows_module
from semisvm.engine.primal.descent import best_bias_of_hinge, best_bias_of_squares
from semisvm.engine.primal.passes import MemoryPasses, Passes
from tests.helpers.linear_svms import NoAnswerError, objective, optimum

LOSSES = ["hinge", "squared_hinge"]
KINDS = ["dense", "columns first", "float32", "sparse", "sparse float32", "memmap", "dask"]


def rows_of_kind(kind, X, folder):
    """The rows X, held in one of the ways that rows can be held."""
    if kind == "memmap":
        np.save(folder / "rows.npy", X)
        rows = rows_of(np.asarray(np.load(folder / "rows.npy", mmap_mode="r")))
        assert isinstance(rows, StreamRows)
        return rows
    if kind == "dask":
        da = pytest.importorskip("dask.array")
        return rows_of(da.from_array(X, chunks=(max(len(X) // 3, 1), 2)))
    dtype = np.float32 if "float32" in kind else np.float64
    X = X.astype(dtype, order="F" if kind == "columns first" else "C")
    return rows_of(sparse.csr_array(X) if "sparse" in kind else X)


def two_classes(n=80, d=4, seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sign(X @ rng.standard_normal(d) + 0.5 + noise * rng.standard_normal(n))


def penalized(n=80, d=4, seed=0, noise=0.7):
    """Rows with penalties of every kind: for one side, for both, for none. Values are multiples of
    1/256, which float32 holds too.
    """
    X, sign = two_classes(n, d, seed, noise)
    rng = np.random.default_rng(seed + 1)
    p = np.where(sign > 0, rng.uniform(0.1, 3, n), 0.0)
    q = np.where(sign < 0, rng.uniform(0.1, 3, n), 0.0)
    p[:10], q[:10] = rng.uniform(0.1, 1, 10), rng.uniform(0.1, 1, 10)
    p[10:20] = q[10:20] = 0.0
    return np.round(X * 256) / 256, p, q


def solve_one(rows, p, q, loss="hinge", *, start=None, **limits):
    problem = PrimalProblem(rows, GivenPenalties(p, q), loss)
    return solve([problem], [start], Limits(**limits))[0]


def check(found, X, p, q, loss, best=None):
    """The objective is that of (w, bias), the gap is that of objective and bound, and the bound is
    below the optimum.
    """
    best = optimum(X, p, q, loss)[2] if best is None else best
    own = objective(X, p, q, found.w, found.bias, loss)
    rounding = 1e-11 * (p.sum() + q.sum())
    assert_allclose(found.objective, own, rtol=1e-9, atol=rounding)
    assert found.gap == pytest.approx(max(1 - found.bound / found.objective, 0), abs=1e-12)
    assert found.bound <= best * (1 + 1e-6) + 100 * rounding
    if found.scores is not None:
        assert_allclose(found.decision_values, X @ found.w + found.bias, atol=1e-9 * (1 + own))


def check_solved(found, X, p, q, loss, tol, best=None):
    check(found, X, p, q, loss, best)
    assert found.status is Status.CONVERGED
    assert found.gap < tol


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("n", "d"), [(80, 4), (400, 30), (60, 120)], ids=["few", "many", "wide"])
def test_the_optimum_is_that_of_a_general_purpose_solver(kind, loss, n, d, tmp_path):
    X, p, q = penalized(n, d)
    w, _, best = optimum(X, p, q, loss)
    rows = rows_of_kind(kind, X, tmp_path)
    for tol in (1e-1, 1e-3):
        check_solved(solve_one(rows, p, q, loss, tol=tol), X, p, q, loss, tol, best)
    exact = solve_one(rows, p, q, loss, tol=1e-7 if kind != "dask" else 1e-5)
    check_solved(exact, X, p, q, loss, 1e-5, best)
    # The objective is strongly convex in w.
    assert_allclose(exact.w, w, atol=np.sqrt(2 * exact.gap * best) + 1e-4)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 60),
    d=st.integers(1, 8),
    C=st.floats(1e-4, 1e4),
    scale=st.floats(1e-2, 1e2),
    is_sparse=st.booleans(),
    loss=st.sampled_from(LOSSES),
)
def test_any_small_problem_is_solved_at_the_default_settings(seed, n, d, C, scale, is_sparse, loss):
    rng = np.random.default_rng(seed)
    X = scale * rng.choice([-1.0, 0.0, 1.0, 2.5], (n, d))  # with equal rows, and rows of zeros
    sign = rng.choice([-1.0, 0.0, 1.0], n)
    sign[:2] = 1.0, -1.0
    p, q = C * (sign > 0), C * (sign < 0)
    rows = MemoryRows(sparse.csr_array(X) if is_sparse else X)
    (found,) = solve([Problem.hinge(rows, sign, np.full(n, C), loss)])
    try:
        check_solved(found, X, p, q, loss, 1e-3)
    except NoAnswerError:
        reject()


@pytest.mark.parametrize("kind", ["dense", "sparse", "memmap"])
@pytest.mark.parametrize("loss", LOSSES)
def test_columns_of_all_sizes(kind, loss, tmp_path):
    """Coordinate descent is given up here; Newton's method goes on."""
    X, sign = two_classes(1_500, 9, noise=0.3)
    X = X * np.logspace(-4, 4, 9)
    p, q = 1.0 * (sign > 0), 1.0 * (sign < 0)
    found = solve_one(rows_of_kind(kind, X, tmp_path), p, q, loss, tol=1e-4)
    check_solved(found, X, p, q, loss, 1e-4)


@pytest.mark.parametrize("C", [1.0, 1e3])
def test_sparse_rows_with_columns_of_all_sizes(C):
    """Descent alone has a gap of 0.6 or more after 3,000 epochs."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((600, 100), density=0.05, rng=rng, data_sampler=rng.standard_normal)
    X = sparse.csr_array(X * 10.0 ** rng.uniform(-2, 2, 100))
    f = X @ (rng.standard_normal(100) / np.sqrt((X * X).mean(axis=0)))
    sign = np.where(f + 0.5 * f.std() * rng.standard_normal(600) > 0, 1.0, -1.0)
    p, q = C * (sign > 0), C * (sign < 0)
    check_solved(solve_one(MemoryRows(X), p, q), X.toarray(), p, q, "hinge", 1e-3)


def test_a_zone_that_takes_many_steps_is_no_stall():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4_000, 300))
    f = X @ rng.standard_normal(300)
    sign = np.where(f + 0.5 * f.std() * rng.standard_normal(4_000) > 0, 1.0, -1.0)
    X *= 10.0 ** rng.uniform(-2, 2, 300)
    p, q = 1e3 * (sign > 0), 1e3 * (sign < 0)
    found = solve_one(MemoryRows(X), p, q, max_iter=200)
    assert found.status is Status.CONVERGED
    assert_allclose(objective(X, p, q, found.w, found.bias, "hinge"), found.objective, rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_million_features(loss):
    """Nothing of d^2 numbers is made; the model is that of the columns that have any number."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((600, 1_000_000), density=2e-5, format="csr", rng=rng)
    sign = np.where(X @ rng.standard_normal(1_000_000) > 0, 1.0, -1.0)
    p, q = 1.0 * (sign > 0), 1.0 * (sign < 0)
    few = X[:, np.unique(X.indices)]
    found, expected = (solve_one(MemoryRows(some), p, q, loss, tol=1e-4) for some in (X, few))
    assert found.gap < 1e-4
    assert found.objective == pytest.approx(expected.objective, rel=2e-4)


@pytest.mark.parametrize("scale", [1e-100, 1e-19, 1.0, 1e19, 1e100])
@pytest.mark.parametrize("C", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_absurd_sizes_end_with_a_true_gap(kind, scale, C, tmp_path):
    X, sign = two_classes(100, 3)
    p, q = C * (sign > 0), C * (sign < 0)
    rows = rows_of_kind(kind, scale * X, tmp_path)
    for loss in LOSSES:
        found = solve_one(rows, p, q, loss)
        own = objective(scale * X, p, q, found.w, found.bias, loss)
        assert_allclose(found.objective, own, rtol=1e-9)
        assert 0 <= found.bound <= own * (1 + 1e-9)
        assert found.status in (Status.CONVERGED, Status.STALLED)
        assert (found.gap < 1e-3) == (found.status is Status.CONVERGED)
        if scale == 1 and C <= 1:
            assert found.status is Status.CONVERGED


# ---- other libraries ----


def test_it_is_the_svm_of_libsvm():
    X, sign = two_classes(2_000, 10)
    model = SVC(kernel="linear", C=0.5, tol=1e-6).fit(X, sign)
    found = solve_one(MemoryRows(X), 0.5 * (sign > 0), 0.5 * (sign < 0), tol=1e-8)
    assert_allclose(found.w, model.coef_[0], atol=2e-4)
    assert_allclose(found.bias, model.intercept_[0], atol=2e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_with_the_bias_as_a_column_it_is_the_svm_of_liblinear(loss):
    """LIBLINEAR regularizes its bias: so does an SVM whose rows have one more column, when its own
    bias is 0.
    """
    X, sign = two_classes(500, 6)
    with_ones = np.hstack([X, np.ones((500, 1))])
    mirrored = np.vstack([with_ones, -with_ones])  # leaves the free bias at 0
    signs = np.append(sign, -sign)
    model = LinearSVC(loss=loss, C=0.3, tol=1e-8, max_iter=200_000, random_state=0).fit(X, sign)
    found = solve_one(MemoryRows(mirrored), 0.15 * (signs > 0), 0.15 * (signs < 0), loss, tol=1e-8)
    assert_allclose(found.w, np.append(model.coef_[0], model.intercept_), atol=5e-4)
    assert_allclose(found.bias, 0, atol=1e-5)


# ---- rows out of use, one sign, classes ----


@pytest.mark.parametrize("kind", ["dense", "sparse", "memmap"])
def test_rows_without_a_penalty_do_not_count(kind, tmp_path):
    X, p, q = penalized(1_500, 8)
    few = np.arange(0, 1_500, 3)
    alone = solve_one(MemoryRows(X[few]), p[few], q[few], tol=1e-6)
    masked = (np.where(np.arange(1_500) % 3, 0.0, values) for values in (p, q))
    among = solve_one(rows_of_kind(kind, X, tmp_path), *masked, tol=1e-6)
    assert_allclose(among.objective, alone.objective, rtol=2e-6)
    assert_allclose(among.decision_values, X @ among.w + among.bias, atol=1e-9)


@pytest.mark.parametrize("sign", [1, 0, -1])
@pytest.mark.parametrize("kind", ["dense", "sparse", "memmap", "dask"])
def test_rows_of_one_sign_need_a_constant_only(sign, kind, tmp_path):
    rows = rows_of_kind(kind, np.eye(3), tmp_path)
    (found,) = solve([Problem.hinge(rows, np.full(3, sign), np.ones(3))])
    assert (found.objective, found.gap, found.bias) == (0, 0, sign)
    assert_array_equal(found.decision_values, np.full(3, sign))


@pytest.mark.parametrize("negative", [None, 2])
def test_penalties_of_classes_are_those_of_their_rows(negative):
    X, _ = two_classes(300, 5)
    rng = np.random.default_rng(0)
    codes, weight = rng.integers(-1, 3, 300), rng.uniform(0.5, 2, 300)
    of_class = np.array([1.0, 2.0, 0.5])
    is_negative = (codes >= 0) & (codes != 1) if negative is None else codes == negative
    box = weight * of_class[np.maximum(codes, 0)]
    one = solve_one(MemoryRows(X), box * (codes == 1), box * is_negative, tol=1e-6)
    by_class = PrimalProblem(MemoryRows(X, codes, weight), ClassPenalties(1, negative, of_class))
    (other,) = solve([by_class], limits=Limits(1e-6))
    assert_array_equal(one.w, other.w)
    with pytest.raises(ValueError, match="need rows with class codes"):
        solve([PrimalProblem(MemoryRows(X), ClassPenalties(1, None, of_class))])


@pytest.mark.parametrize("seed", range(5))
def test_the_best_bias(seed):
    rng = np.random.default_rng(seed)
    scores = 3 * rng.standard_normal(50)
    p, q = rng.uniform(0, 2, (2, 50)) * (rng.random((2, 50)) < 0.6)
    for best_bias, power in ((best_bias_of_hinge, 1), (best_bias_of_squares, 2)):

        def losses(bias, power=power):
            short = np.maximum(0, [1 - scores - bias, 1 + scores + bias]) ** power
            return (np.array([p, q]) * short).sum()

        expected = minimize_scalar(losses, (-20, 20), method="brent", options={"xtol": 1e-12}).fun
        assert losses(best_bias(scores, p, q)) <= expected * (1 + 1e-9)
        assert best_bias(scores, 0 * p, 0 * q) == 0


# ---- starts and limits ----


@pytest.mark.parametrize("kind", ["dense", "sparse", "memmap", "dask"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_start_near_the_solution_takes_fewer_steps(kind, loss, tmp_path):
    X, p, q = penalized(1_500, 12)
    rows = rows_of_kind(kind, X, tmp_path)
    first = solve_one(rows, p, q, loss)
    p[100:105], q[100:105] = q[100:105].copy(), p[100:105].copy()
    cold, warm = (solve_one(rows, p, q, loss, start=start) for start in (None, first))
    check_solved(warm, X, p, q, loss, 1e-3)
    assert warm.n_iter < cold.n_iter
    (of_part,) = solve(
        [PrimalProblem(MemoryRows(X[:800]), GivenPenalties(p[:800], q[:800]), loss)], [warm]
    )
    check_solved(of_part, X[:800], p[:800], q[:800], loss, 1e-3)  # a start on other rows


@pytest.mark.parametrize("kind", ["dense", "sparse", "memmap"])
def test_limits_end_a_solve_with_a_true_gap(kind, tmp_path):
    X, p, q = penalized(1_000, 20)
    rows = rows_of_kind(kind, X, tmp_path)
    for max_iter in (0, 1, 3):
        found = solve_one(rows, p, q, tol=1e-9, max_iter=max_iter)
        check(found, X, p, q, "hinge")
        assert (found.status, found.n_iter) == (Status.MAX_ITER, max_iter)
    found = solve_one(rows, p, q, tol=1e-300)  # rounding allows no more
    check(found, X, p, q, "hinge")
    assert found.status is Status.STALLED
    assert found.gap < 1e-9


def test_the_number_of_threads_does_not_change_a_bit(monkeypatch):
    X, sign = two_classes(40_000, 30)  # with the solution of a sample
    for some in (X, sparse.csr_array(np.where(np.abs(X) > 1.5, X, 0))):
        rows, found = MemoryRows(some), []
        for threads in ("1", "2"):
            monkeypatch.setenv("OMP_NUM_THREADS", threads)
            found.append(solve_one(rows, 1.0 * (sign > 0), 1.0 * (sign < 0)))
        assert_array_equal(found[0].w, found[1].w)
        assert found[0].gap < 1e-3


# ---- sums ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_sums_are_those_of_a_plain_formula(dtype, mu):
    """Sparse and dense rows, kept and computed decision values; rows and columns without a number
    count too.
    """
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 12), density=0.1, format="csr", rng=rng).astype(dtype)
    wide = X.toarray().astype(np.float64)
    w, bias, direction = rng.standard_normal(12), 0.2, rng.standard_normal(13)
    p, q = rng.uniform(0, 1, (2, 300))
    short = np.maximum([1 - wide @ w - bias, 1 + wide @ w + bias], 0)
    c = np.array([p, q])
    is_curved = short > 0 if mu == 0 else (short > 0) & (short < mu)
    curved = (c * is_curved * (2 if mu == 0 else 1 / mu)).sum(axis=0)
    alpha = 2 * c * short if mu == 0 else c * np.minimum(short / mu, 1)
    with_ones = np.hstack([wide, np.ones((300, 1))])
    H = with_ones.T * curved @ with_ones
    loss = "squared_hinge" if mu == 0 else "hinge"
    for rows in (MemoryRows(X), MemoryRows(X.toarray())):
        assert_allclose(rows.scores(w), wide @ w, atol=1e-12)
        assert_allclose(rows.times(p), wide.T @ p, atol=1e-12)
        assert_allclose(rows.squares, (wide**2).sum(axis=1), rtol=1e-6)
        for make in (Passes, MemoryPasses):
            passes = make(PrimalProblem(rows, GivenPenalties(p, q), loss))
            here = passes.at(w, bias, mu)
            assert_allclose(
                here.gradient, np.append(w, 0) - (alpha[0] - alpha[1]) @ with_ones, atol=1e-10
            )
            assert_allclose(here.curvature, H if here.has_hessian else H.diagonal(), atol=1e-10)
            assert_allclose(passes.curvature_times(here)(direction), H @ direction, atol=1e-10)
            assert_allclose(here.objective, objective(wide, p, q, w, bias, loss), rtol=1e-12)
            after = passes.advance(here, 100 * -here.gradient)  # far too long
            assert after.smooth_objective < here.smooth_objective


def test_rows_are_read_in_order_and_gathered(tmp_path, monkeypatch):
    monkeypatch.setattr(rows_module, "BYTES_PER_SLICE", 64 * 8 * 3)
    X = np.arange(600.0).reshape(200, 3)
    codes, weight = np.arange(200) % 3 - 1, np.linspace(1, 2, 200)
    np.save(tmp_path / "rows.npy", X)
    stream = StreamRows(np.load(tmp_path / "rows.npy", mmap_mode="r"), codes, weight)
    spans = list(stream.map_over(lambda part: (part.span.start, part.span.stop)))
    assert spans == [(0, 64), (64, 128), (128, 192), (192, 200)]
    for rows in (
        stream,
        MemoryRows(X, codes, weight),
        MemoryRows(sparse.csr_array(X), codes, weight),
    ):
        assert_allclose(rows.sum_over(lambda part: part.times(part.weights)), weight @ X)
        few = rows.gather(lambda part: np.flatnonzero(~part.is_unlabeled))
        assert_array_equal(few.origin, np.flatnonzero(codes >= 0))
        sample = rows.sample(20, seed=1)
        assert len(np.unique(sample.origin)) == sample.n_rows == 20
        for some in (few, sample):
            assert_array_equal(some.X.toarray() if some.is_sparse else some.X, X[some.origin])
            assert_array_equal(some.codes, codes[some.origin])
            assert_array_equal(some.weight, weight[some.origin])


# ---- the form, and problems that the dual form gave up ----


@pytest.mark.parametrize(
    ("n", "d", "is_sparse", "form"),
    [
        (1_999, 5, False, "dual"), (2_000, 200, False, "primal"), (2_000, 201, False, "dual"),
        (10**6, 2_001, False, "dual"), (4_999, 5, True, "dual"), (5_000, 10**6, True, "primal"),
    ],
)  # fmt: skip
def test_the_form_depends_on_the_size_alone(n, d, is_sparse, form):
    assert choose_form(n, d, is_sparse=is_sparse) == form


@pytest.mark.data
@pytest.mark.parametrize(("C", "golden"), [(1.0, 48.8757), (1e4, 177_683)])
def test_unscaled_rows_that_the_dual_form_gives_up(C, golden, paper_data):
    import pandas as pd

    from semisvm.engine import DualProblem, Solution

    table = pd.read_csv(paper_data / "cs4vm" / "wdbc.csv.xz")
    X, sign = table.drop(columns="label").to_numpy(np.float64), table["label"].to_numpy(np.float64)
    on = type("Kernel", (), {"n_rows": len(X), "form": "dual"})()
    problem = Problem.hinge(on, sign, np.full(len(X), C))
    given_up = Solution(problem, 0.0, 0.0, 1.0, 100_000, Status.STALLED)
    found = solve_stalled(problem, X, given_up, Limits())
    assert isinstance(found.problem, DualProblem)
    assert found.gap < 1e-3
    assert found.n_iter > 100_000
    assert found.objective == pytest.approx(golden, rel=1e-3)
    own = objective(X, C * (sign > 0), C * (sign < 0), found.w, found.bias, "hinge")
    assert_allclose(found.objective, own, rtol=1e-9)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "golden"), [("reuters", 226.884), ("adult", 11_433.387), ("text", 413.263)]
)
def test_published_sets(name, golden, paper_data):
    """Golden objectives at C = 1; all solutions within the tolerance are at most that far above."""
    import bz2

    from sklearn.datasets import load_svmlight_file

    if name == "text":
        arrays = np.load(paper_data / "ssl_book" / "text.npz")
        csr = arrays["data"].astype(np.float64), arrays["indices"], arrays["indptr"]
        X, y = sparse.csr_array(csr, shape=tuple(arrays["shape"])), arrays["y"]
    else:
        file = {"reuters": "ptsvm/train.dat.bz2", "adult": "psvm/a9a.libsvm.bz2"}[name]
        with bz2.open(paper_data / file) as lines:
            X, y = load_svmlight_file(lines)
    sign = np.where(y == y.max(), 1.0, -1.0)
    found = solve_one(rows_of(X), 1.0 * (sign > 0), 1.0 * (sign < 0))
    assert found.status is Status.CONVERGED
    assert golden * (1 - 1e-6) <= found.objective <= golden * (1 + 1e-3)
    assert found.bound <= golden * (1 + 1e-6)
