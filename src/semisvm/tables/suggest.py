"""Which rows to label next: those the model is least sure of, spread out so that no two of them are alike.

The model is unsure of a row whose score is near the operating point. The candidates are the rows nearest to it, many
times as many as are wanted. Rows are taken from them one after the other; the next is the one with the largest product
of its doubt and its distance from the rows taken before (Gonzalez 1985), so that near-duplicates of a row that is
already taken come last. The file may have any number of rows; only the candidates are kept in memory.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from semisvm.errors import DataError, fault
from semisvm.tables.disk import whole_file
from semisvm.tables.drawn import BY_DOUBT, name_drawn_column
from semisvm.tables.methods import Tell, say_nothing
from semisvm.tables.model import OUTPUTS, Model, read_codes
from semisvm.tables.operating import predict_codes
from semisvm.tables.summary import Suggestion
from semisvm.tables.training import Training, take_rows

N_SUGGESTED = 10  # rows that a report lists
CANDIDATES_PER_ROW = 20
FEWEST_CANDIDATES = 100
MOST_SEARCHED = 20_000  # unlabeled training rows that a report looks through


class AllLabeledError(DataError):
    """A file in which no row is left to label."""


def suggest_rows(
    model: Model, path: str | Path, n: int, *, unlabeled: str | None = None, tell: Tell = say_nothing
) -> list[Suggestion]:
    """Return the n rows of a file most worth labeling, the most doubtful first; labeled rows are skipped."""
    rows = model.open(path)
    names = rows.names
    has_target = names is None or model.target in names
    candidates = _Candidates(n)
    n_rows = 0
    for chunk in rows.chunks():  # cells as they are written: the rows are given back unchanged
        scores = model.score(rows, chunk)  # refuses rows without a score
        X = model.encode(rows, chunk, as_matrix=True)
        is_open = read_codes(model, rows, chunk, unlabeled) < 0 if has_target else np.ones(len(chunk), dtype=bool)
        candidates.look_through(model, X, scores, is_open, chunk.frame, chunk.start)
        n_rows += len(chunk)
        tell("Searching", n_rows, None, "rows")
    if not len(candidates.distance):
        raise AllLabeledError(str(fault(path, "every row has a label", "Give a file with rows that have none")))
    return candidates.spread(n)


def suggest_training_rows(model: Model, training: Training, n: int) -> list[Suggestion]:
    """Return the unlabeled training rows most worth labeling, for the report of a fit."""
    is_open = training.codes < 0
    if not is_open.any():
        return []
    open_rows = np.flatnonzero(is_open)
    if len(open_rows) > MOST_SEARCHED:
        open_rows = np.sort(np.random.default_rng(0).choice(open_rows, MOST_SEARCHED, replace=False))
    rows = take_rows(training.rows, open_rows)
    frame = None if training.columns is None else rows
    candidates = _Candidates(n)
    scores = model.decision_function(rows)
    everything = np.ones(len(open_rows), dtype=bool)
    candidates.look_through(model, model.encoder.transform(rows), scores, everything, frame)
    return [replace(one, row=int(open_rows[one.row - 1]) + 1) for one in candidates.spread(n)]


class _Candidates:
    """The most doubtful rows so far: `where` has their numbers, `distance` their distance to the operating point."""

    def __init__(self, n: int):
        self.size = max(CANDIDATES_PER_ROW * n, FEWEST_CANDIDATES)
        self.where, self.distance = np.empty(0, dtype=np.intp), np.empty(0)
        self.X: Any = None
        self.rows: dict[int, Suggestion] = {}

    def look_through(
        self, model: Model, X: Any, scores: np.ndarray, is_open: np.ndarray, frame: Any, start: int = 0
    ) -> None:
        """Add the most doubtful rows of a chunk; `start` rows of the file come before it."""
        codes, lead = predict_codes(scores), model.lead_of(scores)
        for i in self._add(X, np.where(is_open, np.abs(lead), np.inf), start):
            label = model.classes.names[codes[i]]
            self.rows[start + i] = Suggestion(start + i + 1, float(lead[i]), label, _cells_of(frame, i))

    def _add(self, X: Any, distance: np.ndarray, start: int) -> list[int]:
        """Add the rows of a chunk that belong to the best; return their places in the chunk."""
        best = np.argsort(distance, kind="stable")[: self.size]
        best = best[np.isfinite(distance[best])]
        where = np.concatenate([self.where, start + best])
        everything = np.concatenate([self.distance, distance[best]])
        stack = sparse.vstack if sparse.issparse(X) else np.vstack
        rows: Any = X[best] if self.X is None else stack([self.X, X[best]])
        kept = np.argsort(everything, kind="stable")[: self.size]
        self.where, self.distance = where[kept], everything[kept]
        self.X = rows.tocsr()[kept] if sparse.issparse(rows) else rows[kept]
        known = set(self.where.tolist())
        self.rows = {number: row for number, row in self.rows.items() if number in known}
        return [int(i) for i in best if start + i in known]

    def spread(self, n: int) -> list[Suggestion]:
        """Take one row after the other, doubtful and far from those taken before."""
        weight = 1 - self.distance / max(self.distance.max() * (1 + 1e-9), 1e-300)
        taken = [0]
        nearest = pairwise_distances(self.X, self.X[[0]])[:, 0]
        while len(taken) < min(n, len(self.where)):
            worth = nearest * weight
            worth[taken] = -1.0
            taken.append(int(np.argmax(worth)))
            nearest = np.minimum(nearest, pairwise_distances(self.X, self.X[[taken[-1]]])[:, 0])
        return [self.rows[int(self.where[i])] for i in sorted(taken)]


def write_suggestions(model: Model, found: list[Suggestion], out: str | Path, *, force: bool) -> None:
    """Write the rows with their own columns, how they were drawn, and an empty label cell to fill in for `fit`."""
    import pandas

    if not found or not found[0].values:
        frame = pandas.DataFrame({"row": [one.row for one in found]})
    else:
        frame = pandas.DataFrame([one.values for one in found])
    frame[name_drawn_column(getattr(model.encoder, "names", ()))] = BY_DOUBT
    frame[model.target] = ""
    suffix = check_suffix(out).suffix.lower()
    with whole_file(out, force=force) as unfinished:
        if suffix == ".parquet":
            for column in getattr(model.encoder, "columns", ()):  # cells are text; `fit` expects what it was fitted to
                if column.type == "number" and not column.strays:
                    frame[column.name] = pandas.to_numeric(frame[column.name].replace("", None))
            unfinished.write_bytes(frame.to_parquet(None, index=False))  # as for a file name that is not UTF-8
        else:
            frame.to_csv(unfinished, index=False, sep="\t" if suffix == ".tsv" else ",")


def check_suffix(out: str | Path) -> Path:
    """Return the path of a table to write; a suffix that names no format is an error."""
    out = Path(out)
    if out.suffix.lower() not in OUTPUTS:
        raise fault(out, f"the suffix {out.suffix!r} names no output format", f"Use one of {', '.join(OUTPUTS)}")
    return out


def _cells_of(frame: Any, i: int) -> dict[str, Any]:
    return {} if frame is None else {str(name): plain_cell(cell) for name, cell in frame.iloc[i].items()}


def plain_cell(value: Any) -> Any:
    if value is None or value != value:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value if isinstance(value, bool | int | float | str) else str(value)
