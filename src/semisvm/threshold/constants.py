"""Does the classifier cost less than one class for every row, as far as my labels tell?

    scores     out-of-fold scores of labeled rows; the largest wins, of two classes the sign
    costs      of misclassifying a row of each class, c_j
    shares     how often class j is expected where the classifier will be used, s_j

With few labels, a threshold without an observed error is not free of errors. So all classes
together are charged four rows, two right and two wrong: Laplace's rule of succession, for two
classes one error in two rows each.

    classifier  sum_j s_j c_j (errors_j + 2 / K) / (n_j + 4 / K)        K classes, n_j labels
    constant k  sum_{j != k} s_j c_j                                    exactly

No threshold of two classes can promise a rate of missed positives below 1 / (n + 2), where n are
labeled. Where that alone costs more than accepting every row, the constant is the better answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.labels import encode

ROUNDING = 1e-12  # of sums of a few products; it must not decide


@dataclass(frozen=True)
class ConstantComparison:
    """The result of `compare_with_constants`; print it for a sentence.

    Attributes
    ----------
    cost, best_cost : float
        Expected costs per row of the classifier as it is, and with the best number added to the
        scores of one class.
    constant : label
        The class that costs least if it is predicted for every row.
    constant_cost : float
        What that costs per row.
    constant_is_better : bool
        Whether it costs no more than the classifier with the best number.
    """

    cost: float
    best_cost: float
    constant: Any
    constant_cost: float
    constant_is_better: bool

    def __str__(self) -> str:
        return (
            f"Predicting {self.constant!r} for every row is expected to cost"
            f" {self.constant_cost:.3g} per row; the classifier {self.cost:.3g}, at its best"
            f" threshold {self.best_cost:.3g}."
        )


def compare_with_constants(
    scores: ArrayLike,
    y: Any,
    costs: dict[Any, float] | None = None,
    *,
    shares: dict[Any, float] | None = None,
    unlabeled: Any = -1,
) -> ConstantComparison:
    """Compare a classifier with the constants, by out-of-fold scores.

    Parameters
    ----------
    scores : array-like of shape (n_samples,) or (n_samples, n_classes)
        Out-of-fold scores, of `semisvm.model_selection.cross_fit`.
    y : array-like of shape (n_samples,)
        The labels; rows without one are left out.
    costs : dict {class: cost}, default=None
        Costs of misclassifying a row of each class. None: 1 each.
    shares : dict {class: share}, default=None
        How often each class is expected. None: as often as among the labels.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows.

    Returns
    -------
    comparison : ConstantComparison
        The expected costs per row.

    Examples
    --------
    >>> from semisvm.threshold import compare_with_constants
    >>> scores, y = [2.0, 1.0, -1.0, -2.0, -3.0], [1, 1, 0, 0, 0]
    >>> print(compare_with_constants(scores, y, {0: 1, 1: 20}))
    Predicting 1 for every row is expected to cost 0.6 per row; the classifier 2.12, at its best \
threshold 2.12.
    """
    labels = encode(y, unlabeled=unlabeled)
    rows = np.flatnonzero(labels.is_labeled)
    names, codes, K = labels.classes.tolist(), labels.codes[rows], labels.n_classes
    decisions = np.asarray(scores, dtype=np.float64)[rows]
    if decisions.ndim == 1:
        decisions = np.stack([np.zeros(len(rows)), decisions], axis=1)
    if decisions.shape != (len(rows), K):
        raise ValueError(f"scores need one column, or one per class: y has {K} classes.")
    n = np.bincount(codes, minlength=K)
    share = n / n.sum() if shares is None else np.array([shares[name] for name in names])
    price = share * np.array([1.0 if costs is None else costs[name] for name in names])
    rate_of_row = (price / (n + 4 / K))[codes]
    charge = float((price * (2 / K) / (n + 4 / K)).sum())
    own = charge + rate_of_row[decisions.argmax(axis=1) != codes].sum()
    best = charge + min(_least_of_cuts(decisions, codes, rate_of_row, k) for k in range(K))
    constants = price.sum() - price
    k = int(constants.argmin())
    is_better = bool(constants[k] <= best * (1 + ROUNDING))
    return ConstantComparison(float(own), float(best), names[k], float(constants[k]), is_better)


def _least_of_cuts(decisions: np.ndarray, codes: np.ndarray, cost: np.ndarray, k: int) -> float:
    """The smallest cost of errors over all numbers added to the scores of class k.

    Numbers that give every row the same class are constants, and do not count.
    """
    others = decisions.copy()
    others[:, k] = -np.inf
    rival = others.argmax(axis=1)
    lead = others.max(axis=1) - decisions[:, k]  # what must be added before a row is given class k
    order = np.argsort(lead, kind="stable")
    change = cost * (np.where(codes == k, 0.0, 1.0) - (rival != codes))
    # After the first 0, 1, ..., n rows; rows that tie go together.
    sums = cost[rival != codes].sum() + np.append(0.0, np.cumsum(change[order]))
    is_cut = np.append(np.append(np.ptp(rival) > 0, np.diff(lead[order]) > 0), False)
    return float(sums.min(where=is_cut, initial=np.inf))
