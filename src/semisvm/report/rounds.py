"""What each round of a fit did; or, where a fit tried several ways to use the unlabeled rows, what came of each.

records   of `history_`, in order; with "candidate" in them they are ways that were tried, each for itself, and no
line leads from one to the next: those are listed, not drawn
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from semisvm.report.reading import mapping, number, text
from semisvm.report.wording import table_cell

MOST_ROUNDS = 400
MOST_DRAWN = 8
# Kept out of the charts: a running number, and what says something of the solver rather than of the learning.
NOT_DRAWN = ("round", "steps", "gap", "n_iter", "seconds")
NO_ROUNDS = "This method has no rounds: it is trained once."
# What is told of a candidate, and how: its place in the order of trying says nothing.
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
    "Each line is one way to let the unlabeled rows train with a guessed label, at a share of a labeled row's price, "
    "tried on the same folds as the supervised machine. The gain is over that machine, by the measure that was asked "
    "for. A way is taken only where its gain is larger than one and a half standard errors; otherwise the labels alone "
    "decide."
)


def is_candidates(records: Sequence[Any]) -> bool:
    """Whether records are of ways that were tried rather than of rounds that followed each other."""
    return any("candidate" in mapping(record) for record in records)


def read_rounds(records: Sequence[Any]) -> dict[str, Any]:
    """A table of the records, and the columns of numbers that change, for small charts."""
    kept = [mapping(record) for record in records if mapping(record)]
    shown = [{text(name): value for name, value in record.items()} for record in kept[:MOST_ROUNDS]]
    names = list(dict.fromkeys(name for record in shown for name in record))
    titles = {name: name.replace("_", " ") for name in names}
    are_candidates = is_candidates(kept)
    if are_candidates:
        titles = {name: title for name, title in OF_CANDIDATES.items() if name in names}
    changing = {} if are_candidates else changing_columns(kept)
    return {
        "title": "Ways to use the unlabeled rows" if are_candidates else "What each round did",
        "unit": "ways" if are_candidates else "rounds",
        "about": ABOUT_CANDIDATES if are_candidates else "",
        "names": list(titles.values()),
        "lines": [[table_cell(record.get(name)) for name in titles] for record in shown],
        "problems": list(dict.fromkeys(problem for by in changing.values() for problem in by)),
        "drawn": [
            {"name": name.replace("_", " "), "lines": list(by.items())}
            for name, by in list(changing.items())[:MOST_DRAWN]
        ],
        "left_out": len(kept) - len(shown),
        "missing": "" if kept else NO_ROUNDS,
    }


def changing_columns(records: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """The figures of the rounds that change: by name and then by binary problem, (round counted from 1, value)."""
    columns: dict[str, dict[str, list[tuple[int, float]]]] = {}
    lengths: dict[str, int] = {}
    for record in records:
        problem = text(record.get("problem"))
        lengths[problem] = lengths.get(problem, 0) + 1
        for name, value in record.items():
            found = number(value)
            if found is not None and text(name) not in NOT_DRAWN:
                columns.setdefault(text(name), {}).setdefault(problem, []).append((lengths[problem], found))
    return {name: lines for name, lines in columns.items() if _changes(lines)}


def _changes(lines: Mapping[str, list[tuple[int, float]]]) -> bool:
    return any(len({value for _, value in points}) > 1 for points in lines.values())
