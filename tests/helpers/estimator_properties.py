"""Properties that an estimator has at its default settings: what may change about the data without
changing the model.

Two fits of one problem agree within the solver's tolerance, not to the last digit, so that scores
are compared with `ATOL`, and predictions where the scores are not as near to a tie as that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

ATOL = 0.02  # twenty times the default tolerance


@dataclass(frozen=True)
class Pair:
    """Two problems with one answer: what is fitted, and the rows whose scores must agree."""

    one: tuple[Any, ...]  # arguments of fit
    other: tuple[Any, ...]
    rows: Any
    other_rows: Any


def _order_of_rows(X, y):
    order = np.random.default_rng(1).permutation(len(y))
    return Pair((X, y), (X[order], y[order]), X, X)


def _order_of_columns(X, y):
    order = np.random.default_rng(2).permutation(X.shape[1])
    return Pair((X, y), (X[:, order], y), X, X[:, order])


def _indices_of_64_bits(X, y):
    """As `load_svmlight_file` has them."""
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return Pair((X, y), (wide, y), X, wide)


def _copies(X, y):
    """A row of weight 2 is two rows, and one of weight 0 none."""
    weight = np.random.default_rng(3).choice([0, 1, 1, 2], len(y))
    weight[y >= 0] = np.maximum(weight[y >= 0], 1)
    repeated = np.repeat(np.arange(len(y)), weight)
    return Pair((X, y, weight.astype(float)), (X[repeated], y[repeated]), X, X)


def _with_target(convert: Callable[[np.ndarray], Any]) -> Callable[..., Pair]:
    return lambda X, y: Pair((X, y), (X, convert(y)), X, X)


PROPERTIES: dict[str, Callable[..., Pair]] = {
    "order of rows": _order_of_rows,
    "order of columns": _order_of_columns,
    "sparse": lambda X, y: Pair((X, y), (sparse.csr_array(X), y), X, sparse.csr_array(X)),
    "sparse, int64": _indices_of_64_bits,
    "Fortran order": lambda X, y: Pair((X, y), (np.asfortranarray(X), y), X, np.asfortranarray(X)),
    "float32": lambda X, y: Pair((X, y), (X.astype(np.float32), y), X, X),
    "list": lambda X, y: Pair((X, y), (X.tolist(), y.tolist()), X, X.tolist()),
    "copies": _copies,
    "strings, unlabeled empty": _with_target(lambda y: np.array(["", "a", "b", "c"])[y + 1]),
    "strings, unlabeled None": _with_target(
        lambda y: np.array([None, "a", "b", "c"], dtype=object)[y + 1]
    ),
    "numbers, unlabeled NaN": _with_target(lambda y: np.where(y < 0, np.nan, y)),
    "booleans, unlabeled None": _with_target(
        lambda y: np.array([None, False, True], dtype=object)[y + 1]
    ),
}


def scores_of(model: Any, X: Any) -> np.ndarray:
    """Decision values, one column per class."""
    scores = np.asarray(model.decision_function(X))
    return np.stack([-scores, scores], axis=1) / 2 if scores.ndim == 1 else scores


def holds(name: str, estimator: Any, X: np.ndarray, y: np.ndarray, *, atol: float = ATOL) -> None:
    """Assert a property of an unfitted estimator on these rows."""
    from sklearn.base import clone

    pair = PROPERTIES[name](X, y)
    one, other = clone(estimator).fit(*pair.one), clone(estimator).fit(*pair.other)
    scores, other_scores = scores_of(one, pair.rows), scores_of(other, pair.other_rows)
    atol *= min(1.0, float(scores.std()))
    if scores.shape[1] == 2:  # with more, one-vs-one counts votes, which a rounding can change
        np.testing.assert_allclose(other_scores, scores, atol=atol, err_msg=name)
    best = np.sort(scores, axis=1)
    is_clear = best[:, -1] - best[:, -2] > 2 * atol
    assert is_clear.mean() > 0.5, "the test needs rows that are no ties"
    agree = (scores.argmax(axis=1) == other_scores.argmax(axis=1))[is_clear]
    assert agree.all(), f"{name}: {np.count_nonzero(~agree)} predictions of {len(y)} differ"
