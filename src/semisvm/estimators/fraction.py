"""How many of the unlabeled rows are positive: TSVM and the label-mean machine want to know before they start.

    "labeled"     the share of positives among the labeled rows
    "estimated"   the share of unlabeled rows that the supervised machine calls positive, kept inside the exact
                  interval (Clopper and Pearson) that the labeled rows leave for it
    a number      the user knows

Rows may count more or less than once; the shares are then of what they count. Ten labels, five of them positive, leave
anything from 0.22 to 0.78 at 90% confidence, however often each counts: the interval is recorded so that nobody takes
the guess for a fact. Both estimates take the labeled rows for a random sample; where they were
picked by class, only the user can know the fraction.
"""

from dataclasses import dataclass

import numpy as np

from semisvm.decision.binomial import binomial_interval

CONFIDENCE = 0.9
ROUNDING = 1e-9  # of a row: 0.3 * 10 is a little more than 3


@dataclass(frozen=True)
class Fraction:
    """The share of positives among unlabeled rows, and the interval it comes with."""

    value: float
    low: float
    high: float

    def count(self, n_unlabeled: int) -> int:
        """How many rows to call positive: at least one of each class, where there are two rows or more."""
        nearest = int(np.floor(self.value * n_unlabeled + 0.5))
        return int(np.clip(nearest, 1, n_unlabeled - 1)) if n_unlabeled > 1 else nearest

    def cut(self, weight: np.ndarray) -> int:
        """How many rows to call positive when they come in order: the fewest that have this share of the weight.

        Rounded up, as the authors of CS4VM do; at least one row of each class, where there are two rows or more.
        """
        before = np.cumsum(weight) - weight
        wanted = self.value * weight.sum() - ROUNDING * weight.mean()
        fewest = int(np.count_nonzero(before < wanted))
        return int(np.clip(fewest, 1, len(weight) - 1)) if len(weight) > 1 else fewest


def check_fraction_has_one_meaning(asked: str | float, n_classes: int) -> None:
    """Refuse a number where several binary problems would all take it."""
    if n_classes > 2 and not isinstance(asked, str):
        raise ValueError(
            f"positive_fraction={asked} can be a number only for two classes, and there are {n_classes}. Use 'labeled' "
            "or 'estimated', which settle a fraction for each class."
        )


def settle_fraction(
    asked: str | float, sign: np.ndarray, decision_values: np.ndarray, counts: np.ndarray | None = None
) -> Fraction:
    """Settle what `positive_fraction` asks for; decision values are those of the supervised machine."""
    if not isinstance(asked, str):
        return Fraction(float(asked), float(asked), float(asked))
    counts, is_labeled = np.ones(len(sign)) if counts is None else counts, sign != 0
    n_labeled = np.count_nonzero(is_labeled)
    share = float(np.average(sign[is_labeled] > 0, weights=counts[is_labeled]))
    low, high = map(float, binomial_interval(share * n_labeled, n_labeled, CONFIDENCE))
    if asked == "labeled" or n_labeled == len(sign):
        return Fraction(share, low, high)
    called_positive = np.average(decision_values[~is_labeled] > 0, weights=counts[~is_labeled])
    return Fraction(float(np.clip(called_positive, low, high)), low, high)
