"""The house: what the wheel holds, where private names may be used, and which messages name flags."""

import ast
import itertools
import re

from hatchling.builders.wheel import WheelBuilder

from source_files import PACKAGE, REPOSITORY, place, source_files, tree_of


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
            assert not [name for name in modules if name.split(".")[0] in ("studies", "tests")], (
                place(path)
            )


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
    assert not {
        name
        for name in named
        if not (PACKAGE / f"{name}.py").exists() and not (PACKAGE / name).is_dir()
    }


FLAG = re.compile(r"(?<![-\w!<])--[a-z]")


def docstrings_of(tree):
    """The nodes of docstrings, which are for readers of the source."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            yield node.body[0].value


def test_no_message_of_the_library_mentions_a_flag_of_the_command():
    """Only the command's own package may: a flag such as --method means nothing to the caller of
    a function.
    """
    found = set()
    for path in source_files():
        tree = tree_of(path)
        texts = {node for node in ast.walk(tree) if isinstance(node, ast.Constant)} - set(
            docstrings_of(tree)
        )
        if any(isinstance(node.value, str) and FLAG.search(node.value) for node in texts):
            found.add(place(path))
    assert not {name for name in found if not name.startswith("cli/")}
