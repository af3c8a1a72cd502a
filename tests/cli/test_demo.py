"""`semisvm demo`: the main job end to end, into a folder of its own."""

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from playwright.sync_api import sync_playwright

import browser
from semisvm.tables import load


def demo(folder, *arguments):
    code = "from semisvm.cli import main; main()"
    command = [sys.executable, "-c", code, "demo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder, check=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What a run writes if there is already a folder of the default name, with a file in it."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "semisvm-demo").mkdir()
    (folder / "semisvm-demo" / "report.html").write_text("mine")
    done = demo(folder)
    assert done.returncode == 0, done.stderr
    return SimpleNamespace(folder=folder, out=folder / "semisvm-demo-2", printed=" ".join(done.stdout.split()))


def test_the_demo_does_the_main_job_and_explains_it(made):
    for words in (
        "Looking for: malignant",
        "Asked: it should find at least 97% of all malignant. On your labels: kept",
        "On new rows: ",
        "What the hidden labels say",
        "an ordinary SVM",
        "Read the interval, not the point: 22 malignant rows",
        "semisvm suggest semisvm-demo-2/cancer.skops semisvm-demo-2/samples.csv -n 50",
        "semisvm certify start semisvm-demo-2/cancer.skops semisvm-demo-2/samples.csv --min-recall 0.97",
    ):
        assert words in made.printed, words
    found = re.search(r"Asked 0.97, found (0\.\d+|1\.000): (kept|missed), (inside|outside) the interval", made.printed)
    assert found[2] == ("kept" if float(found[1]) >= 0.97 else "missed")


def test_it_leaves_a_model_a_report_and_the_tables_in_a_new_folder(made):
    files = {file.name for file in made.out.iterdir()}
    assert files == {"samples.csv", "hidden-labels.csv", "cancer.skops", "report.html"}
    for name in ("cancer.skops", "report.html"):
        assert f"semisvm-demo-2/{name}" in made.printed
    assert (made.folder / "semisvm-demo" / "report.html").read_text() == "mine"
    assert load(made.out / "cancer.skops").summary.operating_points["malignant"].target.min_recall == 0.97


def test_nine_labels_in_ten_are_hidden_and_kept_apart(made):
    rows = (made.out / "samples.csv").read_text().splitlines()[1:]
    hidden = (made.out / "hidden-labels.csv").read_text().splitlines()[1:]
    labels = [row.rpartition(",")[2] for row in rows]
    assert [labels.count(label) for label in ("", "benign")] == [512, 57 - labels.count("malignant")]
    unlabeled = [row.rpartition(",")[0] for row in rows if row.endswith(",")]
    assert unlabeled == [row.rpartition(",")[0] for row in hidden]
    assert {row.rpartition(",")[2] for row in hidden} == {"benign", "malignant"}


def test_its_report_opens_without_an_error_or_a_request(made):
    found = browser.find()
    if found is None:
        pytest.skip(browser.NONE)
    complaints, address = [], (made.out / "report.html").as_uri()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=found, args=browser.ARGUMENTS, env=browser.environment(found)
        )
        page = running.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url == address or complaints.append(request.url))
        page.goto(address)
        assert "recall at least 0.97" in page.locator("h1").inner_text()
        before = page.locator("td[data-now=precision]").inner_text()
        page.locator("[data-slider]").fill("5")
        assert page.locator("td[data-now=precision]").inner_text() != before
        page.locator("[data-chart=rounds] svg, [data-chart=bins] svg").first.wait_for()
        running.close()
    assert complaints == []


def test_a_folder_that_holds_something_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    done = demo(tmp_path, "--out", str(tmp_path))
    assert done.returncode == 2
    assert "choose another --out" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
