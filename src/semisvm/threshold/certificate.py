"""Is the precision or recall really that high? A proof from labels that were put aside.

The rows are a random sample of those that the classifier will be used on, and they were used for
nothing else: not for training, not for tuning, and not as unlabeled rows. With probability
`confidence` over their draw, no false statement is proved. Everything rests on one tail:

    P(Bin(m, target) >= k),  the p-value of "the true rate is below the target", exact for every m

**One set of predictions.** Given how many rows are accepted, the positives among them are
Bin(accepted, precision). Given how many rows are positive, those accepted are
Bin(positives, recall). One test each.

**Precision at several thresholds: one after the other, until one fails.** The thresholds and their
order are fixed without these labels. A false threshold can be returned only if the first false one
in the order passed its test. That is one test, so the whole family has one risk, and all that pass
are good together (fixed-sequence testing; here "Learn then Test", Angelopoulos et al. 2021).

**Recall: all thresholds at once.** Let t* be the lowest threshold whose recall is below the target.
Given the number of positives n, t* accepts Bin(n, recall(t*)) of them. Recall only falls as the
threshold rises, so a false threshold accepts no more positives than t* does. All thresholds that
accept c positives, with P(Bin(n, target) >= c) <= risk, are therefore good together (the tolerance
limits of Wilks, 1941), though they lie between the scores of these very positives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.threshold.binomial import (
    binomial_interval,
    fewest_successes,
    fewest_trials,
    tail,
)
from semisvm.threshold.choosing import between, check_confidence, check_targets, just_below


@dataclass(frozen=True)
class Certificate:
    """What labels that were put aside prove.

    Attributes
    ----------
    proved : bool
        Whether `measure` is at least `target`, with probability `confidence`.
    measure : {"precision", "recall"}
        What the certificate is about.
    target, confidence : float
        What was to be proved, and how surely.
    threshold : float or None
        The threshold that it is proved for, or the first one that failed; None for predictions.
    successes, trials : int
        The accepted positives, and of how many accepted rows (positives, for a recall).
    bound : float
        The exact lower bound of the rate, at this confidence, of `threshold` alone.
    needed : int or None
        Where nothing is proved: the fewest trials, all successes, that would prove the target. None
        if a target of 1 can't be proved.
    """

    proved: bool
    measure: str
    target: float
    confidence: float
    threshold: float | None
    successes: int
    trials: int
    bound: float
    needed: int | None

    def __str__(self) -> str:
        rows = "accepted rows" if self.measure == "precision" else "positives"
        right = "positive" if self.measure == "precision" else "accepted"
        at = "" if self.threshold is None else f" at threshold {self.threshold:.4g}"
        seen = f"{self.successes} of {self.trials} {rows} are {right}"
        if self.proved:
            return (
                f"{self.measure} is at least {self.target:g}{at}, with {self.confidence:.0%}"
                f" confidence: {seen}."
            )
        remedy = f"at least {self.needed} {rows} are needed, all of them {right}"
        return (
            f"{self.measure} of {self.target:g} is not proved{at}: {seen}, which proves"
            f" {self.bound:.3f} with {self.confidence:.0%} confidence"
            + (f"; {remedy}." if self.needed and self.needed > self.trials else ".")
        )


def certify(
    scores: ArrayLike,
    y: ArrayLike,
    *,
    min_precision: float | None = None,
    min_recall: float | None = None,
    thresholds: ArrayLike | None = None,
    confidence: float = 0.9,
    pos_label: Any = None,
) -> Certificate:
    """Prove a precision or a recall by labels that were put aside.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
        Scores of the rows, such as `decision_function(X)`; or predictions: labels as in `y`, or
        booleans, which rows the classifier accepts.
    y : array-like of shape (n_samples,)
        The true labels of all these rows, of two classes.
    min_precision, min_recall : float
        What to prove, one of the two.
    thresholds : array-like, default=None
        Thresholds to test for a precision, in this order, until one fails: from strict to lenient,
        fixed without a look at `y`. Quantiles of the scores of unlabeled rows are a good choice.
        None: 0, where a classifier decides by itself. A recall needs none: all are tested at once.
    confidence : float, default=0.9
        The probability that what is proved is true, for one certificate from these labels. For k of
        them from the same labels use 1 - (1 - confidence) / k each.
    pos_label : label, default=None
        The positive class; None: the second one, sorted.

    Returns
    -------
    certificate : Certificate
        Whether it is proved, and for which threshold: of those proved, the one with the most
        accepted positives for a precision, the highest for a recall.

    See Also
    --------
    PreferenceClassifier : Finds a threshold with the labels that it learns from.
    Campaign : Proves a precision or recall with the fewest labels, of rows that it chooses.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in
       the case of the binomial", Biometrika 26, 1934. :doi:`10.1093/biomet/26.4.404`
    .. [2] S. S. Wilks, "Determination of sample sizes for setting tolerance limits", Annals of
       Mathematical Statistics 12, 1941. :doi:`10.1214/aoms/1177731788`
    .. [3] A. N. Angelopoulos, S. Bates, E. J. Candes, M. I. Jordan and L. Lei, "Learn then test:
       calibrating predictive algorithms to achieve risk control", 2021.
       :doi:`10.48550/arXiv.2110.01052`

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import certify
    >>> scores = np.linspace(1, -1, 100)
    >>> y = (scores > 0.02).astype(int)
    >>> print(certify(scores, y, min_precision=0.9))
    precision is at least 0.9 at threshold 0, with 90% confidence: 49 of 50 accepted rows are \
positive.
    >>> certify(scores > 0, y, min_precision=0.99).needed
    230
    """
    asked = check_targets(min_precision, min_recall)
    risk = 1 - check_confidence(confidence)
    if len(asked) != 1:
        raise ValueError("Pass min_precision or min_recall, one of them: a certificate has one.")
    [(measure, target)] = asked.items()
    positive, name = _positives(y, pos_label)
    vector = np.asarray(scores)
    if vector.shape != positive.shape:
        raise ValueError(
            f"scores and y must have one entry per row, got {vector.shape} and {positive.shape}."
        )
    if np.isin(vector, np.append(np.unique(y), name)).all() and vector.dtype != bool:
        vector = vector == name  # predicted labels
    if vector.dtype == bool:
        if thresholds is not None:
            raise ValueError("thresholds are for scores, and booleans have been decided: leave it.")
        accepted = vector[None]
        tested = np.array([np.nan])
    else:
        vector = vector.astype(np.float64)
        if not np.isfinite(vector).all():
            raise ValueError("scores must be finite, and some are not.")
        if measure == "recall" and thresholds is None:
            tested = _just_provable(vector[positive], vector, target, risk)
        else:
            tested = np.atleast_1d(np.asarray(0.0 if thresholds is None else thresholds, float))
        accepted = vector > tested[:, None]
    hits = (accepted & positive).sum(axis=1)
    trials = accepted.sum(axis=1) if measure == "precision" else np.full(len(hits), positive.sum())
    passes = tail(hits, trials, target) <= risk if target < 1 else np.zeros(len(hits), dtype=bool)
    if measure == "precision":  # in order, until one fails; recall: all at once
        passes = np.logical_and.accumulate(passes)
    if not passes.any():
        at = 0
    elif measure == "precision":
        at = int(np.argmax(np.where(passes, hits, -1)))
    else:
        at = int(np.argmax(np.where(passes, tested, -np.inf)))
    k, m = int(hits[at]), int(trials[at])
    return Certificate(
        proved=bool(passes[at]),
        measure=measure,
        target=target,
        confidence=1 - risk,
        threshold=None if vector.dtype == bool else float(tested[at]),
        successes=k,
        trials=m,
        bound=float(binomial_interval(k, m, 1 - risk, "lower")[0]),
        needed=None if passes[at] or target == 1 else fewest_trials(target, risk),
    )


def _just_provable(
    of_positives: np.ndarray, scores: np.ndarray, target: float, risk: float
) -> np.ndarray:
    """The highest threshold whose recall is proved; the lowest of all where none is."""
    ordered = np.sort(of_positives)
    needed = len(ordered) + 1 if target == 1 else int(fewest_successes(len(ordered), target, risk))
    everything = just_below(scores.min(), np.ptp(scores))
    if needed > len(ordered):
        return np.array([everything])
    score = ordered[len(ordered) - needed]
    lower = scores[scores < score]
    return np.atleast_1d(between(lower.max() if len(lower) else everything, score))


def _positives(y: ArrayLike, pos_label: Any) -> tuple[np.ndarray, Any]:
    """Which rows are positive, a mask, and the label that they have."""
    labels = np.asarray(y)
    classes = np.unique(labels).tolist()
    if pos_label is None:
        if len(classes) > 2 or not len(classes):
            raise ValueError(
                f"y must have two classes, and it has {len(classes)}: leave out rows without a"
                " label, or pass pos_label, the positive one of several classes."
            )
        if len(classes) == 1 and isinstance(classes[0], str):
            raise ValueError(f"y has the class {classes[0]!r} alone: pass pos_label.")
        # A single class of numbers is told by its value: 1 and True are positive, 0 and -1 not.
        pos_label = classes[-1] if len(classes) == 2 or classes[0] > 0 else 1
    elif pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not a label of y: {classes}.")
    return labels == pos_label, pos_label
