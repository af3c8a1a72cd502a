"""Methods on labels that their fits have not seen: what they give on shared folds, and the settings
that give most.

    scores   (m,) or (m, k)  out-of-fold scores of the m labeled rows, by `methods.score_rows`
    codes    (m,)            the true class of each, as an index into the class names

Folds are those of `SemiSupervisedKFold`: the labeled rows are dealt out, and every training part
has the unlabeled rows, at most MOST_UNLABELED of them, drawn at random, so that comparing all
methods on a large pool takes minutes.

`tune_settings` settles how the columns are prepared, the kernel, C and gamma, and weights of
classes, on out-of-fold scores of the supervised method, in seconds.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from semisvm.columns.views import STANDARD
from semisvm.decision import OperatingPoint
from semisvm.decision.audit import ACCURACY, COST, RANKING, Merit, judge, judge_ranking
from semisvm.errors import counted
from semisvm.estimators import SVCCV, Method, find_method
from semisvm.model_selection import SemiSupervisedKFold
from semisvm.model_selection.cross_fit import cross_fit
from semisvm.tables.methods import (
    Grid,
    Settings,
    StoppedError,
    Tell,
    fit_quietly,
    grids_to_try,
    make_estimator,
    say_nothing,
    score_rows,
    sets_thresholds,
    shape_for,
)
from semisvm.tables.operating import place_thresholds, predict_codes
from semisvm.tables.training import RowForms, take_rows

N_COMPARISON_FOLDS = 5
MOST_UNLABELED = 5_000
# rows that kernels of all rows are made from, in a comparison: a bound on the time
MOST_IN_KERNELS = 700
MOST_TUNED = 400  # labeled rows that settings are tuned on: the same
MOST_LEARNED = 2_000  # rows that views to try are learned from: the same
# Characters of the rows that views of text to try are learned from: a bound on the time, in which
# runs of letters are counted one by one (2,000 texts of 700 characters took 36 CPU seconds).
MOST_CHARACTERS = 300_000
SAME_SCORE = 1e-12  # differences below it are rounding
BASELINE = "supervised"


@dataclass(frozen=True)
class Bench:
    """The rows that methods are compared on, and the folds that all of them share.

    `labels` is a pandas Categorical, missing where a row is unlabeled. `measures` is a
    mask: labeled rows that are a random sample. The others train in every fold and are never
    tested.
    """

    views: RowForms
    labels: Any
    folds: tuple[tuple[np.ndarray, np.ndarray], ...]
    measures: np.ndarray

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
    measures: np.ndarray | None = None,
) -> Bench:
    """Draw unlabeled rows and folds; ValueError if a class has too few rows that `measures`."""
    codes = np.asarray(labels.codes, dtype=np.intp)
    measures = codes >= 0 if measures is None else measures & (codes >= 0)
    unlabeled = np.flatnonzero(codes < 0)
    if len(unlabeled) > most:
        kept = np.random.default_rng(seed).choice(unlabeled, most, replace=False)
        rows = np.sort(np.concatenate([np.flatnonzero(codes >= 0), kept]))
        views = views.learn_from(rows)
        labels = labels[rows]
        codes = codes[rows]
        measures = measures[rows]
    counts = np.bincount(codes[measures], minlength=len(labels.categories))
    rarest = int(counts.min())
    if rarest < 2:
        rare = labels.categories[int(np.argmin(counts))]
        if (codes >= 0).sum() > measures.sum():
            n_rows = counted(rarest, "labeled row")
            raise ValueError(
                f"class {rare!r} has {n_rows} drawn at random, and errors are counted on such rows"
                " only"
            )
        raise ValueError(
            f"class {rare!r} has a single labeled row, so none of its rows can be held out"
        )
    splitter = SemiSupervisedKFold(min(N_COMPARISON_FOLDS, rarest), shuffle=True, random_state=seed)
    # For the splitter, labels that measure nothing are unlabeled rows: they are in every training
    # part.
    folds = tuple(splitter.split(np.empty((len(codes), 1)), np.where(measures, codes, -1)))
    return Bench(views, labels, folds, measures)


def small_bench(bench: Bench, seed: int) -> Bench:
    """Return a bench for tuning: the labeled rows alone, at most MOST_TUNED of those that are
    measured on.

    Where there are many rows, its views are learned from a sample of them; the model learns from
    all.
    """
    rows = np.flatnonzero(bench.codes >= 0)
    rng = np.random.default_rng(seed)
    if len(rows) > MOST_TUNED:
        rare = np.concatenate([rows[bench.codes[rows] == k][:2] for k in range(len(bench.classes))])
        rest = rng.choice(np.setdiff1d(rows, rare), MOST_TUNED - len(rare), replace=False)
        rows = np.sort(np.concatenate([rare, rest]))
    try:
        # Other folds than those of the comparison, so that what is tuned is not judged by the same
        # split.
        views = bench.views.take(rows)
        most = min(MOST_LEARNED, int(MOST_CHARACTERS / max(views.characters_per_row(), 1.0)))
        if len(bench.views) > most:
            others = rng.permutation(np.setdiff1d(np.arange(len(bench.views)), rows))[
                : max(most - len(rows), 0)
            ]
            views = bench.views.learn_from(np.concatenate([rows, others])).take(
                np.arange(len(rows))
            )
        return make_bench(
            views, bench.labels[rows], seed=(seed + 1) % 2**32, measures=bench.measures[rows]
        )
    except ValueError:  # the draw left a class with a single row to measure on
        return bench


@dataclass(frozen=True)
class MethodTrial:
    """One method on the folds: out-of-fold scores of `bench.labeled`, what they are worth."""

    name: str
    scores: np.ndarray
    merit: Merit
    points: dict[str, OperatingPoint]
    seconds: float = 0.0
    complaints: tuple[str, ...] = ()

    @property
    def reaches(self) -> bool:
        return all(point.reached for point in self.points.values())


def try_method(
    method: Method, settings: Settings, bench: Bench, tell: Tell = say_nothing
) -> MethodTrial:
    """Fit a method once per fold, score the rows held out, and judge its predictions of them."""
    began = time.perf_counter()
    X = bench.views.for_method(method, settings)
    most = min(max(MOST_IN_KERNELS, 2 * len(bench.labeled)), 3 * MOST_IN_KERNELS)
    bounded = replace(settings, max_rows=settings.max_rows or most)
    estimator = make_estimator(method, bounded)
    complaints: list[str] = []
    number = count(1)

    def fit_and_score(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        what = f"Comparing: {method.name}, fold {next(number)} of {len(bench.folds)}"
        tell(what)
        fold = clone(estimator)
        labels = bench.labels[train]
        measures = bench.measures[train]
        complaints.extend(fit_quietly(fold, take_rows(X, train), labels, tell, what, measures))
        return score_rows(fold, take_rows(X, test))

    scores = cross_fit(bench.folds, fit_and_score, len(bench.labels)).scores[bench.labeled]
    return make_trial(method, scores, settings, bench, time.perf_counter() - began, complaints)


def make_trial(
    method: Method,
    scores: np.ndarray,
    settings: Settings,
    bench: Bench,
    seconds: float,
    complaints: Sequence[str],
) -> MethodTrial:
    """Judge the predictions of the rows of `bench.labeled` by their out-of-fold scores."""
    codes = bench.codes[bench.labeled]
    classes = bench.classes
    points = place_thresholds(
        scores, codes, settings, classes, may_move=not sets_thresholds(method, settings)
    )
    threshold = points[classes[1]].threshold if len(classes) == 2 else 0.0
    merit = judge_scores(scores, settings, bench, threshold)
    # What several folds complain of, with other numbers, is said once.
    said = {re.sub(r"\d+", "", words): words for words in reversed(complaints)}
    return MethodTrial(method.name, scores, merit, points, seconds, tuple(reversed(said.values())))


def judge_scores(
    scores: np.ndarray, settings: Settings, bench: Bench, threshold: float = 0.0
) -> Merit:
    """Return what out-of-fold scores of the rows of `bench.labeled` are worth."""
    codes = bench.codes[bench.labeled]
    if bench.measure_for(settings) == RANKING:
        return judge_ranking(scores, codes)
    return judge(predict_codes(scores, threshold), codes, bench.classes, settings.costs)


# ---- tuning ----


def tune_settings(bench: Bench, settings: Settings, tell: Tell = say_nothing) -> Settings:
    """Return the settings that predict held-out labels best.

    The supervised method is tuned, by `SVCCV`: that is fast, favors no semi-supervised method, and
    serves them all. C and gamma are tuned on at most MOST_TUNED labels, drawn at random. Among
    equally good values the smaller C and gamma are taken, which give the smoother decision
    function. A view other than the standard one, and weighted classes, are taken only if they are
    better by more than one standard error.
    """
    bench = small_bench(bench, settings.seed)
    views = (
        [settings.view, *bench.views.candidates()] if settings.view == STANDARD else [settings.view]
    )
    grids = [grids_to_try(bench.views.form(view), replace(settings, view=view)) for view in views]
    total = sum(grid.n_cells for of_view in grids for grid in of_view)
    n_done = 0
    best: _Tuned | None = None
    for of_view in grids:
        best_of_view: _Tuned | None = None
        for grid in of_view:
            tell("Tuning", n_done, total, "settings")
            tuned = _search_grid(grid, bench)
            n_done += grid.n_cells
            if best_of_view is None or tuned.score > best_of_view.score + SAME_SCORE:
                best_of_view = tuned
        assert best_of_view is not None
        if best is None or best_of_view.is_clearly_better(best):
            best = best_of_view
    assert best is not None
    if settings.class_weight is None and settings.costs is None:
        weighted = replace(best.settings, class_weight="balanced")
        tuned = _search_grid(Grid(weighted, (weighted.C,), (weighted.gamma,)), bench)
        best = tuned if tuned.is_clearly_better(best) else best
    return best.settings


@dataclass(frozen=True)
class _Tuned:
    """The best cell of a grid: its mean score over the folds, and its merit on all rows."""

    settings: Settings
    score: float
    merit: Merit

    def is_clearly_better(self, other: _Tuned) -> bool:
        """Whether it is better by more than one standard error."""
        return self.merit.mean - other.merit.mean > self.merit.error_of_gap(other.merit)


def _search_grid(grid: Grid, bench: Bench) -> _Tuned:
    """Find the C and gamma of the supervised method that predict held-out labels best."""
    settings = grid.settings
    measure = bench.measure_for(settings)
    loss: Any = settings.loss or "hinge"
    kernel: Any = settings.kernel
    costs = settings.costs
    if isinstance(costs, Mapping):  # classes are known to the search by their numbers
        costs = {code: costs[name] for code, name in enumerate(bench.classes)}
    search = SVCCV(
        grid.Cs,
        gammas=None if grid.gammas == (None,) else grid.gammas,
        cv=bench.folds,
        scoring="roc_auc" if measure == RANKING else None,
        refit=False,
        loss=loss,
        kernel=kernel,
        costs=costs,
        class_weight=settings.class_weight,
        cache_size=settings.cache_size,
        device=settings.device,
    )
    X = shape_for(find_method(BASELINE), bench.views.form(settings.view))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, bench.codes)
    if np.isnan(search.scores_).any():  # Ctrl-C
        raise StoppedError
    scores = search.out_of_fold_scores_[bench.labeled]
    chosen = replace(settings, C=search.C_, gamma=search.gamma_)
    return _Tuned(chosen, search.best_score_, judge_scores(scores, chosen, bench))
