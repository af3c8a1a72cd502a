"""Dual coordinate descent with the exact bias, for sparse rows in memory.

    maximize    sum(alpha) - 1/2 |w|^2 - 1/2 sum_v soft_v alpha_v^2     w = sum_v side_v alpha_v x_v
    subject to  0 <= alpha_v <= most_v,   sum_v side_v alpha_v = 0

One variable per piece of penalty c. The hinge has most c and soft 0, the squared hinge no upper
bound and soft 1 / (2 c). Coordinate descent can't keep the last constraint, so it is moved into the
objective (the augmented Lagrangian): with u = sum side alpha, a factor s and the multiplier b the
decision value of a row is

    f = <w, x> + b + s u
    alpha_v <- clip(alpha_v - (side_v f - 1 + soft_v alpha_v) / (|x|^2 + s + soft_v), 0, most_v)

and b is raised by s u from time to time. Every few epochs the solution is certified: for the
objective, the best bias for w is a weighted quantile (of the squared hinge, a weighted mean of the
rows short of their margins); for the bound, the sum constraint is repaired on the variables whose
gradient is the smallest, which costs the least (of the squared hinge, by scaling the larger side
down).

A large C or columns of very different sizes need many epochs: after MOST_EPOCHS over all variables,
or as many shorter ones, the solve counts as stalled, and Newton's method goes on from here.
"""

from __future__ import annotations

import numpy as np

from semisvm.engine.primal.compiled import Variables, run_epoch, shuffle
from semisvm.engine.primal.rows import MemoryRows, csr_of
from semisvm.engine.problem import Limits, PrimalProblem, Solution, Status, relative_gap

MOST_EPOCHS = 1_000
FIRST_CHECK, MOST_BETWEEN_CHECKS = 4, 16  # epochs before the first certificate, and between two
EPOCHS_PER_MULTIPLIER = 5  # between two changes of the multiplier b
ACTIVE_TOL = 0.1  # of tol: variables are left out until the others violate optimality by this
MOST_BIAS_STEPS = 60


def solve_descent(problem: PrimalProblem, start: Solution | None, limits: Limits) -> Solution:
    """Solve on sparse rows in memory, from the dual variables of a start where it has some."""
    descent = _Descent(problem, start)
    status = descent.run(limits)
    return Solution(
        problem,
        descent.best_bias,
        descent.objective,
        descent.gap,
        descent.n_iter,
        status,
        scores=descent.rows.scores(descent.best_w),
        beta=descent.beta(),
        w=descent.best_w,
        bound=descent.bound,
    )


class _Descent:
    """The variables, w that follows them, and the best certified point so far."""

    def __init__(self, problem: PrimalProblem, start: Solution | None):
        rows: MemoryRows = problem.on
        self.rows, self.is_squared = rows, problem.loss == "squared_hinge"
        self.p, self.q = rows.penalties(problem.penalties)
        positive, negative = np.flatnonzero(self.p > 0), np.flatnonzero(self.q > 0)
        row = np.append(positive, negative).astype(np.int32)
        side = np.repeat([1.0, -1.0], [len(positive), len(negative)])
        penalty = np.append(self.p[positive], self.q[negative])
        most, soft = penalty, np.zeros(len(row))
        if self.is_squared:
            most, soft = np.full(len(row), np.inf), 0.5 / penalty
        self.variables = Variables(row, side, most, soft, np.zeros(len(row)))
        self.penalty = max(float(rows.squares[row].mean()) if len(row) else 1.0, 1e-12)
        self.multiplier = 0.0
        if start is not None:
            self.multiplier = start.bias
            if start.beta is not None and start.problem.on is rows:
                self.variables.alpha[:] = np.clip(side * start.beta[row], 0.0, most)
        self.w = rows.times(self.beta())
        self.imbalance = dot(side, self.variables.alpha)
        self.objective, self.bound, self.n_iter = np.inf, 0.0, 0

    @property
    def gap(self) -> float:
        """Of the best point."""
        return relative_gap(self.objective, self.bound)

    def beta(self) -> np.ndarray:
        """Signed coefficients, one per row."""
        return self._by_row(self.variables.alpha)

    def _by_row(self, alpha: np.ndarray) -> np.ndarray:
        row, side = self.variables.row, self.variables.side
        return np.bincount(row, side * alpha, minlength=self.rows.n_rows)

    def run(self, limits: Limits) -> Status:
        rng = np.random.default_rng(0)
        X = csr_of(self.rows.X)
        everything = len(self.variables.row)
        order, n_active = np.arange(everything, dtype=np.int32), everything
        ends = -np.inf, np.inf
        next_check, between, left = 0, FIRST_CHECK, MOST_EPOCHS * everything
        while True:
            is_last = self.n_iter >= limits.max_iter or left <= 0
            if is_last or self.n_iter >= next_check:
                self.certify()
                if (status := limits.reached(self.n_iter, self.gap)) is not None:
                    return status
                if is_last:
                    return Status.STALLED
                next_check = self.n_iter + between
                between = min(between + 2, MOST_BETWEEN_CHECKS)
            left -= n_active
            shuffle(order, n_active, rng.random(n_active))
            n_active, self.imbalance, low, high = run_epoch(
                order,
                n_active,
                self.variables,
                X,
                self.rows.squares,
                self.w,
                self.imbalance,
                self.multiplier,
                self.penalty,
                ends,
            )
            self.n_iter += 1
            if n_active == 0 or high - low <= ACTIVE_TOL * limits.tol:
                n_active, ends = everything, (-np.inf, np.inf)
            else:
                ends = (low if low < 0 else -np.inf), (high if high > 0 else np.inf)
            if self.n_iter % EPOCHS_PER_MULTIPLIER == 0:
                self.multiplier += self.penalty * self.imbalance

    def certify(self) -> None:
        """Note the objective at w with its best bias, and the bound of the repaired variables."""
        scores = self.rows.scores(self.w)
        best_bias = best_bias_of_squares if self.is_squared else best_bias_of_hinge
        bias = best_bias(scores, self.p, self.q)
        f, power = scores + bias, 1 + self.is_squared
        losses = dot(self.p, np.maximum(0, 1 - f) ** power)
        losses += dot(self.q, np.maximum(0, 1 + f) ** power)
        objective = 0.5 * dot(self.w, self.w) + losses
        if objective < self.objective:
            self.objective, self.best_w, self.best_bias = objective, self.w.copy(), bias
        alpha = self._scaled() if self.is_squared else self._balanced(f)
        v = self.w + self.rows.times(self._by_row(alpha - self.variables.alpha))
        value = float(alpha.sum()) - 0.5 * dot(v, v) - 0.5 * dot(self.variables.soft, alpha**2)
        self.bound = max(self.bound, value)

    def _scaled(self) -> np.ndarray:
        """The variables with sum(side alpha) = 0, the larger side scaled down."""
        alpha, is_positive = self.variables.alpha, self.variables.side > 0
        total = np.array([alpha[~is_positive].sum(), alpha[is_positive].sum()])
        factor = np.divide(total.min(), total, out=np.zeros(2), where=total > 0)
        return alpha * factor[is_positive.astype(np.intp)]

    def _balanced(self, f: np.ndarray) -> np.ndarray:
        """The variables with sum(side alpha) = 0: the larger side gives up the least gradients."""
        row, side, alpha = self.variables.row, self.variables.side, self.variables.alpha.copy()
        excess = dot(side, alpha)
        places = np.flatnonzero((side == np.sign(excess)) & (alpha > 0))
        gradient = np.abs(1.0 - side[places] * f[row[places]])
        places = places[np.argsort(gradient, kind="stable")]
        given = np.cumsum(alpha[places])
        n_whole = int(np.searchsorted(given, abs(excess)))
        left = abs(excess) - (given[n_whole - 1] if n_whole else 0.0)
        alpha[places[:n_whole]] = 0.0
        if n_whole < len(places):
            alpha[places[n_whole]] -= left
        return alpha


@np.errstate(invalid="ignore")
def dot(left: np.ndarray, right: np.ndarray) -> float:
    """The product of two vectors. For long ones OpenBLAS may raise the flag of an invalid operation
    on numbers that it does not use, of which NumPy warns.
    """
    return float(left @ right)


def best_bias_of_hinge(scores: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """The bias that minimizes the hinge losses at these scores: where the slope changes sign."""
    positive, negative = np.flatnonzero(p > 0), np.flatnonzero(q > 0)
    places = np.concatenate([1 - scores[positive], -1 - scores[negative]])
    if len(places) == 0:
        return 0.0
    order = np.argsort(places)
    slope = np.cumsum(np.append(p[positive], q[negative])[order]) - p[positive].sum()
    return float(places[order[min(int(np.searchsorted(slope, 0.0)), len(order) - 1)]])


def best_bias_of_squares(scores: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """The bias that minimizes the squared hinge losses at these scores, by Newton's method."""
    low, high, bias = -np.inf, np.inf, 0.0
    for _ in range(MOST_BIAS_STEPS):
        own_p = np.where(scores + bias < 1, p, 0.0)
        own_q = np.where(scores + bias > -1, q, 0.0)
        weight = float(own_p.sum() + own_q.sum())
        slope = dot(own_q, 1 + scores + bias) - dot(own_p, 1 - scores - bias)
        if slope == 0 or weight == 0:
            break
        low, high = (bias, high) if slope < 0 else (low, bias)
        step = bias - slope / weight
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - bias) <= 1e-14 * max(1.0, abs(bias)):
            break
        bias = step
    return bias
