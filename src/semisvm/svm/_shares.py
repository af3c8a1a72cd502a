"""How many of the unlabeled rows are positive, and labels by rank.

"labeled" is the share of positives among the labeled rows; "estimated", the share of unlabeled rows
that the supervised SVM calls positive, kept inside the exact interval (Clopper and Pearson) that
the labeled rows leave for it. Rows count by their weights. Both take the labeled rows for a random
sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import betaincinv

from semisvm.engine import Solution
from semisvm.sklearn_private import Interval, StrOptions

from ._binary import BinaryFit

CONFIDENCE = 0.9
ROUNDING_OF_COUNTS = 1e-9  # of a row: 0.3 * 10 is a little more than 3
POSITIVE_FRACTION: list[Any] = [
    StrOptions({"labeled", "estimated"}),
    Interval(Real, 0, 1, closed="neither"),
]


@dataclass(frozen=True)
class PositiveShare:
    """The share of positives among unlabeled rows, and the interval it comes with."""

    value: float
    low: float
    high: float

    def nearest(self, weight: np.ndarray) -> int:
        """How many rows, in the order given, come nearest to this share of the weight (TSVM)."""
        middle = np.cumsum(weight) - weight / 2
        most = self.value * weight.sum() + ROUNDING_OF_COUNTS * weight.mean()
        return _some_of_each(int(np.count_nonzero(middle <= most)), weight)

    def at_least(self, weight: np.ndarray) -> int:
        """The fewest rows, in this order, with at least this share of the weight (CS4VM)."""
        before = np.cumsum(weight) - weight
        most = self.value * weight.sum() - ROUNDING_OF_COUNTS * weight.mean()
        return _some_of_each(int(np.count_nonzero(before < most)), weight)


def _some_of_each(count: int, weight: np.ndarray) -> int:
    """At least one row of each sign, where there are two rows or more."""
    return int(np.clip(count, 1, len(weight) - 1)) if len(weight) > 1 else int(count)


def settle_share(asked: str | float, problem: Any, supervised: Solution) -> PositiveShare:
    """The share to use; "estimated" asks the supervised SVM."""
    if not isinstance(asked, str):
        return PositiveShare(float(asked), float(asked), float(asked))
    share, n_labeled = problem.labeled_share()
    low, high = exact_interval(share * n_labeled, n_labeled)
    if asked == "estimated":
        estimate = problem.predicted_share(supervised)
        share = share if np.isnan(estimate) else float(np.clip(estimate, low, high))
    return PositiveShare(share, low, high)


def exact_interval(n_positive: float, n: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share; weights may make the counts fractions."""
    risk, n_negative = (1 - CONFIDENCE) / 2, n - n_positive
    low = betaincinv(n_positive, n_negative + 1, risk) if n_positive > 0 else 0.0
    high = betaincinv(n_positive + 1, n_negative, 1 - risk) if n_negative > 0 else 1.0
    return float(low), float(high)


def check_share_has_one_meaning(asked: str | float, n_classes: int) -> None:
    """Refuse a number where several binary problems would all take it."""
    if n_classes > 2 and not isinstance(asked, str):
        raise ValueError(
            f"positive_fraction={asked} can be a number only for two classes, and there are"
            f" {n_classes}. Use 'labeled' or 'estimated', which choose a fraction for each class."
        )


def set_shares(svm: Any, fits: list[BinaryFit]) -> None:
    """Set `positive_fraction_` and `positive_fraction_interval_` of an estimator."""
    shares = [fit.facts["share"] for fit in fits]
    svm.positive_fraction_ = np.array([share.value for share in shares])
    svm.positive_fraction_interval_ = np.array([(share.low, share.high) for share in shares])


def rank_rows(scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """These rows, largest score first."""
    return rows[np.argsort(-scores[rows], kind="stable")]


def label_by_rank(sign: np.ndarray, ranked: np.ndarray, n_positive: int) -> np.ndarray:
    """`sign` with +1 for the first `n_positive` ranked rows, -1 for the others."""
    guess = np.array(sign, dtype=np.float64)
    guess[ranked[:n_positive]], guess[ranked[n_positive:]] = +1, -1
    return guess
