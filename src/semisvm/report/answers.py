"""What the page says of one question, "is it this class?": the finding, the audit, the curve, the spread of scores.

Two classes make one answer, more make one a class. Each is a dictionary for the template, and, under "drawn", the plain
numbers that the charts are drawn from; `None` with a reason beside it where the facts do not hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semisvm.report.audit import read_audit
from semisvm.report.bins import bin_scores
from semisvm.report.reading import by_class, mapping, number, sequence, share, text, threshold
from semisvm.report.thresholds import read_scores, tabulate
from semisvm.report.wording import f_name, interval, names_of_classes, percent, rate, short_rule, verdict, whole

CONFIDENCE = 0.9
MEASURES = ("precision", "recall", "f_score")
NO_SPREAD = "There are no scores to count, or they are all the same."


def read_answers(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the answers, one for two classes and one a class for more."""
    classes = names_of_classes(facts)
    point, audit, scores = facts.get("operating_point"), facts.get("audit"), facts.get("scores")
    points = by_class(point, not mapping(point) or isinstance(point.get("level"), str), classes)  # type: ignore[union-attr]
    audits = by_class(audit, not isinstance(audit, Mapping), classes)
    spreads = by_class(scores, not mapping(scores) or isinstance(mapping(scores).get("labeled"), list), classes)
    names = list(dict.fromkeys([*points, *audits, *spreads]))
    if len(names) > 1:
        names = [name for name in names if name] or names
    return [
        _answer(
            key=f"answer-{k}",
            name=name or text(facts.get("positive")),
            point=mapping(points.get(name)),
            audit=[mapping(row) for row in sequence(audits.get(name)) if mapping(row)],
            scores=mapping(spreads.get(name)),
            costs=mapping(facts.get("costs")),
        )
        for k, name in enumerate(names)
    ]


def _answer(
    *,
    key: str,
    name: str,
    point: Mapping[str, Any],
    audit: list[Mapping[str, Any]],
    scores: Mapping[str, Any],
    costs: Mapping[str, Any],
) -> dict[str, Any]:
    f_label = f_name(point)
    target = mapping(point.get("target"))
    asked = {measure: share(target.get(f"min_{measure}")) for measure in ("precision", "recall")}
    confidence = share(point.get("confidence")) or CONFIDENCE
    steps = read_audit(audit, f_label)
    explorer, table = _explore(scores, point, min(confidence, 1 - 1e-9), target)
    return {
        "key": key,
        "name": name or "the positive class",
        "verdict": verdict(point),
        "measures": _measures(point, f_label, asked, name),
        "confidence": percent(confidence),
        "f_label": f_label,
        "audit": steps,
        "explorer": explorer,
        "table": table,
        "drawn": {
            "f": f_label,
            "asked": asked,
            "audit": steps.pop("drawn"),
            "costs": _costs(costs, target),
            "curve": explorer.pop("curve"),
            "bins": explorer["bins"],
        },
    }


def _measures(
    point: Mapping[str, Any], f_label: str, asked: Mapping[str, float | None], name: str
) -> list[dict[str, str]]:
    """The figures on top, each with its interval and what it means."""
    if not point:
        return []
    what = f"“{name}”" if name else "positive"
    said = {
        "precision": f"of the rows it accepts, the share that is {what}",
        "recall": f"of all rows that are {what}, the share it accepts",
        "f_score": "precision and recall in one number",
        "cost": "expected cost a row",
    }
    labels = {"precision": "Precision", "recall": "Recall", "f_score": f_label, "cost": "Cost"}
    found = [
        {
            "label": labels[measure],
            "value": rate(mapping(point[measure]).get("value")),
            "interval": interval(point[measure]),
            "asked": "" if asked.get(measure) is None else f"asked: at least {asked[measure]:.3g}",
            "meaning": said[measure],
        }
        for measure in (*MEASURES, "cost")
        if mapping(point.get(measure))
    ]
    accepted = share(point.get("share_accepted"))
    if accepted is not None:
        found.append(
            {
                "label": "Accepted",
                "value": f"{100 * accepted:.1f}%",
                "interval": "",
                "asked": "",
                "meaning": f"of the labeled rows are called {what}",
            }
        )
    return found


def _explore(
    scores: Mapping[str, Any], point: Mapping[str, Any], confidence: float, target: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The curve with its slider and the bins, and a short table of the same for those who read rather than look."""
    usable = read_scores(scores)
    chosen = threshold(point.get("threshold"))
    bins = bin_scores(usable, chosen)
    found: dict[str, Any] = {
        "missing": usable.missing,
        "curve": None,
        "bins": bins,
        "bins_missing": "" if bins else NO_SPREAD,
        "spread": _spread_alt(usable),
    }
    if usable.missing:
        return found, {"rows": []}
    beta = number(target.get("beta"))
    table = tabulate(usable, confidence=confidence, beta=beta if beta and beta > 0 else 1.0, chosen=chosen)
    start = len(table.columns["cut"]) // 2 if table.chosen is None else table.chosen
    found |= {
        "curve": table.columns | {"chosen": table.chosen, "start": start},
        "last": len(table.columns["cut"]) - 1,
        "start": start,
        "n_labeled": whole(usable.labeled.size),
        "n_positive": whole((usable.sign == 1).sum().item()),
        "n_unlabeled": whole(table.n_unlabeled),
        "has_unlabeled": bool(usable.unlabeled.size),
        "is_sample": table.is_sample,
        "n_sampled": whole(usable.unlabeled.size),
        "level": text(scores.get("level")) or text(point.get("level")),
        "has_chosen": table.chosen is not None,
        "alt": _curve_alt(table.columns, start, table.chosen is not None),
    }
    return found, {"rows": _table_rows(table.columns, table.chosen)}


def _table_rows(columns: Mapping[str, list[Any]], chosen: int | None, most: int = 12) -> list[dict[str, Any]]:
    """About a dozen thresholds of the curve, the chosen one among them, for the table beside it."""
    last = len(columns["cut"]) - 1
    kept = {round(k * last / (most - 1)) for k in range(most)} | ({chosen} if chosen is not None else set())
    return [
        {
            "is_chosen": k == chosen,
            "threshold": short_rule(columns["cut"][k]),
            "accepted": whole(columns["tp"][k] + columns["fp"][k]),
            "unlabeled": whole(columns["unlabeled"][k]),
            "cells": [
                {
                    "value": rate(columns[measure][k]),
                    "interval": f"{rate(columns[measure + '_low'][k])} to {rate(columns[measure + '_high'][k])}",
                }
                for measure in MEASURES
            ],
        }
        for k in sorted(kept)
    ]


def _costs(costs: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, Any]:
    """What errors cost: as stored, else as asked for, else 1 and 1, which counts errors."""
    pair = [number(costs.get(name)) for name in ("missed", "accepted")]
    if None in pair:
        pair = [number(cost) for cost in sequence(target.get("costs"))]
    known = len(pair) == 2 and None not in pair
    return {"missed": pair[0] if known else 1, "accepted": pair[1] if known else 1, "known": known}


def _curve_alt(columns: Mapping[str, list[Any]], k: int, has_chosen: bool) -> str:
    where = "At the chosen threshold" if has_chosen else "In the middle of it"
    return (
        f"Precision against recall over {len(columns['cut'])} thresholds. {where} precision is "
        f"{rate(columns['precision'][k])} and recall {rate(columns['recall'][k])}."
    )


def _spread_alt(scores: Any) -> str:
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
