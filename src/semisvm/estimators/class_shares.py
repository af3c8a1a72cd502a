"""How many of the unlabeled rows are of each class, and which: shares of classes, labels by rank,
and assignments.

"labeled" is the share of positives among the labeled rows; "estimated", the share of unlabeled rows
that the supervised SVM calls positive, kept inside the exact interval (Clopper and Pearson)
that the labeled rows leave for it. Rows count by their sample weights. Both take the labeled rows
for a random sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from semisvm.decision.binomial import binomial_interval
from semisvm.labels import Labels
from semisvm.sklearn_private import Interval, StrOptions

CONFIDENCE = 0.9
ROUNDING_OF_COUNTS = 1e-9  # of a row: 0.3 * 10 is a little more than 3
ROUNDS_OF_PRICES = 20  # a few suffice; what they leave undone the moves do
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

    def as_details(self) -> dict[str, Any]:
        """What the history says of it."""
        return {"positive_fraction": self.value, "interval": (self.low, self.high)}

    def toward(self, value: float) -> PositiveShare:
        """The share inside the interval that is nearest to a value."""
        return PositiveShare(float(np.clip(value, self.low, self.high)), self.low, self.high)

    def nearest(self, weight: np.ndarray) -> int:
        """How many rows, in the order given, come nearest to this share of the weight."""
        middle = np.cumsum(weight) - weight / 2
        most = self.value * weight.sum() + ROUNDING_OF_COUNTS * weight.mean()
        return _some_of_each(int(np.count_nonzero(middle <= most)), weight)

    def at_least(self, weight: np.ndarray) -> int:
        """The fewest rows, in this order, with at least this share of the weight (CS4VM)."""
        before = np.cumsum(weight) - weight
        most = self.value * weight.sum() - ROUNDING_OF_COUNTS * weight.mean()
        return _some_of_each(int(np.count_nonzero(before < most)), weight)


def _some_of_each(count: int, weight: np.ndarray) -> int:
    """At least one row of each class, where there are two rows or more."""
    return int(np.clip(count, 1, len(weight) - 1)) if len(weight) > 1 else int(count)


def check_share_has_one_meaning(asked: str | float, n_classes: int) -> None:
    """Refuse a number where several binary problems would all take it."""
    if n_classes > 2 and not isinstance(asked, str):
        raise ValueError(
            f"positive_fraction={asked} can be a number only for two classes, and there are"
            f" {n_classes}. Use 'labeled' or 'estimated', which choose a fraction for each class."
        )


def settle_share(
    asked: str | float, sign: np.ndarray, decision_values: np.ndarray, counts: np.ndarray
) -> PositiveShare:
    """The share to use; decision values are those of the supervised SVM."""
    is_labeled = sign != 0
    n_labeled = int(np.count_nonzero(is_labeled))
    share = float(np.average(sign[is_labeled] > 0, weights=counts[is_labeled]))
    found = share_of_labels(asked, share, n_labeled)
    if asked != "estimated" or n_labeled == len(sign):
        return found
    return found.toward(
        float(np.average(decision_values[~is_labeled] > 0, weights=counts[~is_labeled]))
    )


def settle_shares(
    asked: str | float, labels: Labels, estimates: np.ndarray, weight: np.ndarray
) -> list[PositiveShare]:
    """The share of unlabeled rows of each class, that of each class against the rest."""
    shares = []
    for k in range(labels.n_classes):
        margin = np.delete(estimates, k, axis=1).min(axis=1) - estimates[:, k]
        shares.append(settle_share(asked, labels.sign(k), margin, weight))
    return shares


def share_of_labels(asked: str | float, share: float, n_labeled: int) -> PositiveShare:
    """The user's number, or the share among the labeled rows with its interval."""
    if not isinstance(asked, str):
        return PositiveShare(float(asked), float(asked), float(asked))
    return PositiveShare(
        share, *map(float, binomial_interval(share * n_labeled, n_labeled, CONFIDENCE))
    )


def report_shares(shares: list[PositiveShare | None]) -> tuple[np.ndarray, np.ndarray]:
    """`positive_fraction_`, (n_problems,), and `positive_fraction_interval_`, (n_problems, 2); NaN
    where a fit ended before its share was settled.
    """
    known = [share or PositiveShare(np.nan, np.nan, np.nan) for share in shares]
    intervals = np.array([(share.low, share.high) for share in known])
    return np.array([share.value for share in known]), intervals


def unlabeled_rows(sign: np.ndarray) -> np.ndarray:
    """The rows without a label, in the order in which ties are settled: theirs, or the opposite one
    if the first label is negative, so that classes may change their names.
    """
    rows = np.flatnonzero(sign == 0)
    labeled = sign[sign != 0]
    return rows[::-1] if len(labeled) and labeled[0] < 0 else rows


def rank_rows(scores: np.ndarray, rows: np.ndarray, *, rounding: float = 0.0) -> np.ndarray:
    """These rows, largest score first; scores within `rounding` of the largest tie, and stay in
    the order of the rows.
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


def label_by_rank(
    sign: np.ndarray, ranked: np.ndarray, n_positive: int, n_negative: int | None = None
) -> np.ndarray:
    """`sign` with +1 for the first `n_positive` ranked rows, -1 for the last `n_negative`."""
    guess = np.array(sign, dtype=np.float64)
    n_negative = len(ranked) - n_positive if n_negative is None else n_negative
    guess[ranked[:n_positive]], guess[ranked[len(ranked) - n_negative :]] = +1, -1
    return guess


def guess_by_rank(ranked: np.ndarray, n_rows: int, rate: float, is_half: bool) -> np.ndarray:
    """+1 for the top `rate` of the ranked rows, -1 for the rest, or for the surer half of each."""
    n_positive = min(max(round(rate * len(ranked)), 1), len(ranked) - 1)
    n_negative = len(ranked) - n_positive
    if is_half:
        n_positive = math.ceil(n_positive / 2)
        n_negative = math.ceil(n_negative / 2)
    return label_by_rank(np.zeros(n_rows), ranked, n_positive, n_negative)


def assign(score: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The class of each row, (n,), by count of each class, with the largest sum of scores.

        score   (n, K)  what it is worth to give row i class k
        count   (K,)    how many rows each class is to have; they sum to n

        maximize  sum_i score[i, class of i]     over all assignments with these counts

    This is the transportation problem with n sources of one unit and K sinks. For two classes the
    answer is a sort. In general: set a price on each class such that about the right number of rows
    find it best, score less price. Whatever the prices, that is optimal for the counts that come of
    it. Then move rows from a class with too many to a class with too few, by the cheapest chain a
    -> b -> c of moves between classes (a row of a goes to b, a row of b to c). Rows that tie are
    moved together, the first ones first. Shortest chains keep the assignment optimal for its counts
    at every move, so it is optimal when the counts are right.
    """
    score = np.asarray(score, dtype=np.float64)
    count = np.asarray(count)
    n_rows, n_classes = score.shape
    if count.shape != (n_classes,) or (count < 0).any() or count.sum() != n_rows:
        raise ValueError(
            f"count must hold {n_classes} numbers of rows that sum to {n_rows}, got"
            f" {count.tolist()}."
        )
    given = _best_at_fair_prices(score, count)
    excess = np.bincount(given, minlength=n_classes) - count
    while (excess > 0).any():
        price = _cheapest_moves(score, given)
        chain = _cheapest_chain(price, excess)
        moves = list(pairwise(chain))
        tied = [
            np.flatnonzero((given == a) & (score[:, a] - score[:, b] == price[a, b]))
            for a, b in moves
        ]
        n_moved = min(excess[chain[0]], -excess[chain[-1]], *map(len, tied))
        for (_, b), rows in zip(moves, tied, strict=True):
            given[rows[:n_moved]] = b
        excess[chain[0]] -= n_moved
        excess[chain[-1]] += n_moved
    return given


def counts_of(share: np.ndarray, n_rows: int) -> np.ndarray:
    """Numbers of rows in these shares, (K,), that sum to n_rows; at least one each, if possible."""
    share = np.asarray(share, dtype=np.float64)
    wanted = n_rows * share / share.sum()
    count = np.floor(wanted + 1e-9).astype(np.intp)
    most_lacking = np.argsort(count - wanted, kind="stable")
    count[most_lacking[: n_rows - count.sum()]] += 1
    while n_rows >= len(share) and (count == 0).any():
        count[count.argmax()] -= 1
        count[count.argmin()] += 1
    return count


def _best_at_fair_prices(score: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The best class of each row once the prices of the classes are settled in turn."""
    n_rows, n_classes = score.shape
    price = np.zeros(n_classes)
    best = score.argmax(axis=1)
    for _ in range(ROUNDS_OF_PRICES):
        if n_rows == 0 or (np.bincount(best, minlength=n_classes) == count).all():
            break
        for k in range(n_classes):
            lead = np.sort(score[:, k] - np.delete(score - price, k, axis=1).max(axis=1))
            # As many rows as class k is to have are to lead by more than its price.
            below = max(n_rows - count[k] - 1, 0)
            above = min(n_rows - count[k], n_rows - 1)
            price[k] = (lead[below] + lead[above]) / 2
        best = (score - price).argmax(axis=1)
    return best


def _cheapest_moves(score: np.ndarray, given: np.ndarray) -> np.ndarray:
    """The least cost of moving a row from class a to b, (K, K); infinite where there is none."""
    price = np.full((score.shape[1],) * 2, np.inf)
    for a in range(len(price)):
        rows = score[given == a]
        price[a] = (rows[:, [a]] - rows).min(axis=0, initial=np.inf)
    np.fill_diagonal(price, np.inf)
    return price


def _cheapest_chain(price: np.ndarray, excess: np.ndarray) -> list[int]:
    """From a class with too many rows to one with too few, by Bellman and Ford's algorithm."""
    distance = np.where(excess > 0, 0.0, np.inf)
    before = np.full(len(price), -1)
    for _ in range(len(price) - 1):
        through = distance[:, None] + price
        best = through.argmin(axis=0)
        shorter = through[best, np.arange(len(price))]
        # Less than rounding is no shorter: two classes would else take turns to come before each
        # other.
        improved = shorter < distance - 1e-12 * np.maximum(1, np.abs(shorter))
        distance = np.where(improved, shorter, distance)
        before = np.where(improved, best, before)
    chain = [int(np.where(excess < 0, distance, np.inf).argmin())]
    while before[chain[-1]] >= 0 and len(chain) <= len(price):
        chain.append(int(before[chain[-1]]))
    return chain[::-1]
