"""What the page says about one class: what the template can't read off the summary itself.

With two classes there is one answer, for the positive class; with more there is one per class. Each is a dictionary for
the template. Under "drawn" it has the numbers that the charts are drawn from, as plain JSON values; None where the
summary does not have them.

Where only positives are labeled, the page says first what all of it assumes, and never a precision of its own: recall
and lift are measured; the share of positives among the unlabeled rows, the prior, has an upper bound. Precision is the
prior times the lift: it is listed for several priors, and claimed for none that the user did not give.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from semisvm.decision import (
    PROMISES,
    SUPERVISED,
    SUPERVISED_THRESHOLD,
    WITH_UNLABELED,
    Estimate,
    OperatingPoint,
    PositiveUnlabeledPoint,
    Target,
)
from semisvm.decision import changed_by_unlabeled as is_changed
from semisvm.decision.target import f_name
from semisvm.errors import counted
from semisvm.report.charts import ThresholdTable, UsableScores, bin_scores, tabulate
from semisvm.report.wording import (
    BASIS,
    DASH,
    Verdict,
    headline_of,
    interval,
    percent,
    rate,
    signed_rate,
    verdict,
    whole,
)
from semisvm.tables.summary import ErrorCosts, FitSummary

DEFAULT_CONFIDENCE = 0.9  # of intervals, where there is no operating point that has its own
N_CURVE_LINES = 12  # of the table beside the chart
STEP_NAMES = {
    SUPERVISED: "Supervised, threshold 0",
    SUPERVISED_THRESHOLD: "Supervised + threshold",
    WITH_UNLABELED: "+ unlabeled rows",
}
NOTHING_CHANGES = "The last step changes nothing: the unlabeled rows do not help here."
OVERLAP = "Where intervals overlap, the labels are too few to tell the steps apart."
ASSUMED = (
    "All of this assumes that the labeled positives are a random sample of all positives. Where those that were found "
    "first are the easy ones, recall is lower than it says here."
)
CHECK = (
    "To check the assumption, draw 100 to 300 unlabeled rows at random, have somebody label them, and compare the "
    "scores of the positives among them with those of the labeled positives (out_of_fold_scores_, by a rank test): "
    "clearly lower scores mean that the assumption is wrong. The share of positives among the drawn rows is an "
    "estimate of the prior that needs no assumption."
)
PROVE = (
    "To know the precision, label accepted rows: semisvm certify start with a minimum precision, or "
    "model.campaign(X_pool, min_precision=...) in Python, draws them at random and says when they prove it."
)
SHARES_OF_BOUND = (0.1, 0.25, 0.5, 0.75, 1.0)
SUPPOSED = (0.001, 0.01, 0.05, 0.1, 0.25)


def describe_answers(summary: FitSummary) -> list[dict[str, Any]]:
    """Return one answer per class that the summary knows something about, and at least one."""
    known = {**summary.operating_points, **summary.audits, **summary.scores}
    names = [name for name in summary.classes if name in known] or [summary.positive or ""]
    return [_answer(f"answer-{k}", name, summary) for k, name in enumerate(names)]


def _answer(key: str, name: str, summary: FitSummary) -> dict[str, Any]:
    point, sample = summary.operating_points.get(name), summary.scores.get(name)
    target, chosen, confidence, level = Target(), None, DEFAULT_CONFIDENCE, ""
    if point is not None:
        target, chosen, confidence, level = point.target, point.threshold, point.confidence, point.level
    scores = UsableScores.of(sample)
    table = None if scores.missing else tabulate(scores, confidence=confidence, beta=target.beta, chosen=chosen)
    bins = bin_scores(scores, chosen)
    steps = summary.audits.get(name, {})
    measures = {"precision": "Precision", "recall": "Recall", "f_score": f_name(target.beta)}
    if steps and all(step.cost is not None for step in steps.values()):
        measures["cost"] = "Cost per row"
    names = [STEP_NAMES.get(step, step) for step in steps]
    answer = {
        "name": name or "the positive class",
        "verdict": verdict(point),
        "tiles": [] if point is None else _tiles(point, name),
        "confidence": percent(confidence),
        "steps": list(zip(names, steps.values(), strict=True)),
        "measures": measures,
        "audit_sentence": _audit_sentence(steps, measures),
        "scores": scores,
        "level": level if sample is None else sample.level,
        "table": table,
        "listed": [] if table is None else _listed_thresholds(table),
        "bins": bins,
        "bins_alt": _bins_alt(scores),
        "priors": None,
    }
    drawn = {
        "f": measures["f_score"],
        "asked": {"precision": target.min_precision, "recall": target.min_recall},
        "audit": {
            "steps": names,
            "measures": [
                {"name": one, "title": title, "estimates": [plain_ends(getattr(p, one)) for p in steps.values()]}
                for one, title in measures.items()
            ],
        },
        "costs": _costs(summary.costs, target),
        "curve": None if table is None else table.columns | {"chosen": table.chosen, "start": table.start},
        "bins": bins,
        "key": key,
    }
    if summary.positives_only is not None:
        answer |= describe_positives(summary.positives_only, name)
    return answer | {"drawn": drawn}


def _tiles(point: OperatingPoint, name: str) -> list[dict[str, str]]:
    """Return the figures at the top, each with its interval and its meaning."""
    what = f"“{name}”" if name else "positive"
    asked = point.target
    tiles = [
        tile("Precision", point.precision, f"of the accepted rows, the share that is {what}", asked.min_precision),
        tile("Recall", point.recall, f"of all rows that are {what}, the share that is accepted", asked.min_recall),
        tile(f_name(asked.beta), point.f_score, "precision and recall in one number"),
    ]
    if point.cost is not None:
        tiles.append(tile("Cost", point.cost, "expected cost per row"))
    if not math.isnan(point.share_accepted):
        share = f"{100 * point.share_accepted:.1f}%"
        tiles.append(plain_tile("Accepted", share, f"of the labeled rows are called {what}"))
    return tiles


def tile(
    label: str, found: Estimate, meaning: str, least: float | None = None, *, is_promised: bool = False
) -> dict[str, str]:
    """Return a figure at the top of the page; of a promise only the lower end is said. `least` is what was asked."""
    asked = "" if least is None else f"asked: at least {least:.3g}"
    if is_promised:
        return plain_tile(label, f"at least {rate(found.low)}", meaning, asked=asked)
    return plain_tile(label, rate(found.value), meaning, interval(found), asked)


def plain_tile(label: str, value: str, meaning: str, ends: str = "", asked: str = "") -> dict[str, str]:
    """Return a figure that is in words already."""
    return {"label": label, "value": value, "interval": ends, "asked": asked, "meaning": meaning}


def _audit_sentence(steps: Mapping[str, OperatingPoint], measures: Mapping[str, str]) -> str:
    """Return the steps in figures, in the last of the measures; whether a gain is real is for the intervals to say."""
    name, title = list(measures.items())[-1]
    values = [getattr(point, name).value for point in steps.values()]
    if len(values) < 2 or any(map(math.isnan, values)):
        return ""
    gains = [f"then {rate(after)} ({signed_rate(after - before)})" for before, after in pairwise(values)]
    is_idle = list(steps)[-1] == WITH_UNLABELED and not is_changed(steps)
    return f"{title}: {rate(values[0])}, {', '.join(gains)}. {NOTHING_CHANGES if is_idle else OVERLAP}"


def plain_ends(estimate: Estimate) -> list[float | None]:
    """Return [value, low, high] as JSON has it: None for NaN and infinite ends."""
    return [float(end) if math.isfinite(end) else None for end in estimate]


def _listed_thresholds(table: ThresholdTable) -> list[int]:
    """Return the places of about a dozen thresholds of the curve, the chosen one among them."""
    kept = {round(k * table.last / (N_CURVE_LINES - 1)) for k in range(N_CURVE_LINES)}
    return sorted(kept if table.chosen is None else kept | {table.chosen})


def _costs(costs: ErrorCosts | None, target: Target) -> dict[str, Any]:
    """Return what errors cost: as stored, else as asked for, else 1 and 1, which counts errors."""
    if costs is not None:
        return {"missed": costs.missed, "accepted": costs.accepted, "known": True}
    missed, accepted = target.costs or (1.0, 1.0)
    return {"missed": missed, "accepted": accepted, "known": target.costs is not None}


def _bins_alt(scores: UsableScores) -> str:
    parts = [
        f"{whole(rows.size)} {name}, median score {float(sorted(rows)[rows.size // 2]):.3g}"
        for name, rows in (
            ("labeled positive rows", scores.labeled[scores.sign == 1]),
            ("labeled negative rows", scores.labeled[scores.sign == -1]),
            ("unlabeled rows", scores.unlabeled),
        )
        if rows.size
    ]
    return "Histogram of scores: " + "; ".join(parts) + "." if parts else "No scores."


# ---- only positives are labeled ----


def describe_positives(point: PositiveUnlabeledPoint, name: str) -> dict[str, Any]:
    """The parts of an answer that differ where only positives are labeled."""
    return {
        "verdict": _verdict_of_positives(point),
        "tiles": _tiles_of_positives(point, name),
        "confidence": percent(point.confidence),
        "priors": _precisions(point),
    }


def _verdict_of_positives(point: PositiveUnlabeledPoint) -> Verdict:
    asked = point.asked[:1].lower() + point.asked[1:]
    headline, counts = headline_of(point, asked), point.counts
    basis = (
        f"Measured on {counted(counts.positives, 'labeled positive')} and "
        f"{counted(counts.unlabeled, 'unlabeled row')} ({BASIS[point.level]})."
    )
    return Verdict(point.status, headline, " ".join(filter(None, [ASSUMED, point.reason])), basis, f"{CHECK} {PROVE}")


def _tiles_of_positives(point: PositiveUnlabeledPoint, name: str) -> list[dict[str, str]]:
    """The figures at the top: recall, rows accepted, lift, the bound of the prior, and a precision if it is known."""
    what = f"“{name}”" if name else "positive"
    is_promised = point.level in PROMISES
    recall = f"of all rows that are {what}, the share that is accepted"
    lift = f"how many times richer in {what} the accepted rows are than the pool"
    bound = DASH if math.isnan(point.prior_bound) else f"at most {point.prior_bound:.1%}"
    tiles = [
        tile("Recall", point.recall, recall, point.min_recall, is_promised=is_promised),
        tile("Accepted", point.share_accepted, "of the unlabeled rows"),
        tile("Lift", point.lift, lift, is_promised=is_promised),
        plain_tile("Prior", bound, f"of the unlabeled rows are {what}"),
    ]
    if point.precision is not None:
        meaning = f"of the accepted rows, the share that is {what}, if the prior is as given"
        tiles.append(tile("Precision", point.precision, meaning, is_promised=is_promised))
    return tiles


def _precisions(point: PositiveUnlabeledPoint) -> list[tuple[str, str]]:
    """Priors, and the precision that each would give."""
    if math.isnan(point.lift.value):
        return []
    if point.prior is not None:
        supposed = sorted(set(point.prior))
    elif math.isnan(point.prior_bound):
        supposed = list(SUPPOSED)
    else:
        supposed = [share * min(point.prior_bound, 0.999) for share in SHARES_OF_BOUND]
    return [(f"{prior:.2%}", rate(point.precision_at(prior))) for prior in supposed]
