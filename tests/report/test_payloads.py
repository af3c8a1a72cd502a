"""A table made to harm whoever looks at it: markup and scripts in the names of columns, in cells and
in class names, from a file to the report and to the page for labeling, in a real browser.
"""

import threading

import numpy as np
import pandas as pd
import pytest

from semisvm.campaign.labeling.server import LabelServer
from semisvm.cli.commands import run
from semisvm.tables.label import open_session

# Each would set window.harmed, open a dialog or ask for a foreign address, if it were more than text.
PAYLOADS = (
    "<script>window.harmed=1</script>",
    "</script><script>window.harmed=1</script>",
    "<img src=x onerror=window.harmed=1>",
    "<svg/onload=alert(1)>",
    '"><svg onload=window.harmed=1>',
    "' onmouseover=window.harmed=1 x='",
    '" autofocus onfocus="window.harmed=1',
    "<iframe srcdoc='<script>parent.harmed=1</script>'>",
    "<details open ontoggle=window.harmed=1>",
    "<a href=javascript:window.harmed=1>x</a>",
    "javascript:window.harmed=1",
    "data:text/html,<script>alert(1)</script>",
    "<style>@import'http://evil.example/'</style>",
    "<link rel=stylesheet href=http://evil.example/>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<base href=http://evil.example/>",
    "<!--<script>",
    "]]><script>window.harmed=1</script>",
    "</textarea></title></style><img src=x onerror=alert(1)>",
    "{{7*7}}{% raw %}${7*7}<%= 7*7 %>",
    "\\u003cscript\\u003ewindow.harmed=1\\u003c/script\\u003e",
    "&lt;script&gt;window.harmed=1&lt;/script&gt;",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "\u2028window.harmed=1\u2029",
)
CLASSES = ("</script><svg onload=alert(1)>", "\"'><img src=x onerror=window.harmed=1>")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file with a payload in every place."""
    random = np.random.default_rng(0)
    n = 240
    truth = np.arange(n) % 2
    harmful = random.choice(PAYLOADS, n)
    frame = pd.DataFrame(
        {
            PAYLOADS[1]: random.normal(size=n) + 2 * truth,
            PAYLOADS[4]: random.choice(PAYLOADS[:6], n),  # categories
            PAYLOADS[6]: [f"{text} {number} {text}" for number, text in enumerate(harmful)],
            **{name: random.normal(size=n) for name in PAYLOADS[10:14]},
            "y": np.where(np.arange(n) % 3 == 0, "", np.array(CLASSES)[truth]),
        }
    )
    path = tmp_path_factory.mktemp("payloads") / "t.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(table):
    """The model of the table, after the report of it was written."""
    model = str(table.parent / "m.skops")
    words = ["--target", "y", "--positive", CLASSES[1], "--min-precision", "0.7", "--out", model]
    assert run(["fit", str(table), *words]) in (0, 1)
    assert run(["report", model, str(table), "--out", str(table.parent / "r.html")]) == 0
    return table.parent


@pytest.fixture
def visit(chromium):
    """Open an address; whatever the page does but show itself fails the test."""
    complaints = []
    context = chromium.new_context(viewport={"width": 1100, "height": 900})

    def open_page(address):
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message) or dialog.dismiss())
        page.on(
            "request",
            lambda request: request.url.startswith(address) or complaints.append(request.url),
        )
        page.goto(address)
        return page

    def look_around(page):
        """Unfold, point at and focus everything, as a reader does."""
        page.locator("details").evaluate_all("all => { for (const part of all) part.open = true; }")
        page.evaluate(
            """() => { for (const part of document.querySelectorAll("body *")) {
                part.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
                if (part.focus) part.focus();
            } }"""
        )
        page.wait_for_timeout(200)
        assert page.evaluate("window.harmed") is None
        assert page.locator("[onload], [onerror], [onfocus], [ontoggle], iframe, base").count() == 0
        assert page.locator("a[href^=javascript], a[href^=data]").count() == 0

    yield open_page, look_around
    context.close()
    assert complaints == []


def test_the_report_shows_payloads_as_text(fitted, visit):
    open_page, look_around = visit
    page = open_page((fitted / "r.html").as_uri())
    look_around(page)
    shown = page.locator("body").text_content()
    assert CLASSES[1] in shown
    assert PAYLOADS[1] in shown  # the name of a column that decides


def test_the_page_for_labeling_shows_payloads_as_text(fitted, table, visit):
    open_page, look_around = visit
    session = open_session(
        fitted / "m.skops", table, fitted / "a.campaign", min_precision=0.7, seed="00"
    )
    with LabelServer(session) as server:
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        page = open_page(server.address)
        page.locator(".classes button").first.wait_for()
        for _ in range(12):
            look_around(page)
            shown = page.locator("[data-part=row]").text_content()
            assert PAYLOADS[6] in page.locator("body").text_content()
            page.locator("body").press("1")
            page.wait_for_function(
                "before => document.querySelector('[data-part=row]').textContent !== before",
                arg=shown,
            )
        labels = page.locator(".classes button").all_text_contents()
        assert all(any(name in label for label in labels) for name in CLASSES)
        server.shutdown()
    assert session.campaign.n_labels == 12


def test_the_payloads_harm_a_page_that_does_not_escape_them(chromium, tmp_path):
    """So that the tests above can fail."""
    context = chromium.new_context()
    dialogs = []
    harmful = []
    for number, payload in enumerate(PAYLOADS[:5]):
        path = tmp_path / f"{number}.html"
        path.write_text(f"<!doctype html><body><p>{payload}</p></body>")
        page = context.new_page()
        page.on("dialog", lambda dialog: dialogs.append(dialog.message) or dialog.dismiss())
        before = len(dialogs)
        page.goto(path.as_uri())
        page.wait_for_timeout(200)
        harmful.append(page.evaluate("window.harmed") == 1 or len(dialogs) > before)
    context.close()
    assert all(harmful)
