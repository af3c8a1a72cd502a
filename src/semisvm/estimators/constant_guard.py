"""The guard: before a machine that knows costs is handed out, ask whether one class for every row would cost less.

With few labels and expensive mistakes a constant beats every classifier that the labels could make
(`semisvm.decision.guard` has the arithmetic): five labeled positives can't promise to miss fewer than one in seven, and
at a cost ratio of 100 that alone is more expensive than calling every row positive. So each labeled row is scored by a
fit that has not seen its label, leave-one-out up to MOST_FITS labels and by as many folds beyond; of more than two
classes, one with a single label is not judged (`semisvm.decision.guard` says why). Where a constant has the
least expected cost, `predict` gives the constant. The machine itself is kept:

    guard_                   what was compared, with the numbers and the choice; None where no guard was asked for
    predict, transduction_   the constant, where one was chosen
    decision_function        ranks the rows as the machine does, all on the constant's side of 0: a score s becomes
                             s + sqrt(s^2 + 1) > 0 for the class chosen, s - sqrt(s^2 + 1) < 0 for every other

Where even a classifier without an error would be expected to cost more than a constant, no fit is needed to know it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from semisvm.decision.guard import count_judged, guard, guard_classes, least_possible_cost
from semisvm.estimators.binary import USABLE, BinaryFit, combine
from semisvm.estimators.costs import cost_matrix
from semisvm.estimators.problem import TrainingProblem
from semisvm.estimators.progress import warn_caller
from semisvm.labels import UNLABELED_CODE, Labels

MOST_FITS = 20


class GuardedMixin:
    """Prediction by an SVM that may have been replaced by a constant; `_constant` is its class index, or None."""

    _constant: int | None
    classes_: np.ndarray

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        decision = super()._decide(scores)  # type: ignore[misc]
        if self._constant is None:
            return decision
        is_chosen = np.arange(len(self.classes_)) == self._constant
        # s + sqrt(s^2 + 1) or s - sqrt(s^2 + 1), in the form that loses no digits
        above, below = np.exp(np.arcsinh(decision)), -np.exp(-np.arcsinh(decision))
        return np.where(is_chosen if decision.ndim == 2 else is_chosen[1], above, below)


def class_shares(labels: Labels, weight: np.ndarray) -> np.ndarray:
    """How often each class is expected: as often as among the labeled rows."""
    is_labeled = labels.is_labeled
    counts = np.bincount(labels.codes[is_labeled], weight[is_labeled], minlength=labels.n_classes)
    return counts / counts.sum()


def compare_with_constants(
    problem: TrainingProblem,
    costs: Any,
    fits: list[BinaryFit],
    shares: np.ndarray,
    refit: Callable[[TrainingProblem], list[BinaryFit]],
) -> tuple[int | None, dict[str, Any]]:
    """Compare the fits of a problem with predicting one class for every row.

    costs    as the user gave them
    shares   (n_classes,) how often each class is expected
    refit    fits the same method to the same rows with some of the labels hidden

    Returns the index of the class to predict for every row, None where the machine is expected to cost less, and what
    was compared: the attribute `guard_`.
    """
    labels = problem.labels
    matrix = cost_matrix(costs, labels.classes)
    n_judged = count_judged(labels.n_of_class.astype(np.float64))
    constant_costs, least = shares @ matrix, least_possible_cost(n_judged, matrix, shares)
    names = labels.classes.tolist()
    facts: dict[str, Any] = {
        "constant_costs": dict(zip(names, constant_costs.tolist(), strict=True)),
        "class_shares": dict(zip(names, shares.tolist(), strict=True)),
        "least_possible_cost": least,
        "n_fits": 0,
    }
    constant: int | None = int(constant_costs.argmin())
    judged = np.flatnonzero(labels.is_labeled & (n_judged[labels.codes] > 0))
    if constant_costs[constant] > least and len(judged) == 0:
        constant, facts["own_cost"] = None, least
    elif constant_costs[constant] > least:
        folds, scores = _folds(judged, labels.codes), np.zeros((problem.n_rows, len(fits)))
        # A fit that a limit or the user has ended is not fitted 20 times more.
        has_ended = not _are_usable(fits)
        for fold in [] if has_ended else folds:
            codes = labels.codes.copy()
            codes[fold] = UNLABELED_CODE
            try:
                held_out = refit(problem.relabel(codes))
                has_ended = not _are_usable(held_out)
            except KeyboardInterrupt:  # the fit of all labels is complete, and worth keeping
                has_ended = True
            if has_ended:
                warn_caller(
                    ConvergenceWarning(
                        f"The guard of {problem.name} ended early: whether a constant would cost less is not known. "
                        "Fit again without interrupting, or with higher limits, to have it compared."
                    )
                )
                break
            scores[fold] = np.stack([fit.scores[fold] for fit in held_out], axis=1)
        if has_ended:
            return None, facts | {"constant": None, "reason": "The fit was ended early: nothing was compared."}
        decisions = combine(scores[judged], labels.n_classes, problem.scheme)
        constant, found = _compare(decisions, labels.codes[judged], matrix, shares)
        facts |= found | {"n_fits": len(folds)}
    return constant, facts | {
        "constant": None if constant is None else names[constant],
        "reason": _reason(constant, names, facts),
    }


def _are_usable(fits: list[BinaryFit]) -> bool:
    return all(fit.status in USABLE for fit in fits)


def _folds(rows: np.ndarray, codes: np.ndarray) -> list[np.ndarray]:
    """Rows to hold out together: one by one while they are few, else dealt out class by class."""
    rows = rows[np.argsort(codes[rows], kind="stable")]
    n_folds = min(len(rows), MOST_FITS)
    return [rows[k::n_folds] for k in range(n_folds)]


def _compare(
    decisions: np.ndarray, codes: np.ndarray, costs: np.ndarray, shares: np.ndarray
) -> tuple[int | None, dict[str, float]]:
    """Judge the best cut of the decisions; for two classes they are scores of the second."""
    if len(costs) == 2:
        verdict = guard(decisions, 2 * codes - 1, costs=(costs[1, 0], costs[0, 1]), positive_share=float(shares[1]))
        constant = {None: None, "negative": 0, "positive": 1}[verdict.constant]
        return constant, {"own_cost": verdict.own_cost, "best_cut_cost": verdict.best_cut_cost}
    found = guard_classes(decisions, codes, costs, shares)
    return found.constant, {"own_cost": found.own_cost, "best_cut_cost": found.best_cut_cost}


def _reason(constant: int | None, names: list[Any], facts: dict[str, Any]) -> str:
    """One sentence for the reader."""
    cheapest = min(facts["constant_costs"], key=facts["constant_costs"].get) if constant is None else names[constant]
    constant_cost = facts["constant_costs"][cheapest]
    if constant is None and facts["n_fits"] == 0:
        return (
            "No class has two labels, so no fit could be judged. A machine that is right on every second row of "
            f"each class is expected to cost {facts['own_cost']:.3g} per row; predicting {cheapest!r} for every row, "
            f"{constant_cost:.3g}."
        )
    if facts["n_fits"] == 0:
        return (
            f"Predicting {cheapest!r} for every row is expected to cost {constant_cost:.3g} per row; with so few "
            "labels even a classifier that makes no error on them is expected to cost "
            f"{facts['least_possible_cost']:.3g}."
        )
    verb = "costs no more than" if constant is not None else "costs more than"
    return (
        f"Predicting {cheapest!r} for every row ({constant_cost:.3g} per row) {verb} the machine is expected to at its "
        f"best ({facts['best_cut_cost']:.3g}), judged on labeled rows that {facts['n_fits']} fits had not seen."
    )
