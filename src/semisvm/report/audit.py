"""Where the gain comes from: supervised, + threshold, + unlabeled rows, measured alike.

    rows    of the facts: {"step", "precision", "recall", "f_score", "threshold"}, with "cost" where costs were asked

What is read for the table is text; what is drawn is, for each measure, [value, low, high] of every step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from semisvm.report.reading import mapping, number, text
from semisvm.report.wording import interval, rate, short_rule, signed_rate

STEPS = {
    "supervised": "Supervised, threshold 0",
    "supervised + threshold": "Supervised + threshold",
    "with unlabeled": "+ unlabeled rows",
}
NO_AUDIT = "No audit was stored with this model: what the threshold and the unlabeled rows each brought is not known."
NOTHING_CHANGES = "The last step changes nothing: the unlabeled rows bring nothing here."
OVERLAP = "Where intervals overlap, so few labels can't tell the steps apart."


def read_audit(rows: Sequence[Mapping[str, Any]], f_label: str) -> dict[str, Any]:
    """Return the audit for the template, and under "drawn" for the charts."""
    measures = {"precision": "Precision", "recall": "Recall", "f_score": f_label}
    if any(mapping(row.get("cost")) for row in rows):
        measures["cost"] = "Cost a row"
    return {
        "titles": list(measures.values()),
        "rows": [_line(row, measures) for row in rows],
        "sentence": _sentence(rows, measures),
        "missing": "" if rows else NO_AUDIT,
        "drawn": {
            "steps": [_step_name(row.get("step")) for row in rows],
            "measures": [
                {"name": name, "title": title, "estimates": [_ends(row.get(name)) for row in rows]}
                for name, title in measures.items()
            ],
        },
    }


def _line(row: Mapping[str, Any], measures: Mapping[str, str]) -> dict[str, Any]:
    cells = [
        {"value": rate(mapping(row.get(name)).get("value")), "interval": interval(row.get(name))} for name in measures
    ]
    return {"step": _step_name(row.get("step")), "threshold": short_rule(row.get("threshold")), "cells": cells}


def _ends(estimate: Any) -> list[float | None]:
    return [number(mapping(estimate).get(end)) for end in ("value", "low", "high")]


def _step_name(step: Any) -> str:
    """The name of a step, for people."""
    return STEPS.get(text(step), text(step)) or "unnamed"


def _sentence(rows: Sequence[Mapping[str, Any]], measures: Mapping[str, str]) -> str:
    """The steps in figures, by what was asked last; whether a step is real is for the intervals to say."""
    name, title = list(measures.items())[-1]
    values = [value for row in rows if (value := _ends(row.get(name))[0]) is not None]
    if len(values) < 2 or len(values) < len(rows):
        return ""
    steps = [f"then {rate(after)} ({signed_rate(after - before)})" for before, after in pairwise(values)]
    is_idle = text(rows[-1].get("step")) == "with unlabeled" and _is_same(rows[-1], rows[-2])
    return f"{title}: {rate(values[0])}, {', '.join(steps)}. {NOTHING_CHANGES if is_idle else OVERLAP}"


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one.get(name) == other.get(name) for name in ("precision", "recall", "f_score", "threshold"))
