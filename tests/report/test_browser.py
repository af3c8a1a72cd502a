"""The page in a browser: charts and slider work without error or request, on a phone, in dark
mode, by keyboard.
"""

import re
from dataclasses import replace

import pytest

from browser import CONTRAST, UNNAMED
from report_summaries import (
    EMPTY,
    binary_summary,
    make_campaign,
    make_comparison,
    multiclass_summary,
)
from semisvm.report import render_page, write_page
from semisvm.report.charts import tabulate
from semisvm.tables.summary import ErrorCosts, FeatureSummary

HOSTILE = "</script><img src=x onerror=alert(1)>"
WIDE = {"width": 1100, "height": 900}
NARROW = {"width": 360, "height": 740}


@pytest.fixture
def show(chromium, tmp_path):
    """Open the page of a summary; an error or a request of the page fails the test at its end."""
    complaints = []
    contexts = []

    def open_page(summary, *, viewport=WIDE, colors="light", scripts=True):
        context = chromium.new_context(
            viewport=viewport, color_scheme=colors, java_script_enabled=scripts
        )
        contexts.append(context)
        page = context.new_page()
        path = write_page(summary, tmp_path / "report.html", force=True)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message) or dialog.dismiss())
        page.on(
            "request",
            lambda request: request.url == path.as_uri() or complaints.append(request.url),
        )
        # errors that are reported nowhere else, such as an observer that triggers itself
        page.add_init_script(
            "window.addEventListener('error', (event) => console.error(event.message))"
        )
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def text(page, selector):
    return page.locator(selector).first.inner_text()


def test_moving_the_slider_shows_what_that_threshold_gives(show):
    summary = binary_summary()
    page = show(summary)
    point = summary.operating_points["malignant"]
    scores = summary.scores["malignant"]
    table = tabulate(scores, confidence=0.9, beta=1.0, chosen=point.threshold)
    columns = table.columns
    slider = page.locator("[data-slider]")
    assert slider.input_value() == str(table.chosen)
    assert text(page, "td[data-now=recall] .value") == f"{point.recall.value:.3f}"
    curve = page.locator("[data-chart=curve] svg").inner_html()
    bins = page.locator("[data-chart=bins]").inner_html()
    seen = set()
    for k in (0, 10, len(columns["cut"]) - 10):
        slider.fill(str(k))
        for name in ("precision", "recall", "f_score"):
            assert text(page, f"td[data-now={name}] .value") == f"{columns[name][k]:.3f}"
            bounds = f"{columns[name + '_low'][k]:.3f} to {columns[name + '_high'][k]:.3f}"
            assert text(page, f"td[data-now={name}] .interval") == bounds
        accepted = columns["tp"][k] + columns["fp"][k]
        assert text(page, "td[data-now=accepted] .value") == str(accepted)
        assert text(page, "td[data-now=unlabeled] .value") == str(columns["unlabeled"][k])
        errors = (columns["fn"][k] + columns["fp"][k]) / 57
        assert text(page, "td[data-now=cost] .value") == f"{errors:.3f}"
        seen.add(text(page, "td[data-now=accepted] .value"))
    assert len(seen) == 3
    page.wait_for_function(
        "before => document.querySelector('[data-chart=curve] svg').innerHTML !== before", arg=curve
    )
    page.wait_for_function(
        "before => document.querySelector('[data-chart=bins]').innerHTML !== before", arg=bins
    )
    assert text(page, "td[data-chosen=recall] .value") == f"{point.recall.value:.3f}"
    page.locator("[data-reset]").click()
    assert slider.input_value() == str(table.chosen)
    assert text(page, "td[data-now=recall] .value") == f"{point.recall.value:.3f}"


def test_the_slider_is_moved_by_keys_and_read_aloud(show):
    page = show(binary_summary())
    slider = page.locator("[data-slider]")
    before = int(slider.input_value())
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert int(slider.input_value()) == before + 1
    page.keyboard.press("End")
    assert (
        slider.get_attribute("aria-valuetext") == "accept no row: precision undefined, recall 0.000"
    )
    assert text(page, "td[data-now=precision]").split() == ["undefined", "nothing", "accepted"]


def test_a_click_on_the_curve_moves_there(show):
    page = show(binary_summary())
    chart = page.locator("[data-chart=curve]")
    box = chart.bounding_box()
    chart.click(position={"x": box["width"] * 0.5, "y": 40})
    assert 0.3 < float(text(page, "td[data-now=recall] .value")) < 0.7


def test_costs_can_be_tried_out(show):
    page = show(replace(binary_summary(), costs=ErrorCosts(10, 1)))
    assert page.locator("[data-cost=missed]").input_value() == "10"
    page.locator("[data-slider]").fill("57")
    before = float(text(page, "td[data-now=cost] .value"))
    page.locator("[data-cost=missed]").fill("20")
    assert float(text(page, "td[data-now=cost] .value")) == pytest.approx(2 * before, abs=2e-3)
    page.locator("[data-cost=missed]").fill("")
    assert float(text(page, "td[data-now=cost] .value")) == pytest.approx(2 * before, abs=2e-3)


def test_a_class_is_chosen_and_alone_is_shown(show):
    page = show(multiclass_summary())
    assert page.locator("article:visible").count() == 1
    page.select_option("#which", label="virginica")
    assert text(page, "article:visible .soft") == "Class virginica"
    page.locator("article:visible [data-slider]").fill("3")
    page.locator("article:visible [data-chart=curve] svg").wait_for()
    page.get_by_role("link", name="versicolor").click()
    assert page.locator("#which").input_value() == "answer-1"
    page.emulate_media(media="print")
    assert page.locator("article:visible").count() == 3


def compared_summary():
    """Two classes, with methods compared and a campaign."""
    return replace(binary_summary(), comparison=make_comparison(), campaign=make_campaign())


@pytest.mark.parametrize(
    "make_summary",
    [compared_summary, multiclass_summary, lambda: EMPTY],
    ids=["binary", "multiclass", "empty"],
)
@pytest.mark.parametrize("colors", ["light", "dark"])
def test_text_has_enough_contrast_and_controls_have_names(show, make_summary, colors):
    page = show(make_summary(), colors=colors)
    page.locator("details").evaluate_all("all => all.forEach((part) => { part.open = true; })")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(UNNAMED) == []


def test_dark_is_dark_and_paper_is_white(show):
    page = show(binary_summary(), colors="dark")
    back = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(back) != "rgb(255, 255, 255)"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(back) == "rgb(255, 255, 255)"


@pytest.mark.parametrize(
    "summary",
    [
        binary_summary(),
        binary_summary(n_labeled=200_000),
        multiclass_summary(["long " * 20, "x" * 200, "c"]),
    ],
    ids=["few rows", "many rows", "long names"],
)
def test_nothing_is_wider_than_a_phone(show, summary):
    data = replace(summary.data, features=(FeatureSummary("f" * 300, "number"),))
    summary = replace(
        summary,
        data=data,
        notes=("w" * 300,),
        comparison=make_comparison(),
        campaign=make_campaign(),
    )
    page = show(summary, viewport=NARROW)
    page.locator("details").evaluate_all("all => all.forEach((part) => { part.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    narrow = page.locator("[data-chart=curve] svg").first.bounding_box()["width"]
    assert 250 < narrow <= NARROW["width"]
    page.set_viewport_size(WIDE)
    width = "document.querySelector('[data-chart=curve] svg').getBoundingClientRect().width"
    page.wait_for_function(f"before => {width} > before", arg=narrow)


def test_every_chart_is_drawn(show):
    page = show(compared_summary())
    page.locator("[data-chart=comparison] svg").wait_for()
    count = {"audit": 3, "curve": 1, "bins": 2, "comparison": 1, "campaign": 2}
    assert {name: page.locator(f"[data-chart={name}] svg").count() for name in count} == count


def test_hostile_names_neither_run_nor_break_the_page(show):
    summary = replace(
        multiclass_summary([HOSTILE, "b", "c"]),
        title=HOSTILE,
    )
    page = show(summary)
    assert page.title() == HOSTILE
    assert page.locator("img").count() == 0


def test_markup_smuggled_in_could_neither_run_nor_ask_for_anything(chromium):
    image = "<img src='http://127.0.0.1:9/x' onerror='document.title = \"run\"'>"
    smuggled = f"{image}<script>document.title = 'run'</script>"
    page = chromium.new_page()
    requests = []
    refusals = []
    page.on("requestfinished", lambda request: requests.append(request.url))
    page.on("console", lambda message: refusals.append(message.text))
    page.set_content(
        render_page(replace(EMPTY, title="plain")).replace("<main", smuggled + "<main")
    )
    assert page.title() == "plain"
    assert requests == []
    assert len([line for line in refusals if "Content Security Policy" in line]) >= 2
    page.close()


def test_without_scripts_the_tables_hold_the_figures(show):
    page = show(multiclass_summary(), scripts=False)
    assert page.locator("article:visible").count() == 3
    assert "Scripts are disabled" in text(page, "noscript")
    assert re.search(r"\(chosen\)", page.content())


def test_a_campaign_is_shown_with_its_claim_and_its_prices(show):
    campaign = make_campaign()
    page = show(replace(binary_summary(), campaign=campaign))
    section = page.locator("section[aria-labelledby=campaign]")
    assert campaign.claim in section.inner_text()
    assert section.locator("tbody tr").count() == len(campaign.thresholds)
    assert section.locator("tbody tr.is-chosen").count() == sum(
        at is not None for at in campaign.certified_at
    )
    assert page.locator("nav a[href='#campaign']").count() == 1
    assert show(binary_summary()).locator("#campaign").count() == 0
