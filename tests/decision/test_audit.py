"""The audit: three operating points on the same rows, and whether the last step changes
anything.
"""

import numpy as np
import pytest

from semisvm import decision
from semisvm.decision.audit import changed_by_unlabeled, make_audit

SCORES = [3.0, 2.0, 1.0, -1.0, -2.0]
SIGN = [1, -1, 1, 1, -1]
TARGET = decision.Target(min_recall=0.9)


def test_the_steps_are_the_supervised_model_its_threshold_and_the_final_model():
    point = decision.choose([3.0, -2.0, 2.0, 1.0, -3.0], SIGN, decision.Target(min_recall=0.9))
    audit = make_audit(TARGET, SCORES, SIGN, point, "cross-fitted")
    assert list(audit) == ["supervised", "supervised + threshold", "with unlabeled"]
    assert audit["supervised"] == decision.measure(
        SCORES, SIGN, 0.0, target=TARGET, level="cross-fitted"
    )
    assert audit["supervised + threshold"] == decision.choose(
        SCORES, SIGN, TARGET, level="cross-fitted"
    )
    assert audit["with unlabeled"] is point


@pytest.mark.parametrize(
    ("uses_unlabeled", "steps"),
    [
        (True, ["supervised", "supervised + threshold", "with unlabeled"]),
        (False, ["supervised", "supervised + threshold"]),
    ],
)
def test_a_step_that_a_method_lacks_is_left_out(uses_unlabeled, steps):
    point = decision.measure(SCORES, SIGN) if uses_unlabeled else None
    audit = make_audit(TARGET, SCORES, SIGN, point, "empirical")
    assert list(audit) == steps


@pytest.mark.parametrize("sets_threshold", [True, False])
def test_the_unlabeled_rows_change_something_where_counts_or_threshold_differ(sets_threshold):
    chosen = (
        decision.choose(SCORES, SIGN, TARGET) if sets_threshold else decision.measure(SCORES, SIGN)
    )
    moved = decision.measure(np.array(SCORES) + 0.1, SIGN, chosen.threshold + 0.1)
    better = decision.measure([3.0, -2.0, 2.0, 1.0, -3.0], SIGN, chosen.threshold)
    for point, expected in ((chosen, False), (moved, True), (better, True), (None, False)):
        audit = make_audit(TARGET, SCORES, SIGN, point, "empirical")
        if not sets_threshold:
            del audit["supervised + threshold"]
        assert changed_by_unlabeled(audit) == expected
