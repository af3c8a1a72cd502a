"""Which rows to label next: those the model is least sure of, spread out so that no two tell the same.

A row is in doubt where its score is near the operating point. Of the rows in most doubt, many times as many as are
wanted, one after the other is taken that is far from those taken before (Gonzalez 1985) and much in doubt: the product
of both decides, so that near-duplicates of a row that is taken already come last. Any number of rows can be looked
through; only the candidates are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from semisvm.errors import fault
from semisvm.tables.evaluate import read_codes
from semisvm.tables.model import Model
from semisvm.tables.progress import Tell, say_nothing
from semisvm.tables.training import Training
from semisvm.tables.writing import whole_file

CANDIDATES_A_ROW = 20
FEWEST_CANDIDATES = 100


@dataclass(frozen=True)
class Suggestion:
    """A row worth labeling: its number in the file, counted from 1, its score, its cells."""

    row: int
    score: float
    label: str
    values: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return {"row": self.row, "score": self.score, "label": self.label, "values": self.values}


def suggest_rows(
    model: Model, path: str | Path, n: int, *, unlabeled: str | None = None, tell: Tell = say_nothing
) -> list[Suggestion]:
    """Return the n rows of a file most worth labeling, those of most doubt first; labeled rows are passed over."""
    rows = model.open(path)
    names = rows.names
    has_target = names is None or model.target in names
    candidates = _Candidates(n)
    n_rows = 0
    for chunk in rows.chunks():  # every cell as it is written: the rows are to be given back as they came
        X = model.encode(rows, chunk)
        is_open = read_codes(model, rows, chunk, unlabeled) < 0 if has_target else np.ones(len(chunk), dtype=bool)
        candidates.look_through(model, X, is_open, chunk.frame, chunk.start)
        n_rows += len(chunk)
        tell("Looking", n_rows, None, "rows")
    if not len(candidates.distance):
        raise fault(path, "every row has a label", "Give a file with rows that have none")
    return candidates.spread(n)


def suggest_training_rows(model: Model, training: Training, n: int) -> list[Suggestion]:
    """Return the unlabeled training rows most worth labeling, for the report of a fit."""
    is_open = training.codes < 0
    if not is_open.any():
        return []
    X = model.encoder.transform(training.rows)
    candidates = _Candidates(n)
    candidates.look_through(model, X, is_open, None if training.columns is None else training.rows)
    return candidates.spread(n)


class _Candidates:
    """The rows of most doubt so far, for n to be taken: `where` their numbers, `distance` from the operating point."""

    def __init__(self, n: int):
        self.size = max(CANDIDATES_A_ROW * n, FEWEST_CANDIDATES)
        self.where, self.distance = np.empty(0, dtype=np.intp), np.empty(0)
        self.X: Any = None
        self.rows: dict[int, Suggestion] = {}

    def look_through(self, model: Model, X: Any, is_open: np.ndarray, frame: Any, start: int = 0) -> None:
        """Take in the rows of a chunk that are in most doubt; `start` rows of the file come before it."""
        scores = model.scores_of(X)
        codes, lead = model.codes_of(scores), model.lead_of(scores)
        for i in self._add(X, np.where(is_open, np.abs(lead), np.inf), start):
            label = model.classes.names[codes[i]]
            self.rows[start + i] = Suggestion(start + i + 1, float(lead[i]), label, _values(frame, i))

    def _add(self, X: Any, distance: np.ndarray, start: int) -> list[int]:
        """Take in those of a chunk that belong to the best; return their places in the chunk."""
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
        """Take one row after the other, far from those taken before and much in doubt."""
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
    """Write the rows with their own columns and an empty cell for the label: to fill in, and to give to `fit`."""
    import pandas

    if not found or not found[0].values:
        frame = pandas.DataFrame({"row": [one.row for one in found]})
    else:
        frame = pandas.DataFrame([one.values for one in found])
    frame[model.target] = ""
    with whole_file(out, force=force) as unfinished:
        frame.to_csv(unfinished, index=False)


def _values(frame: Any, i: int) -> dict[str, Any]:
    return {} if frame is None else {str(name): _cell(cell) for name, cell in frame.iloc[i].items()}


def _cell(value: Any) -> Any:
    if value is None or value != value:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value if isinstance(value, bool | int | float | str) else str(value)
