"""What charts draw, computed beforehand: the page itself does no statistics.

    columns   by name, one entry per threshold, lowest first (to the right is stricter):
              cut, tp, fp, fn, tn, precision, recall, f_score and their _low and _high;
              missed_low ... alarm_high, bounds of fn / rows and fp / rows at half the risk each,
              from which any pair of costs gives a bound of the expected cost;
              unlabeled, how many unlabeled rows are accepted, scaled up from the sample
    bins      labeled positives, labeled negatives and unlabeled rows (as sampled), counted in the
              same bins

Intervals are exact for a threshold fixed beforehand. Of more than 400 thresholds 400 are kept,
evenly spaced in rank; the chosen one is always among them, with its exact value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.decision import Counts, Estimate, binomial_interval
from semisvm.decision.binomial import estimate_f
from semisvm.decision.counts import count_all, precision, recall
from semisvm.tables.summary import ScoreSample

MOST_THRESHOLDS = 400
N_BINS = 32
N_LISTED = 12  # thresholds of the table beside the chart
DIGITS = 5

NO_SCORES = "No scores of labeled rows were stored with this model, so there is no curve to draw."
ONE_CLASS = (
    "The labeled rows with a score are all of one class, so no threshold can be judged on them."
)


@dataclass(frozen=True)
class ThresholdTable:
    """The columns above, and the place of the chosen threshold, or None."""

    columns: dict[str, list[Any]]
    chosen: int | None

    @property
    def last(self) -> int:
        """The place of the last threshold."""
        return len(self.columns["cut"]) - 1

    @property
    def start(self) -> int:
        """Where the slider begins: at the chosen threshold, or in the middle."""
        return (self.last + 1) // 2 if self.chosen is None else self.chosen

    @property
    def listed(self) -> list[int]:
        """The places of about a dozen thresholds, the chosen one among them."""
        kept = set(np.linspace(0, self.last, N_LISTED).round().astype(int).tolist())
        return sorted(kept if self.chosen is None else kept | {self.chosen})


@dataclass(frozen=True, eq=False)
class UsableScores:
    """A `ScoreSample` as arrays, without scores that are not finite."""

    labeled: NDArray[np.float64]
    sign: NDArray[np.int64]
    unlabeled: NDArray[np.float64]
    n_unlabeled: int

    @classmethod
    def of(cls, sample: ScoreSample | None) -> UsableScores:
        """Return the usable part of a sample; empty arrays for None."""
        if sample is None:
            return cls(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0), 0)
        labeled = np.array(sample.labeled, dtype=np.float64)
        unlabeled = np.array(sample.unlabeled, dtype=np.float64)
        unlabeled = unlabeled[np.isfinite(unlabeled)]
        known = np.isfinite(labeled)
        sign = np.array(sample.sign, dtype=np.int64)[known]
        return cls(labeled[known], sign, unlabeled, max(sample.n_unlabeled, unlabeled.size))

    @property
    def missing(self) -> str:
        """Why no threshold can be judged, or nothing."""
        if not self.labeled.size:
            return NO_SCORES
        return ONE_CLASS if abs(int(self.sign.sum())) == self.sign.size else ""

    @property
    def is_sample(self) -> bool:
        """Whether only a sample of the unlabeled scores was stored."""
        return self.n_unlabeled > self.unlabeled.size


def tabulate(
    scores: UsableScores, *, confidence: float, beta: float, chosen: float | None
) -> ThresholdTable:
    """Count and measure at every threshold; the scores must have both classes."""
    curve = count_all(scores.labeled, scores.sign)
    cuts = curve.thresholds.copy()
    accepted = curve.counts.accepted
    index = None
    if chosen is not None:
        # Each set of rows that can be accepted occurs once, so this is the chosen one.
        index = int(np.flatnonzero(accepted == np.count_nonzero(scores.labeled > chosen))[0])
        cuts[index] = chosen
    kept = np.unique(
        np.linspace(0, len(cuts) - 1, min(len(cuts), MOST_THRESHOLDS)).round().astype(int)
    )
    kept = np.union1d(kept, [] if index is None else [index]).astype(int)[::-1]
    counts = Counts(*(cell[kept] for cell in curve.counts))
    columns = _measure(counts, confidence, beta) | {
        name: cell.tolist() for name, cell in counts._asdict().items()
    }
    columns["cut"] = [str(cut) if np.isinf(cut) else float(cut) for cut in cuts[kept]]
    columns["unlabeled"] = _accepted_unlabeled(scores, cuts[kept])
    return ThresholdTable(columns, None if index is None else int(np.flatnonzero(kept == index)[0]))


def bin_scores(scores: UsableScores, chosen: float | None) -> dict[str, Any] | None:
    """Count the rows in equally wide bins; None where there is no width to divide."""
    everything = np.concatenate([scores.labeled, scores.unlabeled])
    if not everything.size:
        return None
    ends = [float(everything.min()), float(everything.max())]
    if chosen is not None and math.isfinite(chosen):
        ends = [min(ends[0], chosen), max(ends[1], chosen)]
    if not math.isfinite(ends[1] - ends[0]):
        return None
    edges = np.linspace(ends[0], ends[1], N_BINS + 1)
    if not np.all(np.diff(edges) > 0):
        return None
    groups = {
        "positive": scores.labeled[scores.sign == 1],
        "negative": scores.labeled[scores.sign == -1],
        "unlabeled": scores.unlabeled,
    }
    counted = {name: np.histogram(values, edges)[0].tolist() for name, values in groups.items()}
    return {"edges": [float(f"{edge:.6g}") for edge in edges]} | counted


def _measure(counts: Counts, confidence: float, beta: float) -> dict[str, list[Any]]:
    each_f = [estimate_f(counts.at(k), beta, confidence) for k in range(len(counts.tp))]
    half_the_risk = (1 + confidence) / 2
    columns = {
        "precision": (
            precision(counts),
            *binomial_interval(counts.tp, counts.accepted, confidence),
        ),
        "recall": (recall(counts), *binomial_interval(counts.tp, counts.positives, confidence)),
        "f_score": tuple(np.array(each_f).T),
        "missed": (None, *binomial_interval(counts.fn, counts.rows, half_the_risk)),
        "alarm": (None, *binomial_interval(counts.fp, counts.rows, half_the_risk)),
    }
    ends = ("", "_low", "_high")
    return {
        name + end: _rounded(values)
        for name, triple in columns.items()
        for end, values in zip(ends, triple, strict=True)
        if values is not None
    }


def _accepted_unlabeled(scores: UsableScores, cuts: NDArray[np.float64]) -> list[int] | list[None]:
    if not scores.unlabeled.size:
        return [None] * len(cuts)
    ordered = np.sort(scores.unlabeled)
    above = ordered.size - np.searchsorted(ordered, cuts, side="right")
    return [round(int(n) * scores.n_unlabeled / ordered.size) for n in above]


def _rounded(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), DIGITS) for value in values]


def finite_or_none(value: Any) -> float | None:
    """Return a number as a finite float, or None where it is something else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def plain_ends(estimate: Estimate) -> list[float | None]:
    """Return [value, low, high] as JSON has it: None for NaN and infinite ends."""
    return [finite_or_none(float(end)) for end in estimate]
