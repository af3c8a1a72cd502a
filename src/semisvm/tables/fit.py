"""From rows to a model: encode, choose the method, fit it on all rows, and measure the result.

    0  do the labeled rows look like a random sample? If not, no held-out certificate is given
    1  the table becomes a matrix; the encoder learns from labeled and unlabeled rows
    2  how the columns are prepared, the kernel, C and gamma
    3  the method: the one asked for, or for "auto" the better of AutoSVC and the supervised method
    4  the fit on all rows
    5  the audit on out-of-fold scores: labels alone, + threshold, + unlabeled rows

Ctrl-C ends the current stage, keeps the best so far, and continues with the next: a comparison ends with the methods
that are done, a fit with the rounds that are done, an audit is left out.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.errors import DataError, counted
from semisvm.estimators import METHODS, Method, find_method
from semisvm.matrices import is_sparse_matrix
from semisvm.model_selection.fair_sample import FairSampleCheck, check_fair_sample, labeled_fold_scores
from semisvm.tables.checkpoint import Checkpoint, open_checkpoint
from semisvm.tables.compare import Comparison, compare_methods
from semisvm.tables.encode import STANDARD
from semisvm.tables.findings import (
    Findings,
    describe_positives_only,
    find_out,
    installed_versions,
    parameters_of,
    say_gain,
    sets_own_threshold,
    summarize,
    without_repeats,
)
from semisvm.tables.first_screen import INSISTED, REFUSED
from semisvm.tables.held_out import BASELINE, MOST_UNLABELED, Bench, MethodTrial, make_bench, try_method, tune_settings
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
from semisvm.tables.summary import MethodSummary
from semisvm.tables.training import RowForms, Training

AUTO, FOR_TARGETS = "auto", "preference"
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
                f"Methods were compared and audited with {most_unlabeled:,} of "
                f"{counted(training.n_unlabeled, 'unlabeled row')}, "
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
                    f"The method {name!r} can't set a threshold: {self.why_no_bench}. Label more rows of it."
                )
            return method, why_asked
        if self.bench is None and self.settings.has_target:
            raise DataError(f"No threshold can be set for what is asked: {self.why_no_bench}. Label more rows of it.")
        if not self.training.n_unlabeled:
            return find_method(BASELINE), "Every row has a label, so there are no unlabeled rows to learn from."
        if self.bench is None:
            return find_method(BASELINE), f"Methods can't be compared: {self.why_no_bench}."
        names = [BASELINE, *(method.name for method in METHODS if method.class_name == PREFERRED)]
        self.comparison = compare_methods(self.bench, self.settings, names, self.tell, preferred=names[-1])
        self.was_stopped |= self.comparison.was_stopped
        self.notes.append(self.comparison.verdict())
        return find_method(self.comparison.choice), self.comparison.why()

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
        known = {} if self.comparison is None else {entry.name: entry for entry in self.comparison.entries}
        try:
            for one in (method, find_method(BASELINE)):
                if one.name not in known:
                    if self.was_stopped:
                        raise StoppedError
                    known[one.name] = try_method(one, self.settings, self.bench, self.tell)
        except KeyboardInterrupt:
            self.was_stopped = True
            self.notes.append("The quality of the model was not measured: the fit was stopped by hand.")
            return None
        entry, baseline = known[method.name], known[BASELINE]
        if self.comparison is None or self.comparison.best_other is not entry:  # otherwise the verdict has said it
            self.notes += say_gain(entry, baseline)
        return entry, baseline


@dataclass
class Fitted:
    """A model, and what is not in its file: whether a target was asked for, and whether Ctrl-C ended the fit early."""

    model: Model
    has_target: bool
    was_stopped: bool
    checkpoint: Checkpoint | None = None
    was_refused: bool = False  # whether no certificate was given because the labels do not look like a random sample

    @property
    def reached(self) -> bool:
        """Whether the target is reached as far as the labels can tell; a target that was not measured is not."""
        points = self.model.summary.operating_points.values()
        is_known = bool(points) or not self.has_target
        return all(point.reached for point in points) and is_known and not self.was_refused


def fit_model(
    training: Training,
    settings: Settings,
    *,
    method: str | None = None,
    tune: bool = False,
    most_unlabeled: int = MOST_UNLABELED,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    tell: Tell = say_nothing,
    make_stages: type[Stages] = Stages,
) -> Fitted:
    """Fit a model to the training rows.

    training         the rows, from `read_training`
    method           a name of `semisvm.estimators.METHODS`, or "auto". By default "preference" for a certificate, and
                     for a precision or recall of each of several classes; else "auto"
    tune             whether to choose the kernel, C and gamma by cross-validation
    most_unlabeled   how many unlabeled rows are used at most to compare and audit methods; the model uses all
    checkpoint       a folder that keeps every finished solve; with `resume` a fit that is in it goes on
    tell             called with the progress; `make_stages`: `FolderStages` for rows that are not in memory
    """
    began = time.perf_counter()
    why = "It was asked for."
    if training.has_positives_only:
        method, why = check_positives_only(training, settings, method)
    elif method == FOR_POSITIVES.name:
        raise DataError(f"The method {method!r} is for targets with labels of one class only. Choose another `method`.")
    if method is None:
        method = AUTO
        if settings.confidence is not None or (settings.has_target and len(training.classes.names) > 2):
            method, why = FOR_TARGETS, "It sets thresholds itself, and certifies them."
    if method != AUTO:
        find_method(method)
    tell("Encoding the table")
    views = training.views()
    store = None
    if checkpoint is not None:
        digest = _fit_digest(views.form(), training, settings, [method, tune, most_unlabeled])
        store = open_checkpoint(checkpoint, digest, resume=resume)
        settings = replace(settings, cache_size=store.cache_size)
    work = make_stages(training, views, settings, most_unlabeled, tell, store)
    was_refused = work.check_sample()
    work.tune(tune)
    chosen, why = work.choose(method, why)
    estimator = work.fit(chosen)
    found = work.measure(chosen, estimator)
    summary = summarize(
        training,
        MethodSummary(chosen.name, chosen.paper_name, why, parameters_of(estimator)),
        estimator,
        found,
        work.settings.costs,
        comparison=None if work.comparison is None else work.comparison.summary(),
        is_fair_sample=work.is_fair_sample,
        notes=without_repeats(work.notes + found.notes),
        seconds=time.perf_counter() - began,
    )
    model = Model(
        encoder=views.encoder(STANDARD if takes_columns(chosen) else work.settings.view),
        estimator=estimator,
        method=chosen.name,
        classes=training.classes,
        target=training.target,
        threshold=found.threshold,
        summary=summary,
        probability=found.probability,
    )
    # The operating point of one class is not one of those that are counted on labels of both classes.
    has_target = not estimator.operating_point_.reached if chosen.for_one_class else settings.has_target
    return Fitted(model, has_target, work.was_stopped, store, was_refused)


def check_sample(
    X: Any, labels: Any, measures: np.ndarray, settings: Settings, tell: Tell = say_nothing
) -> FairSampleCheck | None:
    """Check whether the rows that count as a random sample look like all others; None without unlabeled rows.

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

    # Rows chosen by doubt belong to the others: they were in the pool that the random sample was drawn from. For the
    # same reason they do not train here, so that they are scored as the other rows are.
    scores = labeled_fold_scores(fit_and_score, codes, measures, random_state=settings.seed)
    return check_fair_sample(X, measures, scores, random_state=settings.seed)


def may_certify(found: FairSampleCheck | None, settings: Settings) -> tuple[bool, list[str]]:
    """Return whether a held-out certificate may be given, and notes that say what the check found."""
    if found is None or found.is_fair:
        return True, []
    if settings.confidence is None:
        return True, [found.sentence]
    return settings.trust_labels, [found.sentence, INSISTED if settings.trust_labels else REFUSED]


def _fit_digest(X: Any, training: Training, settings: Settings, asked: list[Any]) -> str:
    """Tell one fit from another: rows, labels, settings and versions."""
    digest = hashlib.blake2b(digest_size=16)
    arrays = (X.data, X.indices, X.indptr) if is_sparse_matrix(X) else (X,)
    for array in (*arrays, training.codes, training.measures):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((settings, asked, training.classes, sorted(installed_versions().items()))).encode())
    return digest.hexdigest()
