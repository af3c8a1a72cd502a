"""Numbers that stand on two pages are those of the page that has them first."""

import inspect
import re

import pytest

import semisvm
from semisvm.estimators import METHODS
from source_files import REPOSITORY

PAPERS = {"PSVM": "psvm", "CS4VM": "cs4vm", "cluster-SVM": "cluster-svm", "PTSVM": "ptsvm"}
SETS = ("IJCNN1", "Adult", "Protein")  # those of the README's table
NUMBER = r"\**(\d[\d.]*)"


def page(name):
    return (REPOSITORY / name).read_text(encoding="utf-8")


def cells(text):
    """The lines of all tables of a text, cell by cell."""
    return [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in text.splitlines() if line[:1] == "|"]


def agrees(shown, value):
    """Whether a number that is shown is the value, rounded."""
    decimals = len(shown.partition(".")[2])
    return abs(float(shown) - value) <= 0.5 * 10**-decimals + 1e-9


def first_number(cell):
    return re.match(NUMBER, cell)[1]


# ---- the papers ----


def verdicts(lines, name):
    """Reproduced, close, differs: the first three numbers of the line that begins with the name."""
    (line,) = (line for line in lines if line[0] == name)
    return [int(cell) for cell in line[1:] if cell.isdigit()][:3]


def test_verdicts_are_the_same_on_every_page():
    index = {re.match(r"\[([a-z0-9-]+)\]", line[0])[1]: line for line in cells(page("docs/results/README.md"))[2:]}
    papers = {line[0].split(":")[0]: [int(cell) for cell in line[2:]] for line in cells(page("docs/papers.md"))[2:]}
    assert papers.keys() == PAPERS.keys()
    for name, file in PAPERS.items():
        own = verdicts(cells(page(f"docs/results/{file}.md")), "all")
        assert own == papers[name] == [int(cell) for cell in index[file][1:4]], name
    said = re.search(r"([\d,]+) values are reproduced, ([\d,]+) are close, ([\d,]+) differ", page("README.md"))
    assert [int(number.replace(",", "")) for number in said.groups()] == [
        sum(c) for c in zip(*papers.values(), strict=True)
    ]


# ---- seconds ----


def seconds_by_cores():
    """{(set, cores): [ours, oneDAL float32, oneDAL float64]}, from the table of all rows."""
    text = page("docs/benchmarks.md")
    parts = [text.split(f"<!-- {mark} -->")[1].split(f"<!-- /{mark} -->")[0] for mark in ("cores-all", "cores")]
    lines = [line for part in parts for line in cells(part) if line[1].isdigit()]
    return {
        (line[0].split(",")[0], int(line[1])): [float(first_number(cell)) for cell in line[2:5] if cell]
        for line in lines
        if line[0] != "MNIST, 6,000"
    }


def seconds_on_gpu():
    """{set: [ours, ThunderSVM, times]}, from the table of supervised fits."""
    lines = cells(page("docs/gpu.md").split("**Supervised**")[1].split("**Complete fits")[0])[2:]
    return {line[0]: [line[2], line[4], line[5]] for line in lines}


@pytest.mark.parametrize("name", SETS)
def test_the_speed_that_the_readme_shows_was_measured(name):
    (line,) = (line for line in cells(page("README.md")) if line[0].startswith(f"{name},"))
    ours, onedal, _ = seconds_by_cores()[name, 2]
    on_gpu, thunder, times = seconds_on_gpu()[name]
    assert agrees(line[1], onedal)
    assert agrees(first_number(line[2]), ours)
    assert agrees(re.search(r"\(([\d.]+) times\)", line[2])[1], onedal / ours)
    assert agrees(line[3], float(thunder))
    assert agrees(first_number(line[4]), float(on_gpu))
    assert f"({times} times)" in line[4]


def test_the_readme_says_what_another_machine_gives():
    text = page("docs/benchmarks.md").split("### All rows")[1].split("<!-- /supervised -->")[0]
    ratios = {(line[0], line[2]): line[6] for line in cells(text) if len(line) > 6}
    said = re.search(r"it is ([\d.]+), ([\d.]+) and ([\d.]+) times faster than oneDAL", page("README.md"))
    measured = [float(ratios[name.lower(), "onedal-f32"]) for name in SETS]
    assert all(agrees(shown, ratio) for shown, ratio in zip(said.groups(), measured, strict=True))
    assert f"{float(ratios['ijcnn1', 'libsvm']):.0f} to more than" in page("README.md")


@pytest.mark.parametrize("name", [*SETS, "MNIST"])
def test_the_page_on_gpus_begins_with_what_was_measured(name):
    head = cells(page("docs/gpu.md").split("## What to know")[0])
    (line,) = (line for line in head if line[0] == name)
    on_gpu, thunder, _ = seconds_on_gpu()[name]
    assert agrees(line[2], seconds_by_cores()[name, 2][0])
    assert agrees(line[3], float(thunder))
    assert agrees(first_number(line[4]), float(on_gpu))


@pytest.mark.parametrize("name", SETS)
def test_the_page_of_the_engine_begins_with_what_was_measured(name):
    (line,) = (line for line in cells(page("docs/engine.md")) if line[0].startswith(f"{name}, ") and len(line) == 6)
    measured = [seconds_by_cores()[name, cores] for cores in (1, 2, 4, 16)]
    assert all(agrees(first_number(cell), ours) for cell, (ours, *_) in zip(line[1:5], measured, strict=True))
    others = re.findall(r"[\d.]+\d", line[5])
    assert all(agrees(shown, times[2]) for shown, times in zip(others, measured, strict=True))


# ---- errors on the sets of the SSL book ----


def book_errors(n_labels):
    """{method: errors on the seven sets, the binary COIL, and the mean of the seven} as ssl-book.md shows them."""
    part = page("docs/ssl-book.md").split(f"\n## {n_labels} labels\n")[1].split("\n## ")[0]
    return {line[0]: line[1:] for line in cells(part)}


def mean_errors(method):
    return [float(book_errors(n_labels)[method][-1]) for n_labels in (10, 100)]


@pytest.mark.parametrize("n_labels", [10, 100])
def test_means_over_the_sets_of_the_book_are_means(n_labels):
    table = book_errors(n_labels)
    for method in ("SupervisedSVC", "LaplacianSVC", "TransductiveSVC", "AutoSVC()"):
        errors = [float(cell) for cell in table[method][:7]]
        assert sum(errors) / 7 == pytest.approx(float(table[method][-1]), abs=0.011), method


@pytest.mark.parametrize(
    ("name", "first_cell", "method"),
    [
        ("ssl-book", "`AutoSVC`", "AutoSVC()"),
        ("ssl-book", "`SupervisedSVC`", "SupervisedSVC"),
        ("ssl-book", "`TransductiveSVC`", "TransductiveSVC"),
        ("ssl-book", "`LaplacianSVC`", "LaplacianSVC"),
        ("which-method", "**`AutoSVC`**", "AutoSVC()"),
        ("which-method", "SVM, labels only (`SupervisedSVC`)", "SupervisedSVC"),
        ("which-method", "TSVM, as commonly cited", "TSVM"),
        ("which-method", "Laplacian RLS, as commonly cited", "Laplacian RLS"),
        ("laplacian", "`SupervisedSVC`", "SupervisedSVC"),
        ("laplacian", "`LaplacianSVC()`", "LaplacianSVC"),
        ("laplacian", "`AutoSVC()`", "AutoSVC()"),
        ("auto", "SupervisedSVC", "SupervisedSVC"),
        ("auto", "AutoSVC()", "AutoSVC()"),
    ],
)
def test_pages_show_the_means_of_the_book_s_sets(name, first_cell, method):
    (line,) = (line for line in cells(page(f"docs/{name}.md")) if line[0] == first_cell and len(line) == 3)
    shown = [first_number(cell) for cell in line[1:]]
    assert all(agrees(number, mean) for number, mean in zip(shown, mean_errors(method), strict=True)), shown


def test_sentences_say_the_means_of_the_book_s_sets():
    supervised, auto = mean_errors("SupervisedSVC"), mean_errors("AutoSVC()")
    said = re.search(r"`AutoSVC` has ([\d.]+)% errors where an SVM has ([\d.]+)% with 10 labels", page("README.md"))
    assert agrees(said[1], auto[0])
    assert agrees(said[2], supervised[0])
    said = re.search(
        r"`AutoSVC`, .* has a mean error of ([\d.]+)% with 10 labels and ([\d.]+)% with 100", page("docs/ssl-book.md")
    )
    assert all(agrees(shown, mean) for shown, mean in zip(said.groups(), auto, strict=True))
    said = re.search(r"10 labels `AutoSVC` makes (\d+)% fewer errors .* with 100 (\d+)% fewer", page("docs/index.md"))
    assert all(
        agrees(shown, 100 * (1 - mine / other))
        for shown, mine, other in zip(said.groups(), auto, supervised, strict=True)
    )


@pytest.mark.parametrize("name", ["which-method", "auto"])
def test_pages_say_where_autosvc_is_worse(name):
    said = re.search(r"BCI.{0,20}?([\d.]+) against ([\d.]+)", page(f"docs/{name}.md"))
    table, bci = book_errors(10), 5
    assert agrees(said[1], float(table["AutoSVC()"][bci]))
    assert agrees(said[2], float(table["SupervisedSVC"][bci]))
    pairs = zip(table["AutoSVC()"][:7], table["SupervisedSVC"][:7], strict=True)
    worse = [float(mine) > float(other) for mine, other in pairs]
    assert worse == [place == bci for place in range(7)]  # "on one of the seven"


# ---- parameters ----


def names_in(cell):
    return re.findall(r"`(\w+)`", cell)


def test_the_page_of_the_interface_names_every_parameter():
    classes, parameters = page("docs/api.md").split("## Parameters, in their order")
    shared = {name for line in cells(parameters.split("## ")[0]) for name in names_in(line[0])}
    lines = {names_in(line[0])[0]: line for line in cells(classes)[2:]}
    assert lines.keys() == {method.class_name for method in METHODS} | {"PreferenceClassifier"}
    for name, (_, _, own, missing) in lines.items():
        taken = set(inspect.signature(getattr(semisvm, name)).parameters)
        if name != "PreferenceClassifier":  # whose line begins with "those of PreferenceSVC"
            assert set(names_in(own)) == taken - shared, name
        if not missing.startswith("everything"):
            assert not set(names_in(missing)) & taken, name
