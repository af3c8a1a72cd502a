"""From rows to a model: encode, choose the method, fit it on all rows, and measure the result.

    0  do the labeled rows look like a random sample? If not, no held-out certificate is given
    1  the table becomes a matrix; the encoder learns from labeled and unlabeled rows
    2  C and gamma, if they are to be tuned
    3  the method: the one asked for, or the one that `compare` chooses
    4  the fit on all rows
    5  the audit on out-of-fold scores: labels alone, + threshold, + unlabeled rows

Ctrl-C ends the current stage, keeps the best so far, and continues with the next: a comparison ends with the methods
that are done, a fit with the rounds that are done, an audit is left out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.errors import DataError, fault
from semisvm.estimators.registry import Method, available, find_method
from semisvm.tables.checkpoint import Checkpoint, open_checkpoint
from semisvm.tables.compare import BASELINE, Comparison, MethodTrial, compare_methods, try_method, tune_kernel
from semisvm.tables.drawn import check_sample, may_certify
from semisvm.tables.findings import (
    Findings,
    find_out,
    installed_versions,
    say_gain,
    sets_own_threshold,
    summarize,
    without_repeats,
)
from semisvm.tables.held_out import MOST_UNLABELED, Bench, make_bench
from semisvm.tables.methods import (
    Settings,
    StoppedError,
    Tell,
    fit_quietly,
    make_estimator,
    say_nothing,
    shape_for,
    why_not,
)
from semisvm.tables.model import Model
from semisvm.tables.positives_only import (
    FOR_POSITIVES,
    RankComparison,
    check_positives_only,
    compare_positives,
    describe_positives_only,
)
from semisvm.tables.training import Training

AUTO = "auto"
FOR_TARGETS = "preference"


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
) -> Fitted:
    """Fit a model to the training rows.

    Parameters
    ----------
    training : Training
        The rows, from `read_training`.
    settings : Settings
        What is asked for.
    method : str, optional
        A name of `semisvm.estimators.registry`, or "auto". By default "preference" if a precision or recall is asked
        for, else "auto".
    tune : bool
        Whether to choose C and gamma by cross-validation.
    most_unlabeled : int
        How many unlabeled rows are used at most to compare and audit methods; the model uses all.
    checkpoint : path, optional
        A folder that keeps every finished solve.
    resume : bool
        Whether to continue the fit in `checkpoint`, if there is one.
    tell : callable
        Called with the progress (`semisvm.tables.methods`).

    Returns
    -------
    Fitted
        The model, and whether the fit was ended early.
    """
    began = time.perf_counter()
    why = "It was asked for."
    if training.has_positives_only:
        method, why = check_positives_only(training, settings, method)
    elif method == FOR_POSITIVES.name:
        raise DataError(f"The method {method!r} is for targets with labels of one class only. Choose another `method`.")
    if method is None:
        method = AUTO
        if settings.has_target and any(one.name == FOR_TARGETS for one in available()):
            method, why = FOR_TARGETS, "A precision or recall to reach was asked for, which is its purpose."
    if method != AUTO:
        find_method(method)
    encoder, X, settings = _encode(training, settings, tell)
    store = None
    if checkpoint is not None:
        digest = _fit_digest(X, training, settings, [method, tune, most_unlabeled])
        store = open_checkpoint(checkpoint, digest, resume=resume)
        settings = replace(settings, cache_size=store.cache_size)
    work = _Stages(training, X, settings, most_unlabeled, tell, store)
    was_refused = work.check_sample()
    if tune:
        work.tune()
    chosen, why = work.choose(method, why)
    estimator = work.fit(chosen)
    found = work.measure(chosen, estimator)
    summary = summarize(
        training,
        chosen,
        why,
        estimator,
        work.settings,
        found,
        comparison=None if work.comparison is None else work.comparison.summary(),
        notes=without_repeats(work.notes + found.notes),
        seconds=time.perf_counter() - began,
    )
    model = Model(encoder, estimator, chosen.name, training.classes, training.target, found.threshold, summary)
    has_target = settings.has_target
    if chosen.for_one_class:  # its operating point is not one of those that are counted on labels of both classes
        has_target = not estimator.operating_point_.reached
    return Fitted(model, has_target, work.was_stopped, store, was_refused)


def compare_on(
    training: Training,
    settings: Settings,
    methods: Sequence[str] = (),
    *,
    most_unlabeled: int = MOST_UNLABELED,
    tune: bool = False,
    tell: Tell = say_nothing,
) -> Comparison | RankComparison:
    """Compare methods (all by default) on the training rows; the parameters are those of `fit_model`."""
    for name in methods:
        if name == AUTO:
            raise DataError("'auto' is no method but a choice among all of them: leave `method` out to compare them.")
        find_method(name)
    _, X, settings = _encode(training, settings, tell)
    if training.has_positives_only:
        return compare_positives(training, X, settings, methods, most_unlabeled=most_unlabeled, tell=tell)
    work = _Stages(training, X, settings, most_unlabeled, tell)
    if work.bench is None:
        raise fault(training.name, work.why_no_bench, "Label at least two rows of each class")
    if tune:
        work.tune()
    if not training.n_unlabeled and not methods:
        methods = [BASELINE]
    return compare_methods(work.bench, work.settings, methods or _names(settings), tell)


class _Stages:
    """The stages of one fit; `bench` is None if a class has too few labels for folds."""

    def __init__(
        self, training: Training, X: Any, settings: Settings, most_unlabeled: int, tell: Tell, store: Any = None
    ):
        self.training, self.X, self.settings, self.tell, self.store = training, X, settings, tell, store
        self.labels = training.labels
        self.was_stopped = False
        self.notes = list(training.notes)
        self.comparison: Comparison | None = None
        self.bench: Bench | None = None
        self.why_no_bench = ""
        try:
            self.bench = make_bench(
                X, self.labels, seed=settings.seed, most=most_unlabeled, store=store, measures=training.measures
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
        found = check_sample(self.X, self.labels, self.training.measures, self.settings, self.tell)
        is_allowed, notes = may_certify(found, self.settings)
        self.notes = notes + self.notes
        if not is_allowed:
            self.settings = replace(self.settings, confidence=None)
        return not is_allowed

    def tune(self) -> None:
        if self.bench is None:
            self.notes.append(f"C and the kernel were not tuned: {self.why_no_bench}.")
            return
        self.settings = tune_kernel(self.bench, self.settings, self.tell)

    def choose(self, name: str, why_asked: str) -> tuple[Method, str]:
        """Return the method, and why it is this one."""
        if name != AUTO:
            method = find_method(name)
            if reason := why_not(method, self.X, self.settings):
                raise DataError(f"The method {name!r} {reason}. Choose another `method`.")
            if method.sets_threshold and not method.for_one_class and self.bench is None:
                raise DataError(
                    f"The method {name!r} can't set a threshold: {self.why_no_bench}. Label more rows of it."
                )
            return method, why_asked
        if not self.training.n_unlabeled:
            return find_method(BASELINE), "Every row has a label, so there are no unlabeled rows to learn from."
        if self.bench is None:
            return find_method(BASELINE), f"Methods can't be compared: {self.why_no_bench}."
        self.comparison = compare_methods(self.bench, self.settings, _names(self.settings), self.tell)
        self.was_stopped |= self.comparison.was_stopped
        self.notes.append(self.comparison.verdict())
        return self.comparison.chosen.method, self.comparison.why()

    def fit(self, method: Method) -> Any:
        """Fit the method to all rows."""
        estimator = make_estimator(method, self.settings)
        X = shape_for(method, self.X)
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
            return describe_positives_only(estimator, self.X, self.training, self.settings.seed)
        held_out = None if sets_own_threshold(method, estimator) else self._held_out(method)
        if method.name == BASELINE and self.training.n_unlabeled:
            self.notes.append("The supervised method does not use the unlabeled rows.")
        return find_out(method, estimator, held_out, self.training, self.X, self.settings)

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


def _encode(training: Training, settings: Settings, tell: Tell) -> tuple[Any, Any, Settings]:
    """Return the fitted encoder, the encoded rows, and the settings with a kernel that suits them."""
    tell("Encoding the table")
    encoder = training.encoder()
    X = encoder.transform(training.rows)
    return encoder, X, replace(settings, kernel=settings.kernel or ("linear" if sparse.issparse(X) else "rbf"))


def _names(settings: Settings) -> list[str]:
    """Return the methods to compare: those that need a target only if there is one."""
    methods = [method for method in available() if not method.for_one_class]
    return [method.name for method in methods if settings.has_target or not method.sets_threshold]


def _fit_digest(X: Any, training: Training, settings: Settings, asked: list[Any]) -> str:
    """Tell one fit from another: rows, labels, settings and versions."""
    digest = hashlib.blake2b(digest_size=16)
    arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for array in (*arrays, training.codes, training.measures):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((settings, asked, training.classes, sorted(installed_versions().items()))).encode())
    return digest.hexdigest()
