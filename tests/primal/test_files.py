"""Rows in files: the same sums and fits as in memory, in memory that does not grow, with errors
that name the file.
"""

import gc
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from semisvm import LabelMeanSVC, SupervisedSVC, TransductiveSVC
from semisvm.errors import DataError
from semisvm.primal import FileRows, files, solve_primal
from semisvm.primal.files import ScratchWriter
from semisvm.primal.problem import ClassPrices, PrimalProblem
from semisvm.primal.ranks import RankPrices, score_quantile, weigh_unlabeled
from semisvm.primal.rows import MemoryRows


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """So that a small file has several."""
    monkeypatch.setattr(files, "BYTES_PER_CHUNK", 40_000)


def some_rows(n=3000, d=6, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    X = rng.standard_normal((n, d)) + 1.2 * np.eye(n_classes, d)[codes] * [2]
    return X.astype(np.float32), codes


@pytest.fixture
def on_disk(tmp_path):
    def write(X, *arguments, **attributes):
        np.save(tmp_path / "rows.npy", X)
        return FileRows(tmp_path / "rows.npy", *arguments, **attributes)

    return write


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_maps_and_samples_are_those_of_the_rows(on_disk, dtype):
    X, codes = some_rows()
    rows = on_disk(X.astype(dtype), codes)
    assert (rows.n_rows, rows.n_features) == X.shape
    assert_allclose(
        rows.sum_over(lambda part: part.X.sum(axis=0)), X.astype(np.float64).sum(axis=0), rtol=1e-12
    )
    spans = list(
        rows.map_over(lambda part: (part.span.start, part.span.stop, int(part.codes.sum())))
    )
    assert len(spans) > 1
    assert all(codes[start:stop].sum() == total for start, stop, total in spans)
    assert [spans[0][0], spans[-1][1]] == [0, len(X)]
    sample = rows.sample(500, seed=1)
    assert 400 <= sample.n_rows <= 500
    assert_array_equal(sample.X, X[sample.origin].astype(dtype))
    assert_array_equal(sample.codes, codes[sample.origin])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_solve_from_a_file_is_the_solve_in_memory(on_disk, loss):
    X, codes = some_rows(40_000)
    prices = ClassPrices(1, 0, np.array([0.1, 0.2]))
    streamed = solve_primal(PrimalProblem(on_disk(X, codes), prices, loss), tol=1e-4)
    memory = solve_primal(PrimalProblem(MemoryRows(X, codes), prices, loss), tol=1e-7)
    assert streamed.gap <= 1e-4
    assert streamed.bound <= memory.objective
    assert_allclose(streamed.objective, memory.objective, rtol=1e-4)
    assert streamed.values is None
    with pytest.raises(ValueError, match="rows in memory only"):
        _ = streamed.decision_values


@pytest.mark.parametrize("n_classes", [2, 3])
def test_estimators_fit_and_predict_from_files(on_disk, n_classes):
    X, codes = some_rows(n_classes=n_classes)
    y = np.array(["ham", "offer", "spam"])[codes]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    options = {
        "kernel": "linear",
        "tol": 1e-5,
        "class_weight": "balanced",
        "costs": dict.fromkeys(np.unique(y), 2.0),
    }
    model = SupervisedSVC(**options).fit(on_disk(X, weight=weight), y)
    peer = SupervisedSVC(**options, solver="primal").fit(X, y, sample_weight=weight)
    assert_array_equal(model.classes_, peer.classes_)
    assert_allclose(model.coef_, peer.coef_, atol=5e-3)
    assert (model.gap_ <= 1e-5).all()
    assert (model.predict(on_disk(X)) == peer.predict(X)).mean() >= 0.999
    assert_array_equal(model.predict(on_disk(X)), model.predict(X))
    assert not hasattr(model, "transduction_")


def test_codes_and_classes_may_come_with_the_rows(on_disk):
    X, codes = some_rows()
    rows = on_disk(
        X,
        codes.astype(np.int8),
        classes=np.array(["no", "yes"]),
        feature_names=np.array(list("abcdef")),
    )
    model = SupervisedSVC(kernel="linear").fit(rows, None)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert (model.predict(rows) == np.array(["no", "yes"])[codes]).mean() > 0.7


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("positive_fraction", [0.5, "labeled", "estimated"])
def test_label_switching_from_a_file_is_about_that_in_memory(on_disk, loss, positive_fraction):
    X, codes = some_rows(4000, seed=1)
    y = np.where(np.arange(4000) < 60, codes, -1)
    options = {
        "kernel": "linear",
        "loss": loss,
        "positive_fraction": positive_fraction,
        "C_unlabeled": 0.1,
    }
    streamed = TransductiveSVC(**options).fit(on_disk(X), y)
    memory = TransductiveSVC(**options, solver="primal").fit(X, y)
    assert streamed.positive_fraction_ == pytest.approx(memory.positive_fraction_, abs=1e-3)
    assert (streamed.predict(X) == memory.predict(X)).mean() >= 0.97
    truth = codes[60:]
    assert (streamed.predict(X[60:]) == truth).mean() >= (
        memory.predict(X[60:]) == truth
    ).mean() - 0.02
    assert streamed.history_[-1].details["price"] == pytest.approx(0.1)
    assert streamed.termination_condition_ == "converged"


def test_the_line_leaves_its_share_of_the_weight_below(on_disk):
    X, codes = some_rows(5000)
    codes[:100] = -1
    codes = np.where(np.arange(5000) % 3 == 0, codes, -1)
    weight = np.random.default_rng(0).uniform(0.5, 2, 5000)
    rows = on_disk(X, codes, weight)
    w = np.arange(1.0, 7.0)
    scores = X.astype(np.float64) @ w + 0.7
    is_open = codes < 0
    for share in (0.001, 0.3, 0.5, 0.999):
        line = score_quantile(rows, w, 0.7, share)
        below = weight[is_open & (scores < line)].sum() / weight[is_open].sum()
        assert below == pytest.approx(share, abs=2 * weight.max() / weight[is_open].sum())
    edges = np.array([-np.inf, 0.0, np.inf])
    assert rows.sum_over(weigh_unlabeled, w, edges).sum() == pytest.approx(weight[is_open].sum())
    prices = pickle.loads(
        pickle.dumps(RankPrices(ClassPrices(1, 0, np.ones(2)), w, 0.7, 0.2, 3.0, 4.0))
    )
    p, q = prices(MemoryRows(X.astype(np.float64), codes, weight).parts()[0])
    assert_allclose(p[is_open], np.where(scores[is_open] >= 0.2, 3 * weight[is_open], 0))
    assert_allclose(q[is_open], np.where(scores[is_open] < 0.2, 4 * weight[is_open], 0))


def test_a_scratch_file_lives_as_long_as_its_rows(tmp_path):
    X, codes = some_rows(100)
    writer = ScratchWriter(6, folder=tmp_path)
    for start in range(0, 100, 30):
        writer.write(X[start : start + 30])
    rows = writer.rows(codes=codes)
    assert_array_equal(np.load(rows.path), X)
    assert list(tmp_path.iterdir())
    del writer, rows
    gc.collect()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3), "shape \\(3,\\)"),
        (np.zeros((3, 2), dtype=int), "int64"),
        (np.asfortranarray(np.ones((3, 2))), "Fortran order"),
        (np.array([[1.0, 2.0], [1.0, np.nan]]), "row 1 holds a number that is not finite"),
    ],
)
def test_files_that_can_not_be_used_are_named(tmp_path, array, words):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(DataError, match=words):
        FileRows(tmp_path / "x.npy").sum_over(lambda part: part.X.sum(axis=0))


def test_a_file_that_is_no_array_or_ends_early_is_named(tmp_path):
    np.save(tmp_path / "y.npy", np.ones((100, 2)))
    content = (tmp_path / "y.npy").read_bytes()
    header_unclosed = content.replace(b"(100, 2)", b"(100, 2(")
    header_no_python = content.replace(b"'shape': (", b"'shape'= (")
    for damaged in (b"hello", header_unclosed, header_no_python):
        (tmp_path / "x.npy").write_bytes(damaged)
        with pytest.raises(DataError, match=r"x\.npy: this is not a \.npy file"):
            FileRows(tmp_path / "x.npy")
    (tmp_path / "y.npy").write_bytes(content[:-8])
    with pytest.raises(DataError, match="ends before its last row"):
        FileRows(tmp_path / "y.npy").sum_over(lambda part: part.X.sum(axis=0))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            LabelMeanSVC(kernel="linear"),
            "LabelMeanSVC can't be fitted on rows that are not in memory",
        ),
        (SupervisedSVC(), "need kernel='linear', .*; got kernel='rbf'"),
        (SupervisedSVC(kernel="linear", solver="dual"), "need .* solver='primal' or 'auto'"),
        (TransductiveSVC(kernel="linear", algorithm="cccp"), "need algorithm='switch' or 'anneal'"),
    ],
)
def test_what_can_not_be_fitted_from_files_is_refused_in_a_sentence(on_disk, model, words):
    X, codes = some_rows(50)
    with pytest.raises(ValueError, match=words):
        model.fit(on_disk(X), codes)
    with pytest.raises(ValueError, match="Rows in files have weights of their own"):
        SupervisedSVC(kernel="linear").fit(on_disk(X), codes, sample_weight=np.ones(50))
    with pytest.raises(ValueError, match="y is None"):
        SupervisedSVC(kernel="linear").fit(on_disk(X), None)


@pytest.mark.parametrize(
    ("codes", "weight", "words"),
    [
        (np.array([0, 1, 5, -1]), None, "codes holds 5"),
        (np.array([0, 1, -2, -1]), None, "codes holds -2"),
        (np.array([0, 1, 0.5, -1]), None, "whole numbers"),
        (np.array([0, 0, 0, -1]), None, "3 of 'a', 0 of 'b'"),
        (np.full(4, -1), None, "0 of 'a', 0 of 'b'"),
        (np.array([0, 1, 0, -1]), np.array([1, np.nan, 1, 1]), "NaN"),
        (np.array([0, 1, 0, -1]), np.array([1, 1e300, 1, 1]), "between 1e-30 and 1e"),
    ],
)
def test_codes_and_weights_that_mean_nothing_are_refused(on_disk, codes, weight, words):
    rows = on_disk(np.arange(8.0).reshape(4, 2), codes, weight, np.array(["a", "b"]))
    with pytest.raises(ValueError, match=words):
        SupervisedSVC(kernel="linear").fit(rows, None)


def test_a_solve_that_can_not_move_ends_as_stalled(on_disk):
    X, codes = some_rows(40, 3)
    rows = on_disk(X.astype(np.float64) * 1e30, codes, None, np.array(["a", "b"]))
    with pytest.warns(UserWarning, match="stalled|progress|tol"):
        model = SupervisedSVC(kernel="linear").fit(rows, None)
    assert model.termination_condition_ == "stalled"
    assert model.n_iter_ <= 1000
    assert np.isfinite(model.decision_function(X)).all()
