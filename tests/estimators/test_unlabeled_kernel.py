"""UnlabeledKernel: one kernel from all rows, for any estimator with a precomputed kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_digits, make_moons
from sklearn.pipeline import make_pipeline

from semisvm import (
    AutoSVC,
    LabelMeanSVC,
    PreferenceSVC,
    SupervisedSVC,
    TransductiveSVC,
    UnlabeledKernel,
    load,
    save,
)


def moons(n=160, n_labeled=12):
    X, y = make_moons(n, noise=0.08, random_state=0)
    return X, np.where(np.arange(n) < n_labeled, y, -1), y


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", ["auto", "euclidean", "cosine"])
def test_it_is_a_kernel_with_the_weights_of_auto_svc(form, metric):
    X, hidden, _ = moons()
    X = np.column_stack([X, X[::-1]])
    kernel = UnlabeledKernel(metric=metric)
    K = kernel.fit_transform(form(X), hidden)
    assert K.shape == (160, 160)
    assert_allclose(K, K.T, atol=1e-8)
    assert np.linalg.eigvalsh(K).min() > -1e-7
    assert np.trace(K) == pytest.approx(160)
    assert kernel.weights_ == AutoSVC(metric=metric).fit(form(X), hidden).weights_
    assert kernel.transform(form(X[:7] + 0.01)).shape == (7, 160)


def test_copies_of_a_row_have_its_kernel_values():
    X, hidden, _ = moons()
    twice = np.concatenate([X, X[:30]])
    K = UnlabeledKernel().fit_transform(twice, np.append(hidden, np.full(30, -1)))
    assert_allclose(K[160:], K[:30], atol=1e-12)
    assert_allclose(K[:, 160:], K[:, :30], atol=1e-12)


@pytest.mark.parametrize(
    "machine",
    [
        SupervisedSVC(C=10, kernel="precomputed"),
        SupervisedSVC(C=10, kernel="precomputed", costs={0: 1, 1: 3}),
        TransductiveSVC(C=10, kernel="precomputed"),
        LabelMeanSVC(kernel="precomputed"),
        PreferenceSVC(C=10, kernel="precomputed", min_recall=0.9, random_state=0),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_every_machine_can_stand_on_it(machine):
    X, hidden, y = moons(n_labeled=24)
    model = make_pipeline(UnlabeledKernel(), machine).fit(X[:140], hidden[:140])
    assert np.mean(model.predict(X[:140]) == y[:140]) > 0.9
    assert np.mean(model.predict(X[140:]) == y[140:]) >= 0.8


def test_an_svm_on_it_is_nearly_as_good_as_the_average_of_machines():
    """Half of the digits, two labels per class: an SVM on its own kernel has many more errors."""
    X, y = (part[:900] for part in load_digits(return_X_y=True))
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:2] for c in range(10)])
    hidden = np.full(len(y), -1)
    hidden[rows] = y[rows]
    model = make_pipeline(UnlabeledKernel(), SupervisedSVC(C=10, kernel="precomputed")).fit(
        X, hidden
    )
    assert model.score(X, y) > 0.9


def test_too_many_rows_and_missing_labels_are_refused():
    with pytest.raises(ValueError, match="5000"):
        UnlabeledKernel().fit(np.zeros((5001, 1)), np.arange(5001) % 2)
    with pytest.raises(ValueError, match="target y is None"):
        UnlabeledKernel().fit(np.zeros((4, 1)), None)
    with pytest.raises(ValueError, match="different integers"):
        UnlabeledKernel((1, 1)).fit(np.arange(4.0)[:, None], [0, 1, -1, -1])


def test_a_pipeline_on_it_is_saved_and_loaded(tmp_path):
    X, hidden, _ = moons(80, 20)
    model = make_pipeline(UnlabeledKernel(), SupervisedSVC(kernel="precomputed")).fit(X, hidden)
    save(model, tmp_path / "model.skops")
    assert_allclose(load(tmp_path / "model.skops").decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("X", [["rain and wind", "sun", "rain", "wind"], [["a"], ["b"]] * 2])
def test_texts_and_categories_are_refused(X):
    with pytest.raises(
        ValueError,
        match=r"could not convert string to float|UnlabeledKernel takes numbers, and X holds texts",
    ):
        UnlabeledKernel().fit(X, [0, 1, -1, -1])


@pytest.mark.parametrize("scale", [1e-160, 1e-300])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_tiny_rows_have_the_kernel_and_scores_of_others(scale, metric):
    """Of numbers of 1e-160 the squares are lost: the largest of them becomes the unit."""
    X, hidden, _ = moons(n_labeled=12)
    small = X * scale
    one, other = (
        UnlabeledKernel(metric=metric).fit_transform(rows, hidden)
        for rows in (small / scale, small)
    )
    assert_allclose(one, other, atol=1e-7)
    one, other = (
        AutoSVC(metric=metric).fit(rows, hidden).decision_function(rows)
        for rows in (small / scale, small)
    )
    assert_allclose(one, other, atol=1e-6)


def test_rows_without_kernel_values_are_refused():
    X, hidden, _ = moons(n_labeled=12)
    with pytest.raises(ValueError, match="Row 1 has no score"):
        UnlabeledKernel().fit(X, hidden).transform(np.array([[0.0, 0.0], [1e308, 1e308]]))
