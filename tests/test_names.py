"""No name stands for two things: the module-level names of the package are unique, and nothing is written twice.

What counts is what a reader meets without its module: public classes, functions and constants, and private classes.
A private function is read beside its only callers, so its name may be used in a second file; in a third it is taken for
a shared helper, or is one. Private constants are not looked at.
"""

import ast
from collections import defaultdict

from source_files import PACKAGE, place, source_files, tree_of

MOST_FILES_OF_A_PRIVATE_FUNCTION = 2

# Names that may be repeated, each with a reason.
EXPLAINED = {
    "__all__": "the public names of a module",
    "__getattr__": "Python's hook for lazy imports",
    "__dir__": "Python's hook for lazy imports",
    "load": "datasets.load gives a set by its name, semisvm.load a model from its file",
    "EXAMPLES": "the examples at the end of a command's help, one text per command",
}


def names_of(node: ast.stmt) -> list[str]:
    """The names that a statement at the level of the module defines; imports define none."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def counts(name: str, node: ast.stmt) -> bool:
    """Whether a name is one that a reader meets; see the module's docstring."""
    return not name.startswith("_") or isinstance(node, ast.ClassDef)


def files_of_names() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The files in which each name is defined: names that count, then private functions."""
    met, private = defaultdict(set), defaultdict(set)
    for path in source_files():
        for node in tree_of(path).body:
            for name in names_of(node):
                if counts(name, node):
                    met[name].add(place(path))
                elif isinstance(node, ast.FunctionDef):
                    private[name].add(place(path))
    return met, private


def repeated() -> dict[str, list[str]]:
    """The names that are repeated, with their files."""
    met, private = files_of_names()
    found = {name: files for name, files in met.items() if len(files) > 1}
    found |= {name: files for name, files in private.items() if len(files) > MOST_FILES_OF_A_PRIVATE_FUNCTION}
    return {name: sorted(files) for name, files in found.items() if name not in EXPLAINED}


def test_no_name_stands_for_two_things():
    assert not repeated()


def test_modules_of_different_packages_may_share_a_name_but_not_with_a_package():
    packages = {path.parent.name for path in source_files() if path.name == "__init__.py" and path.parent != PACKAGE}
    modules = {path.stem: place(path) for path in source_files()}
    # A command is named after what it does, and the report after what it is.
    clashes = {name: modules[name] for name in packages & set(modules) if not modules[name].startswith("cli/")}
    assert not clashes


def body_of(function: ast.FunctionDef) -> str:
    """What a function does, without its name and docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return ast.dump(ast.Module(body, []), annotate_fields=False)


def test_no_function_is_written_twice():
    """Functions and methods whose bodies are the same to the letter, unless they are a line or so."""
    places = defaultdict(set)
    for path in source_files():
        for function in ast.walk(tree_of(path)):
            if isinstance(function, ast.FunctionDef) and len(body := body_of(function)) > 300:
                places[body].add(f"{place(path)}:{function.name}")
    assert not [sorted(found) for found in places.values() if len(found) > 1]
