"""The page on positives and unlabeled rows shows what is on record."""

import json
from pathlib import Path

import pytest

from studies.positive_unlabeled.beside import COUNTS, METHODS, SETS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/measured/positive-unlabeled.md"
RECORDS = ROOT / "studies/positive_unlabeled/results"


def test_the_table_is_that_of_the_records():
    cells = json.loads((ROOT / "studies/positive_unlabeled/beside.json").read_text())["cells"]
    on_record = {(one["set"], one["positives"], one["method"]): one for one in cells}
    assert len(on_record) == len(SETS) * len(COUNTS) * len(METHODS)
    part = PAGE.read_text().split("## Six sets in their own units")[1].split("\n## ")[0]
    lines = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in part.splitlines()
        if line.startswith("|")
    ][2:]
    assert len(lines) == len(SETS) * len(COUNTS) + 2
    for name, count, _, *shown in lines[:-2]:
        for method, said in zip(METHODS, shown, strict=True):
            one = on_record[name, int(count), method]
            assert said == f"{one['f1']:.3f} / {one['auc']:.3f}"


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.md")), ids=lambda path: path.stem)
def test_tables_of_the_page_are_on_record(path):
    """A record is what the command printed: a head, then tables, between empty lines."""
    _, *tables = path.read_text().strip().split("\n\n")
    text = PAGE.read_text()
    assert all(table in text for table in tables)
