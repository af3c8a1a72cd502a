"""`semisvm label`: answer the rows of a campaign one at a time, in the terminal or on a local page.

The page (`--web`) is served on 127.0.0.1 only. Its address has a random token, and whoever does not know it gets
nothing: other users of the machine, and pages of strangers in the same browser. A request must also name this server as
its host, so that no foreign name that was made to point here is answered. The page is one file; a
Content-Security-Policy allows its own script and style, identified by their hashes, and requests to this server alone.

    GET  /TOKEN/         the page
    GET  /TOKEN/session  what is asked now, and the progress
    POST /TOKEN/session  {"do": "answer" | "later" | "undo" | "stop", "place": ..., "label": ...}

An answer names the row that it is for. If that is not the row asked about now (a second click, another window), it is
refused with what is asked now.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import re
import secrets
import sys
import threading
import unicodedata
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli import options as shared
from semisvm.cli.certify import read_target, say_begun, target_options
from semisvm.cli.screen import Screen

if TYPE_CHECKING:
    from rich.console import Console

    from semisvm.tables.label import LabelSession, RowToLabel

LONGEST_CELL = 2_000  # characters that are shown of one cell
UNSURE, LATER, UNDO, QUIT = "?", "l", "u", "q"
ENDS = (QUIT, "\x03", "\x04", "")  # Ctrl-C, Ctrl-D, no more input
UNDOES = (UNDO, "\x08", "\x7f")  # backspace
HOST = "127.0.0.1"
LONGEST_REQUEST = 10_000  # bytes


@shared.command(
    "label",
    "Label rows one by one, until certified.",
    "semisvm label spam.skops mails.csv --min-precision 0.9",
    "semisvm label spam.skops mails.csv --web",
)
@click.argument("model", type=shared.FILE)
@click.argument("data", type=shared.FILE)
@target_options
@click.option("--state", type=shared.FILE, metavar="FILE", help="Where the campaign is kept; by default DATA.campaign.")
@click.option("--web", is_flag=True, help="Answer on a page in a browser on this machine, instead of in the terminal.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of the page; by default any that is free.")
@shared.unlabeled_option
def label_command(
    model: Path, data: Path, state: Path | None, web: bool, port: int, unlabeled: str | None, **asked: Any
) -> None:
    """Ask for the labels of rows of DATA that are drawn at random, until MODEL's target is proved.

    One row at a time: its cells, a key for each class, "don't know", later, undo, quit. Every answer is saved at once:
    the same command goes on where it ended. Neither the score nor the prediction of a row is shown.

    The target is the one that the model was fitted for, or the one given here. It is fixed when the campaign begins.
    """
    from semisvm.disk import check_can_write
    from semisvm.tables.label import open_session

    screen = Screen()
    state = data.with_suffix(".campaign") if state is None else state
    check_can_write(state, force=True, inputs=[model, data])
    is_new = not state.exists()
    asked = read_target(model, asked)
    if not web and not sys.stdin.isatty():
        raise click.UsageError(
            "Keys are read from a terminal, and stdin is not one. Use --web for a page in a browser, or semisvm "
            "certify start for a CSV file to fill in."
        )
    if not is_new:  # what is not asked for here is as it was when the campaign began
        source, given = click.get_current_context().get_parameter_source, click.core.ParameterSource.COMMANDLINE
        asked = {name: value for name, value in asked.items() if source(name) is given}
    with screen.working():
        session = open_session(model, data, state, unlabeled=unlabeled, tell=screen.tell, **asked)
    if is_new:
        say_begun(screen, session.campaign)
    if web:
        serve_page(session, port, screen.say)
    else:
        ask_in_terminal(session, screen.console, click.getchar)
    _say_end(screen, session)


def ask_in_terminal(session: LabelSession, console: Console, read_key: Callable[[], str]) -> None:
    """Ask for one row after the other until the person quits or nothing is left; `read_key` returns the next key."""
    hint = ""
    while (row := session.row()) is not None:
        _show_row(session, console, row, hint)
        try:
            key, hint = read_key().lower(), ""
        except (EOFError, KeyboardInterrupt):
            return
        if key in ENDS:
            return
        if key in session.keys:
            session.answer(row.place, session.keys[key])
        elif key == UNSURE:
            session.answer(row.place, None)
        elif key == LATER:
            session.postpone(row.place)
        elif key in UNDOES:
            hint = "" if session.undo() else "There is no answer to take back."
        else:
            hint = "This key has no meaning here."
    console.print("There is nothing left to ask.")


def _show_row(session: LabelSession, console: Console, row: RowToLabel, hint: str) -> None:
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

    progress = session.progress()
    console.clear()
    console.print(Text(progress.sentence, style="bold green" if progress.is_certified else "bold"))
    console.print(Rule(Text(f"row {row.number:,} of {session.data.name}"), align="left"))
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True, max_width=30)
    grid.add_column(overflow="fold")
    for name, cell in row.cells.items():
        grid.add_row(Text(printable(name)), Text("" if cell is None else printable(str(cell))))
    console.print(grid if row.cells else Text("The file has no named columns: look the row up by its number."))
    console.print(Rule())
    keys = [f"[{key}] {printable(name)}" for key, name in session.keys.items()]
    keys += [f"[{UNSURE}] don't know", f"[{LATER}] later"]
    keys += [f"[{UNDO}] undo"] if progress.can_undo else []
    console.print(Text("   ".join([*keys, f"[{QUIT}] quit"])))
    if hint:
        console.print(Text(hint, style="yellow"))


def printable(text: str) -> str:
    """Return a text without characters that would move the cursor or change colors; a long one is cut."""
    shown = text if len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + " ..."
    return "".join(
        char if char in "\n\t" or unicodedata.category(char)[0] != "C" else "\N{REPLACEMENT CHARACTER}"
        for char in shown
    )


def _say_end(screen: Screen, session: LabelSession) -> None:
    """Say what is proved, and how to go on."""
    verdict = session.campaign.verdict()
    screen.say(f"\n{verdict.reason}")
    if verdict.certified:
        screen.say(f"Write the certified model: semisvm certify apply {session.state} --out certified.skops")
    screen.say(
        f"Saved in {session.state}: the same command goes on. For training the labels are written by: "
        f"semisvm certify export {session.state} --out labels.csv"
    )


# ---- the page ----


class LabelServer(ThreadingHTTPServer):
    """Serves one session to whoever knows the token; `stopped` is set when the person wants to end."""

    daemon_threads = True

    def __init__(self, session: LabelSession, port: int = 0):
        super().__init__((HOST, port), _LabelRequest)
        self.session, self.token = session, secrets.token_urlsafe(24)
        self.turn, self.stopped = threading.Lock(), threading.Event()

    @property
    def address(self) -> str:
        """The address of the page, token included."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def state(self) -> dict[str, Any]:
        """Return what the page shows, as plain JSON values: no score and no prediction."""
        session = self.session
        row = session.row()
        asked = None
        if row is not None:
            cells = [[name, "" if cell is None else str(cell)] for name, cell in row.cells.items()]
            asked = {"place": row.place, "number": row.number, "cells": cells}
        keys = {name: key for key, name in session.keys.items()}
        return {
            "file": session.data.name,
            "target": str(session.campaign.target),
            "positive": str(session.campaign.pos_label),
            "classes": [{"name": name, "key": keys.get(name)} for name in session.classes],
            "row": asked,
            "progress": asdict(session.progress()),
            "stopped": str(session.failure or "") or self.stopped.is_set(),  # why, where it is not by request
        }

    def act(self, what: dict[str, Any]) -> None:
        """Do what the page asks for; ValueError if it makes no sense."""
        place: Any
        done, place = what.get("do"), what.get("place")
        if done in ("answer", "later") and type(place) is not int:
            raise ValueError("The row that the request is about is missing.")
        if done == "answer":
            self.session.answer(place, what.get("label"))
        elif done == "later":
            self.session.postpone(place)
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
        place = self._allowed_place()
        if place == "":
            page, policy = _page()
            self._send(HTTPStatus.OK, page.encode(), "text/html; charset=utf-8", policy)
        elif place == "session":
            with self.server.turn:
                self._send_state(HTTPStatus.OK)
        elif place is not None:
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        place = self._allowed_place()
        if place is None:
            return
        length = int(self.headers.get("Content-Length") or 0)
        is_json = self.headers.get("Content-Type", "").startswith("application/json")
        what: Any = None
        if place == "session" and is_json and 0 < length <= LONGEST_REQUEST:
            with contextlib.suppress(ValueError):
                what = json.loads(self.rfile.read(length))
        if not isinstance(what, dict):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        with self.server.turn:
            status = HTTPStatus.OK
            try:
                self.server.act(what)
            except (OSError, ValueError):
                status = HTTPStatus.CONFLICT
            self._send_state(status)

    def _allowed_place(self) -> str | None:
        """What is asked for; None, once refused, unless the request names this server and the token, from its page."""
        own = f"{HOST}:{self.server.server_port}"
        token, _, place = self.path.lstrip("/").partition("/")
        is_ours = self.headers.get("Host") == own and self.headers.get("Origin") in (None, f"http://{own}")
        if is_ours and hmac.compare_digest(token.encode(), self.server.token.encode()):
            return place.partition("?")[0]
        self._refuse(HTTPStatus.NOT_FOUND)
        return None

    def _send_state(self, status: HTTPStatus) -> None:
        state = json.dumps(self.server.state(), allow_nan=False).encode()
        self._send(status, state, "application/json; charset=utf-8")

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
    """Serve a session until the person ends it, on the page or by Ctrl-C; `say` is told the address."""
    with LabelServer(session, port) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        say(f"Open this address in a browser on this machine (nobody else can see it):\n\n  {server.address}\n")
        say('Every answer is saved at once. End with "Stop for now" on the page, or with Ctrl-C here.')
        try:
            with contextlib.suppress(KeyboardInterrupt):
                while not server.stopped.wait(0.2) and session.failure is None:
                    pass
        finally:
            with server.turn:  # an answer that is being saved is saved
                server.shutdown()
    if session.failure is not None:
        raise session.failure


@cache
def _page() -> tuple[str, str]:
    """Return the page and its Content-Security-Policy."""
    page = resources.files("semisvm.cli").joinpath("assets", "label.html").read_text(encoding="utf-8")
    policy = "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    for kind in ("script", "style"):
        (own,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        policy += f"; {kind}-src 'sha256-{digest}'"
    return page, policy + "; frame-ancestors 'none'"
