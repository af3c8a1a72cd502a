"""The concave-convex procedure: the transductive SVM of Collobert, Sinz, Weston and Bottou (JMLR 2006).

    minimize   1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                         + C_unlabeled sum_unlabeled sum_{y = -1, +1} weight_j R(y f(x_j))
    subject to mean of f over the unlabeled rows = 2 positive_fraction - 1

    R(z) = min(1 - ramp, max(0, 1 - z)) = max(0, 1 - z) - max(0, ramp - z)      the ramp loss, -1 < ramp <= 0

Every unlabeled row is there twice, under either sign, and a row far on one side pays a constant for the other. The
second term of R is concave; replaced by its tangent at the f at hand it gives a convex problem that bounds the
objective from above and touches it there. Solving it can't raise the objective; the tangents change only for rows
that cross z = ramp, and when none does the procedure has ended.

In the dual (one variable per piece; rewarded copies are those with y f(x_j) < ramp):

    labeled i           linear -y_i   the box of its sign
    copy of j as +1      linear -1     [-price r, price - price r]    r = 1 where rewarded, else 0
    copy of j as -1      linear +1     [price r - price, price r]
    the balance          linear -(2 positive_fraction - 1), free, on the mean of the unlabeled rows
"""

import numpy as np

from semisvm.dual import DualProblem, DualSolution
from semisvm.estimators.binary import BinaryFit, BinaryTask
from semisvm.estimators.class_shares import PositiveShare
from semisvm.estimators.rounds import Rounds, slack, squared_norm
from semisvm.kernels.virtual import VirtualRows

# Each round's decrease is at least what the tangents gained; below this share of the objective it is rounding.
LEAST_PROGRESS_OF_CCCP = 1e-9


class RampMachine:
    """The objective above and its convex bounds, on variables in the order labeled, as +1, as -1, balance.

    sign, box, is_copy   of every labeled row and every copy; the balance comes after them
    """

    def __init__(self, task: BinaryTask, C: float, C_unlabeled: float, ramp: float):
        labeled, unlabeled = np.flatnonzero(task.sign), np.flatnonzero(task.sign == 0)
        share = np.where(task.sign == 0, task.weight, 0.0)
        self.task, self.ramp = task, ramp
        self.balance = 0.0  # what the mean of f is to be, once the fraction is settled,
        self.unbalanced: DualSolution | None = None  # and the supervised machine that did not know it
        self.kernel = VirtualRows(task.kernel, share / share.sum())
        self.row = np.concatenate([labeled, unlabeled, unlabeled, [len(task.sign)]])
        self.sign = np.concatenate([task.sign[labeled], np.ones(len(unlabeled)), -np.ones(len(unlabeled))])
        self.is_copy = np.arange(len(self.sign)) >= len(labeled)
        cost_of = {sign: np.broadcast_to(cost, len(task.sign))[self.row[:-1]] for sign, cost in task.cost_of.items()}
        cost = np.where(self.sign > 0, cost_of[+1], cost_of[-1])
        self.box = task.weight[self.row[:-1]] * np.where(self.is_copy, C_unlabeled * cost, C)

    def supervised(self) -> DualProblem:
        """The labeled rows alone, in the same variables."""
        return self._problem(np.where(self.is_copy, 0.0, self.box), np.zeros(len(self.box)), balance_box=0.0)

    def bound(self, rewarded: np.ndarray) -> DualProblem:
        """The convex problem whose tangents are taken where these copies are past the ramp."""
        return self._problem(self.box, np.where(rewarded, self.box, 0.0), balance_box=np.inf)

    def _problem(self, box, reward, balance_box: float) -> DualProblem:
        # beta = sign * (a - reward) with 0 <= a <= box
        one, other = -self.sign * reward, self.sign * (box - reward)
        return DualProblem(
            self.kernel,
            linear=-np.append(self.sign, self.balance),
            lower=np.append(np.minimum(one, other), -balance_box),
            upper=np.append(np.maximum(one, other), balance_box),
            row=self.row,
        )

    def bias(self, solution: DualSolution) -> float:
        """The bias that meets the balance to the last digit."""
        return self.balance - float(solution.scores[-1])

    def margins(self, solution: DualSolution, bias: float) -> np.ndarray:
        """Sign times f for every labeled row and every copy."""
        return self.sign * (solution.scores[self.row[:-1]] + bias)

    def rewarded(self, margins: np.ndarray) -> np.ndarray:
        return self.is_copy & (margins < self.ramp)

    def objective(self, solution: DualSolution, margins: np.ndarray) -> float:
        return self.bound_value(solution, margins, self.rewarded(margins))

    def bound_value(self, solution: DualSolution, margins: np.ndarray, rewarded: np.ndarray) -> float:
        """The convex bound at this f; with the f's own rewarded copies it is the objective itself."""
        losses = slack(margins) - np.where(rewarded, self.ramp - margins, 0.0)
        return 0.5 * squared_norm(solution) + float(self.box @ losses)

    def use_unlabeled(self, rounds: Rounds, share: PositiveShare) -> None:
        """Solve one convex bound after the other, until the tangents stay as they are."""
        self.balance = 2 * share.value - 1
        unlabeled = self.task.sign == 0
        self.unbalanced = solution = rounds.solution
        objective, guess = np.inf, np.zeros(len(unlabeled))
        margins = self.margins(solution, solution.bias)
        while True:
            rewarded = self.rewarded(margins)
            found = rounds.solve(self.bound(rewarded))
            margins = self.margins(found, self.bias(found))
            value = self.objective(found, margins)
            if value > objective * (1 - LEAST_PROGRESS_OF_CCCP):
                rounds.go_back(solution)
                return
            before, guess = guess, np.sign(found.scores[:-1] + self.bias(found))
            rounds.label(unlabeled & (guess != before))
            solution, objective = found, value
            crossed = int((self.rewarded(margins) != rewarded).sum())
            rounds.done(bound=self.bound_value(found, margins, rewarded), objective=objective, crossed=crossed)
            if crossed == 0:
                return

    def fit(self, rounds: Rounds, share: PositiveShare | None) -> BinaryFit:
        """The fit on the data rows: the balance's coefficient goes to the rows whose mean it stands on."""
        solution = rounds.solution
        is_balanced = self.unbalanced is not None and solution is not self.unbalanced
        bias = self.bias(solution) if is_balanced else solution.bias
        return rounds.fit(self.kernel.fold(solution.row_beta), bias, outcome=share)
