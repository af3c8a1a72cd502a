"""The values of a table as one matrix, for methods that take numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from semisvm.tables.views import Table

USED = ("standardized", "words of ")


class TableMatrix(TransformerMixin, BaseEstimator):
    """Numbers, dates and categories scaled to variance 1, beside TF-IDF of words.

    Parameters
    ----------
    columns : dict of {str: list of str}
        The names of the columns of each kind: "number", "date", "category", "text".
    """

    def __init__(self, columns: dict[str, list[str]]):
        self.columns = columns

    def fit(self, X: pd.DataFrame, y: Any = None) -> TableMatrix:
        """Learn scales, categories and words."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: pd.DataFrame, y: Any = None) -> Any:
        """Learn from rows, and return their matrix."""
        kinds = {name: kind for kind, names in self.columns.items() for name in names}
        self.table_ = Table(kinds)
        return _joined(self.table_.fit_views(X))

    def transform(self, X: pd.DataFrame) -> Any:
        """The matrix of rows: sparse where there are words."""
        return _joined(self.table_.views(self.table_.read(X)))


def _joined(views: dict[str, Any]) -> Any:
    parts = [view for name, view in views.items() if name.startswith(USED)]
    if any(sparse.issparse(part) for part in parts):
        return sparse.hstack(parts, format="csr")
    return np.hstack(parts)
