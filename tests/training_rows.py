"""A small table of numbers, ready for a fit."""

import numpy as np

from semisvm.columns.cells import Column
from semisvm.columns.table import Columns, Schema
from semisvm.tables.classes import Classes
from semisvm.tables.training import Training


def training(n_rows: int) -> Training:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, 4)) + 0.8 * truth[:, None]
    codes = np.where(rng.random(n_rows) < 0.1, truth, -1)
    columns = Columns(Schema(tuple(Column(name, "number") for name in "abcd")), tuple(X.T))
    return Training("rows", "y", columns, codes, Classes(("no", "yes"), False))
