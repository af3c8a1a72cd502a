"""Rows that repeat an earlier one, label included: one variable for all of them, and the same model.

The supervised dual asks a coefficient beta_i within a box of size C weight_i for each row. Rows i, j with the same
features and label have the same kernel values and the same linear term, so the objective and the sum constraint know
beta_i + beta_j alone; with both boxes on the same side of 0, that sum may be anything in the sum of the boxes.
Hence the problem in which the copies are one row, their weights added up, has the same optimum, f and bias. Any way
to deal its coefficient out within the boxes is a solution of the problem asked; here each copy gets the share its box
has, so that equal rows of equal weight stay equal:

    beta_i = box_i * (beta_merged / box_merged)

The factor is at most 1 in size, and exactly 1 at the bound: no coefficient leaves its box by rounding.
Candidates are rows with one label and the same random projection, a number a row; they are then compared in full.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from semisvm.estimators.binary import BinaryFit
from semisvm.kernels.resources import for_each
from semisvm.labels import Labels

FEWEST_COPIES = 0.05  # share of the rows: below it the time saved would not be noticed
_TILE_NUMBERS = 1 << 16  # of dense rows looked at together: they stay in the processor's cache


@dataclass(frozen=True)
class Repeats:
    """Which of n rows are the same: row i is a copy of row first[group[i]]; `first` is (n_distinct,), ascending."""

    first: np.ndarray
    group: np.ndarray

    def merge(self, X, labels: Labels, weight: np.ndarray) -> tuple:
        """The distinct rows, their labels, and the weights of their copies added up."""
        return X[self.first], Labels(labels.classes, labels.codes[self.first]), np.bincount(self.group, weight)

    def deal(self, fit: BinaryFit, box: np.ndarray, merged_box: np.ndarray) -> BinaryFit:
        """A fit on the distinct rows as a fit on all of them; boxes are sizes, one a row and one a distinct row."""
        share = np.divide(fit.row_beta, merged_box, out=np.zeros(len(merged_box)), where=merged_box > 0)
        row_beta = box * share[self.group]
        n_support = int(np.count_nonzero(row_beta))
        history = [record | {"n_support": n_support} for record in fit.history]
        return replace(fit, row_beta=row_beta, scores=fit.scores[self.group], history=history)


def find_repeats(X, codes: np.ndarray) -> Repeats | None:
    """Find the rows of one class code that are equal, number by number; None where they are too few to matter."""
    X = _canonical(X) if sparse.issparse(X) else X
    fingerprint = _fingerprint(X)
    order = np.lexsort((fingerprint, codes))  # stable: copies keep their order, the first comes first
    before, after = order[:-1], order[1:]
    is_copy = (fingerprint[before] == fingerprint[after]) & (codes[before] == codes[after])
    if not _pays(is_copy, len(order)):
        return None
    is_copy[is_copy] = _equal_rows(X, before[is_copy], after[is_copy])
    return _grouped(order, is_copy) if _pays(is_copy, len(order)) else None


def _pays(is_copy: np.ndarray, n_rows: int) -> bool:
    return bool(np.count_nonzero(is_copy) >= max(1, FEWEST_COPIES * n_rows))


def _grouped(order: np.ndarray, is_copy: np.ndarray) -> Repeats:
    """Groups from rows in an order where each copy follows one of its own kind."""
    starts = np.append(True, ~is_copy)
    first = order[starts]
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))  # distinct rows in the order of the data
    group = np.empty(len(order), dtype=np.intp)
    group[order] = rank[np.cumsum(starts) - 1]
    return Repeats(np.sort(first), group)


def _canonical(X):
    """CSR in which equal rows are stored alike: columns ascending, each once, no zeros. The user's stays as it is."""
    has_zeros = not X.data.all()
    if X.has_canonical_format and not has_zeros:
        return X
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def _fingerprint(X) -> np.ndarray:
    """A number a row, equal for equal rows: summed in an order that depends on the row alone, unlike BLAS."""
    direction = np.random.default_rng(0).uniform(0.5, 1.0, X.shape[1])
    if sparse.issparse(X):
        with np.errstate(all="ignore"):
            return X @ direction
    sums = np.empty(len(X))

    def project(tile):
        with np.errstate(all="ignore"):  # of each thread; a sum that overflows finds its like or none
            sums[tile] = (X[tile] * direction).sum(axis=1)

    for_each(project, _tiles(*X.shape))
    return sums


def _equal_rows(X, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Whether X[left[k]] and X[right[k]] are equal, for each k."""
    if sparse.issparse(X):
        return _equal_sparse_rows(X, left, right)
    equal = np.empty(len(left), dtype=bool)
    for tile in _tiles(len(left), X.shape[1]):
        equal[tile] = (X[left[tile]] == X[right[tile]]).all(axis=1)
    return equal


def _equal_sparse_rows(X, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    n_stored = np.diff(X.indptr)
    equal = n_stored[left] == n_stored[right]
    one, other = X[left[equal]], X[right[equal]]
    differs = (one.indices != other.indices) | (one.data != other.data)
    n_differing = np.append(0, np.cumsum(differs))[one.indptr]  # before each row, and at the end
    equal[equal] = np.diff(n_differing) == 0
    return equal


def _tiles(n_rows: int, n_columns: int) -> list[slice]:
    height = max(1, _TILE_NUMBERS // max(n_columns, 1))
    return [slice(start, start + height) for start in range(0, n_rows, height)]
