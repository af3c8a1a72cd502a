"""Fits on rows that are not in memory agree with those in memory; what needs the rows in memory is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from semisvm import LaplacianSVC, SupervisedSVC, TransductiveSVC
from semisvm.errors import RowsLostError
from semisvm.estimators import streams
from semisvm.primal import MemoryRows, Rows

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")


@pytest.fixture(autouse=True)
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def blobs(n=1_500, n_classes=3, seed=0, spread=2.5):
    X, y = make_blobs(n, 4, centers=n_classes, cluster_std=spread, random_state=seed)
    return X / X.std(axis=0), y


def lazy(X, height=400):
    return da.from_array(X, chunks=(height, -1))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo", "auto"])
def test_supervised_is_the_machine_in_memory(loss, multi_class):
    X, y = blobs()
    names = np.array(["ant", "bee", "cat"])[y].astype(object)
    names[::5] = None
    settings = {"kernel": "linear", "loss": loss, "multi_class": multi_class, "unlabeled": None, "tol": 1e-5}
    there = SupervisedSVC(**settings).fit(lazy(X), da.from_array(names, chunks=333))
    here = SupervisedSVC(solver="primal", **settings).fit(X, names)
    assert there.classes_.tolist() == ["ant", "bee", "cat"]
    assert there.n_features_in_ == 4
    np.testing.assert_allclose(there.coef_, here.coef_, atol=3e-2)
    assert (there.gap_ <= 1e-5).all()
    scores = there.decision_function(lazy(X))
    assert scores.shape == (1_500, 3)
    np.testing.assert_array_equal(scores.compute(), there.decision_function(X))
    labels = there.predict(lazy(X))
    assert labels.chunks[0] == (400, 400, 400, 300)
    assert np.mean(labels.compute() == here.predict(X)) > 0.998


def test_weights_and_costs_are_those_in_memory():
    X, y = blobs(n_classes=2)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    for own in ({"class_weight": "balanced"}, {"class_weight": {0: 1, 1: 5}}, {"costs": {0: 1, 1: 3}}):
        settings = own | {"kernel": "linear", "loss": "squared_hinge", "tol": 1e-7}
        there = SupervisedSVC(**settings).fit(lazy(X), y, sample_weight=da.from_array(weight, chunks=500))
        here = SupervisedSVC(**settings).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(there.coef_, here.coef_, atol=5e-3, err_msg=str(own))


@pytest.mark.parametrize("positive_fraction", ["labeled", "estimated", 0.5])
def test_transductive_finds_the_clusters(positive_fraction):
    X, truth = blobs(2_000, 2, seed=3, spread=1.0)
    y = np.full(len(truth), -1)
    for k in (0, 1):
        y[np.flatnonzero(truth == k)[:3]] = k
    settings = {"kernel": "linear", "positive_fraction": positive_fraction}
    model = TransductiveSVC(**settings).fit(lazy(X), y)
    assert np.mean(model.predict(X) == truth) > 0.99
    assert model.positive_fraction_ == pytest.approx(0.5, abs=0.06 if positive_fraction == "estimated" else 1e-9)
    assert len(model.history_) > 3
    here = TransductiveSVC(solver="primal", **settings).fit(X, y)
    assert np.mean(model.predict(X) == here.predict(X)) > 0.99


def test_data_frames_bring_names_and_give_series():
    X, y = blobs(n_classes=2)
    table = pd.DataFrame(X, columns=list("abcd")).assign(y=np.where(y > 0, "yes", "no"))
    frame = dd.from_pandas(table, npartitions=3)
    model = SupervisedSVC(kernel="linear", unlabeled="").fit(frame[list("abcd")], frame["y"])
    assert model.feature_names_in_.tolist() == list("abcd")
    found = model.predict(frame[list("abcd")]).compute()
    assert isinstance(found, pd.Series)
    assert found.tolist() == model.predict(table[list("abcd")]).tolist()
    np.testing.assert_array_equal(
        model.decision_function(frame[list("abcd")]).compute(), model.decision_function(table[list("abcd")])
    )


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: LaplacianSVC(kernel="linear"), "LaplacianSVC can't be fitted on rows that are not in memory"),
        (SupervisedSVC, "needs kernel='linear'"),
        (lambda: SupervisedSVC(kernel="linear", solver="dual"), "need solver='primal' or 'auto'"),
        (lambda: SupervisedSVC(kernel="linear", guard=True, costs={0: 1, 1: 2}), "needs the labeled rows in memory"),
        (lambda: TransductiveSVC(kernel="linear", algorithm="cccp"), "need algorithm='switch'"),
    ],
)
def test_what_needs_memory_is_refused(make, match):
    X, y = blobs(300, 2)
    with pytest.raises((TypeError, ValueError), match=match):
        make().fit(lazy(X), y)


def test_bad_rows_are_refused_by_column():
    X, y = blobs(300, 2)
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match="Column 2 has 1 values that are missing"):
        SupervisedSVC(kernel="linear").fit(lazy(X), y)
    X[7, 2] = 0
    with pytest.raises(ValueError, match="sample_weight has 1 values that are negative"):
        SupervisedSVC(kernel="linear").fit(lazy(X), y, sample_weight=np.where(np.arange(300) == 4, -1.0, 1.0))
    with pytest.raises(ValueError, match="y is missing"):
        SupervisedSVC(kernel="linear").fit(lazy(X), None)


class FragileRows(Rows):
    """Rows whose cluster goes away after some sums."""

    def __init__(self, rows, n_sums):
        self.rows, self.n_sums, self.n_done = rows, n_sums, 0
        self.n_rows, self.n_features, self.classes = rows.n_rows, rows.n_features, np.arange(2)

    def _sum_over(self, function, *broadcast):
        self.n_done += 1
        if self.n_done > self.n_sums:
            raise RowsLostError("gone")
        return self.rows.sum_over(function, *broadcast)

    def _map_over(self, function, *broadcast):
        return self.rows.map_over(function, *broadcast)

    def _sample(self, n, seed):
        return self.rows.sample(n, seed)


def test_a_fit_that_lost_its_rows_goes_on_where_it_was(monkeypatch):
    X, y = blobs(5_000, 2, spread=4.0)
    monkeypatch.setattr(streams, "FEW_LABELED_NUMBERS", 0)
    rows, never = MemoryRows(X, y), 10**9
    whole = FragileRows(rows, never)
    SupervisedSVC(kernel="linear", tol=1e-5).fit(whole, None)
    model = SupervisedSVC(kernel="linear", tol=1e-5)
    with pytest.raises(RowsLostError):
        model.fit(FragileRows(rows, whole.n_done - 3), None)
    rest = FragileRows(rows, never)
    model.fit(rest, None)
    assert rest.n_done < whole.n_done / 2
    assert model.gap_[0] <= 1e-5
