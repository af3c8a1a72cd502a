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

from semisvm.columns.table import Columns
from semisvm.columns.views import LATENT, LETTERS, QUANTILES, STANDARD
from semisvm.decision import OperatingPoint
from semisvm.decision.audit import Merit, judge, judge_ranking
from semisvm.errors import counted
from semisvm.estimators import Method, find_method
from semisvm.estimators.svc_cv import SVCCV
from semisvm.kernels import make_formula
from semisvm.matrices import is_sparse_matrix
from semisvm.model_selection import SemiSupervisedKFold
from semisvm.model_selection.cross_fit import cross_fit
from semisvm.tables.methods import (
    Settings,
    StoppedError,
    Tell,
    fit_quietly,
    make_estimator,
    say_nothing,
    score_rows,
    sets_thresholds,
    shape_for,
)
from semisvm.tables.operating import place_thresholds, predict_codes
from semisvm.tables.training import Training, draw_rows, take_rows

N_COMPARISON_FOLDS = 5
MOST_UNLABELED = 5_000
# rows that kernels of all rows are made from, in a comparison: a bound on the time
MOST_IN_KERNELS = 700
MOST_TUNED = 400  # labeled rows that settings are tuned on: the same
MOST_LEARNED = 2_000  # rows that views to try are learned from: the same
# Characters of the rows that views of text to try are learned from: a bound on the time, in which
# runs of letters are counted one by one (2,000 texts of 700 characters took 36 CPU seconds).
MOST_CHARACTERS = 300_000
SHARE_SKEWED = 0.2  # of the number columns, from which on quantiles are worth a try
LEAST_SKEW = 1.5
FACTORS_OF_GAMMA = (0.1, 0.3, 1.0, 3.0)
VALUES_OF_C = (0.3, 3.0, 30.0)
BASELINE = "supervised"


def draw_folds(training: Training, *, seed: int = 0, most: int = MOST_UNLABELED) -> Training:
    """Return the labeled and at most `most` unlabeled rows, with folds that all methods share;
    ValueError where a class has too few labels that measure.
    """
    unlabeled = np.flatnonzero(training.codes < 0)
    if len(unlabeled) > most:
        kept = draw_rows(unlabeled, most, seed)
        rows = np.sort(np.concatenate([np.flatnonzero(training.codes >= 0), kept]))
        training = training.take(rows, learns=True)
    codes = training.codes
    measures = training.measures
    counts = np.bincount(codes[measures], minlength=len(training.classes.names))
    rarest = int(counts.min())
    if rarest < 2:
        rare = training.classes.names[int(np.argmin(counts))]
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
    return replace(training, folds=folds)


@dataclass(frozen=True)
class MethodTrial:
    """One method on the folds: out-of-fold scores of the tested rows, what they are worth."""

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
    method: Method, settings: Settings, training: Training, tell: Tell = say_nothing
) -> MethodTrial:
    """Fit a method once per fold, score the rows held out, and judge its predictions of them."""
    began = time.perf_counter()
    X = training.for_method(method, settings)
    most = min(max(MOST_IN_KERNELS, 2 * len(training.tested)), 3 * MOST_IN_KERNELS)
    estimator = make_estimator(method, replace(settings, max_rows=settings.max_rows or most))
    labels = training.labels
    measures = training.measures
    complaints: list[str] = []
    number = count(1)

    def fit_and_score(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        what = f"Comparing: {method.name}, fold {next(number)} of {len(training.folds)}"
        tell(what)
        fold = clone(estimator)
        part = take_rows(X, train)
        complaints.extend(fit_quietly(fold, part, labels[train], tell, what, measures[train]))
        return score_rows(fold, take_rows(X, test))

    scores = cross_fit(training.folds, fit_and_score, len(labels))[training.tested]
    return make_trial(method, scores, settings, training, time.perf_counter() - began, complaints)


def make_trial(
    method: Method,
    scores: np.ndarray,
    settings: Settings,
    training: Training,
    seconds: float,
    complaints: Sequence[str],
) -> MethodTrial:
    """Judge the predictions of the tested rows by their out-of-fold scores."""
    classes = training.classes.names
    points = place_thresholds(
        scores,
        training.codes[training.tested],
        settings,
        classes,
        may_move=not sets_thresholds(method, settings),
    )
    threshold = points[classes[1]].threshold if len(classes) == 2 else 0.0
    merit = judge_scores(scores, settings, training, threshold)
    # What several folds complain of, with other numbers, is said once.
    said = {re.sub(r"\d+", "", words): words for words in reversed(complaints)}
    return MethodTrial(method.name, scores, merit, points, seconds, tuple(reversed(said.values())))


def is_ranking(settings: Settings, training: Training) -> bool:
    """Whether methods are compared by their ranking of two classes."""
    return settings.costs is None and len(training.classes.names) == 2


def judge_scores(
    scores: np.ndarray, settings: Settings, training: Training, threshold: float = 0.0
) -> Merit:
    """Return what out-of-fold scores of the tested rows are worth."""
    codes = training.codes[training.tested]
    if is_ranking(settings, training):
        return judge_ranking(scores, codes)
    predicted = predict_codes(scores, threshold)
    return judge(predicted, codes, training.classes.names, settings.costs)


# ---- tuning ----


def tune_settings(training: Training, settings: Settings, tell: Tell = say_nothing) -> Settings:
    """Return the settings that predict held-out labels best.

    The supervised method is tuned, by `SVCCV`: that is fast, favors no semi-supervised method, and
    serves them all. C and gamma are tuned on at most MOST_TUNED labels, drawn at random. Among
    equally good values the smaller C and gamma are taken, which give the smoother decision
    function. A view other than the standard one, and weighted classes, are taken only if they are
    better by more than one standard error.
    """
    training = _rows_to_tune_on(training, settings.seed)
    views = [settings.view, *(_views_to_try(training) if settings.view == STANDARD else ())]
    per_view = [_kernels_to_try(training.form(view), settings) for view in views]
    total = sum(map(len, per_view))
    n_done = 0
    best: _Tuned | None = None
    for view, kernels in zip(views, per_view, strict=True):
        tuned = []
        for kernel, Cs, gammas in kernels:
            tell("Tuning", n_done, total, "kernels")
            tuned.append(_search(replace(settings, view=view, kernel=kernel), Cs, gammas, training))
            n_done += 1
        best_of_view = max(tuned, key=lambda each: round(each.score, 12))  # the rest is rounding
        if best is None or best_of_view.is_clearly_better(best):
            best = best_of_view
    assert best is not None
    if settings.class_weight is None and settings.costs is None:
        weighted = replace(best.settings, class_weight="balanced")
        again = _search(weighted, (weighted.C,), (weighted.gamma,), training)
        best = again if again.is_clearly_better(best) else best
    return best.settings


def _rows_to_tune_on(training: Training, seed: int) -> Training:
    """Return the labeled rows alone, at most MOST_TUNED of them, with folds.

    Where there are many rows, views are learned from a sample of them; the model learns from all.
    """
    rows = np.flatnonzero(training.codes >= 0)
    rng = np.random.default_rng(seed)
    if len(rows) > MOST_TUNED:
        codes = training.codes[rows]
        rare = np.concatenate([rows[codes == k][:2] for k in range(len(training.classes.names))])
        rest = rng.choice(np.setdiff1d(rows, rare), MOST_TUNED - len(rare), replace=False)
        rows = np.sort(np.concatenate([rare, rest]))
    part = training.take(rows)
    n_characters = sum(float(np.mean([*map(len, cells)])) for cells in _texts(part).values())
    most = min(MOST_LEARNED, int(MOST_CHARACTERS / max(n_characters, 1.0)))
    if len(training.codes) > most:
        others = rng.permutation(np.setdiff1d(np.arange(len(training.codes)), rows))
        learned = np.concatenate([rows, others[: max(most - len(rows), 0)]])
        part = training.take(learned, learns=True).take(np.arange(len(rows)))
    try:
        # Other folds than those of the comparison, so that what is tuned is not judged by the same
        # split.
        return draw_folds(part, seed=(seed + 1) % 2**32)
    except ValueError:  # the draw left a class with a single row to measure on
        return training


def _texts(training: Training) -> dict[str, np.ndarray]:
    return training.rows.of_type("text") if isinstance(training.rows, Columns) else {}


def _views_to_try(training: Training) -> list[str]:
    """Return the views that may be better than the standard one for these rows."""
    if not training.tries_views:
        return []
    rows = training.rows
    numbers = rows.numbers if isinstance(rows, Columns) else training.form()
    is_skewed = not is_sparse_matrix(numbers) and numbers.shape[1] and _is_skewed(numbers)
    return [*([LETTERS, LATENT] if _texts(training) else []), *([QUANTILES] if is_skewed else [])]


def _is_skewed(X: np.ndarray) -> bool:
    """Whether many columns have long tails."""
    with np.errstate(all="ignore"):
        centered = X - np.nanmean(X, axis=0)
        skew = np.nanmean(centered**3, axis=0) / np.nanmean(centered**2, axis=0) ** 1.5
    return bool(np.mean(np.abs(np.nan_to_num(skew)) > LEAST_SKEW) >= SHARE_SKEWED)


def _kernels_to_try(
    X: Any, settings: Settings
) -> list[tuple[str, tuple[float, ...], tuple[Any, ...]]]:
    """Return kernels with values of C and gamma to try for encoded rows, smooth ones first."""
    is_sparse = is_sparse_matrix(X)
    tried = []
    for kernel in [settings.kernel] if settings.kernel else ["linear", "rbf"][: 2 - is_sparse]:
        gammas: tuple[Any, ...] = (settings.gamma,)
        if kernel != "linear" and settings.gamma is None:
            scale = make_formula(kernel, X, gamma="scale").gamma
            gammas = tuple(factor * scale for factor in FACTORS_OF_GAMMA)
        shrink = 10 if kernel == "linear" and not is_sparse else 1
        tried.append((kernel, tuple(C / shrink for C in VALUES_OF_C), gammas))
    return tried


@dataclass(frozen=True)
class _Tuned:
    """The best cell of a grid: its mean score over the folds, and its merit on all rows."""

    settings: Settings
    score: float
    merit: Merit

    def is_clearly_better(self, other: _Tuned) -> bool:
        """Whether it is better by more than one standard error."""
        return self.merit.mean - other.merit.mean > self.merit.error_of_gap(other.merit)


def _search(
    settings: Settings, Cs: tuple[float, ...], gammas: tuple[Any, ...], training: Training
) -> _Tuned:
    """Find the C and gamma of the supervised method that predict held-out labels best."""
    loss: Any = settings.loss or "hinge"
    kernel: Any = settings.kernel
    costs = settings.costs
    if isinstance(costs, Mapping):  # classes are known to the search by their numbers
        costs = {code: costs[name] for code, name in enumerate(training.classes.names)}
    search = SVCCV(
        Cs,
        gammas=None if gammas == (None,) else gammas,
        cv=training.folds,
        scoring="roc_auc" if is_ranking(settings, training) else None,
        refit=False,
        loss=loss,
        kernel=kernel,
        costs=costs,
        class_weight=settings.class_weight,
        device=settings.device,
    )
    X = shape_for(find_method(BASELINE), training.form(settings.view))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, training.codes)
    if np.isnan(search.scores_).any():  # Ctrl-C
        raise StoppedError
    scores = search.out_of_fold_scores_[training.tested]
    chosen = replace(settings, C=search.C_, gamma=search.gamma_)
    return _Tuned(chosen, search.best_score_, judge_scores(scores, chosen, training))
