"""Tests of whether the labeled rows look like a random sample of all rows.

Exact intervals and held-out certificates assume it. Rows that were chosen because a model was
uncertain, or by a person's interest, are not a random sample, and figures measured on them may not
hold. Two tests look for signs of such a choice:

    kernel   kernel ridge regression learns to separate labeled and other rows, in folds that ignore
             which are which. The statistic is the sum over the folds of the AUC of the held-out
             rows. The predictions are linear in the tags, so all permutations of the tags take one
             matrix product per fold. The p-value is exact: in a random sample all permutations are
             equally likely.
    scores   Kolmogorov and Smirnov's test on the scores of a model. Labeled rows must be scored by
             a model that has not seen their labels, and the other rows in the same way
             (`random_fold_scores`). Not exact, because models of different folds share rows.

Each test is used at half of the level. Passing is no proof: a choice that shows neither in X nor in
the scores is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_random_state

from semisvm.kernels.threads import limited_threads
from semisvm.labels import UNLABELED_CODE, encode
from semisvm.matrices import is_sparse_matrix
from semisvm.model_selection.cross_fit import assign_folds, cross_fit, list_folds
from semisvm.sklearn_private import num_samples, safe_indexing

FAIR_LEVEL = 0.01
N_PERMUTATIONS = 199
N_TAG_FOLDS = 4
# Labeled and other rows in the kernel test: a bound on the time, about 25 ms.
MOST_SAMPLED, MOST_OTHERS = 200, 300
FEWEST_TESTED = 4  # rows of either kind; with fewer there is nothing to test
N_SCORE_FOLDS = 4
# Labeled rows that train and are scored for the second test: a bound on the time.
MOST_TRAINED = 1_000
MOST_OTHERS_SCORED = 2_000  # other rows
# of either kind: from here on the limit of the test's distribution is as good as the exact one
MANY_SCORES = 1_000
RIDGE = 1.0
TIE_DIGITS = 9  # predictions that differ by rounding only are equal

FitAndScore = Callable[
    [np.ndarray, np.ndarray], np.ndarray
]  # rows to train on, rows to score -> their scores


@dataclass(frozen=True)
class FairSampleCheck:
    """The result of `check_fair_sample`.

    Attributes
    ----------
    p_value : float
        Twice the smaller p-value of the two tests, at most 1; without scores the p-value of the
        kernel test.
    kernel_p, ks_p : float or None
        The p-value of each test; None if it was not run.
    is_fair : bool
        Whether the labeled rows look like a random sample: `p_value` is above `level`.
    level : float
        The allowed probability of a false alarm.
    n_labeled, n_others : int
        Number of labeled rows and of other rows that were compared.
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
            return (
                "There are too few rows to test whether the labeled rows are a random sample of the"
                " pool."
            )
        if self.is_fair:
            return "There is no sign that the labeled rows are not a random sample of the pool."
        shown = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"
        return (
            f"The labeled rows do not look like a random sample of the pool ({shown}): figures"
            " measured on them may not hold. Certify by sampling instead."
        )

    def __str__(self) -> str:
        return self.sentence


def check_fair_sample(
    X: Any,
    y: Any,
    scores: Any = None,
    *,
    estimator: Any = None,
    unlabeled: Any = -1,
    level: float = FAIR_LEVEL,
    n_permutations: int = N_PERMUTATIONS,
    random_state: Any = None,
) -> FairSampleCheck:
    """Check whether the labeled rows look like a random sample of all rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or None
        All rows, with features on comparable scales. None: no kernel test.
    y : array-like of shape (n_samples,)
        The labels; `unlabeled` marks rows without one. Or a boolean mask of the rows to check.
    scores : array-like of shape (n_samples,) or (n_samples, n_scores), default=None
        Out-of-fold scores (see `random_fold_scores`); rows with NaN are ignored. None: those of
        `estimator`.
    estimator : classifier, default=None
        A classifier with `decision_function` or `predict_proba`, cloned and trained in four folds
        to make `scores`. None: no test of scores, unless they are given.
    unlabeled : label, default=-1
        Value of y that marks unlabeled rows.
    level : float, default=0.01
        The allowed probability of a false alarm.
    n_permutations : int, default=199
        Number of permutations in the kernel test; its smallest p-value is 1 / (n_permutations + 1).
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows, folds and permutations.

    Returns
    -------
    FairSampleCheck
        The p-values and the decision; print it for a sentence.

    See Also
    --------
    random_fold_scores : Makes the scores for the second test.

    Notes
    -----
    The kernel test takes at most 200 labeled and 300 other rows, drawn at random, and `estimator`
    trains on at most 1,000 rows. With several columns of scores the smallest p-value counts, times
    their number. The kernel is Gaussian with gamma = 1 / (n_features * X.var()).

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import SupervisedSVC, check_fair_sample
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> truth = (X[:, 0] > 0).astype(int)
    >>> y = np.where(rng.permutation(600) < 100, truth, -1)  # 100 labels, drawn at random
    >>> check_fair_sample(X, y, estimator=SupervisedSVC(), random_state=0).is_fair
    True
    >>> y = np.where(np.argsort(np.abs(X[:, 0])).argsort() < 100, truth, -1)
    >>> print(check_fair_sample(X, y, estimator=SupervisedSVC(), random_state=0))
    The labeled rows do not look like a random sample of the pool (p < 0.001): figures measured on
    them may not hold. \
Certify by sampling instead.
    """
    if not 0 < level < 1:
        raise ValueError(
            f"level is a chance of false alarms between 0 and 1, such as 0.01; got {level}."
        )
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1; got {n_permutations}.")
    random = check_random_state(random_state)
    y = y if hasattr(y, "dtype") else np.asarray(y)
    is_labeled = np.asarray(y) if y.dtype == bool else None
    if is_labeled is None:
        labels = encode(y, unlabeled=unlabeled, n_rows=None if X is None else num_samples(X))
        is_labeled = labels.is_labeled
        if scores is None and estimator is not None:
            scores = scores_of_estimator(estimator, X, labels.codes, random)
    elif scores is None and estimator is not None:
        raise ValueError("An estimator learns from labels: give them as y, in place of a mask.")
    if X is not None and is_labeled.shape != (num_samples(X),):
        raise ValueError(
            f"A boolean mask has one entry per row of X, {num_samples(X)}; got shape"
            f" {is_labeled.shape}."
        )
    kernel_p = None if X is None else kernel_test(X, is_labeled, n_permutations, random)
    return judge_sample(kernel_p, scores, is_labeled, level)


def judge_sample(
    kernel_p: float | None, scores: Any, is_labeled: np.ndarray, level: float
) -> FairSampleCheck:
    """What `check_fair_sample` returns, from the p-value of the kernel test and the scores."""
    ks_p = None if scores is None else _scores_p(scores, is_labeled)
    found = [p for p in (kernel_p, ks_p) if p is not None]
    p_value = min(1.0, len(found) * min(found)) if found else 1.0
    n = int(is_labeled.sum())
    return FairSampleCheck(p_value, kernel_p, ks_p, p_value > level, level, n, len(is_labeled) - n)


def scores_of_estimator(
    estimator: Any, X: Any, codes: np.ndarray, random: np.random.RandomState
) -> np.ndarray | None:
    """Scores by clones of a classifier; None where a class has fewer than two labels."""

    def fit_and_score(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
        fitted = clone(estimator).fit(safe_indexing(X, train), codes[train])
        scored = safe_indexing(X, rows)
        if hasattr(fitted, "decision_function"):
            return fitted.decision_function(scored)
        return fitted.predict_proba(scored)[:, 1:]

    return labeled_fold_scores(fit_and_score, codes, codes >= 0, random_state=random)


def labeled_fold_scores(
    fit_and_score: FitAndScore,
    codes: np.ndarray,
    is_tested: np.ndarray,
    *,
    random_state: Any = None,
) -> np.ndarray | None:
    """`random_fold_scores` of some rows, in four folds; None where a class has under two labels.

    Labels outside of the mask `is_tested` do not train: their rows are scored as all other rows
    are.
    """
    random = check_random_state(random_state)
    tested = np.sort(random.permutation(np.flatnonzero(is_tested))[:MOST_TRAINED])
    others = np.sort(random.permutation(np.flatnonzero(~is_tested))[:MOST_OTHERS_SCORED])
    own = np.full(len(codes), UNLABELED_CODE)
    own[tested] = codes[tested]
    counts = np.bincount(codes[tested], minlength=codes.max(initial=0) + 1)
    if len(counts) < 2 or counts.min() < 2:
        return None
    rng = np.random.default_rng(random.randint(2**31))
    fold = assign_folds(own, N_SCORE_FOLDS, rng=rng, n_draws=1, every_class_in_every_fold=True)[0]
    folds = [(train[own[train] >= 0], test) for train, test in list_folds(fold)]
    return random_fold_scores(fit_and_score, folds, others, len(codes), random_state=random)


def random_fold_scores(
    fit_and_score: FitAndScore,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    others: np.ndarray,
    n_rows: int,
    *,
    random_state: Any = None,
) -> np.ndarray:
    """Score labeled rows out of fold, and each other row by the model of one random fold.

    `fit_and_score` takes the numbers of the rows to train on and of those to score. Every labeled
    row is tested by one of the folds; rows that are neither tested nor `others` have NaN.

    >>> folds = [(np.array([0, 1]), np.array([2, 3])), (np.array([2, 3]), np.array([0, 1]))]
    >>> random_fold_scores(lambda train, test: test + 0.5, folds, np.array([4]), 6)
    array([0.5, 1.5, 2.5, 3.5, 4.5, nan])
    """
    fold_of = check_random_state(random_state).randint(len(folds), size=len(others))
    parts = [
        (train, np.concatenate([test, others[fold_of == k]]))
        for k, (train, test) in enumerate(folds)
    ]
    return cross_fit(parts, fit_and_score, n_rows)


@np.errstate(over="ignore", invalid="ignore")  # a variance that is not finite is no variance
def kernel_test(
    X: Any, is_labeled: np.ndarray, n_permutations: int, random: np.random.RandomState
) -> float | None:
    """The exact p-value of the kernel test; None with too few rows, or where all rows are equal."""
    labeled = random.permutation(np.flatnonzero(is_labeled))[:MOST_SAMPLED]
    others = random.permutation(np.flatnonzero(~is_labeled))[:MOST_OTHERS]
    if min(len(labeled), len(others)) < FEWEST_TESTED:
        return None
    rows = safe_indexing(X, np.concatenate([labeled, others]))
    rows = rows if is_sparse_matrix(rows) else np.asarray(rows, dtype=np.float64)
    variance = _variance(rows)
    if not (np.isfinite(variance) and variance > 0):
        return None
    n = len(labeled) + len(others)
    tags = np.repeat([1.0, 0.0], [len(labeled), len(others)])
    Z = tags[
        np.argsort(np.vstack([np.arange(n), random.uniform(size=(n_permutations, n))]), axis=1)
    ].T
    fold = random.permutation(n) % N_TAG_FOLDS
    # Kernel ridge regression without the rows T of a fold predicts z_T - inv(G_TT) (G z)_T there, G
    # = inv(K + ridge I).
    centered = Z - tags.mean()
    total = np.zeros(Z.shape[1])
    with limited_threads():
        # The squares of large rows would overflow.
        K = rbf_kernel(rows / np.sqrt(variance), gamma=1 / rows.shape[1])
        K.flat[:: n + 1] += RIDGE
        weighted = (G := np.linalg.inv(K)) @ centered
        for number in range(N_TAG_FOLDS):
            test = np.flatnonzero(fold == number)
            left = np.linalg.solve(G[np.ix_(test, test)], weighted[test])
            total += _auc_by_column(centered[test] - left, Z[test])
    return float((1 + np.sum(total[1:] >= total[0] - 10.0**-TIE_DIGITS)) / (n_permutations + 1))


def _auc_by_column(predicted: np.ndarray, tags: np.ndarray) -> np.ndarray:
    """The AUC of each column of predictions for its 0/1 tags; 0.5 where one tag is missing."""
    ranks = stats.rankdata(np.round(predicted, TIE_DIGITS), axis=0)
    n_ones = tags.sum(axis=0)
    pairs = n_ones * (len(tags) - n_ones)
    wins = (ranks * tags).sum(axis=0) - n_ones * (n_ones + 1) / 2
    return np.divide(wins, pairs, out=np.full(len(pairs), 0.5), where=pairs > 0)


def _scores_p(scores: Any, is_labeled: np.ndarray) -> float | None:
    """The p-value of Kolmogorov and Smirnov's test; of several columns by Bonferroni."""
    scores = np.asarray(scores, dtype=np.float64)
    if len(scores) != len(is_labeled) or scores.ndim > 2:
        raise ValueError(
            f"scores must have one row for each of {len(is_labeled)} rows; got the shape"
            f" {scores.shape}."
        )
    columns = scores.reshape(len(scores), -1)
    is_known = ~np.isnan(columns).any(axis=1)
    labeled = columns[is_known & is_labeled]
    others = columns[is_known & ~is_labeled]
    if min(len(labeled), len(others)) < FEWEST_TESTED:
        return None
    method: Any = "asymp" if min(len(labeled), len(others)) >= MANY_SCORES else "auto"
    found = [
        stats.ks_2samp(labeled[:, k], others[:, k], method=method).pvalue
        for k in range(columns.shape[1])
    ]
    return float(min(1.0, len(found) * min(found)))


def _variance(rows: Any) -> float:
    """The variance of all numbers in a matrix, as gamma="scale" uses it."""
    if not is_sparse_matrix(rows):
        return float(rows.var())
    return float(rows.multiply(rows).mean() - rows.mean() ** 2)
