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
from semisvm.campaign.verdict import say_next_step
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

    `n_labels` are answers in all, `n_more` about how many the next certificate takes (None where
    none is in sight); `sentence` says what is proved, `reason` at length.
    """

    n_labels: int
    n_more: int | None
    is_certified: bool
    can_undo: bool
    sentence: str
    reason: str


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

    Attributes
    ----------
    names : dict
        The name of each class as people read it, {name: label}.
    keys : dict
        The key of each class, {key: name}: its own name where all are keys, such as 0 and 1.
        Classes beyond the keys have none.
    failure : Exception or None
        Why an answer could not be saved: the session is over then.
    is_stopped : bool
        Whether the person has ended it on the page.
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
        self._postponed: list[int] = []
        labels = [0, 1] if campaign.classes is None else campaign.classes
        self.names = {str(label): label for label in labels}
        self.keys = dict(zip(KEYS, self.names, strict=False))
        if all(name in ("0", *KEYS) for name in self.names):
            self.keys = {name: name for name in self.names}
        self.failure: Exception | None = None
        self.is_stopped = False
        first = list(dict.fromkeys([*campaign.draw(READ_AHEAD), *range(min(10, campaign.n_rows))]))
        rows = read_cells(first)
        self._cells = dict(zip(first, rows, strict=True))
        self.view = RowView(rows, show=show, image=image, folder=folder)

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
        if name is not None and name not in list(self.names):
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
        said = [f"{counted(verdict.n_labels, 'label')}."]
        if verdict.certified:
            accepted = f"{verdict.n_accepted:,} of {counted(self.campaign.n_in_play, 'row')}"
            said.append(f"Certified: {self.campaign.target} for {accepted}.")
            said.append(say_next_step(verdict))
        else:
            next_step = say_next_step(verdict, "the first certificate")
            said.append(next_step or "No certificate is in sight.")
        return LabelProgress(
            n_labels=verdict.n_labels,
            n_more=verdict.forecast,
            is_certified=verdict.certified,
            can_undo=bool(self.campaign.answers),
            sentence=" ".join(filter(None, said)),
            reason=verdict.reason,
        )

    def act(self, request: dict[str, Any]) -> None:
        """Do what the page asks for: {"do": "answer" | "later" | "undo" | "stop", "place": ...,
        "label": ...}; ValueError if it makes no sense.
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
        elif action == "stop":
            self.is_stopped = True
        else:
            raise ValueError(f"There is nothing to do for {action!r}.")

    def page(self) -> dict[str, Any]:
        """Return what the page shows, as plain JSON values: no score and no prediction."""
        row = self.row()
        shown = None
        if row is not None:
            names = ("name", "kind", "value", "is_extra")
            cells = [{name: getattr(cell, name) for name in names} for cell in self.shown(row)]
            shown = {"place": row.place, "number": row.number, "cells": cells}
        keys = {name: key for key, name in self.keys.items()}
        saved = "Answers are kept in the campaign, and in no file."
        if self.state is not None:
            saved = f"Every answer is saved in {self.state.name}."
        positive = self.campaign.pos_label
        if positive is None:
            positive = 1 if self.campaign.classes is None else "right labels"
        return {
            "source": self.source,
            "target": str(self.campaign.target),
            "positive": str(positive),
            "classes": [{"name": name, "key": keys.get(name)} for name in self.names],
            "row": shown,
            "saved": saved,
            "progress": asdict(self.progress()),
            "stopped": str(self.failure or "") or self.is_stopped,
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
            raise ValueError("This row is no longer the current one: reload the page.")
