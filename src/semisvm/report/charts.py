"""What charts draw, computed beforehand, and where they get their scores: the page itself does no
statistics.

For every threshold (`tabulate`, `bin_scores`)

    columns   by name, one entry per threshold, lowest first (to the right is stricter):
              cut, tp, fp, fn, tn, precision, recall, f_score and their _low and _high,
              missed_low ... alarm_high   bounds of fn / rows and fp / rows at half the risk each,
              from which any pair
                                          of costs gives a bound of the expected cost
              unlabeled                   how many unlabeled rows are accepted, scaled up from the
              sample
    bins      labeled positives, labeled negatives and unlabeled rows (as sampled), counted in the
              same bins

Intervals are exact for a threshold fixed beforehand. Of more than 400 thresholds 400 are kept,
evenly spaced in rank; the chosen one is always among them, with its exact value.

For Displays (`score_estimator`, `read_scores`)

    scores     (n,)  of labeled rows, on the scale of `threshold`
    sign       (n,)  +1 on rows of the class, -1 on other labeled rows
    unlabeled  (m,)  scores of the unlabeled rows; empty where X was not given

From an estimator without X and y, these are the scores on which it chose its operating point
(`calibration_scores_`); with X and y, its decision function on those rows, where the threshold in
use is 0. The estimator may be the last step of a Pipeline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from semisvm.decision import Counts, OperatingPoint, binomial_interval
from semisvm.decision.binomial import estimate_f
from semisvm.decision.counts import count_all, precision, recall
from semisvm.estimators.progress import RoundRecord
from semisvm.labels import encode
from semisvm.tables.summary import FitSummary, ScoreSample

MOST_THRESHOLDS = 400
N_BINS = 32
DIGITS = 5

NO_SCORES = "No scores of labeled rows were stored with this model, so there is no curve to draw."
ONE_CLASS = (
    "The labeled rows with a score are all of one class, so no threshold can be judged on them."
)


@dataclass(frozen=True)
class ThresholdTable:
    """The columns above, and the place of the chosen threshold among them (None where there is
    none).
    """

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
        # Each set of rows that can be accepted occurs once: the chosen threshold represents its
        # own.
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
    """Count the rows in each of equally wide bins; None where there is no score, or no width to
    divide.
    """
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


# ---- rounds ----

# Not drawn: a running number, and what describes the solver rather than the learning.
NOT_DRAWN = ("round", "n_iter", "gap", "seconds")

RoundLines = dict[str, list[tuple[int, float]]]


def changing_columns(records: Sequence[RoundRecord]) -> dict[str, RoundLines]:
    """Return the numbers that change: by name and then by binary problem, (round counted from 1,
    value).
    """
    columns: dict[str, RoundLines] = {}
    lengths: dict[str, int] = {}
    for record in records:
        lengths[record.problem] = lengths.get(record.problem, 0) + 1
        for name, value in record.as_dict().items():
            number = None if name in NOT_DRAWN else finite_or_none(value)
            if number is not None:
                columns.setdefault(name, {}).setdefault(record.problem, []).append(
                    (lengths[record.problem], number)
                )
    return {name: lines for name, lines in columns.items() if _changes(lines)}


def _changes(lines: RoundLines) -> bool:
    return any(len({value for _, value in points}) > 1 for points in lines.values())


def finite_or_none(value: Any) -> float | None:
    """Return a detail as a finite float, or None where it is something else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


# ---- where scores come from ----


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """See above; `point` is the operating point where the scores are those that it was chosen
    on.
    """

    scores: NDArray[np.float64]
    sign: NDArray[Any]
    unlabeled: NDArray[np.float64]
    threshold: float
    point: OperatingPoint | None
    name: str


def last_step(estimator: Any) -> Any:
    """Return the estimator itself, or the last step of a pipeline."""
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def score_estimator(
    estimator: Any, X: Any = None, y: Any = None, *, pos_label: Any = None
) -> ScoredRows:
    """Return the scores for one class: of the rows of X, or of those that the operating point
    was chosen on.
    """
    check_is_fitted(estimator)
    if (X is None) != (y is None):
        raise ValueError(
            "X and y go together: pass both, or neither to see what the estimator was"
            " calibrated on."
        )
    final = last_step(estimator)
    index = _class_index(final, pos_label)
    name = f"{type(final).__name__}, {final.classes_[index]}"
    return (
        _calibration(final, index, name)
        if X is None
        else _on_rows(estimator, final, X, y, index, name)
    )


def read_scores(summary: FitSummary, pos_label: str | None = None) -> ScoredRows:
    """Return the scores for one class that a summary holds."""
    name = pick_class(summary.scores, pos_label, "scores")
    usable = UsableScores.of(summary.scores[name])
    point = summary.operating_points.get(name)
    threshold = 0.0 if point is None else point.threshold
    title = f"{summary.method.name}, {name}"
    return ScoredRows(usable.labeled, usable.sign, usable.unlabeled, threshold, point, title)


def pick_class(part: Mapping[Any, Any], pos_label: Any, what: str) -> Any:
    """Return the class to draw: the one named, or the only one there is."""
    if not part:
        raise ValueError(f"No {what} were stored: there is nothing to draw.")
    if pos_label is None and len(part) == 1:
        return next(iter(part))
    if pos_label not in part:
        raise ValueError(f"pos_label must name one of the classes {list(part)}, got {pos_label!r}.")
    return pos_label


def _class_index(final: Any, pos_label: Any) -> int:
    classes = list(final.classes_)
    if pos_label is None:
        if len(classes) == 2:
            return 1
        raise ValueError(
            f"pos_label must name one of the {len(classes)} classes, for example {classes[0]!r}."
        )
    if pos_label not in classes:
        raise ValueError(
            f"pos_label={pos_label!r} is not a class of this estimator; its classes are {classes}."
        )
    return classes.index(pos_label)


def _calibration(final: Any, index: int, name: str) -> ScoredRows:
    if not hasattr(final, "calibration_scores_"):
        raise ValueError(
            f"{type(final).__name__} keeps no calibration scores: pass X and y of labeled rows it"
            " was not trained on."
        )
    label = final.classes_[index]
    if label not in final.operating_points_:
        raise ValueError(
            f"the operating point is that of {final.classes_[1]!r}: pass X and y to see the other"
            " class."
        )
    point = final.operating_points_[label]
    if point is None:
        raise ValueError(
            f"the fit was stopped before it chose an operating point of {label!r}: fit again."
        )
    scores = np.asarray(final.calibration_scores_[label], dtype=np.float64)
    return ScoredRows(
        scores, final.calibration_sign_[label], np.empty(0), point.threshold, point, name
    )


def _on_rows(estimator: Any, final: Any, X: Any, y: Any, index: int, name: str) -> ScoredRows:
    values = np.asarray(estimator.decision_function(X), dtype=np.float64)
    if values.ndim == 2:
        values = values[:, index]
    elif index == 0:
        values = -values
    labels = encode(y, unlabeled=getattr(final, "unlabeled", -1), n_rows=len(values))
    known = labels.is_labeled
    is_positive = np.asarray(labels.decode(labels.codes[known])) == final.classes_[index]
    return ScoredRows(values[known], np.where(is_positive, 1, -1), values[~known], 0.0, None, name)
