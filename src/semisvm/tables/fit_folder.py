"""A model of a folder of files that need not fit into memory, read here or by the workers of a Dask cluster.

    1  survey     types of columns, classes, and a sample: all labeled rows where they are few, some unlabeled ones
    2  count      what the encoder is made from
    3  tune       C, the method and the threshold, on the sample, as in memory (`tables.fit`)
    4  fit        linear machines in the primal form, on all rows: encoded once into a scratch file here, or kept by the
                  workers (read again in every pass where they are too many)

What a machine of all rows costs in memory does not depend on their number. Methods without such a form learn from the
sample, and say so. The price of an unlabeled row is that of the comparison times (rows compared / rows), so that all
of them together weigh what they weighed where the method was chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.errors import DataError, RowsLostError, fault
from semisvm.estimators.registry import Method, find_method
from semisvm.tables.classes import one_spelling, settle_classes
from semisvm.tables.columns import parse_types, remark_from_facts, settle_from_facts
from semisvm.tables.compare import BASELINE, compare_methods
from semisvm.tables.encode import STANDARD, TableEncoder
from semisvm.tables.fit import Fitted, fit_model
from semisvm.tables.folders import files_of
from semisvm.tables.methods import Settings, StoppedError, Tell, fit_quietly, make_estimator, say_nothing
from semisvm.tables.partition_encoder import make_encoder, spans_around_medians
from semisvm.tables.partition_rows import Here, OnCluster, Pool
from semisvm.tables.partition_stats import Survey, SurveyPlan, count_file, survey_file
from semisvm.tables.read import open_rows
from semisvm.tables.stages import AUTO, Stages
from semisvm.tables.training import RowForms, Training

MOST_LABELED = 20_000
MOST_SAMPLED = 10_000
STREAMED = ("supervised", "transductive")
USES_UNLABELED = "transductive"
SQUARED = "Text in a folder is learned with the squared hinge loss: the hinge would take too many passes over the rows."


class FolderForms(RowForms):
    """The sampled rows of a folder, in the one form that all rows have: others would need all rows in memory."""

    def candidates(self) -> list[str]:
        """Return nothing: the standard view is the only one."""
        return []

    def take(self, rows: np.ndarray) -> RowForms:
        """Return some of the rows; forms are shared."""
        part = super().take(rows)
        part.__class__ = FolderForms
        return part


@dataclass
class FolderTraining(Training):
    """What is known of a folder: `rows` and `codes` are those of the sample, the counts are those of all rows."""

    encoder: TableEncoder | None = None
    counts: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_rows: int = 0
    pool: Pool | None = None

    @property
    def n_labeled(self) -> int:
        return int(self.counts.sum())

    @property
    def n_unlabeled(self) -> int:
        return self.n_rows - self.n_labeled

    @property
    def class_counts(self) -> dict[str, int]:
        """Labeled rows per class."""
        return dict(zip(self.classes.names, self.counts.astype(int).tolist(), strict=True))

    @property
    def has_all_labels(self) -> bool:
        """Whether all labeled rows are in the sample."""
        return int((self.codes >= 0).sum()) == self.n_labeled

    def views(self) -> RowForms:
        """Return the sampled rows in the form that all rows have."""
        return FolderForms(self.rows, self._known_encoder)

    def _known_encoder(self, view: str) -> TableEncoder:
        if view != STANDARD or self.encoder is None:
            raise DataError("A folder is encoded in the standard view only. Give its files one by one for others.")
        return self.encoder


# ---- reading ----


def read_folder(
    folder: str | Path,
    target: str | None,
    *,
    workers: Here | OnCluster | None = None,
    unlabeled: str | None = None,
    positive: str | None = None,
    drop: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    decimal: str | None = None,
    spelling: str = "ask",
    tell: Tell = say_nothing,
) -> FolderTraining:
    """Read a folder of files twice, in parts, and learn what columns and classes are; see `read_training`.

    Parameters
    ----------
    folder : path
        Files with the same columns; a file without the target has unlabeled rows only.
    target : str
        The column of the labels.
    workers : Here or OnCluster, optional
        Who reads the files.
    unlabeled, positive, drop, types, decimal, spelling
        As in `read_training`.
    tell : callable
        Called with the progress.

    Returns
    -------
    FolderTraining
        For `fit_folder`.
    """
    workers = workers or Here()
    files = [file.resolve() for file in files_of(Path(folder))]
    names = _feature_names(Path(folder), files, target, drop)
    assert target is not None
    plan = SurveyPlan(target, unlabeled, names, files[0], decimal, MOST_LABELED, MOST_SAMPLED)
    found: Survey = workers.gather(survey_file, files, plan, tell=tell, what="Looking through the files")
    same = one_spelling(found.labels, Path(folder), target, spelling)
    labels = found.labels + Counter({"": found.unlabeled.n})
    classes = settle_classes(
        Counter({same.get(text, text): 0 for text in labels}) + _renamed(labels, same),
        Path(folder),
        target,
        positive=positive,
        mark=unlabeled,
        may_be_one_class=True,
    )
    try:
        columns, unused = settle_from_facts(found.facts, parse_types(types or {}), decimal)
    except ValueError as error:
        remedy = "Correct the column, leave it out (`drop`), or set its type to category (`types`)"
        raise fault(folder, str(error), remedy) from None
    if not columns:
        raise fault(folder, "no column is left to learn from", "Add columns that carry information about the rows")
    frame, texts, weight = _gathered(found, [name for name, _ in found.files])
    blank = TableEncoder(columns)
    blank.columns_ = columns
    typed, groups = blank.typed(frame)
    X = typed[groups.get("number", [])].to_numpy(dtype=np.float64)
    spans = spans_around_medians(X, weight)
    counts = workers.gather(count_file, files, columns, spans, tell=tell, what="Learning how to encode the columns")
    is_whole = len(frame) == found.n_rows
    medians = np.array([np.nanmedian(x) if (~np.isnan(x)).any() else np.nan for x in X.T]) if is_whole else None
    encoder = make_encoder(columns, counts, counts.medians(spans) if medians is None else medians)
    remarks = {one.name: remark_from_facts(one, found.facts[one.name]) for one in columns}
    notes = [f"Column {one.name!r} {one.why}: it is left out." for one in unused]
    notes += [f"Column {name!r}: {remark}." for name, remark in remarks.items() if remark]
    if found.n_without_target:
        notes.append(f"{found.n_without_target} files have no column {target!r}: their rows count as unlabeled.")
    heights = dict(found.files)
    pool = Pool(files, [heights[file.name] for file in files], encoder, classes, target, unlabeled, same, workers)
    per_class = np.zeros(len(classes.names))
    for text, code in zip(found.labels, classes.codes_of([same.get(one, one) for one in found.labels]), strict=True):
        per_class[code] += found.labels[text]
    return FolderTraining(
        name=Path(folder).resolve().name,
        target=target,
        rows=frame[[column.name for column in columns]],
        codes=classes.codes_of([same.get(text, text) for text in texts]),
        classes=classes,
        columns=columns,
        notes=notes,
        left_out={one.name: one.why for one in unused} | dict.fromkeys(sorted(drop), "was dropped by request"),
        remarks={name: remark for name, remark in remarks.items() if remark},
        encoder=encoder,
        counts=per_class,
        n_rows=found.n_rows,
        pool=pool,
    )


def _renamed(labels: Counter[str], same: Mapping[str, str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for text, n in labels.items():
        found[same.get(text, text)] += n
    return found


def _feature_names(folder: Path, files: list[Path], target: str | None, drop: Sequence[str]) -> tuple[str, ...]:
    readers = [open_rows(file) for file in files]
    first = readers[0]
    if first.names is None:
        raise fault(first.path, "a file without named columns is read alone", "Give the path of this file")
    if target is None:
        raise fault(folder, "the column of the labels is not named", "Set `target` to its name")
    if not any(target in (reader.names or ()) for reader in readers):
        first.require(target)
    for column in drop:
        first.require(column)
        if column == target:
            raise fault(folder, f"the column {target!r} is the target and can't be left out", "Drop another column")
    return tuple(name for name in first.names if name not in {target, *drop})


def _gathered(found: Survey, order: list[str]) -> tuple[Any, list[str], np.ndarray]:
    """The sampled rows in the order of the files, their labels, and how many rows each of them stands for."""
    import pandas

    parts = [one for one in (found.labeled, found.unlabeled) if len(one.key)]
    frame = pandas.concat([one.frame for one in parts], ignore_index=True)
    for name, (kind, _) in found.kinds.items():
        wanted: Any = {"numbers": "float64", "dates": "datetime64[us]"}.get(kind, "str")
        if frame[name].dtype != wanted:
            frame[name] = frame[name].astype(wanted)
    number = {name: place for place, name in enumerate(order)}
    places = [(number[name], row) for one in parts for name, row in one.place]
    texts = [text for one in parts for text in one.texts]
    weight = np.concatenate([np.full(len(one.key), one.n / len(one.key)) for one in parts])
    rows = sorted(range(len(places)), key=places.__getitem__)
    return frame.iloc[rows].reset_index(drop=True), [texts[row] for row in rows], weight[rows]


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
        try:
            self.notes += fit_quietly(estimator, rows, None, self.tell, what)
        except StoppedError:
            self.was_stopped = True
            self.notes.append("The fit was stopped by hand: the model is the best so far.")
        return estimator


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
    try:
        fitted = fit_model(training, settings, method=method, make_stages=FolderStages, **options)
    except RowsLostError as lost:
        raise DataError(f"{lost} What was reached is kept if `checkpoint` is set: go on with `resume`.") from lost
    data = replace(fitted.model.summary.data, rows=training.n_rows)
    fitted.model.summary = replace(fitted.model.summary, data=data)
    return fitted


def describe(training: FolderTraining) -> str:
    """Say what was read, and how a model of it is made."""
    assert training.pool is not None
    n_workers = training.pool.workers.n_workers
    by = f"read by {n_workers} workers" if n_workers else "read one after the other"
    n_files = len(training.pool.files)
    return (
        f"{n_files} files with {training.n_rows:,} rows, {training.n_labeled:,} of them labeled, {by}. "
        "Linear machines learn from all rows in the primal form: memory does not grow with their number."
    )
