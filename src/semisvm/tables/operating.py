"""The line that a model draws through its scores: where it is, what it gives, and how sure that is.

    scores   (m,) or (m, k)  out-of-fold scores of the m labeled rows, by `methods.score_rows`
    codes    (m,)            the true class of each, as an index into the class names

With two classes there is one operating point, for the second class; with more one per class, on a score that is above 0
exactly where the class wins. With two classes the threshold is chosen on out-of-fold scores:

    a precision (recall) to keep    the highest recall (precision) that keeps it, or the best F1 that does
    costs                           0, the threshold of an estimator that was trained with them
    nothing                         the best expected F1 (`balance`)

What people see is measured from that line: everywhere, from `fit` to `predict`, a score is the estimator's score minus
the threshold (`scores_beyond`), so 0 is the line and rows above it are accepted.

`chance_kept`: how likely a target that labels show is kept on new rows. A sigmoid of the scores stands for the truth;
rows are drawn again, with classes drawn from it (a parametric bootstrap, Efron 1979); each draw chooses its threshold;
the share of these thresholds that keep the target under the sigmoid is the answer. Unlike an interval for a given
threshold it knows that the threshold was chosen on the same labels; unlike labels that are drawn again as they are, it
does not take their lucky runs for true.

`Probability`: Platt's sigmoid of out-of-fold scores, 1 / (1 + exp(-(slope score + offset))).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from semisvm.decision import Audit, Counts, OperatingPoint, Target, choose_for, make_audit, measure
from semisvm.decision.checks import cost_matrix
from semisvm.decision.target import OTHER_RATE
from semisvm.model_selection.calibration import fit_sigmoid
from semisvm.tables.methods import Settings, lead_per_class

FEWEST_OF_A_CLASS = 8  # labels of each class, below which there are no probabilities and no chances
N_BOOTSTRAPS = 400
SAME_RATE = 1e-12
STEEPEST = 50.0  # standard deviations of the scores that a sigmoid turns from 0 to 1 in, at most


def target_from(settings: Settings, classes: tuple[str, ...]) -> Target:
    """Return what the settings ask of a threshold."""
    costs = pair_of_costs(settings.costs, classes)
    prefer = None if settings.best_f1 else OTHER_RATE
    return Target(settings.min_precision, settings.min_recall, costs=costs, prefer=prefer)


def pair_of_costs(costs: object, classes: tuple[str, ...]) -> tuple[float, float] | None:
    """(cost of a missed positive, of an accepted negative) if costs are given and there are two classes."""
    if costs is None or len(classes) != 2:
        return None
    matrix = cost_matrix(costs, np.array(classes))
    return float(matrix[1, 0]), float(matrix[0, 1])


def place_thresholds(
    scores: np.ndarray, codes: np.ndarray, settings: Settings, classes: tuple[str, ...], *, may_move: bool = True
) -> dict[str, OperatingPoint]:
    """Return the operating point per class (of two classes: of the second) from out-of-fold scores."""
    target = target_from(settings, classes)
    if len(classes) == 2 and may_move and (target.is_constrained or target.costs is None):
        sign = np.where(codes == 1, 1, -1)
        if target.is_constrained:
            return {classes[1]: choose_for(target, scores, sign, level="cross-fitted")}
        return {classes[1]: measure(scores, sign, balance(scores, sign), target=Target(), level="cross-fitted")}
    return {
        name: measure(own, sign, 0.0, target=target, level="cross-fitted")
        for name, own, sign in scores_per_class(scores, codes, classes)
    }


def balance(scores: np.ndarray, sign: np.ndarray) -> float:
    """Return the threshold of the best expected F1.

    With few labels the best F1 in hindsight jumps with single rows. So the classes of the rows are replaced by their
    probabilities, a sigmoid of the scores: then F1 is smooth in the threshold, 2 sum(accepted p) / (accepted + sum p).
    """
    found = fit_probability(scores, sign, fewest=1)
    if found is None:
        return 0.0
    ordered = np.sort(scores)[::-1]
    p = found.of(ordered)
    expected = 2 * np.cumsum(p) / (np.arange(1, len(p) + 1) + p.sum())
    is_cut = np.append(ordered[:-1] != ordered[1:], True)  # equal scores are accepted together
    best = int(np.argmax(np.where(is_cut, expected, -1.0)))
    # Never every labeled row: the lowest threshold is the lowest score.
    return float(ordered[best] + ordered[best + 1]) / 2 if best + 1 < len(ordered) else float(ordered[best])


def audit_steps(
    supervised: np.ndarray,
    codes: np.ndarray,
    points: dict[str, OperatingPoint],
    settings: Settings,
    classes: tuple[str, ...],
    *,
    uses_unlabeled: bool = True,
) -> dict[str, Audit]:
    """Return per class what the labels alone give, then the threshold where one is set, then the unlabeled rows."""
    target = target_from(settings, classes)
    audits: dict[str, Audit] = {}
    moved = place_thresholds(supervised, codes, settings, classes)
    for name, scores, sign in scores_per_class(supervised, codes, classes):
        last = points[name] if uses_unlabeled else None
        steps = make_audit(target, scores, sign, last, "cross-fitted", sets_threshold=False)
        if len(classes) == 2 and (target.is_constrained or target.costs is None):
            first, *rest = steps.items()
            steps = dict([first, ("supervised + threshold", moved[name]), *rest])
        audits[name] = steps
    return audits


def scores_per_class(
    scores: np.ndarray, codes: np.ndarray, classes: tuple[str, ...]
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return (class, scores of the class, sign of each row) per class; of two classes, for the second only."""
    columns = lead_per_class(scores)
    first = len(classes) - columns.shape[1]
    return [(classes[k], columns[:, k - first], np.where(codes == k, 1, -1)) for k in range(first, len(classes))]


def predict_codes(scores: np.ndarray, threshold: float = 0.0) -> np.ndarray:
    """Return the class of each row: with two classes by the threshold, with more by the largest score."""
    return (scores > threshold).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


# ---- one scale ----


def undo_beyond(shown: np.ndarray, threshold: float) -> np.ndarray:
    """Return the estimator's scores of those that people see."""
    if np.isfinite(threshold):
        return shown + threshold
    squeezed = shown + np.sign(threshold)
    return squeezed / np.maximum(1 - np.abs(squeezed), 1e-12)


def at_the_line(point: OperatingPoint) -> OperatingPoint:
    """Return an operating point on the scale that people see: its threshold is 0, or infinite as before."""
    return replace(point, threshold=0.0) if np.isfinite(point.threshold) else point


# ---- how sure ----


def chance_kept(scores: np.ndarray, sign: np.ndarray, target: Target, seed: int = 0) -> float | None:
    """Return how likely the threshold that these labels choose keeps the target on new rows.

    `scores` and `sign`, (m,), are out-of-fold scores of labeled rows and their true classes, +1 or -1. None where
    nothing is asked for, a class has too few labels, or the scores do not rise with the class.
    """
    if not target.is_constrained or min((sign > 0).sum(), (sign < 0).sum()) < FEWEST_OF_A_CLASS:
        return None
    found = fit_probability(scores, sign)
    if found is None:
        return None
    ordered = np.sort(scores)[::-1]
    p, m = found.of(ordered), len(ordered)
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
    """Counts at all thresholds, highest first: of draws (B, m) of rows in descending order of score, and positives."""
    hits, accepted = np.cumsum(positives, axis=1), np.cumsum(copies, axis=1)
    none = np.zeros((len(copies), 1), dtype=hits.dtype)
    tp, fp = (np.hstack([none, part[:, is_cut]]) for part in (hits, accepted - hits))
    n_positive, n_rows = hits[:, -1:], accepted[:, -1:]
    return Counts(tp=tp, fp=fp, fn=n_positive - tp, tn=n_rows - n_positive - fp)


@dataclass(frozen=True)
class Probability:
    """A sigmoid: the probability of the positive class is 1 / (1 + exp(-(slope score + offset)))."""

    slope: float
    offset: float

    def of(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability of the positive class for each score."""
        return expit(self.slope * scores + self.offset)


def fit_probability(scores: np.ndarray, sign: np.ndarray, fewest: int = FEWEST_OF_A_CLASS) -> Probability | None:
    """Fit Platt's sigmoid (`fit_sigmoid`) to out-of-fold scores, (m,), and true classes, +1 or -1.

    None where a class has fewer than `fewest` labels, or where the scores do not rise with the class: a probability
    that falls with the score would mislead.
    """
    if min((sign > 0).sum(), (sign < 0).sum()) < fewest or not np.std(scores) > 0:
        return None
    slope, offset = fit_sigmoid(scores, sign, steepest=STEEPEST)
    return Probability(slope, offset) if slope > 0 and np.isfinite([slope, offset]).all() else None
