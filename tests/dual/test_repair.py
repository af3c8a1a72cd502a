"""`repair` carries coefficients into new bounds and changes few of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles import repair_one_by_one
from semisvm.dual import repair

FINITE = st.floats(-100, 100, allow_subnormal=False)


@st.composite
def starts(draw):
    n = draw(st.integers(1, 8))
    ends = np.sort(
        np.array(draw(st.lists(st.tuples(FINITE, FINITE), min_size=n, max_size=n))), axis=1
    )
    beta, gradient = (np.array(draw(st.lists(FINITE, min_size=n, max_size=n))) for _ in range(2))
    lower, upper = ends.T.copy()
    if draw(st.booleans()):
        upper[0] = np.inf
    if draw(st.booleans()):
        lower[-1] = -np.inf
    share = draw(st.floats(0, 1))
    total = float(
        (np.maximum(lower, -200) + share * (np.minimum(upper, 200) - np.maximum(lower, -200))).sum()
    )
    total = min(max(total, float(lower.sum())), float(upper.sum()))
    return beta, lower, upper, total, gradient


@given(starts())
@settings(max_examples=300, deadline=None)
def test_repair_keeps_the_bounds_exactly_and_the_sum_to_rounding(start):
    beta, lower, upper, total, gradient = start
    repaired = repair(beta, lower, upper, total, gradient)
    assert (repaired >= lower).all()
    assert (repaired <= upper).all()
    assert repaired.sum() == pytest.approx(total, rel=1e-12, abs=1e-11)


@given(starts())
@settings(max_examples=300, deadline=None)
def test_repair_moves_one_coefficient_after_the_other_most_downhill_first(start):
    repaired = repair(*start)
    assert_allclose(repaired, repair_one_by_one(*start), rtol=1e-12, atol=1e-11)
    beta, lower, upper, *_ = start
    clipped = np.clip(beta, lower, upper)
    inside = (
        (np.abs(repaired - clipped) > 1e-11)
        & (repaired > lower + 1e-11)
        & (repaired < upper - 1e-11)
    )
    assert inside.sum() <= 1  # all others that moved went as far as they could


@given(starts())
@settings(max_examples=300, deadline=None)
def test_repair_changes_neither_a_right_sum_nor_its_own_result(start):
    beta, lower, upper, total, gradient = start
    clipped = np.clip(beta, lower, upper)
    assert_array_equal(repair(beta, lower, upper, clipped.sum(), gradient), clipped)
    repaired = repair(*start)
    assert_allclose(
        repair(repaired, lower, upper, total, gradient), repaired, rtol=1e-12, atol=1e-11
    )
    assert_array_equal(np.clip(beta, lower, upper), clipped)


@pytest.mark.parametrize("seed", range(20))
def test_repair_of_many_coefficients_is_repair_one_by_one(seed):
    rng = np.random.default_rng(seed)
    lower, upper = np.sort(rng.normal(size=(2, 200)), axis=0)
    beta = 2 * rng.normal(size=200)
    gradient = rng.normal(size=200)
    share = rng.random()
    total = float(np.sum((1 - share) * lower + share * upper))
    repaired = repair(beta, lower, upper, total, gradient)
    assert ((lower <= repaired) & (repaired <= upper)).all()
    assert_allclose(repaired, repair_one_by_one(beta, lower, upper, total, gradient), atol=1e-11)


def test_repair_leaves_its_arguments_alone():
    beta = np.array([5.0, 0.0])
    lower = np.zeros(2)
    upper = np.ones(2)
    gradient = np.zeros(2)
    repair(beta, lower, upper, 1.5, gradient)
    assert_array_equal(beta, [5, 0])
    assert_array_equal(upper, [1, 1])
