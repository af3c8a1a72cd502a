"""The arithmetic of verdicts, on records made by hand."""

import pytest

from studies.harness.means import summarize
from studies.papers.compare import count_verdicts
from studies.papers.tasks import Line, Reference, Task
from studies.papers.verdicts import VERDICTS, is_firm, judge
from study_records import compare_records, done_record

TASK = Task("iris", "supervised", {"train": 100, "hidden": 0.9}, {"C": 1.0})
OTHER = Task("iris", "supervised", {"train": 100, "hidden": 0.9}, {"C": 10.0})


def records(values, *, measure="accuracy", task=TASK, outcome="done", why=""):
    made = [done_record(task, seed, {measure: value}) for seed, value in enumerate(values)]
    return (
        made
        if outcome == "done"
        else [record | {"outcome": outcome, "why": why} for record in made]
    )


def verdict_of(values, reference, *, measure="accuracy", **line):
    (comparison,) = compare_records(
        [Line("t", "s", "m", measure, TASK, reference, **line)], records(values, measure=measure)
    )
    return comparison.verdict


@pytest.mark.parametrize(
    ("ours", "spread", "expected"),
    [
        (0.92, None, "reproduced"),  # 0.02 off, with nothing published to compare it to
        (0.921, None, "close"),
        (0.94, None, "close"),
        (0.941, None, "differs"),
        (0.92, 0.01, "reproduced"),  # a spread below 0.02 does not make it stricter
        (0.95, 0.05, "reproduced"),
        (1.0, 0.05, "close"),
        (0.79, 0.05, "differs"),
    ],
)
def test_a_mean_is_reproduced_within_the_spread_or_two_hundredths(ours, spread, expected):
    assert verdict_of([ours], Reference(0.90, spread)) == expected


def test_the_mean_over_seeds_is_judged_and_not_any_single_one():
    assert verdict_of([0.80, 1.00], Reference(0.90)) == "reproduced"


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        (100, "reproduced"),  # inside our range
        (50, "reproduced"),  # on its end
        (38, "close"),  # 12 of 600 below it
        (37, "differs"),
        (162, "close"),
        (163, "differs"),
    ],
)
def test_a_single_draw_is_judged_by_our_range_of_draws(published, expected):
    errors = [50, 50, 100, 150, 150]
    assert (
        verdict_of(errors, Reference(published, kind="draw", scale=600), measure="errors")
        == expected
    )


def test_a_single_draw_near_our_median_is_reproduced_when_our_range_is_a_point():
    assert (
        verdict_of([100.0] * 3, Reference(112, kind="draw", scale=600), measure="errors")
        == "reproduced"
    )
    assert (
        verdict_of([100.0] * 3, Reference(124, kind="draw", scale=600), measure="errors") == "close"
    )
    assert (
        verdict_of([100.0] * 3, Reference(125, kind="draw", scale=600), measure="errors")
        == "differs"
    )


def test_counts_without_a_spread_are_judged_as_shares_of_the_rows_counted():
    assert verdict_of([62.0], Reference(50, scale=600), measure="errors") == "reproduced"
    assert verdict_of([74.0], Reference(50, scale=600), measure="errors") == "close"


def test_an_expectation_brings_its_own_tolerance_and_zero_means_exactly():
    assert verdict_of([25.0], Reference(24, 1, "tolerance"), measure="errors") == "reproduced"
    assert verdict_of([26.0], Reference(24, 1, "tolerance"), measure="errors") == "close"
    assert verdict_of([4.0], Reference(4, 0, "tolerance"), measure="errors") == "reproduced"
    assert verdict_of([5.0], Reference(4, 0, "tolerance"), measure="errors") == "differs"
    with pytest.raises(ValueError, match="needs its tolerance"):
        judge(summarize([1.0]), Reference(1, None, "tolerance"))


def test_a_median_is_not_moved_by_a_collapse():
    errors = [20.0, 21.0, 300.0]
    assert verdict_of(errors, Reference(21, 6, "median"), measure="errors") == "reproduced"
    assert verdict_of(errors, Reference(21, 6, "tolerance"), measure="errors") == "differs"


def test_a_sampled_expectation_is_met_within_three_standard_errors_of_both_means():
    values = [
        90.0,
        110.0,
    ] * 8  # mean 100, standard deviation 10.3 over 16: error 2.58; theirs 10 / sqrt(25) = 2
    error = (summarize(values).sd ** 2 / 16 + 4) ** 0.5
    for distance, expected in (
        (2.99, "reproduced"),
        (3.01, "close"),
        (5.99, "close"),
        (6.01, "differs"),
    ):
        reference = Reference(100 + distance * error, 10.0, "sampled", repeats=25)
        assert verdict_of(values, reference, measure="cost") == expected
    loose = Reference(120.0, 10.0, "sampled", repeats=25, least=20.0)
    assert verdict_of(values, loose, measure="cost") == "reproduced"


def test_a_bound_is_kept_or_not():
    assert verdict_of([9.0], Reference(9, kind="at least"), measure="wins") == "reproduced"
    assert verdict_of([8.0], Reference(9, kind="at least"), measure="wins") == "differs"
    assert verdict_of([1.2], Reference(1.2, kind="at most")) == "reproduced"
    assert (
        verdict_of([1.0, 1.0, 50.0], Reference(1.2, kind="at most"), measure="seconds")
        == "reproduced"
    )  # the median


@pytest.mark.parametrize(
    ("ours", "verdict", "firm"),
    [
        (0.912, "reproduced", True),  # reproduced up to 0.02 away, firmly up to two thirds of it
        (0.918, "reproduced", False),
        (0.925, "close", True),
        (0.935, "close", False),
        (0.945, "differs", True),
    ],
)
def test_a_verdict_is_firm_if_a_tolerance_that_is_a_third_smaller_gives_the_same(
    ours, verdict, firm
):
    assert judge(summarize([ours]), Reference(0.9))[0] == verdict
    assert is_firm(summarize([ours]), Reference(0.9)) == firm


def test_a_draw_is_firmly_inside_our_range_only_away_from_its_ends():
    spread = summarize([float(v) for v in range(101)])  # 10 to 90
    assert is_firm(spread, Reference(60, kind="draw", scale=1))
    assert not is_firm(spread, Reference(89, kind="draw", scale=1))


def test_a_claim_needs_two_standard_errors():
    claim = Reference(0.0, kind="above")
    # mean 0.02, standard error 0.01
    assert verdict_of([0.01, 0.03], claim) == "close"
    assert verdict_of([0.019, 0.021], claim) == "reproduced"
    assert verdict_of([-0.019, -0.021], claim) == "differs"


def test_above_the_hard_bound_nothing_is_reproduced():
    line = Line("t", "s", "m", "accuracy", TASK, Reference(0.9, 0.1), bound=0.83)
    (comparison,) = compare_records([line], records([0.85]))
    assert comparison.verdict == "differs"
    assert "hard bound 0.830" in comparison.why


def test_a_difference_is_taken_seed_by_seed_over_the_seeds_both_have():
    line = Line("t", "s", "m", "accuracy", TASK, Reference(0.1, 0.01, "tolerance"), against=OTHER)
    ours = records([0.9, 0.8, 0.7])
    theirs = records([0.8, 0.7], task=OTHER)
    (comparison,) = compare_records([line], ours + theirs)
    assert comparison.summary.n == 2
    assert comparison.summary.mean == pytest.approx(0.1)
    assert comparison.verdict == "reproduced"


def test_what_did_not_run_says_so_and_is_never_judged():
    line = Line("t", "s", "m", "accuracy", TASK, Reference(0.9))
    nothing = compare_records([line], [])
    failed = compare_records([line], records([0], outcome="failed", why="it broke"))
    never = compare_records(
        [Line("t", "s", "m", "accuracy", None, Reference(0.9), why="no such method")], []
    )
    assert [c.verdict for c in nothing + failed + never] == [
        "pending",
        "not runnable",
        "not runnable",
    ]
    assert [c.why for c in nothing + failed + never] == ["", "it broke", "no such method"]
    assert all(c.difference is None for c in nothing + failed + never)


def test_the_last_record_of_a_cell_counts():
    line = Line("t", "s", "m", "accuracy", TASK, Reference(0.9))
    retried = records([0], outcome="failed", why="no memory") + records([0.9])
    (comparison,) = compare_records([line], retried)
    assert (comparison.verdict, comparison.why) == ("reproduced", "")


def test_without_a_reference_or_with_one_for_show_a_line_is_measured():
    assert verdict_of([0.9], None) == "measured"
    assert verdict_of([0.9], Reference(300.0, kind="shown"), measure="seconds") == "measured"


def test_verdicts_are_counted_in_the_order_of_the_vocabulary():
    lines = [
        Line("t", "s", str(value), "accuracy", TASK, Reference(value)) for value in (0.5, 0.9, 0.88)
    ]
    counts = count_verdicts(compare_records(lines, records([0.9])))
    assert counts == {"reproduced": 2, "differs": 1}
    assert [word for word in VERDICTS if word in counts] == list(counts)


def test_summaries_hold_what_numpy_would_say():
    summary = summarize([1.0, 2.0, 3.0, 4.0, 10.0])
    assert (summary.mean, summary.median, summary.n) == (4.0, 3.0, 5)
    assert summary.sd == pytest.approx(3.5355339)
    assert (summary.low, summary.high) == pytest.approx((1.4, 7.6))
    assert summarize([2.0]).sd == 0
