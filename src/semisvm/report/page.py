"""Facts -> everything the template shows: answers, rounds, rows to label, guard, model card, notes.

A pure function of the facts, and the only place that knows their names beside `answers`. Every part may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semisvm.report.answers import read_answers
from semisvm.report.reading import mapping, number, sequence, text
from semisvm.report.rounds import read_rounds
from semisvm.report.wording import (
    duration,
    interval,
    rate,
    signed,
    signed_interval,
    signed_rate,
    table_cell,
    whole,
)

MOST_SUGGESTED = 50
MOST_COLUMNS = 8
MOST_FEATURES = 500
ENDS = ("value", "low", "high")
NO_SUGGESTIONS = "No rows were picked for labeling when this report was made."


def read_page(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the page as plain values for the template; "drawn" of each part is what the charts are drawn from."""
    data, answers = mapping(facts.get("data")), read_answers(facts)
    said = " ".join(answer["verdict"]["sentence"] for answer in answers)
    return {
        "title": text(facts.get("title")) or "Report on a classifier",
        "created": text(facts.get("created")),
        "summary": _summary(data),
        "notes": [text(note) for note in sequence(facts.get("notes")) if text(note) and text(note) not in said],
        "answers": answers,
        "rounds": read_rounds(sequence(facts.get("rounds"))),
        "comparison": _comparison(mapping(facts.get("comparison"))),
        "suggest": _suggest(sequence(facts.get("suggest"))),
        "guard": _pairs(mapping(facts.get("guard"))),
        "card": _card(facts, data),
    }


def _summary(data: Mapping[str, Any]) -> str:
    """The data in a line."""
    rows, labeled, unlabeled = (number(data.get(name)) for name in ("rows", "labeled", "unlabeled"))
    parts = [text(data.get("name"))] if text(data.get("name")) else []
    if rows is not None:
        parts.append(f"{whole(rows)} rows")
    if labeled is not None:
        parts.append(f"{whole(labeled)} labeled")
    if unlabeled is not None:
        parts.append(f"{whole(unlabeled)} not")
    return ", ".join(parts)


def _comparison(found: Mapping[str, Any]) -> dict[str, Any]:
    """Every method that was tried beside the supervised one; costs are stored with their sign turned."""
    is_cost = text(found.get("measure")) == "cost"
    lines, drawn = [], []
    for method in map(mapping, sequence(found.get("methods"))):
        name, merit = text(method.get("name")), _turned(mapping(method.get("merit")), is_cost)
        is_chosen = name == text(found.get("chosen"))
        remarks = ["chosen"] if is_chosen else []
        remarks += ["target not reached"] if method.get("reaches_target") is False else []
        seconds = number(method.get("seconds"))
        gap = {} if name == "supervised" else mapping(method.get("difference"))
        lines.append(
            {
                "name": name,
                "is_chosen": is_chosen,
                "merit": {"value": rate(merit.get("value")), "interval": interval(merit)},
                "gap": {"value": signed_rate(gap.get("value")), "interval": signed_interval(gap)},
                "seconds": "–" if seconds is None else f"{seconds:.2f}",
                "remark": ", ".join(remarks),
            }
        )
        drawn.append({"name": name, "last": is_chosen} | {end: number(merit.get(end)) for end in ENDS})
    return {
        "measure": text(found.get("measure")).capitalize(),
        "verdict": text(found.get("verdict")),
        "lines": lines,
        "drawn": drawn,
        "left_out": _pairs(mapping(found.get("left_out"))),
    }


def _turned(estimate: Mapping[str, Any], is_cost: bool) -> Mapping[str, Any]:
    """An estimate with its sign turned, so that its low end is the low one again."""
    if not is_cost:
        return estimate
    ends = {end: number(estimate.get(end)) for end in ENDS}
    turned = {end: None if value is None else -value for end, value in ends.items()}
    return {"value": turned["value"], "low": turned["high"], "high": turned["low"]}


def _suggest(rows: Any) -> dict[str, Any]:
    """The rows to label next, with their first few values."""
    kept = [mapping(row) for row in rows if mapping(row)]
    names = list(dict.fromkeys(text(name) for row in kept for name in mapping(row.get("values"))))
    shown = names[:MOST_COLUMNS]
    lines = []
    for row in kept[:MOST_SUGGESTED]:
        values = {text(name): value for name, value in mapping(row.get("values")).items()}
        score = number(row.get("score"))
        own = [text(row.get("row")), "–" if score is None else signed(score), text(row.get("label")) or "–"]
        lines.append(own + [table_cell(values.get(n)) for n in shown])
    return {
        "names": shown,
        "lines": lines,
        "left_out": len(kept) - len(lines),
        "columns_left_out": len(names) - len(shown),
        "missing": "" if kept else NO_SUGGESTIONS,
    }


def _card(facts: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    method = mapping(facts.get("method"))
    features = [mapping(feature) for feature in sequence(data.get("features")) if mapping(feature)]
    told = {
        "Data": text(data.get("name")),
        "Target": text(data.get("target")),
        "Rows": _summary({name: value for name, value in data.items() if name != "name"}),
        "Classes": text(sequence(facts.get("classes"))),
        "Positive class": text(facts.get("positive")),
        "Method": text(method.get("name")),
        "In the literature": text(method.get("paper_name")),
        "Why this method": text(method.get("why")),
        "Time to train": duration(facts.get("seconds")),
        "Made": text(facts.get("created")),
    }
    return {
        "told": [(name, value) for name, value in told.items() if value],
        "features": [(text(f.get("name")), text(f.get("type"))) for f in features[:MOST_FEATURES]],
        "n_features": len(features),
        "parameters": _pairs(mapping(method.get("parameters"))),
        "versions": _pairs(mapping(facts.get("versions"))),
        "machine": _pairs(mapping(facts.get("machine"))),
    }


def _pairs(part: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values as text; what holds nothing is said to."""
    return [(text(name).replace("_", " "), text(value) or "none") for name, value in part.items()]
