"""What a model says about a file of rows: how good it is on the labels there, and which rows to label next.

The model is unsure of a row whose score is near the operating point. The candidates are the rows nearest to it, many
times as many as are wanted. Rows are taken from them one after the other; the next is the one with the largest product
of its doubt and its distance from the rows taken before (Gonzalez 1985), so that near-duplicates of a row that is
already taken come last. The file may have any number of rows; only the candidates are kept in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from semisvm.decision import OperatingPoint, Target, measure
from semisvm.errors import DataError, fault
from semisvm.matrices import stack_rows
from semisvm.tables.classes import label_texts
from semisvm.tables.columns import plain_cell
from semisvm.tables.disk import whole_file
from semisvm.tables.encode import TableEncoder
from semisvm.tables.findings import now, sample_scores
from semisvm.tables.held_out import Merit, judge
from semisvm.tables.methods import Tell, lead_per_class, say_nothing
from semisvm.tables.model import OUTPUTS, Model, read_codes
from semisvm.tables.operating import predict_codes, scores_per_class
from semisvm.tables.read import RowReader
from semisvm.tables.summary import FitSummary, Suggestion
from semisvm.tables.training import BY_DOUBT, DRAWN_COLUMNS, Training, name_drawn_column, read_ways, take_rows

SEEN = "The model seems to be fitted to this very file: these figures are too good. Evaluate on other rows."
N_SUGGESTED = 10  # rows that a report lists
CANDIDATES_PER_ROW = 20
FEWEST_CANDIDATES = 100
MOST_SEARCHED = 20_000  # unlabeled training rows that a report looks through


class AllLabeledError(DataError):
    """A file in which no row is left to label."""


def suggest_rows(
    model: Model, path: str | Path, n: int, *, unlabeled: str | None = None, tell: Tell = say_nothing
) -> list[Suggestion]:
    """Return the n rows of a file most worth labeling, the most doubtful first; labeled rows are skipped."""
    rows = model.open(path)
    names = rows.names
    has_target = names is None or model.target in names
    candidates = _Candidates(n)
    n_rows = 0
    for chunk in rows.chunks():  # cells as they are written: the rows are given back unchanged
        scores = model.score(rows, chunk)  # refuses rows without a score
        X = model.encode(rows, chunk, as_matrix=True)
        is_open = read_codes(model, rows, chunk, unlabeled) < 0 if has_target else np.ones(len(chunk), dtype=bool)
        candidates.look_through(model, X, scores, is_open, chunk.frame, chunk.start)
        n_rows += len(chunk)
        tell("Searching", n_rows, None, "rows")
    if not len(candidates.distance):
        raise AllLabeledError(str(fault(path, "every row has a label", "Give a file with rows that have none")))
    return candidates.spread(n)


def suggest_training_rows(model: Model, training: Training, n: int) -> list[Suggestion]:
    """Return the unlabeled training rows most worth labeling, for the report of a fit."""
    is_open = training.codes < 0
    if not is_open.any():
        return []
    open_rows = np.flatnonzero(is_open)
    if len(open_rows) > MOST_SEARCHED:
        open_rows = np.sort(np.random.default_rng(0).choice(open_rows, MOST_SEARCHED, replace=False))
    rows = take_rows(training.rows, open_rows)
    frame = None if training.columns is None else rows
    candidates = _Candidates(n)
    scores = model.decision_function(rows)
    everything = np.ones(len(open_rows), dtype=bool)
    candidates.look_through(model, model.encoder.transform(rows), scores, everything, frame)
    return [replace(one, row=int(open_rows[one.row - 1]) + 1) for one in candidates.spread(n)]


class _Candidates:
    """The most doubtful rows so far: `where` has their numbers, `distance` their distance to the operating point."""

    def __init__(self, n: int):
        self.size = max(CANDIDATES_PER_ROW * n, FEWEST_CANDIDATES)
        self.where, self.distance = np.empty(0, dtype=np.intp), np.empty(0)
        self.X: Any = None
        self.rows: dict[int, Suggestion] = {}

    def look_through(
        self, model: Model, X: Any, scores: np.ndarray, is_open: np.ndarray, frame: Any, start: int = 0
    ) -> None:
        """Add the most doubtful rows of a chunk; `start` rows of the file come before it."""
        codes, lead = predict_codes(scores), model.lead_of(scores)
        for i in self._add(X, np.where(is_open, np.abs(lead), np.inf), start):
            label = model.classes.names[codes[i]]
            self.rows[start + i] = Suggestion(start + i + 1, float(lead[i]), label, _cells_of(frame, i))

    def _add(self, X: Any, distance: np.ndarray, start: int) -> list[int]:
        """Add the rows of a chunk that belong to the best; return their places in the chunk."""
        best = np.argsort(distance, kind="stable")[: self.size]
        best = best[np.isfinite(distance[best])]
        where = np.concatenate([self.where, start + best])
        everything = np.concatenate([self.distance, distance[best]])
        rows: Any = X[best] if self.X is None else stack_rows([self.X, X[best]])
        kept = np.argsort(everything, kind="stable")[: self.size]
        self.where, self.distance = where[kept], everything[kept]
        self.X = rows[kept]
        known = set(self.where.tolist())
        self.rows = {number: row for number, row in self.rows.items() if number in known}
        return [int(i) for i in best if start + i in known]

    def spread(self, n: int) -> list[Suggestion]:
        """Take one row after the other, doubtful and far from those taken before."""
        weight = 1 - self.distance / max(self.distance.max() * (1 + 1e-9), 1e-300)
        taken = [0]
        nearest = pairwise_distances(self.X, self.X[[0]])[:, 0]
        while len(taken) < min(n, len(self.where)):
            worth = nearest * weight
            worth[taken] = -1.0
            taken.append(int(np.argmax(worth)))
            nearest = np.minimum(nearest, pairwise_distances(self.X, self.X[[taken[-1]]])[:, 0])
        return [self.rows[int(self.where[i])] for i in sorted(taken)]


def write_suggestions(model: Model, found: list[Suggestion], out: str | Path, *, force: bool) -> None:
    """Write the rows with their own columns, how they were drawn, and an empty label cell to fill in for `fit`."""
    import pandas

    if not found or not found[0].values:
        frame = pandas.DataFrame({"row": [one.row for one in found]})
    else:
        frame = pandas.DataFrame([one.values for one in found])
    frame[name_drawn_column(getattr(model.encoder, "names", ()))] = BY_DOUBT
    frame[model.target] = ""
    suffix = check_suffix(out).suffix.lower()
    with whole_file(out, force=force) as unfinished:
        if suffix == ".parquet":
            for column in getattr(model.encoder, "columns", ()):  # cells are text; `fit` expects what it was fitted to
                if column.type == "number" and not column.strays:
                    frame[column.name] = pandas.to_numeric(frame[column.name].replace("", None))
            unfinished.write_bytes(frame.to_parquet(None, index=False))  # as for a file name that is not UTF-8
        else:
            frame.to_csv(unfinished, index=False, sep="\t" if suffix == ".tsv" else ",")


def check_suffix(out: str | Path) -> Path:
    """Return the path of a table to write; a suffix that names no format is an error."""
    out = Path(out)
    if out.suffix.lower() not in OUTPUTS:
        raise fault(out, f"the suffix {out.suffix!r} names no output format", f"Use one of {', '.join(OUTPUTS)}")
    return out


def _cells_of(frame: Any, i: int) -> dict[str, Any]:
    return {} if frame is None else {str(name): plain_cell(cell) for name, cell in frame.iloc[i].items()}


class NoLabelsError(DataError):
    """Rows that can be scored but not judged: no row of some class has a label."""


@dataclass(frozen=True)
class Evaluation:
    """What the labeled rows of a file say.

    rows, unlabeled   labeled rows, which are judged, and unlabeled rows, which are not
    not_at_random     labeled rows that were drawn by doubt or by a campaign: nothing is measured on them
    below_all         rows above the operating point of no class; they are predicted to be of the nearest class
    confusion         (k, k) counts by true class (rows) and predicted class (columns)
    points            the operating point per class; of two classes, of the positive one
    merit             the balanced accuracy
    scores, codes     (n,) or (n, k), and (n,): scores and classes of the labeled rows
    pool, was_seen    scores of the unlabeled rows; whether the model seems to be fitted to this file
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
    was_seen: bool = False

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
    fitted, predicted = model.summary.data, predict_codes(labeled)
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
        was_seen=(fitted.name, fitted.rows, fitted.unlabeled) == (rows.path.name, len(codes), int(is_unlabeled.sum())),
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
    asked = {name: point.target for name, point in model.summary.operating_points.items()}
    return {
        name: measure(own, np.where(true == classes.index(name), 1, -1), 0.0, target=asked.get(name, Target()))
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
            (SEEN + " " if seen.was_seen else "")
            + f"The operating point and the scores are measured on the {seen.rows} labeled rows of {name}"
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
