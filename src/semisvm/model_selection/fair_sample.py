"""Do the labeled rows look like a random sample of all rows?

Exact intervals and held-out certificates assume it. Rows that were chosen by doubt, or by a person's interest, are not
a random sample, and figures measured on them may not hold. Two tests look for signs of a choice:

    kernel   kernel ridge regression learns to tell labeled from other rows, in folds that ignore which are which. The
             statistic is the sum over the folds of the AUC of the held-out rows. The predictions are linear in the
             tags, so all permutations of the tags take one matrix product per fold. The p-value is exact: in a random
             sample all permutations are equally likely.
    scores   Kolmogorov and Smirnov's test on the scores of a model. Labeled rows must be scored by a model that has not
             seen their labels, and the other rows in the same way (`random_fold_scores`). Not exact, because models of
             different folds share rows.

Each test is used at half of the level. A pass is no proof: a choice that X and the scores do not show is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve
from scipy.stats import ks_2samp, rankdata
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_random_state

from semisvm.sklearn_private import num_samples, safe_indexing

FAIR_LEVEL = 0.01
N_PERMUTATIONS = 199
N_TAG_FOLDS = 4
MOST_SAMPLED = 1_000  # labeled rows in the kernel test: a bound on the time
MOST_OTHERS = 400
FEWEST_TESTED = 4  # rows of either kind; with fewer there is nothing to test
RIDGE = 1.0
TIE_DIGITS = 9  # predictions that differ by rounding only are equal


@dataclass(frozen=True)
class FairSampleCheck:
    """What `check_fair_sample` found.

    Attributes
    ----------
    p_value : float
        Twice the smaller p-value of the two tests, at most 1; the p-value of the kernel test where there are no scores.
    kernel_p, ks_p : float or None
        The p-value of each test; None where it was not run.
    is_fair : bool
        Whether there is no sign of a choice: `p_value` is above `level`.
    level : float
        The chance of a false alarm that was asked for.
    n_labeled, n_others : int
        How many rows were compared with how many.
    """

    p_value: float
    kernel_p: float | None
    ks_p: float | None
    is_fair: bool
    level: float
    n_labeled: int
    n_others: int

    @property
    def sentence(self) -> str:
        """The result in words."""
        if self.kernel_p is None and self.ks_p is None:
            return "There are too few rows to tell whether the labeled rows are a random sample of the pool."
        if self.is_fair:
            return "There is no sign that the labeled rows are not a random sample of the pool."
        shown = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"
        return (
            f"The labeled rows do not look like a random sample of the pool ({shown}): figures measured on them may "
            "not hold. Certify by sampling instead."
        )

    def __str__(self) -> str:
        return self.sentence


def check_fair_sample(
    X: Any,
    is_labeled: Any,
    scores: Any = None,
    *,
    level: float = FAIR_LEVEL,
    n_permutations: int = N_PERMUTATIONS,
    random_state: Any = None,
) -> FairSampleCheck:
    """Check whether the labeled rows look like a random sample of all rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Labeled and other rows, on scales that can be compared.
    is_labeled : array-like of bool of shape (n_samples,)
        Which rows are said to be a random sample.
    scores : array-like of shape (n_samples,) or (n_samples, n_scores), default=None
        Scores by models that have not seen the row's label (`random_fold_scores`); rows with NaN are left out. None:
        only the kernel test.
    level : float, default=0.01
        The chance of a false alarm.
    n_permutations : int, default=199
        Permutations of the kernel test; its smallest p-value is 1 / (n_permutations + 1).
    random_state : int, RandomState instance or None, default=None
        Draws rows, folds and permutations.

    Returns
    -------
    FairSampleCheck
        The p-values, the decision, and a sentence.

    See Also
    --------
    random_fold_scores : Scores for the second test.

    Notes
    -----
    The kernel test takes at most 1,000 labeled and 400 other rows, drawn at random. With several columns of scores the
    smallest p-value counts, times their number. The kernel is Gaussian with gamma = 1 / (n_features * X.var()).

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.model_selection import check_fair_sample
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> is_labeled = rng.permutation(600) < 100
    >>> check_fair_sample(X, is_labeled, random_state=0).is_fair
    True
    >>> by_doubt = np.argsort(np.abs(X[:, 0])).argsort() < 100  # the 100 rows nearest to a boundary
    >>> check_fair_sample(X, by_doubt, random_state=0).is_fair
    False
    """
    is_labeled = np.asarray(is_labeled)
    if is_labeled.dtype != bool or is_labeled.shape != (num_samples(X),):
        raise ValueError(
            f"is_labeled must be a boolean mask with one entry for each of the {num_samples(X)} rows of X; got an "
            f"array of shape {is_labeled.shape} and type {is_labeled.dtype}."
        )
    if not 0 < level < 1:
        raise ValueError(f"level is a chance of false alarms between 0 and 1, such as 0.01; got {level}.")
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1; got {n_permutations}.")
    random = check_random_state(random_state)
    kernel_p = _kernel_p(X, is_labeled, n_permutations, random)
    ks_p = None if scores is None else _scores_p(scores, is_labeled)
    found = [p for p in (kernel_p, ks_p) if p is not None]
    p_value = min(1.0, len(found) * min(found)) if found else 1.0
    n_labeled = int(is_labeled.sum())
    return FairSampleCheck(
        p_value, kernel_p, ks_p, p_value > level, level, n_labeled=n_labeled, n_others=len(is_labeled) - n_labeled
    )


def random_fold_scores(
    fit_and_score: Callable[[np.ndarray, np.ndarray], np.ndarray],
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    others: np.ndarray,
    n_rows: int,
    *,
    random_state: Any = None,
) -> np.ndarray:
    """Score labeled rows out of fold, and each other row by the model of one random fold.

    Parameters
    ----------
    fit_and_score : callable
        Takes the numbers of the rows to train on and of the rows to score; returns the scores of the latter.
    folds : sequence of (train, test)
        Row numbers; every labeled row is tested once.
    others : ndarray of int
        The numbers of the other rows to score.
    n_rows : int
        The number of all rows.
    random_state : int, RandomState instance or None, default=None
        Deals the other rows out to the folds.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_scores)
        NaN for rows that were not scored.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.model_selection import random_fold_scores
    >>> folds = [(np.array([0, 1]), np.array([2, 3])), (np.array([2, 3]), np.array([0, 1]))]
    >>> random_fold_scores(lambda train, test: test + 0.5, folds, np.array([4]), 6)
    array([0.5, 1.5, 2.5, 3.5, 4.5, nan])
    """
    fold_of = check_random_state(random_state).randint(len(folds), size=len(others))
    scores: np.ndarray | None = None
    for number, (train, test) in enumerate(folds):
        rows = np.concatenate([test, others[fold_of == number]])
        own = np.asarray(fit_and_score(train, rows), dtype=np.float64)
        if scores is None:
            scores = np.full((n_rows, *own.shape[1:]), np.nan)
        scores[rows] = own
    assert scores is not None
    return scores


def _kernel_p(X: Any, is_labeled: np.ndarray, n_permutations: int, random: np.random.RandomState) -> float | None:
    """The exact p-value of the kernel test; None with too few rows, or where all rows are equal."""
    labeled = random.permutation(np.flatnonzero(is_labeled))[:MOST_SAMPLED]
    others = random.permutation(np.flatnonzero(~is_labeled))[:MOST_OTHERS]
    if min(len(labeled), len(others)) < FEWEST_TESTED:
        return None
    rows = safe_indexing(X, np.concatenate([labeled, others]))
    rows = rows if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    variance = _variance(rows)
    if not variance > 0:
        return None
    K = rbf_kernel(rows, gamma=1 / (rows.shape[1] * variance))
    n = len(K)
    tags = np.repeat([1.0, 0.0], [len(labeled), len(others)])
    Z = np.stack([tags, *(random.permutation(tags) for _ in range(n_permutations))], axis=1)
    fold = random.permutation(n) % N_TAG_FOLDS
    total = np.zeros(Z.shape[1])
    for number in range(N_TAG_FOLDS):
        test, train = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        inner = K[np.ix_(train, train)] + RIDGE * np.eye(len(train))
        smoother = solve(inner, K[np.ix_(train, test)], assume_a="pos").T
        total += _auc_by_column(smoother @ (Z[train] - tags.mean()), Z[test])
    return float((1 + np.sum(total[1:] >= total[0] - 10.0**-TIE_DIGITS)) / (n_permutations + 1))


def _auc_by_column(predicted: np.ndarray, tags: np.ndarray) -> np.ndarray:
    """The AUC of each column of predictions for the same column of 0/1 tags; 0.5 where one tag is missing."""
    ranks = rankdata(np.round(predicted, TIE_DIGITS), axis=0)
    n_ones = tags.sum(axis=0)
    pairs = n_ones * (len(tags) - n_ones)
    wins = (ranks * tags).sum(axis=0) - n_ones * (n_ones + 1) / 2
    return np.divide(wins, pairs, out=np.full(len(pairs), 0.5), where=pairs > 0)


def _scores_p(scores: Any, is_labeled: np.ndarray) -> float | None:
    """The p-value of Kolmogorov and Smirnov's test, for several columns the smallest times their number."""
    scores = np.asarray(scores, dtype=np.float64)
    if len(scores) != len(is_labeled) or scores.ndim > 2:
        raise ValueError(
            f"scores must have one row for each of the {len(is_labeled)} rows of X; got the shape {scores.shape}."
        )
    columns = scores.reshape(len(scores), -1)
    is_known = ~np.isnan(columns).any(axis=1)
    labeled, others = columns[is_known & is_labeled], columns[is_known & ~is_labeled]
    if min(len(labeled), len(others)) < FEWEST_TESTED:
        return None
    found = [ks_2samp(labeled[:, k], others[:, k], method="auto").pvalue for k in range(columns.shape[1])]
    return float(min(1.0, len(found) * min(found)))


def _variance(rows: Any) -> float:
    """The variance of all numbers in a matrix, as gamma="scale" uses it."""
    if not sparse.issparse(rows):
        return float(rows.var())
    return float(rows.multiply(rows).mean() - rows.mean() ** 2)
