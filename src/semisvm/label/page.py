"""What the page shows and what its buttons do; how it gets there is `server` and `widget`.

page.html, page.js, page.css   shared by the browser, the notebook and (the style) the report
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Sequence
from importlib import resources
from typing import Any

import pandas as pd

from semisvm.errors import DataError
from semisvm.label import words
from semisvm.label.job import MOST_LABELS, LabelingJob
from semisvm.label.session import LabelSession
from semisvm.tables.frame import as_written, require_columns

FIRST_SHOWN = 12  # columns; the others are behind "more columns"


def asset(name: str) -> str:
    """The text of one of the page's files."""
    return resources.files("semisvm.label").joinpath("assets", name).read_text(encoding="utf-8")


class Page:
    """A session as a page: one row, the classes as buttons, and what is proved.

    Attributes
    ----------
    over : threading.Event
        Set when the person stops, or when nothing more can be saved.
    failure : Exception or None
        Why nothing more can be saved.
    """

    def __init__(self, session: LabelSession, show: Sequence[str] = (), image: str | None = None):
        cells = session.pool.cells
        require_columns(cells, show, session.pool.path)
        self.session, self.image = session, image
        # a label by a machine would lead the person
        self.show = list(show) or [str(name) for name in cells if name != session.job.given]
        self.over = threading.Event()
        self.failure: Exception | None = None
        if image:
            picture(cells[self.show].iloc[0], image)  # refuse a wrong size before the first row

    def state(self) -> dict[str, Any]:
        """All that the page shows now."""
        session, verdict = self.session, self.session.verdict()
        row = next(iter(session.ask(1)), None)
        return {
            "row": row and {"id": row, "cells": self._cells(row)},
            "first": FIRST_SHOWN,
            "classes": session.classes,
            "line": words.verdict_line(verdict),
            "promise": words.promise_line(verdict, session.job),
            "n_labels": verdict.n_labels,
            "budget": verdict.budget,
            "source": session.pool.path.name,
            "is_over": self.over.is_set(),
            "trouble": str(self.failure or ""),
        }

    def act(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what a button says, and return what the page shows then.

        An answer to a row that is no longer asked (it was answered in another window) is not kept.
        """
        do, row, session = request.get("do"), request.get("row"), self.session
        is_stale = do in ("answer", "later") and row not in session.ask(1)
        try:
            if do == "answer" and not is_stale:
                session.answer(str(row), request.get("label"))
            elif do == "later" and not is_stale:
                session.postpone(str(row))
            elif do == "undo":
                session.undo()
            elif do == "stop":
                self.over.set()
        except (DataError, OSError) as error:
            self.failure = error
            self.over.set()
        trouble = "That row was answered in another window. This is the next one."
        return {**self.state(), **({"trouble": trouble} if is_stale else {})}

    def report(self) -> str:
        """The report of the session, as it is now."""
        from semisvm.report import page_of_session

        return page_of_session(self.session)

    def _cells(self, row: str) -> list[dict[str, str]]:
        cells = self.session.pool.cells.iloc[[self.session.pool.place[row]]][self.show]
        if self.image:
            return [{"name": "picture", "image": picture(cells.iloc[0], self.image)}]
        return [{"name": name, "value": as_written(cells[name])[0]} for name in self.show]


class BudgetPage:
    """The first question where no budget was named: how many rows can you label?"""

    def __init__(self, job: LabelingJob):
        self.job, self.over, self.budget = job, threading.Event(), 0

    def state(self) -> dict[str, Any]:
        """The question."""
        return {
            "question": "How many rows can you label?",
            "promise": f"Wanted: {words.wanted(self.job)}",
            "is_answered": self.budget > 0,
        }

    def act(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take the answer."""
        number = str(request.get("number", ""))
        if number.isdecimal() and 1 <= int(number) <= MOST_LABELS:
            self.budget = int(number)
            self.over.set()
        return self.state()

    def report(self) -> str:
        """Nothing is known yet."""
        return ""


def picture(cells: pd.Series, size: str) -> str:
    """Gray pixels as a small picture; `size` is "28x28", width first."""
    width, _, height = size.lower().partition("x")
    try:
        values = [float(value or 0) for value in cells]
        is_right = int(width) * int(height) == len(values)
    except ValueError:
        is_right = False
    if not is_right:
        raise DataError(
            f"image {size}: there are {len(cells)} columns, which must be the numbers of as many"
            " pixels. Name them (--show)."
        )
    brightest = max(map(abs, values)) or 1
    gray = (int(255 * max(0, value) / brightest) for value in values)
    boxes = "".join(
        f'<rect x="{k % int(width)}" y="{k // int(width)}" width="1.02" height="1.02"'
        f' fill="rgb({g},{g},{g})"/>'
        for k, g in enumerate(gray)
    )
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{boxes}</svg>'
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
