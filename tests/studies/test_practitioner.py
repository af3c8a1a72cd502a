"""The study of the command's defaults on a tiny case: the same labels for all, nothing hidden is
seen.
"""

import numpy as np
import pytest

from studies import practitioner


@pytest.fixture(scope="module")
def cells():
    X, y, is_labeled = practitioner.draw("docstrings: scipy", 0, n_labels=30, most_rows=60)
    assert is_labeled.sum() == 30
    assert (len(X), y.mean() <= 0.5) == (60, True)
    estimator, rows = practitioner.rivals(X, 0)["SVD + LR"]
    scored = practitioner.rival_scores(estimator, rows, y, is_labeled, 0)
    other = {"set": "docstrings: scipy", "draw": 0, "method": "SVD + LR"}
    other |= practitioner.judge(scored, y[~is_labeled])
    chances = {"precision 0.8: chance": 0.5, "recall 0.9: chance": None}
    return [other | {"method": "semisvm"} | chances, other]


def test_a_draw_is_repeatable_and_has_labels_of_both_classes():
    one, other = (
        practitioner.draw("docstrings: scipy", 3, n_labels=20, most_rows=80) for _ in range(2)
    )
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert np.bincount(one[1][one[2]]).min() >= 5


def test_the_tables_show_means_leads_and_chances(cells):
    tables = practitioner.tables_of(cells)
    for title in ("Average precision", "F1 at the threshold that each method sets"):
        assert "+0.000" in tables[title]
        assert "ahead on 0 of 1" in tables[title]
    ours, other, *_ = tables["Targets"].splitlines()[2:]
    assert "0.50" in ours.split("|")[-2]
    assert not other.split("|")[-2].strip()


def test_a_target_counts_as_met_by_the_hidden_labels_alone():
    truth = np.array([1, 1, 0, 0, 1])
    scored = {
        "hidden": np.array([3.0, 2, 1, 0, 2.5]),
        "labeled": np.array([2.0, 1, 0]),
        "sign": np.array([1, -1, -1]),
        "threshold": 1.5,
    }
    cell = practitioner.judge(scored, truth)
    assert cell["f1"] == 1.0
    assert cell["precision 0.8: met"]
    assert cell["recall 0.9: met"]
