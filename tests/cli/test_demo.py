"""`semisvm demo`: label until certified, end to end, into a folder of its own."""

import contextlib
import io
import re
from types import SimpleNamespace

import pytest

from command_line import run_command
from semisvm.cli.commands import run
from semisvm.tables import load
from semisvm.tables.label import open_session


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What a run writes if there is already a folder of the default name, with a file in it."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "semisvm-demo").mkdir()
    (folder / "semisvm-demo" / "report.html").write_text("mine")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as stdout:
        assert run(["demo"]) == 0
    printed = stdout.getvalue()
    return SimpleNamespace(
        folder=folder,
        out=folder / "semisvm-demo-2",
        printed=" ".join(printed.split()),
        n_lines=len(printed.splitlines()),
    )


def test_the_demo_tells_the_story_in_forty_lines(made):
    for words in (
        "has 600 images of digits. 40 of them have a label",
        "the 40 labels prove little: the precision is between",
        "10 labels: not proved yet",
        "rows at least 90% are odd. At most 10% of campaigns like this one are wrong.",
        "semisvm label semisvm-demo-2/model.skops semisvm-demo-2/digits.csv --state"
        " semisvm-demo-2/odd.campaign --image 8x8 --web",
        "semisvm predict semisvm-demo-2/certified.skops semisvm-demo-2/digits.csv",
        "semisvm fit YOUR.csv --target COLUMN",
    ):
        assert words in made.printed, words
    assert made.n_lines <= 40


def test_the_unlabeled_rows_help_and_the_promise_is_kept(made):
    found = int(re.search(r"it can find (\d+)% of the odd digits", made.printed)[1])
    alone = int(re.search(r"without the unlabeled rows, can find (\d+)%", made.printed)[1])
    assert found > alone
    assert load(made.out / "model.skops").summary.method.name == "autosvc"
    assert (
        float(
            re.search(r"called odd\. The hidden labels say: precision (\d\.\d+)", made.printed)[1]
        )
        >= 0.9
    )


def test_it_leaves_models_predictions_and_a_report_in_a_new_folder(made):
    files = {file.name for file in made.out.iterdir()}
    assert files == {
        "digits.csv",
        "model.skops",
        "model.skops.ledger",
        "odd.campaign",
        "certified.skops",
        "predicted.csv",
        "report.html",
    }
    assert (made.folder / "semisvm-demo" / "report.html").read_text() == "mine"
    point = load(made.out / "certified.skops").summary.operating_points["odd"]
    assert (point.target.min_precision, point.level) == (0.9, "certified by sampling")


def test_all_but_forty_labels_are_hidden(made):
    labels = [
        row.rpartition(",")[2] for row in (made.out / "digits.csv").read_text().splitlines()[1:]
    ]
    assert len(labels) == 600
    assert labels.count("odd") + labels.count("even") == 40
    assert labels.count("") == 560


def test_its_campaign_goes_on_with_pictures(made):
    session = open_session(
        made.out / "model.skops", made.out / "digits.csv", made.out / "odd.campaign", image="8x8"
    )
    picture, *rest = session.shown(session.row())
    assert picture.pixels.shape == (8, 8)
    assert rest == []


def test_its_report_opens_without_an_error_or_a_request(made, chromium):
    complaints = []
    address = (made.out / "report.html").as_uri()
    page = chromium.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: request.url == address or complaints.append(request.url))
    page.goto(address)
    assert "precision at least 0.9" in page.locator("h1").inner_text()
    before = page.locator("td[data-now=precision]").inner_text()
    page.locator("[data-slider]").fill("5")
    assert page.locator("td[data-now=precision]").inner_text() != before
    page.locator("[data-chart=bins] svg").first.wait_for()
    page.close()
    assert complaints == []


def test_a_folder_that_holds_something_is_refused(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    done = run_command(capsys, "demo", "--out", tmp_path)
    assert done.code == 2
    assert "choose another --out" in done.err
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
