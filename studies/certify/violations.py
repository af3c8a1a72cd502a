"""How often a campaign is ever wrong, in worlds at the boundary, with an adversary who stops there.

Every cell is a target in a world that is made to mislead: an adversary looks after each batch and
stops as soon as what is certified is false. At most `RISK` of the campaigns of a cell may be.

    precision   every set just below the target; true at the top, then below; bad at the top; rare;
                with a budget, which is what is spent, and without one
    recall      the missed positives deep below, so that half of all thresholds are just below the
                target; scores that tell something; scores of no use; also by one look at the end
    F, cost     the target is just beyond what the best threshold reaches: every certificate is false
    both        a precision, and a recall just beyond what any threshold with it reaches
    new rows    the same for the source of the rows: precision everywhere just below, misses deep below
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from semisvm import Campaign

RISK = 0.1
N_ROWS = 400
SET_LABELS, SET_BATCH = 60, 20
RECALL_LABELS, RECALL_BATCH = 100, 20
THRESHOLD_LABELS, THRESHOLD_BATCH = 160, 40
PER_TARGET = 2000  # campaigns, at least
BLOCK = 10  # campaigns of a cell that are counted together


class World(NamedTuple):
    """A pool, what is asked of it, and whether rows or a threshold miss that."""

    scores: np.ndarray
    truth: np.ndarray
    asked: dict[str, Any]
    is_wrong: Callable[[Campaign], bool]


class Cell(NamedTuple):
    """One target in one kind of world."""

    target: str
    world: str
    level: float

    @property
    def key(self) -> str:
        """The cell in one string."""
        return f"{self.target} {self.level:g}, {self.world}"


CELLS = tuple(
    [
        Cell("precision", world, level)
        for world in ("just below", "true then below", "top bad", "rare")
        for level in (0.6, 0.8, 0.9)
    ]
    + [
        Cell("precision, no budget", world, level)
        for world in ("just below", "true then below")
        for level in (0.6, 0.8, 0.9)
    ]
    + [
        Cell("recall", world, level)
        for world in ("deep misses", "informative", "no use")
        for level in (0.7, 0.8, 0.9)
    ]
    + [Cell("recall, one look", world, 0.8) for world in ("deep misses", "no use")]
    + [
        Cell(target, "just beyond the best", use)
        for target in ("F", "cost", "both")
        for use in (1.0, 2.0)
    ]
    + [Cell("precision, new rows", "just below", level) for level in (0.6, 0.8)]
    + [Cell("recall, new rows", "deep misses", level) for level in (0.7, 0.8)]
)


def n_blocks(cell: Cell) -> int:
    """Blocks of campaigns of a cell, so that its target has as many as are asked for."""
    n_cells = sum(other.target == cell.target for other in CELLS)
    return math.ceil(PER_TARGET / (n_cells * BLOCK))


def count_wrong(cell: Cell, block: int) -> int:
    """Return how many campaigns of a block are ever wrong."""
    return sum(is_ever_wrong(cell, seed) for seed in range(block * BLOCK, (block + 1) * BLOCK))


def is_ever_wrong(cell: Cell, seed: int) -> bool:
    """Whether one campaign is false after some batch."""
    rng = np.random.default_rng([seed, *cell.key.encode()])
    world = WORLDS[cell.target](cell, rng)
    n_labels, batch = THRESHOLD_LABELS, THRESHOLD_BATCH
    if cell.target in ("precision", "precision, no budget"):
        n_labels, batch = SET_LABELS, SET_BATCH
    elif cell.target in ("recall", "recall, one look"):
        n_labels, batch = RECALL_LABELS, RECALL_BATCH
    own_seed = rng.bytes(16).hex()  # a campaign's own comes from the operating system
    campaign = Campaign(world.scores, confidence=1 - RISK, seed=own_seed, **world.asked)
    while campaign.n_labels < n_labels and (rows := campaign.draw(batch)):
        campaign.tell(rows, world.truth[rows])
        if world.is_wrong(campaign):
            return True
    return False


# ---- worlds ----


def _precision(cell: Cell, rng: np.random.Generator) -> World:
    p = cell.level
    scores = np.linspace(1, -1, N_ROWS)
    if cell.world == "just below":  # as many as the null allows, anywhere
        truth = np.zeros(N_ROWS, dtype=int)
        truth[rng.choice(N_ROWS, math.ceil(p * N_ROWS) - 1, replace=False)] = 1
    else:
        rates = {
            "true then below": np.where(np.arange(N_ROWS) < N_ROWS // 4, (1 + p) / 2, p - 0.2),
            "top bad": np.where(np.arange(N_ROWS) < N_ROWS // 10, 0.5, p - 0.01),
            "rare": np.full(N_ROWS, 0.05),
        }[cell.world]
        truth = (rng.random(N_ROWS) < rates).astype(int)
    budget = SET_LABELS if cell.target == "precision" else None
    return World(scores, truth, {"min_precision": p, "budget": budget}, _misses(truth, p=p))


def _deep_misses(r: float, n_positive: int = 60) -> np.ndarray:
    """Rows from the top: a share just below r of the positives in the first quarter, the others in
    the last.
    """
    n_top = math.ceil(r * n_positive) - 1
    truth = np.zeros(N_ROWS, dtype=int)
    truth[np.linspace(0, N_ROWS // 4 - 1, n_top).astype(int)] = 1
    truth[np.linspace(3 * N_ROWS // 4, N_ROWS - 1, n_positive - n_top).astype(int)] = 1
    return truth


def _recall(cell: Cell, rng: np.random.Generator) -> World:
    r = cell.level
    if cell.world == "deep misses":
        scores, truth = np.linspace(1, -1, N_ROWS), _deep_misses(r)
    else:
        truth = (rng.random(N_ROWS) < 0.15).astype(int)
        scores = (1.5 if cell.world == "informative" else 0.0) * truth + rng.normal(size=N_ROWS)
    asked: dict[str, Any] = {"min_recall": r}
    if cell.target == "recall, one look":
        asked |= {"budget": RECALL_LABELS, "one_look": True}
    return World(scores, truth, asked, _misses(truth, r=r))


def _beyond_the_best(cell: Cell, rng: np.random.Generator) -> World:
    truth = (rng.random(N_ROWS) < 0.3).astype(int)
    scores = cell.level * (truth - 0.5) + rng.normal(size=N_ROWS)
    tp = np.cumsum(truth[np.argsort(-scores)])
    accepted = np.arange(1, N_ROWS + 1)
    recalls = tp / tp[-1]
    if cell.target == "F":
        best = float((2 * tp / (accepted + tp[-1])).max())
        return World(scores, truth, {"min_f": min(best + 0.002, 0.99)}, _is_certified)
    if cell.target == "cost":
        costs = (accepted - tp + 2 * (tp[-1] - tp)) / N_ROWS
        return World(
            scores, truth, {"max_cost": float(costs.min()) - 0.002, "costs": (2, 1)}, _is_certified
        )
    precisions = tp / accepted
    p = float(np.quantile(precisions[N_ROWS // 20 : N_ROWS // 2], 0.5))
    r = min(float(recalls[precisions >= p].max()) + 0.01, 0.99)
    return World(scores, truth, {"min_precision": p, "min_recall": r}, _is_certified)


def _new_rows(cell: Cell, rng: np.random.Generator) -> World:
    """A pool from a source that is known: scores between 0 and 1."""
    level = cell.level
    if cell.target == "precision, new rows":
        scores = rng.random(N_ROWS)
        truth = (rng.random(N_ROWS) < level - 0.002).astype(int)
        return World(scores, truth, {"min_precision": level, "claim": "new rows"}, _is_certified)
    truth = (rng.random(N_ROWS) < 0.2).astype(int)
    is_top = rng.random(N_ROWS) < level - 0.005
    quarter = rng.random(N_ROWS) / 4
    scores = np.where(truth == 1, np.where(is_top, 0.75 + quarter, quarter), rng.random(N_ROWS))

    def is_wrong(campaign: Campaign) -> bool:
        # True only of thresholds in the last quarter, where the others are.
        point = campaign.verdict().operating_point
        if point is None:
            return False
        missed = 1.005 - level
        reached = level - 0.005 + missed * max(0.0, 1 - 4 * point.threshold)
        return reached < level

    return World(scores, truth, {"min_recall": level, "claim": "new rows"}, is_wrong)


WORLDS: dict[str, Callable[[Cell, np.random.Generator], World]] = {
    "precision": _precision,
    "precision, no budget": _precision,
    "recall": _recall,
    "recall, one look": _recall,
    "F": _beyond_the_best,
    "cost": _beyond_the_best,
    "both": _beyond_the_best,
    "precision, new rows": _new_rows,
    "recall, new rows": _new_rows,
}


# ---- what is false ----


def _misses(
    truth: np.ndarray, p: float | None = None, r: float | None = None
) -> Callable[[Campaign], bool]:
    """Whether the accepted rows miss a precision or a recall."""

    def is_wrong(campaign: Campaign) -> bool:
        rows = campaign.accepted().rows
        if not len(rows):
            return False
        positives = int(truth[rows].sum())
        if p is not None:
            return positives < p * len(rows) - 1e-9
        assert r is not None
        return positives < r * truth.sum() - 1e-9

    return is_wrong


def _is_certified(campaign: Campaign) -> bool:
    """No threshold keeps the target, so that every certificate of one is false."""
    return campaign.standing(with_forecasts=False).is_certified
