"""A model held against labels it has never seen: what it gives there, and whether that is what was asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.decision import OperatingPoint, Target, measure
from semisvm.errors import fault, suggest
from semisvm.estimators.registry import find_method
from semisvm.tables.classes import label_texts, unmark
from semisvm.tables.encode import TableEncoder
from semisvm.tables.facts import by_class
from semisvm.tables.merit import Merit, judge
from semisvm.tables.methods import margins
from semisvm.tables.model import Model
from semisvm.tables.progress import Tell, say_nothing
from semisvm.tables.read import Chunk, RowReader
from semisvm.tables.training import LIBSVM_MARK


@dataclass(frozen=True)
class Evaluation:
    """What the labeled rows of a file say: `confusion` (k, k) has true classes in rows, predicted ones in columns.

    `below_all` counts the rows that no class of several accepts; they are predicted to be of the nearest one.
    """

    names: tuple[str, ...]
    rows: int
    unlabeled: int
    below_all: int
    confusion: np.ndarray
    points: dict[int, OperatingPoint]
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
        """The whole as plain JSON values."""
        points = {code: point.as_dict() for code, point in self.points.items()}
        return {
            "rows": self.rows,
            "unlabeled": self.unlabeled,
            "below_all": self.below_all,
            "classes": list(self.names),
            "accuracy": self.accuracy,
            "balanced_accuracy": self.merit.estimate()._asdict(),
            "confusion": self.confusion.tolist(),
            "operating_point": by_class(points, self.names),
            "reached": self.reached,
        }


def evaluate_file(
    model: Model, path: str | Path, *, unlabeled: str | None = None, tell: Tell = say_nothing
) -> Evaluation:
    """Score the labeled rows of a file; those without a label are counted and scored, not judged."""
    rows = model.open(path)
    also: tuple[str, ...] = ()
    if isinstance(model.encoder, TableEncoder):
        also = (rows.require(model.target),)
    scores, codes = [], []
    n_rows = 0
    for chunk in model.chunks(rows, also):
        codes.append(read_codes(model, rows, chunk, unlabeled))
        scores.append(model.scores_of(model.encode(rows, chunk)))
        n_rows += len(chunk)
        tell("Evaluating", n_rows, None, "rows")
    return _judge(model, rows, np.concatenate(scores), np.concatenate(codes))


def read_codes(model: Model, rows: RowReader, chunk: Chunk, unlabeled: str | None) -> np.ndarray:
    """Return the class codes of a chunk, -1 where there is no label; a label that is no class is a fault."""
    cells = chunk.y if chunk.frame is None else chunk.frame[model.target]
    if unlabeled is None and sparse.issparse(chunk.X) and LIBSVM_MARK not in model.classes.names:
        unlabeled = LIBSVM_MARK
    texts = unmark(label_texts(cells), unlabeled)
    codes = model.classes.codes_of(texts)
    strange = np.flatnonzero(codes == -2)
    if len(strange):
        label, row = texts[strange[0]], chunk.start + int(strange[0]) + 1
        reason = f"row {row}: the label {label!r} is no class of the model"
        remedy = f"{suggest(label, model.classes.names)}. Say --unlabeled {label} if it marks rows without a label"
        raise fault(rows.path, reason, remedy)
    return codes


def _judge(model: Model, rows: RowReader, scores: np.ndarray, codes: np.ndarray) -> Evaluation:
    names = model.classes.names
    labeled = codes >= 0
    missing = [name for code, name in enumerate(names) if not (codes == code).any()]
    if missing:
        where = f"column {model.target!r}" if rows.names is not None else "the file"
        reason = f"no row of class {missing[0]!r} is labeled in {where} ({int(labeled.sum())} labeled rows)"
        raise fault(rows.path, reason, "Evaluate on rows that have labels of every class")
    predicted, true = model.codes_of(scores[labeled]), codes[labeled]
    confusion = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(confusion, (true, predicted), 1)
    if scores.ndim == 1:
        per_class = {1: scores[labeled]}
    elif find_method(model.method).sets_threshold:
        per_class = dict(enumerate(scores[labeled].T))  # what was asked is of the rows above a class's own threshold
    else:
        chosen = np.where(np.eye(len(names), dtype=bool)[predicted], 1.0, -1.0)
        per_class = dict(enumerate((chosen * np.abs(margins(scores[labeled]))).T))
    points = {
        code: measure(own, np.where(true == code, 1, -1), 0.0, target=target_of(model, code))
        for code, own in per_class.items()
    }
    merit = judge(predicted, true, len(names))
    pool = scores[~labeled]
    return Evaluation(
        names=names,
        rows=int(labeled.sum()),
        unlabeled=int((~labeled).sum()),
        below_all=int((model.lead_of(scores[labeled]) < 0).sum()) if scores.ndim > 1 else 0,
        confusion=confusion,
        points=points,
        merit=merit,
        scores=scores[labeled],
        codes=true,
        pool=pool,
    )


def target_of(model: Model, code: int) -> Target:
    """What was asked of the model when it was fitted."""
    point = model.facts.get("operating_point") or {}
    if "target" not in point:
        point = point.get(model.classes.names[code]) or {}
    asked = dict(point.get("target") or {})
    if "costs" in asked:
        asked["costs"] = tuple(asked["costs"])
    return Target(**asked)
