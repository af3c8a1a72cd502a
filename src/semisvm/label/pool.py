"""The rows to label, in the order of what they hold: sorting the file changes nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from semisvm.errors import DataError
from semisvm.tables.frame import as_written, has_no_label, read, require_columns, row_ids


class Pool:
    """The rows of a table that have no label.

    Attributes
    ----------
    table : DataFrame
        The whole table, as it was written.
    ids : list of str
        What identifies each row of the pool, ascending: digests of the cells, without the column of
        labels. So filling in labels changes no row.
    rows : ndarray
        The place of each row in the table.
    cells : DataFrame
        The rows of the pool.
    digest : str
        Of all rows: two files have the same one if they hold the same rows in any order.
    """

    def __init__(self, path: str | Path, target: str | None = None, unlabeled: str = ""):
        self.path, self.target, self.unlabeled = Path(path), target, unlabeled
        self._stamp = self._now()
        self.table = read(path)
        shown, rows = self.table, np.arange(len(self.table))
        if target is not None and target in self.table:
            rows = np.flatnonzero(has_no_label(self.table[target], unlabeled))
            shown = self.table.drop(columns=target)
        if not len(rows):
            why = f"every row has a label in {target!r}" if len(self.table) else "has no rows"
            raise DataError(f"{path}: {why}: nothing to ask.")
        ids = row_ids(shown.iloc[rows])
        order = np.argsort(ids, kind="stable")
        self.ids = [ids[k] for k in order]
        self.rows = rows[order]
        self.cells = shown.iloc[self.rows].reset_index(drop=True)
        self.place = {name: k for k, name in enumerate(self.ids)}
        self.digest = hashlib.blake2b("\n".join(self.ids).encode(), digest_size=16).hexdigest()

    def _now(self) -> tuple[int, int]:
        try:
            stat = self.path.stat()
        except OSError:
            raise DataError(f"{self.path}: there is no such file.") from None
        return stat.st_mtime_ns, stat.st_size

    def check(self) -> None:
        """Refuse to go on if the rows in the file have changed since it was read."""
        if self._now() == self._stamp:
            return
        now = Pool(self.path, self.target, self.unlabeled)
        if now.digest != self.digest:
            raise has_changed(self.path, len(self.ids), len(now.ids))
        self._stamp = now._stamp

    def numbers(self, column: str) -> np.ndarray:
        """A column of scores or confidences."""
        require_columns(self.cells, [column], self.path)
        values = np.empty(len(self.ids))
        for k, word in enumerate(as_written(self.cells[column])):
            try:
                values[k] = float(word)
            except ValueError:
                values[k] = np.nan
            if not np.isfinite(values[k]):
                raise DataError(
                    f"{self.path}: row {self.rows[k] + 1:,}: {word!r} in {column!r} is no number."
                )
        return values

    def words(self, column: str) -> list[str]:
        """A column of labels; every row has one."""
        require_columns(self.cells, [column], self.path)
        missing = np.flatnonzero(has_no_label(self.cells[column]))
        if len(missing):
            row = self.rows[missing].min() + 1
            raise DataError(f"{self.path}: row {row:,} has no label in {column!r}.")
        return [word.strip() for word in as_written(self.cells[column])]


def has_changed(path: str | Path, before: int, now: int) -> DataError:
    """The error for a file that no longer holds the rows of the session."""
    counts = f"{before:,} rows to label then, {now:,} now"
    if before == now:
        counts = f"{now:,} rows to label as before, but other cells"
    return DataError(
        f"{path}: has changed since the session began ({counts}). The answers are about the rows of"
        " then: bring that file back, or begin again with another --state."
    )
