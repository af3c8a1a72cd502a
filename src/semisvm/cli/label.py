"""`semisvm label`: answer the rows of a campaign one at a time, in the terminal or on a local page.

The page (`--web`) is served on 127.0.0.1 only. Its address has a random token, and whoever does not
know it gets nothing: other users of the machine, and pages of strangers in the same browser. A
request must also name this server as its host, so that no foreign name that was made to point here
is answered. The page is one file; a Content-Security-Policy allows its own script and style,
identified by their hashes, and requests to this server alone.

    GET  /TOKEN/         the page
    GET  /TOKEN/session  what is asked now, and the progress
    POST /TOKEN/session  {"do": "answer" | "later" | "undo" | "stop", "place": ..., "label": ...}

An answer names the row that it is for. If that is not the row asked about now (a second click,
another window), it is refused with what is asked now.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import re
import secrets
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli import options as shared
from semisvm.cli.certify import read_target, say_begun, target_options
from semisvm.cli.screen import Screen

if TYPE_CHECKING:
    from semisvm.campaign.labeling import LabelSession

HOST = "127.0.0.1"
LONGEST_REQUEST = 10_000  # bytes
SECONDS_FOR_A_REQUEST = 10  # of a client that neither sends nor reads


@shared.command(
    "label",
    "Label rows one by one, until certified.",
    "semisvm label spam.skops mails.csv --min-precision 0.9",
    "semisvm label spam.skops mails.csv --web --show subject --show body",
    "semisvm label digits.skops digits.csv --web --image 8x8",
)
@click.argument("model", type=shared.FILE)
@click.argument("data", type=shared.FILE)
@target_options
@click.option(
    "--state", type=shared.FILE, help="Where the campaign is kept; by default DATA.campaign."
)
@click.option(
    "--web",
    is_flag=True,
    help="Answer on a page in a browser on this machine, instead of in the terminal.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=False,
    help="Of the page; by default any that is free.",
)
@click.option(
    "--show",
    multiple=True,
    metavar="COL",
    help="A column to show; may be given more than once. By default the columns are chosen.",
)
@click.option(
    "--image",
    metavar="8x8[:NAME]",
    help="The columns of numbers are a picture of this size (32x32x3: with colors); with :NAME"
    " those whose name begins so.",
)
@shared.unlabeled_option
def label_command(
    model: Path,
    data: Path,
    state: Path | None,
    web: bool,
    port: int,
    show: tuple[str, ...],
    image: str | None,
    unlabeled: str | None,
    **asked: Any,
) -> None:
    """Ask for the labels of rows of DATA that are drawn at random, until MODEL's target is proved.

    One row at a time: its cells, a key for each class, "don't know", later, undo, quit. Cells that
    are images (paths, base64 text, pixels by --image) are shown as images, texts with their line
    breaks, the longest first. Every answer is saved at once: the same command goes on where it
    ended. Neither the score nor the prediction of a row is shown.

    The target is the one that the model was fitted for, or the one given here. It is fixed when the
    campaign begins.
    """
    from semisvm.campaign.labeling.terminal import ask_in_terminal
    from semisvm.campaign.ledger import ledger_path
    from semisvm.disk import check_can_write
    from semisvm.tables.label import open_session

    screen = Screen()
    state = data.with_suffix(".campaign") if state is None else state
    check_can_write(state, force=True, inputs=[model, ledger_path(model), data])
    is_new = not state.exists()
    asked = read_target(model, asked)
    if not web and not sys.stdin.isatty():
        raise click.UsageError(
            "Keys are read from a terminal, and stdin is not one. Use --web for a page in a"
            " browser, or semisvm certify start for a CSV file to fill in."
        )
    if not is_new:  # what is not asked for here is as it was when the campaign began
        source = click.get_current_context().get_parameter_source
        given = click.core.ParameterSource.COMMANDLINE
        asked = {name: value for name, value in asked.items() if source(name) is given}
    with screen.working():
        session = open_session(
            model,
            data,
            state,
            show=show,
            image=image,
            unlabeled=unlabeled,
            tell=screen.tell,
            **asked,
        )
    if is_new:
        say_begun(screen, session.campaign)
    if web:
        serve_page(session, port, screen.say)
    else:
        ask_in_terminal(session, screen.console, click.getchar)
    _say_end(screen, session)


def _say_end(screen: Screen, session: LabelSession) -> None:
    """Say what is proved, and how to go on."""
    verdict = session.campaign.verdict()
    state = shared.quoted(Path(session.state or ""))
    screen.say(f"\n{verdict.reason}")
    if verdict.certified:
        screen.say(
            f"Write the certified model: semisvm certify apply {state} --out certified.skops"
        )
    screen.say(
        f"Saved in {session.state}: the same command goes on. For training the labels are written"
        f" by: semisvm certify export {state} --out labels.csv"
    )


# ---- the page ----


class LabelServer(ThreadingHTTPServer):
    """Serves one session to whoever knows the token; `stopped` is set when the person wants to
    end.
    """

    daemon_threads = True

    def __init__(self, session: LabelSession, port: int = 0):
        super().__init__((HOST, port), _LabelRequest)
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self.turn = threading.Lock()
        self.stopped = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing where a client went away; other errors as usual."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """The address of the page, token included."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def state(self) -> dict[str, Any]:
        """Return what the page shows; once the person wants to end, "stopped" is true."""
        page = self.session.page()
        return page | {"stopped": page["stopped"] or self.stopped.is_set()}

    def act(self, request: dict[str, Any]) -> None:
        """Do what the page asks for; ValueError if it makes no sense."""
        if request.get("do") == "stop":
            self.stopped.set()
        else:
            self.session.act(request)


class _LabelRequest(BaseHTTPRequestHandler):
    server: LabelServer
    protocol_version = "HTTP/1.1"
    timeout = SECONDS_FOR_A_REQUEST

    def do_GET(self) -> None:
        place = self._allowed_place()
        if place == "":
            from semisvm.campaign.labeling.page import window_page

            page, policy = window_page()
            self._send(HTTPStatus.OK, page.encode(), "text/html; charset=utf-8", policy)
        elif place == "session":
            with self.server.turn:
                state = self.server.state()
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
                self.server.act(request)
            except (OSError, ValueError):
                status = HTTPStatus.CONFLICT
            state = self.server.state()
        self._send_state(status, state)

    def _allowed_place(self) -> str | None:
        """What is asked for; None, once refused, unless the request names this server and the
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
        """Send what is asked now; the caller no longer holds the turn, as a client may be slow."""
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
    """Serve a session until the person ends it, on the page or by Ctrl-C; `say` is told the
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
                while not server.stopped.wait(0.2) and session.failure is None:
                    pass
        finally:
            with server.turn:  # an answer that is being saved is saved
                server.shutdown()
    if session.failure is not None:
        raise session.failure
