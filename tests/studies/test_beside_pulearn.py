"""The page of positives and unlabeled rows beside pulearn says what is on record."""

import json
import re
from pathlib import Path

import numpy as np

from studies.positive_unlabeled.beside import COUNTS, METHODS, SETS

ROOT = Path(__file__).parents[2]


def test_the_table_is_that_of_the_records():
    cells = json.loads((ROOT / "studies/positive_unlabeled/beside.json").read_text())["cells"]
    on_record = {(one["set"], one["positives"], one["method"]): one for one in cells}
    assert len(on_record) == len(SETS) * len(COUNTS) * len(METHODS)
    text = (ROOT / "docs/positive-unlabeled-measured.md").read_text()
    part = text.split("## Six sets in their own units")[1].split("\n## ")[0]
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
    means = {
        method: np.mean([one["f1"] for one in cells if one["method"] == method])
        for method in METHODS
    }
    page = (ROOT / "docs/positive-unlabeled.md").read_text()
    said = re.search(
        r"mean F1 (\S+) \((\S+) with the true prior\), NNPU with the true prior (\S+), "
        r"Elkan-Noto (\S+)\. ",
        page,
    )
    names = ("ours", "ours, true prior", "NNPU, true prior", "Elkan-Noto forest")
    assert [f"{means[name]:.3f}"[1:] for name in names] == list(said.groups())
