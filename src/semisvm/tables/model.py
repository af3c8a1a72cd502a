"""TableModel: columns, classifier and summary of one fit; every verb on files is a method of it."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from semisvm import model_files
from semisvm.errors import DataError
from semisvm.tables import fitting
from semisvm.tables.columns import Columns
from semisvm.tables.frame import as_written, chunks, has_no_label, require_columns, row_ids
from semisvm.tables.output import output_file
from semisvm.tables.summary import Interval, Summary

LARGEST_SEED = 2**32 - 1  # of NumPy
ROWS_TO_PREDICT = 5_000  # at once
MOST_SCORES = 1_000  # of rows without a label, for a picture
MOST_STRANGE_LABELS = 3  # named in a message
# What is learned about single training rows has no place in a file that others read.
ABOUT_TRAINING_ROWS = (
    "transduction_",
    "labeled_iter_",
    "clusters_",
    "out_of_fold_scores_",
    "_unlabeled_scores",
)
PREDICTED, SCORE = "predicted", "score"


def _silent(stage: str) -> None:
    """Say nothing about what is being done."""


@dataclass
class TableModel:
    """A classifier of the rows of a table, with what is needed to read other files of such rows.

    Attributes
    ----------
    columns : Columns
        What each column is, and how its cells are read.
    estimator : classifier
        The classifier of rows that were read.
    threshold : float
        The score of the classifier above which rows are accepted.
    summary : Summary
        What the fit found.
    trained_on : list of str
        Digests of the labeled rows, by which `evaluate` knows them.
    left_out_scores, left_out_codes : ndarray of shape (n_labels,)
        Scores of the labeled rows by fits without their labels, and their classes.

    Examples
    --------
    >>> model = TableModel.fit(read("loans.csv"), "default")  # doctest: +SKIP
    >>> model.save("loans.skops")  # doctest: +SKIP
    >>> TableModel.load("loans.skops").predict_file("june.csv", "june-predicted.csv")
    ... # doctest: +SKIP
    """

    columns: Columns
    estimator: Any
    threshold: float
    summary: Summary
    trained_on: list[str]
    left_out_scores: np.ndarray
    left_out_codes: np.ndarray

    # ---- fit ----

    @classmethod
    def fit(
        cls,
        rows: pd.DataFrame,
        target: str,
        *,
        positive: str | None = None,
        unlabeled: str = "",
        drop: Sequence[str] = (),
        types: dict[str, str] | None = None,
        decimal: str | None = None,
        min_precision: float | None = None,
        min_recall: float | None = None,
        costs: dict[str, float] | None = None,
        method: str = "autosvc",
        text_encoder: str | None = None,
        seed: int = 0,
        source: str = "the table",
        say: Callable[[str], None] = _silent,
    ) -> TableModel:
        """Fit rows, labeled or not, to the labels in the column `target`.

        Parameters
        ----------
        rows : DataFrame
            The table, as `read` gives it.
        target : str
            The column of labels; some are empty.
        positive : str, optional
            The class that precision and recall are about.
        unlabeled : str, default=""
            What marks rows without a label, besides empty cells.
        drop : list of str
            Columns to leave out.
        types : dict of {str: str}, optional
            What columns are: "number", "category", "date" or "text".
        decimal : {".", ","}, optional
            The mark before decimals, where the cells don't say it.
        min_precision, min_recall : float, optional
            What the threshold is chosen for; by default for fewest errors.
        costs : dict of {str: float}, optional
            What an error costs on rows of each class.
        method : str, default="autosvc"
            The method; see `fitting.method_names`.
        text_encoder : str, optional
            A sentence encoder for columns of text.
        seed : int, default=0
            Of what is drawn at random.
        source : str
            What messages call the table.
        say : callable
            Called with what is being done.
        """
        start = time.perf_counter()
        if not 0 <= seed <= LARGEST_SEED:
            raise DataError(f"seed must be from 0 to {LARGEST_SEED}; got {seed}.")
        require_columns(rows, [target, *drop], source)
        labels = fitting.read_labels(rows[target], unlabeled, positive, source)
        if len(labels.classes) > 2 and (min_precision or min_recall or positive):
            raise DataError(
                f"{source}: {target!r} has {len(labels.classes)} classes; a positive class, a"
                " precision and a recall are for two."
            )
        say("reading the columns")
        features = rows.drop(columns=[target, *drop])
        columns = fitting.decide_columns(features, types or {}, decimal, source)
        values, _ = fitting.read_values(columns, features, source)
        estimator = fitting.make_method(
            method,
            columns.by_kind(),
            labels.classes,
            costs=costs,
            text_encoder=text_encoder,
            seed=seed,
        )
        is_labeled = labels.codes >= 0
        truth = labels.codes[is_labeled]
        say("fitting the model")
        left_out = fitting.fit(estimator, values, labels.codes, seed, source)
        threshold, is_reached = fitting.place(left_out, truth, min_precision, min_recall)
        left_out = left_out - threshold
        say("comparing it with a supervised SVM")
        gain = fitting.gain_of(values[is_labeled], columns.by_kind(), truth, left_out, seed)
        some: list[float] = []
        if len(labels.classes) == 2 and not is_labeled.all():
            some = estimator.decision_function(values[~is_labeled][:MOST_SCORES]) - threshold
        counts = np.bincount(truth)
        summary = Summary(
            data=source,
            target=target,
            classes=labels.classes,
            positive=labels.positive,
            labels={name: int(n) for name, n in zip(labels.classes, counts, strict=True)},
            n_unlabeled=int((~is_labeled).sum()),
            columns={column.name: column.kind for column in columns.used},
            left_out=columns.left_out,
            remarks=columns.remarks,
            method=method,
            wants=fitting.wanted(min_precision, min_recall),
            is_reached=is_reached,
            figures=fitting.figures_of(left_out, truth),
            gain=gain,
            scores=[round(float(score), 4) for score in some],
            weights=dict(getattr(estimator, "families_", {})),
            seconds=round(time.perf_counter() - start, 2),
            unlabeled=unlabeled,
        )
        used = row_ids(rows.loc[is_labeled, columns.names])
        trained_on = [name.split("-")[0] for name in used]
        return cls(columns, estimator, threshold, summary, trained_on, left_out, truth)

    # ---- the file ----

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Save to a file that runs no code when it is loaded; see `semisvm.save`."""
        return model_files.save(self, path, force=force)

    @classmethod
    def load(cls, path: str | Path) -> TableModel:
        """Load a model that `semisvm fit` wrote; see `semisvm.load`."""
        model = model_files.load(path)
        if not isinstance(model, TableModel):
            raise DataError(
                f"{path}: holds a {type(model).__name__} without the columns of a table. Use it in"
                " Python (semisvm.load)."
            )
        return model

    def to_state(self) -> dict[str, Any]:
        """What a model file holds: everything but what concerns single training rows."""
        estimator = copy(self.estimator)
        for name in ABOUT_TRAINING_ROWS:
            vars(estimator).pop(name, None)
        return {
            "columns": json.dumps(self.columns.as_dict()),
            "summary": json.dumps(self.summary.as_dict()),
            "trained_on": self.trained_on,
            "estimator": estimator,
            "threshold": self.threshold,
            "left_out_scores": self.left_out_scores,
            "left_out_codes": self.left_out_codes,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> TableModel:
        """The model that `to_state` described."""
        columns = Columns.from_dict(json.loads(state.pop("columns")))
        summary = Summary.from_dict(json.loads(state.pop("summary")))
        return cls(columns=columns, summary=summary, **state)

    # ---- use ----

    def scores(self, frame: pd.DataFrame, source: str = "the table") -> np.ndarray:
        """The scores of rows: above 0 is the positive class; one column per class for more."""
        return self._read_and_score(frame, source)[0]

    def _read_and_score(
        self, frame: pd.DataFrame, source: str, first_row: int = 0
    ) -> tuple[np.ndarray, list[str]]:
        values, remarks = fitting.read_values(self.columns, frame, source, first_row)
        return self._score(values), remarks

    def _score(self, values: pd.DataFrame) -> np.ndarray:
        if not len(values):
            n_classes = len(self.summary.classes)
            return np.empty(0) if n_classes == 2 else np.empty((0, n_classes))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(self.estimator.decision_function(values)) - self.threshold

    def probabilities(self, frame: pd.DataFrame, source: str = "the table") -> np.ndarray:
        """How probable each row is positive, for two classes: to plan with, no promise."""
        values, _ = fitting.read_values(self.columns, frame, source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if hasattr(self.estimator, "predict_proba"):
                return np.asarray(self.estimator.predict_proba(values))[:, 1]
            known = LogisticRegression().fit(self.left_out_scores[:, None], self.left_out_codes)
            return np.asarray(known.predict_proba(self._score(values)[:, None]))[:, 1]

    def predict(self, frame: pd.DataFrame, source: str = "the table") -> pd.DataFrame:
        """`predicted` and `score` of each row."""
        return self._predicted(self.scores(frame, source), frame)

    def _predicted(self, scores: np.ndarray, frame: pd.DataFrame) -> pd.DataFrame:
        best = scores if scores.ndim == 1 else scores.max(axis=1)
        names = np.array(self.summary.classes, dtype=object)[_codes(scores)]
        columns = {PREDICTED: names, SCORE: np.round(best, 6)}
        return pd.DataFrame(columns, index=frame.index)

    def predict_file(
        self,
        path: str | Path,
        out: str | Path,
        keep: Sequence[str] = (),
        *,
        force: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, Any]:
        """Predict a file of any length, some rows at a time; return counts and remarks."""
        counts: dict[str, int] = dict.fromkeys(self.summary.classes, 0)
        remarks: list[str] = []
        n_rows = 0
        with output_file(out, force=force) as file:
            for part in chunks(path, ROWS_TO_PREDICT):
                require_columns(part, keep, path)
                kept = part[list(keep)] if keep else part
                clash = [name for name in (PREDICTED, SCORE) if name in kept]
                if clash:
                    raise DataError(
                        f"{path}: has a column {clash[0]!r} already. Name the columns to keep"
                        " (--keep)."
                    )
                scores, told = self._read_and_score(part, str(path), n_rows)
                predicted = self._predicted(scores, part)
                whole = pd.concat([kept, predicted], axis=1)
                whole.to_csv(file, index=False, header=n_rows == 0, lineterminator="\n")
                for name, count in predicted[PREDICTED].value_counts().items():
                    counts[str(name)] += int(count)
                remarks += [f"{path}: from row {n_rows + 1:,} on: {remark}" for remark in told]
                n_rows += len(part)
                if progress:
                    progress(len(part))
        return {"rows": n_rows, "predicted": counts, "remarks": remarks}

    def evaluate(self, frame: pd.DataFrame, source: str = "the table") -> dict[str, Any]:
        """Compare with labeled rows; rows of the fit are left out, because they prove nothing."""
        target = self.summary.target
        require_columns(frame, [target, *self.columns.names], source)
        words = pd.Series(as_written(frame[target]), dtype=object).str.strip().to_numpy()
        has_label = ~has_no_label(frame[target], self.summary.unlabeled).to_numpy()
        strange = sorted(set(words[has_label]) - set(self.summary.classes))
        if strange:
            some = ", ".join(map(repr, strange[:MOST_STRANGE_LABELS]))
            known = ", ".join(self.summary.classes)
            raise DataError(f"{source}: {some} in {target!r}: the classes are {known}.")
        seen = set(self.trained_on)
        is_new = [name.split("-")[0] not in seen for name in row_ids(frame[self.columns.names])]
        use = has_label & np.array(is_new, dtype=bool)
        if not use.any():
            raise DataError(f"{source}: no row has a label that the fit did not use.")
        scores = self.scores(frame[use], source)
        truth = np.array([self.summary.classes.index(word) for word in words[use]])
        hits = int((_codes(scores) == truth).sum())
        right = {"right": Interval.of_share(hits, len(truth))}
        return {
            "rows": int(use.sum()),
            "used in the fit": int((has_label & ~use).sum()),
            "without a label": int((~has_label).sum()),
            "figures": right | fitting.figures_of(scores, truth),
        }


def _codes(scores: np.ndarray) -> np.ndarray:
    return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
