"""A promise on new rows: does it still hold? Some accepted rows of each file are labeled."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.errors import DataError
from semisvm.evidence.monitor import Monitor, MonitorVerdict
from semisvm.files import whole_file
from semisvm.label.pool import Pool
from semisvm.label.rows_file import RowsFile
from semisvm.tables.model import TableModel

FORMAT = 1
LOWEST_ACCEPTED = float(np.nextafter(0.0, 1.0))  # scores above 0 are accepted


class Watch:
    """A precision that was promised, watched over months: one file of new rows each.

    Attributes
    ----------
    monitor : Monitor
        What was drawn and answered, and the evidence against the promise.
    months : list of str
        The digest of each file, in the order in which rows of it were drawn.
    """

    def __init__(self, model: TableModel, data: str | Path, state: str | Path, level: float):
        self.model, self.state = model, Path(state)
        about = model.summary
        if len(about.classes) != 2:
            raise DataError(
                f"{about.data}: its model has {len(about.classes)} classes; a precision is about"
                " one of two."
            )
        self.pool = Pool(data, about.target, about.unlabeled)
        self.months: list[str] = []
        self.monitor = Monitor(LOWEST_ACCEPTED, min_precision=level, pos_label=about.positive)
        if self.state.exists():
            self._read()
        if self.monitor.min_precision != level:
            raise DataError(
                f"{state}: watches a precision of {self.monitor.min_precision:g}, not {level:g}."
            )
        tag = f"{self.pool.digest} {self.monitor.random_state}".encode()
        self.files = RowsFile(
            self.pool,
            hashlib.blake2b(tag, digest_size=2).hexdigest(),
            self.state.name,
            about.classes,
        )

    def write_rows(self, out: str | Path, n: int, *, force: bool = False) -> int:
        """Write accepted rows to label: of a new file they are drawn, of a known one those without
        an answer; return how many.
        """
        if self.pool.digest not in self.months:
            scores = self.model.scores(self.pool.cells, str(self.pool.path))
            self.monitor.draw(scores, n)
            self.months.append(self.pool.digest)
            self._save()
        rows = self.monitor.open_rows(self.months.index(self.pool.digest))
        return self.files.write(out, [self.pool.ids[row] for row in rows], (), force=force)

    def read_answers(self, path: str | Path) -> tuple[int, int, list[str]]:
        """Read a file of rows back; return the answers, the rows without one, and remarks."""
        if self.pool.digest not in self.months:
            raise DataError(f"{self.pool.path}: no row of it was drawn with {self.state}.")
        answers, n_blank, remarks = self.files.read(path)
        if answers:
            rows = [self.pool.place[name] for name in answers]
            month = self.months.index(self.pool.digest)
            self.monitor.tell(rows, list(answers.values()), month)
            self._save()
        return len(answers), n_blank, remarks

    def verdict(self) -> MonitorVerdict:
        """Whether the promise still holds."""
        return self.monitor.verdict()

    def _read(self) -> None:
        try:
            content = json.loads(self.state.read_bytes())
            if content["semisvm"] != "watch":
                raise KeyError
            if content["format"] > FORMAT:
                raise DataError(f"{self.state}: was written by a newer semisvm.")
            self.months = list(content["months"])
            self.monitor = Monitor.from_dict(content["monitor"])
        except DataError:
            raise
        except (ValueError, LookupError, TypeError, RecursionError):
            raise DataError(
                f"{self.state}: is no state of semisvm monitor, or is damaged."
            ) from None

    def _save(self) -> None:
        content: dict[str, Any] = {"semisvm": "watch", "format": FORMAT, "months": self.months}
        with whole_file(self.state, force=True) as file:
            json.dump({**content, "monitor": self.monitor.as_dict()}, file)
