"""The settings that suit the labels: how the columns are prepared, the kernel, C and gamma, and weights of classes.

All of it is chosen on out-of-fold scores of the supervised method, in seconds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.estimators.registry import find_method
from semisvm.kernels import make_formula
from semisvm.tables.compare import BASELINE, MethodTrial, try_method
from semisvm.tables.encode import STANDARD
from semisvm.tables.held_out import Bench, make_bench
from semisvm.tables.methods import Settings, StoppedError, Tell, say_nothing

FACTORS_OF_GAMMA = (0.1, 0.3, 1.0, 3.0)
VALUES_OF_C = (0.3, 3.0, 30.0)
MOST_TUNED = 400  # labeled rows that settings are tuned on: a bound on the time


def tune(bench: Bench, settings: Settings, tell: Tell = say_nothing) -> Settings:
    """Return the settings that predict held-out labels best; Ctrl-C takes the best so far.

    The supervised method is tuned: that is fast, favors no semi-supervised method, and serves them all. C and gamma are
    tuned on at most MOST_TUNED labels, drawn at random. Among equally good values the smaller C and gamma are taken,
    which give the smoother decision function. A view other than the standard one, and weighted classes, are taken only
    if they are better by more than one standard error.
    """
    bench = _small_bench(bench, settings)
    views = [settings.view, *bench.views.candidates()] if settings.view == STANDARD else [settings.view]
    best: tuple[MethodTrial, Settings] | None = None
    grids = [(view, list(_grid(bench, replace(settings, view=view)))) for view in views]
    total, done = sum(len(grid) for _, grid in grids), 0
    try:
        for _, grid in grids:
            own: tuple[MethodTrial, Settings] | None = None
            for candidate in grid:
                tell("Tuning", done, total, "settings")
                done += 1
                trial = try_method(find_method(BASELINE), candidate, bench)
                if own is None or trial.merit.mean > own[0].merit.mean + 1e-12:
                    own = trial, candidate
            best = own if best is None or (own is not None and _is_clearly_better(own[0], best[0])) else best
        if best is not None and settings.class_weight is None and settings.costs is None:
            weighted = replace(best[1], class_weight="balanced")
            trial = try_method(find_method(BASELINE), weighted, bench)
            best = (trial, weighted) if _is_clearly_better(trial, best[0]) else best
    except (StoppedError, KeyboardInterrupt):
        pass
    return settings if best is None else best[1]


def _is_clearly_better(one: MethodTrial, other: MethodTrial) -> bool:
    return one.merit.mean - other.merit.mean > one.merit.error_of_gap(other.merit)


def _small_bench(bench: Bench, settings: Settings) -> Bench:
    """Return a bench with the labeled rows alone, at most MOST_TUNED of those that are measured on."""
    rows = np.flatnonzero(bench.codes >= 0)
    if len(rows) > MOST_TUNED:
        rng = np.random.default_rng(settings.seed)
        rare = np.concatenate([rows[bench.codes[rows] == k][:2] for k in range(len(bench.classes))])
        rest = rng.choice(np.setdiff1d(rows, rare), MOST_TUNED - len(rare), replace=False)
        rows = np.sort(np.concatenate([rare, rest]))
    try:
        return make_bench(bench.views.take(rows), bench.labels[rows], seed=settings.seed, measures=bench.measures[rows])
    except ValueError:  # the draw left a class with a single row to measure on
        return bench


def _grid(bench: Bench, settings: Settings) -> list[Settings]:
    """Return the kernels, widths and prices to try in one view, smooth ones first."""
    X = bench.views.form(settings.view)
    kernels = [settings.kernel] if settings.kernel else ["linear"] if sparse.issparse(X) else ["linear", "rbf"]
    found = []
    for kernel in kernels:
        gammas: list[Any] = [settings.gamma]
        if kernel != "linear" and settings.gamma is None:
            scale = make_formula(kernel, X, gamma="scale").gamma
            gammas = [factor * scale for factor in FACTORS_OF_GAMMA]
        values = VALUES_OF_C if kernel != "linear" or sparse.issparse(X) else tuple(C / 10 for C in VALUES_OF_C)
        found += [replace(settings, kernel=kernel, C=C, gamma=gamma) for gamma in gammas for C in values]
    return found
