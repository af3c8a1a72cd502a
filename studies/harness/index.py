"""The front page of a folder of results: every paper that has records there, with its verdicts and what it took."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from studies.harness.compare import Results, compare_table, count_verdicts
from studies.harness.records import read_records
from studies.harness.render import markdown_table
from studies.harness.run import records_path
from studies.harness.tasks import Paper
from studies.harness.verdicts import VERDICTS

INDEX = "README.md"
INTRODUCTION = """# The papers' tables, ours beside theirs

Each page is made by `semisvm reproduce` from the records beside it alone, and says what its words mean. A record is a
line of JSON: what ran, with which seed, its scores, seconds and memory, and the versions and machine it ran on.
*Minutes* are those of fitting, on one core; cells are spread over the cores there are."""


def render_index(papers: Sequence[Paper], out: Path, *, quick: bool = False) -> str:
    """Return the front page, in Markdown; papers without records are left out."""
    rows = []
    for paper in papers:
        records = read_records(records_path(out, paper))
        done = [record for record in records if record["outcome"] == "done"]
        if not done:
            continue
        results = Results(records)
        comparisons = [c for table in paper.tables for c in compare_table(table, results, quick=quick)]
        counts = count_verdicts(comparisons)
        minutes = sum(record["seconds"] for record in done) / 60
        link = f"[{paper.name}]({paper.name}.md)"
        rows.append([link, *(str(counts.get(word, 0)) for word in VERDICTS), str(len(done)), f"{minutes:.0f}"])
    return "\n\n".join([INTRODUCTION, markdown_table(["paper", *VERDICTS, "cells", "minutes"], rows)]) + "\n"
