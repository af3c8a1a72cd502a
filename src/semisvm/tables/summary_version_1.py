"""The "facts" that version 0.1 wrote into model files -> the values that `FitSummary` reads.

In version 1 the operating point, the audit and the scores of two classes stood alone, and those of more classes under
their names. A step of the audit held its measures only. Its counts follow from them: recall is tp / positives and
precision is tp / (tp + fp), where the labeled rows are those of the operating point. A precision of 0 does not tell
how many rows were accepted, so the count of such a step is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MEASURES = ("precision", "recall", "f_score", "cost", "threshold")


def upgrade(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts of version 1 in the form of version 2."""
    positive = facts["positive"]
    points = _by_class(facts["operating_point"], positive)
    audits = _by_class(facts["audit"], positive)
    return {
        **facts,
        "operating_points": points,
        "audits": {
            name: {line["step"]: _step(line, points[name]) for line in lines}
            for name, lines in audits.items()
            if name in points
        },
        "scores": _by_class(facts["scores"], positive),
        "rounds": [{"n_iter": record.get("steps"), **_without(record, "steps")} for record in facts["rounds"]],
        "suggestions": facts["suggest"],
    }


def _by_class(part: Any, positive: str | None) -> dict[str, Any]:
    if not part:
        return {}
    return dict(part) if positive is None else {positive: part}


def _step(line: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """A step of the audit as a whole operating point, with the target, the level and the labels of `point`."""
    asked = point["target"]
    values = {name: (line[name] or {}).get("value") or 0.0 for name in ("precision", "recall")}
    n_positive = point["counts"]["tp"] + point["counts"]["fn"]
    n_negative = point["counts"]["fp"] + point["counts"]["tn"]
    tp = round(values["recall"] * n_positive)
    fp = min(round(tp / values["precision"]) - tp, n_negative) if values["precision"] else 0
    return {
        **point,
        **{name: line[name] for name in MEASURES},
        "counts": {"tp": tp, "fp": fp, "fn": n_positive - tp, "tn": n_negative - fp},
        "reached": all(values[name] >= asked.get(f"min_{name}", 0.0) for name in values),
        "reason": "",
    }


def _without(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}
