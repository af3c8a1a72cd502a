"""The page in a notebook: Jupyter, VS Code and marimo show it by anywidget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from semisvm.label.page import Page, asset
from semisvm.label.session import LabelSession


class LabelWidget(anywidget.AnyWidget):
    """Rows of a session to label, with what is proved so far above them.

    Parameters
    ----------
    session : LabelSession
        The session; it stays open until its `close`.
    show : list of str
        Columns to show; by default all.
    image : str, optional
        The size of a picture whose pixels the columns are: "28x28".

    Examples
    --------
    >>> LabelWidget(LabelSession.open("loans.label"))  # doctest: +SKIP
    """

    _esm = asset("page.js")
    _css = asset("page.css")
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, session: LabelSession, show: Sequence[str] = (), image: str | None = None):
        self.page = Page(session, show, image)
        super().__init__(state=self.page.state())
        self.on_msg(self._receive)

    def _receive(self, widget: Any, request: Any, buffers: Any) -> None:
        """Do what a button says; the page shows the next row only once the answer is kept."""
        self.state = self.page.act(request)
        self.send({"id": request.get("id")})
