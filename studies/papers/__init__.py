"""The papers' tables, ours and theirs.

    published/, and one module or package per paper    what the papers print, and which tasks give
    these numbers
    tasks                 the nouns: task, cell, number, reference, line, table, paper
    samples, simulate     the rows of a task;  methods, tuning, baselines: its classifier;  scores:
                          its scores
    run                   cells, run and recorded
    results               records summarized per task: what pages are made of
    verdicts, compare     ours compared with theirs;  pages, drawings: as Markdown and SVG
    command               `python -m studies.papers`

Papers are found by name. Names that are not there raise a `ValueError` that says which are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from semisvm.errors import suggest
from studies.papers import cluster_svm, cs4vm, psvm, ptsvm
from studies.papers.tasks import Paper, Table

PAPERS: dict[str, Callable[[], Paper]] = {
    "ptsvm": ptsvm.paper,
    "cluster-svm": cluster_svm.paper,
    "psvm": psvm.paper,
    "cs4vm": cs4vm.paper,
}


@lru_cache
def find_paper(name: str) -> Paper:
    """Return the paper called `name`."""
    if name not in PAPERS:
        raise ValueError(f"There is no paper called {name!r}. {suggest(name, PAPERS)}.")
    return PAPERS[name]()


def find_table(paper: Paper, name: str) -> Table:
    """Return the table of a paper called `name`."""
    tables = {table.name: table for table in paper.tables}
    if name not in tables:
        raise ValueError(f"{paper.name} has no table called {name!r}. {suggest(name, tables)}.")
    return tables[name]
