"""The page of `semisvm label --web`: the same session in a browser on this machine.

The server listens on 127.0.0.1 only. Its address has a random token, and whoever does not know it gets nothing: other
users of the machine, and pages of strangers in the same browser. A request must also name this server as its host, so
that no foreign name that was made to point here is answered. The page is one file; a Content-Security-Policy allows its
own script and style, identified by their hashes, and requests to this server alone.

    GET  /TOKEN/         the page
    GET  /TOKEN/session  what is asked now, and the progress
    POST /TOKEN/session  {"do": "answer" | "later" | "undo" | "stop", "place": ..., "label": ...}

An answer names the row that it is for. If that is not the row asked about now (a second click, another window), it is
refused with what is asked now.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semisvm.tables.label import LabelSession

HOST = "127.0.0.1"
LONGEST_REQUEST = 10_000  # bytes
JSON_TYPE = "application/json; charset=utf-8"


class LabelServer(ThreadingHTTPServer):
    """Serves one session to whoever knows the token; `stopped` is set when the person wants to end."""

    daemon_threads = True

    def __init__(self, session: LabelSession, port: int = 0):
        super().__init__((HOST, port), _LabelRequest)
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self.turn = threading.Lock()
        self.stopped = threading.Event()

    @property
    def address(self) -> str:
        """The address of the page, token included."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def state(self) -> dict[str, Any]:
        """Return what the page shows, as plain JSON values: no score and no prediction."""
        session = self.session
        row = session.row()
        keys = {name: key for key, name in session.keys.items()}
        return {
            "file": session.data.name,
            "target": str(session.campaign.target),
            "positive": str(session.campaign.pos_label),
            "classes": [{"name": name, "key": keys.get(name)} for name in session.classes],
            "row": None if row is None else {"place": row.place, "number": row.number, "cells": _texts(row.cells)},
            "progress": asdict(session.progress()),
            "stopped": self.stopped.is_set(),
        }

    def act(self, what: dict[str, Any]) -> None:
        """Do what the page asks for; ValueError if it makes no sense."""
        done = what.get("do")
        if done == "answer":
            self.session.answer(_place(what), what.get("label"))
        elif done == "later":
            self.session.postpone(_place(what))
        elif done == "undo":
            self.session.undo()
        elif done == "stop":
            self.stopped.set()
        else:
            raise ValueError(f"There is nothing to do for {done!r}.")


class _LabelRequest(BaseHTTPRequestHandler):
    server: LabelServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if not self._is_allowed():
            return
        place = self._place()
        if place == "":
            page, policy = _page()
            self._send(HTTPStatus.OK, page.encode(), "text/html; charset=utf-8", policy)
        elif place == "session":
            with self.server.turn:
                self._send_state(HTTPStatus.OK)
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        if not self._is_allowed():
            return
        length = int(self.headers.get("Content-Length") or 0)
        is_json = self.headers.get("Content-Type", "").startswith("application/json")
        if self._place() != "session" or not is_json or not 0 < length <= LONGEST_REQUEST:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        try:
            what = json.loads(self.rfile.read(length))
            if not isinstance(what, dict):
                raise ValueError("The request is not an object.")
        except ValueError:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        with self.server.turn:
            try:
                self.server.act(what)
            except ValueError:
                self._send_state(HTTPStatus.CONFLICT)
            else:
                self._send_state(HTTPStatus.OK)

    def _is_allowed(self) -> bool:
        """Whether the request names this server and the token, and does not come from a foreign page."""
        own = f"{HOST}:{self.server.server_port}"
        token = self.path.lstrip("/").partition("/")[0]
        is_ours = self.headers.get("Host") == own and self.headers.get("Origin") in (None, f"http://{own}")
        if is_ours and hmac.compare_digest(token.encode(), self.server.token.encode()):
            return True
        self._refuse(HTTPStatus.NOT_FOUND)
        return False

    def _place(self) -> str:
        return self.path.lstrip("/").partition("/")[2].partition("?")[0]

    def _send_state(self, status: HTTPStatus) -> None:
        self._send(status, json.dumps(self.server.state(), allow_nan=False).encode(), JSON_TYPE)

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._send(status, status.phrase.encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, content: bytes, kind: str, policy: str = "default-src 'none'") -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the address would show the token."""


def serve_page(session: LabelSession, port: int, say: Callable[[str], None]) -> None:
    """Serve a session until the person ends it, on the page or by Ctrl-C; port 0 takes any that is free.

    `say` is told the address.
    """
    with LabelServer(session, port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        say(f"Open this address in a browser on this machine (nobody else can see it):\n\n  {server.address}\n")
        say('Every answer is saved at once. End with "Stop for now" on the page, or with Ctrl-C here.')
        try:
            while not server.stopped.wait(0.2):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            with server.turn:  # an answer that is being saved is saved
                server.shutdown()


@cache
def _page() -> tuple[str, str]:
    """Return the page and its Content-Security-Policy."""
    page = resources.files("semisvm.cli").joinpath("assets", "label.html").read_text(encoding="utf-8")
    allowed = {}
    for kind in ("script", "style"):
        found = re.search(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        assert found is not None
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        allowed[kind] = f"'sha256-{digest}'"
    policy = (
        f"default-src 'none'; script-src {allowed['script']}; style-src {allowed['style']}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page, policy


def _texts(cells: dict[str, Any]) -> list[list[str]]:
    return [[name, "" if cell is None else str(cell)] for name, cell in cells.items()]


def _place(what: dict[str, Any]) -> int:
    place = what.get("place")
    if not isinstance(place, int) or isinstance(place, bool):
        raise ValueError("The row that the request is about is missing.")
    return place
