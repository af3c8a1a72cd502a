"""The laws and tables that promises rest on: published values, and exact checks by enumeration."""

from itertools import permutations, product

import numpy as np
import pytest

from semisvm.evidence.count_table import CountTable, best_look, growth
from semisvm.evidence.envelope import Envelope, found_law, look_at
from semisvm.evidence.new_rows import log_evidence
from semisvm.evidence.recall import CountTables
from semisvm.evidence.recall_sets import best_bets
from semisvm.evidence.returned import SetBound, certified_bounds
from semisvm.evidence.unseen_plan import look_and_bound

# ---- values of the design notes ----


@pytest.mark.parametrize(
    ("m", "s", "t", "law"),
    [
        (3, 0, 0.5, [0.125, 0.1875, 0.1875, 0.15625, 0.1171875, 0.08203125]),
        (10, 0.1, 0.2, [0.307946, 0.307946, 0.200165, 0.104702, 0.047732]),
    ],
)
def test_growth(m, s, t, law):
    np.testing.assert_allclose(growth(m, s, t, len(law) - 1)[: len(law)], law, atol=1e-6)


def test_growth_composes_and_long_steps_do_not_vanish():
    whole = growth(10, 0, 0.2, 200)
    np.testing.assert_allclose(
        np.convolve(growth(10, 0, 0.1, 200), growth(10, 0.1, 0.2, 200))[:20], whole[:20], atol=1e-15
    )
    law = growth(20_000, 0, 0.1, 4_000)  # the first term alone would be exp(-2,100)
    assert law.sum() == pytest.approx(1, abs=1e-6)
    assert law @ np.arange(len(law)) == pytest.approx(20_000 * 0.1 / 0.9, rel=1e-5)


# b, the planned look: looks at which c reaches 0, 1, 2, 5, 10, 50; c at the plan; risk used
TABLES = [
    (0, 0.96, [0.9559], 0, 0.0441),
    (3, 0.7, [0.5831, 0.7133, 0.8581], 0, 0.0479),
    (12, 0.4, [0.2659, 0.3435, 0.4110, 0.6353, 0.7601], 1, 0.0490),
    (114, 0.15, [0.0472, 0.0623, 0.0743, 0.1033, 0.1471, 0.4362], 10, 0.0494),
    (500, 0.08, [0.0134, 0.0176, 0.0210, 0.0292, 0.0416, 0.1360], 30, 0.0483),
    (2500, 0.04, [0.0033, 0.0042, 0.0050, 0.0069, 0.0096, 0.0270], 83, 0.0473),
]


@pytest.mark.parametrize(("b", "planned", "looks", "at_plan", "used"), TABLES)
def test_count_tables(b, planned, looks, at_plan, used):
    table = CountTable(b, 0.05, planned)
    reached = [table.t[table.c >= c][0] for c in (0, 1, 2, 5, 10, 50)[: len(looks)]]
    np.testing.assert_allclose(reached, looks, atol=6e-5)
    assert table.c[table.t == planned] == at_plan
    assert table.used == pytest.approx(used, abs=6e-5)


def test_best_looks():
    looks = {0: 0.975, 3: 0.7636, 12: 0.4076, 50: 0.1965, 114: 0.1343, 500: 0.0717, 2500: 0.0394}
    for b, look in looks.items():
        assert best_look(b, 0.05) == pytest.approx(look, abs=6e-5)


def test_found_law():
    np.testing.assert_allclose(
        found_law(3, 0.2, 5), [0.512, 0.8192, 0.94208, 0.98304, 0.995328, 0.998769], atol=1e-6
    )
    np.testing.assert_allclose(
        found_law(20, 0.1, 4), [0.121577, 0.36473, 0.620041, 0.807269, 0.914925], atol=1e-6
    )


def test_envelope_of_one_look_and_of_six():
    b = np.array([30, 50, 72, 100, 140])
    planned = (float(look_at(0.1)), 72.0)
    one = Envelope(look_at([0.1]), planned, 0.1, "one", across=4.0)
    assert one.level == pytest.approx(0.10238, rel=0.1)
    assert one.at(0, b).tolist() == [-1, 0, 3, 4, 5]
    six = Envelope(look_at(0.1 * 1.5 ** np.arange(-2.0, 4)), planned, 0.1, "six")
    assert six.level == pytest.approx(0.0275, rel=0.15)
    wanted = [
        [-1, -1, -1, -1, 0, 2],
        [-1, -1, -1, 1, 3, 5],
        [-1, -1, 1, 3, 5, 6],
        [-1, 0, 4, 4, 4, 4],
        [0, 3, 5, 5, 5, 5],
        [2, 4, 4, 4, 4, 4],
    ]
    got = [six.at(i, np.array([20, 40, 72, 100, 140, 200])) for i in range(6)]
    assert np.abs(np.array(got) - wanted).max() <= 1  # the level differs by simulation


@pytest.mark.parametrize(
    ("budget", "look", "b"), [(60, 0.1987, 20.03), (100, 0.3124, 22.00), (300, 0.3416, 22.19)]
)
def test_first_plan_of_unseen_rows(budget, look, b):
    t, planned = look_and_bound(np.linspace(0.01, 0.5, 2000), 0.9, budget, 0.05)
    assert (round(t, 4), round(planned, 2)) == (look, b)


# ---- exact chances, by enumeration ----


def chance_of_a_false_count(t, c, b, is_error):
    """The exact chance that a set is certified with more than b errors left, at any look.

    At a look all rows with clocks up to it are answered, and no others: the worst case.
    """
    edges = np.concatenate([[0.0], t, [1.0]])
    chances = np.diff(edges)
    total = 0.0
    for between in product(range(len(chances)), repeat=len(is_error)):
        look = np.array(between)
        for i in range(len(t)):
            found = np.cumsum(is_error & (look <= i))
            left = np.cumsum(is_error & (look > i))
            if (left[found <= c[i]] > b).any():
                total += np.prod(chances[look])
                break
    return total


@pytest.mark.parametrize("b", [0, 1])
def test_a_count_table_keeps_its_risk_for_every_truth(b):
    t = np.array([0.5, 0.75, 0.9])
    table = CountTable(b, 0.3, 0.75, t)
    assert table.c.max() >= 0
    worst = max(
        chance_of_a_false_count(t, table.c, b, np.array(truth))
        for truth in product([False, True], repeat=5)
    )
    assert worst <= table.used + 1e-12 <= 0.3
    generous = chance_of_a_false_count(t, table.c + 1, b, np.ones(5, dtype=bool))
    assert generous > 0.3  # the check can fail


def test_tables_for_many_b_never_fall_and_keep_their_risk():
    tables = CountTables(200, 0.1)
    assert (np.diff(tables.c, axis=0) >= 0).all()
    assert (np.diff(tables.c, axis=1) >= 0).all()
    rng = np.random.default_rng(0)
    for place in (5, 13, len(tables.b) - 1):
        b, c = tables.b[place], tables.c[place]
        assert c.max() >= 0
        assert share_crossed(tables.t, c, b, rng) <= 0.1 + 3 * (0.09 / 4000) ** 0.5
        assert share_crossed(tables.t, c + 2 + c // 4, b, rng) > 0.15


def share_crossed(t, c, b, rng, n_worlds=4000):
    """The share of worlds in which Y(t) <= c(t) at any look, all rows being errors."""
    d = np.diff(np.append(0.0, t)) / (1 - np.append(0.0, t[:-1]))
    Y, crossed = np.zeros(n_worlds), np.zeros(n_worlds, dtype=bool)
    for look, step, most in zip(t, d, c, strict=True):
        ring = rng.binomial(b + 1, step, n_worlds)
        Y += ring + np.where(ring, rng.negative_binomial(np.maximum(ring, 1), 1 - look), 0)
        crossed |= Y <= most
    return crossed.mean()


def test_an_envelope_holds_for_all_looks_and_sets_together():
    looks = look_at(0.2 * 1.5 ** np.arange(-1.0, 3))
    table = Envelope(looks, (float(looks[1]), 10.0), 0.1, "worlds")
    clock = np.random.default_rng(0).random((4000, 120))  # of wrong rows in scan order
    broken = np.zeros(4000, dtype=bool)
    one_set = np.zeros(4000, dtype=bool)
    for i, look in enumerate(looks):
        found, unfound = np.cumsum(clock <= look, axis=1), np.cumsum(clock > look, axis=1)
        broken |= (found <= table.at(i, unfound - 1)).any(axis=1)
        # The table of one set at the full risk, used for all sets.
        own = [
            np.searchsorted(found_law(u, look, 200), 0.1, side="right") - 1 for u in range(1, 121)
        ]
        one_set |= (found <= np.append(-1, own)[unfound]).any(axis=1)
    assert broken.mean() <= 0.1 + 3 * (0.09 / 4000) ** 0.5
    assert one_set.mean() > 0.2


def chance_of_a_false_bound(sizes, labels, shares, risk, known):
    """The exact chance, over all orders, that any bound ever exceeds its total."""
    bounds = [SetBound(n, 0.6, 0.3) for n in sizes]
    totals = np.array([labels[:n].sum() for n in sizes])
    n_false, orders = 0, list(permutations(range(len(labels))))
    for order in orders:
        for step in range(1, len(labels) + 1):
            read = [[labels[i] for i in order[:step] if i < n] for n in sizes]
            key = str(read)
            if key not in known:
                found = np.array([sum(path) for path in read])
                paths = [np.array(path) for path in read]
                known[key] = certified_bounds(bounds, paths, found, shares, risk)[0]
            if (known[key] > totals).any():
                n_false += 1
                break
    return n_false / len(orders)


@pytest.mark.parametrize(("shares", "holds"), [([0.5, 0.5], True), ([2.0, 2.0], False)])
def test_bounds_of_nested_sets_hold_together_for_every_truth(shares, holds):
    known = {}  # bounds by what was read
    worst = max(
        chance_of_a_false_bound([3, 5], np.array(labels), np.array(shares), 0.6, known)
        for labels in product([0, 1], repeat=5)
    )
    assert worst > 0
    assert (worst <= 0.6) == holds


def test_a_set_bound_by_brute_force():
    bound = SetBound(300, 0.7, 0.2)
    for pos, neg in [(20, 2), (0, 5), (40, 0), (9, 9)]:
        totals = np.arange(pos, 301 - neg)
        log_lik = np.array(
            [
                sum(np.log(T - i) for i in range(pos))
                + sum(np.log(300 - T - i) for i in range(neg))
                for T in totals
            ]
        )
        kept = totals[log_lik > bound.log_mixture(pos, neg) + np.log(0.1) + 1e-9]
        assert bound.lower(pos, neg, 0.1) == kept[0]


def test_evidence_for_new_rows_is_fair_at_the_null():
    """The mean of exp(log E) over all outcomes of ten rows with a share of p is at most 1."""
    p, n = 0.8, 10
    pos = np.arange(n + 1)
    ways = np.array([len(list(_choices(n, k))) for k in pos])
    chance = ways * p**pos * (1 - p) ** (n - pos)
    assert (chance * np.exp(log_evidence(pos, n - pos, p))).sum() <= 1 + 1e-12
    assert np.exp(log_evidence(40, 0, p)) > 100


def _choices(n, k):
    return (one for one in product([0, 1], repeat=n) if sum(one) == k)


def test_bets_on_a_recall_are_fair():
    """Whatever is believed, the mean factor under the null is at most 1."""
    rng = np.random.default_rng(0)
    values, sizes = np.array([0.2, 0.2, 0.8]), np.array([[5.0, 7.0, 30.0]])
    weights = rng.random(3)
    chances = (weights / (sizes[0] * weights).sum())[None]
    good = np.array([4.0, 3.0, 25.0])  # good rows of each band
    total = np.array([(values * good).sum()])  # the null just holds
    D, rho = best_bets(values, sizes, total, chances, np.array([[0.9, 0.8, 0.95]]))
    paid = values * (np.array([[1.0], [0.0]]) + rho) / (D * chances)
    mean = (chances * (good * paid[0] + (sizes[0] - good) * paid[1])).sum()
    assert mean == pytest.approx(1, abs=1e-9)
