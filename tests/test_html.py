"""Results as notebooks show them: the same sentences as the text, escaped, readable in light and
dark, with a drawing.
"""

import re
from dataclasses import replace

import numpy as np
import pytest

from browser import CONTRAST
from report_html import HOSTILE, read_html
from report_summaries import EMPTY, binary_summary, make_comparison, multiclass_summary
from semisvm import Campaign, Monitor
from semisvm.decision import Target, choose
from semisvm.tables.sentences import first_screen


def labeled_campaign(n_labels, **target):
    scores = np.linspace(-2, 2, 400)
    truth = (scores + np.random.default_rng(0).normal(size=400) / 4 > 0.5).astype(int)
    campaign = Campaign(scores, seed="00", **(target or {"min_precision": 0.8}))
    while campaign.n_labels < n_labels:
        rows = campaign.draw(5)
        campaign.tell(rows, truth[rows])
    return campaign


def make_point(**target):
    rng = np.random.default_rng(0)
    sign = rng.choice([-1, 1], 80)
    return choose(sign + rng.normal(size=80), sign, Target(**target), level="cross-fitted")


def alarmed_monitor():
    monitor = Monitor(0.0, min_precision=0.9)
    rows = monitor.draw(np.linspace(-1, 1, 200), 60)
    monitor.tell(rows, np.zeros(len(rows)))
    return monitor.verdict()


MAKERS = {
    "alarm": alarmed_monitor,
    "point": lambda: make_point(min_precision=0.9),
    "missed": lambda: make_point(min_precision=0.999, min_recall=0.999),
    "costs": lambda: make_point(costs=(5.0, 1.0)),
    "verdict": lambda: labeled_campaign(20).verdict(),
    "certified": lambda: labeled_campaign(80).verdict(),
    "recall": lambda: labeled_campaign(30, min_recall=0.8).verdict(),
    "campaign": lambda: labeled_campaign(10),
    "prices": lambda: labeled_campaign(0).prices(),
    "summary": binary_summary,
    "classes": multiclass_summary,
    "empty": lambda: EMPTY,
    "comparison": make_comparison,
}


@pytest.fixture(scope="module")
def results():
    """One result of each kind."""
    return {name: make() for name, make in MAKERS.items()}


def page_of(result):
    return f"<!doctype html><title>x</title>{result._repr_html_()}"


def words(page):
    tree = read_html(page)
    for element in tree.iter("style"):
        element.text = ""
    return " ".join(" ".join(tree.itertext()).split())


@pytest.mark.parametrize("name", MAKERS)
def test_every_result_is_well_formed_and_small(results, name):
    page = page_of(results[name])
    read_html(page)
    assert len(page) < 30_000
    assert not re.search(r"\bnan\b|\binf\b|–", words(page))


def test_the_sentences_are_those_of_the_text(results):
    for name in ("verdict", "certified", "recall", "alarm"):
        for sentence in results[name].reason.split(". "):
            assert sentence in words(page_of(results[name]))
    for line in str(results["point"]).splitlines():
        if not line.strip().startswith(("precision ", "recall ", "F1 ")):
            assert line.strip() in words(page_of(results["point"]))
    for line in first_screen(results["summary"]).lines:
        assert line in words(page_of(results["summary"]))
    assert results["comparison"].verdict in words(page_of(results["comparison"]))


def test_numbers_stand_beside_their_intervals(results):
    point = results["point"]
    value, low, high = point.precision
    assert f"{value:.3f} ({low:.3f} to {high:.3f})" in words(page_of(point))
    assert page_of(point).count('class="asked"') == 1
    assert page_of(results["summary"]).count('class="interval"') == 2
    assert "10 labels so far, about" in words(page_of(results["campaign"]))
    assert "to go" not in words(page_of(results["certified"]))  # what was asked for is proved


def test_no_text_becomes_markup(results):
    summary = replace(binary_summary(), classes=("a", HOSTILE), positive=HOSTILE)
    points = summary.operating_points
    summary = replace(summary, operating_points={HOSTILE: next(iter(points.values()))})
    comparison = replace(
        make_comparison(),
        verdict=HOSTILE,
        measure=HOSTILE,
        baseline=HOSTILE,
        left_out={HOSTILE: HOSTILE},
    )
    point = replace(results["point"], reason=HOSTILE)
    verdict = replace(results["verdict"], reason=HOSTILE)
    for result in (summary, comparison, point, verdict):
        tree = read_html(page_of(result))
        assert not list(tree.iter("img"))
        assert not list(tree.iter("script"))
        assert HOSTILE in "".join(tree.itertext())


@pytest.mark.parametrize("theme", ["light", "dark", "Jupyter", "VS Code"])
def test_it_can_be_read_in_every_theme(chromium, results, theme):
    """The theme of the notebook counts, and that of the system where there is none."""
    wrappers = {"Jupyter": 'data-jp-theme-light="false"', "VS Code": 'class="vscode-dark"'}
    is_dark = theme != "light"
    cards = "".join(result._repr_html_() for result in results.values())
    page = chromium.new_page(
        viewport={"width": 390, "height": 800},
        color_scheme="dark" if theme == "dark" else "light",
    )
    page.set_content(f"<!doctype html><body {wrappers.get(theme, '')}>{cards}</body>")
    assert page.evaluate(CONTRAST) == []
    back = page.locator(".semisvm-card").first.evaluate("e => getComputedStyle(e).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", back)[:3])) < 200) == is_dark
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
