"""Newton's method on the smoothed hinge or the squared hinge, until the duality gap is as small as
asked.

The hinge is smoothed on a zone of width mu below the margin. At the optimum of the smoothed problem
only the rows in that zone contribute to the gap of the true problem, about mu / 6 each, so the gap
is of order mu^2: a zone of 0.06 to 0.1 is narrow enough for a gap of 1e-3. So mu is wide at first,
where the problem is nearly quadratic, and is narrowed whenever the smoothed problem is solved well
enough for its share of the gap.

    repeat
        pass at (w, bias, mu) -> sums
        stop when objective - best bound <= tol objective
        if smooth objective - smooth bound <= 0.3 (objective - bound): narrow mu, pass again
        step along -(I + H)^-1 gradient

The system is solved by Cholesky factors of I + H for up to 2,000 features. For more, of rows in
memory, it is solved by those of the Gram matrix of the rows that have a curvature, or of I + H if
these are more than the features; where both would be large, where sparse rows with a curvature are
many (unless coordinate descent was given up), and of rows elsewhere, by preconditioned conjugate
gradients. A cold start on many rows begins with a sample.

`polish` finds the last digits of a hinge solution in memory. It solves for the rows on the margin
exactly.

Near the optimum each piece is past its margin (its dual variable is 0), short of it (the variable
is at its price) or on it. Given which is which, (beta, bias) of the pieces on the margin solve a
linear system,

    <w, x_i> + bias = side_i    for i on the margin,     sum(beta) = 0,     w = sum_i beta_i x_i,

and the pieces that it puts on another side than assumed are moved there: a primal-dual active-set
method. It ends at the exact optimum after a few rounds from a point where few pieces are misplaced,
and is given up elsewhere. Its answer is only proposed: what counts is the gap that it has.
"""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack

from semisvm.dual import Status
from semisvm.kernels.threads import for_each
from semisvm.matrices import as_dense
from semisvm.primal import Watcher
from semisvm.primal.passes import FULL, MemoryPasses, Passes, Sums, passes_of
from semisvm.primal.problem import GivenPrices, PrimalProblem, PrimalSolution, relative_gap
from semisvm.primal.rows import ROWS_PER_SQUARE, MemoryRows, gram, prices_of_rows

FIRST_MU = 4.0  # the zone of a cold start: the problem is nearly quadratic
SOLVED_SHARE = 0.3  # mu is narrowed once the gap of the smoothed problem is this share of the gap
MOST_NARROWING, LEAST_NARROWING = 0.25, 0.7  # by what mu is multiplied at most and at least
MU_OF_GAP = 0.4  # the share of the tolerance that the smoothing may take
MU_FLOOR = 1e-9
WARM_FACTOR = 2.0  # a start's zone, widened: the rows of the next problem are in others
# A cold start on many rows begins with one row in SAMPLED_SHARE, at least FEWEST_SAMPLED, solved to
# the gap SAMPLE_TOL; of rows that are not in memory, at most MOST_SAMPLED_NUMBERS numbers.
SAMPLED_SHARE = 16
FEWEST_SAMPLED = 2_000
SAMPLE_TOL = 3e-3
MOST_SAMPLED_NUMBERS = 1 << 22
MOST_GRAM_ROWS = 1_000  # sparse rows with a curvature for which the system is factored
# Rows or features of dense rows, whichever are fewer, for which the system is factored.
MOST_EXACT = 6_000
# Conjugate gradients end at this share of the first residual, or after this many steps.
CG_TOL = 0.1
CG_STEPS = 250
POLISHED_TOL = 1e-5  # solves to a larger gap are not polished
MOST_ON_MARGIN = 1_000  # rows on the margin, whose linear system is solved
MOST_REPAIRS = 12  # rounds of the active-set method
OFF_MARGIN = 1e-9  # relative: a piece this far off the margin, or off its box, is misplaced
POLISHED_MU = 0.05  # in wider zones the exact solution of the rows on the margin is not tried
MOST_STEPS_PER_ZONE = 30  # then the zone is widened
STEPS_WITHOUT_PROGRESS = 12  # steps after which rounding allows no more
# A gap below this share of the smallest so far, or an objective below this share of the lowest, is
# progress.
PROGRESS = 0.999
SLIGHT_PROGRESS = 1 - 1e-6
# After FIRST_LOOK steps, each doubling of the steps must bring the gap below this share.
FIRST_LOOK = 100
STALL_SHARE = 0.9


def solve_newton(
    problem: PrimalProblem, start: PrimalSolution | None, watcher: Watcher, *, is_hard: bool = False
) -> PrimalSolution:
    """Solve from a start or a sample's solution; `is_hard` sparse problems as dense ones."""
    began = time.perf_counter()
    widening = WARM_FACTOR
    if start is None and problem.rows.n_rows >= SAMPLED_SHARE * FEWEST_SAMPLED:
        start = _solve_sample(problem, watcher)
        if start is not None:  # nearly the same problem: begin with the zone that its gap asks for
            share = np.sqrt(MU_OF_GAP * watcher.tol / max(start.gap, 1e-300))
            widening = float(np.clip(share, MOST_NARROWING, 1.0))
    d = problem.rows.n_features
    w = np.zeros(d) if start is None else np.array(start.w, dtype=np.float64)
    bias = 0.0 if start is None else start.bias
    mu = 0.0 if problem.is_squared else FIRST_MU
    if mu > 0 and start is not None and start.smoothing > 0:
        mu = min(FIRST_MU, widening * start.smoothing)
    passes = passes_of(problem)
    if start is not None and start.values is not None and isinstance(passes, MemoryPasses):
        passes.know(w, bias, start.values)
    is_exact = is_hard or not problem.rows.is_sparse
    descent = _Descent(passes, watcher, passes.at(w, bias, mu), is_exact)
    status = descent.run()
    return descent.solution(status, time.perf_counter() - began)


class _Descent:
    """The state of the loop: the sums at hand, the best objective and the best bound so far."""

    def __init__(self, passes: Passes, watcher: Watcher, here: Sums, is_exact: bool):
        self.passes = passes
        self.watcher = watcher
        self.is_exact = is_exact
        self.here = self.best = here
        self.best_values = passes.f if isinstance(passes, MemoryPasses) else None
        self.bound = max(self.here.bounds[0], 0.0)
        self.narrowest = MOST_NARROWING
        self.n_in_zone = 0
        self.least_mu = here.mu

    def solution(self, status: Status, seconds: float) -> PrimalSolution:
        """The best point so far."""
        best = self.best
        return PrimalSolution(
            w=best.w,
            bias=best.bias,
            objective=best.objective,
            bound=self.bound,
            gap=relative_gap(best.objective, self.bound),
            n_iter=self.watcher.n_iter,
            status=status,
            seconds=seconds,
            smoothing=best.mu,
            values=self.best_values,
        )

    def run(self) -> Status:
        since_progress = 0
        smallest = np.inf
        lowest = np.inf
        steps = 0  # the watcher counts the epochs of descent too
        look_at = FIRST_LOOK
        gap_then = np.inf
        try:
            while True:
                gap = relative_gap(self.best.objective, self.bound)
                if (ended := self.watcher.ended(gap)) is not None:
                    return ended
                is_progress = (
                    gap < PROGRESS * smallest or self.best.objective < SLIGHT_PROGRESS * lowest
                )
                since_progress = 0 if is_progress else since_progress + 1
                smallest = min(gap, smallest)
                lowest = min(self.best.objective, lowest)
                if since_progress > STEPS_WITHOUT_PROGRESS and self._is_at_rest():
                    return Status.STALLED
                if steps >= look_at:
                    if smallest > STALL_SHARE * gap_then:
                        return Status.STALLED
                    look_at = 2 * look_at
                    gap_then = smallest
                self._adapt_zone()
                if relative_gap(self.best.objective, self.bound) <= self.watcher.tol:
                    continue
                self._move(self.passes.advance(self.here, self._direction()))
                self.watcher.n_iter += 1
                steps += 1
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def _move(self, sums: Sums) -> None:
        self.here = sums
        self.least_mu = min(self.least_mu, sums.mu)
        self._offer(sums)
        self.bound = max(self.bound, sums.bounds[0])

    def _offer(self, sums: Sums) -> None:
        """Keep a point that was looked at last, if it is the best so far."""
        if sums.objective <= self.best.objective:
            self.best = sums
            self.best_values = self.passes.f if isinstance(self.passes, MemoryPasses) else None

    def _is_at_rest(self) -> bool:
        """Whether the smoothed problem is solved at the narrowest zone so far."""
        here = self.here
        left = here.smooth_objective - here.bounds[1]
        return (
            left <= 1e-12 * abs(here.smooth_objective) and here.mu <= self.least_mu
        ) or here.mu <= MU_FLOOR

    def _adapt_zone(self) -> None:
        here = self.here
        if here.mu == 0:
            return
        gap = here.objective - here.bounds[0]
        if here.smooth_objective - here.bounds[1] <= SOLVED_SHARE * gap and here.mu > MU_FLOOR:
            wanted = MU_OF_GAP * self.watcher.tol * here.objective / max(gap, 1e-300)
            mu = here.mu * float(np.clip(np.sqrt(wanted), self.narrowest, LEAST_NARROWING))
            if not self._is_polished():
                self._move(self.passes.at(here.w, here.bias, max(mu, MU_FLOOR)))
                self.n_in_zone = 0
        elif self.n_in_zone >= MOST_STEPS_PER_ZONE:
            # The zone lost the rows that say where to go: widen it, and narrow it more slowly from
            # here.
            self.narrowest = min(LEAST_NARROWING, 1.5 * self.narrowest)
            self._move(self.passes.at(here.w, here.bias, 2 * here.mu))
            self.n_in_zone = 0
        self.n_in_zone += 1

    def _is_polished(self) -> bool:
        """With a small tolerance, try the exact solution; True ends the solve."""
        here = self.here
        passes = self.passes
        if (
            self.watcher.tol > POLISHED_TOL
            or here.mu > POLISHED_MU
            or not isinstance(passes, MemoryPasses)
        ):
            return False
        optimum = polish(
            passes.rows,
            passes.p,
            passes.q,
            *pieces_near_margin(passes.p, passes.q, passes.f, here.mu),
        )
        if optimum is None:
            return False
        w, bias, bound = optimum
        proposed = passes.at(w, bias, here.mu)
        self.bound = max(self.bound, bound)
        self._offer(proposed)
        return relative_gap(self.best.objective, self.bound) <= self.watcher.tol

    def _direction(self) -> np.ndarray:
        here = self.here
        if here.n_curved == 0:  # the losses are linear in the bias: a zone's width at a time
            return -np.append(here.gradient[:-1], here.mu * np.sign(here.gradient[-1]))
        if here.curvature == FULL:
            return _by_hessian(here.gradient, here.hessian.copy())
        rows = self.passes.rows
        curved = self.passes.curved_rows(here)
        if curved is None or not isinstance(rows, MemoryRows):
            return _by_conjugate_gradients(here, self.passes)
        most = MOST_EXACT if self.is_exact else MOST_GRAM_ROWS
        if len(curved[0]) <= min(most, max(rows.n_features, MOST_GRAM_ROWS)):
            return _by_gram(here.gradient, rows, *curved)
        if rows.n_features <= most and self.is_exact:
            return _by_hessian(here.gradient, _curvature_matrix(rows, *curved))
        return _by_conjugate_gradients(here, self.passes)


def _by_hessian(gradient: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Solve with the lower triangle of H, the bias last."""
    d = len(gradient) - 1
    H[np.arange(d), np.arange(d)] += 1.0
    for jitter in (0.0, 1e-12, 1e-8, 1e-4):
        try:
            H[d, d] *= 1.0 + jitter
            return -cho_solve(
                cho_factor(H, lower=True, check_finite=False), gradient, check_finite=False
            )
        except LinAlgError:
            continue
    return -gradient / (H.diagonal() + 1.0)


def _curvature_matrix(rows: MemoryRows, numbers: np.ndarray, curved: np.ndarray) -> np.ndarray:
    """The lower triangle of the sum of curvature (x, 1)(x, 1)' over some rows, (d + 1, d + 1)."""
    d = rows.n_features
    size = ROWS_PER_SQUARE
    root = np.sqrt(curved)
    H = np.zeros((d + 1, d + 1))
    net = np.zeros(rows.n_rows)
    net[numbers] = curved
    H[d] = np.append(rows.times(net), curved.sum())

    if rows.is_sparse:
        scaled = sparse.csr_array(sparse.diags_array(root) @ rows.X[numbers])
        columns = sparse.csr_array(scaled.T)

    def fill(first: int) -> None:
        last = min(first + size, d)
        if rows.is_sparse:
            H[first:last, :d] = as_dense(columns[first:last] @ scaled)
            return
        for start in range(0, len(numbers), size):
            Z = root[start : start + size, None] * rows.X[numbers[start : start + size], first:]
            H[first:d, first:last] += Z.T @ Z[:, : last - first]

    for_each(fill, range(0, d, size))
    return H


def _by_gram(
    gradient: np.ndarray, rows: MemoryRows, numbers: np.ndarray, curved: np.ndarray
) -> np.ndarray:
    """With Z the curved rows times the root e of their curvature: (I + Z'Z)^-1 r = r - Z'(I +
    ZZ')^-1 Z r.
    """
    root = np.sqrt(curved)
    K = gram(rows, numbers)
    K *= root
    K *= root[:, None]
    K[np.arange(len(K)), np.arange(len(K))] += 1.0
    # K' is K, in LAPACK's order: no copy.
    factor = cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)
    along = root * rows.scores(gradient[:-1])[numbers]
    within = cho_solve(factor, np.stack([along, root], axis=1), check_finite=False)
    # The bias: its row of the system after w is eliminated, e'(I + K)^-1 e being what is left of
    # its curvature.
    bias = (gradient[-1] - root @ within[:, 0]) / (root @ within[:, 1])
    net = np.zeros(rows.n_rows)
    net[numbers] = root * (within[:, 0] + bias * within[:, 1])
    return -np.append(gradient[:-1] - rows.times(net), bias)


def _by_conjugate_gradients(here: Sums, passes: Passes) -> np.ndarray:
    times = passes.hessian_products(here)
    identity = np.append(np.ones(len(here.w)), 0.0)
    diagonal = here.diagonal + identity
    diagonal[-1] = max(diagonal[-1], 1e-12 * diagonal.max())
    x = np.zeros(len(identity))
    residual = -here.gradient
    z = residual / diagonal
    p = z.copy()
    rz = float(residual @ z)
    goal = CG_TOL**2 * rz
    for _ in range(CG_STEPS):
        if rz <= goal or rz == 0:
            break
        along = times(p) + identity * p
        curvature = float(p @ along)
        if curvature <= 0:
            break
        step = rz / curvature
        x += step * p
        residual = residual - step * along
        z = residual / diagonal
        before = rz
        rz = float(residual @ z)
        p = z + rz / before * p
    return x if x.any() else -here.gradient / diagonal


def _solve_sample(problem: PrimalProblem, watcher: Watcher) -> PrimalSolution | None:
    """The solution of some of the rows, whose prices add up to those of all rows."""
    n = max(problem.rows.n_rows // SAMPLED_SHARE, FEWEST_SAMPLED)
    if not isinstance(problem.rows, MemoryRows):
        n = min(n, max(MOST_SAMPLED_NUMBERS // problem.rows.n_features, FEWEST_SAMPLED))
    rows = problem.rows.sample(n, seed=0)
    if isinstance(problem.prices, GivenPrices):
        assert rows.origin is not None
        prices = GivenPrices(
            problem.prices.positive[rows.origin], problem.prices.negative[rows.origin]
        )
    else:
        prices = GivenPrices(*prices_of_rows(rows, problem.prices))
    if not prices.positive.any() or not prices.negative.any():
        return None
    factor = problem.rows.n_rows / rows.n_rows
    scaled = GivenPrices(factor * prices.positive, factor * prices.negative)
    sample = PrimalProblem(MemoryRows(rows.X, memory=rows.memory), scaled, problem.loss)
    rough = Watcher(
        max(SAMPLE_TOL, watcher.tol), watcher.max_iter, watcher.deadline, watcher.callback
    )
    return solve_newton(sample, None, rough)


def pieces_near_margin(
    p: np.ndarray, q: np.ndarray, f: np.ndarray, mu: float
) -> tuple[np.ndarray, np.ndarray]:
    """Masks of (2 n,) pieces, positive ones first: on the margin, short of it by mu or more."""
    short = np.concatenate([1.0 - f, 1.0 + f])
    in_use = np.concatenate([p, q]) > 0
    return in_use & (short > 0) & (short < mu), in_use & (short >= mu)


def polish(
    rows: MemoryRows, p: np.ndarray, q: np.ndarray, on: np.ndarray, full: np.ndarray
) -> tuple[np.ndarray, float, float] | None:
    """(w, bias, bound) of the exact optimum, None where it was not found."""
    price = np.concatenate([p, q])
    n = len(p)
    side = np.repeat([1.0, -1.0], n)
    in_use = np.concatenate([p, q]) > 0
    optimum = None
    for _ in range(MOST_REPAIRS):
        places = np.flatnonzero(on)
        if not 0 < len(places) <= MOST_ON_MARGIN:
            return optimum
        net = side * np.where(full, price, 0.0)
        v = rows.times(net[:n] + net[n:])
        answer = _on_margin(rows, places % n, side[places], v, net.sum())
        if answer is None:
            return optimum
        beta, w, bias = answer
        f = rows.scores(w) + bias
        short = 1.0 - side * np.concatenate([f, f])
        alpha = side[places] * beta
        is_low = alpha < -OFF_MARGIN * price[places]
        is_high = alpha > (1 + OFF_MARGIN) * price[places]
        joins = in_use & ~on & np.where(full, short < -OFF_MARGIN, short > OFF_MARGIN)
        if not is_low.any() and not is_high.any():
            bound = float(np.where(full, price, 0.0).sum() + alpha.sum() - 0.5 * (w @ w))
            optimum = (w, bias, bound)
            if not joins.any():
                return optimum
        on[places[is_low | is_high]] = False
        full[places[is_high]] = True
        on |= joins
        full &= ~joins
    return optimum


def _on_margin(
    rows: MemoryRows, places: np.ndarray, side: np.ndarray, v: np.ndarray, total: float
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """(beta, w, bias) with these rows on their margins; v and total are of the others."""
    X = rows.X[places].astype(np.float64, copy=False)
    m = len(places)
    K = as_dense(X @ X.T)
    system = np.ones((m + 1, m + 1))
    system[:m, :m] = K
    # Rows may be equal.
    system[np.arange(m), np.arange(m)] += 1e-13 * max(float(K.trace()) / m, 1e-300)
    system[m, m] = 0.0
    right = np.append(side - X @ v, -total)
    # LAPACK itself: SciPy's `solve` warns of what is singular, and filters of warnings belong to
    # the whole process.
    _, _, _, _, answer, _, _, _, failed = lapack.dsysvx(system, right, lwork=64 * (m + 1))
    if failed or not np.isfinite(answer).all():  # singular, also to rounding
        return None
    beta = answer[:m, 0]
    return beta, v + X.T @ beta, float(answer[m, 0])
