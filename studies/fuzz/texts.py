"""Random misquoted texts: quotes that open and don't close, text after quotes, odd line ends,
delimiters and spaces, read in blocks of any size.

The rows must be those of Python's strict csv module, cell by cell without the spaces around it, or
both must refuse the text.
"""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from studies.fuzz.verdict import Verdict, of_error, watched

Recipe = dict[str, Any]
PIECES = (
    "a", "b c", "1", "-2.5", "é", ",", ",", ",", ";", "\t", "\n", "\n", "\n", "\r\n", "\r", " ", '"', '"', '""', ' "',
    '",', '"\n', "x,y\n", "x,y\n", '"q"', '"q, r"', '"1\n2",', '"a ""b"" c"', "NA", "'", "\\",
)  # fmt: skip
CELLS = (
    "a", "b c", " d", "1", "", "NA", '"q"', '"q, r"', '"1\n2"', '"1\r\n2"', '"a ""b"" c"', '""', ' "e, f"', '5" pipe', "é",
)  # fmt: skip
ENDS = ("\n", "\n", "\n", "\r\n", "\r", "\n\n", "\n \n")
BLOCKS = (1_000_000, 7, 16, 50, 200)
MISSING = "nan"  # what a frame shows for a cell that says that it is empty


def make(random: np.random.Generator) -> Recipe:
    """Draw a text of two columns and the size of the blocks in which it is read."""
    pieces: list[str] = []
    share_whole = random.choice([0.5, 0.9, 1.0])
    for _ in range(int(random.integers(1, 12))):
        if random.random() < share_whole:
            first, second = random.choice(CELLS, 2)
            pieces.append(f"{first},{second}{random.choice(ENDS)}")
        else:
            pieces += [str(piece) for piece in random.choice(PIECES, int(random.integers(1, 5)))]
    return {"pieces": pieces, "block": int(random.choice(BLOCKS))}


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """Yield recipes with fewer pieces, and one block."""
    for place in range(len(recipe["pieces"])):
        yield {**recipe, "pieces": recipe["pieces"][:place] + recipe["pieces"][place + 1 :]}
    if recipe["block"] != BLOCKS[0]:
        yield {**recipe, "block": BLOCKS[0]}


def check(recipe: Recipe) -> Verdict:
    """Read the text by our reader and by csv."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        with watched():
            return _compare(recipe, folder / "t.csv")
    except Exception as error:
        return of_error(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compare(recipe: Recipe, path: Path) -> Verdict:
    from semisvm.errors import DataError
    from semisvm.tables import delimited
    from semisvm.tables.read import open_rows

    text = "".join(recipe["pieces"])
    path.write_bytes(("u,v\n" + text).encode())
    expected = _rows_of_csv(text)
    before = delimited.BYTES_AT_A_TIME
    delimited.BYTES_AT_A_TIME = recipe["block"]
    try:
        frames = [chunk.frame for chunk in open_rows(path).chunks()]
    except DataError as error:
        if expected is not None:
            return Verdict("lost", f"refused, and csv reads {len(expected)} rows: {error}")
        return of_error(error)
    finally:
        delimited.BYTES_AT_A_TIME = before
    rows = [[str(cell).strip() for cell in row] for frame in frames for row in frame.to_numpy()]
    if expected is None:
        return Verdict("wrong", f"{len(rows)} rows of a text that csv refuses")
    if rows != expected:
        return Verdict("wrong", f"{rows} where csv has {expected}")
    return Verdict("done")


def _rows_of_csv(text: str) -> list[list[str]] | None:
    """The rows of two cells that Python's strict reader finds; None where it refuses the text."""
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    try:
        rows = [row for row in reader if len(row) > 1 or any(cell.strip() for cell in row)]
    except csv.Error:
        return None
    if not rows or any(len(row) != 2 for row in rows):
        return None
    empty = ("", "NA")
    return [[MISSING if cell.strip() in empty else cell.strip() for cell in row] for row in rows]
