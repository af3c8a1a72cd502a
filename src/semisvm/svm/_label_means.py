"""Which unlabeled rows are positive, by way of the means of the two classes, and the SVM of those
guesses.

`LabelMeans` solves Eq. 7 of the CS4VM paper:

    minimize over f, margin and guess_j in {-1, +1}, j unlabeled, a given share of them positive

        1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i)) - reward * margin

    subject to   f(mean+) >= cost+ margin,   -f(mean-) >= cost- margin

mean+ and mean- are the means of the rows guessed positive and negative. For given guesses the
problem is convex; for a given f the best guesses are the rows with the largest f, since both
constraints only ask for a large sum of f over the positive ones. So sorting and solving by turns
lowers the objective until the guesses repeat.

In the dual the two constraints have multipliers with cost+ m+ + cost- m- = reward. With m-
eliminated, one variable stands on a mean of means and one is fixed:

    labeled i   linear -y_i   the box of its sign
    z           linear 0      [0, reward (cost+ + cost-) / (cost+ cost-)]
    mean-       linear 0      [-reward / cost-, -reward / cost-]

    z = (cost- mean+ + cost+ mean-) / (cost+ + cost-)

The problem is not indifferent to the scale of the costs as the others are: here the cheaper class
always costs 1, and what that takes from the costs is given to the reward. `GuessedMargins` then
solves Eq. 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.engine import DualProblem, Solution

from ._binary import BinaryProblem
from ._engine import coefficients_of
from ._rounds import Rounds
from ._shares import PositiveShare, label_by_rank, rank_rows

MOST_ROUNDS = 50
# Guesses that tie can be exchanged without end; less than this share of the objective is no
# progress.
LEAST_PROGRESS = 1e-10
# The labeled rows and two more: solved so far that rounds can be told apart by their objectives.
TOL_FACTOR = 1e-4


class LabelMeans:
    """Eq. 7 on one binary problem.

    sum_of_positive   (n,) K times the weights of the rows guessed positive; sum_of_all, of all
                      unlabeled rows
    kernel            the labeled rows with z and mean- behind them, for the guesses of the last
                      problem made
    """

    kernel: Any

    def __init__(self, problem: BinaryProblem, C: float, C_unlabeled: float):
        self.problem = problem
        self.labeled = np.flatnonzero(problem.sign)
        self.weight = np.where(problem.is_labeled, 0.0, problem.weight)
        cheaper = min(problem.sign_cost.values())
        self.cost = {sign: cost / cheaper for sign, cost in problem.sign_cost.items()}
        self.reward = C_unlabeled * cheaper
        bound = (problem.sign * problem.box(problem.sign, C))[self.labeled]
        largest = self.reward * (1 / self.cost[+1] + 1 / self.cost[-1])
        fixed = self.reward / self.cost[-1]
        self.linear = np.append(-problem.sign[self.labeled], [0.0, 0.0])
        self.lower = np.append(np.minimum(bound, 0), [0.0, -fixed])
        self.upper = np.append(np.maximum(bound, 0), [largest, -fixed])
        self.sum_of_all = problem.rows.times(self.weight)
        self.positive = np.zeros(len(problem.sign))  # the weights behind sum_of_positive
        self.sum_of_positive = np.zeros(len(problem.sign))

    def search(self, rounds: Rounds, share: PositiveShare) -> np.ndarray:
        """Solve and sort by turns, from the supervised SVM's order; return the guesses."""
        supervised = rounds.solution
        guess = self._guess(supervised.scores, share)
        beta = np.append(coefficients_of(supervised)[self.labeled], [0.0, 0.0])
        objective = np.inf
        for _ in range(MOST_ROUNDS):
            found = rounds.solve(self.svm(guess), beta, tol=TOL_FACTOR * rounds.tol)
            before, objective, beta = objective, -found.objective, found.beta
            better = self._guess(self.kernel.data_scores(found.row_beta), share)
            changed = better != guess
            rounds.done(objective=objective, changed=int(changed.sum()))
            if not changed.any() or before - objective < LEAST_PROGRESS * abs(objective):
                break
            guess = better
        rounds.solution = supervised  # the next SVM is one of data rows
        return guess

    def svm(self, guess: np.ndarray) -> DualProblem:
        """The dual above for given guesses."""
        weights, products = self._means(guess)
        self.kernel = self.problem.rows.with_means(
            weights, products=products, data=self.labeled, dtype=np.float64
        )
        return DualProblem(self.kernel, self.linear, self.lower, self.upper)

    def _guess(self, scores: np.ndarray, share: PositiveShare) -> np.ndarray:
        """The signs, +1 for the top rows with at least that share of the weight."""
        ranked = rank_rows(scores, np.flatnonzero(~self.problem.is_labeled))
        return label_by_rank(self.problem.sign, ranked, share.at_least(self.weight[ranked]))

    def _means(self, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z and mean- as weights of data rows, and their products with K, updated by moves."""
        positive = np.where(guess > 0, self.weight, 0.0)
        moved = self.problem.rows.times(positive - self.positive)
        self.positive, self.sum_of_positive = positive, self.sum_of_positive + moved
        negative = self.weight - positive
        share = self.cost[-1] / (self.cost[+1] + self.cost[-1])
        mix = np.array([[share, 1 - share], [0.0, 1.0]]) / [positive.sum(), negative.sum()]
        weights = mix @ np.stack([positive, negative])
        products = mix @ np.stack([self.sum_of_positive, self.sum_of_all - self.sum_of_positive])
        return weights, products


class GuessedMargins:
    """The SVM that CS4VM ends with: Eq. 6 for given guesses, in a form without means.

        minimize  1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                            + C_unlabeled sum_unlabeled weight_j loss_j(f(x_j))

        loss_j(f) = cost[guess_j] max(0, 1 - guess_j f) + cost[-guess_j] max(0, -1 - guess_j f)

    The paper writes the second sum as hinges on either side and a reward for the label means; since
    max(0, z - 1) - z = max(0, 1 - z) - 1, the reward turns each outer hinge into the ordinary one.
    So this is a cost-weighted SVM on the guesses, with an *opposite* piece for every unlabeled row
    that bites only where f contradicts the guess by more than the margin. In the dual, one variable
    per piece:

        row i, its own piece     linear -sign_i    box of its sign
        row j, opposite piece    linear +guess_j   box of the same side, at the cost of the other

    Few rows are ever contradicted: opposite pieces are added where they are violated, and the
    problem is solved again. `guess` holds the user's signs and the guesses for the other rows.
    """

    def __init__(self, problem: BinaryProblem, guess: np.ndarray, C: float, C_unlabeled: float):
        self.problem = problem
        self.guess = guess
        self.box = problem.box(guess, C, C_unlabeled)
        self.opposite_box = problem.box(-guess, 0.0, C_unlabeled)

    def solve(self, rounds: Rounds) -> None:
        """Solve without opposite pieces, then with those that are violated, until none is."""
        contradicted = np.empty(0, dtype=np.intp)
        found = rounds.solve(self.svm(contradicted))
        while len(new := np.setdiff1d(self._violated(found, rounds.tol), contradicted)):
            contradicted = np.append(contradicted, new)
            svm = self.svm(contradicted)
            found = rounds.solve(svm, np.append(coefficients_of(found), np.zeros(len(new))))
        disagrees = ~self.problem.is_labeled & (self.guess * found.decision_values < 0)
        rounds.done(
            objective=-found.objective,
            opposite=len(contradicted),
            contradicted=int(disagrees.sum()),
        )

    def svm(self, contradicted: np.ndarray) -> DualProblem:
        """The dual above with the opposite pieces of these rows."""
        own = self.problem.svm(self.guess, self.box)
        if len(contradicted) == 0:
            return own
        guess = self.guess[contradicted]
        bound = guess * self.opposite_box[contradicted]
        return DualProblem(
            self.problem.rows,
            linear=np.append(own.linear, guess),
            lower=np.append(own.lower, np.minimum(bound, 0)),
            upper=np.append(own.upper, np.maximum(bound, 0)),
            row=np.append(np.arange(len(self.guess)), contradicted),
        )

    def _violated(self, found: Solution, tol: float) -> np.ndarray:
        margin = self.guess * found.decision_values
        return np.flatnonzero((self.opposite_box > 0) & (margin < -1 - tol))
