"""The target column -> classes: the labels as text, which rows have none, and which class is the
positive one.

    texts    (n,)  the cells as text, "" where a row has no label; whole numbers lose their ".0"
    classes  (k,)  the distinct texts, numbers by size, words by the alphabet; of two, the second is
             positive, and it
                   is the rarer one unless the user names it
    codes    (n,)  the class of each row as an index, -1 where it has none

Estimators are fitted on the names of the classes, in this order (`Classes.categorical`), so
`predict` gives labels as they were in the table. Codes are for counting errors.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.columns.cells import EXACT_IN_FLOAT, is_missing, parse_number
from semisvm.errors import DataError, counted, fault, suggest
from semisvm.tables.delimited import open_delimited

MOST_CLASSES = 100
CLEARLY_RARER = 0.45  # of the labels of two classes
HARDLY_CLASSES = frozenset({"?", "-", "--", ".", "\\n"})  # in lower case
SEEM_EMPTY = HARDLY_CLASSES | {
    "-1",
    "n.a.",
    "(blank)",
    "unlabeled",
    "unknown",
    "none",
    "todo",
    "tbd",
}
_WHOLE = re.compile(r"[-+]?[0-9]{1,300}")


@dataclass(frozen=True)
class Classes:
    """The names of the classes in their order; of two, the second is the positive one."""

    names: tuple[str, ...]  # the labels as text
    are_numbers: bool  # whether all labels are numbers; then "1.0" and "1" are the same class

    def codes_of(self, texts: Sequence[str]) -> np.ndarray:
        """Return the place of each label, whatever its case and spaces: -1 none, -2 no class."""
        code = {name: k for k, name in enumerate(self.names)} | {"": -1}
        folded = [_folded(name) for name in self.names]
        alike = {text: k for k, text in enumerate(folded) if folded.count(text) == 1}
        spelled = {
            text: code.get(
                _canonical(text) if self.are_numbers else text, alike.get(_folded(text), -2)
            )
            for text in set(texts)
        }
        return np.fromiter(map(spelled.__getitem__, texts), dtype=np.intp, count=len(texts))

    def categorical(self, codes: NDArray[np.intp]) -> Any:
        """Return the labels for a fit, a pandas Categorical, missing where a code is -1."""
        import pandas

        return pandas.Categorical.from_codes(codes, categories=pandas.Index(self.names))


def label_texts(cells: Any) -> list[str]:
    """Return a target column of text or numbers as texts; "" where a cell is missing."""
    values = np.asarray(cells)
    if values.dtype.kind == "f":
        if (np.abs(values) >= EXACT_IN_FLOAT).any():
            raise DataError(
                "Labels are numbers of more than 15 digits, which are not exact. Write them as"
                " text."
            )
        return ["" if np.isnan(value) else _number_text(value) for value in values.tolist()]
    if values.dtype.kind in "iu":
        return [str(value) for value in values.tolist()]
    texts = ["" if cell is None or cell != cell else str(cell).strip() for cell in values.tolist()]
    return ["" if is_missing(text) else text for text in texts]


def labels_of(texts: Sequence[str]) -> NDArray:
    """Return labels as numbers where all are numbers, NaN for none, else as text."""
    numbers = [parse_number(text) if text else np.nan for text in texts]
    # an identifier too long for a float stays text
    if all(number is not None and not abs(number) >= EXACT_IN_FLOAT for number in numbers):
        y = np.array(numbers, dtype=np.float64)
        return y.astype(np.int64) if len(y) and (y == np.rint(y)).all() else y
    return np.array(texts)


def unmark(texts: list[str], mark: str | None) -> list[str]:
    """Replace the marker of unlabeled rows by "", also where "-1" is spelled "-1.0"."""
    if mark is None or mark == "":
        return texts
    same = {text for text in set(texts) if text == mark or _canonical(text) == _canonical(mark)}
    return ["" if text in same else text for text in texts]


def seems_empty(label: str) -> bool:
    """Whether a label may mean that there is none."""
    return _canonical(label).lower() in SEEM_EMPTY


def _in_one_spelling(counts: Counter[str], path: Path, column: str, spelling: str) -> Counter[str]:
    """Return the labels with one spelling each, the most frequent one, where case and spaces are
    the "same"; with "ask", a fault where that would change a label.
    """
    if spelling not in ("ask", "same", "exact"):
        raise DataError(f"`spelling` is one of ask, same and exact; got {spelling!r}.")
    alike: dict[str, list[str]] = {}
    for text, _ in Counter({text: n for text, n in counts.items() if text}).most_common():
        alike.setdefault(_folded(text), []).append(text)
    doubtful = [names for names in alike.values() if len(names) > 1]
    if not doubtful or spelling == "exact":
        return counts
    if spelling == "ask":
        seen = "; ".join(
            " and ".join(f"{name!r} ({counted(counts[name], 'row')})" for name in names)
            for names in doubtful[:3]
        )
        reason = f"column {column!r} has labels that differ only by case or spaces: {seen}"
        remedy = (
            "Set `spelling` to same if they are one class, or to exact if they are different"
            " classes"
        )
        raise fault(path, reason, remedy)
    same = {name: names[0] for names in doubtful for name in names}
    merged: Counter[str] = Counter()
    for text, n in counts.items():
        merged[same.get(text, text)] += n
    return merged


def settle_classes(
    counts: Counter[str],
    path: Path,
    column: str,
    *,
    spelling: str = "ask",
    positive: str | None = None,
    mark: str | None = None,
    at_random: Iterable[str] = (),
) -> Classes:
    """Find the classes among the labels, or say why the column can't be a target.

    `counts` says how many rows have each label ("": none). Where some rows are unlabeled, one label
    is enough if `positive` names it: "fraud" gives "not fraud" and "fraud". `at_random` are the
    labels of the rows that were drawn at random, where some were not: they say which class is the
    rarer one.
    """
    counts = _in_one_spelling(counts, path, column, spelling)
    n_rows = counts.total()
    n_labels = n_rows - counts[""]
    labels = [text for text in counts if text]
    are_numbers = all(parse_number(text) is not None for text in labels)
    names = sorted(labels)
    if are_numbers:
        names = sorted({_canonical(text) for text in labels}, key=lambda text: (float(text), text))
    where = f"column {column!r}"
    if not names:
        marked = f" or {mark!r}" if mark else ""
        reason = f"{where} has no label: all {n_rows:,} cells are empty{marked}"
        raise fault(path, reason, "Label some rows of each class")
    _refuse_likely_marks(names, counts, path, where, mark)
    may_be_one_class = n_labels < n_rows
    if len(names) == 1 and may_be_one_class and positive is not None:
        return Classes(
            (f"not {names[0]}", *_with_positive_last(names, positive, path)), are_numbers
        )
    if len(names) == 1:
        n = f"{n_labels:,} of {counted(n_rows, 'row')}"
        reason = f"{where} has labels of one class only, {names[0]!r} ({n})"
        remedy = "Label some rows of another class"
        remedy += f"; if {mark!r} is a class, set `unlabeled` to ''" if mark else ""
        if may_be_one_class:
            remedy += (
                f", or set `positive` to {names[0]!r} if that is what you look for among the"
                " unlabeled rows"
            )
        raise fault(path, reason, remedy)
    if len(names) > MOST_CLASSES or (are_numbers and 2 * len(names) > max(n_labels, 20)):
        values = f"{len(names)} different values on {n_labels} labeled rows"
        reason = f"{where} has {values}, such as {labels[0]!r}"
        remedy = "A classifier needs a column of few classes: cut a measurement into ranges first"
        raise fault(path, reason, remedy)
    if positive is None and len(names) == 2:
        drawn = Counter(filter(None, at_random)) or Counter({text: counts[text] for text in labels})
        codes = Classes(tuple(names), are_numbers).codes_of(list(drawn))
        n_first = sum(n for n, code in zip(drawn.values(), codes, strict=True) if code == 0)
        # The rarer class; of two that are about as frequent the second, so that a few labels more
        # do not change it.
        positive = names[0] if n_first < CLEARLY_RARER * drawn.total() else names[1]
    return Classes(tuple(_with_positive_last(names, positive, path)), are_numbers)


def _refuse_likely_marks(
    names: list[str], counts: Counter[str], path: Path, where: str, mark: str | None
) -> None:
    """Refuse classes that may stand for rows without a label, unless the user has said."""
    has_empty = counts[""] > 0
    n_rows = counts.total()
    alike = next((name for name in names if mark and _folded(name) == _folded(mark)), None)
    if alike is not None:
        reason = (
            f"{where} holds {alike!r}, which differs from the marker {mark!r} only by case or"
            " spaces"
        )
        remedy = f"Set `unlabeled` to {alike!r}, or write all of these cells in the same way"
        raise fault(path, reason, remedy)
    if mark == "":
        return
    if "-1" in names and len(names) > 2 and not has_empty:
        others = f"{names[1]} and {names[2]}"
        reason = f"{where} holds -1 besides {others}, which may be a class or mean no label"
        remedy = "Set `unlabeled` to '-1' if it marks unlabeled rows, or to '' if it is a class"
        raise fault(path, reason, remedy)
    seeming = next((name for name in names if name != "-1" and seems_empty(name)), None)
    # Beside empty cells a word such as "unknown" may be a class.
    if seeming is not None and (not has_empty or seeming.lower() in HARDLY_CLASSES):
        empty = counted(counts[""], "empty cell") if has_empty else "no empty cell"
        reason = f"{where} has {empty}, and {seeming!r} in {counts[seeming]} of {n_rows}"
        remedy = (
            f"Set `unlabeled` to {seeming!r} if it marks unlabeled rows, or to '' if it is a class"
        )
        raise fault(path, reason, remedy)


def _with_positive_last(names: list[str], positive: str | None, path: Path) -> list[str]:
    if positive is None:
        return names
    if positive not in names:
        raise fault(path, f"no class is called {positive!r}", suggest(positive, names))
    if len(names) > 2:
        reason = f"there are {len(names)} classes, and each of them is compared with all others"
        raise fault(path, reason, "Leave `positive` out")
    return [name for name in names if name != positive] + [positive]


def parse_costs(words: str, classes: Classes) -> dict[str, float]:
    """Read "spam=10,ham=1": the cost of taking a row of each class for another class."""
    costs: dict[str, float] = {}
    for pair in words.split(","):
        name, _, amount = (part.strip() for part in pair.rpartition("="))
        value = parse_number(amount)
        code = int(classes.codes_of([name])[0])
        if not name or value is None or value <= 0:
            raise DataError(
                f"`costs`: {pair.strip()!r} is not class=cost. Write spam=10,ham=1, with costs"
                " above 0."
            )
        if code < 0 or classes.names[code] in costs:
            raise DataError(
                f"`costs`: {name!r} is not a class, or has two costs."
                f" {suggest(name, classes.names)}."
            )
        costs[classes.names[code]] = value
    missing = [name for name in classes.names if name not in costs]
    if missing:
        raise DataError(
            f"`costs`: the class {missing[0]!r} has no cost. Give one to each of"
            f" {list(classes.names)}."
        )
    return costs


def read_cost_matrix(path: str | Path, classes: Classes) -> np.ndarray:
    """Read a CSV of costs: a row per true class, named in its first cell, a column per guess."""
    table = open_delimited(path)
    names = classes.names
    columns = classes.codes_of(table.names[1:])
    if sorted(columns.tolist()) != list(range(len(names))):
        reason = f"the header names {list(table.names[1:])} where the classes are {list(names)}"
        remedy = "Write one column for the true class, then one column per class"
        raise fault(path, reason, remedy, line=1)
    matrix = np.full((len(names), len(names)), np.nan)
    for line, (name, *cells) in table.rows():
        code = int(classes.codes_of([name.strip()])[0])
        if code < 0 or not np.isnan(matrix[code]).all():
            reason = f"{name!r} is not a class, or has two rows"
            raise fault(path, reason, suggest(name, names), line=line)
        matrix[code, columns] = [parse_number(cell) for cell in cells]
        if not (matrix[code] >= 0).all() or matrix[code, code] != 0:
            reason = (
                "costs must be numbers from 0 up, and 0 where the predicted class is the true one"
            )
            raise fault(path, reason, "Correct them", line=line)
    missing = [name for name, costs in zip(names, matrix, strict=True) if np.isnan(costs).all()]
    if missing:
        raise fault(path, f"the true class {missing[0]!r} has no row", "Write one row per class")
    return matrix


def _folded(text: str) -> str:
    """A label without its case and its spaces."""
    return " ".join(text.casefold().split())


def _canonical(text: str) -> str:
    if _WHOLE.fullmatch(text):  # not as a float, which does not hold all digits of a long one
        return str(int(text))
    value = parse_number(text)
    return text if value is None else _number_text(value)


def _number_text(value: float) -> str:
    return str(int(value)) if np.isfinite(value) and value == int(value) else repr(float(value))
