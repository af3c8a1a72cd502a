"""How many of the unlabeled rows are positive, and which: shares of classes, and labels by rank.

Where the user says "labeled" it is the share of positives among the labeled rows; where "estimated", the share of
unlabeled rows that the supervised machine calls positive, kept inside the exact interval (Clopper and Pearson) that
the labeled rows leave for it; a number is what the user knows.

Rows count by their sample weights. Ten labels, five of them positive, leave anything from 0.22 to 0.78 at 90%
confidence, whatever their weights: the interval is recorded so that nobody takes the guess for a fact. Both estimates
take the labeled rows for a random sample; where they were picked by class, only the user can know the share.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from semisvm.decision.binomial import binomial_interval
from semisvm.sklearn_private import Interval, StrOptions

CONFIDENCE = 0.9
ROUNDING_OF_COUNTS = 1e-9  # of a row: 0.3 * 10 is a little more than 3
POSITIVE_FRACTION: list[Any] = [StrOptions({"labeled", "estimated"}), Interval(Real, 0, 1, closed="neither")]


@dataclass(frozen=True)
class PositiveShare:
    """The share of positives among unlabeled rows, and the interval it comes with."""

    value: float
    low: float
    high: float

    def as_details(self) -> dict[str, Any]:
        """What the history says of it."""
        return {"positive_fraction": self.value, "interval": (self.low, self.high)}

    def towards(self, value: float) -> PositiveShare:
        """The share inside the interval that is nearest to a value."""
        return PositiveShare(float(np.clip(value, self.low, self.high)), self.low, self.high)

    def nearest(self, weight: np.ndarray) -> int:
        """How many rows, in the order given, come nearest to this share of the weight."""
        middle = np.cumsum(weight) - weight / 2
        return _some_of_each(
            int(np.count_nonzero(middle <= self.value * weight.sum() + ROUNDING_OF_COUNTS * weight.mean())), weight
        )

    def at_least(self, weight: np.ndarray) -> int:
        """The fewest rows, in the order given, that have this share of the weight: CS4VM's authors round up."""
        before = np.cumsum(weight) - weight
        return _some_of_each(
            int(np.count_nonzero(before < self.value * weight.sum() - ROUNDING_OF_COUNTS * weight.mean())), weight
        )


def _some_of_each(count: int, weight: np.ndarray) -> int:
    """At least one row of each class, where there are two rows or more."""
    return int(np.clip(count, 1, len(weight) - 1)) if len(weight) > 1 else int(count)


def check_share_has_one_meaning(asked: str | float, n_classes: int) -> None:
    """Refuse a number where several binary problems would all take it."""
    if n_classes > 2 and not isinstance(asked, str):
        raise ValueError(
            f"positive_fraction={asked} can be a number only for two classes, and there are {n_classes}. Use 'labeled' "
            "or 'estimated', which settle a fraction for each class."
        )


def settle_share(
    asked: str | float, sign: np.ndarray, decision_values: np.ndarray, counts: np.ndarray
) -> PositiveShare:
    """Settle what `positive_fraction` asks for; decision values are those of the supervised machine."""
    is_labeled = sign != 0
    n_labeled = int(np.count_nonzero(is_labeled))
    share = float(np.average(sign[is_labeled] > 0, weights=counts[is_labeled]))
    found = share_of_labels(asked, share, n_labeled)
    if asked != "estimated" or n_labeled == len(sign):
        return found
    return found.towards(float(np.average(decision_values[~is_labeled] > 0, weights=counts[~is_labeled])))


def share_of_labels(asked: str | float, share: float, n_labeled: int) -> PositiveShare:
    """The number asked for, or the share of positives among the labeled rows with the interval that they allow."""
    if not isinstance(asked, str):
        return PositiveShare(float(asked), float(asked), float(asked))
    return PositiveShare(share, *map(float, binomial_interval(share * n_labeled, n_labeled, CONFIDENCE)))


def report_shares(shares: list[PositiveShare | None]) -> tuple[np.ndarray, np.ndarray]:
    """The attributes `positive_fraction_`, (n_problems,), and `positive_fraction_interval_`, (n_problems, 2).

    NaN where a fit ended before its share was settled.
    """
    unknown = PositiveShare(np.nan, np.nan, np.nan)
    known = [share or unknown for share in shares]
    return np.array([share.value for share in known]), np.array([(share.low, share.high) for share in known])


def unlabeled_rows(sign: np.ndarray) -> np.ndarray:
    """The rows without a label, in the order in which ties are settled.

    It is the order of the rows, or the opposite one if the first label is negative: so the classes may change their
    names, and every row still gets the same one.
    """
    rows = np.flatnonzero(sign == 0)
    labeled = sign[sign != 0]
    return rows[::-1] if len(labeled) and labeled[0] < 0 else rows


def rank_rows(scores: np.ndarray, rows: np.ndarray, *, rounding: float = 0.0) -> np.ndarray:
    """These rows, largest score first; scores that differ by no more than `rounding` of the largest tie.

    Ties stay in the order of the rows.
    """
    values = scores[rows]
    if rounding == 0.0:
        return rows[np.argsort(-values, kind="stable")]
    order = np.argsort(-values)  # the fastest sort there is: what ties is put in order below
    falls = -np.diff(values[order]) > rounding * np.abs(values).max(initial=0.0)
    if not falls.all():
        group = np.empty(len(order), dtype=np.intp)
        group[order] = np.append(0, np.cumsum(falls))
        order = np.argsort(group, kind="stable")
    return rows[order]


def label_by_rank(sign: np.ndarray, ranked: np.ndarray, n_positive: int, n_negative: int | None = None) -> np.ndarray:
    """The signs given, +1 for the first `n_positive` of the ranked rows and -1 for the last `n_negative` (the rest)."""
    guess = np.array(sign, dtype=np.float64)
    n_negative = len(ranked) - n_positive if n_negative is None else n_negative
    guess[ranked[:n_positive]], guess[ranked[len(ranked) - n_negative :]] = +1, -1
    return guess
