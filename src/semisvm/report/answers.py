"""What the page says about one class: the finding, the audit, the curve, the distribution of the scores.

With two classes there is one answer, for the positive class; with more there is one per class. Each is a dictionary for
the template. Under "drawn" it has the numbers that the charts are drawn from; None, with a reason beside it, where the
summary does not have them.

`describe_campaign` says what came of labeling until certified.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from semisvm.campaign import CampaignSummary
from semisvm.campaign.verdict import more_labels
from semisvm.decision import SUPERVISED, SUPERVISED_THRESHOLD, WITH_UNLABELED, Estimate, OperatingPoint, Target
from semisvm.decision import changed_by_unlabeled as is_changed
from semisvm.decision.target import f_name
from semisvm.report.charts import UsableScores, bin_scores, tabulate
from semisvm.report.wording import (
    NO_AUDIT_OF_POSITIVES,
    describe_positives,
    interval,
    percent,
    price_left,
    rate,
    short_rule,
    signed,
    signed_rate,
    verdict,
    whole,
)
from semisvm.tables.summary import ErrorCosts, FitSummary

DEFAULT_CONFIDENCE = 0.9  # of intervals, where there is no operating point that has its own
N_CURVE_LINES = 12  # of the table beside the chart
CURVE_MEASURES = ("precision", "recall", "f_score")
STEP_NAMES = {
    SUPERVISED: "Supervised, threshold 0",
    SUPERVISED_THRESHOLD: "Supervised + threshold",
    WITH_UNLABELED: "+ unlabeled rows",
}
NO_SPREAD = "There are no scores to count, or they are all the same."
NO_AUDIT = "No audit was stored with this model: how much the threshold and the unlabeled rows gain is not known."
NOTHING_CHANGES = "The last step changes nothing: the unlabeled rows do not help here."
OVERLAP = "Where intervals overlap, the labels are too few to tell the steps apart."


def describe_answers(summary: FitSummary) -> list[dict[str, Any]]:
    """Return one answer per class that the summary knows something about, and at least one."""
    known = {**summary.operating_points, **summary.audits, **summary.scores}
    names = [name for name in summary.classes if name in known] or [summary.positive or ""]
    return [_answer(f"answer-{k}", name, summary) for k, name in enumerate(names)]


def _answer(key: str, name: str, summary: FitSummary) -> dict[str, Any]:
    point = summary.operating_points.get(name)
    target = Target() if point is None else point.target
    confidence = DEFAULT_CONFIDENCE if point is None else point.confidence
    audit = _audit(summary.audits.get(name, {}), f_name(target.beta))
    explorer = _explorer(UsableScores.of(summary.scores.get(name)), point, target, confidence)
    if name in summary.scores:
        explorer["level"] = summary.scores[name].level
    answer = {
        "key": key,
        "name": name or "the positive class",
        "verdict": verdict(point),
        "measures": [] if point is None else _measures(point, name),
        "confidence": percent(confidence),
        "f_label": f_name(target.beta),
        "audit": audit,
        "explorer": explorer,
        "drawn": {
            "f": f_name(target.beta),
            "asked": {"precision": target.min_precision, "recall": target.min_recall},
            "audit": audit.pop("drawn"),
            "costs": _costs(summary.costs, target),
            "curve": explorer.pop("curve"),
            "bins": explorer["bins"],
        },
        "priors": None,
    }
    if summary.positives_only is not None:
        answer |= describe_positives(summary.positives_only, name)
        audit["missing"] = NO_AUDIT_OF_POSITIVES
    return answer


def _measures(point: OperatingPoint, name: str) -> list[dict[str, str]]:
    """Return the figures at the top, each with its interval and its meaning."""
    what = f"“{name}”" if name else "positive"
    rows = [
        ("Precision", point.precision, point.target.min_precision, f"of the accepted rows, the share that is {what}"),
        ("Recall", point.recall, point.target.min_recall, f"of all rows that are {what}, the share that is accepted"),
        (f_name(point.target.beta), point.f_score, None, "precision and recall in one number"),
    ]
    if point.cost is not None:
        rows.append(("Cost", point.cost, None, "expected cost per row"))
    found = [
        {
            "label": label,
            "value": rate(estimate.value),
            "interval": interval(estimate),
            "asked": "" if least is None else f"asked: at least {least:.3g}",
            "meaning": meaning,
        }
        for label, estimate, least, meaning in rows
    ]
    if not math.isnan(point.share_accepted):
        found.append(
            {
                "label": "Accepted",
                "value": f"{100 * point.share_accepted:.1f}%",
                "interval": "",
                "asked": "",
                "meaning": f"of the labeled rows are called {what}",
            }
        )
    return found


def _audit(steps: Mapping[str, OperatingPoint], f_label: str) -> dict[str, Any]:
    """Return where the gain comes from, for the table and, under "drawn", for the charts."""
    measures = {"precision": "Precision", "recall": "Recall", "f_score": f_label}
    if steps and all(point.cost is not None for point in steps.values()):
        measures["cost"] = "Cost per row"
    names = [STEP_NAMES.get(step, step) for step in steps]
    return {
        "titles": list(measures.values()),
        "rows": [
            {
                "step": name,
                "threshold": short_rule(point.threshold),
                "cells": [_cell(getattr(point, measure)) for measure in measures],
            }
            for name, point in zip(names, steps.values(), strict=True)
        ],
        "sentence": _audit_sentence(steps, measures),
        "missing": "" if steps else NO_AUDIT,
        "drawn": {
            "steps": names,
            "measures": [
                {"name": name, "title": title, "estimates": [plain_ends(getattr(p, name)) for p in steps.values()]}
                for name, title in measures.items()
            ],
        },
    }


def _audit_sentence(steps: Mapping[str, OperatingPoint], measures: Mapping[str, str]) -> str:
    """Return the steps in figures, in the last of the measures; whether a gain is real is for the intervals to say."""
    name, title = list(measures.items())[-1]
    values = [getattr(point, name).value for point in steps.values()]
    if len(values) < 2 or any(map(math.isnan, values)):
        return ""
    gains = [f"then {rate(after)} ({signed_rate(after - before)})" for before, after in pairwise(values)]
    is_idle = list(steps)[-1] == WITH_UNLABELED and not is_changed(steps)
    return f"{title}: {rate(values[0])}, {', '.join(gains)}. {NOTHING_CHANGES if is_idle else OVERLAP}"


def _cell(estimate: Estimate) -> dict[str, str]:
    return {"value": rate(estimate.value), "interval": interval(estimate)}


def plain_ends(estimate: Estimate) -> list[float | None]:
    """Return [value, low, high] as JSON has it: None for NaN and infinite ends."""
    return [float(end) if math.isfinite(end) else None for end in estimate]


def _explorer(scores: UsableScores, point: OperatingPoint | None, target: Target, confidence: float) -> dict[str, Any]:
    """Return the curve with its slider and the bins, and a short table of the same for those who prefer to read."""
    chosen = None if point is None else point.threshold
    bins = bin_scores(scores, chosen)
    found: dict[str, Any] = {
        "missing": scores.missing,
        "curve": None,
        "bins": bins,
        "bins_missing": "" if bins else NO_SPREAD,
        "spread": _spread_alt(scores),
        "level": "" if point is None else point.level,
    }
    if scores.missing:
        return found
    table = tabulate(scores, confidence=confidence, beta=target.beta, chosen=chosen)
    last = len(table.columns["cut"]) - 1
    start = (last + 1) // 2 if table.chosen is None else table.chosen
    return found | {
        "curve": table.columns | {"chosen": table.chosen, "start": start},
        "last": last,
        "start": start,
        "n_labeled": whole(scores.labeled.size),
        "n_positive": whole((scores.sign == 1).sum().item()),
        "n_unlabeled": whole(scores.n_unlabeled),
        "has_unlabeled": bool(scores.unlabeled.size),
        "is_sample": scores.is_sample,
        "n_sampled": whole(scores.unlabeled.size),
        "has_chosen": table.chosen is not None,
        "alt": _curve_alt(table.columns, start, table.chosen is not None),
        "table": _curve_rows(table.columns, table.chosen),
    }


def _curve_rows(columns: Mapping[str, list[Any]], chosen: int | None) -> list[dict[str, Any]]:
    """Return about a dozen thresholds of the curve, the chosen one among them."""
    last = len(columns["cut"]) - 1
    kept = {round(k * last / (N_CURVE_LINES - 1)) for k in range(N_CURVE_LINES)} | (
        {chosen} if chosen is not None else set()
    )
    return [
        {
            "is_chosen": k == chosen,
            "threshold": short_rule(float(columns["cut"][k])),
            "accepted": whole(columns["tp"][k] + columns["fp"][k]),
            "unlabeled": whole(columns["unlabeled"][k]),
            "cells": [
                {
                    "value": rate(columns[measure][k]),
                    "interval": f"{rate(columns[measure + '_low'][k])} to {rate(columns[measure + '_high'][k])}",
                }
                for measure in CURVE_MEASURES
            ],
        }
        for k in sorted(kept)
    ]


def _costs(costs: ErrorCosts | None, target: Target) -> dict[str, Any]:
    """Return what errors cost: as stored, else as asked for, else 1 and 1, which counts errors."""
    if costs is not None:
        return {"missed": costs.missed, "accepted": costs.accepted, "known": True}
    missed, accepted = target.costs or (1.0, 1.0)
    return {"missed": missed, "accepted": accepted, "known": target.costs is not None}


def _curve_alt(columns: Mapping[str, list[Any]], k: int, has_chosen: bool) -> str:
    where = "At the chosen threshold" if has_chosen else "In the middle"
    return (
        f"Precision against recall over {len(columns['cut'])} thresholds. {where} precision is "
        f"{rate(columns['precision'][k])} and recall is {rate(columns['recall'][k])}."
    )


def _spread_alt(scores: UsableScores) -> str:
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


# ---- campaigns ----


def describe_campaign(found: CampaignSummary) -> dict[str, Any]:
    """Return what the page of the report shows of a campaign, and, under "drawn", what its charts draw."""
    share = f"{found.n_labels / max(found.n_rows, 1):.1%}"
    tiles = [
        ("Rows of the pool", whole(found.n_rows), "had no label when the campaign began"),
        ("Labels", whole(found.n_labels), f"{share} of the pool, drawn at random"),
        ("Positive", whole(found.n_positive), f"of these answers were {found.positive}"),
        ("Don't know", whole(found.n_unknown), "answers; they count as the campaign was told to"),
        ("Corrected", whole(found.n_corrections), "answers were changed afterwards"),
        ("Risk so far", percent(found.total_risk), _ledger(found.campaign)),
    ]
    lines = [
        {
            "threshold": signed(line["threshold"]),
            "accepted": whole(line["n_accepted"]),
            "predicted": ", ".join(f"{name} {rate(value)}" for name, value in line["predicted"].items()),
            "answers": f"{line['positives']} of {line['n_read']}",
            "price": price_left(line),
            "at": "" if done is None else f"after {done} labels",
            "is_certified": line["is_certified"],
        }
        for line, done in zip(found.thresholds, found.certified_at, strict=True)
    ]
    next_step = "" if found.forecast is None else f"About {more_labels(found.forecast)} for the next certificate."
    return {
        "claim": found.claim,
        "target": f"{found.target} for {found.positive}",
        "status": "certified" if found.status in ("certified", "known") else "missed",
        "reason": found.reason,
        "next": next_step,
        "tiles": tiles,
        "lines": lines,
        "alt": _campaign_alt(found),
        "drawn": {
            "labels": list(found.labels),
            "paths": [list(path) for path in found.paths],
            "certified_at": list(found.certified_at),
            "prices": [
                {"name": f"{line['n_accepted']:,} rows", "need": line["forecast"], "is_certified": line["is_certified"]}
                for line in found.thresholds
            ],
        },
    }


def _ledger(number: int) -> str:
    if number == 1:
        return "the chance, at most, that the promise is wrong"
    return f"the chance, at most, that any of the {number} campaigns so far is wrong"


def _campaign_alt(found: CampaignSummary) -> str:
    done = [n for n in found.certified_at if n is not None]
    told = f"{len(done)} of {len(found.thresholds)} thresholds were certified"
    first = f", the first after {min(done)} labels" if done else ""
    return f"Evidence of each threshold against the number of labels: {told}{first}. The table below holds the figures."
