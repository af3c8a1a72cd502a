"""The chosen threshold, against all thresholds, one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semisvm.threshold import choose_threshold
from semisvm.threshold.choosing import value_by_resample

rows = st.lists(
    st.tuples(st.integers(-3, 3), st.sampled_from([-1, 1]), st.integers(1, 3)),
    min_size=2,
    max_size=12,
).filter(lambda found: {sign for _, sign, _ in found} == {-1, 1})
rates = st.sampled_from([None, 0.3, 0.5, 0.75, 0.9, 1.0])


def measures(scores, signs, weight, threshold):
    """Precision, recall and F1, one row at a time."""
    hits = sum(w for s, y, w in zip(scores, signs, weight, strict=True) if s > threshold and y > 0)
    accepted = sum(w for s, w in zip(scores, weight, strict=True) if s > threshold)
    positives = sum(w for y, w in zip(signs, weight, strict=True) if y > 0)
    return hits / accepted, hits / positives, 2 * hits / (accepted + positives)


@given(rows, rates, rates, st.booleans())
@settings(max_examples=100, deadline=None)
def test_no_threshold_is_better(found, min_precision, min_recall, is_weighted):
    scores, signs, weight = map(np.array, zip(*found, strict=True))
    weight = weight if is_weighted else np.ones(len(scores))
    point = choose_threshold(
        scores, signs, min_precision=min_precision, min_recall=min_recall, weight=weight
    )
    asked = (min_precision or 0.0, min_recall or 0.0)

    def merit(threshold):
        *reached, f1 = measures(scores, signs, weight, threshold)
        short = sum(max(0.0, w - r) for w, r in zip(asked, reached, strict=True))
        return (-round(short, 9), round(f1, 9))

    every = [merit(threshold) for threshold in np.unique(scores) - 0.5]
    assert merit(point.threshold) == max(every)
    assert point.reached == (max(every)[0] == 0)
    of_fewer = every[len(np.unique(scores[scores <= point.threshold])) + 1 :]
    assert max(every) not in of_fewer  # the highest of equals
    precision, recall, f1 = measures(scores, signs, weight, point.threshold)
    assert point.precision.value == pytest.approx(precision)
    assert point.recall.value == pytest.approx(recall)
    assert point.f1 == pytest.approx(f1)
    assert point.n_accepted == (scores > point.threshold).sum()
    assert np.isfinite(point.threshold)
    assert point.precision.low <= precision + 1e-12 <= point.precision.high + 1e-9
    values = value_by_resample(
        scores.astype(float), signs > 0, np.array([weight]), dict(point.asked)
    )
    expected = max(every)[1] if point.reached else max(every)[0]
    assert values == pytest.approx([expected], abs=1e-8)


def test_rows_without_a_label_or_a_weight_are_left_out():
    scores, signs = np.array([4.0, 3.0, 2.0, 1.0]), np.array([1, 1, -1, 1])
    expected = choose_threshold(scores, signs, min_precision=0.9)
    more = np.append(scores, [9.0, 8.0]), np.append(signs, [0, -1])
    assert choose_threshold(*more, min_precision=0.9, weight=[1, 1, 1, 1, 1, 0]) == expected
    assert choose_threshold(*(7 * np.array(part) for part in (scores,)), signs).f1 == (
        choose_threshold(scores, signs).f1
    )


def test_equal_weights_change_nothing_and_unequal_ones_widen_the_intervals():
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], 200)
    scores = signs + rng.normal(size=200)
    plain = choose_threshold(scores, signs)
    tripled = choose_threshold(scores, signs, weight=np.full(200, 3.0))
    assert tripled.threshold == plain.threshold
    assert tripled.recall == pytest.approx(plain.recall)
    uneven = choose_threshold(scores, signs, weight=np.where(rng.random(200) < 0.1, 10.0, 0.1))
    assert uneven.recall.high - uneven.recall.low > plain.recall.high - plain.recall.low


def test_what_was_asked_for_and_missed_is_said():
    point = choose_threshold([2.0, 1.0, 0.0], [-1, 1, -1], min_precision=0.9, min_recall=0.5)
    assert not point.reached
    assert "no threshold gives precision 0.9 and recall 0.5" in str(point)
    assert "no threshold" not in str(choose_threshold([1.0, 0.0], [1, -1]))


@pytest.mark.parametrize(
    ("scores", "signs", "how", "message"),
    [
        ([1.0, 2.0], [1, 1], {}, "needs a negative row with a label"),
        ([1.0, 2.0], [0, -1], {}, "needs a positive row with a label"),
        ([], [], {}, "needs a positive row"),
        ([1.0, 2.0], [1, 2], {}, r"signs must be \+1, -1, or 0 for no label, found 2"),
        ([1.0], [1, -1], {}, r"one number per row, got the shapes \(1,\), \(2,\) and \(2,\)"),
        ([1.0, np.nan], [1, -1], {}, "must be finite"),
        ([1.0, 2.0], [1, -1], {"min_precision": 0}, r"min_precision must lie in \(0, 1\], got 0"),
        ([1.0, 2.0], [1, -1], {"min_recall": 90}, r"min_recall must lie in \(0, 1\], got 90"),
        ([1.0, 2.0], [1, -1], {"confidence": 1}, "strictly between 0 and 1, got 1"),
        ([1.0, 2.0], [1, -1], {"weight": [1.0]}, "one number per row"),
    ],
)
def test_nonsense_is_refused(scores, signs, how, message):
    with pytest.raises(ValueError, match=message):
        choose_threshold(scores, signs, **how)
