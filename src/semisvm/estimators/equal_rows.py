"""Rows that are equal, number by number: which they are, and one variable for all copies of a
labeled row.

    first   (n_distinct,)  the first row of each group of equal rows, ascending
    group   (n,)           the group of each row: row i equals row first[group[i]]

Where many labeled rows repeat, an SVM is trained on the distinct ones. Rows i, j with the same
features and label have the same kernel values and the same linear term, so the supervised dual
depends on beta_i + beta_j alone, which may be anything in the sum of their boxes. Hence the problem
in which the copies are one row, their weights added up, has the same optimum, f and bias. Each copy
gets the share of the coefficient that its box has, without leaving it by rounding:

    beta_i = box_i * (beta_merged / box_merged)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np

from semisvm.device import TensorRows
from semisvm.estimators.binary import BinaryFit, MethodFit
from semisvm.estimators.classifier import MANY_NUMBERS, pick_rows
from semisvm.estimators.problem import TrainingProblem
from semisvm.kernels.threads import for_each, in_pieces
from semisvm.matrices import is_plain_float, is_sparse_matrix

FEWEST_COPIES = 0.05  # share of the rows: below it the time saved would not be noticed
MOST_COPIES = 10  # on average: more would take more memory than the weights of a sample are worth
GAP = 0.5772156649015329  # replaces a missing number where rows are put in an order
_TILE_NUMBERS = 1 << 16  # of dense rows looked at together: they stay in the processor's cache


@dataclass(frozen=True)
class EqualRows:
    """Groups of equal rows; see the module's docstring for `first` and `group`."""

    first: np.ndarray
    group: np.ndarray

    @property
    def is_first(self) -> np.ndarray:
        """(n,) boolean: whether no earlier row equals this one."""
        is_first = np.zeros(len(self.group), dtype=bool)
        is_first[self.first] = True
        return is_first

    def total(self, weight: np.ndarray) -> np.ndarray:
        """The weights of each group's rows added up, (n_distinct,)."""
        return np.bincount(self.group, weight)

    def merge(self, problem: TrainingProblem) -> TrainingProblem:
        """The problem of the distinct rows, the weights of their copies added up."""
        return replace(problem.select(self.is_first), weight=self.total(problem.weight))

    def expand(
        self, fit: BinaryFit, box: np.ndarray, merged_box: np.ndarray | None = None
    ) -> BinaryFit:
        """A fit on the distinct rows as a fit on all, coefficients dealt out by box or weight."""
        total = self.total(box) if merged_box is None else merged_box
        share = np.divide(fit.row_beta, total, out=np.zeros(len(total)), where=total > 0)
        return fit.at(self.group, box * share[self.group])


def are_copies_alike(problem: TrainingProblem) -> bool:
    """Whether equal rows can be found, and none has costs of its own."""
    costs = problem.costs
    asked = problem.kernel.kernel
    # In the primal form rows are so many that looking for copies takes longer than it saves.
    may_be_found = isinstance(asked, str) and asked != "precomputed" and not problem.is_primal
    is_of_rows = costs.of_row is not None or (costs.matrix is not None and costs.matrix.ndim == 3)
    return may_be_found and not is_of_rows


def merge_unlabeled_copies(
    problem: TrainingProblem,
) -> tuple[TrainingProblem, Callable[[BinaryFit], BinaryFit]]:
    """The problem with equal unlabeled rows as one row, and what makes its fits those of all: a
    row of weight 2 and two rows are then the same problem. Labeled rows stay as they are.
    """
    if are_copies_alike(problem):
        is_labeled = problem.labels.is_labeled
        apart = np.where(is_labeled, np.arange(1, len(is_labeled) + 1), 0)
        found = find_equal_rows(problem.X, apart)
        if len(found.first) < len(is_labeled):
            return found.merge(problem), partial(found.expand, box=problem.weight)
    return problem, lambda fit: fit


def arrange_by_content(
    whole: TrainingProblem, rows: np.ndarray | None = None
) -> tuple[np.ndarray, TrainingProblem]:
    """All rows, or these, in an order that depends on what they hold alone; and their problem.

    Methods that settle ties or draw folds by the order of rows are then the same in any order.
    Labels come last: other names of the classes change the order of equal rows only. Rows of a
    precomputed kernel stay where they are.
    """
    rows = np.arange(whole.n_rows) if rows is None else rows
    if not whole.kernel.is_precomputed:
        keys = (whole.random_sample, whole.labels.codes, whole.weight)
        ties = [key[rows] for key in keys if key is not None]
        rows = rows[content_order(whole.X, *ties, rows=rows)]
    return rows, whole.take(rows)


def arrange_repeated(
    whole: TrainingProblem, rows: np.ndarray | None = None
) -> tuple[np.ndarray, TrainingProblem]:
    """The same, and a row of weight 2 is there twice (`as_repetitions`)."""
    rows, problem = arrange_by_content(whole, rows)
    times = as_repetitions(problem.weight)
    if times is None:
        return rows, problem
    repeated = np.repeat(np.arange(len(rows)), times)
    return rows[repeated], replace(problem.take(repeated), weight=np.ones(len(repeated)))


def as_repetitions(weight: np.ndarray) -> np.ndarray | None:
    """Weights as numbers of rows; None where all are 1, or not whole, or above MOST_COPIES."""
    is_count = (
        (weight == np.round(weight)).all() and weight.mean() <= MOST_COPIES and (weight != 1).any()
    )
    return weight.astype(np.intp) if is_count else None


def is_first_copy(row_numbers: np.ndarray) -> np.ndarray:
    """A mask of one copy of each row, from the numbers that repeated rows share."""
    mask = np.zeros(len(row_numbers), dtype=bool)
    mask[np.unique(row_numbers, return_index=True)[1]] = True
    return mask


def join_copies(rows: np.ndarray, found: MethodFit) -> tuple[np.ndarray, MethodFit]:
    """The distinct rows and their fit, from a fit in which a row may be there several times."""
    distinct, first, group = np.unique(rows, return_index=True, return_inverse=True)
    if len(distinct) == len(rows):
        return rows, found

    fits = [
        fit.at(first, np.bincount(group, fit.row_beta) if fit.w is None else fit.row_beta)
        for fit in found.fits
    ]
    per_row = {name: values[first] for name, values in found.per_row.items()}
    codes = None if found.codes is None else found.codes[first]
    return distinct, replace(found, fits=fits, codes=codes, per_row=per_row)


def content_order(X: Any, *ties: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """The order of rows, or of these, by what they hold, then by `ties`, the last one first."""
    return np.lexsort((*ties, content_key(X, rows)))


def content_key(X: Any, rows: np.ndarray | None = None) -> np.ndarray:
    """One number per row, the same for equal rows and almost never for others: a random projection,
    summed in an order that depends on the row alone. What is not finite becomes 0.
    """
    if not is_sparse_matrix(X) and X.dtype.kind in "fiub":
        sums = _project(X, rows)
        if np.isnan(sums).any():
            picked = X if rows is None else pick_rows(X, rows)
            sums = _project(np.where(np.isnan(picked), GAP, picked))
        return np.nan_to_num(sums)
    X = X if rows is None else X[rows]
    if is_sparse_matrix(X):
        with np.errstate(all="ignore"):
            return np.nan_to_num(_canonical(X) @ _direction(X))
    return np.array(
        [int.from_bytes(blake2b(repr(row).encode(), digest_size=7).digest()) for row in X.tolist()]
    )


def find_equal_rows(X: Any, codes: np.ndarray | None = None) -> EqualRows:
    """Group the rows of X that are equal, and where codes are given have the same one."""
    X = _canonical(X) if is_sparse_matrix(X) else X
    codes = np.zeros(X.shape[0], dtype=np.intp) if codes is None else codes
    fingerprint = content_key(X)
    # Stable: of rows with one fingerprint the first comes first.
    order = np.lexsort((fingerprint, codes))
    before = order[:-1]
    after = order[1:]
    is_new = np.append(
        True, (fingerprint[before] != fingerprint[after]) | (codes[before] != codes[after])
    )
    first = np.empty_like(order)
    first[order] = order[is_new][np.cumsum(is_new) - 1]
    copies = np.flatnonzero(first != np.arange(len(first)))
    wrong = copies[~_are_equal(X, copies, first[copies])]
    if len(wrong):  # different rows with one fingerprint
        found: dict[tuple[int, bytes], int] = {}
        for row in np.flatnonzero(np.isin(first, first[wrong])).tolist():
            first[row] = found.setdefault((int(codes[row]), _key(X, row)), row)
    return EqualRows(*np.unique(first, return_inverse=True))


def find_repeats(X: Any, codes: np.ndarray) -> EqualRows | None:
    """Group the rows that are equal and of one class code; None where copies are few."""
    found = find_equal_rows(X, codes)
    return found if len(codes) - len(found.first) >= max(1, FEWEST_COPIES * len(codes)) else None


def _are_equal(X: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Whether X[left[k]] and X[right[k]] are equal, for each k."""
    if is_sparse_matrix(X):
        different: Any = X[left] != X[right]
        return np.diff(different.indptr) == 0
    if isinstance(X, TensorRows):
        return (X[left].tensor == X[right].tensor).all(dim=1).cpu().numpy()
    equal = np.empty(len(left), dtype=bool)
    for tile in _tiles(len(left), X.shape[1]):
        equal[tile] = (X[left[tile]] == X[right[tile]]).all(axis=1)
    return equal


def _key(X: Any, row: int) -> bytes:
    """One row as bytes, equal for equal rows."""
    if not is_sparse_matrix(X):
        return (np.asarray(X[row]) + 0.0).tobytes()  # -0.0 becomes 0.0
    part = slice(X.indptr[row], X.indptr[row + 1])
    return X.indices[part].tobytes() + X.data[part].tobytes()


def _canonical(X):
    """CSR in which equal rows are stored alike; the user's matrix is not changed."""
    has_zeros = not X.data.all()
    if X.has_canonical_format and not has_zeros:
        return X
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def _direction(X) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 1.0, X.shape[1])


def _project(X: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """The fingerprints of dense rows, or of some of them; NaN where a number is missing."""
    direction = _direction(X)
    if isinstance(X, TensorRows):
        picked = X if rows is None else X[rows]
        return (picked.tensor * X.like(direction)).sum(dim=1).cpu().numpy()
    sums = np.empty(len(X) if rows is None else len(rows))
    if is_plain_float(X) and X.size > MANY_NUMBERS:
        from semisvm.kernels.compiled import SCANNED_ROWS, project_rows

        chosen = np.arange(len(X)) if rows is None else rows
        in_pieces(project_rows, X, chosen, direction, sums, most=-(-len(sums) // SCANNED_ROWS))
        return sums
    picked = X if rows is None else pick_rows(X, rows)

    def project(tile):
        with np.errstate(all="ignore"):  # of each thread
            sums[tile] = (picked[tile] * direction).sum(axis=1)

    for_each(project, _tiles(*picked.shape))
    return sums


def _tiles(n_rows: int, n_columns: int) -> list[slice]:
    height = max(1, _TILE_NUMBERS // max(n_columns, 1))
    return [slice(start, start + height) for start in range(0, n_rows, height)]
