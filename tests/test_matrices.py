"""What is done differently for dense and for sparse matrices gives the same."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from semisvm.matrices import (
    as_dense,
    is_sparse_matrix,
    stack_rows,
    stored_numbers,
)

X = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, -1.0]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_rows_are_stacked_and_made_dense_whatever_their_form(form):
    stacked = stack_rows([form(X), form(X[:1])])
    assert is_sparse_matrix(stacked) == (form is not np.asarray)
    assert_array_equal(as_dense(stacked), X[[0, 1, 0]])
    assert_array_equal(np.sort(stored_numbers(form(X)), axis=None)[[0, -2, -1]], [-1, 2, 3])
