"""Fast predictions are those of the members one by one."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_moons
from sklearn.linear_model import LogisticRegression

from semisvm.auto import AutoSVC, classifier
from semisvm.auto.classifier import GIVEN
from semisvm.auto.plan import ROWS_AT_ONCE
from semisvm.auto.rows import read_rows
from semisvm.auto.stacking import average, make_target


def codes():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (500, 8)).astype(float)  # many rows are equally near
    return X, (X[:, 0] == X[:, 1]).astype(int)


def scaled_moons():
    X, y = make_moons(400, noise=0.1, random_state=0)
    return X * 1e4, y


DATA = {
    "digits": lambda: load_digits(return_X_y=True),
    "moons": scaled_moons,
    "table": lambda: load_breast_cancer(return_X_y=True),
    "iris": lambda: load_iris(return_X_y=True),
    "codes": codes,
    "copies": lambda: tuple(np.repeat(a, 3, axis=0) for a in load_iris(return_X_y=True)),
}


@pytest.fixture
def slow_scores(monkeypatch):
    """What sums up the scores of the members of the last fit, each by its own method."""
    learned = []

    def keep(*arguments):
        learned.append(average(*arguments))
        return learned[-1]

    def scores(model, X):
        rows = read_rows(model, X, reset=False)
        views = model._maker.views(model._maker.read(rows)) | {GIVEN: rows}
        return learned[-1].scores(views)

    monkeypatch.setattr(classifier, "average", keep)
    return scores


@pytest.mark.parametrize("name", DATA)
def test_scores_are_those_of_the_members(name, slow_scores):
    X, y = DATA[name]()
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    n = len(y) * 2 // 3
    hidden = np.where(np.arange(n) < 60, y[:n], -1)
    columns = "table" if name == "iris" else "auto"
    model = AutoSVC(columns=columns).fit(X[:n], hidden)
    assert_allclose(
        model._plan.scores(read_rows(model, X, reset=False)), slow_scores(model, X), atol=1e-5
    )


def test_texts_members_from_outside_and_many_blocks_of_rows(slow_scores):
    rng = np.random.default_rng(0)
    n = 2 * ROWS_AT_ONCE + 100
    words = rng.choice(["sun", "rain", "wind", "snow", "fog"], (n, 4))
    frame = pd.DataFrame(
        {"note": [" ".join(row) for row in words], "size": rng.normal(size=n).round(2)}
    )
    y = ((words == "sun").any(axis=1) ^ (frame["size"] > 1)).astype(int).to_numpy()
    hidden = np.where(np.arange(300) < 60, y[:300], -1)

    class Size(LogisticRegression):
        def fit(self, rows, y):
            return super().fit(rows[["size"]], y)

        def predict_proba(self, rows):
            return super().predict_proba(rows[["size"]])

    model = AutoSVC([("size", Size())]).fit(frame[:300], hidden)
    scores = model._plan.scores(read_rows(model, frame, reset=False))
    assert_allclose(scores, slow_scores(model, frame), atol=1e-5)
    alone = np.concatenate([model.decision_function(frame[k : k + 1]) for k in (0, 1030, n - 1)])
    assert_allclose(alone, model.decision_function(frame)[[0, 1030, n - 1]], atol=1e-5)


def test_a_row_that_nearly_equals_one_of_the_fit_gets_its_score():
    X, y = make_moons(200, noise=0.1, random_state=0)
    model = AutoSVC().fit(X, np.where(np.arange(200) < 20, y, -1))
    scores = model.decision_function(X)
    assert_allclose(model.decision_function(X * (1 + 1e-15)), scores, atol=1e-6)


def test_targets_have_one_column_for_two_classes():
    target = make_target(np.array([0, 1, -1]), np.array([0, 1]), np.ones(3), None)
    assert target.Y.tolist() == [[-1.0], [1.0]]
