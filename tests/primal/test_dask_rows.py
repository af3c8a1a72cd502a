"""Rows of a Dask collection: the same sums and solutions as in memory, on any partitions and
with workers dying.
"""

import os
import signal
import threading

import numpy as np
import pytest
from scipy import sparse

from cluster_tasks import allow_no_failure, die, slow_block, spans, sum_of_rows
from semisvm.errors import RowsLostError
from semisvm.primal import dask_rows, solve_primal
from semisvm.primal.dask_rows import DaskRows
from semisvm.primal.problem import ClassPrices, PrimalProblem
from semisvm.primal.rows import MemoryRows

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


def two_classes(n=3_000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    codes = (X @ rng.normal(size=d) + rng.normal(size=n) > 0.3).astype(int)
    codes[rng.random(n) < 0.1] = -1
    return X, codes, rng.integers(1, 4, n).astype(float)


PRICES = ClassPrices(1, 0, np.array([0.02, 0.05]))


def fit_rows(rows, loss="hinge", tol=1e-8):
    return solve_primal(PrimalProblem(rows, PRICES, loss), tol=tol)


def assert_same_machine(found, other):
    """|w - optimum|^2 is at most twice what the objective is above its optimum: it is strongly
    convex in w.
    """
    assert found.objective == pytest.approx(other.objective, rel=found.gap + other.gap)
    distance = sum(np.sqrt(2 * solution.gap * solution.objective) for solution in (found, other))
    assert np.linalg.norm(found.w - other.w) <= distance


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("chunks", [3_000, 700, (100, 1, 1_999, 900)])
def test_any_partitions_give_the_solution_in_memory(loss, chunks):
    X, codes, weight = two_classes()
    whole = fit_rows(MemoryRows(X, codes, weight), loss)
    found = fit_rows(DaskRows(da.from_array(X, chunks=(chunks, -1)), codes, weight), loss)
    assert found.gap <= 1e-8
    assert_same_machine(found, whole)


def test_groups_depend_on_the_partitions_alone(monkeypatch):
    monkeypatch.setattr(dask_rows, "GROUP_BYTES", 100)
    assert dask_rows._group_ends((3, 4, 5, 50, 1), 10) == [(0, 3), (3, 4), (4, 5)]
    X, codes, _ = two_classes(400)
    rows = DaskRows(da.from_array(X, chunks=(11, -1)), codes)
    assert len(rows._groups) == 37
    np.testing.assert_allclose(rows.sum_over(sum_of_rows), X.sum(axis=0), rtol=1e-12)


def test_mapping_knows_where_a_part_is(monkeypatch):
    monkeypatch.setattr(dask_rows, "GROUP_BYTES", 1)
    rows = DaskRows(da.from_array(np.ones((10, 2)), chunks=(4, 1)))
    assert list(rows.map_over(spans, 0)) == [(0, 4), (4, 8), (8, 10)]


def test_a_sample_brings_its_codes_and_says_where_it_is_from(monkeypatch):
    monkeypatch.setattr(dask_rows, "GROUP_BYTES", 1)
    X, codes, weight = two_classes(500)
    sample = DaskRows(
        da.from_array(X, chunks=(90, -1)), da.from_array(codes, chunks=7), weight
    ).sample(60, seed=1)
    assert len(np.unique(sample.origin)) == 60
    np.testing.assert_array_equal(sample.X, X[sample.origin])
    np.testing.assert_array_equal(sample.codes, codes[sample.origin])
    np.testing.assert_array_equal(sample.weight, weight[sample.origin])


def test_sparse_blocks():
    X, codes, _ = two_classes()
    X[np.abs(X) < 1] = 0
    blocks = da.from_array(X, chunks=(800, -1)).map_blocks(
        sparse.csr_array, meta=sparse.csr_array((0, 0))
    )
    rows = DaskRows(blocks, codes)
    assert rows.is_sparse
    whole = fit_rows(MemoryRows(sparse.csr_array(X), codes), "squared_hinge", tol=1e-6)
    assert_same_machine(fit_rows(rows, "squared_hinge", tol=1e-6), whole)


def test_data_frames_of_unknown_length():
    X, codes, _ = two_classes()
    import pandas as pd

    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(6)]).assign(code=codes)
    frame = dd.from_pandas(table, npartitions=4)
    frame = frame[frame["x0"] > -10]  # its lengths are not known until it is computed
    rows = DaskRows(frame.drop(columns="code"), frame["code"])
    assert rows.n_rows == 3_000
    assert_same_machine(fit_rows(rows), fit_rows(MemoryRows(X, codes)))


def test_codes_of_another_length_are_refused():
    with pytest.raises(ValueError, match="10 rows, but 9 codes or weights"):
        DaskRows(da.ones((10, 2)), np.zeros(9, dtype=int))


def test_rows_travel_once():
    """A group that is sent or spilled is its arrays, not its arrays and views of them."""
    import pickle

    rows = MemoryRows(np.ones((1_000, 10)), np.zeros(1_000, dtype=int))
    assert len(pickle.dumps(rows)) < 1.2 * (rows.X.nbytes + rows.codes.nbytes)
    again = pickle.loads(pickle.dumps(rows))
    np.testing.assert_array_equal(again.sum_over(sum_of_rows), rows.sum_over(sum_of_rows))


# ---- a cluster of real processes ----


@pytest.mark.posix
def test_a_cluster_gives_the_same_bits_and_survives_the_death_of_a_worker(cluster, monkeypatch):
    monkeypatch.setattr(dask_rows, "GROUP_BYTES", 1)
    X, codes, _ = two_classes(20_000)
    source = da.from_array(X, chunks=(2_500, -1)).map_blocks(slow_block, meta=X[:0])
    with dask.config.set(scheduler="synchronous"):
        expected = solve_primal(PrimalProblem(DaskRows(source, codes), PRICES), tol=1e-4)
    rows = DaskRows(source, codes)
    victims = list(cluster.run(os.getpid).values())
    killed = threading.Event()

    def kill_a_worker(n_iter, gap):
        if n_iter == 2 and not killed.is_set():
            os.kill(victims[0], signal.SIGKILL)
            killed.set()
        return False

    found = solve_primal(PrimalProblem(rows, PRICES), tol=1e-4, callback=kill_a_worker)
    assert killed.is_set()
    assert found.n_iter == expected.n_iter
    np.testing.assert_array_equal(found.w, expected.w)
    assert found.bias == expected.bias


def test_rows_that_do_not_fit_are_read_again_in_every_pass(cluster, monkeypatch):
    monkeypatch.setattr(dask_rows, "GROUP_BYTES", 1)
    monkeypatch.setattr(dask_rows, "KEPT_SHARE", 0.0)
    X, codes, _ = two_classes(5_000)
    rows = DaskRows(da.from_array(X, chunks=(1_000, -1)), codes)
    assert not cluster.futures
    assert_same_machine(fit_rows(rows, tol=1e-4), fit_rows(MemoryRows(X, codes), tol=1e-4))


@pytest.mark.posix
def test_a_task_that_kills_its_workers_is_given_up_with_advice(cluster):
    cluster.run_on_scheduler(allow_no_failure)
    rows = DaskRows(
        da.ones((100, 2), chunks=(100, 2)).map_blocks(die, meta=np.ones((0, 2))), np.zeros(100, int)
    )
    with pytest.raises(RowsLostError, match="smaller partitions"):
        rows.sum_over(sum_of_rows)
