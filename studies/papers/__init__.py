"""The papers by name. Names that are not there raise a `ValueError` that says which are."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from semisvm.errors import suggest
from studies.harness.tasks import Paper, Table
from studies.papers import cluster_svm, cs4vm, psvm, ptsvm

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
