"""PSVM: each line runs the variant it is named for, figures of records made by hand, and killed
runs that resume.
"""

from collections import Counter
from xml.etree import ElementTree

import pytest

from studies.papers import find_paper
from studies.papers.drawings import STYLES, draw_figures
from studies.papers.psvm.settings import SETS
from studies.papers.results import summarize_paper
from studies.papers.tasks import Paper, cells_of
from study_records import done_record

PAPER = find_paper("psvm")
TABLES = {table.name: table for table in PAPER.tables}
FIGURES = Paper(PAPER.name, PAPER.citation, (TABLES["figure-6"], TABLES["figure-7"]))
SVG = "{http://www.w3.org/2000/svg}"


def results(gain=lambda share: 0.3 - share):
    """Return results in which PSVM takes 10 seconds, TSVM 50, and F1 is 0.5 plus the gain of
    PSVM.
    """
    made = {}
    for table in FIGURES.tables:
        for task in (task for line in table.lines for task in line.tasks):
            is_psvm = task.method == "preference"
            scores = {
                "seconds": 10.0 if is_psvm else 50.0,
                "f1": 0.5 + is_psvm * gain(task.split["labeled"]),
            }
            made |= {(task.key, seed): done_record(task, seed, scores) for seed in range(3)}
    return summarize_paper(FIGURES, list(made.values()))


def texts(svg):
    return [
        "".join(element.itertext()).strip()
        for element in ElementTree.fromstring(svg).iter(f"{SVG}text")
    ]


def test_every_table_names_the_four_sets_but_those_of_preferences():
    for name, table in TABLES.items():
        settings = {line.setting for line in table.lines}
        if name in ("table-3", "table-4"):
            assert {line.task.data for line in table.lines} == {"adult"}
            assert {line.task.params["adjust"] for line in table.lines} == {"paper"}
        elif name == "figure-7":
            assert {line.method for line in table.lines} == set(SETS)
        else:
            assert settings >= set(SETS)


def test_tables_and_expectations_share_their_cells():
    judged = {
        cell.key
        for table in PAPER.tables
        if table.name.startswith("table")
        for cell in cells_of(table)
    }
    assert {cell.key for cell in cells_of(TABLES["expected"])} <= judged
    assert {cell.key for cell in cells_of(TABLES["figure-6"])} <= judged


def test_figure_6_has_a_bar_for_each_method_and_set_and_says_how_much_faster():
    drawing = draw_figures(FIGURES, results())["figure-6"]
    assert {*SETS, "PSVM", "TSVM", "seconds per fit"} <= set(texts(drawing.svg))
    bars = [p.get("style", "") for p in ElementTree.fromstring(drawing.svg).iter(f"{SVG}path")]
    fills = Counter(
        style.split(";")[0] for style in bars if "stroke: #ffffff; stroke-linejoin" in style
    )
    assert sorted(fills.values()) == [5, 5]  # four sets and the legend, in two looks
    assert f"fill: {STYLES['PSVM']['color'].lower()}" in fills
    assert "faster by a factor of 5.0 on adult" in drawing.sentence


@pytest.mark.parametrize(
    ("gain", "falls"), [(lambda share: 0.3 - share, 4), (lambda share: share, 0)]
)
def test_figure_7_has_one_curve_per_set_and_says_whether_the_gain_falls(gain, falls):
    drawing = draw_figures(FIGURES, results(gain))["figure-7"]
    assert {*SETS, "labeled rows, %", "difference in F1"} <= set(texts(drawing.svg))
    assert (
        f"it falls on {falls} of 4 sets, and is positive at 100% of the points" in drawing.sentence
    )
