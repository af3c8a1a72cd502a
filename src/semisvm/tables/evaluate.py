"""A model on labels it has never seen: what it gives there, and whether that is what was asked of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.decision import OperatingPoint, Target, measure
from semisvm.errors import DataError, fault
from semisvm.tables.classes import label_texts
from semisvm.tables.drawn import DRAWN_COLUMNS, read_ways
from semisvm.tables.encode import TableEncoder
from semisvm.tables.findings import now, sample_scores
from semisvm.tables.held_out import Merit, judge
from semisvm.tables.methods import Tell, lead_per_class, say_nothing
from semisvm.tables.model import Model, read_codes
from semisvm.tables.operating import predict_codes, scores_per_class
from semisvm.tables.read import RowReader
from semisvm.tables.suggest import N_SUGGESTED, AllLabeledError, suggest_rows
from semisvm.tables.summary import FitSummary


class NoLabelsError(DataError):
    """Rows that can be scored but not judged: no row of some class has a label."""


@dataclass(frozen=True)
class Evaluation:
    """What the labeled rows of a file say.

    Attributes
    ----------
    classes : tuple of str
        The class names.
    rows, unlabeled : int
        Labeled rows, which are judged, and unlabeled rows, which are not.
    not_at_random : int
        Labeled rows that are marked as drawn by doubt or by a campaign: nothing is measured on them.
    below_all : int
        Rows that are above the operating point of no class; they are predicted to be of the nearest class.
    confusion : ndarray of shape (k, k)
        Counts by true class (rows) and predicted class (columns).
    points : dict of {str: OperatingPoint}
        The operating point per class; of two classes, of the positive one.
    merit : Merit
        The balanced accuracy.
    scores, codes : ndarray of shape (n,) or (n, k), and (n,)
        Scores and classes of the labeled rows.
    pool : ndarray
        Scores of the unlabeled rows.
    """

    classes: tuple[str, ...]
    rows: int
    unlabeled: int
    not_at_random: int
    below_all: int
    confusion: np.ndarray
    points: dict[str, OperatingPoint]
    merit: Merit
    scores: np.ndarray
    codes: np.ndarray
    pool: np.ndarray

    @property
    def reached(self) -> bool:
        return all(point.reached for point in self.points.values())

    @property
    def accuracy(self) -> float:
        return float(np.trace(self.confusion) / self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Return the result, except for the scores, as plain values."""
        return {
            "rows": self.rows,
            "unlabeled": self.unlabeled,
            "not_at_random": self.not_at_random,
            "below_all": self.below_all,
            "classes": list(self.classes),
            "accuracy": self.accuracy,
            "balanced_accuracy": self.merit.estimate()._asdict(),
            "confusion": self.confusion.tolist(),
            "operating_points": {name: point.as_dict() for name, point in self.points.items()},
            "reached": self.reached,
        }


def evaluate_file(
    model: Model, path: str | Path, *, unlabeled: str | None = None, tell: Tell = say_nothing
) -> Evaluation:
    """Score the rows of a file and judge the labeled ones; `unlabeled` marks rows without a label."""
    rows = model.open(path)
    also: tuple[str, ...] = ()
    if isinstance(model.encoder, TableEncoder):
        try:
            also = (rows.require(model.target),)
        except DataError as error:
            raise NoLabelsError(str(error)) from None
    way = _drawn_column(model, rows)
    also += () if way is None else (way,)
    scores, codes, ways = [], [], []
    n_rows = 0
    for chunk in model.chunks(rows, also):
        if way is not None and chunk.frame is not None:
            ways += list(label_texts(chunk.frame[way]))
        codes.append(read_codes(model, rows, chunk, unlabeled))
        scores.append(model.score(rows, chunk))
        n_rows += len(chunk)
        tell("Evaluating", n_rows, None, "rows")
    at_random = None if way is None else read_ways(rows.path, way, ways, must_be=False)
    return _evaluate(model, rows, np.concatenate(scores), np.concatenate(codes), at_random)


def _drawn_column(model: Model, rows: RowReader) -> str | None:
    """The column of a file that may say how its rows were drawn: no feature of the model, and not the target."""
    used = {model.target, *(model.encoder.names if isinstance(model.encoder, TableEncoder) else ())}
    return next((name for name in DRAWN_COLUMNS if rows.names and name in rows.names and name not in used), None)


def _evaluate(
    model: Model, rows: RowReader, scores: np.ndarray, codes: np.ndarray, at_random: np.ndarray | None
) -> Evaluation:
    classes = model.classes.names
    is_unlabeled = codes < 0
    is_labeled = ~is_unlabeled if at_random is None else ~is_unlabeled & at_random
    missing = [name for code, name in enumerate(classes) if not (codes[is_labeled] == code).any()]
    if missing:
        where = f"column {model.target!r}" if rows.names is not None else "the file"
        counted = f"{int(is_labeled.sum())} labeled rows" + (", drawn at random" if at_random is not None else "")
        reason = f"no row of class {missing[0]!r} is labeled in {where} ({counted})"
        raise NoLabelsError(str(fault(rows.path, reason, "Evaluate on rows that have labels of every class")))
    labeled, true = scores[is_labeled], codes[is_labeled]
    predicted = predict_codes(labeled)
    confusion = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(confusion, (true, predicted), 1)
    return Evaluation(
        classes=classes,
        rows=int(is_labeled.sum()),
        unlabeled=int(is_unlabeled.sum()),
        not_at_random=int((~is_unlabeled & ~is_labeled).sum()),
        below_all=int((model.lead_of(labeled) < 0).sum()) if scores.ndim > 1 else 0,
        confusion=confusion,
        points=_points(model, labeled, predicted, true),
        merit=judge(predicted, true, classes),
        scores=labeled,
        codes=true,
        pool=scores[is_unlabeled],
    )


def _points(model: Model, scores: np.ndarray, predicted: np.ndarray, true: np.ndarray) -> dict[str, OperatingPoint]:
    """Return the operating point per class, judged by what was asked of the model when it was fitted."""
    classes = model.classes.names
    if scores.ndim == 1:
        per_class = {classes[1]: scores}
    elif model.has_class_thresholds:  # the target applies to the rows above a class's own threshold
        per_class = dict(zip(classes, scores.T, strict=True))
    else:
        is_predicted = np.where(np.eye(len(classes), dtype=bool)[predicted], 1.0, -1.0)
        per_class = dict(zip(classes, (is_predicted * np.abs(lead_per_class(scores))).T, strict=True))
    asked = model.summary.operating_points
    return {
        name: measure(
            own,
            np.where(true == classes.index(name), 1, -1),
            0.0,
            target=asked[name].target if name in asked else Target(),
        )
        for name, own in per_class.items()
    }


def summary_on(
    model: Model, path: str | Path | None, *, unlabeled: str | None = None, tell: Tell = say_nothing
) -> FitSummary:
    """Return the model's summary with what a file of rows adds: measures on its labels, rows of it to label next."""
    summary = model.summary
    if path is None:
        return summary
    name, notes = Path(path).name, summary.notes
    try:
        seen = evaluate_file(model, path, unlabeled=unlabeled, tell=tell)
    except NoLabelsError as error:
        notes = (*notes, f"The operating point is that of the fit, not of {name}: {error}")
    else:
        columns = lead_per_class(seen.pool) if len(seen.pool) else np.empty((0, len(seen.points)))
        # the threshold has been subtracted from these scores, so it is 0 here
        scores = {
            one: sample_scores(own, sign, "empirical", columns[:, k])
            for k, (one, own, sign) in enumerate(scores_per_class(seen.scores, seen.codes, seen.classes))
        }
        summary = replace(summary, operating_points=seen.points, scores=scores)
        notes = (
            f"The operating point and the scores are measured on the {seen.rows} labeled rows of {name}"
            + (f" ({seen.not_at_random} more were not drawn at random)" if seen.not_at_random else "")
            + "; the audit, the method and the model card are those of the fit.",
            *(f"About the fit: {note}" for note in notes),
        )
    try:
        suggestions = tuple(suggest_rows(model, path, N_SUGGESTED, unlabeled=unlabeled, tell=tell))
    except AllLabeledError:
        suggestions = ()
    title = f"{model.target} in {name}, by a model of {summary.data.name}"
    return replace(summary, title=title, created=now(), notes=notes, suggestions=suggestions)
