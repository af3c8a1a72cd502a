"""The machine that CS4VM ends with: Eq. 6 of the paper for given guesses, in the form that needs no means.

    minimize  1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                        + C_unlabeled sum_unlabeled weight_j ( cost[guess_j]  max(0,  1 - guess_j f(x_j))
                                                              + cost[-guess_j] max(0, -1 - guess_j f(x_j)) )

The paper writes the second sum as hinges on either side and a reward for the label means; since
max(0, z - 1) - z = max(0, 1 - z) - 1, the reward turns each outer hinge into the ordinary one. So this is a
cost-weighted SVM on the guesses, with an *opposite* piece for every unlabeled row that bites only where f contradicts
the guess by more than the margin. In the dual, one variable per piece:

    row i, its own piece      linear -sign_i    box of its sign, C weight_i or C_unlabeled weight_j cost[guess_j]
    row j, opposite piece     linear +guess_j   box of the same side, C_unlabeled weight_j cost[-guess_j]

Few rows are ever contradicted: opposite pieces are added where they are violated, and the problem is solved again.
"""

from dataclasses import replace

import numpy as np

from semisvm.dual import DualProblem, DualSolution
from semisvm.estimators.binary import BinaryTask
from semisvm.estimators.hinge import hinge_problem
from semisvm.estimators.rounds import Rounds


class GuessedMargins:
    """The problem above on one binary task; `guess` holds the user's signs and the guesses for the other rows."""

    def __init__(self, task: BinaryTask, guess: np.ndarray, C: float, C_unlabeled: float):
        self.task, self.guess = task, guess
        own = np.where(guess > 0, task.cost_of[+1], task.cost_of[-1])
        other = np.where(guess > 0, task.cost_of[-1], task.cost_of[+1])
        is_guessed = task.sign == 0
        self.box = task.weight * np.where(is_guessed, C_unlabeled * own, C)
        self.opposite_box = task.weight * np.where(is_guessed, C_unlabeled * other, 0.0)

    def solve(self, rounds: Rounds, start: np.ndarray | None = None) -> DualSolution:
        """Solve without opposite pieces, then with those that are violated, until none is."""
        contradicted = np.empty(0, dtype=np.intp)
        found = rounds.solve(self.problem(contradicted), start=start)
        while len(new := np.setdiff1d(self._violated(found, rounds.tol), contradicted)):
            contradicted = np.append(contradicted, new)
            problem = self.problem(contradicted)
            rounds.go_back(replace(found, beta=np.append(found.beta, np.zeros(len(new))), row=problem.row))
            found = rounds.solve(problem)
        unlabeled = self.task.sign == 0
        n_contradicting = int(np.count_nonzero(unlabeled & (self.guess * found.decision_values < 0)))
        rounds.done(objective=-found.objective, opposite=len(contradicted), contradicted=n_contradicting)
        return found

    def problem(self, contradicted: np.ndarray) -> DualProblem:
        """The dual above with the opposite pieces of these rows."""
        problem = hinge_problem(self.task.kernel, self.guess, self.box)
        if len(contradicted) == 0:
            return problem
        guess = self.guess[contradicted]
        bound = guess * self.opposite_box[contradicted]
        return DualProblem(
            self.task.kernel,
            linear=np.append(problem.linear, guess),
            lower=np.append(problem.lower, np.minimum(bound, 0)),
            upper=np.append(problem.upper, np.maximum(bound, 0)),
            row=np.append(np.arange(len(self.guess)), contradicted),
        )

    def _violated(self, found: DualSolution, tol: float) -> np.ndarray:
        return np.flatnonzero((self.opposite_box > 0) & (self.guess * found.decision_values < -1 - tol))
