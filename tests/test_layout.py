"""The house: what the wheel holds, how large files are, where private names may be used, and plain language."""

import ast
import itertools
import re
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from source_files import PACKAGE, REPOSITORY, place, source_files, tree_of

MOST_FILES = 164
MOST_LINES = 330


def test_the_wheel_holds_the_package_and_nothing_else():
    builder = WheelBuilder(str(REPOSITORY))
    files = [file.distribution_path for file in builder.recurse_included_files()]
    assert all(path.startswith("semisvm/") for path in files)
    assert not [path for path in files if {"studies", "tests", "benchmarks"} & set(path.split("/"))]


def test_the_package_imports_nothing_that_is_not_in_the_wheel():
    for path in source_files():
        for node in ast.walk(tree_of(path)):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            assert not [name for name in modules if name.split(".")[0] in ("studies", "tests")], place(path)


def test_means_and_pages_of_results_are_small():
    """Records of single cells are not kept (*.jsonl is ignored); what is made of them stays below 1 MB."""
    kept = [path for home in ("docs/results", "studies") for path in (REPOSITORY / home).rglob("*")]
    sizes = [path.stat().st_size for path in kept if path.suffix in (".json", ".md")]
    assert len(sizes) > 15
    assert sum(sizes) < 1_000_000


def test_there_are_few_source_files():
    assert len(source_files()) <= MOST_FILES


def test_no_source_file_is_long():
    lines = {place(path): len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()}
    assert not {name: count for name, count in lines.items() if count > MOST_LINES}


def private_imports(path):
    """Names of scikit-learn that begin with an underscore, or come from a module that does."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sklearn":
            names = [*(node.module or "").split("."), *(name.name for name in node.names)]
            yield from (name for name in names if name.startswith("_"))
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("sklearn") and "._" in name.name:
                    yield name.name


# Private by their looks: of named tuples, `os` and `sys`, and Dask's data frames.
OF_OTHERS = {"_asdict", "_fields", "_replace", "_exit", "_getframe", "_meta"}


def private_attributes():
    """Of each file, the private attributes that it uses and that nothing in the package defines."""
    nodes = {place(path): list(ast.walk(tree_of(path))) for path in source_files()}
    defined = set(OF_OTHERS)
    for node in itertools.chain(*nodes.values()):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.attr if isinstance(node, ast.Attribute) else node.id)
    for name, own in nodes.items():
        used = {node.attr for node in own if isinstance(node, ast.Attribute)}
        yield name, {attribute for attribute in used - defined if re.match("_[a-z]", attribute)}


def test_private_names_of_scikit_learn_are_in_one_file():
    users = {place(path): set(private_imports(path)) for path in source_files()}
    for name, attributes in private_attributes():
        users[name] |= attributes
    assert users.pop("sklearn_private.py") >= {"_fit_context", "_get_param_names"}
    assert not {name: found for name, found in users.items() if found}


def test_the_page_for_contributors_names_modules_that_exist():
    text = (REPOSITORY / "docs" / "contributing.md").read_text(encoding="utf-8")
    rooms = "|".join(path.name for path in PACKAGE.iterdir() if path.is_dir())
    named = set(re.findall(rf"`((?:{rooms})/[a-z_/0-9]+)(?:\.py)?`", text))
    assert len(named) > 30
    assert not {name for name in named if not (PACKAGE / f"{name}.py").exists() and not (PACKAGE / name).is_dir()}


# ---- language ----

UNITS = (
    "row|round|fold|class|step|problem|fit|line|column|cell|second|minute|day|file|candidate|draw|run|method|group|seed|"
    "split|iteration|sweep|task|call"
)
MEASURED = (
    "once|twice|one|times|seconds|milliseconds|minutes|hours|bytes|megabytes|record|line|entry|model|matrix|weight|"
    "dictionary|score|bit|number|costs?|expected to cost [^ ]+|\\{[^{}]*\\}|"
    "[0-9][0-9.]* ?(?:ms|s|seconds|bytes|kB|MB|GB)?"
)
WRONG = {
    "write 'per', not 'a': one record per round": rf"\b(?:{MEASURED}) an? (?:{UNITS})\b(?! of)",
    "American spelling": (
        r"\b(?:un)?labell(?!edby)|(?:neighb|\bcol|\bfav|\bflav|behavi)our|\bgrey|\btowards\b|\bafterwards\b|\bcentred?\b|"
        r"\blicence|\banaly(?:se|sing)|modelling|"
        r"(?:optim|normal|initial|minim|maxim|regular|recogn|general|summar|standard|random)is(?:e|ing|ation)"
    ),
    "plain words": r"\b(?:lest|whilst|dear|dearer|anew|albeit|hitherto|thereof|nought|save for)\b|nobody counts",
}
UNREAD = {"_build", "gallery", "reference", Path(__file__).name}  # made by make docs; this file
PLACES = [
    *sorted({place(path).split("/")[0] for path in source_files()}),
    "studies",
    "examples",
    "tests",
    "docs",
    "README.md",
    "CHANGELOG.md",
]


def texts_of(name):
    """The files of a package, of the documents, or the one file of that name."""
    for home in (PACKAGE / name, REPOSITORY / name):
        if home.is_file():
            return [home]
        if home.is_dir():
            written = [path for suffix in ("*.py", "*.md", "*.html", "*.jinja") for path in sorted(home.rglob(suffix))]
            return [path for path in written if not UNREAD & set(path.relative_to(home).parts)]
    raise FileNotFoundError(name)


@pytest.mark.parametrize("name", PLACES)
def test_the_language_is_plain_and_american(name):
    found = []
    for path in texts_of(name):
        text = path.read_text(encoding="utf-8")
        for rule, pattern in WRONG.items():
            for match in re.finditer(pattern, text, re.IGNORECASE):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{path.relative_to(REPOSITORY)}:{line}: {match.group()!r} ({rule})")
    assert not found, "\n".join(found)


FLAG = re.compile(r"(?<![-\w!<])--[a-z]")


def docstrings_of(tree):
    """The nodes of docstrings, which are for readers of the source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            yield node.body[0].value


def test_no_message_of_the_library_mentions_a_flag_of_the_command():
    """Only the command's own package may: a flag such as --method means nothing to the caller of a function."""
    found = set()
    for path in source_files():
        tree = tree_of(path)
        texts = {node for node in ast.walk(tree) if isinstance(node, ast.Constant)} - set(docstrings_of(tree))
        if any(isinstance(node.value, str) and FLAG.search(node.value) for node in texts):
            found.add(place(path))
    assert not {name for name in found if not name.startswith("cli/")}
