"""Rows of a Dask collection: the same sums and solutions as in memory, on any partitions, and with
workers that die.
"""

import os
import pickle
import signal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from semisvm.engine import Limits, PrimalProblem, solve
from semisvm.engine import dask_rows as module
from semisvm.engine.dask_rows import DaskRows, map_lazily, read_dask
from semisvm.engine.primal import ClassPenalties, MemoryRows, RankPenalties, rows_of
from semisvm.engine.primal.ranks import (
    count_changed,
    count_classes,
    labeled_places,
    score_quantile,
    weigh_classes,
    weigh_unlabeled,
)
from semisvm.errors import RowsLostError
from tests.helpers.dask_tasks import allow_no_failure, die, span_of, start_cluster, sum_of_rows

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

PENALTIES = ClassPenalties(1, 0, np.array([0.02, 0.05]))


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("distributed")
    with start_cluster() as client:
        yield client


def two_classes(n=3_000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    codes = (X @ rng.normal(size=d) + rng.normal(size=n) > 0.3).astype(int)
    codes[rng.random(n) < 0.1] = -1
    return X, codes, rng.integers(1, 4, n).astype(float)


def fit(rows, loss="hinge", tol=1e-5):
    return solve([PrimalProblem(rows, PENALTIES, loss)], limits=Limits(tol))[0]


def assert_same(found, other):
    """|w - optimum|^2 is at most twice what the objective is above its optimum: it is strongly
    convex in w.
    """
    assert found.status == other.status == "converged"
    assert found.objective == pytest.approx(other.objective, rel=found.gap + other.gap)
    distance = sum(np.sqrt(2 * solution.gap * solution.objective) for solution in (found, other))
    assert np.linalg.norm(found.w - other.w) <= distance + 1e-12


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("chunks", [3_000, 700, (100, 1, 1_999, 900)])
def test_any_partitions_give_the_solution_in_memory(loss, chunks):
    X, codes, weight = two_classes()
    found = fit(rows_of(da.from_array(X, chunks=(chunks, 2)), codes, weight), loss)
    assert_same(found, fit(MemoryRows(X, codes, weight), loss))


def as_frame(X, codes):
    """A frame whose lengths are not known until it is computed."""
    frame = dd.from_pandas(pd.DataFrame(X).add_prefix("x").assign(code=codes), npartitions=4)
    frame = frame[frame["x0"] > -10]
    return DaskRows(frame.drop(columns="code"), frame["code"])


def as_csr_blocks(X, codes):
    blocks = da.from_array(X, chunks=(800, -1)).map_blocks(
        sparse.csr_array, meta=sparse.csr_array((0, 0))
    )
    return DaskRows(blocks, da.from_array(codes, chunks=7))


@pytest.mark.parametrize("make", [as_frame, as_csr_blocks])
def test_frames_and_sparse_blocks(make):
    X, codes, _ = two_classes(1_500)
    X[np.abs(X) < 1] = 0
    rows = make(X, codes)
    assert (rows.n_rows, rows.n_features, rows.is_sparse) == (1_500, 6, make is as_csr_blocks)
    assert (rows.feature_names is not None) == (make is as_frame)
    assert_same(fit(rows, "squared_hinge"), fit(MemoryRows(X, codes), "squared_hinge"))


def test_groups_depend_on_the_partitions_alone(monkeypatch):
    monkeypatch.setattr(module, "GROUP_BYTES", 100)
    assert module._group_ends((3, 4, 5, 50, 1), 10) == [(0, 3), (3, 4), (4, 5)]
    X, codes, weight = two_classes(400)
    rows = DaskRows(da.from_array(X, chunks=(11, -1)), codes, weight)
    assert_allclose(rows.sum_over(sum_of_rows), X.sum(axis=0), rtol=1e-12)
    assert list(rows.map_over(span_of))[:2] == [(0, 11), (11, 22)]
    sample = rows.sample(60, seed=1)
    assert len(np.unique(sample.origin)) == 60
    assert_array_equal(sample.X, X[sample.origin])
    assert_array_equal(sample.codes, codes[sample.origin])
    assert_array_equal(sample.weight, weight[sample.origin])
    labeled = rows.gather(labeled_places)
    assert_array_equal(labeled.origin, np.flatnonzero(codes >= 0))


def test_a_group_travels_as_its_arrays():
    rows = MemoryRows(np.ones((1_000, 10)), np.zeros(1_000, dtype=int), is_threaded=False)
    data = pickle.dumps(rows)
    assert len(data) < 1.2 * (rows.X.nbytes + rows.codes.nbytes)
    again = pickle.loads(data)
    assert not again.is_threaded
    assert_array_equal(again.sum_over(sum_of_rows), rows.sum_over(sum_of_rows))


# ---- guesses by rank ----


@pytest.mark.parametrize("kind", ["memory", "dask"])
def test_counts_and_quantiles_are_those_of_numpy(kind):
    X, codes, weight = two_classes(2_000)
    rows = MemoryRows(X, codes, weight)
    if kind == "dask":
        rows = DaskRows(da.from_array(X, chunks=(300, -1)), codes, weight)
    w = np.arange(6.0)
    f, is_open = X @ w + 0.5, codes < 0
    assert_array_equal(rows.sum_over(count_classes, 2), [np.sum(codes == 0), np.sum(codes == 1)])
    of_class = [weight[codes == k].sum() for k in (0, 1)]
    assert_allclose(rows.sum_over(weigh_classes, 2), of_class)
    edges = np.array([-np.inf, 0.0, np.inf])
    sides = [weight[is_open & (X @ w < 0)].sum(), weight[is_open & (X @ w >= 0)].sum()]
    assert_allclose(rows.sum_over(weigh_unlabeled, w, edges), sides)
    line = score_quantile(rows, w, 0.5, 0.7)
    below = weight[is_open & (f < line)].sum() / weight[is_open].sum()
    assert below == pytest.approx(0.7, abs=weight.max() / weight[is_open].sum())
    changed = np.sum(is_open & ((f >= line) != (f >= 0)))
    assert rows.sum_over(count_changed, w, 0.5, line, w, 0.5, 0.0)[0] == changed
    p, q = MemoryRows(X, codes, weight).penalties(RankPenalties(PENALTIES, w, 0.5, line, 3.0, 4.0))
    assert_allclose(p[is_open], np.where(f >= line, 3.0 * weight, 0)[is_open])
    assert_allclose(q[is_open], np.where(f < line, 4.0 * weight, 0)[is_open])
    assert_allclose(p[~is_open], (0.05 * weight * (codes == 1))[~is_open])


# ---- labels beside the rows, predictions ----


@pytest.mark.parametrize("kind", ["array", "frame", "in memory"])
def test_labels_become_codes_where_they_are(kind):
    X, codes, _ = two_classes(300)
    y = np.array(["no", "yes", ""], dtype=object)[codes]
    lazy_X, lazy_y = da.from_array(X, chunks=(70, -1)), y
    if kind == "frame":
        frame = dd.from_pandas(pd.DataFrame(X).add_prefix("x").assign(y=y), npartitions=3)
        lazy_X, lazy_y = frame.drop(columns="y"), frame["y"]
    elif kind == "array":
        lazy_y = da.from_array(y, chunks=70)
    rows, labels = read_dask(lazy_X, lazy_y, None, -1)
    assert labels.classes.tolist() == ["no", "yes"]
    assert_array_equal(np.concatenate(list(rows.map_over(lambda part: part.codes))), codes)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda X, y, w: (X, None, w), "y is missing"),
        (lambda X, y, w: (X, y[:9], w), "300 rows, but 9 codes or weights"),
        (lambda X, y, w: (da.where(X > 2.5, np.nan, X), y, w), "has .* missing or not finite"),
        (lambda X, y, w: (X, y, w - 2), "sample_weight has .* values negative"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_sentence(bad, words):
    X, codes, weight = two_classes(300)
    with pytest.raises(ValueError, match=words):
        read_dask(*bad(da.from_array(X, chunks=(70, -1)), codes, weight), -1)


@pytest.mark.parametrize("n_columns", [None, 2])
def test_predictions_are_as_lazy_as_the_rows(n_columns):
    X, _, _ = two_classes(100)
    coef = np.arange(6.0) if n_columns is None else np.arange(12.0).reshape(6, 2)

    def score(block):
        return np.asarray(block) @ coef

    lazy = map_lazily(score, da.from_array(X, chunks=(30, 2)), n_columns, np.float64)
    assert lazy.shape == (X @ coef).shape
    assert_allclose(lazy.compute(), X @ coef)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    assert_allclose(np.asarray(map_lazily(score, frame, n_columns, np.float64).compute()), X @ coef)


# ---- a cluster of real processes ----


class KillingRows(DaskRows):
    """Rows of which a worker dies in the third pass."""

    def __init__(self, *arguments, victim):
        super().__init__(*arguments)
        self.victim, self.n_passes = victim, 0

    def sum_over(self, function, *broadcast):
        self.n_passes += 1
        if self.n_passes == 3:
            os.kill(self.victim, signal.SIGKILL)
        return super().sum_over(function, *broadcast)


@pytest.mark.posix
def test_a_cluster_gives_the_same_bits_and_survives_the_death_of_a_worker(cluster, monkeypatch):
    monkeypatch.setattr(module, "GROUP_BYTES", 1)
    X, codes, weight = two_classes(20_000)
    source = da.from_array(X, chunks=(2_500, -1))
    with dask.config.set(scheduler="synchronous"):
        expected = fit(DaskRows(source, codes, weight), tol=1e-4)
    victim = next(iter(cluster.run(os.getpid).values()))
    rows = KillingRows(source, codes, weight, victim=victim)
    found = fit(rows, tol=1e-4)
    assert rows.n_passes > 5
    assert victim not in cluster.run(os.getpid).values()
    assert found.n_iter == expected.n_iter
    assert_array_equal(found.w, expected.w)
    assert found.bias == expected.bias


def test_rows_that_do_not_fit_are_read_again_in_every_pass(cluster, monkeypatch):
    monkeypatch.setattr(module, "GROUP_BYTES", 1)
    monkeypatch.setattr(module, "KEPT_SHARE", 0.0)
    X, codes, _ = two_classes(5_000)
    rows = DaskRows(da.from_array(X, chunks=(1_000, -1)), codes)
    assert not cluster.futures
    assert_same(fit(rows, tol=1e-3), fit(MemoryRows(X, codes), tol=1e-3))


@pytest.mark.posix
def test_a_task_that_kills_its_workers_is_given_up_with_advice(cluster):
    cluster.run_on_scheduler(allow_no_failure)
    blocks = da.ones((100, 2), chunks=(100, 2)).map_blocks(die, meta=np.ones((0, 2)))
    rows = DaskRows(blocks, np.zeros(100, int))
    with pytest.raises(RowsLostError, match="smaller partitions"):
        rows.sum_over(sum_of_rows)
