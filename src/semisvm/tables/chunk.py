"""Some rows of a file, and what every opened file can do: the nouns of reading in parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.data.errors import fault, suggest

if TYPE_CHECKING:
    import pandas

ROWS_AT_A_TIME = 65_536


@dataclass(frozen=True)
class Chunk:
    """Some rows: a frame of named columns, or a matrix X with its labels y. `start` rows of the file come before."""

    start: int
    frame: pandas.DataFrame | None = None
    X: Any = None
    y: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.frame) if self.frame is not None else self.X.shape[0]


@dataclass(frozen=True)
class Rows:
    """A file opened for reading in chunks; `names` are its columns, None where it holds a bare matrix."""

    path: Path
    names: tuple[str, ...] | None

    def chunks(self, numbers: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows; columns in `numbers` as float64, and where `only` is given no other columns than those."""
        raise NotImplementedError

    def guess_rows(self, chunk: Chunk) -> int | None:
        """About how many rows the file has, seen the first chunk; None where nobody can tell."""
        return None

    def require(self, column: str) -> str:
        """Return the column's name; a fault where there is none of that name."""
        if self.names is None:
            raise fault(self.path, f"a file without named columns has no column {column!r}", "Leave its name out")
        if column not in self.names:
            raise fault(self.path, f"there is no column {column!r}", suggest(column, self.names))
        return column
