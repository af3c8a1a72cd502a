"""The certificate beside MAPIE's `BinaryClassificationController`, on the same rows and at the same
confidence.

MAPIE tests the thresholds of a grid with the same exact binomial p-value and corrects for their
number: by Holm's procedure, or in a fixed sequence. Recall needs no correction (`certify` has the
proof), so what MAPIE certifies on its grid must be certified here as well, without accepting more
rows. MAPIE computes the number of errors by rounding n (1 - tp / n) up, which sometimes counts one
error too many: its p-value lies between that of tp and that of tp - 1 successes. A row is accepted
at score >= threshold there and at score > threshold here; no two scores of these worlds are equal.
"""

import numpy as np
import pytest
from mapie.risk_control import BinaryClassificationController
from scipy import stats

from semisvm import decision
from semisvm.decision.binomial import tail
from semisvm.decision.counts import count_each

pytestmark = pytest.mark.filterwarnings(
    "ignore:No predict parameters were found to control the risk:UserWarning"
)

CONFIDENCE = 0.9
RISK = 1 - CONFIDENCE
WORLDS = 300
MOST_BREACHES = RISK + 3 * np.sqrt(RISK * (1 - RISK) / WORLDS)
GRID = np.linspace(0, 0.99, 100)  # MAPIE's default
# For precision, only thresholds that accept some rows: MAPIE's Holm stops at the NaN of one that
# accepts none.
ACCEPTING_GRID = np.linspace(0.3, 0.8, 26)
ROWS = 120
SHARE = 0.4
POSITIVE = stats.beta(4, 2)
NEGATIVE = stats.beta(2, 4)
EAGER = (0.0, 1.0)  # costs that make it accept as few negatives as the promise allows


def draw(rng, n=ROWS):
    sign = np.where(rng.random(n) < SHARE, 1, -1)
    return np.where(sign > 0, rng.beta(4, 2, n), rng.beta(2, 4, n)), sign


def true_recall(threshold):
    return POSITIVE.sf(threshold)


def true_precision(threshold):
    accepted = SHARE * POSITIVE.sf(threshold), (1 - SHARE) * NEGATIVE.sf(threshold)
    return accepted[0] / sum(accepted)


def controller(scores, sign, measure, target, family="bonferroni_holm", grid=GRID):
    def both_columns(rows):
        return np.column_stack([1 - rows[:, 0], rows[:, 0]])

    made = BinaryClassificationController(
        both_columns,
        measure,
        target,
        confidence_level=CONFIDENCE,
        list_predict_params=grid,
        fwer_method=family,
    )
    return made.calibrate(scores[:, np.newaxis], (sign > 0).astype(int))


def counts_on_grid(scores, sign):
    return count_each(scores, sign > 0, np.nextafter(GRID, -1))


@pytest.mark.parametrize("measure", ["precision", "recall"])
def test_the_p_values_are_those_of_mapie_up_to_its_rounding(measure):
    rng = np.random.default_rng(0)
    ours = []
    theirs = []
    one_error_more = []
    for _ in range(20):
        scores, sign = draw(rng)
        counts = counts_on_grid(scores, sign)
        trials = counts.accepted if measure == "precision" else np.full(GRID.size, counts.positives)
        told = trials > 0  # without an accepted row MAPIE's is NaN
        ours.append(tail(counts.tp, trials, 0.8)[told])
        one_error_more.append(tail(counts.tp - 1, trials, 0.8)[told])
        theirs.append(controller(scores, sign, measure, 0.8).p_values[told, 0])
    ours, theirs, one_error_more = (
        np.concatenate(parts) for parts in (ours, theirs, one_error_more)
    )
    assert np.all(theirs >= ours * (1 - 1e-9))
    assert np.all(theirs <= one_error_more * (1 + 1e-9))
    assert np.mean(np.isclose(ours, theirs, rtol=1e-9)) > 0.7


@pytest.mark.parametrize("target", [0.7, 0.8, 0.9])
def test_what_mapie_certifies_for_recall_is_certified_here(target):
    rng = np.random.default_rng(1)
    n_more = 0
    for _ in range(25):
        scores, sign = draw(rng)
        point = decision.certify(
            scores, sign, decision.Target(min_recall=target, costs=EAGER), confidence=CONFIDENCE
        )
        assert point.reached
        counts = counts_on_grid(scores, sign)
        ours = set(GRID[counts.tp >= point.counts.tp])
        beyond_rounding = set(GRID[counts.tp > point.counts.tp])
        by_sequence = controller(scores, sign, "recall", target, "fixed_sequence")
        by_holm = controller(scores, sign, "recall", target)
        assert beyond_rounding <= set(by_sequence.valid_predict_params) <= ours
        assert set(by_holm.valid_predict_params) <= ours
        for found in (by_sequence, by_holm):
            if found.best_predict_param is not None:
                assert point.counts.accepted <= np.count_nonzero(scores >= found.best_predict_param)
        n_more += len(ours) - len(by_holm.valid_predict_params)
    assert n_more > 0


def breaches(thresholds, truth, target):
    """The share of worlds whose threshold breaks the promise; None means that nothing was
    promised.
    """
    return np.mean(
        [threshold is not None and truth(threshold) < target for threshold in thresholds]
    )


def highest(found):
    return max(found.valid_predict_params, default=None)


def test_both_keep_a_recall_over_many_worlds_and_the_empirical_choice_does_not():
    rng = np.random.default_rng(2)
    ours = []
    holm = []
    sequence = []
    empirical = []
    for _ in range(WORLDS):
        rows = draw(rng)
        asked = decision.Target(min_recall=0.8, costs=EAGER)
        ours.append(decision.certify(*rows, asked, confidence=CONFIDENCE).threshold)
        holm.append(highest(controller(*rows, "recall", 0.8)))
        sequence.append(highest(controller(*rows, "recall", 0.8, "fixed_sequence")))
        empirical.append(
            decision.choose(*rows, decision.Target(min_recall=0.8, costs=EAGER)).threshold
        )
    assert breaches(ours, true_recall, 0.8) <= MOST_BREACHES
    assert breaches(holm, true_recall, 0.8) <= MOST_BREACHES
    assert breaches(sequence, true_recall, 0.8) <= MOST_BREACHES
    assert breaches(empirical, true_recall, 0.8) > MOST_BREACHES


def test_both_keep_a_precision_over_many_worlds_and_ours_finds_more_of_the_positives():
    rng = np.random.default_rng(3)
    ours = []
    theirs = []
    empirical = []
    for _ in range(WORLDS):
        rows, (pool, _) = draw(rng, 2 * ROWS), draw(rng, 1000)
        point = decision.certify(
            *rows,
            decision.Target(min_precision=0.8, beta=2.0),
            confidence=CONFIDENCE,
            reference=pool,
        )
        ours.append(point.threshold if point.reached else None)
        theirs.append(controller(*rows, "precision", 0.8, grid=ACCEPTING_GRID).best_predict_param)
        empirical.append(
            decision.choose(*rows, decision.Target(min_precision=0.8, beta=2.0)).threshold
        )
    assert breaches(ours, true_precision, 0.8) <= MOST_BREACHES
    assert breaches(theirs, true_precision, 0.8) <= MOST_BREACHES
    assert breaches(empirical, true_precision, 0.8) > MOST_BREACHES
    assert sum(threshold is not None for threshold in theirs) > WORLDS / 4
    assert found_of_positives(ours) > found_of_positives(theirs)


def found_of_positives(thresholds):
    return np.mean(
        [0.0 if threshold is None else true_recall(threshold) for threshold in thresholds]
    )
