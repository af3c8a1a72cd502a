"""`TableEncoder`: a table as one numeric matrix; `scale_matrix`: the same for arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from semisvm.columns.cells import LARGEST_NUMBER, Column
from semisvm.columns.table import Columns, Schema, read_frame, user_frame
from semisvm.columns.views import (
    MATRICES,
    QUANTILES,
    STANDARD,
    learn_ranks,
    make_matrix_of,
    plain_output,
)
from semisvm.matrices import as_dense, is_sparse_matrix
from semisvm.sklearn_private import DocumentationLinkMixin, output_container

SPARSE_BELOW = 0.3  # share of entries that are not zero, up to which encoded rows are sparse


class TableEncoder(DocumentationLinkMixin, TransformerMixin, BaseEstimator):
    """Encode tables of mixed columns (numbers, categories, dates, text, empty cells) as a numeric
    matrix.

    Parameters
    ----------
    columns : list of Column, optional
        The columns to use, with their types; other columns are ignored. By default the types are
        inferred in `fit`, and new tables must have the same columns, in any order.
    view : {"standard", "quantiles", "letters", "latent"}, default="standard"
        How numbers and text are encoded. "standard": numbers are standardized, text is TF-IDF of
        words. "quantiles": numbers are mapped to a normal distribution by their ranks. "letters":
        text is TF-IDF of words and of groups of 3 to 5 letters. "latent": text is reduced to 100
        singular vectors of these.

    Attributes
    ----------
    columns_ : list of Column
        The columns in use.
    left_out_ : dict of {str: str}
        The columns that were left out, and why.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if the table has names.

    See Also
    --------
    sklearn.compose.ColumnTransformer : Where the columns are known and each needs its own
    treatment.

    Examples
    --------
    >>> import pandas as pd
    >>> from semisvm import TableEncoder
    >>> cells = {"size": [1.5, 2.0, None, 7.5], "id": list("abcd")}
    >>> cells["color"] = ["red", "blue", "red", "red"]
    >>> table = pd.DataFrame(cells)
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size is empty', 'color_blue', 'color_red']
    >>> encoder.transform(table).shape
    (4, 4)
    >>> encoder.left_out_
    {'id': 'is different in every row'}
    """

    def __init__(self, columns: list[Column] | None = None, *, view: str = STANDARD):
        self.columns = columns
        self.view = view

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn scales, categories and words.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_columns)
            The rows, labeled and unlabeled.
        y : object
            Ignored.

        Returns
        -------
        self : object
            The fitted encoder.
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn scales, categories and words, and encode the rows; reads each text only once.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_columns)
            The rows, labeled and unlabeled.
        y : object
            Ignored.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_encoded)
            The encoded rows; a DataFrame where `set_output` asks for one.
        """
        return self._for_user(self._learn(X))

    def _learn(self, X: Any) -> Any:
        if self.view not in MATRICES:
            raise ValueError(
                f"There is no view {self.view!r}: choose standard, quantiles, letters or latent."
            )
        rows = self._read(X, reset=True)
        self.schema_ = rows.schema
        self.views_, matrix = make_matrix_of(rows, self.view)
        self.is_sparse_ = bool(
            is_sparse_matrix(matrix) and matrix.nnz < SPARSE_BELOW * np.prod(matrix.shape)
        )
        self.width_ = matrix.shape[1]
        return matrix if self.is_sparse_ else as_dense(matrix)

    def transform(self, X: Any) -> Any:
        """Encode rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_columns)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_encoded)
            The encoded rows; a DataFrame where `set_output` asks for one.
        """
        check_is_fitted(self)
        return self._for_user(self.encode(self._read(X, reset=False)))

    def _for_user(self, matrix: Any) -> Any:
        return matrix if output_container(self) == "default" else as_dense(matrix)

    def encode(self, rows: Any) -> Any:
        """Return rows as a matrix, regardless of `set_output`.

        Parameters
        ----------
        rows : DataFrame or Columns
            Rows with the columns of the fit.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_encoded)
            The encoded rows.
        """
        matrix = self.views_.matrix(self.schema_.read(rows), self.view)
        return matrix if self.is_sparse_ else as_dense(matrix)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : object
            Ignored: the names are those of the fit.

        Returns
        -------
        ndarray of shape (n_encoded,)
            The names.
        """
        check_is_fitted(self)
        return np.array(self.views_.names(self.schema_, self.view), dtype=object)

    @property
    def columns_(self) -> list[Column]:
        """The columns in use."""
        return list(self.schema_.columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _read(self, X: Any, *, reset: bool) -> Columns:
        if not isinstance(X, Columns):
            X = user_frame(self, X, reset=reset, ignores_others=self.columns is not None)
        elif reset:
            X.name_features_of(self)
        if not reset:
            return self.schema_.read(X)
        self.left_out_: dict[str, str] = {}
        if self.columns is not None:
            return Schema(tuple(self.columns)).read(X)
        if isinstance(X, Columns):
            return X
        reading = read_frame(X)
        self.left_out_ = {column.name: column.why for column in reading.left_out}
        return reading.columns


@plain_output
def scale_matrix(X: Any, view: str = STANDARD) -> Any:
    """Encode an array of numbers as a table would be: standardized or mapped to a normal
    distribution; a sparse matrix is not changed.
    """
    if is_sparse_matrix(X):
        return sparse.csr_matrix(X)
    if (large := np.argwhere(np.abs(X) > LARGEST_NUMBER)).size:
        row, column = large[0].tolist()
        raise ValueError(
            f"row {row + 1}: feature {column + 1} is {X[row, column]:g}, beyond"
            f" {LARGEST_NUMBER:g}, the largest number that can be scaled. Correct it."
        )
    scaler = learn_ranks(X) if view == QUANTILES else StandardScaler().fit(X)
    return scaler.transform(X)
