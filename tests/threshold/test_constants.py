"""The comparison with constants, against every cut by hand and the truth in simulated worlds."""

import numpy as np
import pytest

from semisvm.threshold import compare_with_constants


@pytest.mark.parametrize("K", [2, 3])
def test_costs_are_those_of_every_cut(K):
    rng = np.random.default_rng(0)
    for _ in range(20):
        codes = np.append(np.arange(K), rng.integers(0, K, 12))
        scores = rng.integers(-3, 4, (len(codes), K)).astype(float)
        scores[:, 0] = 0 if K == 2 else scores[:, 0]
        prices = rng.uniform(0.5, 5, K)
        n = np.bincount(codes)
        share = n / n.sum()

        def cost(predicted, codes=codes, n=n, share=share, prices=prices):
            errors = np.bincount(codes[predicted != codes], minlength=K)
            return float((share * prices * (errors + 2 / K) / (n + 4 / K)).sum())

        cuts = [
            cost(predicted)
            for k in range(K)
            for added in np.arange(-7.5, 8)
            if np.ptp(predicted := (scores + added * (np.arange(K) == k)).argmax(axis=1)) > 0
        ]
        costs = dict(enumerate(prices))
        found = compare_with_constants(scores[:, 1] if K == 2 else scores, codes, costs)
        assert found.cost == pytest.approx(cost(scores.argmax(axis=1)))
        if cuts:
            assert found.best_cost == pytest.approx(min(cuts))
        constants = (share * prices).sum() - share * prices
        assert found.constant == constants.argmin()
        assert found.constant_cost == pytest.approx(constants.min())
        assert found.constant_is_better == (constants.min() <= found.best_cost * (1 + 1e-12))


def test_a_constant_wins_where_few_labels_can_not_promise_enough():
    scores, y = [2.0, 1.0, 2.0, 1.0, 3.0, *[-1.0] * 20], ["yes"] * 5 + ["no"] * 20
    assert compare_with_constants(scores, y, {"yes": 100, "no": 1}).constant_is_better
    equal = compare_with_constants(scores, y)
    assert not equal.constant_is_better
    assert str(equal).startswith("Predicting 'no' for every row is expected to cost 0.2 per row;")
    rare = compare_with_constants(scores, y, shares={"yes": 0.001, "no": 0.999})
    assert rare.constant_is_better
    unlabeled = compare_with_constants([*scores, np.nan], [*y, ""])
    assert unlabeled == equal
    with pytest.raises(ValueError, match="one per class: y has 2 classes"):
        compare_with_constants(np.zeros((25, 3)), y)
