"""A session of labeling on a page in a browser on this machine.

The page is served on 127.0.0.1 only. Its address has a random token, and whoever does not
know it gets nothing: other users of the machine, and pages of strangers in the same browser. A
request must also name this server as its host, so that no foreign name that was made to point here
is answered. The page is one file; a Content-Security-Policy allows its own script and style,
identified by their hashes, and requests to this server alone.

    GET  /TOKEN/         the page
    GET  /TOKEN/session  the current row, and the progress
    POST /TOKEN/session  {"do": "answer" | "later" | "undo" | "stop", "place": ..., "label": ...}

An answer names the row that it is for. If that is not the current row (a second click, another
window), it is refused with the current row.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from semisvm.campaign.labeling import LabelSession
from semisvm.campaign.labeling.page import window_page

HOST = "127.0.0.1"
LONGEST_REQUEST = 10_000  # bytes
SECONDS_FOR_A_REQUEST = 10  # of a client that neither sends nor reads


class LabelServer(ThreadingHTTPServer):
    """Serves one session to whoever knows the token."""

    daemon_threads = True

    def __init__(self, session: LabelSession, port: int = 0):
        super().__init__((HOST, port), _LabelRequest)
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self.turn = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing where a client went away; other errors as usual."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """The address of the page, token included."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"


class _LabelRequest(BaseHTTPRequestHandler):
    server: LabelServer
    protocol_version = "HTTP/1.1"
    timeout = SECONDS_FOR_A_REQUEST

    def do_GET(self) -> None:
        place = self._allowed_place()
        if place == "":
            page, policy = window_page()
            self._send(HTTPStatus.OK, page.encode(), "text/html; charset=utf-8", policy)
        elif place == "session":
            with self.server.turn:
                state = self.server.session.page()
            self._send_state(HTTPStatus.OK, state)
        elif place is not None:
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        place = self._allowed_place()
        if place is None:
            return
        length = self.headers.get("Content-Length", "")
        is_json = self.headers.get("Content-Type", "").startswith("application/json")
        is_short = re.fullmatch("[0-9]{1,9}", length) and 0 < int(length) <= LONGEST_REQUEST
        request: Any = None
        if place == "session" and is_json and is_short:
            with contextlib.suppress(ValueError, RecursionError):  # lists within lists
                request = json.loads(self.rfile.read(int(length)))
        if not isinstance(request, dict):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        with self.server.turn:
            status = HTTPStatus.OK
            try:
                self.server.session.act(request)
            except (OSError, ValueError):
                status = HTTPStatus.CONFLICT
            state = self.server.session.page()
        self._send_state(status, state)

    def _allowed_place(self) -> str | None:
        """The requested place; None, once refused, unless the request names this server and the
        token, from its page.
        """
        host = f"{HOST}:{self.server.server_port}"
        token, _, place = self.path.lstrip("/").partition("/")
        is_from_page = self.headers.get("Origin") in (None, f"http://{host}")
        knows_token = hmac.compare_digest(token.encode(), self.server.token.encode())
        if self.headers.get("Host") == host and is_from_page and knows_token:
            return place.partition("?")[0]
        self._refuse(HTTPStatus.NOT_FOUND)
        return None

    def _send_state(self, status: HTTPStatus, state: dict[str, Any]) -> None:
        """Send the current row; the caller no longer holds the turn, as a client may be slow."""
        content = json.dumps(state, allow_nan=False).encode()
        self._send(status, content, "application/json; charset=utf-8")

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._send(status, status.phrase.encode(), "text/plain; charset=utf-8")

    def _send(
        self, status: HTTPStatus, content: bytes, kind: str, policy: str = "default-src 'none'"
    ) -> None:
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
    """Serve a session until the person ends it, on the page or by Ctrl-C; `say` prints the
    address.
    """
    with LabelServer(session, port) as server:
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        ).start()
        say(
            "Open this address in a browser on this machine (nobody else can see it):\n\n "
            f" {server.address}\n"
        )
        say(
            'Every answer is saved at once. End with "Stop for now" on the page, or with Ctrl-C'
            " here."
        )
        try:
            with contextlib.suppress(KeyboardInterrupt):
                while not session.is_stopped and session.failure is None:
                    time.sleep(0.2)
        finally:
            with server.turn:  # an answer that is being saved is saved
                server.shutdown()
    if session.failure is not None:
        raise session.failure
