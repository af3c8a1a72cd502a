"""Numbers that stand on two pages are those of the page that has them first."""

import re

import pytest

from page_tables import agrees, cells, first_number, page
from source_files import REPOSITORY

PAPERS = {"PSVM": "psvm", "CS4VM": "cs4vm", "cluster-SVM": "cluster-svm", "PTSVM": "ptsvm"}
PAGES = [
    str(path.relative_to(REPOSITORY))
    for folder in ("docs", "docs/measured")
    for path in sorted((REPOSITORY / folder).glob("*.md"))
]


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
        for line in cells(page("docs/measured/papers.md"))[2:]
    }
    assert papers.keys() == PAPERS.keys()
    for name, file in PAPERS.items():
        own = verdicts(cells(page(f"docs/results/{file}.md")), "all")
        assert own == papers[name] == [int(cell) for cell in index[file][1:4]], name
        assert own == verdicts(cells(page("docs/measured/results.md")), name)


# ---- errors on the sets of the SSL book ----


def book_errors(n_labels):
    """{method: errors on the seven sets, the binary COIL, and the mean of the seven} as
    ssl-book.md shows them.
    """
    part = page("docs/measured/ssl-book.md").split(f"\n## {n_labels} labels\n")[1].split("\n## ")[0]
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
        ("measured/ssl-book", "`AutoSVC`", "AutoSVC()"),
        ("measured/ssl-book", "`SupervisedSVC`", "SupervisedSVC"),
        ("measured/ssl-book", "`TransductiveSVC`", "TransductiveSVC"),
        ("measured/ssl-book", "`LaplacianSVC`", "LaplacianSVC"),
        ("which-method", "**`AutoSVC`**", "AutoSVC()"),
        ("which-method", "SVM, labels only (`SupervisedSVC`)", "SupervisedSVC"),
        ("which-method", "TSVM, as commonly cited", "TSVM"),
        ("which-method", "Laplacian RLS, as commonly cited", "Laplacian RLS"),
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


# ---- commands ----


def commands():
    """Every `python -m studies...` of the pages: (module, its options)."""
    places = ["README.md", "CONTRIBUTING.md", "studies/README.md", "studies/speed/README.md"]
    places += PAGES
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
    names = ["README.md", "CONTRIBUTING.md", *PAGES]
    named = {target for name in names for target in re.findall(r"`make ([a-z-]+)", page(name))}
    assert len(named) > 5
    assert named <= targets
