"""LIBSVM and SVMlight text -> sparse X, y.

A row is a label and the features that are not zero, counted from 1 and in increasing order:

    +1 3:0.5 17:1.25    # a comment

scikit-learn's compiled loader does the reading. It says what is wrong with a file, but not where;
so when it fails the text is scanned again, slowly, for the first line that can't be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from semisvm.data.content import read_bytes, read_text
from semisvm.data.dataset import Dataset, NumberedNames
from semisvm.data.errors import DataError, fault, shorten
from semisvm.data.target import whole_if_possible

INT32_MAX = 2**31 - 1
UTF8_MARK = b"\xef\xbb\xbf"


def read_libsvm(path: str | Path, *, n_features: int | None = None) -> Dataset:
    """Read LIBSVM or SVMlight text, plain or compressed.

    Parameters
    ----------
    path : path
        Rows of ``label index:value ...``, indices from 1; ``qid:`` entries are skipped.
    n_features : int, optional
        How many features there are; by default the largest index. Give it for a test file whose last
        features happen to be zero everywhere.
    """
    path = Path(path)
    content = read_bytes(path).removeprefix(UTF8_MARK)
    complaint = None
    try:
        X, y = _load(content, n_features)
    except (ValueError, TypeError, OverflowError) as error:
        complaint = str(error)
    if complaint is not None:
        raise _explain(path, n_features, complaint)
    if X.shape[0] == 0:
        raise fault(path, "no row in the file", "Write one row a line: label index:value ...")
    if not np.isfinite(X.data).all() or np.isinf(y).any():
        raise _explain(path, n_features, "a value is NaN or infinite")
    if n_features is None and X.nnz == 0:
        raise fault(path, "no row has a feature", "Write rows as: label index:value ...")
    names = NumberedNames(X.shape[1])
    return Dataset(path.name, X, whole_if_possible(y), names, "label", source=str(path))


def _load(content: bytes, n_features: int | None) -> tuple[csr_matrix, NDArray[np.floating]]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(BytesIO(content), n_features=n_features, zero_based=False)
    if X.nnz > INT32_MAX:
        raise ValueError("more than 2**31 - 1 values, too many for one sparse matrix of this library")
    # the loader counts in int64, which scikit-learn's own SVC refuses
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def _explain(path: Path, n_features: int | None, complaint: str) -> DataError:
    """Find the first line that can't be right, and say why; `complaint` where none can be found."""
    most = INT32_MAX if n_features is None else n_features
    for line, (label, *pairs) in _rows(read_text(path)):
        if not _is_number(label) or float(label) in (np.inf, -np.inf):
            reason = f"the label {shorten(label)} is not a finite number"
            return fault(path, reason, "Begin each row with a number: label index:value ...", line=line)
        flaw = _flaw(pairs, most)
        if flaw is not None:
            reason, remedy = flaw
            return fault(path, reason, remedy, line=line)
    return fault(path, f"can't be read as LIBSVM text ({complaint})", "Check the format")


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    for line, content in enumerate(text.split("\n"), start=1):
        parts = content.split("#", 1)[0].split()
        if parts:
            yield line, parts


def _flaw(pairs: list[str], most: int) -> tuple[str, str] | None:
    """Return (reason, remedy) for the first pair of a row that is not index:value, in order and finite."""
    previous = 0
    for pair in pairs:
        name, colon, value = pair.partition(":")
        if name == "qid":
            continue
        if not colon or not value:
            return f"{shorten(pair)} is not index:value", "Write each feature as index:value, without spaces"
        if not name.isdecimal():
            return f"the index {shorten(name)} is not a whole number from 1 up", "Number the features from 1"
        index = int(name) if len(name) < 20 else INT32_MAX + 1
        if index == 0:
            return "the index 0, but features are counted from 1", "Add 1 to every index of the file"
        if index > most:
            return (
                f"the index {shorten(name)} is past the last feature, {most}",
                "Check the number of features",
            )
        if index <= previous:
            return f"the index {index} comes after {previous}", "Sort the features of each row, each once"
        if not _is_number(value) or not np.isfinite(float(value)):
            return f"feature {index} is {shorten(value)}, not a finite number", "Replace it, or leave it out"
        previous = index
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
