"""A file of rows -> a file of labels, in the memory of a few chunks, however long the file.

    label    the predicted class
    score    above 0 is on the positive side of the operating point; with more than two classes, the winner's lead
    above    whether the row is above the operating point

One thread reads, the others encode and score; chunks are written in the order of the file. The output takes its place
when it is complete: a run that fails half-way leaves none.
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

from semisvm.errors import fault
from semisvm.kernels.threads import n_threads
from semisvm.tables.model import Model
from semisvm.tables.progress import Tell, say_nothing
from semisvm.tables.read import Chunk, RowReader
from semisvm.tables.writing import check_can_write, whole_file

OUTPUTS = (".csv", ".tsv", ".parquet")
COLUMNS = ("label", "score", "above")


@dataclass(frozen=True)
class Summary:
    """What was predicted: rows of each class, rows above the operating point, and how long it took."""

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
    tell: Tell = say_nothing,
) -> Summary:
    """Predict every row of a file; columns named in `keep` are copied from it."""
    began = time.perf_counter()
    out = check_can_write(out, force=force)
    if out.suffix.lower() not in OUTPUTS:
        raise fault(out, f"the suffix {out.suffix!r} tells no format to write", f"Use one of {', '.join(OUTPUTS)}")
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
            write(_table(model, chunk, codes, scores, is_above, keep))
            count += np.bincount(codes, minlength=len(count))
            n_above, n_rows = n_above + int(is_above.sum()), n_rows + len(chunk)
            tell("Predicting", n_rows, total, "rows")
    by_class = dict(zip(model.classes.names, count.tolist(), strict=True))
    return Summary(n_rows, by_class, n_above, time.perf_counter() - began)


def _predictions(
    model: Model, rows: RowReader, keep: tuple[str, ...]
) -> Iterator[tuple[Chunk, np.ndarray, np.ndarray]]:
    """Yield (chunk, codes, scores) in the order of the file; no more chunks are in memory than there are threads."""

    def work(chunk: Chunk) -> tuple[Chunk, np.ndarray, np.ndarray]:
        scores = model.scores_of(model.encode(rows, chunk))
        return chunk, model.codes_of(scores), model.lead_of(scores)

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


def _table(
    model: Model, chunk: Chunk, codes: np.ndarray, scores: np.ndarray, is_above: np.ndarray, keep: Sequence[str]
) -> Any:
    import pyarrow

    columns = {name: pyarrow.array(chunk.frame[name]) for name in keep} if chunk.frame is not None else {}
    names = pyarrow.array(model.classes.names)
    columns["label"] = names.take(pyarrow.array(codes))
    columns["score"] = pyarrow.array(scores.astype(np.float32))  # nine digits say all there is to say
    columns["above"] = pyarrow.array(is_above)
    return pyarrow.table(columns)


@contextmanager
def _writer(path: Path, suffix: str) -> Iterator[Any]:
    """Give a function that writes a table; all tables have the columns of the first."""
    from pyarrow import csv, parquet

    opened: list[Any] = []

    def write(table: Any) -> None:
        if not opened and suffix == ".parquet":
            opened.append(parquet.ParquetWriter(path, table.schema))
        elif not opened:
            options = csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else ",", quoting_style="needed")
            opened.append(csv.CSVWriter(path, table.schema, write_options=options))
        opened[0].write_table(table.cast(opened[0].schema) if opened and suffix == ".parquet" else table)

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()
