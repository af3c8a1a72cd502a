"""The concave-convex procedure: the transductive SVM of Collobert, Sinz, Weston and Bottou (2006).

    minimize   1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                         + C_unlabeled sum_unlabeled sum_{y = -1, +1} weight_j R(y f(x_j))
    subject to mean of f over the unlabeled rows = 2 positive_fraction - 1

    R(z) = min(1, max(0, 1 - z)) = max(0, 1 - z) - max(0, -z)              the ramp loss

Every unlabeled row is there twice, under either sign, and a row far on one side pays a constant for
the other. The second term of R is concave; replaced by its tangent at the f at hand it gives a
convex problem that bounds the objective from above and touches it there. Solving it can't raise the
objective; the tangents change only for rows that cross z = 0, and when none does the procedure has
ended.

In the dual (one variable per piece; *rewarded* copies are those with y f(x_j) < 0):

    labeled i            linear -y_i   the box of its sign
    copy of j as +1      linear -1     [-price r, price - price r]    r = 1 where rewarded, else 0
    copy of j as -1      linear +1     [price r - price, price r]
    the balance          linear -(2 positive_fraction - 1), free, on the mean of the unlabeled rows
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.engine import DualProblem, Solution

from ._binary import BinaryFit, BinaryProblem
from ._engine import coefficients_of, slack
from ._rounds import Rounds
from ._shares import PositiveShare

LEAST_PROGRESS = 1e-9  # of the objective: less than that is rounding


class RampSVM:
    """The objective above and its convex bounds; the balance is the last variable.

    row, sign, box   of each piece: the labeled rows, the unlabeled ones as +1, then as -1
    """

    def __init__(self, problem: BinaryProblem, C: float, C_unlabeled: float, share: PositiveShare):
        labeled, unlabeled = np.flatnonzero(problem.sign), np.flatnonzero(problem.sign == 0)
        self.row = np.concatenate([labeled, unlabeled, unlabeled])
        self.is_copy = np.arange(len(self.row)) >= len(labeled)
        self.sign = np.append(problem.sign[labeled], np.repeat([1.0, -1.0], len(unlabeled)))
        as_positive = problem.box(np.where(problem.is_labeled, problem.sign, 1.0), C, C_unlabeled)
        as_negative = problem.box(np.where(problem.is_labeled, problem.sign, -1.0), C, C_unlabeled)
        self.box = np.where(self.sign > 0, as_positive[self.row], as_negative[self.row])
        self.share = share
        self.balance = 2 * share.value - 1
        weight = np.where(problem.is_labeled, 0.0, problem.weight)
        self.kernel = problem.rows.with_means(weight / weight.sum())

    def bound(self, rewarded: np.ndarray) -> DualProblem:
        """The convex problem whose tangents are taken where these copies are past the ramp."""
        # beta = sign * (a - reward) with 0 <= a <= box
        reward = np.where(rewarded, self.box, 0.0)
        one, other = -self.sign * reward, self.sign * (self.box - reward)
        return DualProblem(
            self.kernel,
            linear=-np.append(self.sign, self.balance),
            lower=np.append(np.minimum(one, other), -np.inf),
            upper=np.append(np.maximum(one, other), np.inf),
            row=np.append(self.row, self.kernel.n_rows - 1),
        )

    def fit(self, rounds: Rounds) -> BinaryFit:
        """Solve one convex bound after the other, until the tangents stay as they are."""
        supervised = rounds.solution
        margins = self.sign * (supervised.scores[self.row] + supervised.bias)
        best: Any = self._in_pieces(coefficients_of(supervised))
        objective = np.inf
        while True:
            rewarded = self.is_copy & (margins < 0)
            found = rounds.solve(self.bound(rewarded), best)
            # The bias that meets the balance to the last digit.
            bias = self.balance - float(found.scores[-1])
            margins = self.sign * (found.scores[self.row] + bias)
            before = objective
            objective = self.objective(found, margins)
            crossed = int(((self.is_copy & (margins < 0)) != rewarded).sum())
            if objective > before * (1 - LEAST_PROGRESS):
                break
            best, best_bias = found, bias
            rounds.label(np.unique(self.row[self.is_copy]))
            rounds.done(objective=objective, crossed=crossed)
            if crossed == 0:
                break
        rounds.solution = best
        return rounds.fit(
            row_beta=self.kernel.fold(best.row_beta),
            bias=best_bias,
            scores=best.scores[:-1] + best_bias,
            facts={"share": self.share},
        )

    def objective(self, solution: Solution, margins: np.ndarray) -> float:
        """The objective at this f."""
        losses = slack(margins) - np.where(self.is_copy, slack(1 + margins), 0.0)
        return 0.5 * solution.squared_norm + float(self.box @ losses)

    def _in_pieces(self, beta: np.ndarray) -> np.ndarray:
        """The supervised SVM's coefficients in the variables of the pieces."""
        return np.append(np.where(self.is_copy, 0.0, beta[self.row]), 0.0)
