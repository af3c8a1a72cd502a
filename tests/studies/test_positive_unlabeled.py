"""The study of PositiveUnlabeledSVC: its worlds are judged by the truth, and its tables hold one
line per setting.
"""

import numpy as np
import pytest

from studies.positive_unlabeled.__main__ import group_records
from studies.positive_unlabeled.real import best_f1
from studies.positive_unlabeled.simulated import (
    WORLDS,
    fit_quietly,
    judge_world,
    make_world,
    truth_on_grid,
)


def test_the_truth_on_the_grid_is_that_of_a_large_sample():
    n_positive, n_unlabeled, prior, gap, _ = WORLDS[0]
    X, y = make_world(n_positive, n_unlabeled, prior, gap, 0)
    model = fit_quietly(X, y, random_state=0)
    recall, share = truth_on_grid(model, gap, prior)
    rng = np.random.default_rng(1)
    positives, others = rng.standard_normal((2, 20_000, 1))
    accepted = [
        float(np.mean(model.decision_function(rows) > 0)) for rows in (positives + gap, others)
    ]
    assert recall == pytest.approx(accepted[0], abs=0.01)
    assert share == pytest.approx(prior * accepted[0] + (1 - prior) * accepted[1], abs=0.01)


def test_a_line_of_the_table_is_the_mean_of_its_worlds():
    records = [judge_world((0, seed)) for seed in range(2)]
    (means,) = group_records(records).values()
    assert means["recall broken"] == np.mean([record["recall broken"] for record in records])
    assert means["certified"] == 1.0


def test_the_best_f1_is_found():
    assert best_f1(
        np.array([True, True, False, True]), np.array([4.0, 3.0, 2.0, 1.0])
    ) == pytest.approx(6 / 7)
