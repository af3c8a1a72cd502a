"""What the page says about one class: what the template can't read off the summary itself.

With two classes there is one answer, for the positive class; with more there is one per class. Each
is a dictionary for the template. Under "drawn" it has the numbers that the charts are drawn from,
as plain JSON values; None where the summary does not have them.
"""

from __future__ import annotations

from typing import Any

from semisvm.decision import Target
from semisvm.decision.target import f_name
from semisvm.report.charts import UsableScores, bin_scores, plain_ends, tabulate
from semisvm.tables.sentences import (
    STEP_NAMES,
    audit_sentence,
    figures,
    percent,
    precisions_by_prior,
    verdict,
    whole,
)
from semisvm.tables.summary import ErrorCosts, FitSummary

DEFAULT_CONFIDENCE = 0.9  # of intervals, where there is no operating point that has its own


def describe_answers(summary: FitSummary) -> list[dict[str, Any]]:
    """Return one answer per class that the summary knows something about, and at least one."""
    known = {**summary.operating_points, **summary.audits, **summary.scores}
    names = [name for name in summary.classes if name in known] or [summary.positive or ""]
    return [_answer(f"answer-{k}", name, summary) for k, name in enumerate(names)]


def _answer(key: str, name: str, summary: FitSummary) -> dict[str, Any]:
    point = summary.positives_only or summary.operating_points.get(name)
    sample = summary.scores.get(name)
    target = Target()
    chosen = None
    confidence = DEFAULT_CONFIDENCE
    level = ""
    if point is not None:
        target = point.target
        chosen = point.threshold
        confidence = point.confidence
        level = point.level
    scores = UsableScores.of(sample)
    table = None
    curve = None
    if not scores.missing:
        table = tabulate(scores, confidence=confidence, beta=target.beta, chosen=chosen)
        curve = table.columns | {"chosen": table.chosen, "start": table.start}
    bins = bin_scores(scores, chosen)
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
        "audit_sentence": audit_sentence(steps, measures),
        "scores": scores,
        "level": level if sample is None else sample.level,
        "table": table,
        "bins": bins,
        "bins_alt": _bins_alt(scores),
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
