"""The guard of methods with costs: predicts a constant if that costs less.

The guard checks whether one class for every row would cost less than a cost-sensitive SVM: five
labeled positives can't promise to miss fewer than one in seven, and at a cost ratio of 100 that
alone is more expensive than calling every row positive (`decision.guard` has the arithmetic). Each
labeled row is scored by a fit that has not seen its label, leave-one-out up to MOST_FITS labels and
by as many folds beyond. No fit is needed where even a classifier without an error would be expected
to cost more than a constant.
"""

from collections.abc import Callable
from contextlib import suppress
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from semisvm.decision.checks import cost_matrix
from semisvm.decision.guard import count_judged, guard, least_possible_cost
from semisvm.estimators.binary import USABLE, BinaryFit, combine, score_left_out
from semisvm.estimators.problem import TrainingProblem
from semisvm.estimators.progress import warn_caller
from semisvm.model_selection.cross_fit import assign_folds

MOST_FITS = 20  # of the guard; more labels than this are held out in this many folds


class GuardedMixin:
    """SVMs with `costs` and `guard`; `_constant`: the class index to predict for all rows, or None.

    With a constant the SVM is kept: scores rank the rows as before, all on the constant's side of
    0. A score s becomes s + sqrt(s^2 + 1) > 0 for the class chosen, s - sqrt(s^2 + 1) < 0 for every
    other.
    """

    costs: Any
    guard: bool
    classes_: np.ndarray
    _constant: int | None

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        decision = super()._decide(scores)  # type: ignore[misc]
        if self._constant is None:
            return decision
        is_chosen = np.arange(len(self.classes_)) == self._constant
        # By the hyperbolic sine no digits are lost.
        above = np.exp(np.arcsinh(decision))
        below = -np.exp(-np.arcsinh(decision))
        return np.where(is_chosen if decision.ndim == 2 else is_chosen[1], above, below)

    @property
    def _is_guarded(self) -> bool:
        return self.guard and self.costs is not None

    def _compare_with_constants(
        self,
        problem: TrainingProblem,
        fits: list[BinaryFit],
        refit: Callable[[TrainingProblem], list[BinaryFit]],
        shares: np.ndarray | None = None,
    ) -> None:
        """Set `guard_`, what was compared, and the constant; both None without a guard.

        refit    fits the same method to the same rows with some of the labels hidden
        shares   (n_classes,) how often each class is expected; None: as often as among the labeled
                 rows
        """
        self._constant, self.guard_ = None, None
        if not self._is_guarded:
            return
        labels, matrix = problem.labels, cost_matrix(self.costs, problem.labels.classes)
        if shares is None:
            codes = labels.codes[labels.is_labeled]
            weight = problem.weight[labels.is_labeled]
            shares = np.bincount(codes, weight, minlength=labels.n_classes)
            shares = shares / shares.sum()
        n_judged = count_judged(labels.n_of_class.astype(np.float64))
        constant_costs = shares @ matrix
        least = least_possible_cost(n_judged, matrix, shares)
        names = labels.classes.tolist()
        facts: dict[str, Any] = {
            "constant_costs": dict(zip(names, constant_costs.tolist(), strict=True)),
            "class_shares": dict(zip(names, shares.tolist(), strict=True)),
            "least_possible_cost": least,
            "n_fits": 0,
        }
        constant: int | None = int(constant_costs.argmin())
        is_judged = labels.is_labeled & (n_judged[labels.codes] > 0)
        if constant_costs[constant] > least and not is_judged.any():
            constant, facts["own_cost"] = None, least
        elif constant_costs[constant] > least:
            fold = assign_folds(np.where(is_judged, labels.codes, -1), MOST_FITS)[0]
            left_out = None
            is_complete = all(fit.status in USABLE for fit in fits)
            # A fit that was ended is not fitted 20 times more; after Ctrl-C it is worth keeping.
            with suppress(KeyboardInterrupt):
                left_out = score_left_out(problem, fold, refit) if is_complete else None
            if left_out is None:
                reason = f"The guard of {problem.name} ended early: nothing was compared."
                self.guard_ = facts | {"constant": None, "reason": reason}
                if is_complete:
                    warn_caller(ConvergenceWarning(f"{reason} Fit again with higher limits."))
                return
            decisions = combine(left_out[is_judged], labels.n_classes, problem.scheme)
            if labels.n_classes == 2:  # scores of the second class
                decisions = np.stack([np.zeros(len(decisions)), decisions], axis=1)
            comparison = guard(decisions, labels.codes[is_judged], matrix, shares)
            constant = comparison.constant
            facts |= {
                "own_cost": comparison.own_cost,
                "best_cut_cost": comparison.best_cut_cost,
                "n_fits": int(fold.max()) + 1,
            }
        self._constant, facts["constant"] = constant, None if constant is None else names[constant]
        self.guard_ = facts | {"reason": _reason(constant, facts)}


def _reason(constant: int | None, facts: dict[str, Any]) -> str:
    """One sentence for the reader."""
    name, cost = min(facts["constant_costs"].items(), key=itemgetter(1))
    told = f"Predicting {name!r} for every row is expected to cost {cost:.3g} per row; "
    if facts["n_fits"]:
        return (
            f"{told}the SVM at its best threshold, {facts['best_cut_cost']:.3g}, by"
            f" cross-validation with {facts['n_fits']} fits."
        )
    if constant is None:
        return (
            f"{told}an SVM that is right on every second row of each class"
            f" {facts['own_cost']:.3g}. No class has two labels, so no fit could be tested."
        )
    return (
        f"{told}even a classifier without an error on these few labels,"
        f" {facts['least_possible_cost']:.3g}."
    )
