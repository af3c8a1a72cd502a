"""Bounds that spend their risk over a budget: exact chances, by enumeration and in boundary worlds."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import hypergeom

from semisvm.decision import spent_risk
from semisvm.decision.precision_sets import PrefixPath, certified_bounds
from semisvm.decision.spent_risk import SpentBound, hypotheses, most_negatives, spent_share


@pytest.mark.parametrize(("n", "level", "risk", "budget"), [(8, 0.7, 0.3, 8), (9, 0.6, 0.4, 5)])
def test_the_chance_that_a_hypothesis_is_ever_rejected_by_enumeration(n, level, risk, budget):
    """Every order of every pool: for every total up to K it is at most the risk, beyond the budget
    too, and for K itself little less.
    """
    limits = most_negatives(n, level, risk, budget, n)
    rejected = np.zeros((len(limits), n + 1))
    for total in range(n + 1):
        for positives in itertools.combinations(range(n), total):
            neg = np.cumsum(~np.isin(np.arange(n), positives))
            rejected[:, total] += (neg <= limits[:, 1:]).any(axis=1)
        rejected[:, total] /= math.comb(n, total)
    for k, K in enumerate(hypotheses(n, level).astype(int)):
        assert rejected[k, : K + 1].max() <= risk
        assert rejected[k, : K + 1].argmax() == K or rejected[k, K] == rejected[k].max()
    assert rejected[-1, int(hypotheses(n, level)[-1])] > 0.4 * risk


def test_looking_all_the_time_costs_little_beside_one_look():
    """The negatives that are allowed after all labels, and those of an exact test at the end."""
    for n, level, budget in [(1000, 0.9, 100), (1000, 0.8, 100), (2000, 0.9, 300)]:
        limits = most_negatives(n, level, 0.1, budget, budget)
        K = math.ceil(level * n) - 1
        at_the_end = budget - int(hypergeom.isf(0.1, n, K, budget)) - 1
        assert at_the_end - 3 <= limits[-1, budget] <= at_the_end


def test_the_risk_is_spent_little_by_little_and_never_all():
    shares = spent_share(np.arange(1, 10_000), 200)
    assert (np.diff(shares) > 0).all()
    assert shares[199] == pytest.approx(1 - spent_risk.LATER)
    assert shares[-1] < 1


def test_a_longer_table_continues_a_shorter_one():
    short = most_negatives(400, 0.8, 0.05, 60, 60)
    assert (most_negatives(400, 0.8, 0.05, 60, 240)[:, :61] == short).all()


def share_ever_rejected(risk, n_worlds=2000):
    """How often "at most 159 of 200 rows are positive" is rejected in 60 rows, where it is just
    true.
    """
    truth = np.arange(200) < 159
    order = np.random.default_rng(0).permuted(np.tile(truth, (n_worlds, 1)), axis=1)[:, :60]
    limits = spent_risk.most_negatives(200, 0.8, risk, 60, 60)[-1, 1:]
    return (np.cumsum(~order, axis=1) <= limits).any(axis=1).mean()


def test_a_true_hypothesis_is_rejected_within_the_risk():
    assert 0.05 < share_ever_rejected(0.1) <= 0.1


def test_the_whole_risk_at_every_look_would_break_the_promise(monkeypatch):
    """Broken on purpose: an exact test after each row, as if it were the only one."""

    def at_each_look(n, level, risk, budget, length):
        s = np.arange(length + 1)
        return s - hypergeom.isf(risk, n, hypotheses(n, level)[:, None], s) - 1

    monkeypatch.setattr(spent_risk, "most_negatives", at_each_look)
    assert share_ever_rejected(0.1) > 0.1 + 3 * math.sqrt(0.09 / 2000)


def test_bounds_of_nested_sets_hold_together():
    """Two sets that keep the precision hand their risk on to one just below it; looks at three
    times, up to three standard errors.
    """
    rng = np.random.default_rng(0)
    sizes = [40, 80, 160]
    bounds = [SpentBound(n, 0.8, 60) for n in sizes]
    totals = np.array([38, 74, 127])
    n_wrong = 0
    for _ in range(60):
        truth = np.concatenate([np.arange(40) < 38, np.arange(40) < 36, np.arange(80) < 53])
        clocks = rng.random(160)
        for time in (0.2, 0.3, 0.4):
            paths = []
            for bound in bounds:
                order = np.argsort(clocks[: bound.n])[: int((clocks[: bound.n] < time).sum())]
                paths.append(PrefixPath.empty().read(bound, truth[order]))
            found = [int(path.pos[-1]) if len(path) else 0 for path in paths]
            lower, _ = certified_bounds(bounds, paths, found, [1.0, 0.0, 0.0], 0.1)
            if (lower > totals).any():
                n_wrong += 1
                break
    assert n_wrong <= 0.1 * 60 + 3 * math.sqrt(0.09 * 60)
