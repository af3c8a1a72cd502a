"""Win, tie, loss: on how many sets one method costs significantly less than another.

A set is a win if the mean difference of costs, seed by seed, is below 0 with a two-sided p-value
under 5%.

    paired t           the paper's test: variance s^2 / R over R repetitions. Repetitions are halves
                       of the same rows, so they are not independent, and it finds too much
    Nadeau-Bengio      the same with variance s^2 (1/R + n_test / n_train), which for halves is s^2
                       (1/R + 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from studies.harness.means import Summary
from studies.papers.cs4vm.settings import task
from studies.papers.results import Results
from studies.papers.tasks import Number

LEVEL = 0.05
TEST_PER_TRAIN = 1.0


class Wins(NamedTuple):
    """How many sets were won, tied and lost."""

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return "/".join(map(str, self))


def cost_of(
    results: Results, name: str, cost: str, column: str, measure: str = "cost"
) -> Summary | None:
    """Return the summary of a column's costs on a set; None if it has not run."""
    return results.summary(Number(task(name, cost, column), measure))


def difference(name: str, cost: str, ours: str, theirs: str, measure: str = "cost") -> Number:
    """Return the number "cost of a column minus a measure of another column", on a set."""
    return Number(task(name, cost, ours), "cost", task(name, cost, theirs), measure)


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
    """Return the wins of one column over another; None if a set has not run."""
    signs = []
    for name in names:
        differences = results.summary(difference(name, cost, ours, theirs, measure))
        if differences is None or differences.n < 2:
            return None
        signs.append(sign_of_difference(differences, TEST_PER_TRAIN if corrected else 0.0))
    return Wins(signs.count(-1), signs.count(0), signs.count(1))


def sign_of_difference(differences: Summary, overlap: float = 0.0) -> int:
    """Return -1, 0 or 1: significantly below 0, undecided, above; `overlap` is n_test / n_train
    of the correction.
    """
    error = differences.sd * np.sqrt(1 / differences.n + overlap)
    if error == 0:
        return int(np.sign(differences.mean))
    p_value = 2 * student.sf(abs(differences.mean) / error, differences.n - 1)
    return int(np.sign(differences.mean)) if p_value < LEVEL else 0
