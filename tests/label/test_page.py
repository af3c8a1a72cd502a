"""The page: driven by plain requests, and by a browser where there is one."""

import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from helpers import browser
from helpers.sessions import begin, truth_of
from semisvm.errors import DataError
from semisvm.label import LabelingJob, LabelSession, Pool
from semisvm.label.page import BudgetPage, Page, asset, picture
from semisvm.label.server import LabelServer


@contextmanager
def served(page):
    """Serve a page meanwhile; gives the server."""
    with LabelServer(lambda text: None, open_browser=False) as server:
        thread = threading.Thread(target=server.show, args=(page,))
        thread.start()
        try:
            yield server
        finally:
            page.over.set()
            thread.join()


def ask(server, place="state", body=None, headers=None):
    """Send a request; return the status and the text, or the JSON."""
    plain = {"Content-Type": "application/json"} if body is not None else {}
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(server.address + place, data, {**plain, **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            text = response.read().decode()
            return response.status, json.loads(text) if place == "state" else text
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_labeling_by_requests(tmp_path):
    session, truth = begin(tmp_path, budget=30)
    with session, served(Page(session)) as server:
        _, state = ask(server)
        assert state["n_labels"] == 0
        assert state["classes"] == ["no", "yes"]
        assert "Wanted: with probability 90%, at least 70%" in state["promise"]
        while state["row"]:
            row = state["row"]["id"]
            shown = {cell["name"]: cell["value"] for cell in state["row"]["cells"]}
            assert shown["note"] == session.pool.cells["note"][session.pool.place[row]]
            label = truth_of(session, truth, row)
            _, state = ask(server, body={"do": "answer", "row": row, "label": label})
            assert session.answers[row] == label  # kept before the next question
        assert state["n_labels"] <= 30
        assert state["line"].startswith(f"{len(session.answers)} labels: ")
        last = list(session.answers)[-1]
        _, state = ask(server, body={"do": "undo"})
        assert state["row"]["id"] == last
        _, state = ask(server, body={"do": "answer", "row": last, "label": None})
        assert session.answers[last] is None
        _, report = ask(server, "report")
        assert state["promise"].replace("'", "&#x27;") in report
        _, state = ask(server, body={"do": "stop"})
        assert state["is_over"]


def test_stale_and_senseless_requests(tmp_path):
    session, _ = begin(tmp_path)
    page = Page(session)
    with session, served(page) as server:
        _, state = ask(server)
        first = state["row"]["id"]
        _, state = ask(server, body={"do": "later", "row": first})
        assert state["row"]["id"] != first
        _, state = ask(server, body={"do": "answer", "row": first, "label": "yes"})
        assert "was answered in another window" in state["trouble"]
        for request in (
            {},
            {"do": "fly"},
            {"do": "answer"},
            {"do": "answer", "row": [1], "label": {}},
        ):
            ask(server, body=request)
        assert not session.answers
        assert not page.over.is_set()
        _, state = ask(server, body={"do": "answer", "row": state["row"]["id"], "label": "maybe"})
        assert "none of the classes" in state["trouble"]
        assert isinstance(page.failure, DataError)
        assert state["is_over"]


def test_a_changed_file_ends_the_page(tmp_path):
    session, _ = begin(tmp_path)
    with session, served(Page(session)) as server:
        _, state = ask(server)
        with open(tmp_path / "notes.csv", "a") as file:
            file.write("9999,2024-01-01,new,0.5,yes\n")
        _, state = ask(server, body={"do": "answer", "row": state["row"]["id"], "label": "yes"})
        assert "has changed since the session began" in state["trouble"]
        assert state["is_over"]
        assert not session.answers


STRANGERS = [
    ({"place": "../wrong/state"}, 404),
    ({"place": "other"}, 404),
    ({"headers": {"Host": "evil.example"}}, 404),
    ({"headers": {"Origin": "http://evil.example"}}, 404),
    ({"body": {"do": "stop"}, "headers": {"Content-Type": "text/plain"}}, 404),
    ({"body": {"do": "stop"}, "headers": {"Origin": "null"}}, 404),
    ({"body": b"x" * 200_000}, 404),
    ({"body": b"{"}, 400),
    ({"body": b"[" * 50_000}, 400),
    ({"body": b"[1]"}, 400),
]


@pytest.mark.parametrize(("request_", "status"), STRANGERS)
def test_requests_that_are_refused(request_, status, tmp_path):
    session, _ = begin(tmp_path, "none", n=5)
    page = Page(session)
    with session, served(page) as server:
        try:
            assert ask(server, **request_)[0] == status
        except (ConnectionError, urllib.error.URLError):
            assert len(request_["body"]) > 100_000  # it was not even read
        assert not page.over.is_set()
        assert ask(server)[0] == 200


def test_the_document_lets_nothing_else_in(tmp_path):
    session, _ = begin(tmp_path, "none", n=5)
    with session, served(Page(session)) as server:
        with urllib.request.urlopen(server.address, timeout=10) as response:
            policy, text = response.headers["Content-Security-Policy"], response.read().decode()
        assert "default-src 'none'" in policy
        nonce = policy.split("'nonce-")[1].split("'")[0]
        assert f'nonce="{nonce}"' in text
        assert "http" not in asset("page.js").replace("http-equiv", "")


def test_the_first_question_is_the_budget(tmp_path):
    session, _ = begin(tmp_path)
    session.close()
    page = BudgetPage(session.job)
    with served(page) as server:
        _, state = ask(server)
        assert state["question"] == "How many rows can you label?"
        for wrong in ("", "-1", "0", "1e9", 10**9, None):
            _, state = ask(server, body={"number": wrong})
            assert not state["is_answered"]
        _, state = ask(server, body={"number": "120"})
        assert state["is_answered"]
    assert page.budget == 120


def test_a_person_is_not_led(tmp_path):
    session, _ = begin(tmp_path, "error")
    with session:
        names = [cell["name"] for cell in Page(session).state()["row"]["cells"]]
        assert "given" not in names
        assert Page(session, ["given"]).show == ["given"]
        with pytest.raises(DataError, match="there is no column 'txt'"):
            Page(session, ["txt"])


def test_pictures():
    cells = pd.Series(["0", "255", "", "51"])
    assert picture(cells, "2x2").startswith("data:image/svg+xml;base64,")
    for size in ("3x2", "x", "2x", "4"):
        with pytest.raises(DataError, match="there are 4 columns, which must be the numbers"):
            picture(cells, size)


def test_a_picture_in_place_of_cells(tmp_path):
    path = tmp_path / "digits.csv"
    path.write_text("a,b,c,d,name\n" + "".join(f"{k},0,255,9,digit {k}\n" for k in range(30)))
    pool = Pool(path)
    job = LabelingJob("none", 0.0, 0.9, None, ["0", "1"])
    order = list(range(30))
    with LabelSession.begin(pool, job, np.zeros(30), tmp_path / "d.label", order=order) as session:
        (cell,) = Page(session, list("abcd"), "2x2").state()["row"]["cells"]
        assert cell["image"].startswith("data:image/svg")
        with pytest.raises(DataError, match=r"there are 5 columns, which must be the numbers"):
            Page(session, image="2x2")


def test_the_notebook_shows_the_same_page(tmp_path):
    pytest.importorskip("anywidget")
    from semisvm.label.widget import LabelWidget

    session, _ = begin(tmp_path)
    with session:
        widget = LabelWidget(session)
        row = widget.state["row"]["id"]
        sent = []
        widget.send = sent.append
        widget._receive(widget, {"do": "answer", "row": row, "label": "yes", "id": 7}, [])
        assert session.answers == {row: "yes"}
        assert widget.state["n_labels"] == 1
        assert sent == [{"id": 7}]
        widget.close()


@pytest.mark.skipif(browser.find() is None, reason=browser.NONE)
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(width, tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = browser.find()
    session, _ = begin(tmp_path)
    page = Page(session)
    with session, served(page) as server, sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=str(chromium),
            args=list(browser.ARGUMENTS),
            env=browser.environment(chromium),
        )
        window = opened.new_page(viewport={"width": width, "height": 800})
        troubles = []
        window.on("pageerror", lambda error: troubles.append(str(error)))
        window.on("console", lambda message: troubles.append(message.text))
        window.goto(server.address)
        window.wait_for_selector(".classes button")
        window.keyboard.press("2")
        window.locator(".verdict", has_text="1 label:").wait_for()
        window.get_by_role("button", name="Don't know").click()
        window.locator(".verdict", has_text="2 labels:").wait_for()
        assert list(session.answers.values()) == ["yes", None]
        assert window.evaluate("document.documentElement.scrollWidth") <= width
        assert window.evaluate(browser.UNNAMED) == []
        assert window.evaluate(browser.CONTRAST) == []
        window.keyboard.press("q")
        assert page.over.wait(5)
        opened.close()
    assert troubles == []
