"""One way in: `read` and `read_table` pick the reader by the file's suffix.

A compression suffix comes last and is looked through: rows.csv.xz is a CSV file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from semisvm.data.arff import read_arff
from semisvm.data.arrays import read_npz
from semisvm.data.content import COMPRESSIONS
from semisvm.data.dataset import Dataset
from semisvm.data.delimited import read_delimited
from semisvm.data.errors import fault, suggest
from semisvm.data.frames import FRAME_READERS, read_parquet
from semisvm.data.libsvm import read_libsvm

if TYPE_CHECKING:
    import pandas


def _read_tsv(path: Path, target: str | None) -> Dataset:
    return read_delimited(path, target=target, delimiter="\t")


def _read_libsvm(path: Path, target: str | None) -> Dataset:
    if target is not None:
        reason = f"a target {target!r} was named, but LIBSVM rows begin with their label"
        raise fault(path, reason, "Leave the target out")
    return read_libsvm(path)


def _read_npz(path: Path, target: str | None) -> Dataset:
    return read_npz(path) if target is None else read_npz(path, target=target)


READERS = {
    "csv": lambda path, target: read_delimited(path, target=target),
    "tsv": _read_tsv,
    "libsvm": _read_libsvm,
    "npz": _read_npz,
    "parquet": lambda path, target: read_parquet(path, target=target),
    "arff": lambda path, target: read_arff(path, target=target),
}

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".dat": "libsvm",
    ".npz": "npz",
    ".parquet": "parquet",
    ".arff": "arff",
}


def read(path: str | Path, *, target: str | None = None, format: str | None = None) -> Dataset:
    """Read a file of numbers into X and y.

    Parameters
    ----------
    path : path
        .csv, .tsv, .libsvm/.svmlight/.dat, .npz, .parquet or .arff; text also as .gz, .bz2 or .xz.
    target : str, optional
        The column (in .npz: the array, "y" by default) that holds the labels. Without it a table has
        features only and every row is unlabeled; LIBSVM rows carry their label.
    format : {"csv", "tsv", "libsvm", "npz", "parquet", "arff"}, optional
        Overrules the suffix.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        With the file, the line, the reason and the remedy.
    """
    path = Path(path)
    return READERS[file_format(path, format)](path, target)


def read_table(path: str | Path, *, format: str | None = None) -> pandas.DataFrame:
    """Read a table with columns of any kind into a pandas DataFrame (needs ``semisvm[tables]``).

    The file must be a table with named columns: csv, tsv, parquet or arff.
    """
    path = Path(path)
    kind = file_format(path, format)
    if kind not in FRAME_READERS:
        raise fault(path, f"a {kind} file has no named columns", "Read it with semisvm.data.read")
    return FRAME_READERS[kind](path)


def file_format(path: Path, format: str | None = None) -> str:
    """Return the format that a file's suffix, or `format`, names."""
    if format is not None:
        if format not in READERS:
            raise fault(path, f"there is no format {format!r}", suggest(format, READERS))
        return format
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in SUFFIXES:
        reason = f"the suffix {suffix!r} tells no format" if suffix else "the name has no suffix to tell the format"
        known = ", ".join(SUFFIXES)
        remedy = f"Rename it, known are {known}; in Python format= can say it too, one of {', '.join(READERS)}"
        raise fault(path, reason, remedy)
    return SUFFIXES[suffix]
