"""Rows that would teach a model: those it is least sure of, spread out."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from semisvm.tables.fitting import read_values
from semisvm.tables.matrix import TableMatrix
from semisvm.tables.model import TableModel

MOST_ROWS = 1_000  # that are put in order
N_GROUPS = 20  # of rows that are alike


def rows_to_improve(model: TableModel, cells: pd.DataFrame, scores: np.ndarray) -> list[int]:
    """The least sure third of the rows, at most 1,000: one of each group of them in turn."""
    of_best = np.sort(scores.reshape(len(scores), -1), axis=1)[:, -2:]
    lead = np.abs(of_best).squeeze(1) if scores.ndim == 1 else np.diff(of_best).squeeze(1)
    unsure = np.argsort(lead, kind="stable")[: min(MOST_ROWS, len(lead) // 3 + 1)]
    values, _ = read_values(model.columns, cells.iloc[unsure], "the table")
    X = TableMatrix(model.columns.by_kind()).fit_transform(values)
    n_groups = min(N_GROUPS, len(unsure))
    group = KMeans(n_groups, n_init=1, random_state=0).fit_predict(X)
    turn = np.zeros(len(unsure), dtype=int)
    for number in range(n_groups):
        turn[group == number] = np.arange(np.count_nonzero(group == number))
    return [int(row) for row in unsure[np.argsort(turn, kind="stable")]]
