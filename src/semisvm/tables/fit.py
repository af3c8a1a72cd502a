"""From rows to a model: encode, choose the method, fit it on all rows, and measure the result.

    0  do the labeled rows look like a random sample? If not, no held-out certificate is given
    1  the table becomes a matrix; the encoder learns from labeled and unlabeled rows
    2  how the columns are prepared, the kernel, C and gamma
    3  the method: the one asked for, or for "auto" the better of AutoSVC and the supervised method
    4  the fit on all rows
    5  the audit on out-of-fold scores: labels alone, + threshold, + unlabeled rows

`semisvm.tables.stages` has the stages.
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
from semisvm.estimators.registry import available, find_method
from semisvm.tables.checkpoint import Checkpoint, open_checkpoint
from semisvm.tables.compare import BASELINE, Comparison, compare_methods
from semisvm.tables.encode import STANDARD
from semisvm.tables.findings import installed_versions, summarize, without_repeats
from semisvm.tables.held_out import MOST_UNLABELED
from semisvm.tables.methods import Settings, Tell, say_nothing, takes_columns
from semisvm.tables.model import Model
from semisvm.tables.positives_only import FOR_POSITIVES, RankComparison, check_positives_only, compare_positives
from semisvm.tables.stages import AUTO, Stages, with_usual_kernel
from semisvm.tables.training import Training

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
    make_stages: type[Stages] = Stages,
) -> Fitted:
    """Fit a model to the training rows.

    Parameters
    ----------
    training : Training
        The rows, from `read_training`.
    settings : Settings
        What is asked for.
    method : str, optional
        A name of `semisvm.estimators.registry`, or "auto". By default "preference" for a certificate, and for a
        precision or recall of each of several classes; else "auto".
    tune : bool
        Whether to choose the kernel, C and gamma by cross-validation.
    most_unlabeled : int
        How many unlabeled rows are used at most to compare and audit methods; the model uses all.
    checkpoint : path, optional
        A folder that keeps every finished solve.
    resume : bool
        Whether to continue the fit in `checkpoint`, if there is one.
    tell : callable
        Called with the progress (`semisvm.tables.methods`).
    make_stages : type
        The stages, `FolderStages` for rows that are not in memory.

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
        chosen,
        why,
        estimator,
        work.settings,
        found,
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
    views = training.views()
    if training.has_positives_only:
        settings = with_usual_kernel(settings, views)
        return compare_positives(training, views.form(), settings, methods, most_unlabeled=most_unlabeled, tell=tell)
    work = Stages(training, views, settings, most_unlabeled, tell)
    if work.bench is None:
        raise fault(training.name, work.why_no_bench, "Label at least two rows of each class")
    work.tune(tune)
    if not training.n_unlabeled and not methods:
        methods = [BASELINE]
    return compare_methods(work.bench, work.settings, methods or _names(settings), tell)


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
