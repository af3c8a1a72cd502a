"""Reading the pages: their text, the cells of their tables, and numbers as they are shown."""

import re

from source_files import REPOSITORY

NUMBER = r"\**(\d[\d.]*)"


def page(name):
    return (REPOSITORY / name).read_text(encoding="utf-8")


def part(name, first, last="\n## "):
    """The text of a page of docs/ between two marks."""
    return page(f"docs/{name}.md").split(first)[1].split(last)[0]


def cells(text):
    """The lines of all tables of a text, cell by cell."""
    return [
        [cell.strip() for cell in line.strip()[1:-1].split("|")]
        for line in text.splitlines()
        if line[:1] == "|"
    ]


def agrees(shown, value):
    """Whether a number that is shown is the value, rounded."""
    shown = shown.replace(",", "").strip("*+")
    decimals = len(shown.partition(".")[2])
    return abs(float(shown) - value) <= 0.5 * 10**-decimals + 1e-9


def assert_shown(shown, values):
    """Every number that is shown is the value, rounded."""
    shown = list(shown)
    values = list(values)
    wrong = [
        (text, value) for text, value in zip(shown, values, strict=True) if not agrees(text, value)
    ]
    assert not wrong, wrong


def first_number(cell):
    return re.match(NUMBER, cell)[1]
