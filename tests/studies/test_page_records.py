"""What the pages show is what stands on record: the means in `studies/` and `docs/results/`."""

import json
import re

import numpy as np
import pytest

from page_tables import agrees, assert_shown, cells, page, part
from source_files import REPOSITORY
from studies import practitioner
from studies.certify import fair_sample
from studies.few_labels import discrete, earlier, topics
from studies.few_labels.__main__ import page_of
from studies.few_labels.public import TABLES, TEXTS
from studies.few_labels.reliability import table_of
from studies.harness.means import read_cells, read_means
from studies.speed.cores import PARTS, render_cores
from studies.speed.primal import render_equal, render_growth
from studies.speed.start_time import render_start
from studies.speed.threads import render_threads
from studies.speed.tune import render_tune
from studies.ssl_book import cost, synthetic

STUDIES = REPOSITORY / "studies"
OF_SPEED = STUDIES / "speed" / "results"


def means(name):
    """[(task, {measure: {column: number}})] of a benchmark."""
    return [(cell["task"], cell["measures"]) for cell in read_means(OF_SPEED / f"{name}.json")]


def values_of(name, column="median", **task):
    """{measure: value} of the one task that has these parts."""
    (found,) = (measures for one, measures in means(name) if task.items() <= one.items())
    return {measure: values[column] for measure, values in found.items()}


# ---- few labels ----

FEW = read_cells(STUDIES / "few_labels" / "results.json")
FEW_COUNTS = (20, 50, 100)


def best_other(by_method, ours="AutoSVC"):
    return max(value for method, value in by_method.items() if method != ours)


def average_precisions(count, names):
    """{method: {set: average precision}} of some sets with so many labels."""
    found = {}
    for cell in FEW:
        if cell["labels"] == count and cell["set"] in names:
            found.setdefault(cell["method"], {})[cell["set"]] = cell["average_precision"]
    return found


@pytest.mark.parametrize("title", page_of(FEW))
def test_the_tables_of_few_labels_are_on_record(title):
    assert page_of(FEW)[title] in page("docs/measured/few-labels.md")


@pytest.mark.parametrize("names", [TABLES, TEXTS], ids=["tables", "texts"])
def test_the_page_of_few_labels_begins_with_its_means(names):
    lines = cells(part("measured/few-labels", "# Few labels", "## How"))[2:]
    ours, others, wins = (line[1:] for line in (lines[:3] if names is TABLES else lines[3:]))
    found = [average_precisions(count, names) for count in FEW_COUNTS]
    means = [
        {
            method: np.mean(list(values.values()))
            for method, values in by_method.items()
            if not method.endswith("array")
        }
        for by_method in found
    ]
    assert_shown(ours, [by_method["AutoSVC"] for by_method in means])
    assert_shown(others, map(best_other, means))
    for shown, by_method in zip(wins, found, strict=True):
        best = {
            name: max(
                by_method[method][name] for method in by_method if not method.startswith("AutoSVC")
            )
            for name in by_method["AutoSVC"]
        }
        n_first = sum(by_method["AutoSVC"][name] >= value for name, value in best.items())
        assert shown == f"{n_first} of {len(best)}"


@pytest.mark.parametrize(
    ("study", "n_draws", "words"),
    [
        (discrete, 5, "30 labels, five draws each"),
        (topics, 5, "2,000 texts, five draws each"),
        (earlier, 2, "the study, two draws each"),
    ],
    ids=["codes", "topics", "versions"],
)
def test_the_tables_of_the_smaller_studies_of_few_labels_are_on_record(study, n_draws, words):
    name = study.__name__.rpartition(".")[2]
    of_study = read_cells(STUDIES / "few_labels" / f"{name}.json")
    text = page("docs/measured/few-labels.md")
    assert study.page_of(of_study) in text
    assert {cell["draws"] for cell in of_study} == {n_draws}
    assert words in text


def test_the_probabilities_of_autosvc_are_on_record():
    bins = read_cells(STUDIES / "few_labels" / "reliability.json")
    text = page("docs/measured/few-labels.md")
    assert table_of(bins) in text
    assert all(abs(cell["share"] - cell["probability"]) < 0.05 for cell in bins)
    assert f"on the new rows of {bins[0]['sets']} tables with 100 labels" in text
    assert "share of class 1 is within .05 of the mean probability" in text


# ---- labels that are not a random sample ----


def test_alarms_of_the_check_of_samples_are_on_record():
    alarms = read_cells(STUDIES / "certify" / "results" / "fair_sample.json")
    assert fair_sample.table_of(alarms) in page("docs/measured/certify.md")
    counts = [
        (sum(cell["alarms"] for cell in kind), sum(cell["draws"] for cell in kind))
        for kind in (
            [cell for cell in alarms if cell["case"].startswith("random")],
            [cell for cell in alarms if cell["case"] == "doubt"],
        )
    ]
    (false, n_random), (detected, n_doubtful) = counts
    assert f"{false} of {n_random} random draws" in page("docs/measured/certify.md")
    said = page("docs/choose-what-to-label.md")
    assert f"Of {n_random} random samples {false} gave a false alarm" in said
    assert f"{detected} of {n_doubtful} samples of doubtful rows" in said


# ---- the command's defaults ----


DEFAULTS = practitioner.tables_of(read_cells(practitioner.RECORD))


@pytest.mark.parametrize("title", DEFAULTS)
def test_the_study_of_defaults_is_on_record(title):
    assert f"## {title}\n\n{DEFAULTS[title]}" in page("docs/measured/practitioner.md")


# ---- the sets of the SSL book ----

BOOK = {
    (one["set"], one["labels"], one["method"]): one
    for one in read_cells(STUDIES / "ssl_book" / "results.json")
}


@pytest.mark.parametrize("n_labels", [10, 100])
def test_the_tables_of_the_book_are_on_record(n_labels):
    head, _, *lines = cells(part("measured/ssl-book", f"\n## {n_labels} labels\n"))
    names = head[1:9]
    n_checked = 0
    for method, *shown in lines:
        for name, cell in zip(names, shown, strict=False):
            if re.fullmatch(r"\d+\.\d\d", cell):  # those of the book have one digit
                assert agrees(cell, BOOK[name, n_labels, method]["error"]), (method, name)
                n_checked += 1
    assert n_checked > 130
    shown = {line[0]: line[1:9] for line in lines}
    ours = [BOOK[name, n_labels, "AutoSVC()"] for name in names]
    assert_shown(shown["AutoSVC(): standard deviation"], [one["sd"] for one in ours])
    assert_shown(shown["splits won against SupervisedSVC"], [one["won"] for one in ours])
    worst = zip(shown["worst split against SupervisedSVC"], ours, strict=True)
    assert all(abs(float(cell) - one["worst"]) <= 0.05 + 1e-9 for cell, one in worst)


def test_errors_on_secstr_are_on_record():
    lines = cells(part("measured/ssl-book", "\n## SecStr\n"))[6:]
    for method, *shown in lines:
        for cell, count in zip(shown[:3], (100, 1_000, 10_000), strict=True):
            if cell:
                assert agrees(cell, BOOK["secstr", count, method]["error"]), (method, count)
    assert len(lines) == 7


def test_errors_on_rows_without_structure_are_on_record():
    cells_on_record = read_cells(STUDIES / "ssl_book" / "synthetic.json")
    assert synthetic.table_of(cells_on_record) in page("docs/measured/ssl-book.md")


def test_the_cost_of_autosvc_is_on_record():
    cells_on_record = read_cells(STUDIES / "ssl_book" / "cost.json")
    assert cost.table_of(cells_on_record) in page("docs/measured/ssl-book.md")


# ---- supervised training ----


def between(mark):
    return (
        page("docs/measured/benchmarks.md")
        .split(f"<!-- {mark} -->")[1]
        .split(f"<!-- /{mark} -->")[0]
    )


@pytest.mark.parametrize(
    ("mark", "record", "parts"),
    [
        ("cores", "cores", PARTS),
        ("cores-all", "cores", ["mnist:all"]),
        ("cores-small", "cores-small", PARTS),
    ],
)
def test_seconds_by_cores_are_on_record(mark, record, parts):
    shown = {tuple(name.split(":")) for name in parts}
    kept = [
        cell
        for cell in read_cells(OF_SPEED / f"{record}.json")
        if (cell["set"], cell["size"]) in shown
    ]
    assert render_cores(kept) in between(mark)


def test_seconds_beside_libsvm_are_on_record():
    lines = cells(between("libsvm"))[2:]
    assert len(lines) == 6
    for name, rows, *shown in lines:
        size = "10%" if int(rows.replace(",", "")) < 10_000 else "all"
        ours, theirs = (
            values_of("supervised", set=name.lower(), size=size, solver=solver)["cpu_s"]
            for solver in ("ours", "libsvm")
        )
        assert_shown(shown, [ours, theirs, theirs / ours])


def test_linear_machines_beside_liblinear_are_on_record():
    text = page("docs/measured/large-data.md")
    for name, render in (("equal", render_equal), ("growth", render_growth)):
        kept = [
            (task, {measure: values["median"] for measure, values in measures.items()})
            for task, measures in means("primal")
            if task["part"] == name
        ]
        assert render(*zip(*kept, strict=True)) in text


LINES_OF_ROWS = [
    "SupervisedSVC, linear, all labeled",
    "SupervisedSVC",
    "Campaign: 20 batches of 10, verdict",
    "SelfTrainingSVC, linear",
    "TransductiveSVC, linear",
    "MixtureClassifier",
    "PreferenceSVC, min_precision=0.8",
    "semisvm predict",
    "AutoSVC",
]


def test_seconds_of_100_000_rows_are_on_record():
    lines = cells(part("large-data", "# Large data", "\n## "))[2:]
    for what, (_, seconds, memory) in zip(LINES_OF_ROWS, lines, strict=True):
        found = values_of("rows", what=what)
        assert_shown([seconds, memory], [found["cpu_s"], found["rss_peak_mib"] * 2**20 / 1e9])


def test_starts_are_on_record():
    assert render_start(read_cells(OF_SPEED / "start_time.json")) in between("start")


def test_seconds_of_all_methods_on_2_and_16_cores_are_on_record():
    assert render_threads(read_cells(OF_SPEED / "threads.json")) in between("threads")


def test_pages_quote_the_seconds_of_2_idle_cores():
    seconds = {
        cell["fit"]: cell["default: wall s"]
        for cell in read_cells(OF_SPEED / "threads.json")
        if (cell["cores"], cell["busy"]) == (2, 0) and "default: wall s" in cell
    }
    few, many = (
        max(value for fit, value in seconds.items() if fit.endswith(f", {rows} x 50"))
        for rows in ("500", "2,000")
    )
    answer = f"500 rows up to {few:.1f} s, 2,000 rows up to {many:.1f} s"
    assert answer in page("docs/measured/benchmarks.md")
    few, many = (seconds[f"LaplacianSVC, {rows} x 50"] for rows in ("500", "2,000"))
    text = " ".join(page("docs/laplacian.md").split())
    assert f"a fit of 500 rows takes {few:.1f} s and one of 2,000 rows takes {many:.1f} s" in text


# ---- other benchmarks ----


@pytest.mark.parametrize(
    ("machine", "peers"),
    [
        ("H200", ["ours", "torchkm"]),
        ("16 cores", ["ours", "svc"]),
        ("2 cores", ["ours", "svc", "intelex"]),
    ],
)
def test_seconds_to_tune_are_on_record(machine, peers):
    runs = json.loads((OF_SPEED / "tune.json").read_text())["runs"]
    assert render_tune(runs, machine, peers) in page("docs/measured/tune.md")


def test_seconds_on_a_gpu_are_on_record():
    for name, rows, *shown in cells(part("measured/gpu", "## Supervised"))[2:]:
        found = values_of(
            "gpu", part="supervised", set=name.lower(), rows=int(rows.replace(",", ""))
        )
        assert_shown(shown, [found["seconds"], found["kernel_seconds"]])
    million = values_of("gpu", part="million")["seconds"]
    assert agrees(re.search(r"gamma = 0.01: ([\d.]+) s", page("docs/measured/gpu.md"))[1], million)
    fits = cells(part("measured/gpu", "## Complete fits"))[2:]
    for name, rows, paper, rounds, f1, cross, _, cross_f1, _ in fits:
        size = {"part": "psvm", "set": name.lower(), "rows": int(rows.replace(",", ""))}
        found = values_of("gpu", calibration="part", **size)
        assert_shown([paper, rounds, f1], [found["seconds"], found["rounds"], found["f1"]])
        found = values_of("gpu", calibration="cross", **size)
        assert_shown([cross, cross_f1], [found["seconds"], found["f1"]])


# Rows of the sets in the order of the pictures: the example in the gallery, and the guide.
PICTURED = {"ijcnn1": 49_990, "adult": 32_561, "protein": 16_682, "mnist": 60_000}


def test_seconds_on_2_cores_and_on_a_gpu_are_those_of_the_records():
    seconds = {
        "2 cores": [
            cell["median"]
            for name in PICTURED
            for cell in read_cells(OF_SPEED / "cores.json")
            if (cell["set"], cell["size"], cell["cores"]) == (name, "all", 2)
            and cell["solver"] == "ours"
        ],
        "one H200": [
            values_of("gpu", part="supervised", set=name, rows=rows)["seconds"]
            for name, rows in PICTURED.items()
        ],
    }
    example = page("examples/scale/plot_gpu.py")
    for name, recorded in seconds.items():
        shown = re.search(rf'"{name}": \(\[(.*?)\]', example)[1]
        assert_shown(shown.split(", "), recorded)
    times = [
        cpu / gpu
        for rows, cpu, gpu in zip(PICTURED.values(), *seconds.values(), strict=True)
        if rows > 20_000
    ]
    assert f"{min(times):.0f} to {max(times):.0f} times as fast" in page("docs/gpu.md")


SETS_OF_COSTS = {
    "Vehicle, 4 classes, C = 10": "vehicle_full",
    "Satimage, 6 classes, C = 10": "sat_full",
}


@pytest.mark.parametrize("title", SETS_OF_COSTS)
def test_costs_are_on_record(title):
    head, _, *lines = cells(
        part("measured/costs", f"{title}:\n", "\n\n- " if "Sat" in title else "Satimage, 6")
    )
    counts = [int(cell.split()[0]) for cell in head[1:]]
    found = [
        values_of("multiclass_costs", "mean", C=10.0, labels=n, set=SETS_OF_COSTS[title])
        for n in counts
    ]
    n_checked = 0
    for name, *shown in lines:
        if name[:1] == "*":
            one, other = name.strip("*").split(" - ")
            gaps = [each[f"cost / {one}"] - each[f"cost / {other}"] for each in found]
            for cell, gap in zip(shown, gaps, strict=True):
                value, error = map(float, re.match(r"(\S+) ± ([\d.]+)", cell).groups())
                assert abs(value - gap) <= 5.1e-4, (name, cell, gap)
                n_checked += 1
                # too near to tell from rounded numbers
                if abs(abs(value) - error) > 1e-3:
                    assert cell.endswith("*") == (value < -error), (name, cell)
                    assert cell.endswith("!") == (value > error), (name, cell)
        else:
            assert_shown(shown, [each[f"cost / {name}"] for each in found])
    assert n_checked == 24


def test_targets_are_on_record():
    lines = cells(part("measured/targets", "## Targets on new rows", "\n- "))[2:]
    assert len(lines) == len(means("preference_targets"))
    for name, reached, mean, *_ in lines:
        level, rate, target = re.match(r"([\w-]+), (\w+) (\S+)", name).groups()
        (found,) = (
            measures
            for task, measures in means("preference_targets")
            if task == {"level": level, f"min_{rate}": float(target)}
        )
        n_reached, n_seeds = map(int, reached.split(" of "))
        assert n_seeds == found["reached"]["n"]
        assert n_reached == pytest.approx(n_seeds * found["reached"]["mean"], abs=0.01)
        if n_reached == n_seeds:  # else the mean on record has other fits too
            assert agrees(mean, found[f"test / {rate}"]["mean"]), name


SETTINGS = {"MNIST, gamma .02": "mnist, smooth", "IJCNN1, gamma 2": "ijcnn1, local"}
SETTINGS |= {"Adult, C 10, gamma .01": "adult, smooth"}


def gains_of(table, rows):
    """{(setting, labels): the three F1 shown, and those on record} of a table of the page on
    soft labels.
    """
    found = {}
    title = ""
    for first, labels, *shown in cells(table)[2:]:
        title = first or title
        setting = SETTINGS.get(title, title.lower())
        kept = values_of(
            "soft_labels", "mean", rows=rows, labels=labels.replace(",", ""), setting=setting
        )
        f1 = [kept[name] for name in ("supervised", "threshold", "settled")]
        found[setting, labels] = shown[:3], f1
    return found


def test_soft_labels_are_on_record():
    drawn, whole = part("measured/soft-labels", "## The gain").split("On the whole sets")
    both = [gains_of(drawn, 20_000), gains_of(whole, 60_000)]
    assert [len(found) for found in both] == [28, 4]
    for found in both:
        for shown, kept in found.values():
            assert_shown(shown, kept)
    gains = {
        key: round(kept[2], 3) - round(kept[1], 3)
        for found in both
        for key, (_, kept) in found.items()
    }
    assert min(gains.values()) >= -0.0011  # "no mean is more than .001 below"


# ---- the papers ----


def test_f1_of_the_paper_s_sets_is_on_record():
    kept = {
        (line[0], line[1]): line[4].split(" ")[0]
        for line in cells(part("results/psvm", "## table-5"))
        if len(line) > 4 and line[2] == "f1"
    }
    head, _, *lines = cells(part("measured/targets", "## F1 on the paper", "\n- "))
    names = [cell.lower() for cell in head[1:]]
    methods = [
        "SSVM",
        "PSVM (best F1)",
        "PSVM (literal rule)",
        "TSVM",
        "SSVM, cross-fitted threshold (for comparison)",
    ]
    for method, (_, *shown) in zip(methods, lines, strict=True):
        assert_shown(
            [cell.split(" ")[0] for cell in shown], [float(kept[name, method]) for name in names]
        )
