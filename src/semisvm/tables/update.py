"""Facts of a model -> facts about other rows: what `semisvm report MODEL DATA` draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from semisvm.errors import DataError
from semisvm.tables.evaluate import Evaluation, evaluate_file
from semisvm.tables.facts import by_class, describe_scores, now, plain
from semisvm.tables.methods import margins
from semisvm.tables.model import Model
from semisvm.tables.progress import Tell, say_nothing
from semisvm.tables.suggest import suggest_rows

N_SUGGESTED = 10


def facts_on(
    model: Model, path: str | Path | None, *, unlabeled: str | None = None, tell: Tell = say_nothing
) -> dict[str, Any]:
    """Return the model's facts, with what a file of rows adds: measures on its labels, rows of it to label next."""
    facts = dict(model.facts)
    if path is None:
        return facts
    name, notes = Path(path).name, list(facts.get("notes", []))
    facts["title"] = f"{model.target} in {name}, by a model of {facts.get('data', {}).get('name', 'other rows')}"
    try:
        seen = evaluate_file(model, path, unlabeled=unlabeled, tell=tell)
    except DataError as error:
        notes.append(f"The operating point is that of the fit, not of {name}: {error}")
    else:
        facts |= _measured(model, seen)
        notes = [
            f"Operating point and scores are measured on the {seen.rows} labeled rows of {name}; the audit, the "
            "method and the model card are those of the fit.",
            *(f"Of the fit: {note}" for note in notes),
        ]
    try:
        found = suggest_rows(model, path, N_SUGGESTED, unlabeled=unlabeled, tell=tell)
        facts["suggest"] = [one.as_dict() for one in found]
    except DataError:
        facts["suggest"] = []
    return plain(facts | {"notes": notes, "created": now()})


def _measured(model: Model, seen: Evaluation) -> dict[str, Any]:
    """Operating points and scores on other rows; the scores have the threshold taken off, so it is 0 here."""
    points = {code: point.as_dict() for code, point in seen.points.items()}
    per_class = margins(seen.scores)
    pool = margins(seen.pool) if len(seen.pool) else np.empty((0, per_class.shape[1]))
    scores = {
        code: describe_scores(per_class[:, column], np.where(seen.codes == code, 1, -1), "empirical", pool[:, column])
        for column, code in enumerate(seen.points)
    }
    return {"operating_point": by_class(points, seen.names), "scores": by_class(scores, seen.names)}
