"""A model of a folder of files that need not fit into memory, read here or by the workers of a Dask cluster.

    1  read   what columns and classes are, how to encode them, and a sample of the rows (`tables.read_folder`)
    2  tune   C, the method and the threshold, on the sample, as in memory (`tables.fit`)
    3  fit    linear machines in the primal form, on all rows (`tables.partition_rows`)

What a machine of all rows costs in memory does not depend on their number. Methods without such a form learn from the
sample, and say so. The price of an unlabeled row is that of the comparison times (rows compared / rows), so that all
of them together weigh what they weighed where the method was chosen.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.dual import Status
from semisvm.errors import DataError, RowsLostError
from semisvm.estimators.registry import Method, find_method
from semisvm.primal import PrimalSolution
from semisvm.tables.compare import BASELINE, compare_methods
from semisvm.tables.disk import whole_file
from semisvm.tables.fit import AUTO, Fitted, Stages, fit_model
from semisvm.tables.methods import Settings, StoppedError, fit_quietly, make_estimator
from semisvm.tables.read_folder import FolderTraining

STREAMED = ("supervised", "transductive")
USES_UNLABELED = "transductive"
REACHED = "reached.npz"
SQUARED = "Text in a folder is learned with the squared hinge loss: the hinge would take too many passes over the rows."


class FolderStages(Stages):
    """The stages of a fit, with the machine of all rows in place of that of the rows in memory."""

    training: FolderTraining

    def choose(self, name: str, why_asked: str) -> tuple[Method, str]:
        """Return the method: for "auto", whether the unlabeled rows help a linear machine."""
        if name != AUTO or self.bench is None or not self.training.n_unlabeled:
            return super().choose(name, why_asked)
        self.comparison = compare_methods(self.bench, self.settings, [BASELINE, USES_UNLABELED], self.tell)
        self.was_stopped |= self.comparison.was_stopped
        self.notes.append(self.comparison.verdict())
        return self.comparison.chosen.method, self.comparison.why()

    def fit(self, method: Method) -> Any:
        """Fit the method to all rows, or to the sample where it has no form for rows that are not in memory."""
        training = self.training
        uses_all = method.name in STREAMED and self.settings.kernel == "linear"
        if method.name == BASELINE and training.has_all_labels:
            return super().fit(method)
        if not uses_all:
            n = len(training.codes)
            self.notes.append(
                f"{method.name} with this kernel has no form for rows that are not in memory: it has learned from "
                f"{n:,} rows, drawn at random from {training.n_rows:,}."
            )
            return super().fit(method)
        assert training.pool is not None
        rows = training.pool.rows(self.tell)
        estimator = make_estimator(method, self.settings)
        if rows.is_sparse and estimator.loss != "squared_hinge":
            estimator.loss = "squared_hinge"
            self.notes.append(
                "Text out of memory is learned with the squared hinge loss: the hinge takes too many passes."
            )
        n_compared = int((training.codes < 0).sum()) if self.bench is None else int((self.bench.codes < 0).sum())
        if method.name == USES_UNLABELED and n_compared < training.n_unlabeled:
            estimator.C_unlabeled = self.settings.C * n_compared / training.n_unlabeled
            self.notes.append(
                f"The price of an unlabeled row is C times {n_compared:,} / {training.n_unlabeled:,}, so that all of "
                "them weigh what the compared ones did."
            )
        what = f"Fitting {method.name} to {training.n_rows:,} rows"
        self.tell(what)
        state = None if self.store is None else self.store.folder / REACHED
        if state is not None and state.exists():
            estimator._unfinished = _read_reached(state)
        try:
            self.notes += fit_quietly(estimator, rows, None, self.tell, what)
        except RowsLostError as lost:
            raise _explain_loss(lost, estimator, state) from lost
        except StoppedError:
            self.was_stopped = True
            self.notes.append("The fit was stopped by hand: the model is the best so far.")
        return estimator


def _explain_loss(lost: RowsLostError, estimator: Any, state: Path | None) -> DataError:
    """Keep the coefficients that were reached, and say how to go on."""
    why = str(lost).partition(". ")[0]
    if state is None:
        return DataError(f"{why}. Start the cluster and the fit again; with `checkpoint` it would go on where it was.")
    reached: dict[str, PrimalSolution] = getattr(estimator, "_unfinished", {})
    numbers = {f"at{k}": np.append(one.w, [one.bias, one.smoothing]) for k, one in enumerate(reached.values())}
    with whole_file(state, force=True) as unfinished, unfinished.open("wb") as stream:
        np.savez(stream, allow_pickle=False, names=np.array(list(reached), dtype=str), **numbers)
    return DataError(f"{why}. Start the cluster again, and give the same command with `resume`: it goes on from there.")


def _read_reached(state: Path) -> dict[str, PrimalSolution]:
    with np.load(state, allow_pickle=False) as stored:
        found = {str(name): stored[f"at{k}"] for k, name in enumerate(stored["names"])}
    numbers: dict[str, Any] = {"objective": np.inf, "bound": 0.0, "gap": 1.0, "n_iter": 0, "seconds": 0.0}
    return {
        name: PrimalSolution(w=x[:-2], bias=float(x[-2]), smoothing=float(x[-1]), status=Status.INTERRUPTED, **numbers)
        for name, x in found.items()
    }


def fit_folder(training: FolderTraining, settings: Settings, *, method: str | None = None, **options: Any) -> Fitted:
    """Fit a model to all rows of a folder; the parameters are those of `fit_model`."""
    asked = method or AUTO
    if asked != AUTO:
        find_method(asked)
    if settings.kernel is None and (asked == AUTO or asked in STREAMED):
        settings = replace(settings, kernel="linear")
    if settings.kernel != "linear" and asked in (AUTO, USES_UNLABELED):
        raise DataError(
            f"A machine of all rows of a folder has a linear kernel, and `kernel` is {settings.kernel!r}. Leave it "
            "out, or set `method` to auto-kernel or preference, which learn from a sample, or give the files one by "
            "one if they fit into memory."
        )
    if training.pool is not None and training.pool.is_sparse and asked in (AUTO, *STREAMED):
        settings = replace(settings, loss="squared_hinge")
        training.notes.append(SQUARED)
    fitted = fit_model(training, settings, method=method, make_stages=FolderStages, **options)
    data = replace(fitted.model.summary.data, rows=training.n_rows)
    fitted.model.summary = replace(fitted.model.summary, data=data)
    return fitted


def describe_folder(training: FolderTraining) -> str:
    """Say what was read, and how a model of it is made."""
    assert training.pool is not None
    n_workers = training.pool.workers.n_workers
    by = f"read by {n_workers} workers" if n_workers else "read one after the other"
    n_files = len(training.pool.files)
    return (
        f"{n_files} files with {training.n_rows:,} rows, {training.n_labeled:,} of them labeled, {by}. "
        "Linear machines learn from all rows in the primal form: memory does not grow with their number."
    )
