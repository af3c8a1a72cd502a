"""Numbers and findings in plain words.

    an estimate   {"value", "low", "high"} of the facts, any of them None
    status        "certified", "reached", "unproven" (reached, but the interval goes below what was asked), "missed",
                  "chosen" (no least precision or recall was asked), "none" (no operating point at all)

What is missing is shown as a dash.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from semisvm.decision import labels_needed
from semisvm.report.reading import mapping, number, sequence, share, text, threshold

LEVELS = {
    "empirical": "counted on these rows; where the threshold was chosen on them too, it looks better than it is",
    "cross-fitted": "each was scored by a model trained without it; a threshold chosen on them too looks a little "
    "better than it is",
    "certified": "on rows that were used for nothing else",
}
HEADLINES = {
    "certified": "Certified: {}.",
    "reached": "Reached: {}.",
    "unproven": "Reached on the labeled rows, not proven: {}.",
    "missed": "Not reached: {}.",
    "chosen": "The threshold was chosen for this: {}.",
    "none": "No target was set.",
}

UNCERTIFIED = "Not certified: {}."


def rate(value: Any) -> str:
    """A share to three places, or a dash."""
    found = number(value)
    return "–" if found is None else f"{found:.3f}"


def interval(estimate: Any) -> str:
    """The interval of an estimate in words, or nothing."""
    part = mapping(estimate)
    if number(part.get("low")) is None or number(part.get("high")) is None:
        return ""
    return f"{rate(part['low'])} to {rate(part['high'])}"


def signed(value: float) -> str:
    """A score to four figures, with a real minus sign."""
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


def signed_rate(value: Any) -> str:
    """A difference of shares, with its sign."""
    found = number(value)
    return "–" if found is None else f"{found:+.3f}".replace("-", "\N{MINUS SIGN}")


def signed_interval(estimate: Any) -> str:
    """The interval of a difference in words, or nothing."""
    part = mapping(estimate)
    return f"{signed_rate(part['low'])} to {signed_rate(part['high'])}" if interval(part) else ""


def whole(value: Any) -> str:
    """A whole number with its thousands set apart, or a dash."""
    found = number(value)
    return "–" if found is None else f"{found:,.0f}"


def percent(value: Any, default: float = 0.9) -> str:
    """A confidence as people say it: 90%."""
    found = share(value)
    return f"{100 * (default if found is None else found):.4g}%"


def rule(value: float | None) -> str:
    """What a threshold does."""
    if value is None:
        return "no threshold was stored"
    if math.isinf(value):
        return "accepts every row" if value < 0 else "accepts no row"
    return f"accepts a row when its score is above {signed(value)}"


def short_rule(value: Any) -> str:
    """A threshold in a table."""
    found = threshold(value)
    if found is None:
        return "–"
    return {float("inf"): "accept none", float("-inf"): "accept all"}.get(found, signed(found))


def f_name(point: Any) -> str:
    """F1, F2: after the beta of the target."""
    beta = number(mapping(mapping(point).get("target")).get("beta"))
    return f"F{1 if beta is None else beta:g}"


def duration(seconds: Any) -> str:
    """Seconds as people say them."""
    found = number(seconds)
    if found is None or found < 0:
        return ""
    if found < 120:
        return f"{found:.3g} seconds"
    return f"{found / 60:.3g} minutes" if found < 7200 else f"{found / 3600:.3g} hours"


def status(point: Mapping[str, Any]) -> str:
    """Which of the findings above an operating point is."""
    if not point:
        return "none"
    target = mapping(point.get("target"))
    asked = [(name, share(target.get(f"min_{name}"))) for name in ("precision", "recall")]
    if all(least is None for _, least in asked):
        return "chosen" if point.get("reached") is not False else "missed"
    if point.get("reached") is not True:
        return "missed"
    if point.get("level") == "certified":
        return "certified"
    lows = [(number(mapping(point.get(name)).get("low")), least) for name, least in asked if least is not None]
    return "reached" if all(low is not None and low >= least for low, least in lows) else "unproven"


def verdict(point: Mapping[str, Any]) -> dict[str, str]:
    """The finding on top of the page: its status, a headline, what stands behind it, and what to do."""
    found = status(point)
    is_uncertified = found == "missed" and point.get("level") == "certified"
    headline = (UNCERTIFIED if is_uncertified else HEADLINES[found]).format(
        text(point.get("asked")) or "what was asked"
    )
    if found == "none":
        sentence = "The model calls a row positive above score 0."
        return {"status": found, "headline": headline, "sentence": sentence, "advice": ""}
    said = [_measured(point)]
    doubts = _doubts(point) if found == "unproven" else []
    if found == "unproven":
        said += [doubt for doubt, _ in doubts] or ["No interval was stored, so a miss can't be ruled out."]
    if found == "certified":
        said.append(
            f"The promise holds with probability {percent(point.get('confidence'))} over the draw of those rows."
        )
    if text(point.get("reason")):
        said.append(text(point["reason"]))
    advice = _advice([needed for _, needed in doubts]) if doubts else ""
    return {"status": found, "headline": headline, "sentence": " ".join(said), "advice": advice}


def _measured(point: Mapping[str, Any]) -> str:
    """How many rows were measured, in which way, and what the threshold does."""
    counts = mapping(point.get("counts"))
    cells = [number(counts.get(cell)) for cell in ("tp", "fp", "fn", "tn")]
    rows = f"{whole(sum(cells))} labeled rows" if None not in cells else "the labeled rows"  # type: ignore[arg-type]
    level = text(point.get("level"))
    how = f" ({level}: {LEVELS[level]})" if level in LEVELS else ""
    doing = rule(threshold(point.get("threshold")))
    return f"The model {doing}. Measured on {rows}{how}."


def _doubts(point: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Which intervals go below what was asked, and what it would take to be sure."""
    target, found = mapping(point.get("target")), []
    for name, rows in (("precision", "accepted rows"), ("recall", "positive rows")):
        least, low = share(target.get(f"min_{name}")), number(mapping(point.get(name)).get("low"))
        if least is None or low is None or low >= least:
            continue
        doubt = (
            f"The {percent(point.get('confidence'))} interval of {name} begins at {rate(low)}, below the {least:.3g} "
            "that was asked: these labels can't rule out a miss."
        )
        perfect = labels_needed(least) if least > 0 else None
        found.append((doubt, f"{name} {least:.3g} takes {perfect} {rows} without one error" if perfect else ""))
    return found


def _advice(needed: Sequence[str]) -> str:
    """What to do where a target is reached but not proven."""
    told = ", ".join(filter(None, needed))
    return (
        "To know more, label more rows, those that semisvm suggest names first, and fit again. For a promise ask for a "
        "certificate (--certify 0.1; in Python certify=0.1): half of the labels are kept apart, and it is given only "
        "where they prove it" + (f" ({told})." if told else ".")
    )


def table_cell(value: Any) -> str:
    """A value in a table: four figures are enough there."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else text(value)


def names_of_classes(facts: Mapping[str, Any]) -> list[str]:
    """The classes as text, in their order."""
    return [text(name) for name in sequence(facts.get("classes"))]
