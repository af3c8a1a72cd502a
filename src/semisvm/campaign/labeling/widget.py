"""The page as a widget: Jupyter, VS Code and marimo show it by anywidget.

The browser sends a request with a number; Python does it, saves, sets `state`, and answers with the
number. So the page shows the next row only once the answer is kept.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from semisvm import html
from semisvm.campaign.labeling import LabelSession
from semisvm.campaign.labeling.page import asset


class LabelWidget(anywidget.AnyWidget):
    """Rows of a campaign to label, with what is proved so far beside them.

    Parameters
    ----------
    session : LabelSession
        The session of labeling.
    """

    _esm = asset("label.js") + asset("widget.js")
    _css = html.style() + asset("label.css") + asset("widget.css")
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, session: LabelSession):
        self.session = session
        super().__init__(state=self._next_state())
        self.on_msg(self._receive)

    def _next_state(self) -> dict[str, Any]:
        verdict = self.session.campaign.verdict()
        return self.session.page() | {"verdict": verdict._repr_html_()}

    def _receive(self, widget: Any, request: Any, buffers: Any) -> None:
        """Do what the page asks for; a request that makes no sense any more is said to be stale."""
        is_stale = False
        try:
            self.session.act(request)
        except (OSError, ValueError):
            is_stale = True
        self.state = self._next_state()
        self.send({"id": request.get("id"), "is_stale": is_stale})
