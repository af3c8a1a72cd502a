"""Newton's method on the smoothed hinge or the squared hinge, until the duality gap is as small as
asked.

The hinge is smoothed on a zone of width mu below the margin. At the optimum of the smoothed problem
only the rows in that zone contribute to the gap of the true problem, about mu / 6 each, so the gap
is of order mu^2: a zone of 0.06 to 0.1 is narrow enough for a gap of 1e-3. So mu is wide at first,
where the problem is nearly quadratic, and is narrowed whenever the smoothed problem is solved well
enough for its share of the gap.

    repeat
        1  stop where the best objective and the best bound so far are as near as asked, or where
           twice as many steps have hardly brought them nearer
        2  narrow the zone where its problem is solved, which is when smooth objective - smooth
           bound is a share of objective - bound
        3  solve (I + H) step = -gradient: by Cholesky factors for dense rows of up to 2,000
           features, by preconditioned conjugate gradients for others
        4  a pass along the step

A cold start on many rows begins with the solution of a sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from semisvm.engine.primal.passes import MemoryPasses, Passes, Sums
from semisvm.engine.primal.rows import MemoryRows
from semisvm.engine.problem import (
    GivenPenalties,
    Limits,
    PrimalProblem,
    Solution,
    Status,
    relative_gap,
)

FIRST_MU = 4.0  # the zone of a cold start: the problem is nearly quadratic
SOLVED_SHARE = 0.3  # mu is narrowed once the gap of the smoothed problem is this share of the gap
MOST_NARROWING, LEAST_NARROWING = 0.25, 0.7  # by what mu is multiplied at most and at least
MU_OF_GAP = 0.4  # the share of the tolerance that the smoothing may take
MU_FLOOR = 1e-9
WARM_FACTOR = 2.0  # a start's zone, widened: the rows of the next problem are in others
MOST_STEPS_PER_ZONE = 30  # then the zone is widened
# A cold start on many rows begins with one row in SAMPLED_SHARE, at least FEWEST_SAMPLED, solved to
# the gap SAMPLE_TOL; of rows that are not in memory, at most MOST_SAMPLED_NUMBERS numbers.
SAMPLED_SHARE, FEWEST_SAMPLED, SAMPLE_TOL = 16, 2_000, 3e-3
MOST_SAMPLED_NUMBERS = 1 << 22
# Conjugate gradients end at this share of the first residual, or after this many steps.
CG_TOL, CG_STEPS = 0.1, 250
# After FIRST_LOOK steps, each doubling of the steps must bring the gap below this share.
FIRST_LOOK, LEAST_GAIN = 100, 0.9


def solve_newton(
    problem: PrimalProblem, start: Solution | None, limits: Limits, n_done: int = 0
) -> Solution:
    """Solve from a start, or from the solution of a sample; `n_done` steps count as done before."""
    widening = WARM_FACTOR
    if start is None and problem.on.n_rows >= SAMPLED_SHARE * FEWEST_SAMPLED:
        start = _solve_sample(problem, limits)
        if start is not None:  # nearly the same problem: begin with the zone that its gap asks for
            share = np.sqrt(MU_OF_GAP * limits.tol / max(start.gap, 1e-300))
            widening = float(np.clip(share, MOST_NARROWING, 1.0))
    search = _Search(problem, start, widening, n_done)
    status = search.run(limits)
    best = search.best
    return Solution(
        problem,
        best.bias,
        best.objective,
        search.gap,
        search.n_iter,
        status,
        scores=search.best_scores,
        w=best.w,
        bound=search.bound,
        smoothing=best.mu,
    )


def _solve_sample(problem: PrimalProblem, limits: Limits) -> Solution | None:
    """The solution of some of the rows, whose penalties add up to those of all rows."""
    rows, penalties = problem.on, problem.penalties
    n = max(rows.n_rows // SAMPLED_SHARE, FEWEST_SAMPLED)
    if not isinstance(rows, MemoryRows):
        n = min(n, max(MOST_SAMPLED_NUMBERS // rows.n_features, FEWEST_SAMPLED))
    sample = rows.sample(n, seed=0)
    if isinstance(penalties, GivenPenalties):
        p, q = penalties.positive[sample.origin], penalties.negative[sample.origin]
    else:
        p, q = sample.penalties(penalties)
    if not p.any() or not q.any():
        return None
    factor = rows.n_rows / sample.n_rows
    scaled = GivenPenalties(factor * p, factor * q)
    rough = Limits(max(SAMPLE_TOL, limits.tol), limits.max_iter)
    return solve_newton(PrimalProblem(sample, scaled, problem.loss), None, rough)


class _Search:
    """The state of the loop: the sums at hand, the best objective and the best bound so far."""

    def __init__(
        self, problem: PrimalProblem, start: Solution | None, widening: float, n_done: int
    ):
        is_in_memory = isinstance(problem.on, MemoryRows)
        self.passes: Passes = (MemoryPasses if is_in_memory else Passes)(problem)
        mu = 0.0 if problem.loss == "squared_hinge" else FIRST_MU
        w, bias = np.zeros(problem.on.n_features), 0.0
        if start is not None and start.w is not None:
            w, bias = start.w, start.bias
            if mu > 0 and start.smoothing > 0:
                mu = min(FIRST_MU, widening * start.smoothing)
            is_known = start.scores is not None and start.problem.on is problem.on
            if is_known and isinstance(self.passes, MemoryPasses):
                self.passes.know(w, bias, start.decision_values)
        self.n_iter = n_done
        self.bound, self.n_in_zone, self.narrowest = 0.0, 0, MOST_NARROWING
        self.here = self.best = self.passes.at(w, bias, mu)
        self._look(self.here)

    @property
    def gap(self) -> float:
        """Of the best point."""
        return relative_gap(self.best.objective, self.bound)

    def run(self, limits: Limits) -> Status:
        stall = _Stall()
        while True:
            # 1. the gap
            if (status := limits.reached(self.n_iter, self.gap)) is not None:
                return status
            if not stall.continues(self.gap):
                return Status.STALLED
            # 2. the zone
            if self.here.mu > 0 and self._adapt_zone(limits.tol) and self.gap < limits.tol:
                continue
            # 3. and 4. the step
            self._look(self.passes.advance(self.here, self._direction()))
            self.n_iter += 1

    def _look(self, sums: Sums) -> None:
        """Go to a point, and keep it if it is the best so far."""
        self.here = sums
        self.bound = max(self.bound, sums.bounds[0])
        if sums.objective <= self.best.objective:
            self.best, self.best_scores = sums, self.passes.scores

    def _adapt_zone(self, tol: float) -> bool:
        """Narrow the zone where its problem is solved; return whether it changed."""
        here, mu = self.here, self.here.mu
        gap = here.objective - here.bounds[0]
        self.n_in_zone += 1
        if here.smooth_objective - here.bounds[1] <= SOLVED_SHARE * gap and mu > MU_FLOOR:
            wanted = np.sqrt(MU_OF_GAP * tol * here.objective / max(gap, 1e-300))
            mu = max(mu * float(np.clip(wanted, self.narrowest, LEAST_NARROWING)), MU_FLOOR)
        elif self.n_in_zone > MOST_STEPS_PER_ZONE:
            # The zone lost the rows that say where to go: widen it, and narrow it more slowly from
            # here.
            self.narrowest = min(LEAST_NARROWING, 1.5 * self.narrowest)
            mu = 2 * mu
        else:
            return False
        self._look(self.passes.at(here.w, here.bias, mu))
        self.n_in_zone = 1
        return True

    def _direction(self) -> np.ndarray:
        here = self.here
        if here.n_curved == 0:  # the losses are linear in the bias: a zone's width at a time
            return -np.append(here.gradient[:-1], here.mu * np.sign(here.gradient[-1]))
        if here.has_hessian:
            return -_solve_hessian(here.curvature.copy(), here.gradient)
        return -_conjugate_gradients(
            self.passes.curvature_times(here), here.curvature, here.gradient
        )


class _Stall:
    """Ends a solve of which nothing more is to be expected: twice as many steps that have hardly
    reduced its gap.
    """

    def __init__(self) -> None:
        self.n_steps, self.look_at, self.before = 0, FIRST_LOOK, np.inf

    def continues(self, gap: float) -> bool:
        self.n_steps += 1
        if self.n_steps <= self.look_at:
            return True
        is_worth = gap <= LEAST_GAIN * self.before
        self.look_at, self.before = 2 * self.look_at, gap
        return is_worth


def _solve_hessian(H: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """(I + H)^-1 gradient, the bias last, which I leaves out."""
    d = len(gradient) - 1
    H[np.arange(d), np.arange(d)] += 1.0
    for jitter in (0.0, 1e-12, 1e-8, 1e-4):
        H[d, d] *= 1.0 + jitter
        try:
            factor = cho_factor(H, lower=True, check_finite=False)
        except LinAlgError:
            continue
        return cho_solve(factor, gradient, check_finite=False)
    return gradient / (H.diagonal() + 1.0)


def _conjugate_gradients(
    curvature_times: Callable[[np.ndarray], np.ndarray], diagonal: np.ndarray, gradient: np.ndarray
) -> np.ndarray:
    """(I + H)^-1 gradient to a few digits, preconditioned by the diagonal."""
    identity = np.append(np.ones(len(gradient) - 1), 0.0)
    diagonal = diagonal + identity
    diagonal[-1] = max(diagonal[-1], 1e-12 * diagonal.max())
    x = np.zeros(len(gradient))
    residual: Any = gradient
    z = residual / diagonal
    p = z.copy()
    rz = float(residual @ z)
    goal = CG_TOL**2 * rz
    for _ in range(CG_STEPS):
        if rz <= goal:
            break
        along = curvature_times(p) + identity * p
        curvature = float(p @ along)
        if curvature <= 0:
            break
        step = rz / curvature
        x += step * p
        residual = residual - step * along
        z = residual / diagonal
        before, rz = rz, float(residual @ z)
        p = z + rz / before * p
    return x if x.any() else gradient / diagonal
