"""A fitted model as people keep it: raw rows in, labels out.

    rows --encoder--> X --estimator--> scores --threshold--> classes

`score` is the estimator's score minus the threshold: above 0 is on the positive side of the operating point. With more
than two classes it is the lead of the class that wins over the next. The training rows are not in it, apart from the
support vectors; what is known about the fit is in `facts`, plain JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.errors import DataError, fault
from semisvm.estimators.registry import find_method
from semisvm.tables.classes import Classes
from semisvm.tables.encode import CellError, MatrixEncoder, TableEncoder
from semisvm.tables.methods import margins, score_rows, shape_for
from semisvm.tables.read import Chunk, RowReader, open_rows


@dataclass
class Model:
    """What `semisvm fit` writes and `semisvm predict` reads; threshold is 0 where the estimator sets its own."""

    encoder: TableEncoder | MatrixEncoder
    estimator: Any
    method: str
    classes: Classes
    target: str
    threshold: float
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def positive(self) -> str | None:
        """The class that precision and recall are of, where there are two."""
        return self.classes.names[1] if len(self.classes.names) == 2 else None

    def decision_function(self, rows: Any) -> np.ndarray:
        """Scores of raw rows (a frame with the model's columns, or a matrix): (n,), or (n, k) for k > 2 classes."""
        return self.scores_of(self.encoder.transform(rows))

    def predict(self, rows: Any) -> np.ndarray:
        """Labels of raw rows, as text."""
        return np.array(self.classes.names)[self.codes_of(self.decision_function(rows))]

    def scores_of(self, X: Any) -> np.ndarray:
        """Scores of encoded rows."""
        scores = score_rows(self.estimator, shape_for(find_method(self.method), X))
        if scores.ndim > 1:
            return scores
        if np.isfinite(self.threshold):
            return scores - self.threshold
        # every row is accepted, or none: the scores go to one side of 0 and keep their order
        return scores / (1 + np.abs(scores)) - np.sign(self.threshold)

    def codes_of(self, scores: np.ndarray) -> np.ndarray:
        """Classes of rows with these scores."""
        if scores.ndim == 1:
            return (scores > 0).astype(np.intp)
        if hasattr(self.estimator, "_codes_of"):  # thresholds of its own, one a class
            return np.asarray(self.estimator._codes_of(scores))
        return scores.argmax(axis=1)

    def lead_of(self, scores: np.ndarray) -> np.ndarray:
        """One number a row, above 0 where the row is above the operating point.

        With more than two classes it is the lead of the winner over the next; where each class has a threshold of its
        own, by how much the winner is above its own, which may be less than 0.
        """
        if scores.ndim == 1:
            return scores
        return scores.max(axis=1) if find_method(self.method).sets_threshold else margins(scores).max(axis=1)

    # ---- files ----

    def open(self, path: str | Path) -> RowReader:
        """Open a file of rows for this model; a column that the model needs and the file lacks is a fault."""
        is_table = isinstance(self.encoder, TableEncoder)
        rows = open_rows(path, n_features=None if is_table else self.encoder.n_features_in_)
        if is_table != (rows.names is not None):
            kinds = ("a table with named columns", "a file of bare numbers")
            reason = f"this is {kinds[not is_table]}" if not is_table else f"this is {kinds[1]}"
            reason += f", and the model was fitted to {kinds[not is_table]}"
            raise fault(path, reason, "Give rows in the form the model was fitted to")
        for name in self.encoder.names if isinstance(self.encoder, TableEncoder) else ():
            if rows.names is not None and name not in rows.names:
                raise fault(path, f"there is no column {name!r}, which the model needs", "Add it, or fit without it")
        return rows

    def chunks(self, rows: RowReader, also: tuple[str, ...] = ()) -> Any:
        """Read rows in chunks, the columns of the model and those named in `also`."""
        if not isinstance(self.encoder, TableEncoder):
            return rows.chunks()
        return rows.chunks(self.encoder.plain_numbers, frozenset(self.encoder.names + also))

    def encode(self, rows: RowReader, chunk: Chunk) -> Any:
        """Encode a chunk; a cell that is not what its column is becomes a sentence with the file and the row."""
        try:
            return self.encoder.transform(chunk.X if chunk.frame is None else chunk.frame)
        except CellError as error:
            row = chunk.start + error.row + 1
            raise fault(rows.path, f"row {row}: {error}", "Mend the cell, or leave it empty") from None
        except DataError:
            raise
        except ValueError as error:
            raise fault(rows.path, str(error), "Give rows as the model was fitted to") from None
