"""Cells of a target column -> y.

Labels become integers where all of them are whole numbers, floats where all of them are numbers,
and stay text otherwise. A row without a label is NaN (so whole numbers become floats when a label
is missing) or "". Nothing else is read into a label: "-1" is the number -1, whatever it may mean to
the author of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from semisvm.columns.cells import EXACT_IN_FLOAT, is_missing, parse_number, text_type
from semisvm.errors import DataError

if TYPE_CHECKING:
    import pandas


def label_spellings(cells: pandas.Series) -> pandas.Series:
    """Return the cells of a target column as text, "" where they are missing."""
    if cells.dtype.kind == "f":
        refuse_rounded(cells.to_numpy())
    return cells.map(str, na_action="ignore").astype(text_type()).fillna("")


def labels_from_text(cells: Any) -> NDArray:
    """Turn the cells of a target column into y; cells such as "" and "NA" are rows without a label.

    Only the distinct spellings are interpreted, so a million rows cost a million look-ups and no
    more.
    """
    import pandas

    code, distinct = pandas.factorize(np.asarray(cells, dtype=object))
    spellings = ["" if is_missing(cell) else cell.strip() for cell in distinct]
    numbers = [parse_number(text) if text else np.nan for text in spellings]
    # an identifier too long for a float stays text
    if all(number is not None and not abs(number) >= EXACT_IN_FLOAT for number in numbers):
        return whole_if_possible(np.array(numbers, dtype=np.float64)[code])
    return np.array(spellings)[code]


def refuse_rounded(labels: NDArray[np.floating]) -> None:
    """Refuse labels that a file held as whole numbers which a float does not tell from their
    neighbors.
    """
    if (np.abs(labels) >= EXACT_IN_FLOAT).any():
        raise DataError(
            "Labels are numbers of more than 15 digits, which are not exact. Write them as text."
        )


def whole_if_possible(y: NDArray[np.floating]) -> NDArray:
    """Return y as integers where that loses nothing: no NaN, no fraction, no rounding."""
    if len(y) and np.all(np.abs(y) < EXACT_IN_FLOAT) and np.all(y == np.rint(y)):
        return y.astype(np.int64)
    return y
