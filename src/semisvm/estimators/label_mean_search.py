"""Which unlabeled rows are positive, by way of the means of the two classes, and the SVM of
those guesses.

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

    labeled i                                       linear -y_i   the box of its sign
    z = (cost- mean+ + cost+ mean-) / (cost+ + cost-)   linear 0   [0, reward (cost+ + cost-) /
    (cost+ cost-)]
    mean-                                               linear 0   [-reward / cost-, -reward /
    cost-]

The problem is not indifferent to the scale of the costs as the others are: here the cheaper class
always costs 1, and what that takes from the costs is given to C and to the reward. `GuessedMargins`
then solves Eq. 6.
"""

from dataclasses import replace

import numpy as np

from semisvm.dual import DualProblem, DualSolution
from semisvm.estimators.binary import BinaryTask
from semisvm.estimators.class_shares import PositiveShare, label_by_rank, rank_rows
from semisvm.estimators.rounds import Rounds
from semisvm.kernels.virtual import VirtualRows
from semisvm.machines import hinge_problem

MOST_ROUNDS = 50
# Guesses that tie can be exchanged without end; less than this share of the objective is no
# progress.
LEAST_PROGRESS_OF_MEANS = 1e-10
# Of the largest: rows that repeat differ by no more, whatever made their kernel values.
ROUNDING_OF_SCORES = 1e-12
# The labeled rows and two more: solved so far that rounds can be told apart by their objectives.
TOL_FACTOR_OF_MEANS = 1e-4


def guess_at_least(task: BinaryTask, scores: np.ndarray, share: PositiveShare) -> np.ndarray:
    """The signs, +1 for the top rows with at least that share of the weight, -1 for the others."""
    ranked = rank_rows(scores, np.flatnonzero(task.sign == 0), rounding=ROUNDING_OF_SCORES)
    return label_by_rank(task.sign, ranked, share.at_least(task.weight[ranked]))


class LabelMeans:
    """Eq. 7 on one binary task.

    sum_of_positive   (n,) K times the weights of the rows guessed positive; sum_of_all, of all
                      unlabeled rows
    kernel            the labeled rows with z and mean- behind them, for the guesses of the last
                      problem made
    """

    kernel: VirtualRows

    def __init__(self, task: BinaryTask, C: float, C_unlabeled: float):
        self.task, self.labeled = task, np.flatnonzero(task.sign)
        self.box = np.where(task.sign != 0, C * task.weight, 0.0)
        self.weight = np.where(task.sign == 0, task.weight, 0.0)
        mean_cost = {sign: self._mean(cost) for sign, cost in task.cost_of.items()}
        cheaper = min(mean_cost.values())
        self.cost = {sign: cost / cheaper for sign, cost in mean_cost.items()}
        self.reward = C_unlabeled * cheaper
        self.sum_of_all = task.kernel_rows.times(self.weight)
        self.positive = np.zeros(len(task.sign))  # the weights behind sum_of_positive
        self.sum_of_positive = np.zeros(len(task.sign))

    def _mean(self, cost: float | np.ndarray) -> float:
        """Of the unlabeled rows, where rows differ in what they cost."""
        if not isinstance(cost, np.ndarray):
            return cost
        return float(self.weight @ cost / self.weight.sum())

    def search(self, rounds: Rounds, share: PositiveShare) -> np.ndarray:
        """Solve and sort by turns, from the supervised SVM's order; return the guesses."""
        supervised = rounds.dual_solution
        unlabeled = self.task.sign == 0
        guess = guess_at_least(self.task, first_order(self.task, supervised), share)
        rounds.label(unlabeled)
        objective = np.inf
        beta = np.append(supervised.beta[self.labeled], [0.0, 0.0])
        for _ in range(MOST_ROUNDS):
            tol = TOL_FACTOR_OF_MEANS * rounds.tol
            # Too small for another device.
            found = rounds.solve(self.problem(guess), tol=tol, start=beta, device="cpu")
            # What counts, should the fit end here, is an SVM of data rows alone.
            rounds.go_back(supervised)
            before = objective
            objective = -found.objective
            beta = found.beta
            better = guess_at_least(self.task, self.kernel.data_scores(found.row_beta), share)
            changed = better != guess
            rounds.done(
                objective=objective,
                n_positive=int((guess[unlabeled] > 0).sum()),
                changed=int(changed.sum()),
            )
            if not changed.any() or before - objective < LEAST_PROGRESS_OF_MEANS * abs(objective):
                break
            guess = better
            rounds.label(changed)
        return guess

    def problem(self, guess: np.ndarray) -> DualProblem:
        """The dual above for given guesses."""
        weights, products = self._means(guess)
        sign = self.task.sign[self.labeled]
        box = self.box[self.labeled]
        bound = sign * box
        fixed = self.reward / self.cost[-1]
        largest = self.reward * (1 / self.cost[+1] + 1 / self.cost[-1])
        self.kernel = VirtualRows(
            self.task.kernel_rows, weights, products=products, rows=self.labeled, dtype=np.float64
        )
        return DualProblem(
            self.kernel,
            linear=np.append(-sign, [0.0, 0.0]),
            lower=np.append(np.minimum(bound, 0), [0.0, -fixed]),
            upper=np.append(np.maximum(bound, 0), [largest, -fixed]),
        )

    def _means(self, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z and mean- as weights of data rows, and their products with K, updated by moves."""
        positive = np.where(guess > 0, self.weight, 0.0)
        self.sum_of_positive = self.sum_of_positive + self.task.kernel_rows.times(
            positive - self.positive
        )
        self.positive = positive
        mean_positive, mean_negative = np.diag(
            1 / np.array([positive.sum(), (self.weight - positive).sum()])
        )
        share = self.cost[-1] / (self.cost[+1] + self.cost[-1])
        mix = np.stack([share * mean_positive + (1 - share) * mean_negative, mean_negative])
        weights = mix @ np.stack([positive, self.weight - positive])
        products = mix @ np.stack([self.sum_of_positive, self.sum_of_all - self.sum_of_positive])
        return weights, products


def first_order(task: BinaryTask, supervised: DualSolution) -> np.ndarray:
    """Scores that rank the rows before anything is known of the means: the supervised SVM's.

    Where one class has no label there is no such SVM, and rows are ranked by how near they are
    to the mean of the class that has: |x - mean|^2 = k(x, x) - 2 k(x, mean) + a constant.
    """
    labeled = task.sign != 0
    if len(np.unique(task.sign[labeled])) == 2:
        return supervised.scores
    share = np.where(labeled, task.weight, 0.0)
    nearness = 2 * task.kernel_rows.times(share / share.sum()) - task.kernel_rows.diagonal
    return task.sign[labeled][0] * nearness


class GuessedMargins:
    """The SVM that CS4VM ends with: Eq. 6 for given guesses, in a form without means.

        minimize  1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                            + C_unlabeled sum_unlabeled weight_j ( cost[guess_j]  max(0,  1 -
                            guess_j f(x_j))
                                                                  + cost[-guess_j] max(0, -1 -
                                                                  guess_j f(x_j)) )

    The paper writes the second sum as hinges on either side and a reward for the label means; since
    max(0, z - 1) - z = max(0, 1 - z) - 1, the reward turns each outer hinge into the ordinary one.
    So this is a cost-weighted SVM on the guesses, with an *opposite* piece for every unlabeled row
    that bites only where f contradicts the guess by more than the margin. In the dual, one variable
    per piece:

        row i, its own piece      linear -sign_i    box of its sign, C weight_i or C_unlabeled
                                  weight_j cost[guess_j]
        row j, opposite piece     linear +guess_j   box of the same side, C_unlabeled weight_j
                                  cost[-guess_j]

    Few rows are ever contradicted: opposite pieces are added where they are violated, and the
    problem is solved again. `guess` holds the user's signs and the guesses for the other rows.
    """

    def __init__(self, task: BinaryTask, guess: np.ndarray, C: float, C_unlabeled: float):
        self.task = task
        self.guess = guess
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
            rounds.go_back(
                replace(found, beta=np.append(found.beta, np.zeros(len(new))), row=problem.row)
            )
            found = rounds.solve(problem)
        unlabeled = self.task.sign == 0
        n_contradicting = int(
            np.count_nonzero(unlabeled & (self.guess * found.decision_values < 0))
        )
        rounds.done(
            objective=-found.objective, opposite=len(contradicted), contradicted=n_contradicting
        )
        return found

    def problem(self, contradicted: np.ndarray) -> DualProblem:
        """The dual above with the opposite pieces of these rows."""
        problem = hinge_problem(self.task.kernel_rows, self.guess, self.box)
        if len(contradicted) == 0:
            return problem
        guess = self.guess[contradicted]
        bound = guess * self.opposite_box[contradicted]
        return DualProblem(
            self.task.kernel_rows,
            linear=np.append(problem.linear, guess),
            lower=np.append(problem.lower, np.minimum(bound, 0)),
            upper=np.append(problem.upper, np.maximum(bound, 0)),
            row=np.append(np.arange(len(self.guess)), contradicted),
        )

    def _violated(self, found: DualSolution, tol: float) -> np.ndarray:
        return np.flatnonzero(
            (self.opposite_box > 0) & (self.guess * found.decision_values < -1 - tol)
        )
