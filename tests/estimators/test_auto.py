"""AutoSVC as users see it. The lines on the digits are those of the rule that it implements
(docs/auto.md).
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_blobs, make_moons
from sklearn.svm import SVC

from histories import RoundCounter
from semisvm import AutoSVC, load, save
from semisvm.estimators.progress import RoundRecord
from studies.ssl_book.errors import KernelsOfSet, error_on_unlabeled


def hide(y, labeled):
    hidden = np.full(len(y), -1)
    hidden[labeled] = y[labeled]
    return hidden


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y, {is_safe: KernelsOfSet(X, y, is_safe=is_safe) for is_safe in (False, True)}


@pytest.mark.parametrize(
    ("is_safe", "two_per_class", "fifty"), [(False, 6.9, 4.7), (True, 6.1, 4.5)]
)
def test_digits(digits, is_safe, two_per_class, fifty):
    """Ten draws each of 20 and of 50 labels; an SVM has 22.9 and 16.2."""
    _, y, kernels = digits
    rng = np.random.default_rng(0)
    draws = [
        np.concatenate([rng.permutation(np.flatnonzero(y == c))[:2] for c in range(10)])
        for _ in range(10)
    ]
    at_random = []
    while len(at_random) < 10:
        rows = rng.permutation(len(y))[:50]
        if len(np.unique(y[rows])) == 10:
            at_random.append(rows)
    found = [
        np.mean([error_on_unlabeled(kernels[is_safe].predict(rows), y, rows) for rows in of])
        for of in (draws, at_random)
    ]
    assert found == pytest.approx([two_per_class, fifty], abs=0.3)


def test_digits_that_were_not_in_the_fit(digits):
    """Five labels per class among 1,200 rows: the first of ten draws, whose means are 4.5 inside
    and 5.2 new.
    """
    X, y, _ = digits
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y[:1200] == c))[:5] for c in range(10)])
    model = AutoSVC(safe=False).fit(X[:1200], hide(y[:1200], rows))
    assert error_on_unlabeled(model.transduction_, y[:1200], rows) == pytest.approx(2.9, abs=0.3)
    assert 100 * np.mean(model.predict(X[1200:]) != y[1200:]) == pytest.approx(4.2, abs=0.3)


def test_the_study_fits_what_the_estimator_fits(digits):
    X = digits[0][:500]
    y = digits[1][:500]
    rows = np.arange(60)
    kernels = KernelsOfSet(X, y, is_safe=True)
    model = AutoSVC().fit(X, hide(y, rows))
    assert_array_equal(model.transduction_[60:], kernels.predict(rows)[60:])
    assert model.weights_ == pytest.approx(kernels.fit(rows).weights)


@pytest.mark.parametrize("metric", ["auto", "euclidean", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_the_fit_are_predicted_as_in_the_fit(metric, form, n_classes):
    X, y = make_blobs(120, centers=n_classes, n_features=4, cluster_std=3, random_state=0)
    hidden = hide(y, np.arange(15))
    model = AutoSVC(metric=metric).fit(form(X), hidden)
    assert_array_equal(model.predict(form(X))[15:], model.transduction_[15:])
    assert_array_equal(model.transduction_[:15], y[:15])


def test_the_metric_is_the_cosine_for_sparse_rows_and_euclidean_for_dense_ones():
    X, y = make_blobs(80, centers=2, n_features=4, cluster_std=4, random_state=0)
    hidden = hide(y, np.arange(10))
    scores = {
        (form, metric): AutoSVC(metric=metric).fit(form(X), hidden).decision_function(form(X))
        for form in (np.asarray, sparse.csr_matrix)
        for metric in ("auto", "euclidean", "cosine")
    }
    assert_array_equal(scores[np.asarray, "auto"], scores[np.asarray, "euclidean"])
    assert_array_equal(scores[sparse.csr_matrix, "auto"], scores[sparse.csr_matrix, "cosine"])
    for metric in ("euclidean", "cosine"):
        assert_allclose(scores[np.asarray, metric], scores[sparse.csr_matrix, metric], atol=1e-8)
    lengths = np.linspace(0.1, 9, 80)[:, None]
    by_angle = AutoSVC(metric="cosine").fit(X * lengths, hidden).decision_function(X * lengths)
    assert_allclose(by_angle, scores[np.asarray, "cosine"], atol=1e-8)


@pytest.mark.parametrize("safe", [True, False])
def test_shifted_rotated_and_scaled_rows_give_the_same_scores(safe):
    X, y = make_moons(150, noise=0.15, random_state=0)
    hidden = hide(y, np.arange(8))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    one = AutoSVC(safe=safe).fit(X, hidden)
    other = AutoSVC(safe=safe).fit(5 * X @ turn + [100, -20], hidden)
    if safe:  # components are compared with independent columns, which a rotation changes
        other = AutoSVC(safe=safe).fit(5 * X + [100, -20], hidden)
        assert_allclose(
            other.decision_function(5 * X + [100, -20]), one.decision_function(X), atol=1e-6
        )
    else:
        assert_allclose(
            other.decision_function(5 * X @ turn + [100, -20]), one.decision_function(X), atol=1e-6
        )


def test_leave_one_out_scores_are_of_labeled_rows_and_of_the_average():
    X, y = make_moons(150, noise=0.1, random_state=0)
    hidden = hide(y, np.arange(0, 150, 10))
    model = AutoSVC().fit(X, hidden)
    assert_array_equal(np.isnan(model.loo_scores_), hidden == -1)
    assert np.mean((model.loo_scores_ > 0)[hidden != -1] == y[hidden != -1]) > 0.9
    three = AutoSVC().fit(X, np.where(hidden == 1, 1 + (X[:, 0] > 1), hidden))
    assert three.loo_scores_.shape == (150, 3)


def test_the_weights_tell_what_helped():
    X, y = make_moons(200, noise=0.05, random_state=0)
    model = AutoSVC().fit(X, hide(y, np.arange(6)))
    assert sum(model.weights_.values()) == pytest.approx(1)
    assert sum(weight for name, weight in model.weights_.items() if name.startswith("graph")) > 0.9
    assert model.structure_["graph 15"] > 1.3
    assert all(type(record) is RoundRecord for record in model.history_)
    assert {record.problem: record.details["weight"] for record in model.history_} == {
        name: weight for name, weight in model.weights_.items() if weight > 0
    }


@pytest.mark.parametrize(
    ("n", "noise", "n_draws"), [(200, 0.05, 10), (200, 0.08, 10), (500, 0.08, 4)]
)
def test_two_moons_with_one_label_per_class(n, noise, n_draws):
    errors = []
    for seed in range(n_draws):
        X, y = make_moons(n, noise=noise, random_state=seed)
        rng = np.random.default_rng(seed)
        labeled = [rng.choice(np.flatnonzero(y == c)) for c in (0, 1)]
        errors.append(
            error_on_unlabeled(
                AutoSVC().fit(X, hide(y, labeled)).transduction_, y, np.array(labeled)
            )
        )
    assert np.mean(errors) < 5


def test_rows_without_structure_are_left_to_the_ordinary_kernels():
    rng = np.random.default_rng(5)
    lost = []
    for _ in range(6):
        X = rng.standard_normal((500, 10))
        y = (X @ rng.standard_normal(10) > 0).astype(int)
        rows = rng.permutation(500)[:20]
        model = AutoSVC().fit(X, hide(y, rows))
        assert {name for name, weight in model.weights_.items() if weight > 0} == {
            name + ridge
            for name in ("rbf", "linear")
            for ridge in ("", ", strong ridge", ", weak ridge")
        }
        svm = SVC(C=100).fit(X[rows], y[rows])
        lost.append(
            error_on_unlabeled(model.transduction_, y, rows)
            - error_on_unlabeled(svm.predict(X), y, rows)
        )
    assert np.mean(lost) < 2


def test_only_the_ratio_of_costs_matters_and_expensive_errors_are_fewer():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.standard_normal((400, 2)) + y[:, None]
    hidden = hide(y, np.arange(60))
    plain = AutoSVC().fit(X, hidden)
    model = AutoSVC(costs={0: 1, 1: 10}).fit(X, hidden)
    for same in (
        {"costs": {0: 3, 1: 30}},
        {"costs": [[0, 1], [10, 0]]},
        {"class_weight": {0: 1, 1: 10}},
    ):
        assert_allclose(
            AutoSVC(**same).fit(X, hidden).decision_function(X),
            model.decision_function(X),
            atol=1e-9,
        )
    by_row = AutoSVC().fit(X, hidden, sample_cost=np.where(hidden == 1, 10.0, 1.0))
    assert_allclose(by_row.decision_function(X), model.decision_function(X), atol=1e-9)

    def cost(one):
        wrong = one.transduction_ != y
        return np.mean(wrong * np.where(y == 1, 10, 1))

    assert np.mean((model.transduction_ != y)[y == 1]) < np.mean((plain.transduction_ != y)[y == 1])
    assert cost(model) < 0.8 * cost(plain)


def test_a_matrix_of_costs_between_three_classes_is_refused_where_it_cannot_be_used():
    X, y = make_blobs(60, centers=3, random_state=0)
    with pytest.raises(ValueError, match="mistaken for"):
        AutoSVC(costs=[[0, 1, 2], [1, 0, 3], [1, 1, 0]]).fit(X, y)
    AutoSVC(costs=[[0, 1, 1], [2, 0, 2], [1, 1, 0]]).fit(X, y)


@pytest.mark.parametrize("n_neighbors", [(3, 3), (0,), (2.5,), (True,)])
def test_numbers_of_neighbors_are_different_positive_integers(n_neighbors):
    X, y = make_blobs(20, centers=2, random_state=0)
    with pytest.raises(ValueError, match="different integers"):
        AutoSVC(n_neighbors).fit(X, y)


@pytest.mark.parametrize("n_neighbors", [(), (1,), [2, 500]])
def test_any_number_of_graphs_and_more_neighbors_than_rows(n_neighbors):
    X, y = make_blobs(40, centers=2, random_state=0)
    assert AutoSVC(n_neighbors, safe=False).fit(X, hide(y, np.arange(8))).score(X, y) == 1


def test_strong_priors_keep_the_beliefs_and_weak_ones_follow_the_labels():
    X, y = make_moons(150, noise=0.1, random_state=0)
    hidden = hide(y, np.arange(30))
    strong, weak = (
        AutoSVC(prior_strength=strength, safe=False).fit(X, hidden) for strength in (1e6, 1e-3)
    )
    assert_allclose(list(strong.weights_.values()), 0.1, atol=1e-3)
    assert max(weak.weights_.values()) > 0.5


def test_a_stronger_ridge_gives_smaller_scores_and_then_the_mean_of_the_labels():
    X, y = make_moons(150, noise=0.1, random_state=0)
    hidden = hide(y, np.arange(30))
    small, large, huge = (
        AutoSVC(ridge=ridge, threshold="score").fit(X, hidden).decision_function(X)
        for ridge in (0.1, 100, 1e4)
    )
    assert np.abs(large).mean() < 0.5 * np.abs(small).mean()
    assert_allclose(huge, 2 * y[:30].mean() - 1, atol=0.02)


def test_equal_and_constant_rows():
    y = np.array([0, 1, -1, -1, 0, 1])
    model = AutoSVC().fit(np.ones((6, 2)), y)
    assert np.isfinite(model.decision_function(np.ones((2, 2)))).all()
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    assert AutoSVC().fit(X, [0, 0, -1, 1, -1, -1]).transduction_.tolist() == [0, 0, 0, 1, 1, 1]


def test_where_a_changed_model_has_no_score_it_says_so():
    """As after a file was tampered with: degrees of a graph that became 0."""
    X, true = load_iris(return_X_y=True)
    model = AutoSVC(random_state=0).fit(X, np.where(np.arange(150) % 10 == 0, true, -1))
    for graph in model._average.families["rows"].library.graphs.values():
        graph.degree[:] = 0
    with pytest.raises(ValueError, match="Row 0 has no score"):
        model.predict(X + 0.01)


def test_rows_far_from_all_others_get_finite_scores():
    X, y = make_moons(100, noise=0.05, random_state=0)
    X[50] = 1e6
    scores = (
        AutoSVC(safe=False)
        .fit(X, hide(y, np.arange(10)))
        .decision_function(np.vstack([X, [[-1e9, 1e9]]]))
    )
    assert np.isfinite(scores).all()


class TestManyRows:
    """More rows than max_rows: kernels of a sample, the rest predicted as new rows."""

    X, y = make_moons(1000, noise=0.08, random_state=0)
    hidden = hide(y, np.arange(20))

    def test_the_rest_is_predicted_as_new_rows(self):
        model = AutoSVC(max_rows=300, random_state=0).fit(self.X, self.hidden)
        assert_array_equal(model.transduction_[20:], model.predict(self.X)[20:])
        assert np.mean(model.transduction_ == self.y) > 0.98

    def test_the_sample_is_repeatable(self):
        models = [
            AutoSVC(max_rows=200, random_state=seed).fit(self.X, self.hidden) for seed in (0, 0, 1)
        ]
        scores = [model.decision_function(self.X) for model in models]
        assert_array_equal(scores[0], scores[1])
        assert np.abs(scores[0] - scores[2]).max() > 1e-3

    def test_more_labels_than_half_of_the_rows_are_sampled_with_a_warning(self):
        y = np.where(np.arange(1000) < 750, self.y, -1)
        y[:750][self.y[:750] == 1] = 0
        y[7] = 1  # a class of one row is always kept
        with pytest.warns(UserWarning, match="sample of 100 of the 750 labeled rows"):
            model = AutoSVC(max_rows=200, random_state=0).fit(self.X, y)
        assert np.isfinite(model.loo_scores_).sum() == 100
        assert np.isfinite(model.loo_scores_[7])


def test_progress_is_printed(capsys):
    X, y = make_blobs(40, centers=2, random_state=0)
    AutoSVC(verbose=True).fit(X, hide(y, np.arange(8)))
    assert "[rbf]" in capsys.readouterr().out


def test_a_callback_may_end_the_fit_after_any_kernel():
    X, y = make_blobs(40, centers=2, random_state=0)
    model = AutoSVC(safe=False).set_callbacks(RoundCounter(most=2)).fit(X, hide(y, np.arange(8)))
    assert model.termination_condition_ == "stopped_by_callback"
    assert [name for name, weight in model.weights_.items() if weight > 0] == ["rbf", "linear"]
    assert model.score(X, y) == 1


UNUSUAL = np.random.default_rng(0)
UNUSUAL_ROWS = {
    "few distinct rows": UNUSUAL.integers(0, 2, (80, 3)).astype(float),
    "one column": UNUSUAL.standard_normal((80, 1)),
    "constant columns": np.column_stack([np.ones((80, 2)), UNUSUAL.standard_normal((80, 2))]),
    "large numbers": 1e8 * UNUSUAL.standard_normal((80, 3)),
    "small numbers": 1e-8 * UNUSUAL.standard_normal((80, 3)),
    "far from 0": 1e6 + UNUSUAL.standard_normal((80, 3)),
    "heavy tails": UNUSUAL.standard_cauchy((80, 4)),
    "float32": UNUSUAL.standard_normal((80, 3)).astype(np.float32),
    "empty sparse rows": sparse.random(80, 50, density=0.02, format="csr", random_state=0),
    "more columns than rows": sparse.csr_matrix((UNUSUAL.random((80, 900)) < 0.02) * 1.0),
}


@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize("name", UNUSUAL_ROWS)
def test_unusual_rows_get_finite_scores_without_warnings(name, safe):
    X = UNUSUAL_ROWS[name]
    model = AutoSVC(safe=safe).fit(X, np.where(np.arange(80) < 12, np.arange(80) % 3, -1))
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.decision_function(X[:4] * 1.1)).all()
    assert sum(model.weights_.values()) == pytest.approx(1)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_handful_of_rows(n):
    X = np.arange(2.0 * n).reshape(n, 2) ** 2
    model = AutoSVC().fit(X, [0, 1, *[-1] * (n - 2)])
    assert model.transduction_[:2].tolist() == [0, 1]


def test_balanced_class_weights_are_costs_by_the_share_of_the_labels():
    X, y = make_moons(120, noise=0.2, random_state=0)
    hidden = hide(y, np.concatenate([np.flatnonzero(y == 0)[:12], np.flatnonzero(y == 1)[:4]]))
    balanced = AutoSVC(class_weight="balanced").fit(X, hidden)
    assert_allclose(
        balanced.decision_function(X),
        AutoSVC(costs={0: 1, 1: 3}).fit(X, hidden).decision_function(X),
        atol=1e-9,
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_saved_model_gives_the_same_scores(form, tmp_path):
    X, y = make_moons(120, noise=0.1, random_state=0)
    model = AutoSVC().fit(form(X), hide(y, np.arange(8)))
    save(model, tmp_path / "moons.skops")
    assert_array_equal(
        load(tmp_path / "moons.skops").decision_function(form(X)), model.decision_function(form(X))
    )
