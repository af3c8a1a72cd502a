"""The stages of a fit of a table: check the labels, tune, choose the method, fit it, measure it.

`tune` settles how the columns are prepared, the kernel, C and gamma, and weights of classes, on out-of-fold scores of
the supervised method, in seconds.

Ctrl-C ends the current stage, keeps the best so far, and continues with the next: a comparison ends with the methods
that are done, a fit with the rounds that are done, an audit is left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.errors import DataError
from semisvm.estimators.registry import Method, available, find_method
from semisvm.kernels import make_formula
from semisvm.tables.compare import BASELINE, Comparison, MethodTrial, compare_methods, try_method
from semisvm.tables.drawn import check_sample, may_certify
from semisvm.tables.encode import STANDARD
from semisvm.tables.findings import Findings, find_out, say_gain, sets_own_threshold
from semisvm.tables.held_out import Bench, make_bench
from semisvm.tables.methods import (
    Settings,
    StoppedError,
    Tell,
    fit_quietly,
    make_estimator,
    say_nothing,
    sets_thresholds,
    why_not,
)
from semisvm.tables.positives_only import describe_positives_only
from semisvm.tables.training import RowForms, Training

AUTO = "auto"
FACTORS_OF_GAMMA = (0.1, 0.3, 1.0, 3.0)
VALUES_OF_C = (0.3, 3.0, 30.0)
MOST_TUNED = 400  # labeled rows that settings are tuned on: a bound on the time
LARGE_TABLE, MOST_IN_KERNELS_OF_MANY = 5_000, 2_000  # beyond so many rows, fewer are in kernels of all rows
PREFERRED = "AutoSVC"  # what "auto" takes unless another is better by more than two standard errors


class Stages:
    """The stages of one fit; `bench` is None if a class has too few labels for folds."""

    def __init__(
        self,
        training: Training,
        views: RowForms,
        settings: Settings,
        most_unlabeled: int,
        tell: Tell,
        store: Any = None,
    ):
        self.training, self.views, self.settings, self.tell, self.store = training, views, settings, tell, store
        self.labels = training.labels
        self.was_stopped = False
        self.notes = list(training.notes)
        self.comparison: Comparison | None = None
        self.is_fair_sample: bool | None = None
        self.bench: Bench | None = None
        self.why_no_bench = ""
        try:
            self.bench = make_bench(
                views, self.labels, seed=settings.seed, most=most_unlabeled, store=store, measures=training.measures
            )
        except ValueError as error:
            self.why_no_bench = str(error)
        if self.bench is not None and training.n_unlabeled > most_unlabeled:
            self.notes.append(
                f"Methods were compared and audited with {most_unlabeled} of {training.n_unlabeled} unlabeled rows, "
                "drawn at random; the model itself was fitted to all."
            )

    def check_sample(self) -> bool:
        """Check whether the labels look like a random sample; True if a certificate is refused because they do not."""
        if self.training.has_positives_only:  # its own assumption is stated with its results
            return False
        found = check_sample(self.views.form(), self.labels, self.training.measures, self.settings, self.tell)
        self.is_fair_sample = None if found is None else bool(found.is_fair)
        is_allowed, notes = may_certify(found, self.settings)
        self.notes = notes + self.notes
        if not is_allowed:
            self.settings = replace(self.settings, confidence=None)
        return not is_allowed

    def tune(self, wanted: bool) -> None:
        """Choose the view, the kernel, C and gamma, or take the usual ones."""
        if wanted and self.bench is not None:
            self.settings = tune(self.bench, self.settings, self.tell)
        elif wanted and not self.training.has_positives_only:
            self.notes.append(f"C and the kernel were not tuned: {self.why_no_bench}.")
        self.settings = with_usual_kernel(self.settings, self.views)

    def choose(self, name: str, why_asked: str) -> tuple[Method, str]:
        """Return the method, and why it is this one."""
        if name != AUTO:
            method = find_method(name)
            if reason := why_not(method, self.views.form(self.settings.view), self.settings):
                raise DataError(f"The method {name!r} {reason}. Choose another `method`.")
            sets_own = sets_thresholds(method, self.settings)
            if sets_own and not method.for_one_class and self.bench is None:
                raise DataError(
                    f"The method {name!r} can't set a threshold: {self.why_no_bench}. Label more rows of it."
                )
            return method, why_asked
        if self.bench is None and self.settings.has_target:
            raise DataError(f"No threshold can be set for what is asked: {self.why_no_bench}. Label more rows of it.")
        if not self.training.n_unlabeled:
            return find_method(BASELINE), "Every row has a label, so there are no unlabeled rows to learn from."
        if self.bench is None:
            return find_method(BASELINE), f"Methods can't be compared: {self.why_no_bench}."
        names = [BASELINE, *(method.name for method in available() if method.class_name == PREFERRED)]
        self.comparison = compare_methods(self.bench, self.settings, names, self.tell, preferred=names[-1])
        self.was_stopped |= self.comparison.was_stopped
        self.notes.append(self.comparison.verdict())
        return self.comparison.chosen.method, self.comparison.why()

    def fit(self, method: Method) -> Any:
        """Fit the method to all rows."""
        X = self.views.for_method(method, self.settings)
        most = MOST_IN_KERNELS_OF_MANY if len(self.views) > LARGE_TABLE else None
        settings = replace(self.settings, columns=self.views.groups, max_rows=self.settings.max_rows or most)
        estimator = make_estimator(method, settings)
        what = f"Fitting {method.name} to {X.shape[0]} rows"
        self.tell(what)
        try:
            self.notes += fit_quietly(estimator, X, self.labels, self.tell, what, self.store, self.training.measures)
        except StoppedError:
            self.was_stopped = True
            self.notes.append("The fit was stopped by hand: the model is the best so far.")
        return estimator

    def measure(self, method: Method, estimator: Any) -> Findings:
        """Find out what the model gives: from the estimator itself if it knows, otherwise on held-out labels."""
        if method.for_one_class:
            X = self.views.for_method(method, self.settings)
            return describe_positives_only(estimator, X, self.training, self.settings.seed)
        held_out = None if sets_own_threshold(method, estimator, self.settings) else self._held_out(method)
        if method.name == BASELINE and self.training.n_unlabeled:
            self.notes.append("The supervised method does not use the unlabeled rows.")
        X = self.views.for_method(method, self.settings)
        return find_out(method, estimator, held_out, self.training, X, self.settings)

    def _held_out(self, method: Method) -> tuple[MethodTrial, MethodTrial] | None:
        """Return the method and the supervised baseline on the folds; None without folds, or after Ctrl-C."""
        if self.bench is None:
            self.notes.append(f"The quality of the model can't be measured: {self.why_no_bench}.")
            return None
        known = {} if self.comparison is None else {entry.method.name: entry for entry in self.comparison.entries}
        try:
            for one in (method, find_method(BASELINE)):
                if one.name not in known:
                    if self.was_stopped:
                        raise StoppedError
                    known[one.name] = try_method(one, self.settings, self.bench, self.tell)
        except (StoppedError, KeyboardInterrupt):
            self.was_stopped = True
            self.notes.append("The quality of the model was not measured: the fit was stopped by hand.")
            return None
        entry, baseline = known[method.name], known[BASELINE]
        if self.comparison is None or self.comparison.best_other is not entry:  # otherwise the verdict has said it
            self.notes += say_gain(entry, baseline)
        return entry, baseline


# ---- tuning ----


def with_usual_kernel(settings: Settings, views: RowForms) -> Settings:
    """Return the settings with a kernel: linear for sparse rows and rbf for others, where none is asked for."""
    if settings.kernel is not None:
        return settings
    return replace(settings, kernel="linear" if sparse.issparse(views.form(settings.view)) else "rbf")


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
        # Other folds than those of the comparison, so that what is tuned is not judged by the same split.
        seed = (settings.seed + 1) % 2**32
        return make_bench(bench.views.take(rows), bench.labels[rows], seed=seed, measures=bench.measures[rows])
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
