"""A fitted model as people keep it: raw rows in, labels out; rows from memory, or from a file of any length.

    rows --encoder--> X --estimator--> scores --threshold--> labels

`score` is the estimator's score minus the threshold: above 0 is on the positive side of the operating point. With more
than two classes it is the lead of the class that wins over the next. The training rows are not part of a model, except
for the support vectors; what is known about the fit is in `summary`.

`predict_file` writes one row per row of a file, in constant memory:

    label    the predicted class
    score    as above
    above    whether the row is above the operating point

One thread reads, the others encode and score; chunks are written in the order of the file. The output appears when it
is complete: a run that fails half-way leaves no output.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.campaign import ThresholdClassifier
from semisvm.errors import DataError, UndefinedError, fault, suggest
from semisvm.estimators.registry import find_method
from semisvm.kernels.threads import n_threads
from semisvm.tables.classes import Classes, label_texts, unmark
from semisvm.tables.disk import check_can_write, whole_file
from semisvm.tables.encode import CellError, MatrixEncoder, TableEncoder
from semisvm.tables.held_out import predict_codes
from semisvm.tables.methods import Tell, lead_per_class, say_nothing, score_rows, shape_for
from semisvm.tables.read import Chunk, RowReader, open_rows
from semisvm.tables.summary import FitSummary
from semisvm.tables.training import LIBSVM_MARK

OUTPUTS = (".csv", ".tsv", ".parquet")
LARGEST_SCORE = float(np.finfo(np.float32).max)
COLUMNS = ("label", "score", "above")


@dataclass
class Model:
    """What `semisvm fit` writes and `semisvm predict` reads.

    Attributes
    ----------
    encoder : TableEncoder or MatrixEncoder
        Turns raw rows into a matrix.
    estimator : classifier
        Fitted on class names.
    method : str
        The name of its method in `semisvm.estimators.registry`.
    classes : Classes
        The class names; of two, the second is the positive class.
    target : str
        The column of the labels.
    threshold : float
        Subtracted from the scores of two classes; 0 if the estimator sets its own.
    summary : FitSummary
        What is known about the fit.
    """

    encoder: TableEncoder | MatrixEncoder
    estimator: Any
    method: str
    classes: Classes
    target: str
    threshold: float
    summary: FitSummary

    def decision_function(self, rows: Any) -> np.ndarray:
        """Return scores of raw rows.

        Parameters
        ----------
        rows : DataFrame or matrix
            With the columns that the model was fitted to.

        Returns
        -------
        ndarray of shape (n,), or (n, n_classes) for more than two classes
            Above 0 is on the positive side of the operating point; of several classes, the largest wins.
        """
        return self.scores_of(self.encoder.transform(rows))

    def predict(self, rows: Any) -> np.ndarray:
        """Return the labels of raw rows, as text: an array of shape (n,)."""
        return np.array(self.classes.names)[predict_codes(self.decision_function(rows))]

    def scores_of(self, X: Any) -> np.ndarray:
        """Return scores of encoded rows."""
        scores = score_rows(self.estimator, shape_for(find_method(self.method), X))
        if scores.ndim > 1:
            return scores
        if np.isfinite(self.threshold):
            return scores - self.threshold
        # every row is accepted, or none: the scores move to one side of 0 and keep their order
        return scores / (1 + np.abs(scores)) - np.sign(self.threshold)

    def lead_of(self, scores: np.ndarray) -> np.ndarray:
        """Return one number per row, above 0 if the row is above the operating point.

        With more than two classes it is the lead of the winner over the next. If each class has its own threshold, it
        is how far the winner is above its threshold, which may be negative.
        """
        if scores.ndim == 1:
            return scores
        return scores.max(axis=1) if self.has_class_thresholds else lead_per_class(scores).max(axis=1)

    @property
    def has_class_thresholds(self) -> bool:
        """Whether each class has its own threshold, so that a row may be above none; a campaign's is on the lead."""
        return find_method(self.method).sets_threshold and not isinstance(self.estimator, ThresholdClassifier)

    # ---- files of rows ----

    def open(self, path: str | Path) -> RowReader:
        """Open a file of rows for this model; a missing column that the model needs is an error."""
        is_table = isinstance(self.encoder, TableEncoder)
        rows = open_rows(path, n_features=None if is_table else self.encoder.n_features_in_)
        if is_table != (rows.names is not None):
            table, numbers = "a table with named columns", "a file of bare numbers"
            given, wanted = (numbers, table) if is_table else (table, numbers)
            reason = f"this is {given}, and the model was fitted to {wanted}"
            raise fault(path, reason, "Give rows in the form the model was fitted to")
        for name in self.encoder.names if isinstance(self.encoder, TableEncoder) else ():
            if rows.names is not None and name not in rows.names:
                raise fault(path, f"there is no column {name!r}, which the model needs", "Add it, or fit without it")
        return rows

    def chunks(self, rows: RowReader, also: tuple[str, ...] = ()) -> Any:
        """Read rows in chunks, with the columns of the model and those named in `also`."""
        if not isinstance(self.encoder, TableEncoder):
            return rows.chunks()
        return rows.chunks(self.encoder.plain_numbers, frozenset(self.encoder.names + also))

    def encode(self, rows: RowReader, chunk: Chunk) -> Any:
        """Encode a chunk; a cell of the wrong type is an error that names the file and the row."""
        try:
            return self.encoder.transform(chunk.X if chunk.frame is None else chunk.frame)
        except CellError as error:
            row = chunk.start + error.row + 1
            raise fault(rows.path, f"row {row}: {error}", "Correct the cell, or leave it empty") from None
        except DataError:
            raise
        except ValueError as error:
            raise fault(rows.path, str(error), "Give rows as the model was fitted to") from None

    def score(self, rows: RowReader, chunk: Chunk, X: Any = None) -> np.ndarray:
        """Score a chunk; a row whose score would not be a number is an error that names the file, row and column."""
        X = self.encode(rows, chunk) if X is None else X
        try:
            is_finite = np.isfinite(X.data).all() if sparse.issparse(X) else np.isfinite(X).all(axis=1)
            if not np.all(is_finite):
                raise UndefinedError("", 0 if sparse.issparse(X) else int(np.flatnonzero(~is_finite)[0]))
            scores = self.scores_of(X)
            is_finite = np.isfinite(scores).reshape(len(scores), -1).all(axis=1)
            if not is_finite.all():
                raise UndefinedError("", int(np.argmin(is_finite)))
            return scores
        except UndefinedError as error:
            row = error.row or 0
            reason = f"row {chunk.start + row + 1}: no score can be computed{_name_largest(chunk, row)}"
            raise fault(rows.path, reason, "Correct the cell, or leave it empty") from None


def _name_largest(chunk: Chunk, row: int) -> str:
    """In words, which number of a row is the largest."""
    if chunk.frame is None:
        values = chunk.X[[row]].toarray()[0] if sparse.issparse(chunk.X) else np.asarray(chunk.X[row])
        at = int(np.argmax(np.abs(values)))
        return f", because feature {at + 1} is {values[at]:g}"
    numbers = {name: cell for name, cell in chunk.frame.iloc[row].items() if isinstance(cell, float) and cell == cell}
    if not numbers:
        return ""
    name = max(numbers, key=lambda name: abs(numbers[name]))
    return f", because column {str(name)!r} holds {numbers[name]:g}"


def read_codes(model: Model, rows: RowReader, chunk: Chunk, unlabeled: str | None) -> np.ndarray:
    """Return the class of each row of a chunk as an index, -1 for unlabeled rows; an unknown label is an error."""
    cells = chunk.y if chunk.frame is None else chunk.frame[model.target]
    if unlabeled is None and sparse.issparse(chunk.X) and LIBSVM_MARK not in model.classes.names:
        unlabeled = LIBSVM_MARK
    texts = unmark(label_texts(cells), unlabeled)
    codes = model.classes.codes_of(texts)
    strange = np.flatnonzero(codes == -2)
    if len(strange):
        label, row = texts[strange[0]], chunk.start + int(strange[0]) + 1
        reason = f"row {row}: the label {label!r} is not a class of the model"
        remedy = f"{suggest(label, model.classes.names)}. Set `unlabeled` to {label!r} if it marks unlabeled rows"
        raise fault(rows.path, reason, remedy)
    return codes


@dataclass(frozen=True)
class Predicted:
    """What was predicted: rows in all, rows per class, rows above the operating point, and the time it took."""

    rows: int
    by_class: dict[str, int]
    n_above: int
    seconds: float


def predict_file(
    model: Model,
    path: str | Path,
    out: str | Path,
    *,
    keep: Sequence[str] = (),
    force: bool = False,
    neutralize: bool = False,
    tell: Tell = say_nothing,
) -> Predicted:
    """Predict every row of a file; columns named in `keep` are copied from it.

    With `neutralize`, text cells of a .csv or .tsv that a spreadsheet would run as a formula get a ' before them.
    """
    began = time.perf_counter()
    out = check_can_write(out, force=force, inputs=[path])
    if out.suffix.lower() not in OUTPUTS:
        raise fault(out, f"the suffix {out.suffix!r} names no output format", f"Use one of {', '.join(OUTPUTS)}")
    rows = model.open(path)
    for name in keep:
        rows.require(name)
        if name in COLUMNS:
            raise fault(path, f"a column {name!r} can't be kept beside the prediction's own", "Rename it")
    count = np.zeros(len(model.classes.names), dtype=np.int64)
    n_above = n_rows = 0
    total: int | None = None
    with whole_file(out, force=force) as unfinished, _writer(unfinished, out.suffix.lower()) as write:
        for chunk, codes, scores in _predictions(model, rows, tuple(keep)):
            total = rows.guess_rows(chunk) if n_rows == 0 else total
            is_above = scores > 0
            table = _output_table(model, chunk, codes, scores, is_above, keep)
            write(_without_formulas(table) if neutralize and out.suffix.lower() != ".parquet" else table)
            count += np.bincount(codes, minlength=len(count))
            n_above, n_rows = n_above + int(is_above.sum()), n_rows + len(chunk)
            tell("Predicting", n_rows, total, "rows")
    by_class = dict(zip(model.classes.names, count.tolist(), strict=True))
    return Predicted(n_rows, by_class, n_above, time.perf_counter() - began)


def _predictions(
    model: Model, rows: RowReader, keep: tuple[str, ...]
) -> Iterator[tuple[Chunk, np.ndarray, np.ndarray]]:
    """Yield (chunk, codes, scores) in the order of the file; at most one chunk per thread is in memory."""

    def work(chunk: Chunk) -> tuple[Chunk, np.ndarray, np.ndarray]:
        scores = model.score(rows, chunk)
        return chunk, predict_codes(scores), model.lead_of(scores)

    at_once = n_threads()
    waiting: deque[Future[tuple[Chunk, np.ndarray, np.ndarray]]] = deque()
    with ThreadPoolExecutor(at_once) as pool:
        try:
            for chunk in model.chunks(rows, keep):
                waiting.append(pool.submit(work, chunk))
                if len(waiting) > at_once:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _output_table(
    model: Model, chunk: Chunk, codes: np.ndarray, scores: np.ndarray, is_above: np.ndarray, keep: Sequence[str]
) -> Any:
    import pyarrow

    columns = {name: pyarrow.array(chunk.frame[name]) for name in keep} if chunk.frame is not None else {}
    names = pyarrow.array(model.classes.names)
    columns["label"] = names.take(pyarrow.array(codes))
    # The digits beyond float32 are noise of the solver; a score beyond its range stays a number.
    columns["score"] = pyarrow.array(np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE).astype(np.float32))
    columns["above"] = pyarrow.array(is_above)
    return pyarrow.table(columns)


def _without_formulas(table: Any) -> Any:
    """Put ' before the text cells that a spreadsheet would run."""
    import pyarrow
    from pyarrow import compute

    for number, name in enumerate(table.column_names):
        if pyarrow.types.is_string(table.column(name).type) or pyarrow.types.is_large_string(table.column(name).type):
            safe = compute.replace_substring_regex(table.column(name), r"^([=+\-@\t\r])", r"'\1")
            table = table.set_column(number, name, safe)
    return table


@contextmanager
def _writer(path: Path, suffix: str) -> Iterator[Any]:
    """Give a function that writes a table; all tables have the columns of the first."""
    from pyarrow import csv, parquet

    opened: list[Any] = []

    def write(table: Any) -> None:
        if not opened and suffix == ".parquet":
            opened.append(parquet.ParquetWriter(stream, table.schema))
        elif not opened:
            options = csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else ",", quoting_style="needed")
            opened.append(csv.CSVWriter(stream, table.schema, write_options=options))
        opened[0].write_table(table.cast(opened[0].schema) if opened and suffix == ".parquet" else table)

    with open(path, "wb") as stream:  # Arrow itself opens no file whose name is not UTF-8
        try:
            yield write
        finally:
            for writer in opened:
                writer.close()
