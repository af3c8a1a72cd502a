"""The study of campaigns: its worlds are at the boundary, and a few campaigns of each kind keep the
risk.
"""

import json
import math

import numpy as np
import pytest

from source_files import REPOSITORY
from studies.certify import violations
from studies.certify.__main__ import PARTS, show_violations
from studies.certify.pools import Pool
from studies.certify.records import RESULTS, run_tasks
from studies.certify.rivals import random_recall, top

QUICK = [
    violations.Cell("F", "just beyond the best", 2.0),
    violations.Cell("cost", "just beyond the best", 2.0),
    violations.Cell("both", "just beyond the best", 2.0),
    violations.Cell("precision, new rows", "just below", 0.6),
    violations.Cell("recall, new rows", "deep misses", 0.8),
]


@pytest.mark.parametrize("cell", QUICK, ids=lambda cell: cell.target)
def test_campaigns_at_the_boundary_keep_the_risk(cell):
    """Eight campaigns, up to three standard errors; the study has two thousand per target."""
    n_wrong = sum(violations.is_ever_wrong(cell, seed) for seed in range(1000, 1008))
    assert n_wrong <= 0.1 * 8 + 3 * math.sqrt(0.09 * 8)


@pytest.mark.parametrize("cell", violations.CELLS, ids=lambda cell: cell.key)
def test_worlds_are_what_they_say(cell):
    world = violations.WORLDS[cell.target](cell, np.random.default_rng(0))
    assert len(world.scores) == len(world.truth) == violations.N_ROWS
    assert set(np.unique(world.truth)) <= {0, 1}
    if cell.world == "deep misses" and cell.target in ("recall", "recall, one look"):
        middle = world.scores > 0
        recall = world.truth[middle].sum() / world.truth.sum()
        assert cell.level - 0.05 < recall < cell.level


def test_every_target_has_as_many_campaigns_as_are_asked_for():
    for target in violations.WORLDS:
        blocks = [violations.n_blocks(cell) for cell in violations.CELLS if cell.target == target]
        assert sum(blocks) * violations.BLOCK >= violations.PER_TARGET


def test_records_are_kept_and_not_run_again(tmp_path):
    calls = []

    def run(cell, seed):
        calls.append((cell, seed))
        return int(seed == 1)

    key = violations.CELLS[0].key
    for n in (2, 3):
        records = run_tasks("violations", [(key, seed) for seed in range(n)], run, tmp_path)
    assert calls == [(key, 0), (key, 1), (key, 2)]
    assert f"| {key} | 30 | 1 | 0.033 |" in show_violations("violations", records)


def test_baselines_keep_what_they_promise():
    rng = np.random.default_rng(0)
    truth = (rng.random(3000) < 0.2).astype(int)
    pool = Pool("normal", 2 * truth + rng.normal(size=3000), truth)
    n_missed = 0
    for seed in range(40):
        rows = random_recall(pool, 0.8, 0.1, 300, seed)
        n_missed += truth[rows].sum() < 0.8 * truth.sum()
    assert n_missed <= 0.1 * 40 + 3 * math.sqrt(0.09 * 40)
    assert truth[top(pool, 0.8, 0.1, 100, 0)].all()


@pytest.mark.parametrize("part", list(PARTS))
def test_the_page_shows_what_is_recorded(part):
    path = RESULTS / f"{part}.json"
    cells = json.loads(path.read_text())["cells"]
    page = (REPOSITORY / "docs" / "measured" / "certify.md").read_text(encoding="utf-8")
    shown = page.split(f"<!-- {part} -->\n")[1].split(f"\n<!-- /{part} -->")[0]
    assert shown == PARTS[part][1](part, cells)
