"""The guard: before a machine that knows costs is handed out, ask whether one class for every row would cost less.

With few labels and dear mistakes a constant beats every classifier that the labels could make (`semisvm.decision.guard`
has the arithmetic): five labeled positives can't promise to miss fewer than one in seven, and at a cost ratio of 100
that alone is dearer than calling every row positive. So each labeled row is scored by a fit that has not seen its
label, leave-one-out up to MOST_FITS labels and by as many folds beyond; of more than two classes, one with a single
label is not judged (`semisvm.decision.guard` says why). Where a constant has the least expected cost, `predict`
gives the constant. The machine itself is kept:

    guard_                   what was compared, with the numbers and the choice; None where no guard was asked for
    predict, transduction_   the constant, where one was chosen
    decision_function        ranks the rows as the machine does, all on the constant's side of 0: a score s becomes
                             s + sqrt(s^2 + 1) > 0 for the class chosen, s - sqrt(s^2 + 1) < 0 for every other

Where even a classifier without an error would be expected to cost more than a constant, no fit is needed to know it.
"""

import copy
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from semisvm.decision.guard import count_judged, guard, guard_classes, least_possible_cost
from semisvm.estimators.base import BaseSVC
from semisvm.estimators.binary import BinaryFit
from semisvm.estimators.multiclass import combine
from semisvm.estimators.rounds import USABLE
from semisvm.labels import UNLABELED_CODE, Labels

MOST_FITS = 20


class GuardedSVC(BaseSVC):
    """An SVM with a parameter `guard`, which acts where costs are given; see the module's docstring."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {**BaseSVC._parameter_constraints, "guard": ["boolean"]}

    # What a fit without some of the labels may go by: the fits of all labels, by the name of their binary problem.
    _known: Mapping[str, BinaryFit] = MappingProxyType({})

    @property
    def _is_guarded(self) -> bool:
        return self.guard and self.costs is not None

    def _class_shares(self, labels: Labels, weight, fits: list[BinaryFit]) -> np.ndarray:
        """How often each class is expected: as often as among the labeled rows, unless a method knows better."""
        is_labeled = labels.is_labeled
        counts = np.bincount(labels.codes[is_labeled], weight[is_labeled], minlength=labels.n_classes)
        return counts / counts.sum()

    def _fit_all(self, X, labels: Labels, weight) -> list[BinaryFit]:
        self.guard_: dict[str, Any] | None = None
        self._constant: int | None = None
        if not self._is_guarded:
            return self._fit_pairs(X, labels, weight)
        self._kept_rows: dict[int, Any] = {}
        try:
            fits = self._fit_pairs(X, labels, weight)
            self._constant, self.guard_ = self._judge(X, labels, weight, fits)
        finally:
            del self._kept_rows
        return fits

    def _kernel_rows(self, X, is_frugal: bool = False):
        """The rows of the fit of all labels serve those without some, where they are about the same rows."""
        if not hasattr(self, "_kept_rows"):
            return super()._kernel_rows(X, is_frugal)
        if id(X) not in self._kept_rows:
            # X is kept with its rows: the id of an object that is gone may be another's.
            self._kept_rows = {id(X): (X, super()._kernel_rows(X))}
        return self._kept_rows[id(X)][1]

    def _judge(self, X, labels: Labels, weight, fits: list[BinaryFit]) -> tuple[int | None, dict[str, Any]]:
        """The constant that is to be predicted, if any, and all that was compared."""
        costs, shares = _error_costs(self.costs, labels.classes), self._class_shares(labels, weight, fits)
        n_labeled = np.bincount(labels.codes[labels.is_labeled], minlength=labels.n_classes).astype(np.float64)
        n_judged = count_judged(n_labeled)
        constant_costs, least = shares @ costs, least_possible_cost(n_judged, costs, shares)
        names = labels.classes.tolist()
        facts = {
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
            folds = _folds(judged, labels.codes)
            decisions = self._held_out(folds, X, labels, weight, fits)
            if decisions is None:
                self._warn_if_only_the_guard_ended_early(fits)
                return None, facts | {"constant": None, "reason": "The fit was ended early: nothing was compared."}
            constant, found = _compare(decisions[judged], labels.codes[judged], costs, shares)
            facts |= found | {"n_fits": len(folds)}
        return constant, facts | {
            "constant": None if constant is None else names[constant],
            "reason": _reason(constant, names, facts),
        }

    def _held_out(self, folds, X, labels: Labels, weight, fits: list[BinaryFit]) -> np.ndarray | None:
        """Decisions on all rows, those of the folds by fits that had not seen their labels; None if ended.

        A fit that a limit or a wish has ended is not fitted 20 times more.
        """
        if any(fit.status not in USABLE for fit in fits):
            return None
        blind = copy.copy(self)
        for of_the_whole_fit in ("_skl_callbacks", "_parent_callback_ctx"):
            blind.__dict__.pop(of_the_whole_fit, None)
        blind.verbose = False
        blind._known = {fit.history[0]["problem"]: fit for fit in fits if fit.history}
        decisions: Any = None
        for fold in folds:
            codes = labels.codes.copy()
            codes[fold] = UNLABELED_CODE
            try:
                held_out = blind._fit_pairs(X, Labels(labels.classes, codes), weight)
            except KeyboardInterrupt:  # the fit of all labels is complete, and worth keeping
                return None
            if any(fit.status not in USABLE for fit in held_out):
                return None
            scores = np.stack([fit.scores for fit in held_out], axis=1)
            decision = combine(scores, labels.n_classes, self._scheme)
            decisions = np.zeros_like(decision) if decisions is None else decisions
            decisions[fold] = decision[fold]
        return decisions

    def _warn_if_only_the_guard_ended_early(self, fits: list[BinaryFit]) -> None:
        if all(fit.status in USABLE for fit in fits):
            warnings.warn(
                f"The guard of {type(self).__name__} ended early: whether a constant would cost less is not known. "
                "Fit again without interrupting, or with higher limits, to have it compared.",
                ConvergenceWarning,
                stacklevel=7,
            )

    def decision_function(self, X):
        """Signed scores, the largest wins; where the guard chose a constant, in the same order and all on its side."""
        decision = super().decision_function(X)
        if self._constant is None:
            return decision
        is_chosen = np.arange(len(self.classes_)) == self._constant
        return _to_one_side(decision, is_chosen if decision.ndim == 2 else is_chosen[1])

    def _codes_of(self, decision) -> np.ndarray:
        if self._constant is None:
            return super()._codes_of(decision)
        return np.full(len(decision), self._constant, dtype=np.intp)


def _to_one_side(scores, is_positive) -> np.ndarray:
    """s + sqrt(s^2 + 1) or s - sqrt(s^2 + 1), in the form that loses no digits."""
    return np.where(is_positive, np.exp(np.arcsinh(scores)), -np.exp(-np.arcsinh(scores)))


def _error_costs(costs, classes) -> np.ndarray:
    """What predicting the column's class for a row of the row's class costs; the costs were checked before."""
    if not isinstance(costs, dict):
        return np.asarray(costs, dtype=np.float64)
    of_class = np.array([costs[name] for name in classes.tolist()], dtype=np.float64)
    return of_class[:, None] * (1 - np.eye(len(classes)))


def _folds(rows: np.ndarray, codes: np.ndarray) -> list[np.ndarray]:
    """Rows to hold out together: one by one while they are few, else dealt out class by class."""
    rows = rows[np.argsort(codes[rows], kind="stable")]
    n_folds = min(len(rows), MOST_FITS)
    return [rows[k::n_folds] for k in range(n_folds)]


def _compare(decisions, codes, costs, shares) -> tuple[int | None, dict[str, float]]:
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
            "No class has two labels, so that no fit could be judged. A machine that is right on every second row of "
            f"each class is expected to cost {facts['own_cost']:.3g} a row; predicting {cheapest!r} for every row, "
            f"{constant_cost:.3g}."
        )
    if facts["n_fits"] == 0:
        return (
            f"Predicting {cheapest!r} for every row is expected to cost {constant_cost:.3g} a row; with so few labels "
            f"even a classifier that makes no error on them is expected to cost {facts['least_possible_cost']:.3g}."
        )
    verb = "costs no more than" if constant is not None else "costs more than"
    return (
        f"Predicting {cheapest!r} for every row ({constant_cost:.3g} a row) {verb} the machine is expected to at its "
        f"best ({facts['best_cut_cost']:.3g}), judged on labeled rows that {facts['n_fits']} fits had not seen."
    )
