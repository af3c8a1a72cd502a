"""A folder of files that need not fit into memory -> what a model is fitted to, in two passes over the files.

    survey   types of columns, classes, and a sample: all labeled rows where they are few, some unlabeled ones
    count    what the encoder is made from

The sample is a `Training` as in memory; the counts in it, and its encoder, are those of all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.errors import DataError, fault
from semisvm.tables.classes import label_texts, one_spelling, settle_classes
from semisvm.tables.column_facts import ColumnFacts
from semisvm.tables.columns import parse_types, remark_from_facts, settle_from_facts
from semisvm.tables.encode import STANDARD, TableEncoder
from semisvm.tables.folders import files_of
from semisvm.tables.methods import Tell, say_nothing
from semisvm.tables.partition_encoder import make_encoder, spans_around_medians
from semisvm.tables.partition_rows import Here, OnCluster, Pool
from semisvm.tables.partition_stats import Survey, SurveyPlan, count_file, survey_file
from semisvm.tables.read import open_rows
from semisvm.tables.training import DRAWN_COLUMNS, WAYS, RowForms, Training, read_ways

MOST_LABELED_KEPT = 20_000
MOST_UNLABELED_KEPT = 10_000


class FolderForms(RowForms):
    """The sampled rows of a folder, in the one form that all rows have: others would need all rows in memory."""

    def candidates(self) -> list[str]:
        """Return nothing: the standard view is the only one."""
        return []


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

    def _known_encoder(self, view: str, rows: Any) -> TableEncoder:
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
    drawn: str | None = None,
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
    unlabeled, positive, drop, types, drawn, decimal, spelling
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
    plan = SurveyPlan(target, unlabeled, names, files[0], decimal, MOST_LABELED_KEPT, MOST_UNLABELED_KEPT)
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
    ways = _column_of_ways(found.facts, drawn, {*drop, *(types or {})})
    if drawn is not None and ways is None:
        reason = f"the column {drawn!r} does not say how rows were drawn"
        raise fault(folder, reason, f"It may hold {', '.join(map(repr, WAYS))}, or nothing")
    of_features = {name: facts for name, facts in found.facts.items() if name != ways}
    try:
        columns, unused = settle_from_facts(of_features, parse_types(types or {}), decimal)
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
    at_random = None
    if ways is not None:
        at_random = read_ways(Path(folder), ways, label_texts(frame[ways]), must_be=True)
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
        at_random=at_random,
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


def _column_of_ways(facts: Mapping[str, ColumnFacts], asked: str | None, not_these: set[str]) -> str | None:
    """The column that says how rows were drawn; None where there is none."""
    for name in DRAWN_COLUMNS if asked is None else (asked,):
        own = facts.get(name)
        if own is not None and name not in not_these and own.n and not own.n_numbers and set(own.strays) <= {*WAYS}:
            return name
    return None


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
