"""A campaign answered by a person, one row at a time: in a terminal, on a page, in a notebook.

A session shows the rows of a campaign in its random order, each with its cells and nothing else: no
score and no prediction, so that the person is not led. Every answer is saved at once, so a session
may end at any moment and go on later.

    cells      how the cells of a row are shown: pictures, texts, links, values
    terminal   keys in a terminal
    rows       rows in memory: data frames, arrays, lists of texts
    page       what the page of `semisvm label --web` and the widget consist of
    widget     the same page inside a notebook: `Campaign.label`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.campaign.labeling.cells import RowView, ShownCell
from semisvm.errors import counted

if TYPE_CHECKING:
    from semisvm.campaign.campaign import Campaign

READ_AHEAD = 50  # rows whose cells are read at once
KEYS = "123456789abcdefghijkmnoprstvwxyz"  # of the classes; l, q and u are later, quit and undo
CellReader = Callable[[Sequence[int]], list[dict[str, Any]]]


@dataclass(frozen=True)
class RowToLabel:
    """A row to ask about: its place in the pool, its number for people (from 1), and its cells."""

    place: int
    number: int
    cells: dict[str, Any]


@dataclass(frozen=True)
class LabelProgress:
    """How far a session is.

    `n_labels` are answers in all, `n_unknown` those of "don't know", `n_more` about how many the
    next certificate takes (None where none is in sight); `sentence` says what is proved.
    """

    n_labels: int
    n_unknown: int
    n_corrections: int
    n_more: int | None
    is_certified: bool
    can_undo: bool
    sentence: str
    reason: str


class StaleRowError(ValueError):
    """An answer for a row that is not the one being asked about, such as a second click on a
    button.
    """


class LabelSession:
    """A campaign, answered one row at a time.

    Parameters
    ----------
    campaign : Campaign
        The campaign.
    read_cells : callable
        Returns {column: cell} for each of some places in the pool.
    source : str, default="the pool"
        What the rows are called: the name of their file.
    numbers : array of int, optional
        The number of each row for people, from 0; by default its place in the pool.
    state : path, optional
        The campaign's file, which is written after every answer.
    show, image, folder : optional
        See `RowView`.
    """

    def __init__(
        self,
        campaign: Campaign,
        read_cells: CellReader,
        *,
        source: str = "the pool",
        numbers: Sequence[int] | np.ndarray | None = None,
        state: str | Path | None = None,
        show: Sequence[str] = (),
        image: str | None = None,
        folder: str | Path | None = None,
    ):
        self.campaign = campaign
        self.source = source
        self.state = None if state is None else Path(state)
        self._read_cells = read_cells
        self._numbers = np.arange(campaign.n_rows) if numbers is None else np.asarray(numbers)
        self._cells: dict[int, dict[str, Any]] = {}
        self._postponed: list[int] = []
        # why an answer could not be saved: the session is over then
        self.failure: Exception | None = None
        first = list(dict.fromkeys([*campaign.draw(READ_AHEAD), *range(min(10, campaign.n_rows))]))
        rows = read_cells(first)
        self._cells = dict(zip(first, rows, strict=True))
        self.view = RowView(rows, show=show, image=image, folder=folder)

    @property
    def classes(self) -> list[Any]:
        """The labels that may be answered: the classes, or 0 and 1."""
        return [0, 1] if self.campaign.classes is None else list(self.campaign.classes)

    @property
    def names(self) -> dict[str, Any]:
        """The name of each class as people read it, {name: label}."""
        return {str(label): label for label in self.classes}

    @property
    def keys(self) -> dict[str, str]:
        """The key of each class, {key: name}; classes beyond the keys have none.

        Classes that are keys themselves, such as 0 and 1, have their own.
        """
        if all(name in ("0", *KEYS) for name in self.names):
            return {name: name for name in self.names}
        return dict(zip(KEYS, self.names, strict=False))

    def row(self) -> RowToLabel | None:
        """Return the row to ask about; None when there is nothing left to ask."""
        drawn = self.campaign.draw(len(self._postponed) + 1)
        if not drawn:
            return None
        place = next((row for row in drawn if row not in self._postponed), None)
        if place is None:  # every row left was postponed: they come round again
            self._postponed = []
            place = drawn[0]
        if place not in self._cells:
            ahead = list(dict.fromkeys([place, *self.campaign.draw(READ_AHEAD)]))
            self._cells = dict(zip(ahead, self._read_cells(ahead), strict=True))
        return RowToLabel(place, int(self._numbers[place]) + 1, self._cells[place])

    def shown(self, row: RowToLabel) -> list[ShownCell]:
        """Return the cells of a row as a person sees them."""
        return self.view.cells(row.cells)

    def answer(self, place: int, name: str | None) -> None:
        """Answer the row that is asked about, and save.

        Parameters
        ----------
        place : int
            The place of that row; an answer for another one is rejected.
        name : str or None
            The name of a class; None for "don't know".
        """
        self._require_asked(place)
        if name is not None and name not in self.names:
            raise ValueError(f"{name!r} is none of the classes {', '.join(self.names)}.")
        self.campaign.tell(place, None if name is None else self.names[name])
        self._save()

    def postpone(self, place: int) -> None:
        """Ask about another row first. The row stays in its place of the random order and comes
        back.
        """
        self._require_asked(place)
        self._postponed.append(place)

    def undo(self) -> bool:
        """Withdraw the last answer, of this session or of one before, and ask again; False if
        there is none.
        """
        if not self.campaign.answers:
            return False
        self.campaign.withdraw(next(reversed(self.campaign.answers)))
        self._save()
        self._postponed = []
        return True

    def progress(self) -> LabelProgress:
        """Return how far the campaign is."""
        verdict = self.campaign.verdict()
        n_more = verdict.forecast
        more = "" if n_more is None else f"About {n_more:,} more"
        sentence = f"{counted(verdict.n_labels, 'label')}."
        if verdict.certified:
            accepted = f"{verdict.n_accepted:,} of {counted(self.campaign.n_in_play, 'row')}"
            sentence += f" Certified: {self.campaign.target} for {accepted}."
            next_set = "the next step"
            if verdict.next_accepted is not None:
                next_set = f"a set of {counted(verdict.next_accepted, 'row')}"
            sentence += f" {more} for {next_set}." if more else ""
        else:
            sentence += (
                f" {more} for the first certificate." if more else " No certificate is in sight."
            )
        return LabelProgress(
            n_labels=verdict.n_labels,
            n_unknown=sum(label is None for label in self.campaign.labels.values()),
            n_corrections=verdict.n_corrections,
            n_more=n_more,
            is_certified=verdict.certified,
            can_undo=bool(self.campaign.answers),
            sentence=sentence,
            reason=verdict.reason,
        )

    def act(self, request: dict[str, Any]) -> None:
        """Do what the page asks for: {"do": "answer" | "later" | "undo", "place": ..., "label":
        ...}; ValueError if it makes no sense.
        """
        action = request.get("do")
        place: Any = request.get("place")
        if action in ("answer", "later") and type(place) is not int:
            raise ValueError("The row that the request is about is missing.")
        if action == "answer":
            self.answer(place, request.get("label"))
        elif action == "later":
            self.postpone(place)
        elif action == "undo":
            self.undo()
        else:
            raise ValueError(f"There is nothing to do for {action!r}.")

    def page(self) -> dict[str, Any]:
        """Return what the page shows, as plain JSON values: no score and no prediction."""
        row = self.row()
        shown = None
        if row is not None:
            cells = [cell.as_dict() for cell in self.shown(row)]
            shown = {"place": row.place, "number": row.number, "cells": cells}
        keys = {name: key for key, name in self.keys.items()}
        return {
            "source": self.source,
            "target": str(self.campaign.target),
            "positive": "1" if self.campaign.classes is None else str(self.campaign.pos_label),
            "classes": [{"name": name, "key": keys.get(name)} for name in self.names],
            "row": shown,
            "saved": "Answers are kept in the campaign, and in no file."
            if self.state is None
            else f"Every answer is saved in {self.state.name}.",
            "progress": asdict(self.progress()),
            "stopped": str(self.failure or "") or False,  # why, where it is not by request
        }

    def _save(self) -> None:
        if self.state is None:
            return
        try:
            self.campaign.save(self.state)
        except (OSError, ValueError) as error:
            self.failure = error
            raise

    def _require_asked(self, place: int) -> None:
        row = self.row()
        if row is None or row.place != place:
            raise StaleRowError("This row is not the one that is asked about now.")
