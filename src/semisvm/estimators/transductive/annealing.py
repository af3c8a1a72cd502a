"""Deterministic annealing: the transductive SVM of Sindhwani, Keerthi and Chapelle (ICML 2006).

    minimize over f and p_j in [0, 1], j unlabeled, with mean p = positive_fraction

        1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                  + C_unlabeled sum_unlabeled weight_j ( p_j     max(0, 1 - f(x_j))
                                                        + (1-p_j) max(0, 1 + f(x_j))
                                                        + T (p_j log p_j + (1-p_j) log(1-p_j)) )

p_j is how much row j is positive. At a high temperature T every row is half of each and the problem is convex; as
T falls the labels harden, and the solution is followed. For given p it is an SVM in which an unlabeled row has a
piece of either sign; for given f the best p is

    p_j = 1 / (1 + exp((g_j - nu) / T)),     g_j = max(0, 1 - f(x_j)) - max(0, 1 + f(x_j)),

with nu such that mean p is right (costs multiply the two terms of g). At the end the highest rows are called
positive, and label switching makes sure that no pair is left to improve.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from semisvm.dual import DualProblem
from semisvm.estimators.binary import BinaryFit, BinaryTask
from semisvm.estimators.class_shares import PositiveShare
from semisvm.estimators.forms import LinearRows
from semisvm.estimators.rounds import Rounds, Solution, losses_at
from semisvm.estimators.transductive.switching import Level, are_better, guess_share, switch_at
from semisvm.primal import GivenPrices, PrimalProblem, PrimalSolution

# In units of slack. The paper, with a squared loss, begins at 10; with the hinge loss so high a temperature lets the
# direction in which the unlabeled rows vary most decide before the labels do (97 errors against 28 on Reuters).
FIRST_TEMPERATURE = 0.5
COOLING = 1.5
LAST_TEMPERATURE = 0.01
SETTLED = 1e-3  # mean change of p at which a temperature is done,
MOST_TURNS = 10  # or so many turns of f and p
ANNEALING_TOL = 1e-2  # while p is on its way


class SoftMachine:
    """The SVM of soft labels, on variables in the order labeled, unlabeled as +1, unlabeled as -1."""

    def __init__(self, task: BinaryTask, C: float, C_unlabeled: float):
        self.task, self.C, self.C_unlabeled = task, C, C_unlabeled
        self.labeled, self.unlabeled = np.flatnonzero(task.sign), np.flatnonzero(task.sign == 0)
        n_rows = len(task.sign)
        self.cost_of = {sign: np.broadcast_to(cost, n_rows)[self.unlabeled] for sign, cost in task.cost_of.items()}
        n_unlabeled = len(self.unlabeled)
        self.row = np.concatenate([self.labeled, self.unlabeled, self.unlabeled])
        self.sign = np.concatenate([task.sign[self.labeled], np.ones(n_unlabeled), -np.ones(n_unlabeled)])

    def supervised(self) -> Any:
        """The labeled rows alone, in the same variables."""
        nothing = np.zeros(len(self.unlabeled))
        return self._problem(nothing, nothing)

    def softly_labeled(self, p: np.ndarray) -> Any:
        """The dual for given p, one per unlabeled row."""
        price, cost_of = self.C_unlabeled * self.task.weight[self.unlabeled], self.cost_of
        return self._problem(cost_of[+1] * price * p, cost_of[-1] * price * (1 - p))

    def _problem(self, box_positive, box_negative) -> Any:
        if isinstance(self.task.kernel, LinearRows):
            prices = GivenPrices.of_signs(self.task.sign, self.C * self.task.weight)
            prices.positive[self.unlabeled], prices.negative[self.unlabeled] = box_positive, box_negative
            return PrimalProblem(self.task.kernel.rows, prices, self.task.kernel.loss)
        box = np.concatenate([self.C * self.task.weight[self.labeled], box_positive, box_negative])
        bound = self.sign * box
        return DualProblem(self.task.kernel, -self.sign, np.minimum(bound, 0), np.maximum(bound, 0), row=self.row)

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

    def _settle_at(self, temperature: float, rounds: Rounds, p: np.ndarray, positive_fraction: float) -> np.ndarray:
        """Take turns between f and p at one temperature."""
        for turn in range(MOST_TURNS):
            decision_values = rounds.decision_values[self.unlabeled]
            weight = self.task.counts[self.unlabeled]
            before, p = (
                p,
                soft_labels(decision_values, temperature, positive_fraction, self.cost_of, weight, self.task.loss),
            )
            change = float(np.average(np.abs(p - before), weights=weight))
            if turn > 0 and change < SETTLED:
                break
            rounds.solve(self.softly_labeled(p), tol=max(ANNEALING_TOL, rounds.tol))
            rounds.label(self.unlabeled[((p > 0.5) != (before > 0.5)) | (rounds.labeled_in[self.unlabeled] < 0)])
            rounds.done(
                temperature=temperature,
                change=change,
                undecided=float(np.average(np.minimum(p, 1 - p), weights=weight)),
            )
        return p

    def fit(self, rounds: Rounds, share: PositiveShare | None) -> BinaryFit:
        return rounds.fit(outcome=share)


def soft_labels(
    decision_values: np.ndarray,
    temperature: float,
    positive_fraction: float,
    cost_of: dict[int, Any],
    weight: np.ndarray,
    loss: str = "hinge",
) -> np.ndarray:
    """The best p for a given f: the formula above, nu found by bisection; rows count by their weight in mean p."""
    g = cost_of[+1] * losses_at(decision_values, loss) - cost_of[-1] * losses_at(-decision_values, loss)
    offset = temperature * logit(positive_fraction)  # were all g equal, nu would be g + offset

    def excess(nu):
        return np.average(expit((nu - g) / temperature), weights=weight) - positive_fraction

    room = 1e-6 * (temperature + np.abs(g).max())
    nu = brentq(excess, g.min() + offset - room, g.max() + offset + room)
    return expit((nu - g) / temperature)


def _one_variable_per_row(solution: Solution) -> Solution:
    """The same f in the variables of hard labels, as a start: its scores stay, no kernel value is needed."""
    if isinstance(solution, PrimalSolution):
        return solution
    return replace(solution, beta=solution.row_beta, gradient=solution.scores, row=None)
