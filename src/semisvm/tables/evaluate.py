"""Evaluation of a model on labeled rows of a file or in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from semisvm.decision import Evidence, OperatingPoint, Target, measure
from semisvm.decision.audit import judge
from semisvm.errors import MOST_NAMES_SHOWN, DataError, counted, fault, suggest
from semisvm.estimators import METHODS
from semisvm.labels import encode
from semisvm.tables.classes import Classes, label_texts
from semisvm.tables.methods import Tell, lead_per_class, say_nothing, say_weights, score_rows
from semisvm.tables.model import Model, read_codes
from semisvm.tables.operating import predict_codes, scores_per_class
from semisvm.tables.sentences import SEEN
from semisvm.tables.summary import (
    FitSummary,
    MethodSummary,
    ScoreSample,
    now,
    sample_scores,
    summarize,
)
from semisvm.tables.training import DRAWN_COLUMNS, Training, read_ways

ABOUT_THE_FIT = "About the fit: "
MEASURED_ON_GIVEN_ROWS = (
    "Measured on the given rows. On the rows that it was fitted to, every model looks good."
)


class NoLabelsError(DataError):
    """Rows that can't be evaluated, because some class has no labeled row."""


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a model on labeled rows."""

    classes: tuple[str, ...]
    scores: np.ndarray  # (n,) or (n, k), of the labeled rows, which are judged
    codes: np.ndarray  # (n,) their classes
    pool: np.ndarray  # scores of the unlabeled rows
    targets: Mapping[str, Target]  # the targets of the classes
    # whether the targets are about rows above the class's own threshold, or those with its label
    by_class: bool
    # labeled rows that were drawn by doubt or by a campaign: nothing is measured on them
    not_at_random: int = 0
    # of a model of positives only: labels that count as its negative class, and their rows
    as_negative: Mapping[str, int] = field(default_factory=dict)
    was_seen: bool = False  # whether the model seems to be fitted to this file

    @property
    def predicted(self) -> np.ndarray:
        return predict_codes(self.scores)

    @property
    def below_all(self) -> int:
        """Rows above the threshold of no class; they get the label of the nearest class."""
        if not self.by_class or self.scores.ndim == 1:
            return 0
        return int((self.scores.max(axis=1) < 0).sum())

    @property
    def confusion(self) -> np.ndarray:
        """(k, k) counts by true class (rows) and predicted class (columns)."""
        return confusion_matrix(self.codes, self.predicted, labels=range(len(self.classes)))

    @cached_property
    def points(self) -> dict[str, OperatingPoint]:
        """The operating point per class, of two classes that of the second."""
        scores = lead_per_class(self.scores)
        if self.by_class and self.scores.ndim > 1:
            scores = self.scores
        first = len(self.classes) - scores.shape[1]
        return {
            name: measure(
                scores[:, k],
                np.where(self.codes == first + k, 1, -1),
                0.0,
                target=self.targets.get(name, Target()),
            )
            for k, name in enumerate(self.classes[first:])
        }

    @property
    def samples(self) -> dict[str, ScoreSample]:
        """Scores of labeled and unlabeled rows per class, measured from the threshold."""
        columns = lead_per_class(self.pool)
        per_class = scores_per_class(self.scores, self.codes, self.classes)
        return {
            name: sample_scores(scores, sign, Evidence.EMPIRICAL, columns[:, k])
            for k, (name, scores, sign) in enumerate(per_class)
        }

    @property
    def reached(self) -> bool:
        return all(point.reached for point in self.points.values())

    @property
    def accuracy(self) -> float:
        return float(np.mean(self.predicted == self.codes))

    def as_dict(self) -> dict[str, Any]:
        """Return the result, except for the scores, as plain values."""
        merit = judge(self.predicted, self.codes, self.classes)
        return {
            "rows": len(self.codes),
            "unlabeled": len(self.pool),
            "not_at_random": self.not_at_random,
            "as_negative": self.as_negative,
            "below_all": self.below_all,
            "classes": list(self.classes),
            "accuracy": self.accuracy,
            "balanced_accuracy": merit.estimate()._asdict(),
            "confusion": self.confusion.tolist(),
            "operating_points": {name: point.as_dict() for name, point in self.points.items()},
            "reached": self.reached,
        }


def evaluate_file(
    model: Model, path: str | Path, *, unlabeled: str | None = None, tell: Tell = say_nothing
) -> Evaluation:
    """Score the rows of a file and judge the labeled ones."""
    rows = model.open(path)
    try:
        also: tuple[str, ...] = (rows.require(model.target),)
    except DataError as error:
        raise NoLabelsError(str(error)) from None
    used = {model.target, *model.names}
    way = next((name for name in DRAWN_COLUMNS if name in rows.names and name not in used), None)
    also += () if way is None else (way,)
    parts = []
    ways: list[str] = []
    others: Counter[str] = Counter()
    n_rows = 0
    for chunk in model.chunks(rows, also):
        if way is not None:
            ways += label_texts(chunk.frame[way])
        parts.append((read_codes(model, chunk, unlabeled, others), model.score(chunk)))
        n_rows += len(chunk)
        tell("Evaluating", n_rows, None, "rows")
    codes, scores = (np.concatenate(values) for values in zip(*parts, strict=True))
    at_random = None if way is None else read_ways(rows.path, way, ways, must_be=False)
    classes = model.classes.names
    is_unlabeled = codes < 0
    is_labeled = ~is_unlabeled if at_random is None else ~is_unlabeled & at_random
    true = codes[is_labeled]
    missing = [name for code, name in enumerate(classes) if not (true == code).any()]
    if missing:
        drawn = "" if at_random is None else ", drawn at random"
        n_labeled = f"{counted(len(true), 'labeled row')}{drawn}"
        reason = (
            f"no row of class {missing[0]!r} is labeled in column {model.target!r} ({n_labeled})"
        )
        remedy = "Evaluate on rows that have labels of every class"
        if model.has_positives_only and missing[0] == classes[0]:
            remedy += f"; any label but {classes[1]!r} counts as {classes[0]!r}"
        raise NoLabelsError(str(fault(rows.path, reason, remedy)))
    fitted = model.summary.data
    return Evaluation(
        classes,
        scores[is_labeled],
        true,
        scores[is_unlabeled],
        _targets(model),
        model.has_class_thresholds,
        not_at_random=int((~is_unlabeled & ~is_labeled).sum()),
        as_negative=dict(others.most_common()),
        was_seen=(fitted.name, fitted.rows, fitted.unlabeled)
        == (rows.path.name, len(codes), int(is_unlabeled.sum())),
    )


def _targets(model: Any) -> dict[str, Target]:
    """The target of each class; without labels of negatives that is a recall, or nothing."""
    points = getattr(model, "operating_points_", None) or {}
    if isinstance(model, Model):
        points = model.summary.operating_points
    return {
        str(name): point.target
        if point.positive_unlabeled is None
        else Target(min_recall=point.target.min_recall)
        for name, point in points.items()
        if point is not None
    }


def say_as_negative(classes: Sequence[str], others: Mapping[str, int]) -> list[str]:
    """Say which labels count as negatives of a model of positives only."""
    if not others:
        return []
    negative, positive = classes
    named = [
        f"{name!r} ({counted(n, 'row')})" for name, n in list(others.items())[:MOST_NAMES_SHOWN]
    ]
    named += [f"and {len(others) - len(named):,} more"] if len(others) > len(named) else []
    return [f"Labels other than {positive!r} count as {negative!r}: {', '.join(named)}."]


def summary_on(
    model: Model, path: str | Path | None, *, unlabeled: str | None = None, tell: Tell = say_nothing
) -> FitSummary:
    """Return the model's summary with measures on a file's labels."""
    summary = model.summary
    if path is None:
        return summary
    name = Path(path).name
    notes = summary.notes
    try:
        seen = evaluate_file(model, path, unlabeled=unlabeled, tell=tell)
    except NoLabelsError as error:
        notes = (*notes, f"The operating point is that of the fit, not of {name}: {error}")
    else:
        summary = replace(summary, operating_points=seen.points, scores=seen.samples, chances={})
        others = ""
        if seen.not_at_random:
            others = f" (not on {seen.not_at_random:,} more that were not drawn at random)"
        measured = (
            f"{SEEN + ' ' if seen.was_seen else ''}The operating point and the scores are measured"
            f" on the {len(seen.codes)} labeled rows of {name}{others}; the audit, the method and"
            " the model card are those of the fit."
        )
        said = say_as_negative(seen.classes, seen.as_negative)
        notes = (measured, *said, *(f"{ABOUT_THE_FIT}{note}" for note in notes))
    title = f"{model.target} in {name}, by a model of {summary.data.name}"
    return replace(summary, title=title, created=now(), notes=notes)


# ---- rows in memory ----


def summarize_estimator(model: Any, X: Any, y: Any, *, unlabeled: Any = -1) -> FitSummary:
    """Return what labeled rows say of a fitted classifier or `Model`, as a report shows it."""
    labels = encode(y, unlabeled=unlabeled, n_rows=X.shape[0] if hasattr(X, "shape") else len(X))
    is_table = isinstance(model, Model)
    known = [str(label) for label in (model.classes.names if is_table else model.classes_)]
    names_in_y = [str(label) for label in labels.classes]
    class_name = type(model.estimator if is_table else model).__name__
    method = next((method for method in METHODS if method.class_name == class_name), None)
    strange = {
        name: int((labels.codes == k).sum())
        for k, name in enumerate(names_in_y)
        if name not in known
    }
    if strange and not (method is not None and method.for_one_class and _has_positives_only(model)):
        name = next(iter(strange))
        raise DataError(
            f"y holds the label {name!r}, which is not a class of the model."
            f" {suggest(name, known)}."
        )
    place = np.array([known.index(name) if name in known else 0 for name in names_in_y])
    codes = np.where(labels.is_labeled, place[labels.codes], -1)
    scores = model.decision_function(X) if is_table else score_rows(model, X)
    labeled = scores[codes >= 0]
    true = codes[codes >= 0]
    if missing := [name for code, name in enumerate(known) if not (true == code).any()]:
        raise DataError(
            f"No row of class {missing[0]!r} has a label: give rows with labels of every class."
        )
    fitted = model.estimator if is_table else model[-1] if hasattr(model, "steps") else model
    audits = model.summary.audits if is_table else getattr(fitted, "audits_", None) or {}
    by_class = is_table and model.has_class_thresholds
    targets = _targets(model if is_table else fitted)
    seen = Evaluation(tuple(known), labeled, true, scores[codes < 0], targets, by_class)
    names = (method.name, method.paper_name) if method else (class_name, "")
    classes = Classes(tuple(known), False)
    training = Training("X", str(getattr(y, "name", None) or "y"), X, codes, classes)
    summary = summarize(
        training,
        MethodSummary(*names, "It was given.", _plain(model)),
        fitted,
        operating_points=seen.points,
        audits={str(name): dict(steps) for name, steps in audits.items() if steps is not None},
        scores=seen.samples,
        notes=(MEASURED_ON_GIVEN_ROWS, *say_as_negative(known, strange), *say_weights(fitted)),
    )
    return replace(summary, title=f"{class_name} on {len(true):,} labeled rows")


def _has_positives_only(model: Any) -> bool:
    """Whether a model was fitted without labels and name of negatives, so that any other label is
    theirs.
    """
    if isinstance(model, Model):
        return True
    names_negatives = getattr(model, "negative", None) is not None
    is_negative = np.asarray(getattr(model, "transduction_", ())) == model.classes_[0]
    return (
        not names_negatives
        and not (is_negative & (np.asarray(getattr(model, "labeled_iter_", ())) == 0)).any()
    )


def _plain(model: Any) -> dict[str, Any]:
    """The constructor's parameters that are numbers or words."""
    values = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return {
        name: value for name, value in values.items() if isinstance(value, bool | int | float | str)
    }
