"""Predictions for a file of any length, in constant memory: one row per row of the file.

    label         the predicted class
    score         as the report shows it: above 0 is on the positive side of the model's line
    above         whether the row is above the operating point
    probability   of the positive class; only where it could be calibrated on out-of-fold scores

One thread reads, the others encode and score; chunks are written in the order of the file. The
output appears when it is complete: a run that fails half-way leaves no output.

A folder of files gives a folder with one Parquet file for each of them, written here or by the
workers of a cluster. Each appears when it is complete. `_semisvm.json` in it says what the
predictions are of, so that a run that was ended can be resumed: files that are there are left as
they are.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.disk import whole_file
from semisvm.errors import fault
from semisvm.kernels.threads import n_threads
from semisvm.tables.column_checks import say_far_from_fit
from semisvm.tables.folders import files_of
from semisvm.tables.methods import Tell, say_nothing
from semisvm.tables.model import OUTPUTS, Model
from semisvm.tables.operating import predict_codes
from semisvm.tables.read import Chunk, RowReader

if TYPE_CHECKING:
    from semisvm.tables.partition_rows import Here, OnCluster

LARGEST_SCORE = float(np.finfo(np.float32).max)
FOLDER_NOTE = "_semisvm.json"
DIFFERENCES = {  # by what the note of a folder tells, why a run can't be resumed
    "model": "of another model",
    "keep": "with other columns to keep (`keep`)",
    "files": "of other files, or of files that have changed since",
}
PREDICTED = ("label", "score", "above", "probability")


@dataclass(frozen=True)
class Predicted:
    """What was predicted: rows, rows per class and above the operating point, seconds."""

    rows: int
    by_class: dict[str, int]
    n_above: int
    seconds: float
    notes: tuple[str, ...] = ()  # what a person should know about these rows

    def merged(self, other: Predicted) -> Predicted:
        """Return what both have predicted."""
        by_class = {name: n + other.by_class[name] for name, n in self.by_class.items()}
        return Predicted(
            self.rows + other.rows,
            by_class,
            self.n_above + other.n_above,
            self.seconds + other.seconds,
            self.notes or other.notes,
        )


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
    """Predict every row of a file; columns in `keep` are copied, without formulas on request."""
    began = time.perf_counter()
    out = check_suffix(out)
    rows = model.open(path)
    for name in keep:
        rows.require(name)
        if name in PREDICTED:
            raise fault(
                path, f"the column {name!r} has the name of a column that is added", "Rename it"
            )
    count = np.zeros(len(model.classes.names), dtype=np.int64)
    n_above = n_rows = 0
    total: int | None = None
    first: Any = None
    with (
        whole_file(out, force=force, inputs=[path]) as unfinished,
        _writer(unfinished, out) as write,
    ):
        for chunk, codes, scores in _predictions(model, rows, tuple(keep)):
            if n_rows == 0:
                total = rows.guess_rows(chunk)
                first = chunk.frame
            is_above = scores > 0
            table = _output_table(model, chunk, codes, scores, is_above)
            if neutralize and out.suffix.lower() != ".parquet":
                table = _without_formulas(table)
            write(table)
            count += np.bincount(codes, minlength=len(count))
            n_above += int(is_above.sum())
            n_rows += len(chunk)
            tell("Predicting", n_rows, total, "rows")
    by_class = dict(zip(model.classes.names, count.tolist(), strict=True))
    notes = say_far_from_fit(model.summary, n_above, n_rows, model.schema.read(first))
    return Predicted(n_rows, by_class, n_above, time.perf_counter() - began, notes)


def check_suffix(out: str | Path) -> Path:
    """Return the path of a table to write; a suffix that names no format is an error."""
    out = Path(out)
    if out.suffix.lower() not in OUTPUTS:
        reason = f"the suffix {out.suffix!r} names no output format"
        raise fault(out, reason, f"Use one of {', '.join(OUTPUTS)}")
    return out


# ---- folders ----


def predict_folder(
    model: Model,
    digest: str,
    folder: str | Path,
    out: str | Path,
    *,
    workers: Here | OnCluster,
    keep: Sequence[str] = (),
    force: bool = False,
    resume: bool = False,
    tell: Tell = say_nothing,
) -> Predicted:
    """Predict every file of a folder into a file of another folder, which is made; return counts of
    this run.

    digest    identifies the model (`files.model_digest`)
    workers   who reads and writes the files; `keep`: columns to copy
    force     whether files that are there are replaced; `resume`: whether they are left, and only
              others are written
    """
    began = time.perf_counter()
    files = [file.resolve() for file in files_of(Path(folder))]
    target = _out_folder(Path(out), Path(folder), force=force, resume=resume)
    names = {file: f"{file.stem}.parquet" for file in files}
    if len(set(names.values())) < len(files):
        names = {file: f"{file.name}.parquet" for file in files}
    there = {name: _stamp(target / name) for name in names.values() if (target / name).exists()}
    about: dict[str, Any] = {
        "model": digest,
        "keep": list(keep),
        "files": {file.name: _stamp(file) for file in files},
    }
    note = target / FOLDER_NOTE
    replaced = {} if resume else there  # files of earlier runs, until they are written again
    if resume and note.exists():
        before = json.loads(note.read_text(encoding="utf-8"))
        replaced = before.pop("replaced", {})
        if differences := [
            words for key, words in DIFFERENCES.items() if before[key] != about[key]
        ]:
            reason = f"its predictions are {' and '.join(differences)}"
            remedy = "Write to another folder, or set `force` in place of `resume` to replace them"
            raise fault(target, reason, remedy)
    with whole_file(note, force=True) as unfinished:
        unfinished.write_text(json.dumps(about | {"replaced": replaced}), encoding="utf-8")
    done = {name for name, stamp in there.items() if resume and replaced.get(name) != stamp}
    left = [file for file in files if names[file] not in done]
    predicted = Predicted(0, dict.fromkeys(model.classes.names, 0), 0, 0.0)
    if left:
        outputs = {str(file): str(target / names[file]) for file in left}
        predicted = workers.gather(
            _predict_one, left, model, outputs, tuple(keep), tell=tell, what="Predicting"
        )
    return replace(predicted, seconds=time.perf_counter() - began)


def _stamp(file: Path) -> list[int]:
    """Return what changes when a file is written again."""
    about = file.stat()
    return [about.st_size, about.st_mtime_ns]


def _predict_one(
    file: Path, model: Model, outputs: dict[str, str], keep: tuple[str, ...]
) -> Predicted:
    """A task: one file. Whoever replaces files has been asked already."""
    found = predict_file(model, file, outputs[str(file)], keep=keep, force=True)
    return replace(found, notes=tuple(f"{file.name}: {note}" for note in found.notes))


def _out_folder(out: Path, folder: Path, *, force: bool, resume: bool) -> Path:
    """Return the folder to write to; one with files must be replaced or resumed."""
    if out.exists() and not out.is_dir():
        reason = "this is a file, and predictions of a folder are a folder"
        raise fault(out, reason, "Give the name of a folder")
    if out.exists() and out.resolve() == folder.resolve():
        raise fault(
            out, "this folder is read by the same command", "Choose another name for the output"
        )
    if out.exists() and any(out.iterdir()) and not (force or resume):
        remedy = (
            "Set `resume` to go on with it, `force` to replace its files, or choose another name"
        )
        raise fault(out, "the folder exists and is not empty", remedy)
    if not out.parent.is_dir():
        reason = f"there is no folder {out.parent} to write to"
        raise fault(out, reason, "Create the folder, or choose another")
    try:
        out.mkdir(exist_ok=True)
    except OSError as error:
        raise fault(out, f"can't be made ({error.strerror})", "Choose another folder") from None
    return out.resolve()


# ---- files ----


def _predictions(
    model: Model, rows: RowReader, keep: tuple[str, ...]
) -> Iterator[tuple[Chunk, np.ndarray, np.ndarray]]:
    """Yield (chunk, codes, scores) in the order of the file, one chunk per thread."""

    def work(chunk: Chunk) -> tuple[Chunk, np.ndarray, np.ndarray]:
        scores = model.score(chunk)
        return chunk, predict_codes(scores), model.lead_of(scores)

    at_once = n_threads()
    waiting: deque[Future[tuple[Chunk, np.ndarray, np.ndarray]]] = deque()
    with ThreadPoolExecutor(at_once) as pool:
        try:
            for chunk in model.chunks(rows, keep=keep):
                waiting.append(pool.submit(work, chunk))
                if len(waiting) > at_once:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _output_table(
    model: Model, chunk: Chunk, codes: np.ndarray, scores: np.ndarray, is_above: np.ndarray
) -> Any:
    import pyarrow

    columns = dict(chunk.kept)
    columns["label"] = pyarrow.array(model.classes.names).take(pyarrow.array(codes))
    # The digits beyond float32 are noise of the solver; a score beyond its range stays a number.
    clipped = np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE)
    columns["score"] = pyarrow.array(clipped.astype(np.float32))
    columns["above"] = pyarrow.array(is_above)
    if model.probability is not None:
        columns["probability"] = pyarrow.array(model.probability.of(scores).astype(np.float32))
    return pyarrow.table(columns)


def _without_formulas(table: Any) -> Any:
    """Put ' before the text cells that a spreadsheet would run."""
    import pyarrow
    from pyarrow import compute

    for number, field in enumerate(table.schema):
        if field.type in (pyarrow.string(), pyarrow.large_string()):
            cells = table.column(number)
            safe = compute.replace_substring_regex(cells, r"^([=+\-@\t\r])", r"'\1")
            table = table.set_column(number, field.name, safe)
    return table


@contextmanager
def _writer(path: Path, out: Path) -> Iterator[Any]:
    """Give a function that writes tables with the columns of the first into the file `out`."""
    import pyarrow
    from pyarrow import csv, parquet

    suffix = out.suffix.lower()
    writer: Any = None
    schema: Any = None

    def write(table: Any) -> None:
        nonlocal writer, schema
        if suffix != ".parquet":
            table = _as_text_columns(table, out)
        if writer is None:
            schema = table.schema
            delimiter = "\t" if suffix == ".tsv" else ","
            options = csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
            writer = (
                parquet.ParquetWriter(stream, schema)
                if suffix == ".parquet"
                else csv.CSVWriter(stream, schema, write_options=options)
            )
        try:
            writer.write_table(table.cast(schema))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
            reason = f"a column that is kept can't be written ({error})"
            remedy = "Leave it out of `keep`, or turn it into text in the data file"
            raise fault(out, reason, remedy) from None

    with open(path, "wb") as stream:  # Arrow itself opens no file whose name is not UTF-8
        try:
            yield write
        finally:
            if writer is not None:
                writer.close()


def _as_text_columns(table: Any, out: Path) -> Any:
    """Return a table that can be written as text; a fault where a kept column can't be."""
    import pyarrow
    from pyarrow import types

    for number, field in enumerate(table.schema):
        is_bytes = "binary" in str(field.type)
        if types.is_float16(field.type):  # PyArrow before 17 can neither write nor cast them
            wider = pyarrow.array(table.column(number).to_pandas().astype(np.float32))
            table = table.set_column(number, field.name, wider)
        if not is_bytes and not types.is_nested(field.type) and "view" not in str(field.type):
            continue
        try:
            column = table.column(number).cast(pyarrow.string())
        except pyarrow.ArrowException:
            reason = f"column {field.name!r} holds {field.type}, which a text file can't hold"
            remedy = "Write to a .parquet file, or leave the column out of `keep`"
            raise fault(out, reason, remedy) from None
        table = table.set_column(number, field.name, column)
    return table
