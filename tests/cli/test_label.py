"""`semisvm label`: rows one at a time, in a terminal and on a local page, as a person answers
them.
"""

import http.client
import json
import os
import pty
import re
import select
import socket
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from browser import CONTRAST, UNNAMED
from command_line import copy_fitted_mails, run_command, write_messy
from semisvm import load
from semisvm.campaign import Campaign
from semisvm.campaign.labeling import LabelSession
from semisvm.campaign.labeling.cells import png_of
from semisvm.campaign.labeling.server import LabelServer, serve_page
from semisvm.campaign.labeling.terminal import ask_in_terminal, printable
from semisvm.tables.label import open_session

PHONE = {"width": 390, "height": 844}
PNG = png_of(np.arange(12, dtype=np.uint8).reshape(3, 4) * 20)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Mails with their true labels, and a model: (folder, truth)."""
    folder = tmp_path_factory.mktemp("mails")
    truth = write_messy(folder / "mails.csv", n_rows=600, share_labeled=0.2)
    return folder, truth


@pytest.fixture
def mails(fitted, tmp_path, capsys):
    """The mails and the model in a folder of the test's own: (folder, truth)."""
    folder, truth = fitted
    copy_fitted_mails(capsys, folder, tmp_path)
    return tmp_path, truth


@pytest.fixture
def session(mails):
    return open_session(
        mails[0] / "spam.skops",
        mails[0] / "mails.csv",
        mails[0] / "a.campaign",
        min_precision=0.7,
        seed="00",
    )


def answers_in(folder, name="a.campaign"):
    return Campaign.load(folder / name).answers


# ---- the session ----


def test_a_session_goes_on_where_it_ended(mails, session):
    folder, truth = mails
    for _ in range(5):
        row = session.row()
        session.answer(row.place, truth[row.number - 1])
    again = open_session(
        folder / "spam.skops", folder / "mails.csv", folder / "a.campaign", min_precision=0.7
    )
    assert again.campaign.answers == session.campaign.answers
    assert again.row() == session.row()
    assert again.progress() == session.progress()


def test_rows_have_their_cells_and_neither_score_nor_prediction(mails, session):
    row = session.row()
    assert list(row.cells) == ["id", "sent", "country", "size", "subject", "urgent"]
    assert row.cells["id"] == f"m{row.number - 1:05d}"


def test_undo_asks_again_and_is_counted(session):
    first = session.row()
    session.answer(first.place, "spam")
    second = session.row()
    assert second != first
    assert session.undo()
    assert session.row() == first
    session.answer(first.place, "ham")
    assert session.campaign.answers == {first.place: 0.0}
    assert len(session.campaign.corrections) == 1
    assert session.undo()
    assert not session.undo()


def test_a_row_for_later_comes_back(session, monkeypatch):
    rows = session.campaign.draw(3)
    monkeypatch.setattr(
        session.campaign, "draw", lambda n: rows[:n]
    )  # as if three were all that is left
    asked = []
    for _ in range(4):
        asked.append(session.row().place)
        session.postpone(asked[-1])
    assert asked == [*rows, rows[0]]


def test_an_answer_for_another_row_is_refused(session):
    row = session.row()
    session.answer(row.place, None)
    with pytest.raises(ValueError, match="no longer the current one"):
        session.answer(row.place, "spam")
    assert list(session.campaign.labels.values()).count(None) == 1


def test_a_campaign_is_not_continued_for_something_else(mails, session):
    folder, _ = mails
    files = (folder / "spam.skops", folder / "mails.csv", folder / "a.campaign")
    for asked in (
        {"min_precision": 0.8},
        {"min_recall": 0.8},
        {"costs": (1.0, 2.0)},
        {"confidence": 0.95},
        {"budget": 50},
        {"positive": "ham"},
    ):
        with pytest.raises(ValueError, match=f"begun with another `{next(iter(asked))}`"):
            open_session(*files, **asked)
    with pytest.raises(ValueError, match="A target is needed"):
        open_session(*files[:2], folder / "b.campaign")
    (folder / "mails.csv").write_text(
        (folder / "mails.csv").read_text(encoding="utf-8-sig"), encoding="utf-8"
    )
    with pytest.raises(ValueError, match="the data file has changed"):
        open_session(*files)


def test_more_than_two_classes(tmp_path, capsys):
    """The species of irises: a target about one of three classes, answers of all three."""
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    frame = iris.data.copy()
    species = iris.target_names[iris.target]
    frame["species"] = [name if i % 5 == 0 else "" for i, name in enumerate(species)]
    frame.to_csv(tmp_path / "iris.csv", index=False)
    model = tmp_path / "iris.skops"
    data = tmp_path / "iris.csv"
    state = tmp_path / "iris.campaign"
    words = ("--target", "species", "--method", "supervised", "--out", model)
    assert run_command(capsys, "fit", data, *words).code == 0
    start = (
        "certify",
        "start",
        model,
        data,
        "--min-precision",
        "0.7",
        "--state",
        state,
        "--out",
        tmp_path / "x.csv",
    )
    assert "--positive" in run_command(capsys, *start).err
    assert "Perhaps 'virginica'" in run_command(capsys, *start, "--positive", "virginca").err
    session = open_session(model, data, state, positive="virginica", min_precision=0.7, seed="01")
    while (
        not session.progress().is_certified or "versicolor" not in session.campaign.labels.values()
    ):
        row = session.row()
        session.answer(row.place, species[row.number - 1])
    again = open_session(model, data, state)
    assert again.campaign.labels == session.campaign.labels
    assert (
        run_command(capsys, "certify", "apply", state, "--out", tmp_path / "certified.skops").code
        == 0
    )
    point = load(tmp_path / "certified.skops").summary.operating_points["virginica"]
    assert point.level == "certified by sampling"
    done = run_command(
        capsys, "predict", tmp_path / "certified.skops", data, "--out", tmp_path / "labels.csv"
    )
    assert done.code == 0
    predicted = load(tmp_path / "certified.skops").predict(frame)
    accepted = (predicted == "virginica") & (frame["species"] == "").to_numpy()
    assert accepted.sum() == point.sampling.n_accepted
    assert (species[accepted] == "virginica").mean() >= 0.7


# ---- the terminal ----


def test_keys_answer_postpone_undo_and_quit(mails, session):
    folder, _ = mails
    keys = iter("2?lu1xq")
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        ask_in_terminal(session, Console(file=nowhere), lambda: next(keys))
    assert [session.campaign.labels[row] for row in session.campaign.answers] == ["spam", "ham"]
    assert answers_in(folder) == session.campaign.answers
    assert len(session.campaign.corrections) == 1


def test_a_cell_can_not_write_to_the_terminal():
    assert printable("a\x1b[2J\u202eb\r\nc") == "a\ufffd[2J\ufffdb\ufffd\nc"
    assert len(printable("x" * 10_000)) < 3_000


def test_without_a_terminal_it_says_what_to_use(mails, capsys):
    folder, _ = mails
    done = run_command(
        capsys, "label", folder / "spam.skops", folder / "mails.csv", "--min-precision", "0.7"
    )
    assert done.code == 2
    assert "--web" in done.err
    assert not (folder / "mails.campaign").exists()


def test_in_a_real_terminal(mails):
    """Label three rows and quit; Ctrl-C quits as well; nothing is lost."""
    folder, _ = mails
    for keys, n_labels in (("12?q", 3), ("1\x03", 4)):
        pid, screen = pty.fork()
        if pid == 0:  # the child
            os.chdir(folder)
            code = "from semisvm.cli import main; main()"
            os.execv(
                sys.executable,
                [
                    sys.executable,
                    "-c",
                    code,
                    "label",
                    "spam.skops",
                    "mails.csv",
                    "--min-recall",
                    "0.8",
                ],
            )
        shown = ""
        left = list(keys)
        while True:
            try:
                ready, _, _ = select.select([screen], [], [], 60)
                assert ready, shown
                shown += re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", os.read(screen, 65536).decode())
            except OSError:  # the program has ended
                break
            if shown.rstrip().endswith("[q] quit") and left:
                time.sleep(0.3)  # keys that are pressed before the row is there are dropped
                text = shown
                shown = ""
                os.write(screen, left.pop(0).encode())
        assert os.waitpid(pid, 0)[1] == 0
        assert "recall at least 0.8" in shown
        assert f"row {load_rows(text)} of mails.csv" in text
        assert len(answers_in(folder, "mails.campaign")) == n_labels


def load_rows(text):
    return re.search(r"row ([\d,]+) of", text)[1]


# ---- the page ----


def test_a_campaign_that_needs_no_label_says_so(mails, capsys):
    """All rows are alike, so the only threshold accepts them all: every positive is found."""
    folder, _ = mails
    frame = pd.read_csv(folder / "mails.csv", dtype=str, keep_default_na=False)
    frame[frame["label"] == ""].iloc[[0] * 20].to_csv(folder / "alike.csv", index=False)
    words = (
        "start",
        folder / "spam.skops",
        folder / "alike.csv",
        "--min-recall",
        "0.5",
        "--state",
        folder / "b.json",
    )
    done = run_command(capsys, "certify", *words, "--out", folder / "empty.csv")
    assert done.code == 0
    assert "There is nothing to label." in done.out
    assert "rows to label" not in done.out
    assert not (folder / "empty.csv").exists()


@pytest.fixture
def served(session):
    with LabelServer(session) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        thread.start()
        yield server
        server.shutdown()


def ask(server, method="GET", path=None, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    path = f"/{server.token}/session" if path is None else path
    sent = None if body is None else json.dumps(body)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, sent, {"Content-Type": "application/json"} | names)
    reply = connection.getresponse()
    found = reply.status, reply.read().decode(), dict(reply.getheaders())
    connection.close()
    return found


def test_the_page_is_for_whoever_knows_the_token_on_this_machine(served):
    assert served.server_address[0] == "127.0.0.1"
    assert len(served.token) >= 30
    assert ask(served)[0] == 200
    wrong = served.token[:-1] + ("y" if served.token.endswith("x") else "x")
    for path in (
        "/",
        "/session",
        f"/{wrong}/session",
        f"/{served.token}/other",
        f"/{served.token}x/",
    ):
        status, text, _ = ask(served, path=path)
        assert (status, text) == (404, "Not Found")
    assert ask(served, Host="evil.example:80")[0] == 404
    assert ask(served, Origin="http://evil.example")[0] == 404
    undo = {"do": "undo"}
    assert ask(served, "POST", body=undo, Origin="http://evil.example")[0] == 404
    assert ask(served, "POST", body=undo, Content_Type="text/plain")[0] == 400
    assert ask(served, "POST", body=["undo"])[0] == 400
    assert ask(served, "POST", body={"do": "undo", "x": "y" * 20_000})[0] == 400
    assert ask(served, "POST", body={"do": "dance"})[0] == 409
    assert served.session.campaign.answers == {}
    _, page, headers = ask(served, path=f"/{served.token}/")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert not re.findall(r"(?:src|href)=\"(?!data:)", page)


def test_the_page_is_told_neither_score_nor_prediction(served):
    state = json.loads(ask(served)[1])
    assert set(state) == {
        "source",
        "target",
        "positive",
        "classes",
        "row",
        "saved",
        "progress",
        "stopped",
    }
    assert set(state["row"]) == {"place", "number", "cells"}
    assert "score" not in json.dumps(state["row"])


def test_a_second_click_answers_nothing(served):
    row = json.loads(ask(served)[1])["row"]
    click = {"do": "answer", "place": row["place"], "label": "spam"}
    assert ask(served, "POST", body=click)[0] == 200
    status, text, _ = ask(served, "POST", body=click)
    assert status == 409
    assert json.loads(text)["row"]["place"] != row["place"]
    assert ask(served, "POST", body=click | {"place": True})[0] == 409
    assert (
        ask(
            served,
            "POST",
            body=click | {"place": json.loads(text)["row"]["place"], "label": "spma"},
        )[0]
        == 409
    )
    assert len(served.session.campaign.answers) == 1


def test_two_sessions_contradict_each_other_and_the_second_says_so(served, mails):
    folder, _ = mails
    other = open_session(folder / "spam.skops", folder / "mails.csv", folder / "a.campaign")
    row = json.loads(ask(served)[1])["row"]
    assert other.row().place == row["place"]
    other.answer(row["place"], "spam")
    status, text, _ = ask(
        served, "POST", body={"do": "answer", "place": row["place"], "label": "ham"}
    )
    assert status == 409
    assert "another program has saved other answers for the same" in json.loads(text)["stopped"]
    assert answers_in(folder) == other.campaign.answers
    with pytest.raises(ValueError, match="another program has saved other answers"):
        serve_page(served.session, 0, print)  # as the command ends


def send_raw(server, head, body=b""):
    """Send bytes as they are, and return the first line of the answer."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as client:
        lines = [
            f"POST /{server.token}/session HTTP/1.1",
            f"Host: 127.0.0.1:{server.server_port}",
            "Content-Type: application/json",
            head,
        ]
        client.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        return client.makefile("rb").readline().decode().strip()


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("Content-Length: abc", b""),
        ("Content-Length: -5", b""),
        ("Content-Length: 9000", b"[" * 9000),
        ("Content-Length: 9999999999", b"{}"),
        ("X-Nothing: 1", b""),
    ],
)
def test_requests_that_make_no_sense_are_refused_in_words(served, capsys, head, body):
    assert send_raw(served, head, body) == "HTTP/1.1 400 Bad Request"
    assert capsys.readouterr().err == ""


def test_a_label_that_is_no_text_is_refused(served, capsys):
    place = served.session.page()["row"]["place"]
    body = json.dumps({"do": "answer", "place": place, "label": ["spam"]}).encode()
    assert send_raw(served, f"Content-Length: {len(body)}", body) == "HTTP/1.1 409 Conflict"
    assert capsys.readouterr().err == ""


def test_a_client_that_stops_reading_holds_nobody_up(served, monkeypatch, capsys):
    """Its cells are more than fits into the buffers of a connection."""
    state = served.session.page()
    state["row"]["cells"] = [["text", "x" * 30_000_000]]
    monkeypatch.setattr(served.session, "page", lambda: state)
    with socket.create_connection(("127.0.0.1", served.server_port)) as client:
        client.sendall(
            f"GET /{served.token}/session HTTP/1.1\r\nHost:"
            f" 127.0.0.1:{served.server_port}\r\n\r\n".encode()
        )
        client.recv(1)  # the answer is on its way, and the rest is not read
        assert served.turn.acquire(timeout=5)
        served.turn.release()
    time.sleep(0.2)
    assert capsys.readouterr().err == ""


@pytest.fixture
def page(chromium, served):
    """The page in a browser; an error or a foreign request fails the test."""
    complaints = []
    context = chromium.new_context(viewport={"width": 1100, "height": 900})
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: request.url.startswith(served.address) or complaints.append(request.url),
    )
    page.goto(served.address)
    page.locator(".classes button").first.wait_for()
    yield page
    context.close()
    assert complaints == []


def wait_for_row(page, before):
    page.wait_for_function(
        "before => document.querySelector('[data-part=row]').textContent !== before", arg=before
    )
    return page.locator("[data-part=row]").inner_text()


def test_a_person_labels_in_a_browser_until_certified(page, served, mails):
    folder, truth = mails
    shown = page.locator("[data-part=row]").inner_text()
    assert page.locator(".text h2").all_inner_texts() == ["subject"]
    assert page.locator("dt:visible").all_inner_texts() == ["id", "sent", "country", "size"]
    assert page.locator(".text p").inner_text().count("\n") == 1
    page.get_by_role("button", name="spam").click()
    shown = wait_for_row(page, shown)
    page.keyboard.press("?")
    shown = wait_for_row(page, shown)
    page.keyboard.press("l")
    shown = wait_for_row(page, shown)
    page.keyboard.press("u")
    shown = wait_for_row(page, shown)
    assert len(served.session.campaign.answers) == 1
    page.get_by_role("button", name="Undo").click()
    shown = wait_for_row(page, shown)
    assert page.get_by_role("button", name="Undo").is_disabled()
    while "Certified" not in page.locator(".progress").inner_text():
        number = int(re.search(r"Row (\d+) of", shown)[1])
        page.keyboard.press("2" if truth[number - 1] == "spam" else "1")
        shown = wait_for_row(page, shown)
    assert answers_in(folder) == served.session.campaign.answers
    page.get_by_role("button", name="Stop for now").click()
    page.get_by_text("You may close this page").wait_for()
    assert served.session.is_stopped
    assert page.get_by_role("button", name="spam").is_disabled()


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_the_page_can_be_read_and_used_by_all(page, colors):
    page.emulate_media(color_scheme=colors)
    page.locator("details").evaluate_all("parts => { for (const part of parts) part.open = true; }")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(UNNAMED) == []
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    stops = []
    for _ in range(6):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.textContent"))
    assert "1ham" in stops
    assert page.locator(".progress").get_attribute("role") == "status"


@pytest.fixture
def open_page(chromium):
    """Open the page of a session on rows at hand, on a screen of some size."""
    opened = []

    def open_with(rows, size, **options):
        campaign = Campaign(np.linspace(-1, 1, len(rows)), min_precision=0.8, seed="00")
        session = LabelSession(campaign, lambda places: [rows[i] for i in places], **options)
        server = LabelServer(session)
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        context = chromium.new_context(viewport=dict(zip(("width", "height"), size, strict=True)))
        opened.append((server, context))
        page = context.new_page()
        page.goto(server.address)
        page.locator(".classes button").first.wait_for()
        return page

    yield open_with
    for server, context in opened:
        context.close()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("size", [(1280, 720), (390, 844), (320, 500)])
def test_answers_and_progress_stay_on_the_screen(open_page, size):
    """A row of a long text, a picture and many columns; before and after scrolling."""
    rows = [
        {"body": "words\n" * 200, "photo": PNG} | {f"c{j}": i + j for j in range(60)}
        for i in range(30)
    ]
    page = open_page(rows, size)
    for _ in range(2):
        for part in (
            page.get_by_role("button", name="0", exact=True),
            page.get_by_role("button", name="Stop for now"),
            page.locator("[data-part=sentence]"),
        ):
            box = part.bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= size[1]
            assert box["x"] + box["width"] <= size[0]
        page.locator("summary").last.scroll_into_view_if_needed()
    assert page.locator("dt:visible").count() == 12
    page.get_by_text("48 more columns").click()
    assert page.locator("dt:visible").count() == 60
    page.keyboard.press("1")
    page.wait_for_function("() => document.querySelector('progress').value === 1")
    assert page.locator("dt:visible").count() == 60  # what was unfolded stays so
    assert page.locator("figure img").evaluate("image => image.naturalWidth") == 4


def test_cells_are_texts_pictures_and_links_and_never_markup(open_page):
    rows = [
        {
            "body": "<img src=x onerror=alert(1)>" * 5 + "\nSee https://example.org/b.",
            "home": "https://example.org/?a=1&b=2",
            "odd": "javascript:alert(1)",
            **{f"p{j}": (i * j) % 17 for j in range(16)},
        }
        for i in range(30)
    ]
    page = open_page(rows, (1280, 720), image="4x4:p")
    assert page.locator("figure img").evaluate("image => image.naturalHeight") == 4
    assert page.locator("img").count() == 1
    links = page.locator(".card a")
    addresses = ["https://example.org/b", "https://example.org/?a=1&b=2"]
    assert links.evaluate_all("all => all.map((a) => a.href)") == addresses
    assert "noopener" in links.first.get_attribute("rel")
    assert page.locator(".text p").inner_text().startswith("<img src=x")


def test_columns_and_pictures_are_checked_before_a_campaign_begins(mails, capsys):
    folder, _ = mails
    words = ("label", folder / "spam.skops", folder / "mails.csv", "--web", "--min-recall", "0.8")
    done = run_command(capsys, *words, "--show", "subjeckt")
    assert done.code == 2
    assert "no column 'subjeckt' to --show. Perhaps 'subject' is meant" in done.err
    done = run_command(capsys, *words, "--image", "8x8")
    assert done.code == 2
    assert "needs 64 columns of numbers, but there are 1 in the table" in done.err
    assert not (folder / "mails.campaign").exists()
