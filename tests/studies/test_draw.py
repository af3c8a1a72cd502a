"""Figures of records made by hand; what is drawn is read back from the SVG."""

import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from studies.papers import find_paper
from studies.papers.command import reproduce
from studies.papers.drawings import STYLES
from studies.papers.drawings import draw_figures as draw_results
from studies.papers.pages import render_page
from studies.papers.results import summarize_paper
from studies.papers.samples import draw_sample
from studies.papers.scores import FINE_GRID, score
from studies.papers.tasks import Paper
from study_records import done_record

SVG = "{http://www.w3.org/2000/svg}"
PAPER = find_paper("cluster-svm")
TABLES = {table.name: table for table in PAPER.tables if table.figure}
FIGURES = Paper(PAPER.name, PAPER.citation, tuple(TABLES.values()))
RISE = {
    "oracle": 0.01,
    "supervised SVM": 0.05,
    "self-training": 0.06,
}  # how slowly a curve rises; others: proposed
SECONDS = {"SVM": 1e-3, "self-training": 8e-3, "Gaussian mixture": 2e-2}


def draw_figures(paper, records, **how):
    return draw_results(paper, summarize_paper(paper, records), **how)


def render(paper, records, **how):
    return render_page(paper, summarize_paper(paper, records), **how)


def roc_records(*, quick=True, seeds=5, fine=True):
    """Return curves t = x / (x + rise): the slower the rise, the lower the curve."""
    found = []
    for line in TABLES["roc"].lines:
        if line.against is None and (line.quick or not quick):
            rise = RISE.get(line.method, 0.1)
            for seed in range(seeds):
                x = np.array(FINE_GRID)
                curve = np.round((x / (x + rise * (1 + seed / 10))) ** 0.5, 4).tolist()
                curves = {"roc": [0.9] * 10} | ({"roc_fine": curve} if fine else {})
                found.append(done_record(line.task, seed, {"auc": 1 - rise}, curves))
    return found


def timing_records():
    lines = TABLES["timing"].lines
    return [
        done_record(
            line.task,
            seed,
            {"seconds": SECONDS.get(line.method, 5e-3) * line.task.split["n"] / 100},
        )
        for line in lines
        for seed in range(3)
    ]


def texts(svg):
    return [
        "".join(element.itertext()).strip()
        for element in ElementTree.fromstring(svg).iter(f"{SVG}text")
    ]


def heights(svg, color):
    """Return, for every curve of a color with one point per rate, how high it lies on average."""
    found = []
    for path in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        style = path.get("style", "")
        if "fill: none" in style and f"stroke: {color.lower()}" in style:
            points = re.findall(r"[ML] (\S+) (\S+)", path.get("d"))
            if len(points) > 10:  # the sample of a legend has two
                found.append(-np.mean([float(y) for _, y in points]))
    return found


def test_the_roc_figure_has_three_labeled_curves_with_their_areas_in_their_order():
    drawing = draw_figures(FIGURES, roc_records(), quick=True)["roc"]
    assert drawing.file == "cluster-svm-roc.svg"
    shown = texts(drawing.svg)
    assert {"oracle: AUC 0.990", "supervised SVM: AUC 0.950", "proposed, k=20: AUC 0.900"} <= set(
        shown
    )
    assert {
        "false positive rate",
        "true positive rate",
        "standardized, RBF, C=1",
        "(5 splits)",
    } <= set(shown)
    assert not any("self-training" in text for text in shown)
    whole = [
        heights(drawing.svg, color)[0]
        for color in ("#000000", STYLES["supervised SVM"]["color"], "#D55E00")
    ]
    assert whole == sorted(whole, reverse=True)


def test_every_setting_has_its_panel_and_only_splits_that_all_methods_have_are_drawn():
    records = roc_records(quick=False)
    first = TABLES["roc"].lines[0].task  # the oracle of the first setting
    records = [r for r in records if r["seed"] < 3 or r["task"]["method"] != first.method]
    svg = draw_figures(FIGURES, records)["roc"].svg
    assert (
        texts(svg).count("(3 splits)") == len({line.setting for line in TABLES["roc"].lines}) == 3
    )


def test_the_timing_figure_has_every_method_on_both_sets():
    drawing = draw_figures(FIGURES, timing_records())["timing"]
    assert {
        "A1",
        "B1",
        "SVM",
        "self-training",
        "Gaussian mixture",
        "proposed",
        "rows",
        "seconds per fit",
    } <= set(texts(drawing.svg))


def test_the_sentences_say_what_supports_the_paper_and_what_contradicts_it():
    drawings = draw_figures(FIGURES, roc_records() + timing_records(), quick=False)
    roc = drawings["roc"].sentence
    timing = drawings["timing"].sentence
    assert (
        "Over 5 splits the difference of mean areas is -0.050 (standardized, RBF, C=1; k=20)" in roc
    )
    assert (
        "supports the claim in 0 of 1 settings, contradicts it in 1 and leaves it undecided in 0"
        in roc
    )
    assert "the larger one in 0% of the splits" in roc
    given, denied = timing.split("; they contradict")
    assert "support that the supervised SVM is the fastest" in given
    assert "that proposed is faster than the mixture on A1 (0.05 s, 0.2 s)" in given
    assert "all times grow linearly (as rows to the power 1.0 to 1.0)" in given
    assert "that proposed is comparable to self-training on A1" in given
    assert "that proposed becomes slow on B1 (0.05 s, the others at most 0.2 s)" in denied


def test_the_page_shows_the_figure_with_a_text_in_its_place():
    records = roc_records()
    drawings = draw_figures(FIGURES, records, quick=True)
    page = render(FIGURES, records, quick=True, drawings=drawings)
    assert f"![{drawings['roc'].alt}](cluster-svm-roc.svg)\n\nThe paper calls" in page
    assert "No figure: its cells have not run yet." in page  # the timing one
    assert "![" not in render(FIGURES, records, quick=True)


def test_without_matplotlib_the_page_says_how_to_get_the_figures(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    records = roc_records()
    drawings = draw_figures(FIGURES, records, quick=True)
    assert drawings["roc"].svg is None
    assert (
        'No figure: matplotlib is not installed; get it with: pip install "semisvm[plots]".'
        in render(FIGURES, records, quick=True, drawings=drawings)
    )


def test_a_fine_curve_is_the_roc_curve_at_51_rates_to_four_digits():
    class Ranker:
        def predict(self, X):
            return (self.decision_function(X) > 0).astype(int)

        def decision_function(self, X):
            return X[:, 0] - X[:, 0].mean()

    part = draw_sample("wdbc", {"train": 284, "hidden": 0.9, "standardize": True}, 0)
    assert "roc_fine" not in score(Ranker(), part)[1]
    curve = score(Ranker(), part, fine=True)[1]["roc_fine"]
    assert len(curve) == len(FINE_GRID) == 51
    assert FINE_GRID[0] == 0.0
    assert FINE_GRID[-1] == curve[-1] == 1.0
    assert list(FINE_GRID) == sorted(set(FINE_GRID))
    values = Ranker().decision_function(part.X_test)
    truth = part.y_test == 1
    for rate, found in zip(FINE_GRID, curve, strict=True):  # brute force over thresholds
        shares = [
            (np.mean(values[truth] >= t), np.mean(values[~truth] >= t)) for t in (*values, np.inf)
        ]
        assert found == pytest.approx(
            max(hit for hit, false in shares if false <= rate), abs=5.1e-5
        )


@pytest.mark.usefixtures("cells_run_here")
def test_reproduce_writes_the_figure_beside_the_page(tmp_path):
    asked = [
        "cluster-svm",
        "roc",
        "--quick",
        "--seeds",
        "1",
        "--workers",
        "1",
        "--out",
        str(tmp_path),
    ]
    run = CliRunner().invoke(reproduce, asked)
    assert run.exit_code == 0, run.output
    assert "(cluster-svm-roc.svg)" in (tmp_path / "cluster-svm.md").read_text(encoding="utf-8")
    assert "(1 split)" in texts((tmp_path / "cluster-svm-roc.svg").read_bytes())
    assert not (tmp_path / "cluster-svm-timing.svg").exists()
