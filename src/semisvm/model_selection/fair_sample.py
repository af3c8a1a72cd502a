"""Do the labeled rows look like a random sample of all rows?

Intervals and certificates assume it. Rows that were chosen because a model was uncertain, or by a
person's interest, are not a random sample, and figures measured on them may not hold.

Kernel ridge regression learns to tell labeled from other rows, in folds that ignore which are
which. The statistic is the sum over the folds of the AUC of the rows held out. The predictions are
linear in the tags, so all permutations of the tags take one matrix product per fold:

    tags z - mean,  G = inv(K + I),  prediction of a fold T without its rows:
    z_T - inv(G_TT) (G z)_T

The p-value is exact: for a random sample all permutations of the tags are equally likely. To pass
is no proof: a choice that does not show in X is not found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_array, check_random_state

from semisvm.labels import find_labeled
from semisvm.sklearn_private import num_samples, safe_indexing

LEVEL = 0.01  # of false alarms
N_PERMUTATIONS = 199
N_FOLDS = 4
MOST_LABELED, MOST_OTHERS = 200, 300  # a bound on the time, about 25 ms
FEWEST_ROWS = 4  # of either kind; with fewer there is nothing to test
TIE_DIGITS = 9  # predictions that differ by rounding only are equal


@dataclass(frozen=True)
class FairSampleCheck:
    """The result of `check_fair_sample`; print it for a sentence.

    Attributes
    ----------
    p_value : float
        The p-value of "the labeled rows are a random sample"; 1 if there are too few rows to test.
    is_fair : bool
        Whether it is above 0.01, the probability of a false alarm.
    n_labeled, n_others : int
        Number of labeled rows and of other rows that were compared.
    """

    p_value: float
    is_fair: bool
    n_labeled: int
    n_others: int

    def __str__(self) -> str:
        if min(self.n_labeled, self.n_others) < FEWEST_ROWS:
            return "There are too few rows to test whether the labeled rows are a random sample."
        if self.is_fair:
            return "There is no sign that the labeled rows are not a random sample of all rows."
        return (
            f"The labeled rows do not look like a random sample of all rows (p = {self.p_value:.2g}"
            "): figures measured on them may not hold. Draw rows at random and label those."
        )


def check_fair_sample(
    X: Any, y: Any, *, unlabeled: Any = -1, random_state: Any = 0
) -> FairSampleCheck:
    """Check whether the labeled rows look like a random sample of all rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All rows, with features on comparable scales. At most 200 labeled and 300 other rows are
        compared, drawn at random.
    y : array-like of shape (n_samples,)
        The labels; `unlabeled` marks rows without one. Or booleans: which rows are labeled.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws of rows, folds and permutations.

    Returns
    -------
    check : FairSampleCheck
        The p-value and the decision.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import check_fair_sample
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> y = np.where(rng.permutation(600) < 100, X[:, 0] > 0, -1)  # 100 labels, drawn at random
    >>> check_fair_sample(X, y).is_fair
    True
    >>> y = np.where(np.abs(X[:, 0]) < 0.2, X[:, 0] > 0, -1)  # near the border
    >>> check_fair_sample(X, y).is_fair
    False
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    is_labeled = np.asarray(y)
    if is_labeled.dtype != bool:
        is_labeled = find_labeled(y, unlabeled=unlabeled, n_rows=num_samples(X))
    random = check_random_state(random_state)
    labeled = random.permutation(np.flatnonzero(is_labeled))[:MOST_LABELED]
    others = random.permutation(np.flatnonzero(~is_labeled))[:MOST_OTHERS]
    sizes = len(labeled), len(others)
    if min(sizes) < FEWEST_ROWS:
        return FairSampleCheck(1.0, True, *sizes)
    rows = safe_indexing(X, np.concatenate([labeled, others]))
    p_value = _permutation_test(rows, np.repeat([1.0, 0.0], sizes), random)
    return FairSampleCheck(p_value, p_value > LEVEL, *sizes)


def _permutation_test(rows: Any, tags: np.ndarray, random: np.random.RandomState) -> float:
    """How often permuted tags are predicted as well as the true ones."""
    n = len(tags)
    orders = np.argsort(random.uniform(size=(N_PERMUTATIONS, n)), axis=1)
    Z = np.vstack([tags, tags[orders]]).T  # (n, 1 + permutations), the true tags first
    fold = random.permutation(n) % N_FOLDS
    mean_square = (rows.multiply(rows) if hasattr(rows, "multiply") else rows**2).mean()
    variance = mean_square - rows.mean() ** 2  # gamma="scale"
    K = rbf_kernel(rows, gamma=1 / (rows.shape[1] * variance) if variance > 0 else 1.0)
    G = np.linalg.inv(K + np.eye(n))
    centered = Z - tags.mean()
    weighted = G @ centered
    total = np.zeros(Z.shape[1])
    for number in range(N_FOLDS):
        test = np.flatnonzero(fold == number)
        left = np.linalg.solve(G[np.ix_(test, test)], weighted[test])
        total += _auc_by_column(centered[test] - left, Z[test])
    return float((1 + np.sum(total[1:] >= total[0] - 10.0**-TIE_DIGITS)) / Z.shape[1])


def _auc_by_column(predicted: np.ndarray, tags: np.ndarray) -> np.ndarray:
    """The AUC of each column of predictions for its 0/1 tags; 0.5 where one tag is missing."""
    ranks = stats.rankdata(np.round(predicted, TIE_DIGITS), axis=0)
    n_ones = tags.sum(axis=0)
    pairs = n_ones * (len(tags) - n_ones)
    wins = (ranks * tags).sum(axis=0) - n_ones * (n_ones + 1) / 2
    return np.divide(wins, pairs, out=np.full(len(pairs), 0.5), where=pairs > 0)
