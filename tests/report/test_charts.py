"""The table behind the slider, against each threshold measured on its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report_summaries import answer, draw_scores
from semisvm.decision import Target, measure
from semisvm.report.charts import DIGITS, MOST_THRESHOLDS, bin_scores, tabulate, why_no_curve
from semisvm.tables.summary import ScoreSample

COSTS = (7.0, 2.0)


def scores_of(n=40, n_unlabeled=30, seed=0):
    labeled, sign = draw_scores(n, 0.4, 2.0, seed)
    pool, _ = draw_scores(n_unlabeled, 0.4, 2.0, seed + 1)
    return ScoreSample(tuple(labeled), tuple(sign), "empirical", tuple(pool), n_unlabeled)


def cost_from(columns, k):
    """What the page computes from the columns: a sum of two products at each end."""
    rows = sum(columns[cell][k] for cell in ("tp", "fp", "fn", "tn"))
    ends = [
        COSTS[0] * columns[f"missed_{end}"][k] + COSTS[1] * columns[f"alarm_{end}"][k]
        for end in ("low", "high")
    ]
    return (
        (COSTS[0] * columns["fn"][k] + COSTS[1] * columns["fp"][k]) / rows,
        ends[0],
        min(ends[1], max(COSTS)),
    )


def test_every_line_of_the_table_is_what_measuring_that_threshold_gives():
    scores = scores_of()
    columns = tabulate(scores, confidence=0.9, beta=2.0, chosen=0.1).columns
    for k, cut in enumerate(columns["cut"]):
        target = Target(beta=2.0, costs=COSTS)
        point = measure(scores.labeled, scores.sign, float(cut), target=target, confidence=0.9)
        assert [columns[cell][k] for cell in ("tp", "fp", "fn", "tn")] == list(point.counts)
        assert columns["unlabeled"][k] == np.count_nonzero(scores.pool > float(cut))
        for name in ("precision", "recall", "f_score"):
            table = [columns[name + end][k] for end in ("", "_low", "_high")]
            known = [np.nan if value is None else value for value in table]
            np.testing.assert_allclose(known, getattr(point, name), atol=0.6 * 10**-DIGITS)
        np.testing.assert_allclose(cost_from(columns, k), point.cost, atol=1e-4)


@given(st.integers(0, 10**6), st.floats(-4, 4) | st.sampled_from([np.inf, -np.inf]))
def test_the_chosen_threshold_is_in_the_table_with_its_exact_value(seed, chosen):
    scores = scores_of(n=25, seed=seed)
    if why_no_curve(scores):
        return
    table = tabulate(scores, confidence=0.9, beta=1.0, chosen=chosen)
    cuts = [float(cut) for cut in table.columns["cut"]]
    assert cuts[table.chosen] == chosen
    assert cuts == sorted(cuts)
    assert len(cuts) == len(set(scores.labeled)) + 1


def test_thresholds_are_thinned_and_the_chosen_one_stays():
    scores = scores_of(n=3000)
    table = tabulate(scores, confidence=0.9, beta=1.0, chosen=0.123456)
    assert len(table.columns["cut"]) in (MOST_THRESHOLDS, MOST_THRESHOLDS + 1)
    assert table.columns["cut"][table.chosen] == 0.123456
    assert table.columns["cut"][0] == "-inf"
    assert table.columns["cut"][-1] == "inf"


def test_accepted_unlabeled_rows_are_scaled_up_from_the_sample():
    labeled, sign = draw_scores(40, 0.4, 2.0, 0)
    pool = (-1.0, 0.0, 1.0, 2.0)
    scores = ScoreSample(tuple(labeled), tuple(sign), "empirical", pool, 1000)
    table = tabulate(scores, confidence=0.9, beta=1.0, chosen=0.5)
    assert table.columns["unlabeled"][table.chosen] == 500


def test_bins_hold_every_row_and_the_threshold():
    bins = bin_scores(answer()[2], 9.0)
    assert sum(bins["positive"]) + sum(bins["negative"]) == 57
    assert sum(bins["unlabeled"]) == 512
    assert bins["edges"][-1] == pytest.approx(9.0)


def test_scores_that_are_not_finite_are_left_out():
    sample = ScoreSample((0.5, np.nan, np.inf, 2.0), (1, 1, 1, -1), "empirical", (np.nan, 1.0), 2)
    scores, sign = sample.judged
    assert scores.tolist() == [0.5, 2.0]
    assert sign.tolist() == [1, -1]
    assert sample.pool.tolist() == [1.0]


def test_no_sample_is_said_to_be_missing():
    assert why_no_curve(ScoreSample()).startswith("No scores of labeled rows were stored")
