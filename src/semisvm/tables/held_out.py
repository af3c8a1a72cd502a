"""Every labeled row scored by a fit that has not seen its label, and the merit of a method on these rows.

    scores   (m,) or (m, k)  out-of-fold scores of the m labeled rows, by `methods.score_rows`
    codes    (m,)            the true class of each, as an index into the class names

Folds are those of `SemiSupervisedKFold`: the labeled rows are dealt out, and every training part has the unlabeled
rows, at most MOST_UNLABELED of them, drawn at random, so that comparing all methods on a large pool takes minutes.

A merit is a weighted mean over rows:

    merit = sum_i weight_i value_i

    ranking             two classes: how often a positive row has a higher score than a negative one (the area under
                        the ROC curve). No threshold is part of it, so no method gains by its threshold alone.
                        value_i = share of the other class that row i is on the right side of (for negatives, minus the
                        mean), weight_i = 1 / rows of its class: the standard error is that of DeLong (1988)
    balanced accuracy   value_i = 1 if row i is predicted right, weight_i = 1 / (classes x rows of its class)
    cost                value_i = -what the prediction of row i costs, weight_i = 1 / rows

A weighted mean has a standard error within each class, and so has the difference of two methods on the same rows. For
the standard error each class gets two more rows, half the span of its values above and below its mean: with few
labels, a method that made no error yet is not a method without errors.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone

from semisvm.decision import Estimate, OperatingPoint
from semisvm.decision.checks import cost_matrix
from semisvm.errors import counted
from semisvm.estimators import Method
from semisvm.model_selection import SemiSupervisedKFold, cross_fit
from semisvm.tables.methods import Settings, Tell, fit_quietly, make_estimator, say_nothing, score_rows, sets_thresholds
from semisvm.tables.operating import place_thresholds, predict_codes
from semisvm.tables.training import RowForms, take_rows

N_COMPARISON_FOLDS = 5
MOST_UNLABELED = 5_000
MOST_IN_KERNELS = 700  # rows that kernels of all rows are made from, in a comparison: a bound on the time
MOST_TUNED = 400  # labeled rows that settings are tuned on: the same
MOST_LEARNED = 2_000  # rows that views to try are learned from: the same
MERIT_CONFIDENCE = 0.9
RANKING, ACCURACY, COST = "ranking", "balanced accuracy", "cost"
BASELINE = "supervised"


@dataclass(frozen=True)
class Bench:
    """The rows that methods are compared on, and the folds that all of them share.

    `labels` is a pandas Categorical, missing where a row is unlabeled; `store` keeps finished solves, or is None.
    `measures` is a mask: labeled rows that are a random sample. The others train in every fold and are never tested.
    """

    views: RowForms
    labels: Any
    folds: tuple[tuple[np.ndarray, np.ndarray], ...]
    measures: np.ndarray
    store: Any = None

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.labels.categories)

    @property
    def codes(self) -> np.ndarray:
        """The class of each row as an index, -1 for unlabeled rows."""
        return np.asarray(self.labels.codes, dtype=np.intp)

    @property
    def labeled(self) -> np.ndarray:
        """The numbers of the labeled rows that are tested."""
        return np.flatnonzero(self.measures)

    def measure_for(self, settings: Settings) -> str:
        """Return what methods are compared by."""
        if settings.costs is not None:
            return COST
        return RANKING if len(self.classes) == 2 else ACCURACY


def make_bench(
    views: RowForms,
    labels: Any,
    *,
    seed: int = 0,
    most: int = MOST_UNLABELED,
    store: Any = None,
    measures: np.ndarray | None = None,
) -> Bench:
    """Draw the unlabeled rows and the folds; ValueError if a class has fewer than two labeled rows to measure on.

    `measures` is a mask of labels that are a random sample; None: all of them.
    """
    codes = np.asarray(labels.codes, dtype=np.intp)
    measures = codes >= 0 if measures is None else measures & (codes >= 0)
    unlabeled = np.flatnonzero(codes < 0)
    if len(unlabeled) > most:
        kept = np.random.default_rng(seed).choice(unlabeled, most, replace=False)
        rows = np.sort(np.concatenate([np.flatnonzero(codes >= 0), kept]))
        views, labels, codes, measures = views.learn_from(rows), labels[rows], codes[rows], measures[rows]
    counts = np.bincount(codes[measures], minlength=len(labels.categories))
    rarest = int(counts.min())
    if rarest < 2:
        rare = labels.categories[int(np.argmin(counts))]
        if (codes >= 0).sum() > measures.sum():
            own = counted(rarest, "labeled row")
            raise ValueError(f"class {rare!r} has {own} drawn at random, and errors are counted on such rows only")
        raise ValueError(f"class {rare!r} has a single labeled row, so none of its rows can be held out")
    splitter = SemiSupervisedKFold(min(N_COMPARISON_FOLDS, rarest), shuffle=True, random_state=seed)
    # For the splitter, labels that measure nothing are unlabeled rows: they are in every training part.
    folds = tuple(splitter.split(np.empty((len(codes), 1)), np.where(measures, codes, -1)))
    return Bench(views, labels, folds, measures, store)


def small_bench(bench: Bench, seed: int) -> Bench:
    """Return a bench for tuning: the labeled rows alone, at most MOST_TUNED of those that are measured on.

    Where there are many rows, its views are learned from a sample of them; the model learns from all.
    """
    rows = np.flatnonzero(bench.codes >= 0)
    rng = np.random.default_rng(seed)
    if len(rows) > MOST_TUNED:
        rare = np.concatenate([rows[bench.codes[rows] == k][:2] for k in range(len(bench.classes))])
        rest = rng.choice(np.setdiff1d(rows, rare), MOST_TUNED - len(rare), replace=False)
        rows = np.sort(np.concatenate([rare, rest]))
    try:
        # Other folds than those of the comparison, so that what is tuned is not judged by the same split.
        views = bench.views.take(rows)
        if len(bench.views) > MOST_LEARNED:
            others = rng.permutation(np.setdiff1d(np.arange(len(bench.views)), rows))[: MOST_LEARNED - len(rows)]
            views = bench.views.learn_from(np.concatenate([rows, others])).take(np.arange(len(rows)))
        return make_bench(views, bench.labels[rows], seed=(seed + 1) % 2**32, measures=bench.measures[rows])
    except ValueError:  # the draw left a class with a single row to measure on
        return bench


@dataclass(frozen=True)
class MethodTrial:
    """One method on the folds: out-of-fold scores of `bench.labeled`, operating points by class, warnings each once."""

    method: Method
    scores: np.ndarray
    merit: Merit
    points: dict[str, OperatingPoint]
    seconds: float = 0.0
    complaints: tuple[str, ...] = ()

    @property
    def reaches(self) -> bool:
        return all(point.reached for point in self.points.values())


def try_method(method: Method, settings: Settings, bench: Bench, tell: Tell = say_nothing) -> MethodTrial:
    """Fit a method once per fold, score the rows held out, and judge its predictions of them."""
    began = time.perf_counter()
    X = bench.views.for_method(method, settings)
    most = min(max(MOST_IN_KERNELS, 2 * len(bench.labeled)), 3 * MOST_IN_KERNELS)
    bounded = replace(settings, columns=bench.views.groups, max_rows=settings.max_rows or most)
    estimator = make_estimator(method, bounded)
    complaints: list[str] = []
    number = count(1)

    def fit_and_score(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        what = f"Comparing: {method.name}, fold {next(number)} of {len(bench.folds)}"
        tell(what)
        fold = clone(estimator)
        labels, measures = bench.labels[train], bench.measures[train]
        complaints.extend(fit_quietly(fold, take_rows(X, train), labels, tell, what, bench.store, measures))
        return score_rows(fold, take_rows(X, test))

    scores = cross_fit(bench.folds, fit_and_score, len(bench.labels)).scores[bench.labeled]
    seconds = time.perf_counter() - began
    codes, classes = bench.codes[bench.labeled], bench.classes
    points = place_thresholds(scores, codes, settings, classes, may_move=not sets_thresholds(method, settings))
    if bench.measure_for(settings) == RANKING:
        merit = judge_ranking(scores, codes)
    else:
        threshold = points[classes[1]].threshold if len(classes) == 2 else 0.0
        merit = judge(predict_codes(scores, threshold), codes, classes, settings.costs)
    return MethodTrial(method, scores, merit, points, seconds, tuple(dict.fromkeys(complaints)))


# ---- merit ----


@dataclass(frozen=True)
class Merit:
    """Values, weights and classes of m held-out rows; `span` (k,) is the best minus the worst value per class.

    `n_added` are the rows that each class gets for the standard error; -1, with a span of 0, is the usual variance.
    """

    name: str
    values: np.ndarray
    weights: np.ndarray
    codes: np.ndarray
    span: np.ndarray
    n_added: int = 2

    @property
    def mean(self) -> float:
        return float(self.weights @ self.values)

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self._error_of(self.values)

    def estimate(self) -> Estimate:
        """Return the mean and its interval, cut at the worst and best possible values."""
        found = _interval(self.mean, self.error)
        worst, best = self.limits
        return Estimate(found.value, max(found.low, worst), min(found.high, best))

    @property
    def limits(self) -> tuple[float, float]:
        """The worst and the best mean that rows of these classes could have."""
        if self.name == RANKING:
            return 0.0, 1.0
        best = 1.0 if self.name == ACCURACY else 0.0
        return best - float(self.weights @ self.span[self.codes]), best

    def minus(self, other: Merit) -> Estimate:
        """Return the difference of two methods on the same rows, and its interval."""
        return _interval(self.mean - other.mean, self.error_of_gap(other))

    def error_of_gap(self, other: Merit) -> float:
        """Return the standard error of the difference of two methods on the same rows."""
        return self._error_of(self.values - other.values)

    def _error_of(self, values: np.ndarray) -> float:
        # the squares of huge costs overflow
        total, unit = 0.0, max(float(np.abs(values).max()), float(self.span.max())) or 1.0
        for code in np.unique(self.codes):
            mine = self.codes == code
            n, own = int(mine.sum()), values[mine] / unit
            variance = (((own - own.mean()) ** 2).sum() + (self.span[code] / unit) ** 2 / 2) / (n + self.n_added)
            total += self.weights[mine].sum() ** 2 * variance / n
        return unit * float(np.sqrt(total))


def judge(predicted: np.ndarray, codes: np.ndarray, classes: tuple[str, ...], costs: Any = None) -> Merit:
    """Compare predicted with true classes; `costs` as in `Settings`."""
    if costs is None:
        sizes = np.bincount(codes, minlength=len(classes))
        values = (predicted == codes).astype(np.float64)
        return Merit(ACCURACY, values, 1 / (len(classes) * sizes[codes]), codes, np.ones(len(classes)))
    matrix = cost_matrix(costs, np.array(classes))
    weights = np.full(len(codes), 1 / len(codes))
    return Merit(COST, -matrix[codes, predicted], weights, codes, matrix.max(axis=1))


def judge_ranking(scores: np.ndarray, codes: np.ndarray) -> Merit:
    """Return how well scores (m,) rank the rows of the second class above those of the first."""
    return merit_of_placements(place_among_others(scores, codes), codes, span=1.0)


def place_among_others(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return for each row the share of the other class, of two, that its score is on the right side of."""
    negative, positive = (scores[codes == code] for code in (0, 1))
    values = np.empty(len(scores))
    values[codes == 1] = share_below(positive, negative)
    values[codes == 0] = 1 - share_below(negative, positive)
    return values


def merit_of_placements(values: np.ndarray, codes: np.ndarray, *, span: float, n_added: int = 2) -> Merit:
    """Return the area under the ROC curve, the mean of the placements of either class, with its standard error."""
    values = np.where(codes == 0, values - values[codes == 0].mean(), values)
    sizes = np.bincount(codes, minlength=2)
    return Merit(RANKING, values, 1 / sizes[codes], codes, np.full(2, span), n_added)


def share_below(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return for each value the share of the others below it; ties count one half."""
    ordered = np.sort(others)
    twice = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return twice / (2 * len(others))


def _interval(mean: float, error: float) -> Estimate:
    reach = float(ndtri(0.5 + MERIT_CONFIDENCE / 2)) * error
    return Estimate(mean, mean - reach, mean + reach)
