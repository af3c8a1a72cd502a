"""The report: one small page of HTML that needs nothing, and opens with what is promised."""

import re

import html5lib
import pytest

from helpers.sessions import answer, begin
from semisvm.label import words
from semisvm.report import page_of_fit, page_of_session, write_page
from semisvm.tables.model import TableModel
from semisvm.tables.summary import Interval, Summary

BAD = '<script>alert("x")</script>&'
STRANGE = Summary(
    data=f"/somewhere/{BAD}.csv",
    target=BAD,
    classes=["no", BAD],
    positive=BAD,
    labels={"no": 3, BAD: 4},
    n_unlabeled=0,
    columns={BAD: "number"},
    left_out={BAD: BAD},
    remarks={BAD: BAD},
    method="autosvc",
    wants="precision at least 0.9",
    is_reached=False,
    figures={"precision": Interval(0.5, 0.1, 0.9)},
    gain=None,
    scores=[0.25, 0.25],
    weights={BAD: 1.0},
)


def check(page):
    """Whatever is on it: it is HTML, small, without scripts, and asks for nothing from outside."""
    html5lib.HTMLParser(strict=True).parse(page)
    assert len(page.encode()) < 20_000
    assert "<script" not in page.lower()
    assert not re.search(r"(?:src|href)=|url\(|@import|http", page.split("</style>")[1])


def test_of_a_fit(fitted, tmp_path):
    summary = TableModel.load(fitted / "loans.skops").summary
    page = page_of_fit(summary)
    check(page)
    assert page.index(
        "Nothing is promised yet: the threshold was chosen for fewest errors."
    ) < page.index("<h2>")
    assert str(summary.figures["recall"]) in page
    write_page(tmp_path / "r.html", page)
    assert (tmp_path / "r.html").read_text() == page


@pytest.mark.parametrize("scores", [[], [0.0], [1.0] * 5, [-2.0, 3.0], [0.25, 0.25], [1e-300, 1.0]])
def test_of_any_record(scores):
    page = page_of_fit(Summary(**{**vars(STRANGE), "scores": scores}))
    check(page)
    assert "No threshold reaches that on these labels: the nearest." in page
    bars = re.findall(
        r'x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="[\d.]+" class="(\w+)"', page
    )
    assert bool(bars) == bool(scores)
    line = float(re.search(r'x1="([\d.]+)"', page)[1]) if scores else 0
    for x, width, kind in bars:  # no bar stands on both sides of the line
        assert (
            float(x) >= line - 0.1 if kind == "accepted" else float(x) + float(width) <= line + 0.1
        )


@pytest.mark.parametrize("promise", ["precision", "recall", "error", "none"])
def test_of_a_session(promise, tmp_path):
    session, truth = begin(tmp_path, promise, n=800, budget=150)
    with session:
        check(page_of_session(session))
        for _ in range(8):
            answer(session, truth)
        verdict, page = session.verdict(), page_of_session(session)
        promised = words.promise_line(verdict, session.job).replace("'", "&#x27;")
    check(page)
    assert page.index(promised) < page.index("<h2>")
    assert f"<td>{verdict.n_free:,}</td>" in page
    widths = re.findall(r'width="([\d.]+)" height="24.0"', page)
    assert sum(map(float, widths)) == pytest.approx(600, abs=0.5)
