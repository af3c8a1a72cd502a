"""A model of a folder of files that need not fit into memory, read here or by the workers of a Dask
cluster.

    survey   the classes, and a sample: all labeled rows where they are few, some unlabeled ones
    learn    what the columns are and how they are encoded, from the sample
    tune     C, the method and the threshold, on the sample, as in memory (`tables.fit`)
    fit      linear SVMs in the primal form, on all rows (`tables.partition_rows`)

The sample is a `Training` as in memory; the counts in it are those of all rows. The memory for an
SVM of all rows does not depend on their number. Methods without such a form learn from the sample,
and say so. The penalty of an unlabeled row is that of the comparison times (rows compared / rows),
so that all of them together weigh what they weighed where the method was chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.columns.cells import CellError
from semisvm.errors import DataError, RowsLostError, counted, fault
from semisvm.estimators import Method
from semisvm.tables.classes import settle_classes
from semisvm.tables.fit import AUTO, Stages
from semisvm.tables.folders import (
    LABEL,
    Survey,
    SurveyPlan,
    kinds_of_columns,
    open_folder,
    survey_file,
    with_kinds,
)
from semisvm.tables.held_out import BASELINE
from semisvm.tables.methods import Settings, Tell, make_estimator, say_nothing
from semisvm.tables.partition_rows import Here, OnCluster, Pool, stays_sparse
from semisvm.tables.read_training import (
    check_request,
    columns_of_ways,
    printable_name,
    settle_features,
)
from semisvm.tables.training import Training, find_ways, say_chosen

MOST_LABELED_KEPT = 20_000
MOST_UNLABELED_KEPT = 10_000
STREAMED = ("supervised", "transductive")
USES_UNLABELED = "transductive"
SQUARED = (
    "Text in a folder is learned with the squared hinge loss: the hinge would take too many passes"
    " over the rows."
)


class FolderStages(Stages):
    """The stages of a fit, with the SVM of all rows in place of that of the rows in memory."""

    training: FolderTraining

    def __init__(
        self, training: Training, settings: Settings, method: str | None, *rest: Any
    ) -> None:
        is_for_all = method in (None, AUTO, *STREAMED)
        if settings.kernel is None and is_for_all:
            settings = replace(settings, kernel="linear")
        if settings.kernel != "linear" and method in (None, AUTO, USES_UNLABELED):
            raise DataError(
                "An SVM of all rows of a folder needs a linear kernel, but `kernel` is"
                f" {settings.kernel!r}. Leave it out, or set `method` to autosvc or preference,"
                " which learn from a sample, or pass the files one by one if they fit into memory."
            )
        super().__init__(training, settings, method, *rest)
        if is_for_all and stays_sparse(training.encoder(settings.view)):
            self.settings = replace(settings, loss="squared_hinge")
            self.notes.append(SQUARED)

    def choose(self) -> tuple[Method, str]:
        """Return the method: for "auto", whether the unlabeled rows help a linear SVM."""
        if self.method != AUTO or self.tried is None or not self.training.n_unlabeled:
            return super().choose()
        return self.compare([BASELINE, USES_UNLABELED])

    def fit(self, method: Method) -> Any:
        """Fit the method to all rows, or to the sample where it has no form for all rows."""
        training = self.training
        uses_all = method.name in STREAMED and self.settings.kernel == "linear"
        has_all_labels = int((training.codes >= 0).sum()) == training.n_labeled
        if method.name == BASELINE and has_all_labels:
            return super().fit(method)
        if not uses_all:
            n = len(training.codes)
            self.notes.append(
                f"{method.name} with this kernel can't be fitted to rows that are not in memory: it"
                f" was fitted to {n:,} rows, drawn at random from {training.n_rows:,}."
            )
            return super().fit(method)
        encoder = training.encoder(self.settings.view)
        rows = training.pool.rows(encoder, training.workers, self.tell)
        estimator = make_estimator(method, self.settings)
        n_compared = int(((self.tried or training).codes < 0).sum())
        if method.name == USES_UNLABELED and n_compared < training.n_unlabeled:
            estimator.C_unlabeled = self.settings.C * n_compared / training.n_unlabeled
            self.notes.append(
                f"The penalty of an unlabeled row is C times {n_compared:,} /"
                f" {training.n_unlabeled:,}, so that in all they weigh as much as in the"
                " comparison."
            )
        try:
            self.fit_rows(
                estimator, rows, None, f"Fitting {method.name} to {training.n_rows:,} rows"
            )
        except RowsLostError as lost:
            why = str(lost).partition(". ")[0]
            raise DataError(f"{why}. Start the cluster and the fit again.") from lost
        return estimator


@dataclass(kw_only=True)
class FolderTraining(Training):
    """What is known of a folder: `rows` and `codes` are those of the sample, the counts are
    those of all rows. `workers` read the files of the `pool`.
    """

    stages = FolderStages
    counts: np.ndarray
    pool: Pool
    workers: Here | OnCluster

    @property
    def n_rows(self) -> int:
        return sum(self.pool.heights)

    @property
    def n_labeled(self) -> int:
        return int(self.counts.sum())

    @property
    def n_unlabeled(self) -> int:
        return self.n_rows - self.n_labeled

    @property
    def class_counts(self) -> dict[str, int]:
        """Labeled rows per class; where only some were drawn at random, these, in the sample."""
        if self.at_random is not None:
            return super().class_counts
        return dict(zip(self.classes.names, self.counts.astype(int).tolist(), strict=True))

    def describe(self) -> str:
        """Say what was read, and how a model of it is made."""
        n_workers = self.workers.n_workers
        by = f"read by {counted(n_workers, 'worker')}" if n_workers else "read one after the other"
        files = counted(len(self.pool.files), "file")
        return (
            f"{files} with {counted(self.n_rows, 'row')}, {self.n_labeled:,} of them labeled,"
            f" {by}. Linear SVMs are fitted to all rows in the primal form: memory does not grow"
            " with their number."
        )


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
    """Look through a folder as `read_training` reads files; columns are learned from a sample."""
    workers = workers or Here()
    path = Path(folder)
    readers = open_folder(path).files
    first = readers[0]
    if target is not None and not any(target in reader.names for reader in readers):
        first.require(target)
    target, asked_types = check_request(first, path, target, drop, types or {}, decimal)
    names = [name for name in first.names if name not in {target, *drop}]
    may_say = columns_of_ways(readers, drawn, {target, *drop, *asked_types}, target)
    looked_at = tuple(dict.fromkeys([*names, *may_say]))
    kinds = kinds_of_columns(readers, looked_at, optional=may_say)
    files = [reader.path.resolve() for reader in readers]
    sizes = MOST_LABELED_KEPT, MOST_UNLABELED_KEPT
    plan = SurveyPlan(target, unlabeled, looked_at, *sizes, tuple(may_say))
    survey: Survey = workers.gather(
        survey_file, files, plan, tell=tell, what="Looking through the files"
    )
    frame = with_kinds(survey.sample, kinds)
    texts = frame[LABEL].tolist()
    ways, at_random = find_ways(path, frame, may_say, must_be=drawn is not None)
    classes = settle_classes(
        survey.labels + Counter({"": survey.n_rows.total() - survey.n_labeled}),
        path,
        target,
        spelling=spelling,
        positive=positive,
        mark=unlabeled,
        at_random=() if at_random is None else compress(texts, at_random),
    )
    features = [name for name in names if name != ways]
    # a column called "drawn" that says something else is a feature, and needed in every file
    kinds_of_columns(readers, features)
    try:
        rows, about = settle_features(path, frame[features], asked_types, decimal, drop)
    except CellError as error:
        raise fault(path, f"row {error.row + 1}: {error.reason}", error.remedy) from None
    if survey.n_without_target:
        about["notes"].append(
            f"The rows of {counted(survey.n_without_target, 'file')} without a column {target!r}"
            " count as unlabeled."
        )
    codes = classes.codes_of(texts)
    notes = [] if at_random is None else say_chosen(codes, at_random, survey.n_labeled)
    codes_of_labels = classes.codes_of(list(survey.labels))
    heights = [survey.n_rows[file.name] for file in files]
    return FolderTraining(
        name=printable_name(path.resolve()),
        target=target,
        rows=rows,
        codes=codes,
        classes=classes,
        at_random=at_random,
        **about | {"notes": notes + about["notes"]},
        counts=np.bincount(codes_of_labels, list(survey.labels.values()), len(classes.names)),
        tries_views=False,  # the standard view keeps passes short
        pool=Pool(files, heights, classes, target, unlabeled),
        workers=workers,
    )
