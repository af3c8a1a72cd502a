"""What each round of a fit did; or, where a fit tried several ways to use the unlabeled rows, the result of each.

Records with "candidate" among their details are ways that were tried independently of each other. They are listed but
not drawn, since no line leads from one to the next.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from semisvm.estimators.history import RoundRecord
from semisvm.report.wording import table_cell

MOST_LISTED = 400
MOST_DRAWN = 8
# Not drawn: a running number, and what describes the solver rather than the learning.
NOT_DRAWN = ("round", "n_iter", "gap", "seconds")
TITLES = {"n_iter": "iterations"}
NO_ROUNDS = "This method has no rounds: it is trained once."
# What is shown of a candidate, and under which name. Its place in the order of trying says nothing.
OF_CANDIDATES = {
    "problem": "problem",
    "candidate": "way",
    "chosen": "chosen",
    "gain": "gain",
    "gain_error": "its standard error",
    "adjusted_precision": "precision",
    "adjusted_recall": "recall",
    "adjusted_f_score": "F",
    "threshold": "threshold",
    "soft_positive": "guessed positive",
    "soft_negative": "guessed negative",
}
ABOUT_CANDIDATES = (
    "Each line is one way to train on unlabeled rows with guessed labels, at a fraction of a labeled row's weight. "
    "All were tried on the same folds as the supervised model. The gain is over that model, in the measure that was "
    "asked for. A way is used only if its gain is larger than one and a half standard errors; otherwise the labels "
    "alone decide."
)

RoundLines = dict[str, list[tuple[int, float]]]


def are_candidates(records: Sequence[RoundRecord]) -> bool:
    """Whether the records are ways that were tried rather than rounds that followed each other."""
    return any("candidate" in record.details for record in records)


def describe_rounds(records: Sequence[RoundRecord]) -> dict[str, Any]:
    """Return a table of the records, and the columns of numbers that change, for small charts."""
    shown = [record.as_dict() for record in records[:MOST_LISTED]]
    is_listed = are_candidates(records)
    if is_listed:
        known = {name for record in shown for name in record}
        titles = {name: title for name, title in OF_CANDIDATES.items() if name in known}
    else:
        titles = {name: column_title(name) for name in _columns_in_use(shown)}
    changing = {} if is_listed else changing_columns(records)
    return {
        "title": "Ways to use the unlabeled rows" if is_listed else "What each round did",
        "unit": "ways" if is_listed else "rounds",
        "about": ABOUT_CANDIDATES if is_listed else "",
        "names": list(titles.values()),
        "lines": [[table_cell(record.get(name)) for name in titles] for record in shown],
        "problems": list(dict.fromkeys(problem for lines in changing.values() for problem in lines)),
        "drawn": [
            {"name": column_title(name), "lines": list(lines.items())}
            for name, lines in list(changing.items())[:MOST_DRAWN]
        ],
        "left_out": len(records) - len(shown),
        "missing": "" if records else NO_ROUNDS,
    }


def column_title(name: str) -> str:
    """Return the name of a column for people."""
    return TITLES.get(name, name.replace("_", " "))


def _columns_in_use(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns that hold something in at least one record."""
    names = dict.fromkeys(name for record in records for name in record)
    return [name for name in names if any(_holds_something(record.get(name)) for record in records)]


def _holds_something(value: Any) -> bool:
    return value not in (None, "") and not (isinstance(value, float) and math.isnan(value))


def changing_columns(records: Sequence[RoundRecord]) -> dict[str, RoundLines]:
    """Return the numbers that change: by name and then by binary problem, (round counted from 1, value)."""
    columns: dict[str, RoundLines] = {}
    lengths: dict[str, int] = {}
    for record in records:
        lengths[record.problem] = lengths.get(record.problem, 0) + 1
        for name, value in record.as_dict().items():
            number = None if name in NOT_DRAWN else _finite(value)
            if number is not None:
                columns.setdefault(name, {}).setdefault(record.problem, []).append((lengths[record.problem], number))
    return {name: lines for name, lines in columns.items() if _changes(lines)}


def _changes(lines: RoundLines) -> bool:
    return any(len({value for _, value in points}) > 1 for points in lines.values())


def _finite(value: Any) -> float | None:
    """Return a detail as a finite float, or None where it is something else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
