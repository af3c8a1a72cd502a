"""From rows to a model: encode, choose the method, fit it on all rows, and measure what came of it.

    1  the table becomes a matrix, learned from labeled and unlabeled rows alike
    2  C and gamma, where they are to be tuned
    3  the method: the one asked for, or the choice of `compare`
    4  the fit on all rows
    5  the audit on out-of-fold scores: labels alone, + threshold, + unlabeled rows

Ctrl-C ends the stage it falls into, keeps the best so far, and goes on to what is left: a comparison ends with the
methods it has, a fit with the rounds it has, an audit is left out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.dual.memo import remembering
from semisvm.errors import DataError, fault
from semisvm.estimators.registry import Method, available, find_method
from semisvm.tables.checkpoint import Checkpoint, open_checkpoint
from semisvm.tables.compare import BASELINE, Comparison, Entry, compare_methods, try_method
from semisvm.tables.cross import MOST_UNLABELED, Bench, StoppedError, fit_quietly, make_bench
from semisvm.tables.facts import plain, versions
from semisvm.tables.findings import Findings, compared, findings_of, tells_itself
from semisvm.tables.methods import Settings, make_estimator, shape_for, why_not
from semisvm.tables.model import Model
from semisvm.tables.progress import Tell, say_nothing
from semisvm.tables.training import Training
from semisvm.tables.tune import tune

AUTO = "auto"


@dataclass
class Fitted:
    """A model, and what is not in its file: whether a target was asked for, and whether Ctrl-C cut it short."""

    model: Model
    has_target: bool
    was_stopped: bool
    checkpoint: Checkpoint | None = None

    @property
    def reached(self) -> bool:
        """Whether what was asked for is reached, as far as the labels can tell; what nobody measured is not."""
        points = self.model.facts["operating_point"] or {}
        found = [points] if "reached" in points else list(points.values())
        return all(point["reached"] for point in found) and (bool(found) or not self.has_target)


def fit_model(
    training: Training,
    settings: Settings,
    *,
    method: str | None = None,
    tune_kernel: bool = False,
    most_unlabeled: int = MOST_UNLABELED,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    tell: Tell = say_nothing,
) -> Fitted:
    """Fit a model to the training rows; `method` None is preference where a target is asked for, else auto."""
    began = time.perf_counter()
    why_asked = "It was asked for."
    if method is None:
        method = AUTO
        if settings.has_target and _has("preference"):
            method, why_asked = "preference", "A precision or recall to reach was asked for, which is its purpose."
    if method != AUTO:
        find_method(method)
    tell("Encoding the table")
    encoder = training.encoder()
    X = encoder.transform(training.rows)
    settings = replace(settings, kernel=settings.kernel or ("linear" if sparse.issparse(X) else "rbf"))
    memory = None
    if checkpoint is not None:
        digest = _digest(X, training, settings, [method, tune_kernel, most_unlabeled])
        memory = open_checkpoint(checkpoint, digest, resume=resume)
        settings = replace(settings, cache_size=memory.cache_size)
    with remembering(memory) if memory is not None else nullcontext():
        work = _Work(training, X, settings, most_unlabeled, tell)
        if tune_kernel:
            work.tune()
        chosen, why = work.choose(method, why_asked)
        estimator = work.fit(chosen)
        findings = work.measure(chosen, estimator)
    model = Model(encoder, estimator, chosen.name, training.classes, training.target, findings.threshold)
    model.facts = plain(work.facts(chosen, why, estimator, findings, time.perf_counter() - began))
    return Fitted(model, settings.has_target, work.was_stopped, memory)


def compare_on(
    training: Training,
    settings: Settings,
    methods: Sequence[str] = (),
    *,
    most_unlabeled: int = MOST_UNLABELED,
    tune_kernel: bool = False,
    tell: Tell = say_nothing,
) -> Comparison:
    """Compare methods (all by default) on the training rows."""
    for name in methods:
        find_method(name)
    tell("Encoding the table")
    X = training.encoder().transform(training.rows)
    settings = replace(settings, kernel=settings.kernel or ("linear" if sparse.issparse(X) else "rbf"))
    work = _Work(training, X, settings, most_unlabeled, tell)
    if work.bench is None:
        raise fault(training.name, work.why_no_bench, "Label at least two rows of each class")
    if tune_kernel:
        work.tune()
    return compare_methods(work.bench, work.settings, methods or _names(settings), tell)


class _Work:
    """The stages of one fit; `bench` is None where a class has too few labels for folds."""

    def __init__(self, training: Training, X: Any, settings: Settings, most_unlabeled: int, tell: Tell):
        self.training, self.X, self.settings, self.tell = training, X, settings, tell
        self.was_stopped = False
        self.notes = list(training.notes)
        self.comparison: Comparison | None = None
        self.bench: Bench | None = None
        self.why_no_bench = ""
        n_classes = len(training.classes.names)
        try:
            self.bench = make_bench(X, training.codes, n_classes, seed=settings.seed, most=most_unlabeled)
        except ValueError as error:
            self.why_no_bench = str(error)
        if self.bench is not None and training.n_unlabeled > most_unlabeled:
            self.notes.append(
                f"Methods were compared and audited with {most_unlabeled} of {training.n_unlabeled} unlabeled rows, "
                "drawn at random; the model itself was fitted to all."
            )

    def tune(self) -> None:
        if self.bench is None:
            self.notes.append(f"Nothing was tuned: {self.why_no_bench}.")
            return
        self.settings = tune(self.bench, self.settings, self.tell)

    def choose(self, name: str, why_asked: str) -> tuple[Method, str]:
        """Return the method, and why it is this one."""
        if name != AUTO:
            method = find_method(name)
            if reason := why_not(method, self.X, self.settings):
                raise DataError(f"The method {name!r} {reason}. Choose another by --method.")
            return method, why_asked
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
            self.notes += fit_quietly(estimator, X, self.training.codes, self.tell, what)
        except StoppedError:
            self.was_stopped = True
            self.notes.append("The fit was stopped by hand: the model is the best so far.")
        return estimator

    def measure(self, method: Method, estimator: Any) -> Findings:
        """Find out what the model gives: by its own account where it has one, on held-out labels otherwise."""
        held_out = None if tells_itself(method, estimator) else self._held_out(method)
        if method.name == BASELINE and self.training.n_unlabeled:
            self.notes.append("The supervised method does not use the unlabeled rows.")
        return findings_of(method, estimator, held_out, self.training, self.X, self.settings)

    def _held_out(self, method: Method) -> tuple[Entry, Entry] | None:
        """The method and the supervised machine on the bench; None where there is none, or nobody waits for it."""
        if self.bench is None:
            self.notes.append(f"What the model gives can't be measured: {self.why_no_bench}.")
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
            self.notes.append("What the model gives was not measured: the fit was stopped by hand.")
            return None
        if self.comparison is None or self.comparison.best_other is not known[method.name]:  # the verdict has said it
            self.notes += compared(known[method.name], known[BASELINE])
        return known[method.name], known[BASELINE]

    def facts(self, method: Method, why: str, estimator: Any, findings: Findings, seconds: float) -> dict[str, Any]:
        notes = list(dict.fromkeys(self.notes + findings.notes))
        # a warning that a target is not reached says what the operating point says, of a class code in place of a name
        notes = [note for note in notes if not any(note != other and note.endswith(other) for other in notes)]
        comparison = None if self.comparison is None else self.comparison.as_dict()
        return findings.facts(self.training, method, why, estimator, self.settings) | {
            "comparison": comparison,
            "notes": notes,
            "seconds": seconds,
        }


def _has(name: str) -> bool:
    return any(method.name == name for method in available())


def _names(settings: Settings) -> list[str]:
    """The methods to compare: those that need a target only where there is one."""
    return [method.name for method in available() if settings.has_target or not method.sets_threshold]


def _digest(X: Any, training: Training, settings: Settings, asked: list[Any]) -> str:
    """Tell one fit from another: rows, labels, settings and versions."""
    digest = hashlib.blake2b(digest_size=16)
    arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for array in (*arrays, training.codes):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((settings, asked, training.classes, sorted(versions().items()))).encode())
    return digest.hexdigest()
