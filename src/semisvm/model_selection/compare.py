"""Which method is better on my data, and do my labels show it?

All methods are cross-fitted on the same folds, and judged row by row on the labeled rows:

    two classes     how well the scores rank: the share of the other class that a row is beyond,
                    whose mean in either class is the area under the ROC curve
    more classes    whether the predicted class is right; the mean is taken class by class

The difference of two methods is the mean of the differences of the same rows, class by class, and
its interval is that of paired values. A method that made no error would have an interval of no
width; so every class has two more rows for the standard error, on which one method is right and the
other wrong, and the reverse (compare Agresti and Min, Statistics in Medicine 24, 2005).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from semisvm.labels import encode
from semisvm.model_selection.cross_fit import cross_fit
from semisvm.model_selection.split import as_split
from semisvm.sklearn_private import num_samples


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`; print it for a table and a verdict.

    Attributes
    ----------
    measure : {"ROC AUC", "balanced accuracy"}
        What the methods are compared by.
    values : dict {str: float}
        The value of each method.
    gains : dict {str: tuple of float}
        For all methods but the first, the gain over the first with its interval:
        (gain, low, high).
    confidence : float
        Of the intervals.
    """

    measure: str
    values: dict[str, float]
    gains: dict[str, tuple[float, float, float]]
    confidence: float

    @property
    def verdict(self) -> str:
        """What the labels say about the methods, in a sentence."""
        baseline = next(iter(self.values))
        better = [name for name, (_, low, _) in self.gains.items() if low > 0]
        worse = [name for name, (_, _, high) in self.gains.items() if high < 0]
        if better:
            return f"Better than {baseline}: {', '.join(better)}."
        if len(worse) == len(self.gains):
            return f"{baseline} is better than all others."
        return f"These labels can't tell whether any method is better than {baseline}."

    def __str__(self) -> str:
        width = max(len("method"), *map(len, self.values))
        first = next(iter(self.values))
        lines = [f"{'method':{width}}  {self.measure:>17}  gain over {first}"]
        for name, value in self.values.items():
            gain, low, high = self.gains.get(name, (0.0, 0.0, 0.0))
            shown = f"{gain:+.3f} ({low:+.3f} to {high:+.3f})" if name in self.gains else ""
            lines.append(f"{name:{width}}  {value:17.3f}  {shown}".rstrip())
        return "\n".join([*lines, self.verdict])


def compare(
    X: Any,
    y: Any,
    methods: Mapping[str, Any] | Sequence[Any],
    *,
    cv: Any = None,
    confidence: float = 0.9,
    unlabeled: Any = -1,
    random_state: int | None = 0,
    n_jobs: int | None = None,
) -> Comparison:
    """Compare methods on the labeled rows by cross-validation, the others with the first.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of n_samples rows
        The rows, as all the methods take them.
    y : array-like of shape (n_samples,)
        The labels; `unlabeled` marks rows without one.
    methods : dict {name: classifier} or list of classifiers
        The methods, the baseline first. Those of a list are named by their classes.
    cv : int, splitter or None, default=None
        The folds, the same for all methods. None or an int: five or that many stratified, shuffled
        folds.
    confidence : float, default=0.9
        Of the intervals, each by itself: the best of many methods looks better than it is.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows.
    random_state : int or None, default=0
        Seed of the folds.
    n_jobs : int, default=None
        Number of folds that are fitted in parallel.

    Returns
    -------
    comparison : Comparison
        Values, and gains over the first method with their intervals.

    Notes
    -----
    Two classes are compared by the area under the ROC curve, which does not depend on thresholds,
    more classes by balanced accuracy. The intervals are about models trained on labels like these,
    and other rows.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from semisvm import SupervisedSVC, TransductiveSVC, compare
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> y[40:] = -1
    >>> print(compare(X, y, [SupervisedSVC(), TransductiveSVC()]).verdict)
    These labels can't tell whether any method is better than SupervisedSVC.
    """
    if not isinstance(methods, Mapping):
        named = {type(method).__name__: method for method in methods}
        if len(named) < len(methods):
            raise ValueError("Two methods are of one class: pass a dict that names them.")
        methods = named
    labels = encode(y, unlabeled=unlabeled, n_rows=num_samples(X))
    cv = as_split(cv, labels, unlabeled=unlabeled, random_state=random_state)
    judged = {
        name: _judge(
            cross_fit(method, X, y, cv=cv, unlabeled=unlabeled, n_jobs=n_jobs), labels.codes
        )
        for name, method in methods.items()
    }
    codes = labels.codes[labels.is_labeled]
    baseline = next(iter(judged))
    return Comparison(
        measure="ROC AUC" if labels.n_classes == 2 else "balanced accuracy",
        values={name: float(values.sum()) for name, values in judged.items()},
        gains={
            name: paired_interval(values - judged[baseline], codes, confidence)
            for name, values in judged.items()
            if name != baseline
        },
        confidence=confidence,
    )


def _judge(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """What each labeled row adds to the measure, which is their sum."""
    rows = np.flatnonzero(codes >= 0)
    scores, codes = scores[rows], codes[rows]
    n_of_class = np.bincount(codes)
    if scores.ndim == 2:
        return (scores.argmax(axis=1) == codes) / (len(n_of_class) * n_of_class[codes])
    values = np.empty(len(scores))
    for own, sign in ((0, -1), (1, +1)):
        others = np.sort(sign * scores[codes != own])
        mine = sign * scores[codes == own]
        beyond = np.searchsorted(others, mine, "left") + np.searchsorted(others, mine, "right")
        values[codes == own] = beyond / (2 * len(others))
    # Both classes have the area as their mean. Rows of the first class add to the variance alone.
    values[codes == 0] -= values[codes == 0].mean()
    return values / n_of_class[codes]


def paired_interval(
    gains: np.ndarray, codes: np.ndarray, confidence: float
) -> tuple[float, float, float]:
    """The sum of what rows add to a difference, with its interval: (sum, low, high)."""
    variance = 0.0
    for code in np.unique(codes):
        own = gains[codes == code]
        n = len(own)
        unit = 1 / n if len(np.unique(codes)) == 2 else 1 / (n * len(np.unique(codes)))
        squares = ((own - own.mean()) ** 2).sum() + 2 * unit**2  # of the two rows more
        variance += n * squares / (n + 2)
    reach = ndtri((1 + confidence) / 2) * np.sqrt(variance)
    total = float(gains.sum())
    return total, float(total - reach), float(total + reach)
