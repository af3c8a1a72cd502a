"""What every threshold would give, worked out beforehand: the page that moves a slider over it does no statistics.

    scores    {"labeled": (n,), "sign": (n,) of +1 and -1, "unlabeled": (m,), a sample of n_unlabeled}
    columns   by name, an entry a threshold, lowest first (to the right is stricter):
              cut, tp, fp, fn, tn, precision, recall, f_score and their _low and _high,
              missed_low ... alarm_high   bounds of fn / rows and fp / rows at half the risk each, of which any
                                          pair of costs makes a bound of the expected cost
              unlabeled                   how many of the unlabeled rows are accepted, scaled up from the sample

Intervals are exact for a threshold fixed beforehand. Of more than 400 thresholds 400 are kept, evenly spaced in rank;
the chosen one is always among them, as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.decision import Counts, binomial_interval, count_all, estimate_f, precision, recall
from semisvm.report.reading import number, sequence

MOST_THRESHOLDS = 400
DIGITS = 5

NO_SCORES = "No scores of labeled rows were stored with this model, so there is no curve to draw."
ONE_CLASS = "The labeled rows with a score are all of one class, so no threshold can be judged on them."


@dataclass(frozen=True)
class ThresholdTable:
    """The columns above, and the place of the chosen threshold among them (None where there is none)."""

    columns: dict[str, list[Any]]
    chosen: int | None
    n_unlabeled: int
    is_sample: bool


@dataclass(frozen=True, eq=False)
class Scores:
    """The usable part of the scores: finite, with a sign."""

    labeled: NDArray[np.float64]
    sign: NDArray[np.int8]
    unlabeled: NDArray[np.float64]
    n_unlabeled: int

    @property
    def missing(self) -> str:
        """Why no threshold can be judged, or nothing."""
        if not self.labeled.size:
            return NO_SCORES
        return ONE_CLASS if abs(int(self.sign.sum())) == self.sign.size else ""


def read_scores(part: Mapping[str, Any]) -> Scores:
    """Take from the facts what can be used."""
    pairs = zip(sequence(part.get("labeled")), sequence(part.get("sign")), strict=False)
    usable = [(score, int(sign)) for score, sign in pairs if number(score) is not None and sign in (1, -1)]
    unlabeled = [score for score in sequence(part.get("unlabeled")) if number(score) is not None]
    stated = number(part.get("n_unlabeled"))
    return Scores(
        labeled=np.array([score for score, _ in usable], dtype=np.float64),
        sign=np.array([sign for _, sign in usable], dtype=np.int8),
        unlabeled=np.array(unlabeled, dtype=np.float64),
        n_unlabeled=max(len(unlabeled), int(stated) if stated is not None else 0),
    )


def tabulate(scores: Scores, *, confidence: float, beta: float, chosen: float | None) -> ThresholdTable:
    """Count and measure at every threshold; the scores must have both classes."""
    curve = count_all(scores.labeled, scores.sign)
    cuts, accepted = curve.thresholds.copy(), curve.counts.accepted
    index = None
    if chosen is not None:
        # each set of rows that can be accepted is there once: the chosen threshold stands for its own
        index = int(np.flatnonzero(accepted == np.count_nonzero(scores.labeled > chosen))[0])
        cuts[index] = chosen
    kept = np.unique(np.linspace(0, len(cuts) - 1, min(len(cuts), MOST_THRESHOLDS)).round().astype(int))
    kept = np.union1d(kept, [] if index is None else [index]).astype(int)[::-1]
    counts = Counts(*(cell[kept] for cell in curve.counts))
    columns = _measure(counts, confidence, beta) | {name: cell.tolist() for name, cell in counts._asdict().items()}
    columns["cut"] = [str(cut) if np.isinf(cut) else float(cut) for cut in cuts[kept]]
    columns["unlabeled"] = _accepted_unlabeled(scores, cuts[kept])
    return ThresholdTable(
        columns=columns,
        chosen=None if index is None else int(np.flatnonzero(kept == index)[0]),
        n_unlabeled=scores.n_unlabeled,
        is_sample=scores.n_unlabeled > scores.unlabeled.size,
    )


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
        name + end: _plain(values)
        for name, triple in columns.items()
        for end, values in zip(ends, triple, strict=True)
        if values is not None
    }


def _accepted_unlabeled(scores: Scores, cuts: NDArray[np.float64]) -> list[int] | list[None]:
    if not scores.unlabeled.size:
        return [None] * len(cuts)
    ordered = np.sort(scores.unlabeled)
    above = ordered.size - np.searchsorted(ordered, cuts, side="right")
    return [round(int(n) * scores.n_unlabeled / ordered.size) for n in above]


def _plain(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), DIGITS) for value in values]
