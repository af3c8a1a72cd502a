"""Win, tie, loss: on how many sets one method costs significantly less than another.

A set is a win where the mean difference of costs, seed by seed, is below 0 with a two-sided p-value under 5%.

    paired t           the paper's test: variance s^2 / R over R repetitions. Repetitions are halves of the same rows,
                       so they are not independent, and it finds too much
    Nadeau-Bengio      the same with variance s^2 (1/R + n_test / n_train), which for halves is s^2 (1/R + 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from studies.harness.compare import Results
from studies.papers.cs4vm.settings import task

LEVEL = 0.05
TEST_PER_TRAIN = 1.0


class Wins(NamedTuple):
    """How many sets were won, tied and lost."""

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return "/".join(map(str, self))


def costs_of(results: Results, name: str, cost: str, column: str, measure: str = "cost") -> dict[int, float]:
    """Return the costs of a cell's seeds."""
    found = results.scores.get(task(name, cost, column).key, {})
    return {seed: scores[measure] for seed, scores in found.items() if measure in scores}


def count_wins(
    results: Results,
    names: Sequence[str],
    cost: str,
    ours: str,
    theirs: str,
    measure: str = "cost",
    *,
    corrected: bool = False,
) -> Wins | None:
    """Return the wins of one column over another; None where a set has not run."""
    signs = []
    for name in names:
        a, b = costs_of(results, name, cost, ours), costs_of(results, name, cost, theirs, measure)
        differences = np.array([a[seed] - b[seed] for seed in a if seed in b])
        if len(differences) < 2:
            return None
        signs.append(sign_of_difference(differences, TEST_PER_TRAIN if corrected else 0.0))
    return Wins(signs.count(-1), signs.count(0), signs.count(1))


def sign_of_difference(differences: np.ndarray, overlap: float = 0.0) -> int:
    """Return -1, 0 or 1: significantly below 0, undecided, above; `overlap` is n_test / n_train of the correction."""
    mean, n = differences.mean(), len(differences)
    error = differences.std(ddof=1) * np.sqrt(1 / n + overlap)
    if error == 0:
        return int(np.sign(mean))
    p_value = 2 * student.sf(abs(mean) / error, n - 1)
    return int(np.sign(mean)) if p_value < LEVEL else 0
