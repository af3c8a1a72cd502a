"""Labels as a file spells them -> y.

A target column is text in most formats. It becomes integers where every label is a whole number,
floats where every label is a number, and stays text otherwise. A row without a label is kept:

    numbers   NaN (so whole numbers become floats when a label is missing)
    text      ""

Nothing else is read into a label: "-1" is the number -1, whatever it may mean to the file's author.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
from numpy.typing import NDArray

# How R, NumPy, pandas and databases write "nothing here"; an empty cell is the plainest.
MISSING_SPELLINGS = frozenset({"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"})

# beyond this a float no longer holds every whole number
EXACT_IN_FLOAT = 2.0**53


def labels_from_text(cells: Sequence[str], missing: Set[str] = MISSING_SPELLINGS) -> NDArray:
    """Turn the cells of a target column into y; those spelled as one of `missing` are rows without a label.

    Only the distinct spellings are interpreted, so a million rows cost a million look-ups, no more.
    """
    codes: dict[str, int] = {}
    code = np.fromiter((codes.setdefault(cell, len(codes)) for cell in cells), dtype=np.intp, count=len(cells))
    spellings = [spelling.strip() for spelling in codes]
    numbers = [np.nan if spelling in missing else _number(spelling) for spelling in spellings]
    if None not in numbers:
        return whole_if_possible(np.array(numbers, dtype=np.float64)[code])
    return np.array(["" if spelling in missing else spelling for spelling in spellings])[code]


def whole_if_possible(y: NDArray[np.floating]) -> NDArray:
    """Return y as integers where that loses nothing: no NaN, no fraction, no rounding."""
    if len(y) and np.all(np.abs(y) < EXACT_IN_FLOAT) and np.all(y == np.rint(y)):
        return y.astype(np.int64)
    return y


def no_labels(n_rows: int) -> NDArray[np.floating]:
    """Return the y of a file that was read without a target: no row has a label."""
    return np.full(n_rows, np.nan)


def _number(spelling: str) -> float | None:
    try:
        number = float(spelling)
    except ValueError:
        return None
    # float() takes "1_000" and "inf" and rounds long identifiers: all better left as text
    return None if "_" in spelling or abs(number) >= EXACT_IN_FLOAT else number
