"""What the page says about one class, and the data of its charts: the page itself does no
statistics.

With two classes there is one answer, for the positive class; with more there is one per class. Each
is a dictionary for the template: what it can't read off the summary itself. Under "drawn" it has
the numbers that charts are drawn from, as plain JSON values; None where the summary has none.

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

from semisvm.decision import Counts, Estimate, Target, binomial_interval
from semisvm.decision.binomial import estimate_f
from semisvm.decision.counts import count_all, precision, recall
from semisvm.decision.target import f_name
from semisvm.tables.sentences import (
    STEP_NAMES,
    figures,
    percent,
    precisions_by_prior,
    verdict,
)
from semisvm.tables.summary import ErrorCosts, FitSummary, ScoreSample

MOST_THRESHOLDS = 400
N_BINS = 32
N_LISTED = 12  # thresholds of the table beside the chart
DIGITS = 5
DEFAULT_CONFIDENCE = 0.9  # of intervals, where there is no operating point that has its own

NO_SCORES = "No scores of labeled rows were stored with this model, so there is no curve to draw."
ONE_CLASS = (
    "The labeled rows with a score are all of one class, so no threshold can be judged on them."
)


# ---- what the page says of one class ----


def describe_answers(summary: FitSummary) -> list[dict[str, Any]]:
    """Return one answer per class that the summary knows something about, and at least one."""
    known = {**summary.operating_points, **summary.audits, **summary.scores}
    names = [name for name in summary.classes if name in known] or [summary.positive or ""]
    return [_answer(f"answer-{k}", name, summary) for k, name in enumerate(names)]


def _answer(key: str, name: str, summary: FitSummary) -> dict[str, Any]:
    point = summary.operating_points.get(name)
    sample = summary.scores.get(name, ScoreSample())
    target = Target()
    chosen = None
    confidence = DEFAULT_CONFIDENCE
    level = ""
    if point is not None:
        target = point.target
        chosen = point.threshold
        confidence = point.confidence
        level = point.level
    table = None
    curve = None
    if not why_no_curve(sample):
        table = tabulate(sample, confidence=confidence, beta=target.beta, chosen=chosen)
        curve = table.columns | {"chosen": table.chosen, "start": table.start}
    bins = bin_scores(sample, chosen)
    steps = summary.audits.get(name, {})
    measures = {"precision": "Precision", "recall": "Recall", "f_score": f_name(target.beta)}
    if steps and all(step.cost is not None for step in steps.values()):
        measures["cost"] = "Cost per row"
    names = [STEP_NAMES.get(step, step) for step in steps]
    answer = {
        "name": name or "the positive class",
        "verdict": verdict(point),
        "figures": figures(point, name),
        "confidence": percent(confidence),
        "steps": list(zip(names, steps.values(), strict=True)),
        "measures": measures,
        "sample": sample,
        "missing": why_no_curve(sample),
        "level": sample.level if name in summary.scores else level,
        "table": table,
        "bins": bins,
        "priors": [] if point is None else precisions_by_prior(point),
    }
    drawn = {
        "f": measures["f_score"],
        "asked": {"precision": target.min_precision, "recall": target.min_recall},
        "audit": {
            "steps": names,
            "measures": [
                {
                    "name": measure,
                    "title": title,
                    "estimates": [plain_ends(getattr(step, measure)) for step in steps.values()],
                }
                for measure, title in measures.items()
            ],
        },
        "costs": _costs(summary.costs, target),
        "curve": curve,
        "bins": bins,
        "key": key,
    }
    return answer | {"drawn": drawn}


def _costs(costs: ErrorCosts | None, target: Target) -> dict[str, Any]:
    """Return the costs of errors: as stored, else those of the target, else 1 and 1."""
    if costs is not None:
        return {"missed": costs.missed, "accepted": costs.accepted, "known": True}
    missed, accepted = target.costs or (1.0, 1.0)
    return {"missed": missed, "accepted": accepted, "known": target.costs is not None}


# ---- what is drawn ----


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


def why_no_curve(sample: ScoreSample) -> str:
    """Say why no threshold can be judged; "" where it can."""
    _, sign = sample.judged
    if not sign.size:
        return NO_SCORES
    return ONE_CLASS if abs(int(sign.sum())) == sign.size else ""


def tabulate(
    sample: ScoreSample, *, confidence: float, beta: float, chosen: float | None
) -> ThresholdTable:
    """Count and measure at every threshold; the scores must have both classes."""
    labeled, sign = sample.judged
    curve = count_all(labeled, sign)
    cuts = curve.thresholds.copy()
    accepted = curve.counts.accepted
    index = None
    if chosen is not None:
        # Each set of rows that can be accepted occurs once, so this is the chosen one.
        index = int(np.flatnonzero(accepted == np.count_nonzero(labeled > chosen))[0])
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
    columns["unlabeled"] = _accepted_unlabeled(sample, cuts[kept])
    return ThresholdTable(columns, None if index is None else int(np.flatnonzero(kept == index)[0]))


def bin_scores(sample: ScoreSample, chosen: float | None) -> dict[str, Any] | None:
    """Count the rows in equally wide bins; None where there is no width to divide."""
    groups = _groups(sample)
    everything = np.concatenate([*groups.values()])
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
    counted = {name: np.histogram(values, edges)[0].tolist() for name, values in groups.items()}
    return {"edges": [float(f"{edge:.6g}") for edge in edges]} | counted


def _groups(sample: ScoreSample) -> dict[str, np.ndarray]:
    labeled, sign = sample.judged
    return {
        "positive": labeled[sign == 1],
        "negative": labeled[sign == -1],
        "unlabeled": sample.pool,
    }


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


def _accepted_unlabeled(sample: ScoreSample, cuts: NDArray[np.float64]) -> list[int] | list[None]:
    if not sample.pool.size:
        return [None] * len(cuts)
    ordered = np.sort(sample.pool)
    above = ordered.size - np.searchsorted(ordered, cuts, side="right")
    n_rows = max(sample.n_unlabeled, ordered.size)
    return [round(int(n) * n_rows / ordered.size) for n in above]


def _rounded(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), DIGITS) for value in values]


def plain_ends(estimate: Estimate) -> list[float | None]:
    """Return [value, low, high] as JSON has it: None for NaN and infinite ends."""
    return [float(end) if math.isfinite(end) else None for end in estimate]
