"""Transductive SVMs without whole labels: the concave-convex procedure, and deterministic
annealing.

The concave-convex procedure: the transductive SVM of Collobert, Sinz, Weston and Bottou (JMLR
2006).

    minimize   1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                         + C_unlabeled sum_unlabeled sum_{y = -1, +1} weight_j R(y f(x_j))
    subject to mean of f over the unlabeled rows = 2 positive_fraction - 1

    R(z) = min(1 - ramp, max(0, 1 - z)) = max(0, 1 - z) - max(0, ramp - z)      the ramp loss, -1 <
    ramp <= 0

Every unlabeled row is there twice, under either sign, and a row far on one side pays a constant for
the other. The second term of R is concave; replaced by its tangent at the f at hand it gives a
convex problem that bounds the objective from above and touches it there. Solving it can't raise the
objective; the tangents change only for rows that cross z = ramp, and when none does the procedure
has ended.

In the dual (one variable per piece; rewarded copies are those with y f(x_j) < ramp):

    labeled i           linear -y_i   the box of its sign
    copy of j as +1      linear -1     [-price r, price - price r]    r = 1 where rewarded, else 0
    copy of j as -1      linear +1     [price r - price, price r]
    the balance          linear -(2 positive_fraction - 1), free, on the mean of the unlabeled rows

Deterministic annealing: the transductive SVM of Sindhwani, Keerthi and Chapelle (ICML 2006).

    minimize over f and p_j in [0, 1], j unlabeled, with mean p = positive_fraction

        1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                  + C_unlabeled sum_unlabeled weight_j ( p_j     max(0, 1 - f(x_j))
                                                        + (1-p_j) max(0, 1 + f(x_j))
                                                        + T (p_j log p_j + (1-p_j) log(1-p_j)) )

p_j is how much row j is positive. At a high temperature T every row is half of each and the problem
is convex; as T falls the labels harden, and the solution is followed. For given p it is an SVM in
which an unlabeled row has a piece of either sign; for given f the best p is

    p_j = 1 / (1 + exp((g_j - nu) / T)),     g_j = max(0, 1 - f(x_j)) - max(0, 1 + f(x_j)),

with nu such that mean p is right (costs multiply the two terms of g). At the end the highest rows
are called positive, and label switching makes sure that no pair is left to improve. Of rows that
are not in memory, p_j is a function of the last model, the temperature and nu (`primal.ranks`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from semisvm.dual import DualProblem, DualSolution
from semisvm.estimators.binary import BinaryFit, BinaryTask
from semisvm.estimators.class_shares import PositiveShare
from semisvm.estimators.rounds import Rounds
from semisvm.estimators.transductive.switching import (
    Level,
    StreamedSwitching,
    are_better,
    guess_share,
    switch_at,
)
from semisvm.kernels.virtual import VirtualRows
from semisvm.machines import LinearRows, Problem, Solution, losses_at, slack
from semisvm.primal.problem import GivenPrices, PrimalProblem
from semisvm.primal.ranks import SoftLabels, SoftPrices, soft_level, sum_soft

# Each round's decrease is at least what the tangents gained; below this share of the objective it
# is rounding.
LEAST_PROGRESS_OF_CCCP = 1e-9


class Pieces:
    """The labeled rows, then every unlabeled row as +1, then as -1: row, sign and price of each."""

    def __init__(self, task: BinaryTask, C: float, C_unlabeled: float):
        self.task = task
        self.unlabeled = np.flatnonzero(task.sign == 0)
        labeled = np.flatnonzero(task.sign)
        self.row = np.concatenate([labeled, self.unlabeled, self.unlabeled])
        self.sign = np.append(task.sign[labeled], np.repeat([1.0, -1.0], len(self.unlabeled)))
        self.is_copy = np.arange(len(self.row)) >= len(labeled)
        cost_of = {
            sign: np.broadcast_to(cost, len(task.sign)) for sign, cost in task.cost_of.items()
        }
        self.cost_of = {sign: cost[self.unlabeled] for sign, cost in cost_of.items()}
        cost = np.where(self.sign > 0, cost_of[+1][self.row], cost_of[-1][self.row])
        self.box = task.weight[self.row] * np.where(self.is_copy, C_unlabeled * cost, C)


class RampMachine(Pieces):
    """The objective above and its convex bounds; the balance is the last variable."""

    def __init__(self, task: BinaryTask, C: float, C_unlabeled: float, ramp: float):
        super().__init__(task, C, C_unlabeled)
        share = np.where(task.sign == 0, task.weight, 0.0)
        self.ramp = ramp
        self.balance = 0.0  # what the mean of f is to be, once the fraction is settled,
        # And the supervised SVM that did not know it.
        self.unbalanced: DualSolution | None = None
        self.kernel = VirtualRows(task.kernel_rows, share / share.sum())

    def supervised(self) -> DualProblem:
        """The labeled rows alone, in the same variables."""
        return self._problem(
            np.where(self.is_copy, 0.0, self.box), np.zeros(len(self.box)), balance_box=0.0
        )

    def bound(self, rewarded: np.ndarray) -> DualProblem:
        """The convex problem whose tangents are taken where these copies are past the ramp."""
        return self._problem(self.box, np.where(rewarded, self.box, 0.0), balance_box=np.inf)

    def _problem(self, box: np.ndarray, reward: np.ndarray, balance_box: float) -> DualProblem:
        # beta = sign * (a - reward) with 0 <= a <= box
        one = -self.sign * reward
        other = self.sign * (box - reward)
        return DualProblem(
            self.kernel,
            linear=-np.append(self.sign, self.balance),
            lower=np.append(np.minimum(one, other), -balance_box),
            upper=np.append(np.maximum(one, other), balance_box),
            row=np.append(self.row, len(self.task.sign)),
        )

    def bias(self, solution: DualSolution) -> float:
        """The bias that meets the balance to the last digit."""
        return self.balance - float(solution.scores[-1])

    def margins(self, solution: DualSolution, bias: float) -> np.ndarray:
        """Sign times f for every labeled row and every copy."""
        return self.sign * (solution.scores[self.row] + bias)

    def rewarded(self, margins: np.ndarray) -> np.ndarray:
        return self.is_copy & (margins < self.ramp)

    def bound_value(
        self, solution: DualSolution, margins: np.ndarray, rewarded: np.ndarray
    ) -> float:
        """The convex bound at this f; at the f's own rewarded copies, the objective."""
        losses = slack(margins) - np.where(rewarded, self.ramp - margins, 0.0)
        return 0.5 * solution.squared_norm + float(self.box @ losses)

    def use_unlabeled(self, rounds: Rounds, share: PositiveShare) -> None:
        """Solve one convex bound after the other, until the tangents stay as they are."""
        self.balance = 2 * share.value - 1
        unlabeled = self.task.sign == 0
        self.unbalanced = solution = rounds.dual_solution
        objective = np.inf
        guess = np.zeros(len(unlabeled))
        margins = self.margins(solution, solution.bias)
        while True:
            rewarded = self.rewarded(margins)
            found = rounds.solve(self.bound(rewarded))
            margins = self.margins(found, self.bias(found))
            value = self.bound_value(found, margins, self.rewarded(margins))
            if value > objective * (1 - LEAST_PROGRESS_OF_CCCP):
                rounds.go_back(solution)
                return
            before = guess
            guess = np.sign(found.scores[:-1] + self.bias(found))
            rounds.label(unlabeled & (guess != before))
            solution = found
            objective = value
            crossed = int((self.rewarded(margins) != rewarded).sum())
            rounds.done(
                bound=self.bound_value(found, margins, rewarded),
                objective=objective,
                crossed=crossed,
            )
            if crossed == 0:
                return

    def fit(self, rounds: Rounds, share: PositiveShare | None) -> BinaryFit:
        """The fit on the data rows, which share the coefficient of the balance."""
        solution = rounds.dual_solution
        is_balanced = self.unbalanced is not None and solution is not self.unbalanced
        bias = self.bias(solution) if is_balanced else solution.bias
        return rounds.fit(self.kernel.fold(solution.row_beta), bias, outcome=share)


# In units of slack. The paper, with a squared loss, begins at 10; with the hinge loss so high a
# temperature lets the direction in which the unlabeled rows vary most decide before the labels do
# (97 errors against 28 on Reuters).
FIRST_TEMPERATURE = 0.5
COOLING = 1.5
LAST_TEMPERATURE = 0.01
SETTLED = 1e-3  # mean change of p at which a temperature is done,
MOST_TURNS = 10  # or so many turns of f and p
ANNEALING_TOL = 1e-2  # while p is on its way


class SoftMachine(Pieces):
    """The SVM of soft labels."""

    def __init__(self, task: BinaryTask, C: float, C_unlabeled: float):
        super().__init__(task, C, C_unlabeled)
        self.C = C
        self.C_unlabeled = C_unlabeled

    def supervised(self) -> Problem:
        """The labeled rows alone, in the same variables."""
        return self._problem(np.where(self.is_copy, 0.0, self.box))

    def softly_labeled(self, p: np.ndarray) -> Problem:
        """The SVM for given p, one per unlabeled row."""
        return self._problem(self.box * np.concatenate([np.ones((~self.is_copy).sum()), p, 1 - p]))

    def _problem(self, box: np.ndarray) -> Problem:
        if isinstance(self.task.kernel, LinearRows):
            prices = GivenPrices.of_signs(self.task.sign, self.C * self.task.weight)
            positive, negative = np.split(box[self.is_copy], 2)
            prices.positive[self.unlabeled] = positive
            prices.negative[self.unlabeled] = negative
            return PrimalProblem(self.task.kernel.rows, prices, self.task.kernel.loss)
        bound = self.sign * box
        return DualProblem(
            self.task.kernel_rows,
            -self.sign,
            np.minimum(bound, 0),
            np.maximum(bound, 0),
            row=self.row,
        )

    def use_unlabeled(self, rounds: Rounds, share: PositiveShare) -> None:
        """Follow the solution from a high temperature to a low one, then make the labels hard."""
        first = guess_share(self.task, rounds.decision_values, share)
        p = np.full(len(self.unlabeled), share.value)
        temperature = FIRST_TEMPERATURE
        while temperature > LAST_TEMPERATURE:
            p = self._settle_at(temperature, rounds, p, share.value)
            temperature /= COOLING
        sign = guess_share(self.task, rounds.decision_values, share)
        rounds.label(self.unlabeled[(sign[self.unlabeled] > 0) != (p > 0.5)])
        rounds.go_back(_one_variable_per_row(rounds.solution))
        level = Level(self.task, self.C, dict.fromkeys((-1, +1), self.C_unlabeled))
        sign = switch_at(rounds, level, sign)
        if are_better(first, sign, rounds, level):
            switch_at(rounds, level, first)

    def _settle_at(
        self, temperature: float, rounds: Rounds, p: np.ndarray, positive_fraction: float
    ) -> np.ndarray:
        """Take turns between f and p at one temperature."""
        for turn in range(MOST_TURNS):
            f = rounds.decision_values[self.unlabeled]
            weight = self.task.counts[self.unlabeled]
            costs = self.cost_of, weight, self.task.loss
            before = p
            p = soft_labels(f, temperature, positive_fraction, *costs)
            change = float(np.average(np.abs(p - before), weights=weight))
            if turn > 0 and change < SETTLED:
                break
            rounds.solve(self.softly_labeled(p), tol=max(ANNEALING_TOL, rounds.tol))
            is_first = rounds.labeled_in[self.unlabeled] < 0
            rounds.label(self.unlabeled[((p > 0.5) != (before > 0.5)) | is_first])
            rounds.done(
                temperature=temperature,
                change=change,
                undecided=float(np.average(np.minimum(p, 1 - p), weights=weight)),
            )
        return p


def soft_labels(
    decision_values: np.ndarray,
    temperature: float,
    positive_fraction: float,
    cost_of: dict[int, Any],
    weight: np.ndarray,
    loss: str = "hinge",
) -> np.ndarray:
    """The best p for a given f, by the formula above; rows count by weight in mean p."""
    from scipy.optimize import brentq

    g = cost_of[+1] * losses_at(decision_values, loss) - cost_of[-1] * losses_at(
        -decision_values, loss
    )
    offset = temperature * logit(positive_fraction)  # were all g equal, nu would be g + offset

    def excess(nu):
        return np.average(expit((nu - g) / temperature), weights=weight) - positive_fraction

    room = 1e-6 * (temperature + np.abs(g).max())
    nu = brentq(excess, g.min() + offset - room, g.max() + offset + room)
    return expit((nu - g) / temperature)


def _one_variable_per_row(solution: Solution) -> Solution:
    """The same f in the variables of hard labels, as a start."""
    if not isinstance(solution, DualSolution):
        return solution
    return replace(solution, beta=solution.row_beta, row=None)


class StreamedAnnealing(StreamedSwitching):
    """Annealing on rows that are not in memory."""

    def approach(self, share: PositiveShare) -> None:
        """Follow the solution of soft labels from a high temperature to a low one."""
        temperature = FIRST_TEMPERATURE
        soft = None
        while temperature > LAST_TEMPERATURE:
            for turn in range(MOST_TURNS):
                before = soft
                soft = self._soften(temperature, share)
                _, _, change, undecided, total = self.problem.rows.sum_over(sum_soft, soft, before)
                if turn > 0 and change < SETTLED * total:
                    break
                prices = SoftPrices(self.labeled, soft, self.C_unlabeled)
                objective = self.rounds.solve_prices(prices, tol=ANNEALING_TOL).objective
                shares = {"change": change / total, "undecided": undecided / total}
                self.rounds.done(objective=objective, temperature=temperature, **shares)
            temperature /= COOLING

    def _soften(self, temperature: float, share: PositiveShare) -> SoftLabels:
        found = self.rounds.solution
        costs = self.cost_of[+1], self.cost_of[-1]
        soft = SoftLabels(found.w, found.bias, temperature, 0.0, *costs, self.problem.loss)
        return soft_level(self.problem.rows, soft, share.value)
