"""Who reads the files of a folder, and all of their rows as machines take them: not held in memory.

readers   `Here`: this process, one file after the other;  `OnCluster`: the workers of a Dask
          client, each the files that the scheduler gives it. A file that was read by a worker that
          died is read again by another.
rows      encoded once into a scratch file here; on a cluster kept by the workers, where they fit
          into half of their memory, and otherwise read and encoded again in every pass

`rows_on_disk` does the same for a table of numbers that needs no encoder: decoding Parquet takes
six times as long as reading the scratch file, and text much longer, so it is not done in every pass
of a fit.
"""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import sparse

from semisvm.columns.cells import CellError
from semisvm.columns.encoder import TableEncoder
from semisvm.errors import DataError, counted, fault, shorten
from semisvm.labels import encode
from semisvm.matrices import as_dense, stack_rows
from semisvm.primal import DaskRows, FileRows
from semisvm.primal.dask_rows import FAN_IN, compute_on_cluster
from semisvm.primal.files import CsrScratchWriter, ScratchWriter
from semisvm.primal.rows import Rows
from semisvm.tables.classes import Classes
from semisvm.tables.folders import texts_of_labels
from semisvm.tables.label_cells import label_spellings, labels_from_text
from semisvm.tables.methods import Tell, say_nothing
from semisvm.tables.read import RowReader, open_rows

if TYPE_CHECKING:
    import pandas

LARGEST_STORED = float(np.finfo(np.float32).max)


class Here:
    """This process reads one file after the other."""

    n_workers = 0

    def gather(
        self, function: Callable[..., Any], files: list[Path], *rest: Any, tell: Tell, what: str
    ) -> Any:
        """Return what a function finds of each file, merged in the order of the files."""
        found = None
        for number, file in enumerate(files, 1):
            own = function(file, *rest)
            found = own if found is None else found.merged(own)
            tell(what, number, len(files), "files")
        return found


class OnCluster:
    """The workers of a Dask client read the files, each where it is; what they find is merged in
    a tree.
    """

    def __init__(self, client: Any):
        self.client = client

    @property
    def n_workers(self) -> int:
        """How many workers there are."""
        return len(self.client.scheduler_info(n_workers=-1)["workers"])

    def gather(
        self, function: Callable[..., Any], files: list[Path], *rest: Any, tell: Tell, what: str
    ) -> Any:
        """Return what a function finds of each file, merged in the order of the files."""
        from dask import delayed

        tell(f"{what} on {counted(self.n_workers, 'worker')}")
        read = delayed(_read_there, pure=False)
        merge = delayed(_merged, pure=False)
        level = [read(function, file, *rest) for file in files]
        while len(level) > 1:
            level = [merge(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
        return compute_on_cluster(level)[0]


def _read_there(function: Callable[..., Any], file: Path, *rest: Any) -> Any:
    """A task."""
    if not file.exists():
        reason = "a worker of the Dask cluster does not find this file"
        raise fault(file, reason, "Put the folder where all workers see it under the same path")
    return function(file, *rest)


def _merged(found: list[Any]) -> Any:
    """A task."""
    return reduce(lambda one, other: one.merged(other), found)


@contextlib.contextmanager
def open_workers(
    address: str | None = None, n_workers: int | None = None
) -> Iterator[Here | OnCluster]:
    """Give who reads the files: the cluster at an address (tcp://host:8786), `n_workers`
    processes, or this one.
    """
    if address is None and n_workers is None:
        yield Here()
        return
    try:
        import distributed
    except ImportError:
        raise DataError("A cluster needs Dask. Install it: pip install 'semisvm[dask]'.") from None
    for name in [
        name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"
    ]:
        logging.getLogger(name).setLevel(
            logging.CRITICAL
        )  # what matters is raised, and told in words
    stack = contextlib.ExitStack()
    try:
        if n_workers is not None:
            with _signals_wait():
                # No dashboard, and any free port where it would be: the usual one may be that of
                # another cluster.
                how = {
                    "dashboard_address": ":0",
                    "scheduler_kwargs": {"dashboard": False},
                    "processes": True,
                }
                how |= {
                    "n_workers": n_workers,
                    "threads_per_worker": 1,
                    "silence_logs": logging.CRITICAL,
                }
                local = distributed.LocalCluster(**how)
                client = stack.enter_context(distributed.Client(stack.enter_context(local)))
        else:
            client = stack.enter_context(_connect(distributed, str(address)))
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise DataError(
                f"The Dask scheduler at {address} has no workers. Start some: dask worker"
                f" {address}."
            )
        yield OnCluster(client)
    finally:
        with _signals_wait():
            stack.close()


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the block ends; threads and processes that are begun in it
    never see one.

    Ctrl-C in a terminal goes to the workers as well, and each would print a traceback. They end
    when they are told to.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    # it would let the signals through when it is started in the block
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _connect(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout="10s")
    except (OSError, TimeoutError) as error:
        raise DataError(
            f"No Dask scheduler answers at {address} ({type(error).__name__}). Start one there"
            " (dask scheduler), or correct the address; `workers` starts processes on this machine"
            " instead."
        ) from None
    except ValueError as error:
        raise DataError(
            f"{address!r} is no address of a Dask scheduler ({error}). Write tcp://HOST:8786."
        ) from None


# ---- all rows ----


def stays_sparse(encoder: TableEncoder) -> bool:
    """Whether encoded rows stay sparse: where a matrix of products of all columns would be too
    large.
    """
    # with the compiler, which `semisvm predict` does not load
    from semisvm.primal.passes import WIDEST_HESSIAN

    return encoder.is_sparse_ and encoder.width_ > WIDEST_HESSIAN


@dataclass(frozen=True)
class LabelCoder:
    """Makes class codes of the target cells of a file."""

    classes: Classes
    target: str
    unlabeled: str | None
    same: dict[str, str]  # what some labels are to be replaced by

    def codes(self, frame: Any) -> np.ndarray:
        """Return the class code of each row, -1 where it has no label."""
        texts = texts_of_labels(frame, self.target, self.unlabeled)
        return self.classes.codes_of([self.same.get(text, text) for text in texts]).astype(np.int8)


@dataclass(frozen=True)
class RowCoder:
    """Makes numbers of the rows of a file: features as float32, and class codes."""

    encoder: TableEncoder
    labels: LabelCoder
    blank: dict[str, np.ndarray]  # {file: rows to leave out} (`Survey`)

    def parts(self, file: Path) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield (features, class codes) of a file, part by part."""
        is_sparse = stays_sparse(self.encoder)
        schema = self.encoder.schema_
        names = frozenset((*schema.names, self.labels.target))
        for chunk in open_rows(file).chunks(schema.plain_numbers, names):
            assert chunk.frame is not None
            try:
                X = self.encoder.encode(chunk.frame)
            except CellError as error:
                raise error.in_file(file, chunk.start + error.row) from None
            numbers = np.arange(chunk.start, chunk.start + len(chunk))
            kept = ~np.isin(numbers, self.blank[file.name])
            X = X if is_sparse else as_dense(X)
            yield X[kept].astype(np.float32), self.labels.codes(chunk.frame)[kept]

    def features(self, file: Path) -> Any:
        """A task: all rows of a file."""
        return stack_rows([X for X, _ in self.parts(file)])

    def codes(self, file: Path, n_rows: int) -> np.ndarray:
        """A task: the class codes of a file; its other columns are not read."""
        reader = open_rows(file)
        if self.labels.target not in (reader.names or ()):
            return np.full(n_rows, -1, dtype=np.int8)
        chunks = reader.chunks(only=frozenset([self.labels.target]))
        codes = np.concatenate([self.labels.codes(chunk.frame) for chunk in chunks])
        return np.delete(codes, self.blank[file.name])


@dataclass(frozen=True)
class Pool:
    """All rows of a folder; `heights` are the numbers of rows in the files, without the `blank`
    ones of each.
    """

    files: list[Path]
    heights: list[int]
    labels: LabelCoder
    blank: dict[str, np.ndarray]
    workers: Here | OnCluster

    def rows(self, encoder: TableEncoder, tell: Tell = say_nothing) -> Rows:
        """Encode all rows as machines take them: into a scratch file here, or where the workers
        are.
        """
        coder = RowCoder(encoder, self.labels, self.blank)
        width = encoder.width_
        is_sparse = stays_sparse(encoder)
        names = np.array(self.labels.classes.names)
        if isinstance(self.workers, OnCluster):
            rows = self._rows_on_cluster(coder, width, is_sparse)
            rows.classes = names
            return rows
        writer: Any = CsrScratchWriter(width) if is_sparse else ScratchWriter(width)
        codes = []
        for number, file in enumerate(self.files, 1):
            for X, codes_of_part in coder.parts(file):
                writer.write(X)
                codes.append(codes_of_part)
            tell("Encoding", number, len(self.files), "files")
        return cast(Rows, writer.rows(codes=np.concatenate(codes), classes=names))

    def _rows_on_cluster(self, coder: RowCoder, width: int, is_sparse: bool) -> DaskRows:
        import dask.array as da
        from dask import delayed

        shared = delayed(coder, pure=False)  # one task that holds it: it is sent once per worker
        encode_file = delayed(RowCoder.features, pure=False)
        read_codes = delayed(RowCoder.codes, pure=False)
        empty = np.empty((0, width), np.float32)
        meta: Any = sparse.csr_matrix(empty) if is_sparse else empty
        blocks = []
        codes = []
        for file, height in zip(self.files, self.heights, strict=True):
            X = encode_file(shared, file)
            blocks.append(da.from_delayed(X, (height, width), dtype=np.float32, meta=meta))
            y = read_codes(shared, file, height)
            codes.append(da.from_delayed(y, (height,), dtype=np.int8))
        return DaskRows(da.concatenate(blocks), da.concatenate(codes))


# ---- tables of numbers ----


def rows_on_disk(
    path: str | Path,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    scratch_folder: str | Path | None = None,
) -> FileRows:
    r"""Decode a table of numbers, or a folder of them, into rows for fits that do not hold them in
    memory.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv or .parquet file, or a folder of such files with the same columns.
    target : str, default=None
        The column of the classes; empty cells are rows without a label.
    features : sequence of str, default=None
        The columns to use; by default all but the target. Each cell must be a finite number.
    scratch_folder : str or Path, default=None
        Where the decoded rows go, four bytes per number; by default the folder for temporary files.

    Returns
    -------
    FileRows
        The rows, with their class codes, classes and feature names:
        ``SupervisedSVC(kernel="linear").fit(rows, None)``.

    Examples
    --------
    >>> import os, tempfile
    >>> from semisvm.tables import rows_on_disk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "a.csv"), "w") as file:
    ...         _ = file.write("x,y,kind\n1,2,spam\n3,4,\n5,6,ham\n")
    ...     rows = rows_on_disk(folder, target="kind")
    >>> rows.n_rows, rows.classes.tolist(), rows.codes.tolist()
    (3, ['ham', 'spam'], [1, -1, 0])
    """
    import pandas

    reader = open_rows(path)
    if reader.names is None:
        raise fault(
            path,
            "a file without named columns is read whole",
            "Write it by numpy.save and use FileRows",
        )
    names = (
        [name for name in reader.names if name != target] if features is None else list(features)
    )
    named = frozenset(names) if target is None else frozenset([*names, target])
    for name in named:
        reader.require(name)
    writer = ScratchWriter(len(names), scratch_folder)
    labels = []
    for chunk in reader.chunks(frozenset(names), named):
        assert chunk.frame is not None
        writer.write(_storable(reader, chunk.start, chunk.frame[names]))
        if target is not None:
            labels.append(pandas.Categorical(label_spellings(chunk.frame[target])))
    about = _classes(pandas.api.types.union_categoricals(labels)) if labels else {}
    return writer.rows(**about, feature_names=np.array(names, dtype=object))


def _storable(reader: RowReader, start: int, frame: pandas.DataFrame) -> np.ndarray:
    """Numbers that are finite in float32; `start` rows come before them."""
    X = frame.to_numpy(dtype=np.float64)
    is_bad = ~(np.abs(X) <= LARGEST_STORED)
    if is_bad.any():
        row, column = (int(place[0]) for place in np.nonzero(is_bad))
        value, (path, place) = X[row, column], reader.place(start + row)
        what = (
            f"the number {value:g}, too large for float32,"
            if np.isfinite(value)
            else "no finite number"
        )
        reason = f"column {frame.columns[column]!r} has {what} in row {place + 1}"
        raise fault(
            path, reason, "Fill it in, leave the row out, or leave the column out of features"
        )
    return X


def _classes(spelled: pandas.Categorical) -> dict[str, np.ndarray]:
    """The classes, and the class code of each row in as few bytes as hold it."""
    labels = encode(labels_from_text(spelled.categories), unlabeled=None)
    if len(labels.classes) > 1000:
        example = shorten(spelled.categories[0])
        raise ValueError(
            f"The target has {len(labels.classes)} different values, such as {example}: is it a"
            " class?"
        )
    kind = np.int8 if len(labels.classes) <= 127 else np.int16
    return {"classes": labels.classes, "codes": labels.codes.astype(kind)[spelled.codes]}
