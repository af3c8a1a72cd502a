"""A fitted model of a table: raw rows in, labels out.

    rows --schema--> columns --encoder--> X --estimator--> scores --threshold--> labels

A model whose estimator prepares the columns itself has no encoder.

`score` is the estimator's score minus the threshold: above 0 is on the positive side of the
operating point. With more than two classes it is the lead of the class that wins over the next. The
training rows are not part of a model, except for the support vectors; what is known about the fit
is in `summary`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.campaign import ThresholdClassifier
from semisvm.columns.cells import CellError
from semisvm.columns.encoder import TableEncoder
from semisvm.columns.table import Columns, Schema, listed
from semisvm.decision.operating_point import scores_beyond
from semisvm.errors import DataError, UndefinedError, fault, suggest
from semisvm.estimators import find_method
from semisvm.matrices import is_sparse_matrix
from semisvm.model_selection.thresholds import Probability
from semisvm.tables.classes import Classes, label_texts, seems_empty, unmark
from semisvm.tables.methods import lead_per_class, score_rows, shape_for, takes_columns
from semisvm.tables.operating import predict_codes
from semisvm.tables.read import Chunk, RowReader, open_rows
from semisvm.tables.summary import FitSummary

OUTPUTS = (".csv", ".tsv", ".parquet")


@contextmanager
def _parts_that_fit() -> Iterator[None]:
    """Say that a model's file is at fault where its parts do not fit together."""
    try:
        yield
    except (TypeError, IndexError, KeyError, AttributeError) as error:
        raise DataError(
            f"the model can't score rows ({error}): its parts do not fit together. Its file was"
            " changed, or written by other versions of the libraries: fit it again."
        ) from error


@dataclass(repr=False)
class Model:
    """What `semisvm fit` writes and `semisvm predict` reads.

    Attributes
    ----------
    schema : Schema
        What the columns are.
    encoder : TableEncoder or None
        Turns rows into a matrix; None where the estimator prepares the columns itself.
    estimator : classifier
        The estimator, fitted on class names.
    method : str
        The name of its method in `semisvm.estimators.METHODS`.
    classes : Classes
        The class names; of two, the second is the positive class.
    target : str
        The column of the labels.
    threshold : float
        Subtracted from the scores of two classes; 0 if the estimator sets its own.
    summary : FitSummary
        The summary of the fit.
    """

    schema: Schema
    encoder: TableEncoder | None
    estimator: Any
    method: str
    classes: Classes
    target: str
    threshold: float
    summary: FitSummary
    probability: Probability | None = None

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.classes.names))
        return (
            f"<Model of {self.target!r} by {self.method}: {names}; fitted on"
            f" {self.summary.data.name!r}>"
        )

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()

    def decision_function(self, rows: Any) -> np.ndarray:
        """Return scores of raw rows.

        Parameters
        ----------
        rows : DataFrame
            With the columns that the model was fitted to.

        Returns
        -------
        ndarray of shape (n,), or (n, n_classes) for more than two classes
            Scores above 0 are on the positive side of the operating point; with more than two
            classes, the largest wins.
        """
        return self.scores_of(self.prepare(rows))

    def predict_proba(self, rows: Any) -> np.ndarray:
        """Return probabilities of raw rows, an array of shape (n, 2) in the order of the classes.

        Parameters
        ----------
        rows : DataFrame
            With the columns that the model was fitted to.

        Returns
        -------
        ndarray of shape (n, 2)
            The probabilities, calibrated on out-of-fold scores of the labeled rows.
        """
        if self.probability is None:
            raise ValueError(
                "This model has no probabilities: there were too few labels, or more than two"
                " classes."
            )
        positive = self.probability.of(self.decision_function(rows))
        return np.column_stack([1 - positive, positive])

    def predict(self, rows: Any) -> np.ndarray:
        """Return the labels of raw rows, as text: an array of shape (n,)."""
        return np.array(self.classes.names)[predict_codes(self.decision_function(rows))]

    def prepare(self, rows: Any) -> Any:
        """Return raw rows as the estimator takes them: encoded, or as typed columns."""
        columns = self.schema.read(rows)
        if self.encoder is None:
            return columns
        with _parts_that_fit():
            return shape_for(find_method(self.method), self.encoder.encode(columns))

    def matrix_of(self, rows: Any) -> Any:
        """Return raw rows as numbers, for distances between them, whatever the estimator takes."""
        if self.encoder is not None:
            return self.prepare(rows)
        estimator = getattr(self.estimator, "estimator_", self.estimator)
        return estimator._average.views.matrix(self.schema.read(rows))

    def scores_of(self, X: Any) -> np.ndarray:
        """Return scores of prepared rows."""
        with _parts_that_fit():
            scores = score_rows(self.estimator, X)
        return scores if scores.ndim > 1 else scores_beyond(scores, self.threshold)

    def lead_of(self, scores: np.ndarray) -> np.ndarray:
        """Return how far each row is above the operating point; of several classes, its winner."""
        if scores.ndim == 1:
            return scores
        return (
            scores.max(axis=1) if self.has_class_thresholds else lead_per_class(scores).max(axis=1)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that the model needs."""
        return self.schema.names

    @property
    def has_class_thresholds(self) -> bool:
        """Whether each class has its own threshold, so that a row may be above none."""
        method = find_method(self.method)
        is_plain = takes_columns(method) and getattr(self.estimator, "confidence", None) is None
        return (
            method.sets_threshold
            and not is_plain
            and not isinstance(self.estimator, ThresholdClassifier)
        )

    @property
    def has_positives_only(self) -> bool:
        """Whether only positives were labeled, so that the name of the other class is made up."""
        return find_method(self.method).for_one_class

    # ---- files of rows ----

    def open(self, path: str | Path) -> RowReader:
        """Open a file of rows for this model; a missing column that the model needs is an error."""
        rows = open_rows(path)
        missing = [name for name in self.names if name not in rows.names]
        if missing:
            are, them = ("are no columns", "them") if missing[1:] else ("is no column", "it")
            reason = f"there {are} {listed(missing)}, which the model needs"
            remedy = f"Add {them}, or fit without {them}. {suggest(missing[0], rows.names)}"
            raise fault(path, reason, remedy)
        return rows

    def chunks(
        self, rows: RowReader, also: tuple[str, ...] = (), keep: tuple[str, ...] = ()
    ) -> Iterator[Chunk]:
        """Read rows with the columns of the model, those in `also`, and those to `keep`."""
        return rows.chunks(frozenset(self.names + also), keep)

    def score(self, chunk: Chunk) -> np.ndarray:
        """Score a chunk; a cell of the wrong type, or a row without a finite score, is an error
        that names its place in the file.
        """
        try:
            X = self.prepare(chunk.frame)
        except CellError as error:
            raise chunk.fault_at(error.row, error.reason, error.remedy) from None
        except DataError:
            raise
        except ValueError as error:
            reader = chunk.reader
            raise fault(reader.path, str(error), "Give rows as the model was fitted to") from None
        try:
            if not isinstance(X, Columns):
                _refuse_undefined(X.data[None] if is_sparse_matrix(X) else X)
            scores = self.scores_of(X)
            _refuse_undefined(scores)
            return scores
        except UndefinedError as error:
            row = error.row or 0
            reason = f"no score can be computed{_name_largest(chunk, row)}"
            remedy = "Correct the cell, or leave it empty"
            raise chunk.fault_at(row, reason, remedy) from None


def _refuse_undefined(values: np.ndarray) -> None:
    is_finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if not is_finite.all():
        raise UndefinedError("", int(np.argmin(is_finite)))


def _name_largest(chunk: Chunk, row: int) -> str:
    """In words, which number of a row is the largest."""
    numbers = {
        name: cell
        for name, cell in chunk.frame.iloc[row].items()
        if isinstance(cell, float) and cell == cell
    }
    if not numbers:
        return ""
    name = max(numbers, key=lambda name: abs(numbers[name]))
    return f", because column {str(name)!r} holds {numbers[name]:g}"


def is_unlabeled(model: Model, chunk: Chunk, mark: str | None) -> np.ndarray:
    """Return a mask of the rows of a chunk without a label; `mark` stands for none."""
    if model.target not in chunk.frame:
        return np.ones(len(chunk), dtype=bool)
    return read_codes(model, chunk, mark) < 0


def read_codes(
    model: Model, chunk: Chunk, unlabeled: str | None, others: Counter[str] | None = None
) -> np.ndarray:
    """Return the class of each row of a chunk as an index, -1 for unlabeled rows; an unknown label
    is an error.

    A model of positives only knows no name of negatives: any label but the positive one is theirs,
    and is counted in `others`. One that may as well mark rows without a label is an error unless
    `unlabeled` is given.
    """
    texts = unmark(label_texts(chunk.frame[model.target]), unlabeled)
    codes = model.classes.codes_of(texts)
    strange = np.flatnonzero(codes == -2).tolist()
    unknown = strange
    hint = ""
    if model.has_positives_only:
        unknown = [place for place in strange if unlabeled is None and seems_empty(texts[place])]
        hint = f", or to '' if such rows are {model.classes.names[0]!r}"
    if unknown:
        label = texts[unknown[0]]
        reason = f"the label {label!r} is not a class of the model"
        remedy = (
            f"{suggest(label, model.classes.names)}. Set `unlabeled` to {label!r} if it marks"
            f" unlabeled rows{hint}"
        )
        raise chunk.fault_at(unknown[0], reason, remedy)
    if others is not None:
        others.update(texts[place] for place in strange)
    return np.where(codes == -2, 0, codes)
