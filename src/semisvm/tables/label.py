"""Rows for a person to label: those that the model is unsure of, and those of a campaign, one at a time.

The model is unsure of a row whose score is near the operating point. The candidates are the rows nearest to it, many
times as many as are wanted. Rows are taken from them one after the other; the next is the one with the largest product
of its doubt and its distance from the rows taken before (Gonzalez 1985), so that near-duplicates of a row that is
already taken come last. The file may have any number of rows; only the candidates are kept in memory.

A session (`semisvm label`, in the terminal or on its local page) shows one row of a campaign after the other, in its
random order, with its cells and nothing else: no score and no prediction, so that the person is not led. Every answer
is saved at once, so a session may end at any moment and go on later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from semisvm.campaign import Campaign
from semisvm.disk import whole_file
from semisvm.errors import DataError, counted, fault
from semisvm.matrices import stack_rows
from semisvm.tables.certify import file_rows, open_campaign, read_cells, require_data
from semisvm.tables.columns import plain_cell
from semisvm.tables.files import load_table_model
from semisvm.tables.methods import Tell, say_nothing
from semisvm.tables.model import Model, read_codes
from semisvm.tables.operating import predict_codes
from semisvm.tables.predict import check_suffix
from semisvm.tables.summary import Suggestion
from semisvm.tables.training import BY_DOUBT, Training, name_drawn_column, take_rows

N_SUGGESTED = 10  # rows that a report lists
CANDIDATES_PER_ROW = 20
FEWEST_CANDIDATES = 100
MOST_SEARCHED = 20_000  # unlabeled training rows that a report looks through
READ_AHEAD = 50  # rows whose cells are read from the file at once
KEYS = "123456789abcdefghijkmnoprstvwxyz"  # of the classes; l, q and u are later, quit and undo


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


def _cells_of(frame: Any, i: int) -> dict[str, Any]:
    return {} if frame is None else {str(name): plain_cell(cell) for name, cell in frame.iloc[i].items()}


# ---- one row at a time ----


@dataclass(frozen=True)
class RowToLabel:
    """A row to ask about: its place in the pool, its number in the file (from 1), and its cells."""

    place: int
    number: int
    cells: dict[str, Any]


@dataclass(frozen=True)
class LabelProgress:
    """How far a session is: answers in all, how many of them "don't know", and what is proved, in a sentence."""

    n_labels: int
    n_unknown: int
    n_corrections: int
    is_certified: bool
    can_undo: bool
    sentence: str
    reason: str


class StaleRowError(ValueError):
    """An answer for a row that is not the one being asked about, such as a second click on a button."""


class LabelSession:
    """A campaign on files, answered one row at a time.

    `state` is its file, which is written after every answer; `data` is where the data file is now, by default where it
    was when the campaign began.
    """

    def __init__(self, campaign: Campaign, state: str | Path, *, data: str | Path | None = None):
        self.campaign, self.state = campaign, Path(state)
        self.data = Path(campaign.about["data"] if data is None else data)
        require_data(campaign, self.data)
        self._model = load_table_model(campaign.about["model"])
        self._numbers = file_rows(campaign)
        self._cells: dict[int, dict[str, Any]] = {}
        self._postponed: list[int] = []
        self.failure: Exception | None = None  # why an answer could not be saved: the session is over then

    @property
    def classes(self) -> list[str]:
        """The class names that may be answered."""
        return list(self.campaign.classes or [])

    @property
    def keys(self) -> dict[str, str]:
        """The key of each class, {key: class}; classes beyond the keys have none."""
        return dict(zip(KEYS, self.classes, strict=False))

    def row(self) -> RowToLabel | None:
        """Return the row to ask about; None when there is nothing left to ask."""
        drawn = self.campaign.draw(len(self._postponed) + 1)
        if not drawn:
            return None
        place = next((one for one in drawn if one not in self._postponed), None)
        if place is None:  # every row left was postponed: they come round again
            self._postponed = []
            place = drawn[0]
        if place not in self._cells:
            ahead = list(dict.fromkeys([place, *self.campaign.draw(READ_AHEAD)]))
            cells = read_cells(self._model, self.data, self._numbers[ahead])
            self._cells = {
                one: {name: plain_cell(cell) for name, cell in own.items()}
                for one, own in zip(ahead, cells, strict=True)
            }
        return RowToLabel(place, int(self._numbers[place]) + 1, self._cells[place])

    def answer(self, place: int, label: str | None) -> None:
        """Answer the row that is asked about, and save; `label` is a class name, or None for "don't know".

        An answer for another `place` than that row's is refused.
        """
        self._require_asked(place)
        self.campaign.tell(place, label)
        self._save()

    def postpone(self, place: int) -> None:
        """Ask about another row first. The row stays in its place of the random order and comes back."""
        self._require_asked(place)
        self._postponed.append(place)

    def undo(self) -> bool:
        """Withdraw the last answer, of this session or of one before, and ask again; False if there is none."""
        if not self.campaign.answers:
            return False
        self.campaign.withdraw(next(reversed(self.campaign.answers)))
        self._save()
        self._postponed = []
        return True

    def progress(self) -> LabelProgress:
        """Return how far the campaign is."""
        verdict = self.campaign.verdict()
        n = verdict.n_labels
        told = f"{counted(n, 'label')}."
        more = "" if verdict.forecast is None else f"bout {verdict.forecast:,} more"
        if verdict.certified:
            n_accepted = verdict.operating_point.sampling.n_accepted  # type: ignore[union-attr]
            accepted = f"{n_accepted:,} of {counted(self.campaign.n_in_play, 'row')}"
            told += f" Certified: {self.campaign.target} for {accepted}."
            told += f" A{more} for the next step." if more else ""
        else:
            told += f" A{more} for the first certificate." if more else " No certificate is in sight."
        unknown = sum(label is None for label in self.campaign.labels.values())
        return LabelProgress(
            n, unknown, verdict.n_corrections, verdict.certified, bool(self.campaign.answers), told, verdict.reason
        )

    def _save(self) -> None:
        try:
            self.campaign.save(self.state)
        except (OSError, ValueError) as error:
            self.failure = error
            raise

    def _require_asked(self, place: int) -> None:
        asked = self.row()
        if asked is None or asked.place != place:
            raise StaleRowError("This row is not the one that is asked about now.")


def open_session(model_path: str | Path, data: str | Path, state: str | Path, **options: Any) -> LabelSession:
    """Go on with the campaign in the file `state`, or begin one: see `open_campaign`, which has the same parameters."""
    return LabelSession(open_campaign(model_path, data, state, **options), state, data=data)
