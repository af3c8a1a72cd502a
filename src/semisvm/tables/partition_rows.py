"""Who reads the files of a folder, and all of their rows as SVMs take them: not held in memory.

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
from typing import Any, cast

import numpy as np
from scipy import sparse

from semisvm.columns.cells import CellError, Column
from semisvm.columns.encoder import TableEncoder
from semisvm.columns.table import Columns, Schema
from semisvm.errors import DataError, counted, fault, shorten
from semisvm.labels import encode
from semisvm.matrices import as_dense, stack_rows
from semisvm.primal import FileRows
from semisvm.primal.dask_rows import FAN_IN, DaskRows, compute_on_cluster
from semisvm.primal.files import CsrScratchRows, ScratchWriter
from semisvm.primal.rows import Rows
from semisvm.tables.classes import Classes, label_texts, labels_of
from semisvm.tables.folders import texts_of_labels
from semisvm.tables.methods import Tell, say_nothing
from semisvm.tables.read import open_rows

LARGEST_STORED = float(np.finfo(np.float32).max)


class Here:
    """This process reads one file after the other."""

    n_workers = 0

    def gather(
        self, function: Callable[..., Any], files: list[Path], *rest: Any, tell: Tell, what: str
    ) -> Any:
        """Return what a function finds of each file, merged in the order of the files."""
        merged = None
        for number, file in enumerate(files, 1):
            result = function(file, *rest)
            merged = result if merged is None else merged.merged(result)
            tell(what, number, len(files), "files")
        return merged


class OnCluster:
    """The workers of a Dask client read the files; what they find is merged in a tree."""

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


def _merged(results: list[Any]) -> Any:
    """A task."""
    return reduce(lambda first, second: first.merged(second), results)


@contextlib.contextmanager
def open_workers(
    address: str | None = None, n_workers: int | None = None
) -> Iterator[Here | OnCluster]:
    """Give who reads the files: a cluster at an address, `n_workers` processes, or this one."""
    if address is None and n_workers is None:
        yield Here()
        return
    try:
        import distributed
    except ImportError:
        raise DataError("A cluster needs Dask. Install it: pip install 'semisvm[dask]'.") from None
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":  # what matters is raised, and told in words
            logging.getLogger(name).setLevel(logging.CRITICAL)
    stack = contextlib.ExitStack()
    try:
        if n_workers is not None:
            with _signals_wait():
                local = distributed.LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    processes=True,
                    silence_logs=logging.CRITICAL,
                    # No dashboard, and any free port where it would be: the usual one may be that
                    # of another cluster.
                    dashboard_address=":0",
                    scheduler_kwargs={"dashboard": False},
                )
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
            f"{address!r} is not the address of a Dask scheduler ({error}). Write tcp://HOST:8786."
        ) from None


# ---- all rows ----


def stays_sparse(encoder: TableEncoder) -> bool:
    """Whether encoded rows stay sparse: where a dense Hessian would be too large."""
    # with the compiler, which `semisvm predict` does not load
    from semisvm.primal.passes import WIDEST_HESSIAN

    return encoder.is_sparse_ and encoder.width_ > WIDEST_HESSIAN


@dataclass(frozen=True)
class Pool:
    """All rows of a folder, file by file, on any machine: files with their numbers of rows."""

    files: list[Path]
    heights: list[int]
    classes: Classes
    target: str
    unlabeled: str | None

    def rows(
        self,
        encoder: TableEncoder,
        workers: Here | OnCluster | None = None,
        tell: Tell = say_nothing,
    ) -> Rows:
        """Encode all rows: into a scratch file here, or where the workers are."""
        names = np.array(self.classes.names)
        if isinstance(workers, OnCluster):
            rows = self._rows_on_cluster(encoder)
            rows.classes = names
            return rows
        make_writer: Any = CsrScratchRows if stays_sparse(encoder) else ScratchWriter
        writer = make_writer(encoder.width_)
        codes = []
        for number, file in enumerate(self.files, 1):
            for X, codes_of_part in self.parts(file, encoder):
                writer.write(X)
                codes.append(codes_of_part)
            tell("Encoding", number, len(self.files), "files")
        return cast(Rows, writer.rows(codes=np.concatenate(codes), classes=names))

    def parts(self, file: Path, encoder: TableEncoder) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield (features as float32, class codes) of a file, part by part."""
        for chunk in open_rows(file).chunks(frozenset((*encoder.schema_.names, self.target))):
            try:
                X = encoder.encode(chunk.frame)
            except CellError as error:
                raise chunk.fault_at(error.row, error.reason, error.remedy) from None
            X = X if stays_sparse(encoder) else as_dense(X)
            yield X.astype(np.float32), self._codes_in(chunk.frame)

    def features(self, file: Path, encoder: TableEncoder) -> Any:
        """A task: all rows of a file."""
        return stack_rows([X for X, _ in self.parts(file, encoder)])

    def codes(self, file: Path, n_rows: int) -> np.ndarray:
        """A task: the class codes of a file; its other columns are not read."""
        reader = open_rows(file)
        if self.target not in reader.names:
            return np.full(n_rows, -1, dtype=np.int8)
        chunks = reader.chunks(frozenset([self.target]))
        return np.concatenate([self._codes_in(chunk.frame) for chunk in chunks])

    def _codes_in(self, frame: Any) -> np.ndarray:
        """Return the class code of each row, -1 where it has no label."""
        texts = texts_of_labels(frame, self.target, self.unlabeled)
        return self.classes.codes_of(texts).astype(np.int8)

    def _rows_on_cluster(self, encoder: TableEncoder) -> DaskRows:
        import dask.array as da
        from dask import delayed

        pool = delayed(self, pure=False)  # one task that holds it: it is sent once per worker
        shared_encoder = delayed(encoder, pure=False)
        encode_file = delayed(Pool.features, pure=False)
        read_codes = delayed(Pool.codes, pure=False)
        width = encoder.width_
        empty = np.empty((0, width), np.float32)
        meta: Any = sparse.csr_matrix(empty) if stays_sparse(encoder) else empty
        blocks = []
        codes = []
        for file, height in zip(self.files, self.heights, strict=True):
            X = encode_file(pool, file, shared_encoder)
            blocks.append(da.from_delayed(X, (height, width), dtype=np.float32, meta=meta))
            y = read_codes(pool, file, height)
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
    r"""Decode a table of numbers, or a folder of them, into a file for fits on rows that do not fit
    into memory.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv or .parquet file, or a folder of such files with the same columns.
    target : str, default=None
        The column of the classes; empty cells are rows without a label.
    features : sequence of str, default=None
        The columns to use; by default all but the target. Each cell must be a finite number.
    scratch_folder : str or Path, default=None
        Folder for the decoded rows, four bytes per number; by default that of temporary files.

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
    names = (
        [name for name in reader.names if name != target] if features is None else list(features)
    )
    named = frozenset(names) if target is None else frozenset([*names, target])
    for name in named:
        reader.require(name)
    writer = ScratchWriter(len(names), scratch_folder)
    labels = []
    schema = Schema(tuple(Column(name, "number") for name in names))
    for chunk in reader.chunks(named):
        try:
            writer.write(_storable(schema.read(chunk.frame)))
        except CellError as error:
            raise chunk.fault_at(error.row, error.reason, error.remedy) from None
        if target is not None:
            labels.append(pandas.Categorical(label_texts(chunk.frame[target])))
    about = _classes(pandas.api.types.union_categoricals(labels)) if labels else {}
    return writer.rows(**about, feature_names=np.array(names, dtype=object))


def _storable(rows: Columns) -> np.ndarray:
    """Return numbers that are finite in float32; CellError where one is not."""
    for name in rows.schema.names:
        is_bad = ~(np.abs(rows[name]) <= LARGEST_STORED)
        if is_bad.any():
            row = int(is_bad.argmax())
            wanted = "number that is finite in float32"
            raise CellError(name, row, f"{rows[name][row]:g}", wanted)
    return rows.numbers


def _classes(spelled: Any) -> dict[str, np.ndarray]:
    """The classes, and the class code of each row in as few bytes as hold it."""
    labels = encode(labels_of(list(spelled.categories)), unlabeled=None)
    if len(labels.classes) > 1000:
        example = shorten(spelled.categories[0])
        raise ValueError(
            f"The target has {len(labels.classes)} different values, such as {example}, which is"
            " too many for classes. Pass the column of the classes."
        )
    kind = np.int8 if len(labels.classes) <= 127 else np.int16
    return {"classes": labels.classes, "codes": labels.codes.astype(kind)[spelled.codes]}
