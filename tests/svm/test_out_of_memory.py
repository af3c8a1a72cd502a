"""Linear SVMs of Dask rows and of memory-mapped arrays are those of the rows in memory."""

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from semisvm import svm

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")


@pytest.fixture(autouse=True)
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def blobs(n=1_500, n_classes=3, seed=0, spread=2.5):
    X, y = make_blobs(n, 4, centers=n_classes, cluster_std=spread, random_state=seed)
    return X / X.std(axis=0), y


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize(
    "prices", [{}, {"class_weight": "balanced"}, {"costs": {"a": 1, "b": 5, "c": 2}}], ids=str
)
def test_supervised_is_the_svm_in_memory(loss, multi_class, prices):
    X, y = blobs()
    names = np.array(["a", "b", "c"])[y].astype(object)
    names[::5] = None
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = svm.SupervisedSVC(
        kernel="linear", loss=loss, multi_class=multi_class, solver="primal", tol=1e-6, **prices
    )
    here = model.fit(X, names, weight).coef_
    rows = da.from_array(X, chunks=(400, -1))
    model.fit(rows, da.from_array(names, chunks=333), da.from_array(weight, chunks=500))
    np.testing.assert_allclose(model.coef_, here, atol=5e-2)
    assert model.classes_.tolist() == ["a", "b", "c"]
    scores = model.decision_function(rows)
    np.testing.assert_array_equal(scores.compute(), model.decision_function(X))
    assert model.predict(rows).chunks[0] == (400, 400, 400, 300)
    assert model.predict(rows).compute().tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("positive_fraction", ["labeled", "estimated", 0.5])
def test_transductive_finds_the_clusters(positive_fraction):
    X, true = blobs(2_000, 2, seed=3, spread=1.0)
    y = np.full(len(true), -1)
    for c in (0, 1):
        y[np.flatnonzero(true == c)[:3]] = c
    model = svm.TransductiveSVC(kernel="linear", positive_fraction=positive_fraction)
    model.fit(da.from_array(X, chunks=(400, -1)), y)
    assert np.mean(model.predict(X) == true) > 0.99
    assert model.positive_fraction_ == pytest.approx(0.5, abs=0.06)


def test_what_needs_rows_in_memory_says_so():
    X, y = blobs(100)
    rows = da.from_array(X, chunks=(50, -1))
    for estimator in (
        svm.SupervisedSVC(),
        svm.LaplacianSVC(),
        svm.ProgressiveSVC(kernel="linear"),
        svm.TransductiveSVC(kernel="linear", algorithm="cccp"),
    ):
        with pytest.raises(ValueError, match="pass them as an array"):
            estimator.fit(rows, y)


def mapped(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("estimator_class", [svm.SupervisedSVC, svm.TransductiveSVC])
def test_a_mapped_array_is_an_array(estimator_class, tmp_path):
    X, true = blobs(3_000, 2, spread=3.0)
    y = np.where(np.arange(len(true)) < 300, true, -1)
    model = estimator_class(kernel="linear", solver="primal", tol=1e-5)
    expected = model.fit(X, y).decision_function(X)
    scores = model.fit(mapped(X, tmp_path), y).decision_function(X)
    np.testing.assert_allclose(scores, expected, atol=0.02)


def test_a_mapped_array_is_never_copied(tmp_path):
    n, d = 20_000, 200
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = (rng.standard_normal((n, d)) + 0.3 * y[:, None]).astype(np.float32)
    model = svm.SupervisedSVC(kernel="linear", C=0.01, tol=1e-2)
    rows = mapped(X, tmp_path)
    model.fit(rows[:4_000], y[:4_000])  # everything is compiled by now
    tracemalloc.start()
    try:
        model.fit(rows, y)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < X.nbytes
    assert model.score(X, y) > 0.8
