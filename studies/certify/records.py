"""What was counted so far, in one JSON file per part of the study: a run that was stopped goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from studies.harness.machine import describe_machine, describe_versions

RESULTS = Path(__file__).parent / "results"
SAVE_EVERY = 10  # finished tasks


def run_tasks(
    part: str,
    tasks: Iterable[tuple[str, int]],
    run: Callable[[str, int], Any],
    folder: Path,
    n_jobs: int = 1,
) -> dict[str, dict[str, Any]]:
    """Run the tasks (a cell and a seed) that have no record yet; return all records, by cell and
    seed.
    """
    path = folder / f"{part}.json"
    content = json.loads(path.read_text()) if path.is_file() else {"cells": {}}
    cells: dict[str, dict[str, Any]] = content["cells"]
    todo = [(cell, seed) for cell, seed in tasks if str(seed) not in cells.get(cell, {})]
    at_once = SAVE_EVERY * n_jobs
    for start in range(0, len(todo), at_once):
        chunk = todo[start : start + at_once]
        outcomes = Parallel(n_jobs)(delayed(run)(cell, seed) for cell, seed in chunk)
        for (cell, seed), outcome in zip(chunk, outcomes, strict=True):
            cells.setdefault(cell, {})[str(seed)] = outcome
        _save(path, part, cells)
    return cells


def _save(path: Path, part: str, cells: dict[str, dict[str, Any]]) -> None:
    content = {
        "command": f"python -m studies.certify {part}",
        "machine": describe_machine(),
        "versions": describe_versions(),
        "cells": cells,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=None, separators=(",", ":"), sort_keys=True) + "\n")
