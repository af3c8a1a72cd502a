"""The study of the command's defaults on a tiny case: the same labels for all, nothing hidden is
seen.
"""

import numpy as np
import pytest

from studies import practitioner


@pytest.fixture(scope="module")
def cell():
    X, y, is_labeled = practitioner.draw("docstrings: scipy", 0, n_labels=30, most_rows=60)
    assert is_labeled.sum() == 30
    assert (len(X), y.mean() <= 0.5) == (60, True)
    estimator, rows = practitioner.rivals(X, 0)["SVD + LR"]
    found = practitioner.rival_scores(estimator, rows, y, is_labeled, 0)
    record = {"method": "SVD + LR", "seconds": 1.0} | practitioner.judge(found, y[~is_labeled])
    own = {
        "method": "semisvm",
        "chosen": "x",
        "seconds": 1.0,
        "chances": {"precision 0.8": 0.5, "recall 0.9": None},
    }
    return {"set": "docstrings: scipy", "draw": 0, "records": [record | own, record]}


def test_a_draw_is_repeatable_and_has_labels_of_both_classes():
    one, other = (
        practitioner.draw("docstrings: scipy", 3, n_labels=20, most_rows=80) for _ in range(2)
    )
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert np.bincount(one[1][one[2]]).min() >= 5


def test_the_page_has_every_table(cell):
    page = practitioner.render([cell])
    for words in (
        "## Average precision",
        "## F1",
        "## Floors",
        "1 of 1",
        "chance told beforehand",
        "0.50",
    ):
        assert words in page
    assert "+0.000 ± 0.000" in page


def test_a_floor_counts_as_kept_by_the_hidden_labels_alone():
    truth = np.array([1, 1, 0, 0, 1])
    found = {
        "hidden": np.array([3.0, 2, 1, 0, 2.5]),
        "labeled": np.array([2.0, 1, 0]),
        "sign": np.array([1, -1, -1]),
        "threshold": 1.5,
    }
    record = practitioner.judge(found, truth)
    assert record["f1"] == 1.0
    assert record["precision 0.8"]["kept"]
    assert record["recall 0.9"]["kept"]
