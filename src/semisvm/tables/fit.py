"""From rows to a model: encode, choose the method, fit it on all rows, and measure the result.

    0  do the labeled rows look like a random sample? If not, no held-out certificate is given
    1  the table becomes a matrix; the encoder learns from labeled and unlabeled rows
    2  how the columns are prepared, the kernel, C and gamma
    3  the method: the one asked for, or for "auto" the better of AutoSVC and the supervised method
    4  the fit on all rows
    5  the audit on out-of-fold scores: labels alone, + threshold, + unlabeled rows

Ctrl-C ends the current stage, keeps the best so far, and continues with the next: a comparison ends
with the methods that are done, a fit with the rounds that are done, an audit is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from semisvm.columns.table import Columns
from semisvm.errors import DataError, counted
from semisvm.estimators import METHODS, Method, find_method
from semisvm.kernels.threads import with_limited_threads
from semisvm.model_selection.fair_sample import (
    FairSampleCheck,
    check_fair_sample,
    labeled_fold_scores,
)
from semisvm.tables.column_checks import profile_columns, say_deciding_columns
from semisvm.tables.compare import compare_methods
from semisvm.tables.findings import (
    measure_model,
    measure_positives_only,
    parameters_of,
    say_gain,
    sets_own_threshold,
    summarize,
    without_repeats,
)
from semisvm.tables.held_out import (
    BASELINE,
    MOST_UNLABELED,
    Bench,
    MethodTrial,
    make_bench,
    try_fitted,
    try_method,
    tune_settings,
)
from semisvm.tables.methods import (
    FOR_POSITIVES,
    Settings,
    StoppedError,
    Tell,
    check_positives_only,
    fit_quietly,
    make_estimator,
    say_nothing,
    score_rows,
    sets_thresholds,
    shape_for,
    takes_columns,
    why_not,
    with_usual_kernel,
)
from semisvm.tables.model import Model
from semisvm.tables.sentences import INSISTED, REFUSED
from semisvm.tables.summary import ColumnProfile, Comparison, MethodSummary
from semisvm.tables.training import RowForms, Training

AUTO, FOR_TARGETS = "auto", "preference"
LARGE_TABLE, MOST_IN_KERNELS_OF_MANY = (
    5_000,
    2_000,
)  # beyond so many rows, fewer are in kernels of all rows
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
    ):
        self.training = training
        self.views = views
        self.settings = settings
        self.tell = tell
        self.labels = training.labels
        self.was_stopped = False
        self.notes = list(training.notes)
        self.comparison: Comparison | None = None
        self.trials: dict[str, MethodTrial] = {}
        self.fitted: dict[str, Any] = {}  # estimators that were fitted to all rows, by method
        self.is_fair_sample: bool | None = None
        self.bench: Bench | None = None
        self.why_no_bench = ""
        try:
            self.bench = make_bench(
                views,
                self.labels,
                seed=settings.seed,
                most=most_unlabeled,
                measures=training.measures,
            )
        except ValueError as error:
            self.why_no_bench = str(error)
        if self.bench is not None and training.n_unlabeled > most_unlabeled:
            self.notes.append(
                f"Methods were compared and audited with {most_unlabeled:,} of "
                f"{counted(training.n_unlabeled, 'unlabeled row')}, "
                "drawn at random; the model itself was fitted to all."
            )

    def check_columns(self) -> dict[str, ColumnProfile]:
        """Point at columns that give the label away; return what the columns look like."""
        rows = self.training.rows
        if not isinstance(rows, Columns):
            return {}
        self.notes += say_deciding_columns(rows, self.training.codes)
        return profile_columns(rows)

    def check_sample(self) -> bool:
        """Check whether the labels look like a random sample; True if a certificate is refused
        because they do not.
        """
        if self.training.has_positives_only:  # its own assumption is stated with its results
            return False
        found = check_sample(
            self.views.form(), self.labels, self.training.measures, self.settings, self.tell
        )
        self.is_fair_sample = None if found is None else bool(found.is_fair)
        is_allowed, notes = may_certify(found, self.settings)
        self.notes = notes + self.notes
        if not is_allowed:
            self.settings = replace(self.settings, confidence=None)
        return not is_allowed

    def tune(self, wanted: bool) -> None:
        """Choose the view, the kernel, C and gamma, or take the usual ones."""
        if wanted and self.bench is not None:
            self.settings = tune_settings(self.bench, self.settings, self.tell)
        elif wanted and not self.training.has_positives_only:
            self.notes.append(f"C and the kernel were not tuned: {self.why_no_bench}.")
        self.settings = with_usual_kernel(self.settings, self.views.form(self.settings.view))

    def choose(self, name: str, why_asked: str) -> tuple[Method, str]:
        """Return the method, and why it is this one."""
        if name != AUTO:
            method = find_method(name)
            if reason := why_not(method, self.views.form(self.settings.view), self.settings):
                raise DataError(f"The method {name!r} {reason}. Choose another `method`.")
            sets_own = sets_thresholds(method, self.settings)
            if sets_own and not method.for_one_class and self.bench is None:
                raise DataError(
                    f"The method {name!r} can't set a threshold: {self.why_no_bench}. Label more"
                    " rows of it."
                )
            return method, why_asked
        if self.bench is None and self.settings.has_target:
            raise DataError(
                f"No threshold can be set for what is asked: {self.why_no_bench}. Label more rows"
                " of it."
            )
        if not self.training.n_unlabeled:
            return (
                find_method(BASELINE),
                "Every row has a label, so there are no unlabeled rows to learn from.",
            )
        if self.bench is None:
            return find_method(BASELINE), f"Methods can't be compared: {self.why_no_bench}."
        names = [BASELINE, *(method.name for method in METHODS if method.class_name == PREFERRED)]
        return self.compare(names, preferred=names[-1])

    def compare(self, names: list[str], preferred: str = "") -> tuple[Method, str]:
        """Compare methods on held-out labels; return the chosen one, and why it is this one."""
        assert self.bench is not None
        self.comparison, self.trials = compare_methods(
            self.bench, self.settings, names, self.tell, preferred, self.try_method
        )
        self.was_stopped |= self.comparison.was_stopped
        self.notes.append(self.comparison.verdict)
        return find_method(self.comparison.chosen), self.comparison.why

    def try_method(
        self, method: Method, settings: Settings, bench: Bench, tell: Tell
    ) -> MethodTrial:
        """Return out-of-fold scores and what they are worth: by the fit to all rows where it
        brings them (AutoSVC), else by one fit per fold.
        """
        if not takes_columns(method) or sets_thresholds(method, settings):
            return try_method(method, settings, bench, tell)
        n_notes = len(self.notes)
        began = time.perf_counter()
        estimator = self.fit(method)
        complaints = self.notes[n_notes:]
        del self.notes[n_notes:]  # they are notes of the model only where the method is chosen
        if self.was_stopped:
            raise StoppedError
        X = self.views.for_method(method, settings)
        return try_fitted(
            method,
            estimator,
            X,
            self.training.measures,
            settings,
            bench,
            time.perf_counter() - began,
            complaints,
        )

    def fit(self, method: Method) -> Any:
        """Fit the method to all rows."""
        if method.name in self.fitted:
            return self.fitted[method.name]
        X = self.views.for_method(method, self.settings)
        most = MOST_IN_KERNELS_OF_MANY if len(self.views) > LARGE_TABLE else None
        settings = replace(self.settings, max_rows=self.settings.max_rows or most)
        estimator = make_estimator(method, settings)
        what = f"Fitting {method.name} to {X.shape[0]} rows"
        self.tell(what)
        try:
            self.notes += fit_quietly(
                estimator, X, self.labels, self.tell, what, self.training.measures
            )
        except StoppedError:
            self.was_stopped = True
            self.notes.append("The fit was stopped by hand: the model is the best so far.")
        self.fitted[method.name] = estimator
        return estimator

    def measure(self, model: Model) -> Model:
        """Find out what the model gives: from the estimator itself if it knows, otherwise on
        held-out labels.
        """
        method = find_method(model.method)
        X = self.views.for_method(method, self.settings)
        if method.for_one_class:
            return measure_positives_only(model, X, self.training, self.settings.seed)
        knows_itself = sets_own_threshold(method, model.estimator, self.settings)
        held_out = None if knows_itself else self._held_out(method)
        if method.name == BASELINE and self.training.n_unlabeled:
            self.notes.append("The supervised method does not use the unlabeled rows.")
        return measure_model(model, held_out, self.training, X, self.settings)

    def _held_out(self, method: Method) -> tuple[MethodTrial, MethodTrial] | None:
        """Return the method and the supervised baseline on the folds; None without folds, or
        after Ctrl-C.
        """
        if self.bench is None:
            self.notes.append(f"The quality of the model can't be measured: {self.why_no_bench}.")
            return None
        was_compared = method.name in self.trials
        try:
            for needed in (method, find_method(BASELINE)):
                if needed.name not in self.trials:
                    if self.was_stopped:
                        raise StoppedError
                    self.trials[needed.name] = self.try_method(
                        needed, self.settings, self.bench, self.tell
                    )
        except KeyboardInterrupt:
            self.was_stopped = True
            self.notes.append(
                "The quality of the model was not measured: the fit was stopped by hand."
            )
            return None
        trial = self.trials[method.name]
        baseline = self.trials[BASELINE]
        if not was_compared:  # otherwise the verdict of the comparison has said it
            self.notes += say_gain(trial, baseline)
        return trial, baseline


@with_limited_threads
def fit_model(
    training: Training,
    settings: Settings,
    *,
    method: str | None = None,
    tune: bool = False,
    most_unlabeled: int = MOST_UNLABELED,
    tell: Tell = say_nothing,
    make_stages: Callable[..., Stages] = Stages,
) -> Model:
    """Fit a model to the training rows.

    training         the rows, from `read_training`
    method           a name of `semisvm.estimators.METHODS`, or "auto". By default "preference" for
                     a certificate, and for a precision or recall of each of several classes; else
                     "auto"
    tune             whether to choose the kernel, C and gamma by cross-validation
    most_unlabeled   how many unlabeled rows are used at most to compare and audit methods; the
                     model uses all
    tell             called with the progress; `make_stages`: `FolderStages` for rows that are not
                     in memory
    """
    began = time.perf_counter()
    why = "It was asked for."
    if training.has_positives_only:
        method, why = check_positives_only(training, settings, method)
    elif method == FOR_POSITIVES.name:
        raise DataError(
            f"The method {method!r} is for targets with labels of one class only. Choose another"
            " `method`."
        )
    if method is None:
        method = AUTO
        if settings.confidence is not None or (
            settings.has_target and len(training.classes.names) > 2
        ):
            method = FOR_TARGETS
            why = "It sets thresholds itself, and certifies them."
    if method != AUTO:
        find_method(method)
    tell("Encoding the table")
    views = training.views()
    work = make_stages(training, views, settings, most_unlabeled, tell)
    profiles = work.check_columns()
    was_refused = work.check_sample()
    work.tune(tune)
    chosen, why = work.choose(method, why)
    estimator = work.fit(chosen)
    model = Model(
        schema=training.schema,
        encoder=views.encoder_for(chosen, work.settings),
        estimator=estimator,
        method=chosen.name,
        classes=training.classes,
        target=training.target,
        threshold=0.0,
        summary=summarize(
            training,
            MethodSummary(chosen.name, chosen.paper_name, why, parameters_of(estimator)),
            estimator,
            work.settings.costs,
            profiles=profiles,
            comparison=work.comparison,
            is_fair_sample=work.is_fair_sample,
            has_target=settings.has_target,
            was_refused=was_refused,
        ),
    )
    model = work.measure(model)
    model.summary = replace(
        model.summary,
        notes=without_repeats([*work.notes, *model.summary.notes]),
        was_stopped=work.was_stopped,
        seconds=time.perf_counter() - began,
    )
    return model


def check_sample(
    X: Any, labels: Any, measures: np.ndarray, settings: Settings, tell: Tell = say_nothing
) -> FairSampleCheck | None:
    """Check whether the rows that count as a random sample look like all others; None without
    unlabeled rows.

    X          (n, d) the encoded rows
    labels     pandas Categorical of length n, missing where a row is unlabeled
    measures   (n,) mask: the labeled rows that count as a random sample
    settings   kernel and parameters of the supervised method that scores the rows
    """
    codes = np.asarray(labels.codes, dtype=np.intp)
    if not (codes < 0).any() or not measures.any():
        return None
    tell("Checking whether the labeled rows are a random sample")
    baseline = find_method(BASELINE)
    rows = shape_for(baseline, X)

    def fit_and_score(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        estimator = make_estimator(baseline, settings)
        fit_quietly(estimator, rows[train], labels[train], say_nothing, "")
        return score_rows(estimator, rows[test])

    # Rows chosen by doubt belong to the others: they were in the pool that the random sample was
    # drawn from. For the same reason they do not train here, so that they are scored as the other
    # rows are.
    scores = labeled_fold_scores(fit_and_score, codes, measures, random_state=settings.seed)
    return check_fair_sample(X, measures, scores, random_state=settings.seed)


def may_certify(found: FairSampleCheck | None, settings: Settings) -> tuple[bool, list[str]]:
    """Return whether a held-out certificate may be given, and notes that say what the check
    found.
    """
    if found is None or found.is_fair:
        return True, []
    if settings.confidence is None:
        return True, [found.sentence]
    return settings.trust_labels, [found.sentence, INSISTED if settings.trust_labels else REFUSED]
