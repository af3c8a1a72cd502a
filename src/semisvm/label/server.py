"""The page in a browser: served on this machine, to whoever knows the address with its token."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import sys
import threading
import webbrowser
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from semisvm.label.page import BudgetPage, Page, asset

HOST = "127.0.0.1"
LONGEST_REQUEST = 100_000  # characters
LOOKS_PER_SECOND = 5  # at whether the person has stopped


class LabelServer(ThreadingHTTPServer):
    """Shows one page after the other at one address.

    >>> with LabelServer(print) as server:  # doctest: +SKIP
    ...     server.show(Page(session))
    """

    daemon_threads = True

    def __init__(self, say: Callable[[str], Any], *, open_browser: bool = True):
        super().__init__((HOST, 0), _Request)
        self.say, self.open_browser = say, open_browser
        self.token = secrets.token_urlsafe(24)
        self.turn = threading.Lock()  # one request at a time touches the session
        self.page: Page | BudgetPage | None = None

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def show(self, page: Page | BudgetPage) -> None:
        """Serve a page until the person stops, on the page or by Ctrl-C."""
        is_first, self.page = self.page is None, page
        if is_first:
            threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()
            self.say(
                f"Label on this page (only this machine can open it):\n  {self.address}\nEvery"
                " answer is saved at once. End with Stop on the page, or Ctrl-C here."
            )
            if self.open_browser and has_screen():
                webbrowser.open(self.address)
        try:
            while not page.over.wait(1 / LOOKS_PER_SECOND):
                pass
        except KeyboardInterrupt:
            if isinstance(page, BudgetPage):
                raise
        with self.turn:  # an answer that is being saved is saved
            pass

    def server_close(self) -> None:
        """End."""
        if self.page is not None:
            self.shutdown()
        super().server_close()


class _Request(BaseHTTPRequestHandler):
    protocol_version, timeout = "HTTP/1.1", 10
    server: LabelServer

    def do_GET(self) -> None:
        place, page = self._place(), self.server.page
        if page is None or place not in ("", "state", "report"):
            self._send("not found", "text/plain", 404)
            return
        with self.server.turn:
            if place == "":
                nonce = secrets.token_urlsafe(16)
                self._send(whole_page(nonce), "text/html", nonce=nonce)
            elif place == "report":
                self._send(page.report(), "text/html")
            else:
                self._send(json.dumps(page.state()), "application/json")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length") or ""
        is_json = self.headers.get("Content-Type", "").startswith("application/json")
        is_short = length.isdecimal() and 0 < int(length) <= LONGEST_REQUEST
        page = self.server.page
        if page is None or self._place() != "state" or not is_json or not is_short:
            self.close_connection = True  # what is left unread is no new request
            self._send("not found", "text/plain", 404)
            return
        try:
            request = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            self._send("bad request", "text/plain", 400)
            return
        with self.server.turn:
            self._send(json.dumps(page.act(request)), "application/json")

    def _place(self) -> str | None:
        """What is asked for, by a page of this server with its token; else None."""
        token, _, place = self.path.lstrip("/").partition("/")
        host = f"{HOST}:{self.server.server_port}"
        is_ours = self.headers.get("Origin") in (None, f"http://{host}")
        is_known = hmac.compare_digest(token.encode(), self.server.token.encode())
        return place if is_known and is_ours and self.headers.get("Host") == host else None

    def _send(self, content: str, kind: str, status: int = 200, nonce: str = "") -> None:
        own = f"'nonce-{nonce}'" if nonce else "'none'"
        policy = (
            f"default-src 'none'; script-src {own}; style-src 'unsafe-inline'; connect-src 'self';"
            " img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
        body = content.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", policy)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Print nothing: the address would show the token."""


def has_screen() -> bool:
    """Whether a browser would open in a window, and not in the terminal."""
    return sys.platform != "linux" or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))


def whole_page(nonce: str) -> str:
    """The page as one document."""
    page = asset("page.html").replace("{style}", asset("page.css"))
    return page.replace("{script}", asset("page.js")).replace("{nonce}", nonce)
