"""What the charts draw, computed beforehand: the page that moves a slider over thresholds does no statistics.

For every threshold (`tabulate`, `bin_scores`)

    columns   by name, one entry per threshold, lowest first (to the right is stricter):
              cut, tp, fp, fn, tn, precision, recall, f_score and their _low and _high,
              missed_low ... alarm_high   bounds of fn / rows and fp / rows at half the risk each, from which any pair
                                          of costs gives a bound of the expected cost
              unlabeled                   how many unlabeled rows are accepted, scaled up from the sample
    bins      labeled positives, labeled negatives and unlabeled rows (as sampled), counted in the same bins

Intervals are exact for a threshold fixed beforehand. Of more than 400 thresholds 400 are kept, evenly spaced in rank;
the chosen one is always among them, with its exact value.

And what each round of a fit did (`describe_rounds`); or, where a fit tried several ways to use the unlabeled rows, the
result of each, or the members of an average. Such records are known by their details ("candidate", "belief"). They are
listed but not drawn, since no line leads from one to the next.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.decision import Counts, binomial_interval, count_all, estimate_f, precision, recall
from semisvm.estimators.progress import RoundRecord
from semisvm.report.wording import table_cell
from semisvm.tables.summary import ScoreSample

MOST_THRESHOLDS = 400
N_BINS = 32
DIGITS = 5

NO_SCORES = "No scores of labeled rows were stored with this model, so there is no curve to draw."
ONE_CLASS = "The labeled rows with a score are all of one class, so no threshold can be judged on them."


@dataclass(frozen=True)
class ThresholdTable:
    """The columns above, and the place of the chosen threshold among them (None where there is none)."""

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


def tabulate(scores: UsableScores, *, confidence: float, beta: float, chosen: float | None) -> ThresholdTable:
    """Count and measure at every threshold; the scores must have both classes."""
    curve = count_all(scores.labeled, scores.sign)
    cuts, accepted = curve.thresholds.copy(), curve.counts.accepted
    index = None
    if chosen is not None:
        # Each set of rows that can be accepted occurs once: the chosen threshold represents its own.
        index = int(np.flatnonzero(accepted == np.count_nonzero(scores.labeled > chosen))[0])
        cuts[index] = chosen
    kept = np.unique(np.linspace(0, len(cuts) - 1, min(len(cuts), MOST_THRESHOLDS)).round().astype(int))
    kept = np.union1d(kept, [] if index is None else [index]).astype(int)[::-1]
    counts = Counts(*(cell[kept] for cell in curve.counts))
    columns = _measure(counts, confidence, beta) | {name: cell.tolist() for name, cell in counts._asdict().items()}
    columns["cut"] = [str(cut) if np.isinf(cut) else float(cut) for cut in cuts[kept]]
    columns["unlabeled"] = _accepted_unlabeled(scores, cuts[kept])
    return ThresholdTable(columns, None if index is None else int(np.flatnonzero(kept == index)[0]))


def bin_scores(scores: UsableScores, chosen: float | None) -> dict[str, Any] | None:
    """Count the rows in each of equally wide bins; None where there is no score, or no width to divide."""
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
        "precision": (precision(counts), *binomial_interval(counts.tp, counts.accepted, confidence)),
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


MOST_LISTED = 400
MOST_DRAWN = 8
# Not drawn: a running number, and what describes the solver rather than the learning.
NOT_DRAWN = ("round", "n_iter", "gap", "seconds")
TITLES = {"n_iter": "iterations"}
NO_ROUNDS = "This method has no rounds: it is trained once."


@dataclass(frozen=True)
class Listing:
    """How records that do not follow each other are listed: what they are, and which of their figures are shown."""

    title: str
    unit: str
    about: str
    columns: dict[str, str]


# By the detail that tells such records. The place of a record in the order of trying says nothing.
LISTINGS = {
    "candidate": Listing(
        "Ways to use the unlabeled rows",
        "ways",
        "Each line is one way to train on unlabeled rows with guessed labels, at a fraction of a labeled row's weight. "
        "All were tried on the same folds as the supervised model. The gain is over that model, in the measure that "
        "was asked for. A way is used only if its gain is larger than one and a half standard errors; otherwise the "
        "labels alone decide.",
        {
            "problem": "problem",
            "candidate": "way",
            "chosen": "chosen",
            "gain": "gain",
            "gain_error": "its standard error",
            "adjusted_precision": "precision",
            "adjusted_recall": "recall",
            "adjusted_f_score": "F",
            "threshold": "threshold",
            "soft_positive": "guessed positive",
            "soft_negative": "guessed negative",
        },
    ),
    "belief": Listing(
        "What the model rests on",
        "members",
        "The model is an average of the members below: kernels that see the rows in different ways, and forests. Each "
        "was judged on every labeled row as if that row had no label. Those that err little get the weight; with few "
        "labels, so do those that fit the structure of all rows (the belief).",
        {
            "problem": "member",
            "weight": "share of the weight",
            "loo_error": "wrong labels, each row left out",
            "objective": "its mean squared error",
            "belief": "belief before labels",
        },
    ),
}

RoundLines = dict[str, list[tuple[int, float]]]


def listing_of(records: Sequence[RoundRecord]) -> Listing | None:
    """How to list records that are no rounds that followed each other; None for rounds."""
    return next((found for name, found in LISTINGS.items() if any(name in one.details for one in records)), None)


def describe_rounds(records: Sequence[RoundRecord]) -> dict[str, Any]:
    """Return a table of the records, and the columns of numbers that change, for small charts."""
    listing = listing_of(records)
    if listing is not None and "weight" in listing.columns:
        records = sorted(records, key=lambda record: -(_finite(record.details.get("weight")) or 0.0))
    shown = [record.as_dict() for record in records[:MOST_LISTED]]
    if listing is not None:
        known = {name for record in shown for name in record}
        titles = {name: title for name, title in listing.columns.items() if name in known}
    else:
        titles = {name: column_title(name) for name in _columns_in_use(shown)}
    changing = changing_columns(records) if listing is None else {}
    return {
        "title": "What each round did" if listing is None else listing.title,
        "unit": "rounds" if listing is None else listing.unit,
        "about": "" if listing is None else listing.about,
        "names": list(titles.values()),
        "lines": [[table_cell(record.get(name)) for name in titles] for record in shown],
        "problems": list(dict.fromkeys(problem for lines in changing.values() for problem in lines)),
        "drawn": [
            {"name": column_title(name), "lines": list(lines.items())}
            for name, lines in list(changing.items())[:MOST_DRAWN]
        ],
        "left_out": len(records) - len(shown),
        "missing": "" if records else NO_ROUNDS,
    }


def column_title(name: str) -> str:
    """Return the name of a column for people."""
    return TITLES.get(name, name.replace("_", " "))


def _columns_in_use(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns that hold something in at least one record."""
    names = dict.fromkeys(name for record in records for name in record)
    return [name for name in names if any(_holds_something(record.get(name)) for record in records)]


def _holds_something(value: Any) -> bool:
    return value not in (None, "") and not (isinstance(value, float) and math.isnan(value))


def changing_columns(records: Sequence[RoundRecord]) -> dict[str, RoundLines]:
    """Return the numbers that change: by name and then by binary problem, (round counted from 1, value)."""
    columns: dict[str, RoundLines] = {}
    lengths: dict[str, int] = {}
    for record in records:
        lengths[record.problem] = lengths.get(record.problem, 0) + 1
        for name, value in record.as_dict().items():
            number = None if name in NOT_DRAWN else _finite(value)
            if number is not None:
                columns.setdefault(name, {}).setdefault(record.problem, []).append((lengths[record.problem], number))
    return {name: lines for name, lines in columns.items() if _changes(lines)}


def _changes(lines: RoundLines) -> bool:
    return any(len({value for _, value in points}) > 1 for points in lines.values())


def _finite(value: Any) -> float | None:
    """Return a detail as a finite float, or None where it is something else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
