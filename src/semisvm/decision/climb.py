"""How far nested sets can be proved one after the other with a budget of labels, and where to
begin.

The whole risk begins at one set, and is handed on to the next larger set whenever one is proved
(`precision_sets`). To prove set j, its first s_j of n_j rows in random order are read: those with a
clock up to c_j = s_j / n_j. Sets share rows. A climb from set f to set k reads of each band as much
as the hungriest set among f, ..., k that contains it, so that every step up takes few labels more:
a climb that begins too small loses little, one that begins too large loses all.

Nothing here affects whether a promise is true: it only plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np

from semisvm.decision.checks import Floats
from semisvm.decision.linear_claims import LEAST_DOUBT
from semisvm.decision.logarithms import expit, logit
from semisvm.decision.precision_sets import SPREADS, SetOutlook
from semisvm.decision.spent_risk import SpentBound

# Where to begin is decided by simulated campaigns in which the log-odds of the predictions are off
# by each of these shifts, and too far from 0, right, or too near. On 15 pools, three levels, .507
# of the positives were returned with 100 labels and .640 with 300; without "too near" .500 and
# .636, with 40% of the risk at a set 2.5 times as large .478 and .638.
START_SHIFTS = (-1.0, 0.0, 1.0)
START_SLOPES = (0.6, 1.0, 1.6)
N_SIMULATED = 12  # campaigns, for each combination
LEFT_AFTER_FAILURE = 0.5  # of the labels, where a climb fails


class Climb(NamedTuple):
    """The sets to read one after the other, each with the rows it is expected to need more, and the
    positives that are expected in what is returned.
    """

    steps: tuple[tuple[int, int], ...]
    value: float


def best_start(outlook: SetOutlook, n_planned: int) -> int:
    """Return the set from which most positives are expected if the whole risk begins there, before
    any answer.
    """
    log_odds = logit(np.clip(outlook.rates, LEAST_DOUBT, 1 - LEAST_DOUBT))
    worlds = [expit(shift + slope * log_odds) for slope in START_SLOPES for shift in START_SHIFTS]
    rates = np.repeat(worlds, N_SIMULATED, axis=0)
    m = outlook.n_sets
    limits = [bound.limits(outlook.risk, 1.0) for bound in _bounds(outlook)]
    rng = np.random.default_rng(0)
    clocks = np.stack([_simulated_clocks(rng, world, outlook.sizes, limits) for world in rates])
    positives = np.cumsum(np.pad(rates * np.diff(outlook.edges), ((0, 0), (1, 0))), axis=1)

    def positives_of_first(n: Floats) -> Floats:
        return np.stack([np.interp(n[w], outlook.edges, row) for w, row in enumerate(positives)])

    failed = positives_of_first(np.full((len(rates), 1), LEFT_AFTER_FAILURE * n_planned))
    values = []
    for start in range(m):
        left = n_planned - climb_costs(clocks, start, np.zeros(m), outlook.unlabeled[:m])
        reached = positives_of_first(outlook.sizes[start:] + np.maximum(left, 0.0))
        values.append(np.where(left >= 0, reached, failed).max(axis=1).mean())
    return int(np.argmax(values))


def plan_climb(outlook: SetOutlook, n_left: int, n_returned: int) -> Climb | None:
    """Return the climb that goes on from what is proved; None where no set has any risk.

    `n_returned` unlabeled rows may be returned already, and stay if the climb fails.
    """
    proved, levels = outlook.proved
    bounds = _bounds(outlook)
    m = outlook.n_sets
    is_whole = proved >= [bound.whole for bound in bounds]
    starts = np.flatnonzero((levels > 0) & ~is_whole)
    if not len(starts):
        return None
    start = int(starts[0])
    expected = np.cumsum(outlook.unlabeled * outlook.rates + outlook.hits)[:m]
    clocks = np.full((len(SPREADS), m), np.inf)
    level = float(levels[start])
    for j in range(start, m):
        path, n = outlook.paths[j], bounds[j].n
        level += float(outlook.shares[j]) if j > start else 0.0
        if is_whole[j]:
            clocks[:, j] = 0.0
            continue
        pos = float(path.pos[-1]) if len(path) else 0.0
        rate = min((expected[j] - pos) / max(n - len(path), 1), 1.0)
        reads = bounds[j].reads_needed(len(path), len(path) - pos, rate, outlook.risk, level)
        clocks[:, j] = reads / n
        if not np.isfinite(reads).any():
            break
    lengths = np.array([len(path) for path in outlook.paths], dtype=float)
    read = np.maximum.accumulate((lengths / outlook.sizes)[::-1])[::-1]
    left = n_left - climb_costs(clocks, start, read, outlook.unlabeled[:m])
    unlabeled = np.cumsum(outlook.unlabeled)[start:m]
    reached = outlook.positives_of_first(unlabeled + np.maximum(left, 0.0))
    failed = outlook.positives_of_first(n_returned + LEFT_AFTER_FAILURE * n_left)
    values = np.where(left >= 0, np.maximum(reached, failed), failed).max(axis=1)
    steps = []
    for j in range(start, m):
        clock = clocks[len(SPREADS) // 2, j]
        if not np.isfinite(clock):
            steps.append((j, n_left))
            break
        if not is_whole[j]:
            more = np.maximum(clock - read[: j + 1], 0.0) @ np.diff(outlook.edges)[: j + 1]
            steps.append((j, max(int(np.ceil(more)), 1)))
            read[: j + 1] = np.maximum(read[: j + 1], clock)
    return Climb(tuple(steps), float(outlook.hits.sum() + values.mean()))


def climb_costs(clocks: Floats, start: int, read: Floats, unlabeled: Floats) -> Floats:
    """Return the labels, (n_worlds, n_sets - start), that a climb to each set takes.

    clocks     (n_worlds, n_sets)  the part of each set that must be read
    read       (n_sets,)           the part of each band that is read already
    unlabeled  (n_sets,)           rows of each band without an answer

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.decision.climb import climb_costs
    >>> climb_costs(np.array([[0.3, 0.15]]), 0, np.zeros(2), np.array([100.0, 100.0])).tolist()
    [[30.0, 45.0]]
    """
    costs = np.empty((len(clocks), clocks.shape[1] - start))
    needed = np.broadcast_to(read, clocks.shape).copy()
    per_part = unlabeled / np.maximum(1 - read, 1e-9)
    for end in range(start, clocks.shape[1]):
        needed[:, : end + 1] = np.maximum(needed[:, : end + 1], clocks[:, end : end + 1])
        is_possible = np.isfinite(needed[:, 0])
        costs[:, end - start] = np.inf
        costs[is_possible, end - start] = (needed[is_possible] - read) @ per_part
    return costs


def _simulated_clocks(
    rng: np.random.Generator, rates: Floats, sizes: Floats, limits: Sequence[np.ndarray]
) -> Floats:
    """The part of each set that is read until it is proved, infinite where it is not, in one random
    order of rows with these chances to be positive.
    """
    most = max(len(limit) for limit in limits)
    band_sizes = np.diff(sizes, prepend=0.0)
    firsts = [np.cumsum(rng.exponential(size=int(min(n, most)))) / n for n in band_sizes]
    bands = np.repeat(np.arange(len(sizes)), [len(first) for first in firsts])
    clocks = np.concatenate(firsts)
    order = np.argsort(clocks)
    clocks = np.minimum(clocks[order], 1.0)
    bands = bands[order]
    is_negative = rng.random(len(bands)) >= rates[bands]
    needed = np.full(len(sizes), np.inf)
    for k, limit in enumerate(limits):
        rows = np.flatnonzero(bands <= k)[: len(limit) - 1]
        is_proved = np.cumsum(is_negative[rows]) <= limit[1 : len(rows) + 1]
        if is_proved.any():
            needed[k] = clocks[rows[is_proved.argmax()]]
    return needed


def _bounds(outlook: SetOutlook) -> list[SpentBound]:
    return cast("list[SpentBound]", list(outlook.bounds))
