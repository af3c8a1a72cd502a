"""PSVM: each line runs the variant it is named for, figures of records made by hand, and killed
runs that resume.
"""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from studies.harness.records import read_records, record_key
from studies.papers import find_paper
from studies.papers.drawings import STYLES, draw_figures
from studies.papers.pages import render_page
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


def test_a_variant_runs_with_the_parameters_it_is_named_for():
    params = {
        (t, line.method, line.mark): line.task.params
        for t in TABLES
        for line in TABLES[t].lines
        if line.task
    }
    assert params["table-7", "PSVM-full", "best F1"]["calibration"] == "full"
    assert params["table-8", "PSVM-rec", "literal rule"]["pool"] == "rebuild"
    assert params["table-8", "PSVM-rec", "literal rule"]["adjust"] == "paper"
    assert params["table-9", "PSVM-part-NA", ""]["adjust"] is None
    assert params["table-9", "PSVM-full-NA", ""]["calibration"] == "full"
    assert params["table-5", "PSVM", "best F1"]["calibration"] == "part"
    assert params["table-3", "PSVM", "literal rule"]["min_precision"] == 0.7  # the last of the four
    assert "min_recall" in params["table-4", "PSVM", "literal rule"]


def test_tables_and_expectations_share_their_cells():
    judged = {
        cell.key
        for table in PAPER.tables
        if table.name.startswith("table")
        for cell in cells_of(table)
    }
    assert {cell.key for cell in cells_of(TABLES["expected"])} <= judged
    assert {cell.key for cell in cells_of(TABLES["figure-6"])} <= judged


def test_mnist_is_repeated_four_times_and_runs_last():
    cells = [cell for cell in cells_of(TABLES["table-5"], seeds=20) if cell.task.data == "mnist"]
    assert max(cell.seed for cell in cells) == 3
    assert all(cell.task.slow for cell in cells)


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


def test_the_page_has_the_gains_as_numbers_too():
    page = render_page(FIGURES, results())
    assert "| f1 | adult | ijcnn1 | mnist | protein |" in page
    assert "| 5% labeled | 0.250 (0.000) | 0.250 (0.000) | 0.250 (0.000) | 0.250 (0.000) |" in page
    assert "| 7.5% labeled | 0.225 (0.000) | 0.225 (0.000) |  | 0.225 (0.000) |" in page


def reproduce(out, *arguments, data=None):
    environment = {name: value for name, value in os.environ.items() if name != "SEMISVM_DATA"}
    command = [
        sys.executable,
        "-m",
        "studies.papers",
        *arguments,
        "--workers",
        "1",
        "--out",
        str(out),
    ]
    return subprocess.Popen(
        command + (["--data", str(data)] if data else []), env=environment, stdout=subprocess.PIPE
    )


def kill_and_resume(paper, out, n_before, *arguments, data=None):
    """Kill a run after some records, run it again to its end, and return how often each cell
    ran.
    """
    path = out / f"{paper}.jsonl"
    with reproduce(out, paper, *arguments, data=data) as process:
        for _ in range(6000):  # five minutes, on a busy machine
            if path.exists() and path.read_bytes().count(b'"done"') >= n_before:
                break
            assert process.poll() is None, "ended before it could be killed"
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    kept = read_records(path)
    assert sum(record["outcome"] == "done" for record in kept) >= n_before
    with reproduce(out, paper, *arguments, data=data) as process:
        process.communicate(timeout=600)
    after = read_records(path)
    assert after[: len(kept)] == kept
    return Counter(record_key(record) for record in after if record["outcome"] == "done")


@pytest.mark.posix
def test_cs4vm_killed_in_the_middle_goes_on_without_a_data_folder(tmp_path):
    runs = kill_and_resume("cs4vm", tmp_path, 5, "table-2", "--quick", "--seeds", "6")
    assert set(runs.values()) == {1}
    assert len(runs) == 6 * 2 * 6  # Wdbc, which is bundled: six methods, two costs, six seeds
    assert "Wdbc, cost 2" in Path(tmp_path / "cs4vm.md").read_text(encoding="utf-8")


@pytest.mark.data
@pytest.mark.posix
def test_psvm_killed_in_the_middle_goes_on(tmp_path, paper_data):
    folder = tmp_path / "data"
    (folder / "psvm").mkdir(parents=True)
    (folder / "psvm" / "ijcnn1.libsvm.bz2").symlink_to(paper_data / "psvm" / "ijcnn1.libsvm.bz2")
    runs = kill_and_resume("psvm", tmp_path / "out", 1, "table-9", "--seeds", "1", data=folder)
    assert set(runs.values()) == {1}
    assert len(runs) == 2  # the one set that is there: two variants
