"""What a model is fitted to: the rows, the class of each labeled one, and the rows in the forms
that methods take.

A form of the rows, encoded in one of several views, is made when it is first needed, from all rows,
and parts of it are taken for folds. It does not depend on labels, so it may be made once.

How each labeled row came to be labeled is in the column "drawn" of a table, which is never a
feature:

    at random     a random sample of all rows, as labels without such a cell are taken to be
    by doubt      `suggest` chose the row because the model was unsure of it
    by campaign   a campaign drew the row: at random, but mostly among rows that the model accepts

Only rows drawn at random set thresholds and enter intervals, audits, comparisons and held-out
certificates; the others train.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from semisvm.columns.cells import Column
from semisvm.columns.encoder import TableEncoder, scale_matrix
from semisvm.columns.table import Columns, as_frame, read_table
from semisvm.columns.views import STANDARD, plain_output
from semisvm.errors import counted, fault
from semisvm.estimators import Method
from semisvm.labels import encode
from semisvm.matrices import is_frame, is_sparse_matrix
from semisvm.tables.classes import Classes, label_texts
from semisvm.tables.methods import Settings, shape_for, takes_columns

DRAWN_COLUMNS = (
    "drawn",
    "how_drawn",
    "semisvm_drawn",
)  # `suggest` writes the first that is no feature
AT_RANDOM = "at random"
BY_DOUBT = "by doubt"
BY_CAMPAIGN = "by campaign"
WAYS = (AT_RANDOM, BY_DOUBT, BY_CAMPAIGN)


@dataclass
class Training:
    """What a model is fitted to, or some of these rows, in the forms that methods take."""

    stages: ClassVar[Any] = None  # how it is fitted: None for `fit.Stages`
    name: str  # of the file
    target: str  # the label column
    rows: Any  # the features: `Columns`; in Python also a matrix, or what a model takes
    # (n,) the class of each row as an index into `classes.names`, -1 for unlabeled rows
    codes: np.ndarray
    classes: Classes  # of two, the second is the positive class
    notes: list[str] = field(default_factory=list)  # what was noticed while reading
    # (n,) which rows, if labeled, were labeled as a random sample; None: all
    at_random: np.ndarray | None = None
    left_out: dict[str, str] = field(default_factory=dict)  # columns that are not used, and why
    # what a person should check about columns in use
    remarks: dict[str, str] = field(default_factory=dict)
    # (training rows, tested rows) of each fold, where methods are tried on these rows
    folds: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    tries_views: bool = True  # whether tuning tries views besides the standard one
    # by view, what encodes the rows (None for a matrix), and the rows encoded
    forms: dict[str, tuple[TableEncoder | None, Any]] = field(default_factory=dict, repr=False)
    # where these are some rows of others: those, and which; they are encoded as all of those are
    whole: tuple[Training, np.ndarray] | None = field(default=None, repr=False)

    @property
    def columns(self) -> list[Column]:
        """The columns of a table."""
        return list(self.rows.schema.columns)

    @property
    def measures(self) -> np.ndarray:
        """Which rows set thresholds and enter measurements: labeled, and drawn at random."""
        return self.codes >= 0 if self.at_random is None else (self.codes >= 0) & self.at_random

    @property
    def tested(self) -> np.ndarray:
        """The numbers of these rows: the others train in every fold."""
        return np.flatnonzero(self.measures)

    @property
    def labels(self) -> Any:
        """The class name of each row as a pandas Categorical, missing for unlabeled rows.

        Estimators are fitted on it. Its categories are all classes in their order, so the positive
        class is the last.
        """
        return self.classes.categorical(self.codes)

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def n_labeled(self) -> int:
        return int((self.codes >= 0).sum())

    @property
    def n_unlabeled(self) -> int:
        return int((self.codes < 0).sum())

    @property
    def has_positives_only(self) -> bool:
        """Whether all labels are of one class, the second of two; the other rows are unlabeled."""
        return len(self.classes.names) == 2 and not (self.codes == 0).any()

    @property
    def class_counts(self) -> dict[str, int]:
        """Labeled rows per class; where only some of them were drawn at random, these."""
        is_counted = self.measures if self.measures.any() else self.codes >= 0
        counts = np.bincount(self.codes[is_counted], minlength=len(self.classes.names))
        return dict(zip(self.classes.names, counts.tolist(), strict=True))

    def features(self) -> list[tuple[str, str, str]]:
        """Return name and type of each feature, and a remark on it or ""."""
        if isinstance(self.rows, Columns):
            return [
                (column.name, column.type, self.remarks.get(column.name, ""))
                for column in self.columns
            ]
        if hasattr(self.rows, "columns"):  # a frame as a model takes it
            return [(str(name), str(self.rows[name].dtype), "") for name in self.rows.columns]
        shape: tuple[int, ...] = getattr(self.rows, "shape", ())
        n_features = shape[1] if len(shape) > 1 else 1
        return [("x1" if n_features == 1 else f"x1 to x{n_features}", "number", "")]

    # ---- forms of the rows ----

    def take(self, rows: np.ndarray, *, learns: bool = False) -> Training:
        """Return some of the rows, encoded as all of them are; with `learns`, views other than the
        standard one are learned from these rows alone.
        """
        part = Training(
            self.name,
            self.target,
            take_rows(self.rows, rows),
            self.codes[rows],
            self.classes,
            at_random=None if self.at_random is None else self.at_random[rows],
            tries_views=self.tries_views,
        )
        if learns:
            part.forms[STANDARD] = self.encoder(), take_rows(self.form(), rows)
        else:
            part.whole = self, rows
        return part

    def encoder(self, view: str = STANDARD) -> Any:
        """Return what encodes the columns of a table in a view; fitted once, to all rows."""
        return self._encoded(view)[0]

    def form(self, view: str = STANDARD) -> Any:
        """Return the rows in one view, encoded."""
        return self._encoded(view)[1]

    @plain_output
    def _encoded(self, view: str) -> tuple[TableEncoder | None, Any]:
        if view not in self.forms:
            if self.whole is not None:
                others, rows = self.whole
                self.forms[view] = others.encoder(view), take_rows(others.form(view), rows)
            elif isinstance(self.rows, Columns):
                encoder = TableEncoder(view=view)
                self.forms[view] = encoder, encoder.fit_transform(self.rows)
            else:
                self.forms[view] = None, scale_matrix(self.rows, view)
        return self.forms[view]

    def for_method(self, method: Method, settings: Settings) -> Any:
        """Return the rows as the method takes them."""
        if not takes_columns(method):
            return shape_for(method, self.form(settings.view))
        return self.rows if isinstance(self.rows, Columns) else self.form()


def training_of(X: Any, y: Any, *, pos_label: Any = None, unlabeled: Any = -1) -> Training:
    """Return rows in memory as what a table model is fitted to; classes are known by their text."""
    labels = encode(y, unlabeled=unlabeled, n_rows=X.shape[0] if hasattr(X, "shape") else len(X))
    names = [str(label) for label in labels.classes]
    codes = labels.codes.copy()
    if len(names) == 2:
        counts = np.bincount(codes[codes >= 0], minlength=2)
        positive = (
            str(pos_label)
            if pos_label is not None
            else names[0]
            if counts[0] < counts[1]
            else names[1]
        )
        if positive not in names:
            raise ValueError(f"pos_label={pos_label!r} is not a label: there are {names}.")
        if positive == names[0]:
            names = names[::-1]
            codes = np.where(codes >= 0, 1 - codes, -1)
    left_out = {}
    rows: Any = X
    if is_frame(X):
        reading = read_table(as_frame(X))
        rows = reading.columns
        left_out = {column.name: column.why for column in reading.left_out}
    elif not is_sparse_matrix(X):
        rows = np.asarray(X, dtype=np.float64)
    return Training("X", "y", rows, codes, Classes(tuple(names), False), left_out=left_out)


def draw_rows(rows: np.ndarray, most: int, seed: int = 0) -> np.ndarray:
    """Return at most `most` of these rows, drawn at random, in their order."""
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of a matrix or a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


# ---- how rows were drawn ----


def name_drawn_column(features: Collection[str]) -> str:
    """Return the name of the column to write, one that no feature has."""
    return next((name for name in DRAWN_COLUMNS if name not in features), DRAWN_COLUMNS[-1] + "_")


def read_ways(path: Path, column: str, texts: list[str], *, must_be: bool) -> np.ndarray | None:
    """Return which rows are drawn at random; None where the column says something else.

    `texts` are its cells, of which an empty one means "at random". With `must_be`, because the user
    named the column, another word is an error.
    """
    for row, words in enumerate(texts):
        if words and words not in WAYS:
            if not must_be:
                return None
            spelled = ", ".join(map(repr, WAYS))
            reason = (
                f"row {row + 1}: {words!r} in column {column!r} does not say how the row was drawn"
            )
            raise fault(
                path, reason, f"Write one of {spelled}, or leave the cell empty (at random)"
            )
    return np.array([words in ("", AT_RANDOM) for words in texts], dtype=bool)


def find_ways(
    path: Path, frame: Any, names: Collection[str], *, must_be: bool
) -> tuple[str | None, np.ndarray | None]:
    """Return the first of these columns that says how rows were drawn, and which are at random."""
    for name in names:
        texts = label_texts(frame[name])
        if any(texts) or must_be:
            at_random = read_ways(path, name, texts, must_be=must_be)
            if at_random is not None:
                return name, at_random
    return None, None


def say_chosen(codes: np.ndarray, at_random: np.ndarray, n_labeled: int | None = None) -> list[str]:
    """Say how many labeled rows, of `n_labeled` where they are a sample, were not at random."""
    n_seen = int((codes >= 0).sum())
    n_chosen = int(((codes >= 0) & ~at_random).sum())
    if not n_chosen:
        return []
    n = counted(n_chosen, "labeled row")
    if n_labeled is not None and n_seen < n_labeled:
        n = f"about {round(n_labeled * n_chosen / n_seen):,} of {counted(n_labeled, 'labeled row')}"
    return [
        f"Not drawn at random: {n}. Such rows are used for training, but not for thresholds and"
        " measurements."
    ]
