"""Numbers that stand on two pages are those of the page that has them first."""

import inspect
import re

import pytest

import semisvm
from page_tables import agrees, assert_shown, cells, first_number, page, part
from semisvm.estimators import METHODS
from source_files import REPOSITORY

PAPERS = {"PSVM": "psvm", "CS4VM": "cs4vm", "cluster-SVM": "cluster-svm", "PTSVM": "ptsvm"}
SETS = ("IJCNN1", "Adult", "Protein")  # those of the README's table


# ---- the papers ----


def verdicts(lines, name):
    """Reproduced, close, differs: the first three numbers of the line that begins with the name."""
    (line,) = (line for line in lines if line[0] == name)
    return [int(cell) for cell in line[1:] if cell.isdigit()][:3]


def test_verdicts_are_the_same_on_every_page():
    index = {
        re.match(r"\[([a-z0-9-]+)\]", line[0])[1]: line
        for line in cells(page("docs/results/README.md"))[2:]
    }
    papers = {
        line[0].split(":")[0]: [int(cell) for cell in line[2:]]
        for line in cells(page("docs/papers.md"))[2:]
    }
    assert papers.keys() == PAPERS.keys()
    for name, file in PAPERS.items():
        own = verdicts(cells(page(f"docs/results/{file}.md")), "all")
        assert own == papers[name] == [int(cell) for cell in index[file][1:4]], name
        assert own == verdicts(cells(page("docs/results-in-short.md")), name)


# ---- seconds ----


def seconds_by_cores():
    """{(set, cores): [ours, oneDAL float32, oneDAL float64]}, from the table of all rows."""
    text = page("docs/benchmarks.md")
    parts = [
        text.split(f"<!-- {mark} -->")[1].split(f"<!-- /{mark} -->")[0]
        for mark in ("cores-all", "cores")
    ]
    lines = [line for part in parts for line in cells(part) if line[1].isdigit()]
    return {
        (line[0].split(",")[0], int(line[1])): [
            float(first_number(cell)) for cell in line[2:5] if cell
        ]
        for line in lines
        if line[0] != "MNIST, 6,000"
    }


def seconds_on_gpu():
    """{set: seconds}, from the table of supervised fits."""
    return {line[0]: float(line[2]) for line in cells(part("gpu-measured", "## Supervised"))[2:]}


@pytest.mark.parametrize("name", SETS)
def test_the_speed_that_the_readme_shows_was_measured(name):
    (line,) = (line for line in cells(page("README.md")) if line[0].startswith(f"{name},"))
    ours, onedal, _ = seconds_by_cores()[name, 2]
    assert agrees(line[1], onedal)
    assert agrees(first_number(line[2]), ours)
    assert agrees(re.search(r"\(([\d.]+) times\)", line[2])[1], onedal / ours)
    assert agrees(line[3], seconds_on_gpu()[name])


@pytest.mark.parametrize("name", [*SETS, "MNIST"])
def test_the_page_on_gpus_begins_with_what_was_measured(name):
    (line,) = (line for line in cells(part("gpu", "Seconds to train")) if line[0] == name)
    assert agrees(line[2], seconds_by_cores()[name, 2][0])
    assert agrees(first_number(line[3]), seconds_on_gpu()[name])


def test_the_page_on_gpus_says_how_much_faster():
    said = re.search(r"yes: (\d+) to (\d+) times faster than 2 cores", page("docs/gpu.md"))
    times = [seconds_by_cores()[name, 2][0] / s for name, s in seconds_on_gpu().items()]
    assert_shown(said.groups(), [min(times), max(times)])


@pytest.mark.parametrize("name", SETS)
def test_the_page_of_the_engine_begins_with_what_was_measured(name):
    (line,) = (
        line
        for line in cells(page("docs/engine.md"))
        if line[0].startswith(f"{name}, ") and len(line) == 6
    )
    measured = [seconds_by_cores()[name, cores] for cores in (1, 2, 4, 16)]
    assert all(
        agrees(first_number(cell), ours)
        for cell, (ours, *_) in zip(line[1:5], measured, strict=True)
    )
    others = re.findall(r"[\d.]+\d", line[5])
    assert all(agrees(shown, times[2]) for shown, times in zip(others, measured, strict=True))


def test_pages_say_what_100_000_rows_take():
    lines = cells(part("large-data", "# Large", "\n## "))[2:]
    starts = (
        'SupervisedSVC(kernel="linear")',
        "TransductiveSVC",
        "AutoSVC",
        "PreferenceSVC",
        "PositiveUnlabeledSVC",
    )
    found = [
        next(float(line[1]) for line in lines if line[0].startswith(f"`{start}"))
        for start in starts
    ]
    auto, preference = found[2:4]
    assert auto == preference
    said = re.search(r"\| ([\d.]+) to (\d+) s of one processor", page("docs/benchmarks.md"))
    assert_shown(said.groups(), [min(found), max(found)])


# ---- errors on the sets of the SSL book ----


def book_errors(n_labels):
    """{method: errors on the seven sets, the binary COIL, and the mean of the seven} as
    ssl-book.md shows them.
    """
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
    ],
)
def test_pages_show_the_means_of_the_book_s_sets(name, first_cell, method):
    (line,) = (
        line for line in cells(page(f"docs/{name}.md")) if line[0] == first_cell and len(line) == 3
    )
    shown = [first_number(cell) for cell in line[1:]]
    assert all(
        agrees(number, mean) for number, mean in zip(shown, mean_errors(method), strict=True)
    ), shown


def test_sentences_say_the_means_of_the_book_s_sets():
    auto = mean_errors("AutoSVC()")
    said = re.search(
        r"`AutoSVC`, .* has a mean error of ([\d.]+)% with 10 labels and ([\d.]+)% with 100",
        page("docs/ssl-book.md"),
    )
    assert all(agrees(shown, mean) for shown, mean in zip(said.groups(), auto, strict=True))


def test_the_page_on_methods_says_where_autosvc_is_worse():
    said = re.search(r"BCI.{0,20}?([\d.]+) against ([\d.]+)", page("docs/which-method.md"))
    table = book_errors(10)
    bci = 5
    assert agrees(said[1], float(table["AutoSVC()"][bci]))
    assert agrees(said[2], float(table["SupervisedSVC"][bci]))
    pairs = zip(table["AutoSVC()"][:7], table["SupervisedSVC"][:7], strict=True)
    worse = [float(mine) > float(other) for mine, other in pairs]
    assert worse == [place == bci for place in range(7)]  # "on one of the seven"


def test_the_page_on_texts_says_the_errors_on_the_book_s_set():
    text = page("docs/text.md")
    place = 6
    errors = {
        name: [book_errors(n)[name][place] for n in (10, 100)]
        for name in ("AutoSVC()", "SupervisedSVC")
    }
    said = re.search(
        r"it has (\S+)% errors with 10 labels and (\S+)% with 100, where a linear SVM has"
        r" (\S+)\s+and (\S+) ",
        text,
    )
    assert_shown(said.groups(), map(float, [*errors["AutoSVC()"], *errors["SupervisedSVC"]]))
    said = re.search(r"fewer errors than `AutoSVC`:\s+(\S+)% and (\S+)%", text)
    assert_shown(
        said.groups(), [float(book_errors(n)["TransductiveSVC"][place]) for n in (10, 100)]
    )


# ---- the command's defaults ----

ADDED = {"liver-disorders", "isolet", "wdbc", "wine (2)", "texture_full (2)", "optdigits_full (8)"}
ADDED.add("docstring bodies: sklearn")


def practice(title):
    """The head, the lines of sets and the line of means of a table of the page on defaults."""
    head, _, *lines, mean = cells(part("practitioner", f"### {title}\n", "\n### "))
    return head, lines, mean


@pytest.mark.parametrize(
    "title", ["Average precision", "F1 at the threshold that each method sets"]
)
def test_the_study_of_defaults_adds_up(title):
    head, lines, mean = practice(title)
    for place in range(1, 6):
        values = [float(line[place]) for line in lines if line[place]]
        assert float(mean[place]) == pytest.approx(sum(values) / len(values), abs=1.1e-3), head[
            place
        ]
    for name, ours, *others, beside, is_as_good in lines:
        gap, error = map(float, re.match(r"(\S+) ± (\S+)", beside).groups())
        best = max(float(cell) for cell in others if cell)
        assert gap == pytest.approx(float(ours) - best, abs=1.6e-3), name
        if abs(gap + error) > 1e-3:  # else rounded numbers do not tell
            assert (is_as_good == "yes") == (gap >= -error), name
    good = {name for name, *_, is_as_good in lines if is_as_good == "yes"}
    assert mean[-1] == f"{len(good)} of {len(lines)}"
    text = part("practitioner", "What to take from it:")
    measure = "average precision" if title.startswith("Average") else "F1"
    assert f"{len(good)} of {len(lines)} {'sets ' * (measure != 'F1')}by {measure}" in text
    before = {name for name, *_ in lines} - ADDED
    assert f"it is {len(good & before)} of {len(before)} by either" in text


def test_the_page_on_defaults_says_who_is_best():
    head, lines, _ = practice("Average precision")
    text = part("practitioner", "What to take from it:")
    lost = {line[0]: float(line[6].split(" ")[0]) for line in lines if line[6].startswith("-")}
    winners = [max(zip(line[2:6], head[2:6], strict=True))[1] for line in lines if line[0] in lost]
    said = re.search(
        r"this command on (\d+) sets, the random forest on (\w+), logistic regression on (\w+)",
        text,
    )
    words = {"one": 1, "two": 2, "three": 3, "four": 4}
    assert int(said[1]) == len(lines) - len(lost)
    assert [words[said[2]], words[said[3]]] == [
        winners.count(name) for name in ("random forest", "logistic regression")
    ]
    said = re.findall(r"(german|adult|spectf) \((?:by )?([\d.]+)\)", text)
    assert {name: -float(value) for name, value in said} == {
        name: gap
        for (name, gap), winner in zip(lost.items(), winners, strict=True)
        if winner == "random forest"
    }


def test_the_page_on_defaults_says_how_often_floors_are_kept():
    lines = [
        line
        for line in cells(part("practitioner", "### Floors", "Models of"))
        if line[1] == "semisvm"
    ]
    shown = [f"{100 * float(cell):.0f}" for line in lines for cell in line[4:6]]
    text = part("practitioner", "What to take from it:")
    said = re.search(
        r"is kept by (\d+)% of the thresholds where the stated chance was (\d+)% .*"
        r" by (\d+)% where it was (\d+)%",
        text,
    )
    assert list(said.groups()) == shown


# ---- promises ----


def test_pages_say_how_often_the_check_of_samples_is_wrong():
    lines = cells(part("certify-measured", "## Labels that are not a random sample"))[2:]
    counts = [[tuple(map(int, cell.split(" of "))) for cell in line[1:5]] for line in lines]
    alarms = [sum(cell[k] for line in counts for cell in line[:3]) for k in (0, 1)]
    found = [sum(line[3][k] for line in counts) for k in (0, 1)]
    assert f"{alarms[0]} of {alarms[1]} random draws gave a false alarm" in page(
        "docs/certify-measured.md"
    )
    assert f"{found[0]} of {found[1]} choices by doubt were found" in page(
        "docs/certify-measured.md"
    )
    assert f"Of {alarms[1]} random draws of labels {alarms[0]} gave a false alarm" in page(
        "docs/certify.md"
    )
    assert f"{found[0]} of {found[1]} choices by doubt" in page("docs/certify.md")


def test_pages_say_what_promises_about_positives_held():
    worlds = cells(part("positive-unlabeled-measured", "## Promises"))[2:]
    broken, lift = (max(float(line[place]) for line in worlds) for place in (6, 7))
    text = page("docs/positive-unlabeled.md")
    said = re.search(
        r"a recall was broken in at most (\S+)% \(10% are allowed\), a lift in (\S+)%", text
    )
    assert_shown(said.groups(), [100 * broken, 100 * lift])
    _, all_rows, *_ = cells(part("positive-unlabeled-measured", "## Grouped rows"))[-1]
    for name in ("positive-unlabeled", "positive-unlabeled-measured"):
        assert f"a\npromise of 90% is worth {100 - 100 * float(all_rows):.0f}%".replace(
            "\n", " "
        ) in " ".join(page(f"docs/{name}.md").split())


# ---- commands ----


def commands():
    """Every `python -m studies...` of the pages: (module, its options)."""
    places = ["README.md", "CONTRIBUTING.md", "studies/README.md", "studies/speed/README.md"]
    places += [f"docs/{path.name}" for path in sorted((REPOSITORY / "docs").glob("*.md"))]
    pattern = re.compile(r"python -m (studies[.a-z_]+)((?: +[^\s`|#)]+)*)")
    found = {
        (module, tuple(re.findall(r"--[a-z-]+", rest)))
        for name in places
        for module, rest in pattern.findall(page(name))
    }
    return sorted(
        (module, options) for module, options in found if not module.endswith(".")
    )  # studies.speed.NAME


@pytest.mark.parametrize(
    ("module", "options"), commands(), ids=lambda value: " ".join(value) if value else "-"
)
def test_commands_of_the_pages_exist(module, options):
    path = REPOSITORY.joinpath(*module.split("."))
    if module == "studies.speed.x":  # the changelog's way to say "any"
        return
    files = (
        [path.with_suffix(".py")] if path.with_suffix(".py").exists() else sorted(path.glob("*.py"))
    )
    assert any(
        "__main__" in file.read_text(encoding="utf-8") or file.name == "__main__.py"
        for file in files
    ), module
    shared = (
        REPOSITORY / "studies" / "speed" / "runs.py",
        REPOSITORY / "studies" / "papers" / "command.py",
    )
    text = "".join(file.read_text(encoding="utf-8") for file in (*files, *shared))
    assert not [option for option in options if f'"{option}"' not in text]


def test_targets_of_the_makefile_that_pages_name_exist():
    targets = set(re.findall(r"^([a-z-]+):", page("Makefile"), re.MULTILINE))
    names = [
        "README.md",
        "CONTRIBUTING.md",
        *(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md")),
    ]
    named = {target for name in names for target in re.findall(r"`make ([a-z-]+)", page(name))}
    assert len(named) > 5
    assert named <= targets


# ---- names ----


# ---- parameters ----


def names_in(cell):
    return re.findall(r"`(\w+)`", cell)


def test_the_page_of_the_interface_names_every_parameter():
    classes, parameters = page("docs/api.md").split("## Parameters, in their order")
    shared = {name for line in cells(parameters.split("## ")[0]) for name in names_in(line[0])}
    lines = {names_in(line[0])[0]: line for line in cells(classes)[2:]}
    others = {"PreferenceClassifier", "SVCCV"}
    assert lines.keys() == {method.class_name for method in METHODS} | others
    for name, (_, _, own, missing) in lines.items():
        taken = set(inspect.signature(getattr(semisvm, name)).parameters)
        if name != "PreferenceClassifier":  # whose line begins with "those of PreferenceSVC"
            assert set(names_in(own)) == taken - shared, name
        if not missing.startswith("everything"):
            assert not set(names_in(missing)) & taken, name
