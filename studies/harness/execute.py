"""One cell from start to end: draw the sample, settle the parameters, fit (timed), score."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

from studies.harness.machine import peak_rss_mib, reset_peak, without_paths
from studies.harness.methods import fit_method
from studies.harness.records import describe_cell
from studies.harness.scores import DRAWN_SETS, score
from studies.harness.sources import sample
from studies.harness.tasks import Cell

LONGEST_REASON = 400


def execute(cell: Cell) -> dict[str, Any]:
    """Run a cell and return its record; whatever it raises becomes a failed record."""
    try:
        return describe_cell(cell) | {"outcome": "done"} | _measure(cell)
    except Exception as error:
        why = without_paths(f"{type(error).__name__}: {error}")[:LONGEST_REASON]
        return describe_cell(cell) | {"outcome": "failed", "why": why}


def _measure(cell: Cell) -> dict[str, Any]:
    params = dict(cell.task.params)
    repeats = params.pop("repeats", 1)  # of the fit, for a time that is not that of a first call
    part = sample(cell.task.data, cell.task.split, cell.seed)
    reset_peak()
    seconds, warned = [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = fit_method(cell.task.method, part, params, cell.seed)
        for _ in range(repeats):
            start = time.perf_counter()
            model = fit()
            seconds.append(time.perf_counter() - start)
        warned = sorted({without_paths(str(warning.message))[:LONGEST_REASON] for warning in caught})
    scores, curves = score(model, part, fine=cell.task.data in DRAWN_SETS)
    scores["seconds"] = min(seconds)
    _require_finite(scores)
    record: dict[str, Any] = {"scores": scores, "seconds": min(seconds), "peak_rss_mib": peak_rss_mib()}
    return record | ({"curves": curves} if curves else {}) | ({"warnings": warned} if warned else {})


def _require_finite(scores: dict[str, float]) -> None:
    strange = {name: value for name, value in scores.items() if not math.isfinite(value)}
    if strange:
        raise ValueError(f"Scores that are not numbers: {strange}.")
