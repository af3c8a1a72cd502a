"""Betting evidence: golden values, exact enumeration of small pools, and identities between its
forms.
"""

import math
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from semisvm.decision import Target
from semisvm.decision.betting import (
    fallback,
    mixture_log_evidence,
    new_rows_log_evidence,
    null_total,
    perfect_record,
)
from semisvm.decision.linear_claims import (
    StratifiedClaim,
    best_draws,
    bet_on,
    linear_forms,
    next_gains,
    stratified,
    with_experts,
)

RECORDS = [
    (300, 0.7, 20, 2),
    (300, 0.7, 9, 0),
    (2000, 0.9, 26, 0),
    (60, 0.9, 30, 1),
    (1000, 0.85, 50, 4),
    (25, 0.7, 10, 0),
]
POOL = [2.533408, 2.434199, 2.412670, 1.776177, 0.491307, 4.250973]
NEW_ROWS = [2.300774, 2.330467, 2.244543, 0.507830, 0.501771, 2.615749]


@pytest.mark.parametrize(
    ("record", "pool", "new_rows"), list(zip(RECORDS, POOL, NEW_ROWS, strict=True))
)
def test_the_precision_mixture_has_its_golden_values(record, pool, new_rows):
    assert_allclose(mixture_log_evidence(*record), pool, atol=1e-6)
    assert_allclose(mixture_log_evidence(*record, new_rows=True), new_rows, atol=1e-6)


@pytest.mark.parametrize(
    ("level", "n"), [(0.6, 7), (0.7, 9), (0.8, 14), (0.85, 18), (0.9, 26), (0.95, 50)]
)
def test_a_perfect_record_certifies_after_so_many_labels(level, n):
    assert perfect_record(1000, level, 0.1) == n


def test_small_sets_are_certified_when_most_of_them_is_labeled():
    assert perfect_record(25, 0.7, 0.1) == 7
    assert perfect_record(10, 0.7, 0.1) == 5


def test_a_precision_of_one_takes_nine_tenths_of_the_set():
    n = 50
    positives = np.arange(n)
    assert_allclose(
        mixture_log_evidence(n, 1.0, positives, 0 * positives),
        np.log(n / (n - positives)),
        atol=1e-9,
    )
    assert perfect_record(n, 1.0, 0.1) == 45
    assert mixture_log_evidence(n, 1.0, 10, 1) == -np.inf
    assert perfect_record(n, 1.0, 0.1, new_rows=True) is None


def test_more_positives_than_the_null_has_are_a_proof_and_too_many_negatives_a_refutation():
    n, level = 10, 0.7
    K = null_total(n, level)
    assert K == 6
    assert mixture_log_evidence(n, level, K + 1, 0) == np.inf
    assert mixture_log_evidence(n, level, 0, n - K + 1) == -np.inf
    assert null_total(10, 0.65) == 6
    assert null_total(1, 0.9) == 0


# ---- exact enumeration of six rows ----


def sequences(counts):
    """Every order of a multiset of (kind, outcome): yields lists, each as likely as its draws
    make it.
    """
    kinds = [kind for kind, n in counts.items() if n]
    if not kinds:
        yield []
        return
    for kind in kinds:
        for rest in sequences({**counts, kind: counts[kind] - 1}):
            yield [kind, *rest]


def chance_of(order, counts, weights):
    """The chance of drawing this order of (stratum, outcome), with rows drawn in proportion to
    their weights.
    """
    left = dict(counts)
    chance = 1.0
    for kind in order:
        total = sum(n * weights[stratum] for (stratum, _), n in left.items())
        chance *= left[kind] * weights[kind[0]] / total
        left[kind] -= 1
    return chance


@pytest.mark.parametrize("level", [0.5, 0.6, 0.7, 0.9, 1.0])
def test_mean_evidence_of_precision_is_at_most_one_and_one_at_the_boundary(level):
    n = 6
    K = null_total(n, level)
    for total in range(K + 1):
        counts = {(0, 1): total, (0, 0): n - total}
        means = np.zeros(n)
        for order in sequences(counts):
            good = np.array([outcome for _, outcome in order])
            path = np.exp(mixture_log_evidence(n, level, np.cumsum(good), np.cumsum(1 - good)))
            means += chance_of(order, counts, [1.0]) * path
        assert (means <= 1 + 1e-9).all()
        if total == K:
            assert_allclose(means[0], 1.0, atol=1e-9)
            assert_allclose(means.max(), 1.0, atol=1e-9)


CLAIMS = [
    ("precision", Target(min_precision=0.6)),
    ("recall", Target(min_recall=0.6)),
    ("recall 1", Target(min_recall=1.0)),
    ("F1", Target(min_f=0.6)),
    ("F2", Target(min_f=0.6, beta=2.0)),
    ("cost", Target(costs=(3, 1), max_cost=0.4)),
    ("cost of one kind", Target(costs=(0, 1), max_cost=0.2)),
]


@pytest.mark.parametrize(("name", "target"), CLAIMS, ids=[name for name, _ in CLAIMS])
def test_mean_evidence_is_at_most_one_for_every_labeling_in_the_null(name, target):
    """Two accepted and four rejected rows, drawn at different speeds; every labeling, every
    order.
    """
    sizes = np.array([2.0, 4.0])
    speeds = np.array([0.3, 0.1])
    (form,) = linear_forms(target)
    plain, bands = stratified(sizes, np.array([0.8, 0.1]), speeds, form, 1)
    claim = with_experts(plain, bands, form, 1)
    stratum = {int(band): i for i, band in enumerate(bands)}
    largest, n_null = 0.0, 0
    for good in product(range(3), range(5)):
        kept = {(band, 1): good[band] for band in stratum} | {
            (band, 0): int(sizes[band]) - good[band] for band in stratum
        }
        dues = form.dues(np.array([True, False]))
        if (form.values(np.array([True, False])) * good - dues * sizes).sum() >= -1e-12:
            continue  # the claim is true
        n_null += 1
        means = np.zeros(sum(kept.values()))
        for order in sequences(kept):
            _, path = bet_on(
                claim, [stratum[band] for band, _ in order], [float(one) for _, one in order]
            )
            means += chance_of(order, kept, speeds) * np.exp(path)
        largest = max(largest, float(means.max()))
    assert n_null > 0
    assert largest <= 1 + 1e-9
    assert largest > 0.5  # the null's edge is close


@pytest.mark.parametrize(("name", "target"), CLAIMS[:5], ids=[name for name, _ in CLAIMS[:5]])
def test_mean_evidence_is_at_most_one_where_rows_are_left_out(name, target):
    """Two accepted and three rejected rows, one or two of which can't be decided and count for
    nothing.
    """
    sizes = np.array([2.0, 3.0])
    speeds = np.array([0.3, 0.1])
    (form,) = linear_forms(target)
    plain, bands = stratified(sizes, np.array([0.8, 0.1]), speeds, form, 1, whole_outcomes=False)
    claim = with_experts(plain, bands, form, 1)
    stratum = {int(band): i for i, band in enumerate(bands)}
    is_accepted = np.array([True, False])
    neutral = form.neutral(is_accepted)
    values = form.values(is_accepted)
    dues = form.dues(is_accepted)
    for left_out in ((1, 0), (0, 1), (1, 1)):
        decided = sizes - left_out
        for good in product(range(int(decided[0]) + 1), range(int(decided[1]) + 1)):
            if (values * good - dues * decided).sum() >= -1e-12:
                continue
            counts = {}
            for band in stratum:
                for outcome, n in (
                    (1.0, good[band]),
                    (0.0, decided[band] - good[band]),
                    (neutral[band], left_out[band]),
                ):
                    counts[band, float(outcome)] = counts.get((band, float(outcome)), 0) + int(n)
            means = np.zeros(sum(counts.values()))
            for order in sequences(counts):
                _, path = bet_on(
                    claim, [stratum[band] for band, _ in order], [one for _, one in order]
                )
                means += chance_of(order, counts, speeds) * np.exp(path)
            assert (means <= 1 + 1e-9).all()


def test_mean_evidence_about_new_rows_is_at_most_one():
    gains, worst, chance = np.array([0.3, -0.7]), -0.7, 0.7  # mean 0: the edge of the null
    mean = 0.0
    for order in product((0, 1), repeat=6):
        path = new_rows_log_evidence(gains[list(order)], worst)
        mean += math.prod(chance if one == 0 else 1 - chance for one in order) * math.exp(path[-1])
    assert_allclose(mean, 1.0, atol=1e-9)


# ---- the general bet ----

STRATA = StratifiedClaim(
    np.array([100.0, 900.0]),
    np.array([0.2, 0.8]),
    720 - 1e-9,
    np.array([0.004, 0.6 / 900]),
    np.array([[0.9, 0.99], [0.8, 0.995]]),
)
DRAWS = [0, 1, 1, 0, 1, 1, 1]
OUTCOMES = [1, 1, 1, 0, 1, 0, 1]
PATH = [0.004683, 0.020983, 0.037312, 0.012369, 0.028483, -1.126553, -1.111825]


def test_the_stratified_bet_has_its_golden_values():
    state, path = bet_on(STRATA, DRAWS, OUTCOMES)
    assert_allclose(path, PATH, atol=1e-6)
    assert state.highest == path.max()


def test_betting_in_parts_is_betting_at_once_bit_for_bit():
    rng = np.random.default_rng(0)
    draws = rng.integers(0, 2, 90)
    outcomes = (rng.random(90) < 0.9).astype(float)
    whole, path = bet_on(STRATA, draws, outcomes)
    state = None
    parts = []
    for part in np.split(np.arange(90), [1, 2, 9, 40, 41]):
        state, found = bet_on(STRATA, draws[part], outcomes[part], state)
        parts.append(found)
    assert np.array_equal(np.concatenate(parts), path)
    assert np.array_equal(state.log_wealths, whole.log_wealths)
    assert (state.total, state.highest) == (whole.total, whole.highest)


def test_the_best_draws_have_their_golden_values():
    chances, growth = best_draws(STRATA.sizes, STRATA.values, 720, np.array([0.9, 0.995]))
    assert_allclose(100 * chances[0], 0.0539, atol=5e-5)
    assert_allclose((STRATA.sizes * chances).sum(), 1)
    assert_allclose(growth, 0.011019, atol=1e-6)
    assert round(math.log(10) / growth) == 209


def growth_per_label(claim):
    """By how much the one expert of a claim expects its log wealth to grow with the first label."""
    gains, chances = next_gains(
        claim.values, claim.sizes, claim.total, claim.weights, claim.experts
    )
    (beliefs,) = claim.experts
    return float((gains[0] * np.stack([beliefs, 1 - beliefs]) * chances).sum())


def test_no_draws_grow_faster_than_the_best():
    beliefs = np.array([0.9, 0.995])
    chances, growth = best_draws(STRATA.sizes, STRATA.values, 720, beliefs)

    def growth_with(weights):
        return growth_per_label(
            StratifiedClaim(STRATA.sizes, STRATA.values, 720, weights, beliefs[None])
        )

    assert_allclose(growth_with(chances), growth, rtol=1e-6)
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert growth_with(chances * np.array([factor, 1.0])) < growth


def test_the_best_draws_of_random_pools_grow_as_said_and_no_others_faster():
    rng = np.random.default_rng(0)
    for _ in range(30):
        k = int(rng.integers(1, 25))
        sizes = np.floor(np.exp(rng.uniform(0, 10, k)))
        values = np.exp(rng.normal(size=k))
        beliefs = rng.uniform(0.0005, 0.9995, k)
        total = rng.uniform(0.3, 0.99) * (sizes * values * beliefs).sum()
        chances, growth = best_draws(sizes, values, total, beliefs)
        changes = np.vstack([np.ones(k), np.exp(0.2 * rng.normal(size=(4, k)))])
        grown = [
            growth_per_label(StratifiedClaim(sizes, values, total, chances * c, beliefs[None]))
            for c in changes
        ]
        assert_allclose(grown[0], growth, rtol=1e-6)
        assert max(grown) <= growth * (1 + 1e-6)


def test_one_stratum_and_one_expert_are_a_likelihood_ratio():
    n, K, belief = 50, 30, 0.8
    claim = StratifiedClaim(
        np.array([float(n)]), np.array([1.0]), float(K), np.ones(1), np.array([[belief]])
    )
    outcomes = np.array([1, 1, 0, 1, 1, 1, 0, 1])
    _, path = bet_on(claim, np.zeros(8, dtype=int), outcomes)
    before = np.concatenate([[0], np.cumsum(outcomes)[:-1]])
    null = (K - before) / (n - np.arange(8))
    ratio = np.where(outcomes == 1, belief / null, (1 - belief) / (1 - null))
    assert_allclose(path, np.cumsum(np.log(ratio)), atol=1e-6)


# ---- several thresholds ----


def test_the_fallback_hands_the_level_of_a_passed_claim_to_the_next():
    passed, levels = fallback([2.0, 3.0, 2.5], [0.6, 0.2, 0.2], risk=0.1)
    assert passed.tolist() == [False, False, False]  # log(1 / 0.06) = 2.81, log(1 / 0.02) = 3.91
    passed, levels = fallback([3.0, 2.6, 2.4], [0.6, 0.2, 0.2], risk=0.1)
    assert passed.tolist() == [True, True, True]
    assert_allclose(levels, [0.6, 0.8, 1.0])
    passed, levels = fallback([0.0, 4.0, 2.0], [0.6, 0.2, 0.2], risk=0.1)
    assert passed.tolist() == [False, True, False]
    assert_allclose(levels, [0.6, 0.2, 0.4])


def test_what_is_known_passes_whatever_its_level():
    passed, _ = fallback([0.0, np.inf], [1.0, 0.0], risk=0.1)
    assert passed.tolist() == [False, True]


@pytest.mark.parametrize("level", [0.6, 0.9])
def test_false_certificates_are_rare_when_every_set_is_just_below_the_target(level):
    """2,000 worlds, the highest evidence over the whole order: three standard errors above 10%
    at most.
    """
    n_worlds = 2_000
    sizes = [30, 45, 67, 100, 148, 220]
    shares = [0.6, 0, 0.2, 0, 0.2, 0]
    rng = np.random.default_rng(0)
    totals = [null_total(n, level) for n in sizes]
    positive = np.zeros(sizes[-1], dtype=bool)
    for n_inner, inner, total in zip([0, *sizes[:-1]], [0, *totals[:-1]], totals, strict=True):
        positive[n_inner : n_inner + total - inner] = True
    tables = []
    for n, total in zip(sizes, totals, strict=True):
        pos, neg = np.meshgrid(np.arange(total + 1), np.arange(n - total + 1), indexing="ij")
        tables.append(mixture_log_evidence(n, level, pos, neg))
    n_false = 0
    for _ in range(n_worlds):
        order = rng.permutation(sizes[-1])
        highest = []
        for n, table in zip(sizes, tables, strict=True):
            good = positive[order[order < n]]
            highest.append(table[np.cumsum(good), np.cumsum(~good)].max())
        n_false += bool(fallback(highest, shares, 0.1)[0].any())
    assert n_false / n_worlds <= 0.1 + 3 * math.sqrt(0.09 / n_worlds)
