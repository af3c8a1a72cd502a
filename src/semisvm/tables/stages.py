"""The stages of a fit of a table: check the labels, tune, choose the method, fit it, measure it.

Ctrl-C ends the current stage, keeps the best so far, and continues with the next: a comparison ends with the methods
that are done, a fit with the rounds that are done, an audit is left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scipy import sparse

from semisvm.errors import DataError
from semisvm.estimators.registry import Method, available, find_method
from semisvm.tables.compare import BASELINE, Comparison, MethodTrial, compare_methods, try_method
from semisvm.tables.drawn import check_sample, may_certify
from semisvm.tables.findings import Findings, describe_positives_only, find_out, say_gain, sets_own_threshold
from semisvm.tables.held_out import Bench, make_bench
from semisvm.tables.methods import (
    Settings,
    StoppedError,
    Tell,
    fit_quietly,
    make_estimator,
    sets_thresholds,
    why_not,
)
from semisvm.tables.training import Training, Views
from semisvm.tables.tune import tune

AUTO = "auto"
PREFERRED = "AutoSVC"  # what "auto" takes unless another is better by more than one standard error


class Stages:
    """The stages of one fit; `bench` is None if a class has too few labels for folds."""

    def __init__(
        self, training: Training, views: Views, settings: Settings, most_unlabeled: int, tell: Tell, store: Any = None
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
        if self.settings.kernel is None:
            is_sparse = sparse.issparse(self.views.form(self.settings.view))
            self.settings = replace(self.settings, kernel="linear" if is_sparse else "rbf")

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
        estimator = make_estimator(method, replace(self.settings, columns=self.views.groups))
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
            return describe_positives_only(estimator)
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
