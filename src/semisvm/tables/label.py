"""Rows for a person to label: those that the model is unsure of, and those of a campaign, one at a
time.

The model is unsure of a row whose score is near the operating point. The candidates are the rows
nearest to it, many times as many as are wanted. Rows are taken from them one after the other; the
next is the one with the largest product of its doubt and its distance from the rows taken before
(Gonzalez 1985), so that near-duplicates of a row that is already taken come last. The file may have
any number of rows; only the candidates are kept in memory.

`open_session` is a campaign on files, answered one row at a time (`semisvm label`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from semisvm.campaign.labeling import LabelSession
from semisvm.columns.cells import Cells, plain_cell, typed_column
from semisvm.disk import whole_file
from semisvm.matrices import stack_rows
from semisvm.tables.certify import file_rows, open_campaign, read_cells, require_data
from semisvm.tables.files import load_table_model
from semisvm.tables.methods import Tell, say_nothing
from semisvm.tables.model import Model, is_unlabeled
from semisvm.tables.operating import predict_codes
from semisvm.tables.predict import check_suffix
from semisvm.tables.training import BY_DOUBT, name_drawn_column

CANDIDATES_PER_ROW = 20
FEWEST_CANDIDATES = 100


@dataclass(frozen=True)
class Suggestion:
    """A row worth labeling: its number (from 1), score, predicted label and cells."""

    row: int
    score: float
    label: str
    values: dict[str, Any]


def suggest_rows(
    model: Model,
    path: str | Path,
    n: int,
    *,
    unlabeled: str | None = None,
    tell: Tell = say_nothing,
) -> list[Suggestion]:
    """Return the n unlabeled rows of a file most worth labeling, the most doubtful first."""
    rows = model.open(path)
    size = max(CANDIDATES_PER_ROW * n, FEWEST_CANDIDATES)
    doubt = np.empty(0)  # the distance of each candidate to the operating point
    X: Any = None
    candidates: list[Suggestion] = []
    n_rows = 0
    for chunk in rows.chunks():  # cells as they are written: the rows are given back unchanged
        scores = model.score(chunk)  # refuses rows without a score
        matrix = model.matrix_of(chunk.frame)
        labels = predict_codes(scores)
        lead = model.lead_of(scores)
        is_open = np.flatnonzero(is_unlabeled(model, chunk, unlabeled))
        best = is_open[np.argsort(np.abs(lead[is_open]), kind="stable")[:size]]
        candidates += [
            Suggestion(
                chunk.start + i + 1,
                float(lead[i]),
                model.classes.names[labels[i]],
                _cells_of(chunk.frame, i),
            )
            for i in best.tolist()
        ]
        doubt = np.concatenate([doubt, np.abs(lead[best])])
        X = matrix[best] if X is None else stack_rows([X, matrix[best]])
        kept = np.argsort(doubt, kind="stable")[:size]
        doubt = doubt[kept]
        X = X[kept]
        candidates = [candidates[k] for k in kept]
        n_rows += len(chunk)
        tell("Searching", n_rows, None, "rows")
    return [candidates[i] for i in _spread(X, doubt, n)]


def _spread(X: Any, doubt: np.ndarray, n: int) -> list[int]:
    """Return n places, doubtful ones and far from those taken before; `doubt` ascends."""
    if not len(doubt):
        return []
    weight = 1 - doubt / max(doubt.max() * (1 + 1e-9), 1e-300)
    taken = [0]
    nearest = pairwise_distances(X, X[[0]])[:, 0]
    while len(taken) < min(n, len(doubt)):
        worth = nearest * weight
        worth[taken] = -1.0
        taken.append(int(np.argmax(worth)))
        nearest = np.minimum(nearest, pairwise_distances(X, X[[taken[-1]]])[:, 0])
    return sorted(taken)


def write_suggestions(
    model: Model, suggestions: list[Suggestion], out: str | Path, *, force: bool
) -> None:
    """Write rows with their columns, how they were drawn, and an empty label cell."""
    import pandas

    frame = pandas.DataFrame([suggestion.values for suggestion in suggestions])
    frame[name_drawn_column(model.names)] = BY_DOUBT
    frame[model.target] = ""
    suffix = check_suffix(out).suffix.lower()
    with whole_file(out, force=force) as unfinished:
        if suffix == ".parquet":
            # cells are text; `fit` expects what it was fitted to
            for column in model.schema.columns:
                if column.type == "number" and not column.strays:
                    cells = Cells(frame[column.name].replace("", None))
                    frame[column.name] = typed_column(column, cells)
            # as bytes, because Arrow opens no file whose name is not UTF-8
            unfinished.write_bytes(frame.to_parquet(None, index=False))
        else:
            frame.to_csv(unfinished, index=False, sep="\t" if suffix == ".tsv" else ",")


def _cells_of(frame: Any, i: int) -> dict[str, Any]:
    return {str(name): plain_cell(cell) for name, cell in frame.iloc[i].items()}


# ---- one row at a time ----


def open_session(
    model_path: str | Path,
    data: str | Path,
    state: str | Path,
    *,
    show: Sequence[str] = (),
    image: str | None = None,
    **options: Any,
) -> LabelSession:
    """Go on with the campaign in the file `state`, or begin one (`open_campaign`)."""
    model = load_table_model(model_path)
    campaign = open_campaign(model_path, data, state, **options)
    require_data(campaign, data)
    numbers = file_rows(campaign)

    def read(places: Sequence[int]) -> list[dict[str, Any]]:
        frame = read_cells(model, data, numbers[list(places)])
        return [_cells_of(frame, i) for i in range(len(frame))]

    session = LabelSession(
        campaign,
        read,
        source=Path(data).name,
        numbers=numbers,
        state=state,
        show=show,
        image=image,
        folder=Path(data).resolve().parent,
    )
    if not Path(state).exists():  # a campaign whose rows can't be shown is not kept
        campaign.save(state)
    return session
