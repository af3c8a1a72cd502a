"""The simulated sets against what is known of them analytically."""

import numpy as np
import pytest
from scipy.stats import norm

from studies.papers.samples import draw_sample
from studies.papers.simulate import bayes_rate, simulate

MANY = 40_000


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("name", "design", "expected"),
    [
        ("A1", {}, 0.9412),
        ("A2", {}, 0.8243),
        ("A2", {"variance": 2.0}, 0.9241),
        ("B1", {}, 0.620),
        ("B2", {}, 1.0),
        ("B2", {"noise": 1.0}, 0.578),
    ],
)
def test_bayes_rates_are_those_of_the_notes(name, design, expected):
    assert bayes_rate(name, **design) == pytest.approx(expected, abs=5e-4)


def bayes_classifier(name, X, **design):
    if name == "A1":
        return (X.sum(axis=1) > 0).astype(int)
    if name == "A2":
        return np.clip(np.round(X.mean(axis=1)), 1, 3).astype(int) - 1
    if name == "B1":
        return (np.log(2 * (X**2).sum(axis=1)) > 1.02).astype(int)
    f = 2 * np.cos(X[:, 0]) + np.log1p(X[:, 1] ** 2)
    if not design:
        return np.searchsorted(np.quantile(f, [0.33, 0.66]), f)
    # the class with the largest probability, its cuts taken from a large draw of its own
    cuts = np.quantile(f + rng(1).standard_normal(len(f)), [0.33, 0.66])
    below = norm.cdf(cuts[:, None] - f)
    return np.argmax([below[0], below[1] - below[0], 1 - below[1]], axis=0)


@pytest.mark.parametrize(
    ("name", "design"),
    [
        ("A1", {}),
        ("A2", {}),
        ("A2", {"variance": 2.0}),
        ("B1", {}),
        ("B2", {}),
        ("B2", {"noise": 1.0}),
    ],
)
def test_the_best_classifier_reaches_its_bayes_rate_on_a_large_draw(name, design):
    X, y = simulate(name, MANY, rng(), **design)
    accuracy = np.mean(bayes_classifier(name, X, **design) == y)
    assert accuracy == pytest.approx(bayes_rate(name, **design), abs=0.01)


def test_the_gaussian_clusters_have_the_printed_moments():
    X, y = simulate("A1", MANY, rng())
    assert X.shape == (MANY, 20)
    assert X[y == 1].mean() == pytest.approx(0.7, abs=0.02)
    assert X[y == 0].mean() == pytest.approx(-0.7, abs=0.02)
    assert X[y == 1].var(axis=0) == pytest.approx(np.full(20, 4.0), rel=0.05)
    X, y = simulate("A2", MANY, rng(), variance=2.0)
    assert [X[y == k].mean() for k in range(3)] == pytest.approx([1, 2, 3], abs=0.02)
    covariance = np.cov(X[y == 1].T)
    assert covariance == pytest.approx(2 * np.eye(20), abs=0.15)


@pytest.mark.parametrize(
    ("name", "shares"),
    [("A1", (0.5, 0.5)), ("A2", (1 / 3,) * 3), ("B1", (0.478, 0.522)), ("B2", (0.33, 0.33, 0.34))],
)
def test_classes_have_their_shares(name, shares):
    _, y = simulate(name, MANY, rng())
    found = np.bincount(y) / MANY
    assert sorted(found) == pytest.approx(sorted(shares), abs=0.012)


def test_an_unknown_set_is_refused():
    with pytest.raises(ValueError, match="no simulated set 'C1'"):
        simulate("C1", 10, rng())


@pytest.mark.parametrize("data", ["A1", "B2"])
def test_a_seed_fixes_the_sample_and_designs_share_nothing_by_accident(data):
    one, same, other = (draw_sample(data, {"hidden": 0.9}, seed) for seed in (3, 3, 4))
    assert np.array_equal(one.X, same.X)
    assert np.array_equal(one.y, same.y)
    assert not np.array_equal(one.X, other.X)
    assert one.X.shape[0] == 500
    assert len(one.y_test) == 1000


@pytest.mark.parametrize("seed", range(5))
def test_hidden_labels_are_hidden_and_every_class_shows_one(seed):
    part = draw_sample("iris", {"hidden": 0.9, "train": 50}, seed)
    assert part.is_labeled.sum() == 5
    assert set(part.y[part.is_labeled]) == {0, 1, 2}
    assert np.array_equal(part.y[part.is_labeled], part.truth[part.is_labeled])
    assert len(part.y_test) == 100


def test_standardized_features_look_at_training_rows_only():
    part = draw_sample("wdbc", {"hidden": 0.9, "train": 284, "standardize": True}, 0)
    assert part.X.mean(axis=0) == pytest.approx(np.zeros(30), abs=1e-9)
    assert part.X.std(axis=0) == pytest.approx(np.ones(30))
    assert abs(part.X_test.mean(axis=0)).max() > 1e-3
    assert (part.is_labeled.sum(), len(part.y_test)) == (28, 285)


@pytest.mark.data
def test_reuters_is_drawn_as_the_notes_say(paper_data, monkeypatch):
    monkeypatch.setenv("SEMISVM_DATA", str(paper_data))
    part = draw_sample("reuters", {"draw": "file", "positive": 20, "negative": 10}, 0)
    assert part.X.shape == (40, 9947)
    assert part.is_labeled.sum() == 10
    assert np.bincount(part.truth[10:]).tolist() == [10, 20]
    drawn = draw_sample("reuters", {"draw": "random", "positive": 1000, "negative": 500}, 1)
    assert np.bincount(drawn.truth[~drawn.is_labeled]).tolist() == [500, 995]
    assert np.bincount(drawn.y[drawn.is_labeled]).tolist() == [5, 5]
    example = draw_sample("reuters", {"draw": "example"}, 0)
    assert np.array_equal(example.truth[10:], example.y_test)
    tutorial = draw_sample("tutorial", {}, 0)
    assert (tutorial.is_labeled.sum(), len(tutorial.y), len(tutorial.y_test)) == (6, 26, 100)
