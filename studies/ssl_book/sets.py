"""The sets of the book: rows, class codes, and the labeled rows of each split; the errors are those on all others."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

NAMES = ("g241c", "g241d", "digit1", "usps", "coil", "bci", "text")
LABEL_COUNTS = (10, 100)


@dataclass(frozen=True)
class BookSet:
    """One set; `labeled` holds one line of row numbers per split, by the number of labels."""

    name: str
    X: Any
    codes: np.ndarray
    labeled: dict[int, np.ndarray]


def load_set(name: str) -> BookSet:
    """Read a set from the data folder."""
    folder = Path(os.environ.get("SEMISVM_DATA", "../shared/data")) / "ssl_book"
    with np.load(folder / f"{name}.npz") as file:
        parts = dict(file)
    X = parts.get("X")
    if X is None:
        X = sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
    codes = np.unique(parts["y"], return_inverse=True)[1]
    return BookSet(name, X, codes, {count: parts[f"labeled{count}"] for count in LABEL_COUNTS})
