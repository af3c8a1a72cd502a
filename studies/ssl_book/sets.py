"""The sets of the book: rows, class codes, and the labeled rows of each split; the errors are
those on all others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

NAMES = ("g241c", "g241d", "digit1", "usps", "coil", "bci", "text")
LABEL_COUNTS = (10, 100)
SECSTR_COUNTS = (100, 1000, 10_000)
N_RESIDUES = 21


@dataclass(frozen=True, eq=False)
class BookSet:
    """One set; `labeled` holds one line of row numbers per split, by the number of labels."""

    name: str
    X: Any
    codes: np.ndarray
    labeled: dict[int, np.ndarray]


@lru_cache(maxsize=2)
def load_set(name: str) -> BookSet:
    """Read a set from the data folder; "coil2" and "secstr" beside those of `NAMES`."""
    folder = Path(os.environ.get("SEMISVM_DATA", "../shared/data")) / "ssl_book"
    with np.load(folder / f"{name}.npz") as file:
        parts = dict(file)
    X = parts.get("X")
    if "T" in parts:
        X = _one_column_per_residue(parts["T"])
    elif X is None:
        X = sparse.csr_matrix(
            (parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"])
        )
    codes = np.unique(parts["y"], return_inverse=True)[1]
    counts = SECSTR_COUNTS if name == "secstr" else LABEL_COUNTS
    return BookSet(name, X, codes, {count: parts[f"labeled{count}"] for count in counts})


def _one_column_per_residue(T: np.ndarray) -> sparse.csr_matrix:
    """15 residue codes per row as 315 columns of 0 and 1."""
    n, d = T.shape
    codes = np.unique(T, return_inverse=True)[1].reshape(n, d)
    columns = codes + N_RESIDUES * np.arange(d)
    return sparse.csr_matrix(
        (np.ones(n * d), columns.ravel(), np.arange(0, n * d + 1, d)), shape=(n, N_RESIDUES * d)
    )
