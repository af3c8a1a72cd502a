"""No class name stands for two things, no function is written twice, public names are listed."""

import ast
import importlib
import re
from collections import defaultdict
from pathlib import Path

import semisvm
from source_files import place, source_files, tree_of


def test_no_class_name_stands_for_two_things():
    files = defaultdict(set)
    for path in source_files():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                files[node.name].add(place(path))
    assert not {name: sorted(places) for name, places in files.items() if len(places) > 1}


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
    assert not [sorted(copies) for copies in places.values() if len(copies) > 1]


def test_the_page_on_the_interface_lists_every_public_name_and_no_other():
    rooms = [path.parent for path in Path(semisvm.__file__).parent.glob("*/__init__.py")]
    public = set(semisvm.__all__)
    for room in rooms:
        public.update(getattr(importlib.import_module(f"semisvm.{room.name}"), "__all__", []))
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    start = page.index("## Every public name")
    rows = page[start:].splitlines()
    listed = {
        name
        for row in rows
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    estimators = {cls.__name__ for _, cls in semisvm.all_estimators()}
    assert listed | estimators == public
