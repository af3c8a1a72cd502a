"""Tables as pandas DataFrames, for columns that are more than numbers; and Parquet, which is such a table.

pandas is an extra of this library: it is imported here, when a function is called, and nowhere else.

`read_table` hands over the columns as they are (text, dates, missing cells), for whoever turns them
into numbers. `dataset_from_frame` is for a frame whose feature columns are numbers already.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from semisvm.data.arff import open_arff
from semisvm.data.content import read_bytes
from semisvm.data.dataset import Dataset
from semisvm.data.errors import DataError, fault, suggest
from semisvm.data.table import Table, open_table, require_different
from semisvm.data.target import labels_from_text, no_labels, whole_if_possible

if TYPE_CHECKING:
    import pandas


def frame_from_csv(path: Path) -> pandas.DataFrame:
    """Read delimited text with a comma, semicolon or tab, as the header tells."""
    return _frame(open_table(path))


def frame_from_tsv(path: Path) -> pandas.DataFrame:
    """Read text separated by tabs."""
    return _frame(open_table(path, delimiter="\t"))


def frame_from_arff(path: Path) -> pandas.DataFrame:
    """Read an ARFF file, nominal columns as text."""
    return _frame(open_arff(path))


def frame_from_parquet(path: Path) -> pandas.DataFrame:
    """Read a Parquet file."""
    pandas = _pandas(path)
    content = read_bytes(path)
    # pyarrow and pandas raise many unrelated types on bad bytes: all mean one thing here
    try:
        return pandas.read_parquet(BytesIO(content), engine="pyarrow")
    except ImportError:
        raise _missing_package(path, "pyarrow") from None
    except Exception as error:
        complaint = str(error).splitlines()[0] if str(error) else type(error).__name__
        reason = f"can't be read as a Parquet file ({complaint})"
        raise fault(path, reason, "Copy or write it again") from None


FRAME_READERS: dict[str, Callable[[Path], Any]] = {
    "csv": frame_from_csv,
    "tsv": frame_from_tsv,
    "arff": frame_from_arff,
    "parquet": frame_from_parquet,
}


def read_parquet(path: str | Path, *, target: str | None = None) -> Dataset:
    """Read a Parquet file whose feature columns are numbers."""
    return dataset_from_frame(frame_from_parquet(Path(path)), target, Path(path))


def dataset_from_frame(frame: pandas.DataFrame, target: str | None, path: str | Path) -> Dataset:
    """Turn a frame into X and y; `path` is what messages call it."""
    path = Path(path)
    frame = frame.rename(columns=str)
    require_different(path, list(frame.columns))
    if target is not None and target not in frame.columns:
        raise fault(path, f"there is no column {target!r}", suggest(target, frame.columns))
    features = frame.drop(columns=[] if target is None else [target])
    if 0 in features.shape:
        reason = f"{features.shape[0]} rows and {features.shape[1]} feature columns"
        raise fault(path, reason, "Write a table with at least one of each")
    X = np.column_stack([_numbers(path, str(name), column) for name, column in features.items()])
    y = no_labels(len(X)) if target is None else _labels(frame[target])
    return Dataset(path.name, X, y, tuple(features.columns), target, source=str(path))


def _numbers(path: Path, name: str, column: pandas.Series) -> NDArray[np.floating]:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if not (is_numeric_dtype(column.dtype) or is_bool_dtype(column.dtype)) or column.dtype.kind == "c":
        reason = f"column {name!r} holds {column.dtype} where numbers are expected"
        raise fault(path, reason, "Turn the column into numbers, or leave it out")
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        reason = f"column {name!r} holds {numbers[row]} in row {row + 1}, not a finite number"
        raise fault(path, reason, "Fill it in, or leave the row or the column out")
    return numbers


def _labels(column: pandas.Series) -> NDArray:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype):
        return whole_if_possible(column.to_numpy(dtype=np.float64, na_value=np.nan))
    missing = column.isna().to_numpy(dtype=bool)
    return labels_from_text(["" if gone else str(cell) for cell, gone in zip(column, missing, strict=True)])


def _frame(table: Table) -> pandas.DataFrame:
    pandas = _pandas(table.path)
    # pandas fills short rows up in silence: let our own reader see every row first
    if not sum(1 for _ in table.rows()):
        raise table.without_rows()
    try:
        return pandas.read_csv(
            StringIO(table.body),
            names=list(table.names),
            header=None,
            index_col=False,
            sep=table.delimiter,
            quotechar=table.quote,
            escapechar=table.escape,
            skipinitialspace=True,
            na_values=sorted(table.missing),
            keep_default_na=False,
            low_memory=False,
        )
    except (pandas.errors.ParserError, pandas.errors.EmptyDataError) as error:
        raise fault(table.path, f"pandas can't read the rows ({error})", "Check their quotes") from None


def _pandas(path: Path) -> Any:
    try:
        import pandas
    except ImportError:
        raise _missing_package(path, "pandas") from None
    return pandas


def _missing_package(path: Path, package: str) -> DataError:
    remedy = 'Install it with: pip install "semisvm[tables]"'
    return fault(path, f"reading this needs {package}, which is not installed", remedy)
