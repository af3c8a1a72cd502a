"""A model of a folder of files that need not fit into memory, read here or by the workers of a Dask cluster.

    survey   what columns and classes are, and a sample: all labeled rows where they are few, some unlabeled ones
    count    what the encoder is made from, in a second pass over the files
    tune     C, the method and the threshold, on the sample, as in memory (`tables.fit`)
    fit      linear machines in the primal form, on all rows (`tables.partition_rows`)

The sample is a `Training` as in memory; the counts in it, and its encoder, are those of all rows. What a machine of all
rows costs in memory does not depend on their number. Methods without such a form learn from the sample, and say so. The
price of an unlabeled row is that of the comparison times (rows compared / rows), so that all of them together weigh
what they weighed where the method was chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.disk import whole_file
from semisvm.dual import Status
from semisvm.errors import DataError, RowsLostError, counted, fault
from semisvm.estimators import Method, find_method
from semisvm.primal import PrimalSolution
from semisvm.tables.classes import label_texts, one_spelling, settle_classes
from semisvm.tables.column_facts import TEXT, ColumnFacts
from semisvm.tables.columns import Column
from semisvm.tables.compare import compare_methods
from semisvm.tables.encode import TableEncoder
from semisvm.tables.fit import AUTO, Fitted, Stages, fit_model
from semisvm.tables.folders import Survey, SurveyPlan, files_of, join_frames, require_column, survey_file, with_kinds
from semisvm.tables.held_out import BASELINE
from semisvm.tables.methods import Settings, StoppedError, Tell, fit_quietly, make_estimator, say_nothing
from semisvm.tables.partition_encoder import blank_encoder, count_file, make_encoder, spans_around_medians
from semisvm.tables.partition_rows import Here, OnCluster, Pool, RowCoder
from semisvm.tables.read import open_rows
from semisvm.tables.read_training import check_request, columns_of_ways, printable_name, settle_features
from semisvm.tables.training import WAYS, FolderTraining, read_ways, say_blank, say_chosen

MOST_LABELED_KEPT = 20_000
MOST_UNLABELED_KEPT = 10_000
STREAMED = ("supervised", "transductive")
USES_UNLABELED = "transductive"
REACHED = "reached.npz"
SQUARED = "Text in a folder is learned with the squared hinge loss: the hinge would take too many passes over the rows."


def read_folder(
    folder: str | Path,
    target: str | None,
    *,
    workers: Here | OnCluster | None = None,
    unlabeled: str | None = None,
    positive: str | None = None,
    drop: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    drawn: str | None = None,
    decimal: str | None = None,
    spelling: str = "ask",
    tell: Tell = say_nothing,
) -> FolderTraining:
    """Read a folder of files twice, in parts, and learn what columns and classes are.

    A file without the target has unlabeled rows only. `workers` read the files; the other parameters are those of
    `read_training`.
    """
    workers, path = workers or Here(), Path(folder)
    files = [file.resolve() for file in files_of(path)]
    readers = [open_rows(file) for file in files]
    first = readers[0]
    if first.names is None:
        raise fault(first.path, "a file without named columns is read alone", "Give the path of this file")
    if target is not None and not any(target in (reader.names or ()) for reader in readers):
        first.require(target)
    target, wanted = check_request(first, path, target, drop, types or {}, decimal)
    names = [name for name in first.names if name not in {target, *drop}]
    may_say = columns_of_ways(readers, drawn, {target, *drop, *wanted}, target)
    looked_at = tuple(dict.fromkeys([*names, *may_say]))
    sizes = MOST_LABELED_KEPT, MOST_UNLABELED_KEPT
    plan = SurveyPlan(target, unlabeled, looked_at, files[0], decimal, *sizes, tuple(may_say))
    found: Survey = workers.gather(survey_file, files, plan, tell=tell, what="Looking through the files")
    files = [file for file, (_, n_rows) in zip(files, found.files, strict=True) if n_rows]
    if not files:
        raise fault(path, "none of its rows has a label or a feature", "Give a folder with rows")
    same = one_spelling(found.labels, path, target, spelling)
    labels = Counter({"": found.unlabeled.n})
    for text, n in found.labels.items():
        labels[same.get(text, text)] += n
    ways = next((name for name in may_say if _says_how(found.facts[name])), None)
    if drawn is not None and ways is None:
        reason = f"the column {drawn!r} does not say how rows were drawn"
        raise fault(folder, reason, f"It may hold {', '.join(map(repr, WAYS))}, or nothing")
    frame, drawn_rows = _gathered(found)
    texts = [same.get(text, text) for text in drawn_rows["text"]]
    at_random = None if ways is None else read_ways(path, ways, label_texts(frame[ways]), must_be=True)
    classes = settle_classes(
        labels,
        path,
        target,
        positive=positive,
        mark=unlabeled,
        may_be_one_class=True,
        at_random=() if at_random is None else np.array(texts)[at_random].tolist(),
    )
    of_features = {name: found.facts[name] for name in names if name != ways}
    for name in [name for name in may_say if name in of_features]:
        for reader in readers:
            require_column(reader, name, files[0])
    columns, about = settle_features(path, of_features, wanted, decimal, drop)
    encoder = _learn_encoder(files, columns, found, frame, drawn_rows["weight"].to_numpy(), workers, tell)
    if found.n_without_target:
        about["notes"].append(
            f"The rows of {counted(found.n_without_target, 'file')} without a column {target!r} count as unlabeled."
        )
    heights = dict(found.files)
    coder = RowCoder(encoder, classes, target, unlabeled, same, found.blank)
    codes = classes.codes_of(texts)
    if at_random is not None:
        n_chosen, n_seen = int(((codes >= 0) & ~at_random).sum()), int((codes >= 0).sum())
        about["notes"] = say_chosen(n_chosen, n_seen, found.labeled.n) + about["notes"]
    about["notes"] = say_blank(sum(map(len, found.blank.values()))) + about["notes"]
    del labels[""]
    of_counts = classes.codes_of(list(labels))
    return FolderTraining(
        name=printable_name(path.resolve()),
        target=target,
        rows=frame[[column.name for column in columns]],
        codes=codes,
        classes=classes,
        columns=columns,
        at_random=at_random,
        **about,
        encoder=encoder,
        counts=np.bincount(of_counts, list(labels.values()), len(classes.names)),
        n_rows=found.n_rows,
        pool=Pool(files, [heights[file.name] for file in files], coder, workers),
    )


def _learn_encoder(
    files: list[Path],
    columns: list[Column],
    found: Survey,
    frame: Any,
    weight: np.ndarray,
    workers: Here | OnCluster,
    tell: Tell,
) -> TableEncoder:
    """Read the files a second time; `frame` are the rows of the sample, `weight` how many rows each stands for."""
    typed, groups = blank_encoder(columns).typed(frame)
    X = typed[groups.get("number", [])].to_numpy(dtype=np.float64)
    spans = spans_around_medians(X, weight)
    what = "Learning how to encode the columns"
    counts = workers.gather(count_file, files, columns, spans, found.blank, tell=tell, what=what)
    if (narrowed := counts.narrowed(spans)) is not None:  # a column has values, and none of them is in the sample
        spans = narrowed
        counts = workers.gather(count_file, files, columns, spans, found.blank, tell=tell, what=what)
    medians = counts.medians(spans)
    if len(frame) == found.n_rows:
        medians = np.array([np.nanmedian(x) if (~np.isnan(x)).any() else np.nan for x in X.T])
    return make_encoder(columns, counts, medians)


def _says_how(facts: ColumnFacts) -> bool:
    """Whether a column says how rows were drawn."""
    return facts.n > 0 and not facts.n_numbers and facts.kind == TEXT and set(facts.strays) <= {*WAYS}


def _gathered(found: Survey) -> tuple[Any, Any]:
    """The sampled rows in the order of the files, and what is known of each: its label, how many rows it stands for."""
    import pandas

    parts = [one for one in (found.labeled, found.unlabeled) if len(one.about)]
    frame = with_kinds(
        join_frames([one.frame for one in parts]), {name: kind for name, (kind, _) in found.kinds.items()}
    )
    about = pandas.concat([one.about.assign(weight=one.n / len(one.about)) for one in parts], ignore_index=True)
    number = {name: place for place, (name, _) in enumerate(found.files)}
    order = np.lexsort((about["row"], about["file"].map(number)))
    return frame.iloc[order].reset_index(drop=True), about.iloc[order]


# ---- fitting ----


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
        return find_method(self.comparison.choice), self.comparison.why()

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
    if training.pool is not None and training.pool.coder.is_sparse and asked in (AUTO, *STREAMED):
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
    by = f"read by {counted(n_workers, 'worker')}" if n_workers else "read one after the other"
    files = counted(len(training.pool.files), "file")
    return (
        f"{files} with {counted(training.n_rows, 'row')}, {training.n_labeled:,} of them labeled, {by}. "
        "Linear machines learn from all rows in the primal form: memory does not grow with their number."
    )
