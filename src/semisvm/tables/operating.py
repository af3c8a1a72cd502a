"""The line that a model draws through its scores: where it is, what it gives, and how sure that is.

    scores   (m,) or (m, k)  out-of-fold scores of the m labeled rows, by `methods.score_rows`
    codes    (m,)            the true class of each, as an index into the class names

With two classes there is one operating point, for the second class; with more one per class, on a
score that is above 0 exactly where the class wins. With two classes the threshold is chosen on
out-of-fold scores:

    a precision (recall) to keep    the highest recall (precision) that keeps it, or the best F1
                                    that does
    costs                           0, the threshold of an estimator that was trained with them
    nothing                         the best F1 (`balance`)

What people see is measured from that line: everywhere, from `fit` to `predict`, a score is the
estimator's score minus the threshold (`scores_beyond`), so 0 is the line and rows above it are
accepted.

`chance_kept`: how likely a target that labels show is kept on new rows. A sigmoid of the scores is
taken as the truth; rows are drawn again, with classes drawn from it (a parametric bootstrap, Efron
1979); each draw chooses its threshold; the share of these thresholds that keep the target under the
sigmoid is the answer. Unlike an interval for a given threshold it knows that the threshold was
chosen on the same labels; unlike labels that are drawn again as they are, it does not take their
lucky runs for true.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from semisvm.decision import Counts, Evidence, OperatingPoint, Target, choose, measure
from semisvm.decision.checks import cost_matrix
from semisvm.decision.operating_point import scores_beyond
from semisvm.decision.target import OTHER_RATE
from semisvm.model_selection.thresholds import FEWEST_OF_A_CLASS, balance, fit_probability
from semisvm.tables.methods import Settings, lead_per_class

N_BOOTSTRAPS = 400
SAME_RATE = 1e-12
HUGE_SCORE = 1e300  # beyond any score, with room for the sum of two


def target_from(settings: Settings, classes: tuple[str, ...]) -> Target:
    """Return the target of the settings."""
    costs = pair_of_costs(settings.costs, classes)
    prefer = None if settings.best_f1 else OTHER_RATE
    return Target(settings.min_precision, settings.min_recall, costs=costs, prefer=prefer)


def pair_of_costs(costs: object, classes: tuple[str, ...]) -> tuple[float, float] | None:
    """(cost of a missed positive, of an accepted negative) of two classes with costs."""
    if costs is None or len(classes) != 2:
        return None
    matrix = cost_matrix(costs, np.array(classes))
    return float(matrix[1, 0]), float(matrix[0, 1])


def moves_threshold(target: Target, classes: tuple[str, ...]) -> bool:
    """Whether a threshold is chosen: not with costs, which the estimator was trained with."""
    return len(classes) == 2 and (target.is_constrained or target.costs is None)


def place_thresholds(
    scores: np.ndarray,
    codes: np.ndarray,
    settings: Settings,
    classes: tuple[str, ...],
    *,
    may_move: bool = True,
) -> dict[str, OperatingPoint]:
    """Return the operating point per class (of two: of the second) from out-of-fold scores."""
    target = target_from(settings, classes)
    if may_move and moves_threshold(target, classes):
        sign = np.where(codes == 1, 1, -1)
        if target.is_constrained:
            return {classes[1]: choose(scores, sign, target, level=Evidence.CROSS_FITTED)}
        return {
            classes[1]: measure(
                scores, sign, balance(scores, sign), target=Target(), level=Evidence.CROSS_FITTED
            )
        }
    return {
        name: measure(class_scores, sign, 0.0, target=target, level=Evidence.CROSS_FITTED)
        for name, class_scores, sign in scores_per_class(scores, codes, classes)
    }


def scores_per_class(
    scores: np.ndarray, codes: np.ndarray, classes: tuple[str, ...]
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return (class, its scores, sign of each row) per class; of two, for the second."""
    columns = lead_per_class(scores)
    first = len(classes) - columns.shape[1]
    return [
        (classes[k], columns[:, k - first], np.where(codes == k, 1, -1))
        for k in range(first, len(classes))
    ]


def predict_codes(scores: np.ndarray, threshold: float = 0.0) -> np.ndarray:
    """Return the class of each row: by the threshold, or of several by the largest score."""
    return (scores > threshold).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


# ---- one scale ----


def undo_beyond(cut: float, threshold: float) -> float:
    """Return the estimator's threshold for a cut through the scores that people see.

    It is the largest score that is not above the cut once it is seen (`scores_beyond`, which never
    changes the order of scores but rounds them), so exactly the same rows are above both.
    """
    if np.isinf(cut):
        return cut
    low, high = -HUGE_SCORE, HUGE_SCORE
    while low < (middle := 0.5 * (low + high)) < high:
        if scores_beyond(np.array(middle), threshold) <= cut:
            low = middle
        else:
            high = middle
    return low


def at_the_line(point: OperatingPoint) -> OperatingPoint:
    """Return an operating point on the scale that people see: its threshold is 0."""
    return replace(point, threshold=0.0) if np.isfinite(point.threshold) else point


# ---- how sure ----


def chance_kept(
    scores: np.ndarray, sign: np.ndarray, target: Target, seed: int = 0
) -> float | None:
    """Return how likely the threshold that these labels choose keeps the target on new rows.

    `scores` and `sign`, (m,), are out-of-fold scores of labeled rows and their true classes, +1 or
    -1. None without a target, or if a class has too few labels, or the scores do not rise with the
    class.
    """
    if not target.is_constrained or min((sign > 0).sum(), (sign < 0).sum()) < FEWEST_OF_A_CLASS:
        return None
    probability = fit_probability(scores, sign)
    if probability is None:
        return None
    ordered = np.sort(scores)[::-1]
    p = probability.of(ordered)
    m = len(ordered)
    is_cut = np.append(ordered[:-1] != ordered[1:], True)
    truth = target.shortfall(_counts(np.ones((1, m)), p[None], is_cut))[0]
    rng = np.random.default_rng(seed)
    kept = 0
    for _ in range(N_BOOTSTRAPS // 50):
        copies = rng.multinomial(m, np.full(m, 1 / m), size=50)
        counts = _counts(copies, rng.binomial(copies, p), is_cut)
        shortfall = target.shortfall(counts)
        nearest = shortfall == shortfall.min(axis=1, keepdims=True)
        chosen = np.argmax(np.where(nearest, target.objective(counts), -np.inf), axis=1)
        kept += int((truth[chosen] <= SAME_RATE).sum())
    return kept / (N_BOOTSTRAPS // 50 * 50)


def _counts(copies: np.ndarray, positives: np.ndarray, is_cut: np.ndarray) -> Counts:
    """Counts at all thresholds, highest first, of draws (B, m) of rows in order of score."""
    hits = np.cumsum(positives, axis=1)
    accepted = np.cumsum(copies, axis=1)
    none = np.zeros((len(copies), 1), dtype=hits.dtype)
    tp, fp = (np.hstack([none, part[:, is_cut]]) for part in (hits, accepted - hits))
    n_positive = hits[:, -1:]
    n_rows = accepted[:, -1:]
    return Counts(tp=tp, fp=fp, fn=n_positive - tp, tn=n_rows - n_positive - fp)
