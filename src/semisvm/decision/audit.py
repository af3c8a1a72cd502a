"""Where the gain comes from: up to three operating points, measured on the same rows in the same
way.

    supervised               the model trained on the labels alone, accepted above 0
    supervised + threshold   the same scores, with the threshold chosen for the target
    with unlabeled           the final model

The difference between the first two is due to the threshold, that between the last two to the
unlabeled rows. The steps are in this order; a step that a method does not have is left out.

**Is a difference due to chance?** How good is the operating point that would be chosen on these
labels, and how much of that is luck?

    scores, is_positive  (m,)    scores of labeled rows, and whether each is positive
    copies               (B, m)  how often each row is drawn in each of B resamples, with
                         replacement within each class
    value                (B,)    of the best operating point of each resample: the target's
                         objective (F-beta, or minus
                                 the expected cost) if some threshold meets its constraints,
                                 otherwise minus the smallest shortfall; so meeting the constraints
                                 comes first

The best F1 of one small sample jumps with single rows; its mean over resamples is smoother. Two
models are compared by the difference of their values on the *same* resamples, so that rows that are
hard for both cancel out; the spread of the difference is its standard error (Efron 1979). The
classes are drawn separately, so that every resample has the positives it needs.

**Methods on the same held-out rows.** A merit is a weighted mean over rows, sum_i weight_i value_i:

    ROC AUC             two classes: how often a positive row has a higher score than a negative one
                        (the area under the ROC curve). No threshold is part of it, so no method
                        gains by its threshold alone. value_i = share of the other class that row i
                        is on the right side of (for negatives, minus the mean), weight_i = 1 / rows
                        of its class: the standard error is that of DeLong (1988)
    balanced accuracy   value_i = 1 if row i is predicted right, weight_i = 1 / (classes x rows of
                        its class)
    cost                value_i = -what the prediction of row i costs, weight_i = 1 / rows

A weighted mean has a standard error within each class, and so has the difference of two methods on
the same rows. For the standard error each class gets two more rows, half the span of its values
above and below its mean: with few labels, a method that made no error yet is not a method without
errors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from semisvm.decision.binomial import Estimate
from semisvm.decision.checks import Bools, Floats, cost_matrix
from semisvm.decision.choose import choose, measure
from semisvm.decision.counts import Counts
from semisvm.decision.operating_point import Evidence, OperatingPoint
from semisvm.decision.target import Target
from semisvm.kernels.compiler import jit_late
from semisvm.kernels.threads import for_each

SUPERVISED = "supervised"
SUPERVISED_THRESHOLD = "supervised + threshold"
WITH_UNLABELED = "with unlabeled"
RANKING, ACCURACY, COST = "ROC AUC", "balanced accuracy", "cost"
MERIT_CONFIDENCE = 0.9

Audit = dict[str, OperatingPoint]


def make_audit(
    target: Target,
    supervised: ArrayLike,
    sign: ArrayLike,
    point: OperatingPoint | None,
    level: Evidence | str,
) -> Audit:
    """Return the steps of an audit: one operating point each.

    supervised      (n,) scores of the calibration rows by the supervised model
    sign            (n,) their true classes, +1 or -1
    point           that of the final model; None if it does not use the unlabeled rows
    level           where the supervised scores come from

    >>> from semisvm.decision import Target, measure
    >>> scores, sign = [2.0, 1.0, -1.0, -2.0], [1, 1, 1, -1]
    >>> point = measure([3.0, 2.0, 1.0, -2.0], sign)
    >>> for step, found in make_audit(Target(), scores, sign, point, "empirical").items():
    ...     print(f"{step}: F1 {found.f_score.value:.2f}")
    supervised: F1 0.80
    supervised + threshold: F1 1.00
    with unlabeled: F1 1.00
    """
    audit = {
        SUPERVISED: measure(supervised, sign, 0.0, target=target, level=level),
        SUPERVISED_THRESHOLD: choose(supervised, sign, target, level=level),
    }
    if point is not None:
        audit[WITH_UNLABELED] = point
    return audit


def changed_by_unlabeled(audit: Mapping[str, OperatingPoint]) -> bool:
    """Whether the step with the unlabeled rows differs from the step before it, in threshold or in
    counts; False also where there is no such step.
    """
    if WITH_UNLABELED not in audit or len(audit) < 2:
        return False
    before = list(audit.values())[-2]
    after = audit[WITH_UNLABELED]
    return (before.threshold, before.counts) != (after.threshold, after.counts)


# Numbers of resamples x rows from which a compiled pass is worth loading: NumPy takes 5 ms.
MANY_COPIES = 1 << 18
# In one table of resamples x rows, so that it stays in the processor's cache.
_NUMBERS_AT_ONCE = 1 << 17


def resample(is_positive: Bools, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Draw how often each row counts in each resample: integers of shape (B, m), the B of a row
    side by side.
    """
    copies = np.zeros((len(is_positive), n_resamples), dtype=np.int32)
    for rows in (np.flatnonzero(is_positive), np.flatnonzero(~is_positive)):
        drawn = rng.multinomial(
            len(rows), np.full(len(rows), 1 / len(rows)), size=n_resamples
        ).astype(np.int32)
        copies[rows] = np.ascontiguousarray(drawn.T)
    return copies.T


def resampled_values(
    scores: Floats, is_positive: Bools, copies: np.ndarray, target: Target
) -> Floats:
    """Return the value of the best operating point of each resample."""
    if target.accept is not None:
        raise ValueError(
            "accept sets the threshold without labels, so there is no choice to resample."
        )
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    positive = is_positive[order]
    is_cut = np.append(ordered[:-1] != ordered[1:], True)  # equal scores are accepted together
    # After scores of negatives alone there are more false positives and no more hits: no target
    # prefers that.
    last = np.flatnonzero(is_cut)
    hits = np.cumsum(positive)[last]
    is_cut[last[hits == np.append(0, hits[:-1])]] = False
    values = np.zeros(len(copies))
    has_best_f = not target.is_constrained and target.costs is None
    if has_best_f and copies.size >= MANY_COPIES:
        sums = np.zeros((3, len(copies)), dtype=np.int64)
        by_row = np.ascontiguousarray(copies.T)
        _best_f(by_row, order, positive, is_cut, target.beta**2, sums, values)
        return values
    width = max(1, _NUMBERS_AT_ONCE // len(scores))

    def value(part: slice) -> None:
        values[part] = _values(copies[part].T[order], positive, is_cut, target)

    for_each(value, [slice(start, start + width) for start in range(0, len(copies), width)])
    return values


@partial(jit_late, _nrt=False, fastmath=False)  # the same divisions as those of NumPy
def _best_f(copies, order, positive, is_cut, weight, sums, best):
    """The largest F-beta of each resample, into `best` (zeros: F of accepting nothing), in one
    pass over the rows. `copies` has one column per resample; `weight` is the square of beta; `sums`
    are zeros for positives, accepted rows and accepted positives so far.
    """
    resamples = range(copies.shape[1])
    for place, row in enumerate(order):
        if positive[place]:
            for b in resamples:
                sums[0, b] += copies[row, b]
    for place, row in enumerate(order):
        for b in resamples:
            sums[1, b] += copies[row, b]
        if positive[place]:
            for b in resamples:
                sums[2, b] += copies[row, b]
        if is_cut[place]:
            for b in resamples:
                hit = (1 + weight) * sums[2, b]
                f = hit / (hit + weight * (sums[0, b] - sums[2, b]) + (sums[1, b] - sums[2, b]))
                best[b] = max(f, best[b])


def _values(copies: np.ndarray, positive: Bools, is_cut: Bools, target: Target) -> Floats:
    """Return the values for rows in descending order of score; `copies` has one column per
    resample.
    """
    cuts = np.flatnonzero(is_cut)
    begins = np.append(0, cuts + 1)  # of the rows between two cuts: only sums at cuts are needed
    between = np.add.reduceat(copies, begins[begins < len(positive)], axis=0, dtype=np.int32)
    accepted = _sums_so_far(between)
    hits = _sums_so_far(copies[positive])
    n_positive = hits[-1]
    n_rows = accepted[-1]
    tp = hits[np.append(0, np.cumsum(positive)[cuts])]
    fp = accepted[: len(tp)] - tp
    counts = Counts(tp=tp, fp=fp, fn=n_positive - tp, tn=n_rows - n_positive - fp)
    if not target.is_constrained:
        return target.objective(counts).max(axis=0)
    shortfall = target.shortfall(counts)
    least = shortfall.min(axis=0)
    best = np.where(shortfall == least, target.objective(counts), -np.inf).max(axis=0)
    return np.where(least > 0, -least, best)


def _sums_so_far(counts: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, 2, ... lines."""
    sums = np.zeros((len(counts) + 1, counts.shape[1]), dtype=np.int32)
    np.cumsum(counts, axis=0, dtype=np.int32, out=sums[1:])
    return sums


# ---- merits of methods ----


@dataclass(frozen=True)
class Merit:
    """Values, weights and classes of m held-out rows; `span` (k,) is the best minus the worst value
    per class. Each class gets two more rows for the standard error.
    """

    name: str
    values: np.ndarray
    weights: np.ndarray
    codes: np.ndarray
    span: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.weights @ self.values)

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self._error_of(self.values)

    def estimate(self) -> Estimate:
        """Return the mean and its interval, cut at the worst and best possible values."""
        interval = _interval(self.mean, self.error)
        worst, best = self.limits
        # A sum of weights may round to 1.0000000000000002.
        value, low, high = (min(max(end, worst), best) for end in interval)
        return Estimate(value, low, high)

    @property
    def limits(self) -> tuple[float, float]:
        """The worst and the best mean that rows of these classes could have."""
        if self.name == RANKING:
            return 0.0, 1.0
        best = 1.0 if self.name == ACCURACY else 0.0
        return best - float(self.weights @ self.span[self.codes]), best

    def minus(self, other: "Merit") -> Estimate:
        """Return the difference of two methods on the same rows, and its interval."""
        return _interval(self.mean - other.mean, self.error_of_gap(other))

    def error_of_gap(self, other: "Merit") -> float:
        """Return the standard error of the difference of two methods on the same rows."""
        return self._error_of(self.values - other.values)

    def _error_of(self, values: np.ndarray) -> float:
        # the squares of huge costs overflow
        total = 0.0
        unit = max(float(np.abs(values).max()), float(self.span.max())) or 1.0
        for code in np.unique(self.codes):
            mine = self.codes == code
            n = int(mine.sum())
            scaled = values[mine] / unit
            squares = ((scaled - scaled.mean()) ** 2).sum() + (self.span[code] / unit) ** 2 / 2
            variance = squares / (n + 2)
            total += self.weights[mine].sum() ** 2 * variance / n
        return unit * float(np.sqrt(total))


def judge(
    predicted: np.ndarray, codes: np.ndarray, classes: tuple[str, ...], costs: Any = None
) -> Merit:
    """Compare predicted with true classes; `costs` of errors as estimators take them, by the
    names of the classes.
    """
    if costs is None:
        sizes = np.bincount(codes, minlength=len(classes))
        values = (predicted == codes).astype(np.float64)
        return Merit(
            ACCURACY, values, 1 / (len(classes) * sizes[codes]), codes, np.ones(len(classes))
        )
    matrix = cost_matrix(costs, np.array(classes))
    weights = np.full(len(codes), 1 / len(codes))
    return Merit(COST, -matrix[codes, predicted], weights, codes, matrix.max(axis=1))


def judge_ranking(scores: np.ndarray, codes: np.ndarray) -> Merit:
    """Return how well scores (m,) rank the rows of the second class above those of the first: the
    area under the ROC curve, as the mean of the shares of the other class that rows are beyond.
    """
    negative, positive = (scores[codes == code] for code in (0, 1))
    values = np.empty(len(scores))
    values[codes == 1] = share_below(positive, negative)
    values[codes == 0] = 1 - share_below(negative, positive)
    values = np.where(codes == 0, values - values[codes == 0].mean(), values)
    sizes = np.bincount(codes, minlength=2)
    return Merit(RANKING, values, 1 / sizes[codes], codes, np.ones(2))


def share_below(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return for each value the share of the others below it; ties count one half."""
    ordered = np.sort(others)
    twice = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return twice / (2 * len(others))


def _interval(mean: float, error: float) -> Estimate:
    reach = float(ndtri(0.5 + MERIT_CONFIDENCE / 2)) * error
    return Estimate(mean, mean - reach, mean + reach)
