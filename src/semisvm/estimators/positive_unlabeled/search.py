"""Positives against unlabeled rows as a dual problem, and the positive weight by out-of-fold AUC.

    minimize  1/2 |w|^2 + weight C sum_positive   w_i max(0, 1 - f(x_i))
                        + C (W_p / W_u) sum_unlabeled w_j max(0, 1 + f(x_j))
                        + C sum_negative  w_i max(0, 1 + f(x_i))                   (where negatives
                        are labeled)

w_i are sample weights, W_p and W_u their sums over the labeled positives and over the unlabeled
rows that train. So C is the price of a labeled positive, and `weight` is the weight of all
positives over that of all unlabeled rows.

With the double hinge (du Plessis, Niu and Sugiyama, 2015) a positive is charged -weight C w_i
f(x_i) in place of its hinge, and an unlabeled row C (W_p / W_u) w_j (max(0, f + 1) + max(0, f -
1)): two variables share its row.

Folds leave out unlabeled rows too. All problems are on the same kernel rows: a row that is left out
has an empty box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semisvm.decision.without_negatives import rank_auc
from semisvm.dual import DualProblem, DualSolution
from semisvm.estimators.binary import BinaryFit, BinaryTask
from semisvm.estimators.rounds import Rounds
from semisvm.labels import UNLABELED_CODE
from semisvm.machines import hinge_problem, slack
from semisvm.model_selection.cross_fit import assign_folds

EXACT_BITS = 43  # of the largest score; the bits after them are rounding errors
POSITIVE_WEIGHTS = (0.06, 0.2, 0.5, 1.0)
UNTUNED_WEIGHT = 0.5
N_DRAWS_OF_FOLDS = 3  # with few positives much of the noise comes from the draw of the folds
ENOUGH_POSITIVES = 300  # from here on there is one draw of folds


@dataclass(frozen=True)
class PuMachine:
    """The problem above on the rows of a task: sign +1 for positives, -1 for negatives, 0 for
    unlabeled rows.
    """

    task: BinaryTask
    C: float
    loss: str

    def problem(self, weight: float, trains: np.ndarray) -> DualProblem:
        """The dual problem of the rows that train, a mask."""
        sign, box = self._sides(weight, trains)
        if self.loss == "hinge":
            return hinge_problem(self.task.kernel_rows, sign, box)
        is_positive = self.task.sign > 0
        twice = self._unlabeled
        price = np.concatenate([box, box[twice]])
        fixed = np.concatenate([is_positive, np.zeros(len(twice), dtype=bool)])
        return DualProblem(
            self.task.kernel_rows,
            linear=np.concatenate([np.where(is_positive, 0.0, 1.0), -np.ones(len(twice))]),
            lower=np.where(fixed, price, -price),
            upper=np.where(fixed, price, 0.0),
            row=np.concatenate([np.arange(len(sign)), twice]),
        )

    def objective(self, solution: DualSolution, weight: float, trains: np.ndarray) -> float:
        """The primal objective of a solution."""
        sign, box = self._sides(weight, trains)
        f = solution.decision_values
        loss = slack(sign * f)
        if self.loss == "double_hinge":
            loss = np.where(sign > 0, -f, loss)
            loss[self._unlabeled] += np.maximum(0.0, f[self._unlabeled] - 1)
        return 0.5 * solution.squared_norm + float(box @ loss)

    @property
    def _unlabeled(self) -> np.ndarray:
        return np.flatnonzero(self.task.sign == 0)

    def _sides(self, weight: float, trains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The side that each row is drawn to, and its price; both 0 for rows that do not train."""
        given = self.task.sign
        count = self.task.weight
        is_positive = trains & (given > 0)
        is_unlabeled = trains & (given == 0)
        box = np.where(trains, self.C * count, 0.0)
        box[is_positive] *= weight
        if is_unlabeled.any():
            box[is_unlabeled] *= count[is_positive].sum() / count[is_unlabeled].sum()
        return np.where(trains, np.where(is_positive, 1.0, -1.0), 0.0), box


@dataclass(frozen=True)
class WeightTried:
    """One positive weight: its SVM on all training rows, and its out-of-fold scores.

    scores   (draws, n) in each draw of folds; NaN for rows that were in no fold
    pu_auc   mean over folds of the AUC of positives against unlabeled rows; NaN without folds
    """

    weight: float
    machine: DualSolution
    scores: np.ndarray
    pu_auc: float


@dataclass(frozen=True)
class WeightSearch:
    """All weights that were tried to the end, and the best of them; None where not even one was."""

    tried: tuple[WeightTried, ...]
    best: WeightTried | None

    def mean_scores(self, n_rows: int) -> np.ndarray:
        """The out-of-fold scores of the best weight, the mean over draws of folds, (n,)."""
        return np.full(n_rows, np.nan) if self.best is None else self.best.scores.mean(axis=0)


def weights_to_try(asked: str | float, loss: str) -> tuple[float, ...]:
    """The positive weights to try for `positive_weight`."""
    if asked == "auto":
        return POSITIVE_WEIGHTS
    weight = 1.0 if asked == "balanced" else float(asked)
    if loss == "double_hinge" and weight >= 2:
        raise ValueError(
            f"positive_weight={weight:g} is twice a prior with loss='double_hinge', and a prior is"
            " below 1: pass a number below 2, or loss='hinge'."
        )
    return (weight,)


def draw_folds_of_all_rows(
    codes: np.ndarray, trains: np.ndarray, n_folds: int, rng: np.random.RandomState
) -> np.ndarray | None:
    """The folds of the rows that train, (draws, n), -1 for the others; None where there are too
    few rows for two.
    """
    n_positive, n_unlabeled = (
        int(np.count_nonzero(trains & (codes == code))) for code in (1, UNLABELED_CODE)
    )
    n_folds = min(n_folds, n_positive, n_unlabeled)
    if n_folds < 2:
        return None
    n_draws = N_DRAWS_OF_FOLDS if n_positive < ENOUGH_POSITIVES else 1
    # Unlabeled rows are dealt out like a class.
    return assign_folds(np.where(trains, codes + 1, -1), n_folds, rng=rng, n_draws=n_draws)


def search_weight(
    machine: PuMachine, weights: Sequence[float], trains: np.ndarray, folds: np.ndarray | None
) -> BinaryFit:
    """Fit each weight on all training rows and on all but one fold; keep the one of the largest
    out-of-fold AUC.

    `folds`, (draws, n), has the fold that tests each row in each draw of folds, negative for rows
    that are never tested; None: no cross-fitting, the first weight is used. The `outcome` of the
    fit is a `WeightSearch`.
    """
    rounds = Rounds(machine.task)
    tried = list[WeightTried]()
    whole = None
    with rounds.until_stopped():
        for weight in weights if folds is not None else weights[:1]:
            whole = rounds.solve(machine.problem(weight, trains), start=whole)
            scores, auc = _score_folds(machine, rounds, weight, trains, folds)
            rounds.go_back(whole)
            tried.append(WeightTried(weight, whole, scores, auc))
            rounds.done(
                objective=machine.objective(whole, weight, trains),
                positive_weight=weight,
                pu_auc=auc,
            )
    # The first of the largest; a search that was ended early has what it tried until then.
    best = max(tried, key=lambda trial: np.nan_to_num(trial.pu_auc, nan=-1.0), default=None)
    if best is not None:
        whole = best.machine
    if whole is not None:
        rounds.go_back(whole)
    return rounds.fit(outcome=WeightSearch(tuple(tried), best))


def _score_folds(
    machine: PuMachine, rounds: Rounds, weight: float, trains: np.ndarray, folds: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """Out-of-fold scores by the SVMs of one weight, each started from the SVM of all
    rows, and their AUC.
    """
    sign = machine.task.sign
    if folds is None:
        return np.full((1, len(sign)), np.nan), math.nan
    scores = np.full(folds.shape, np.nan)
    tests = [
        (draw, fold == number)
        for draw, fold in enumerate(folds)
        for number in np.unique(fold[fold >= 0])
    ]
    problems = [machine.problem(weight, trains & ~is_tested) for _, is_tested in tests]
    solutions = rounds.solve_many(problems, [rounds.solution] * len(problems))
    aucs = []
    for (draw, is_tested), solution in zip(tests, solutions, strict=True):
        f = without_rounding_errors(solution.decision_values)
        scores[draw, is_tested] = f[is_tested]
        aucs.append(rank_auc(f[is_tested & (sign > 0)], f[is_tested & (sign == 0)]))
    return scores, float(np.mean(aucs))


def without_rounding_errors(scores: np.ndarray) -> np.ndarray:
    """Scores rounded to EXACT_BITS of the largest, so that those that only rounding told apart are
    equal.
    """
    unit = 2.0 ** (np.frexp(np.abs(scores).max())[1] - EXACT_BITS)
    return np.rint(scores / unit) * unit
