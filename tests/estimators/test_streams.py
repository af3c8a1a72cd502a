"""Fits on rows that are not in memory agree with those in memory; what needs the rows in memory
is refused.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier

from semisvm import (
    LaplacianSVC,
    PreferenceClassifier,
    PreferenceSVC,
    SupervisedSVC,
    TransductiveSVC,
    machines,
)
from semisvm.dual import Status
from semisvm.estimators import streams
from semisvm.estimators.preference import _decision
from semisvm.estimators.preference.paper import PaperPreferenceSVC
from semisvm.estimators.transductive.relaxed import soft_labels
from semisvm.primal import FileRows, solve_primal
from semisvm.primal.dask_rows import DaskRows
from semisvm.primal.problem import ClassPrices
from semisvm.primal.ranks import SoftLabels, SoftPrices, soft_level
from semisvm.primal.rows import MemoryRows
from studies.data import load

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
    settings = {
        "kernel": "linear",
        "loss": loss,
        "multi_class": multi_class,
        "unlabeled": None,
        "tol": 1e-5,
    }
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
    for own in (
        {"class_weight": "balanced"},
        {"class_weight": {0: 1, 1: 5}},
        {"costs": {0: 1, 1: 3}},
    ):
        settings = own | {"kernel": "linear", "loss": "squared_hinge", "tol": 1e-7}
        there = SupervisedSVC(**settings).fit(
            lazy(X), y, sample_weight=da.from_array(weight, chunks=500)
        )
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
    assert model.positive_fraction_ == pytest.approx(
        0.5, abs=0.06 if positive_fraction == "estimated" else 1e-9
    )
    assert len(model.history_) > 3
    here = TransductiveSVC(solver="primal", **settings).fit(X, y)
    assert np.mean(model.predict(X) == here.predict(X)) > 0.99


# ---- annealing ----


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("where", [lazy, MemoryRows], ids=["dask", "rows"])
def test_annealing_is_that_in_memory(loss, where):
    X, truth = blobs(1_200, 2, seed=3, spread=2.0)
    y = np.where(np.arange(len(truth)) < 40, truth, -1)
    settings = {
        "kernel": "linear",
        "algorithm": "anneal",
        "C_unlabeled": 0.3,
        "loss": loss,
        "positive_fraction": 0.5,
    }
    there = TransductiveSVC(**settings, tol=1e-4).fit(where(X), y)
    here = TransductiveSVC(**settings, tol=1e-4, solver="primal").fit(X, y)
    assert np.mean(there.predict(X) == here.predict(X)) >= 0.995
    steps = [
        [r.details["temperature"] for r in m.history_ if "temperature" in r.details]
        for m in (there, here)
    ]
    assert set(steps[0]) == set(steps[1])
    assert abs(len(steps[0]) - len(steps[1])) <= 2
    assert there.termination_condition_ == "converged"


@pytest.mark.data
@pytest.mark.parametrize(
    ("algorithm", "C_unlabeled", "errors"), [("switch", None, 26), ("anneal", 0.3, 21)]
)
def test_svmlights_example_as_rows_that_are_not_in_memory(
    paper_data, algorithm, C_unlabeled, errors
):
    """In memory 24 and 21: a price that grows tenfold, and not twofold, costs two errors."""
    example, test = (
        load(f"reuters-{name}", data_home=paper_data) for name in ("transduction", "test")
    )
    model = TransductiveSVC(kernel="linear", algorithm=algorithm, C_unlabeled=C_unlabeled)
    model.fit(MemoryRows(example.X), example.y)
    assert (model.predict(test.X) != test.y).sum() <= errors


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("share", [0.03, 0.5, 0.9])
@pytest.mark.parametrize("temperature", [0.5, 0.01])
def test_soft_labels_are_those_in_memory(loss, share, temperature):
    """The level comes from a histogram and Newton's method; in memory from a bisection over all
    rows.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 3))
    w = np.array([2.0, -1.0, 0.5])
    weight = rng.uniform(0.5, 2, 3_000)
    codes = np.where(np.arange(3_000) < 100, 1, -1)
    given = SoftLabels(w, 0.3, temperature, 0.0, 3.0, 1.0, loss)
    soft = soft_level(DaskRows(lazy(X), codes, weight), given, share)
    part = MemoryRows(X, codes, weight).parts()[0]
    is_open = codes < 0
    costs = {+1: 3.0, -1: 1.0}
    expected = soft_labels((X @ w + 0.3)[is_open], temperature, share, costs, weight[is_open], loss)
    np.testing.assert_allclose(soft(part)[is_open], expected, atol=1e-5)
    p, q = SoftPrices(ClassPrices(1, 0, np.ones(2)), soft, 0.1)(part)
    np.testing.assert_allclose(p[is_open], 0.1 * 3 * weight[is_open] * expected, atol=1e-5)
    np.testing.assert_allclose(q[is_open], 0.1 * weight[is_open] * (1 - expected), atol=1e-5)
    np.testing.assert_array_equal(q[~is_open], 0)


def test_a_limit_ends_annealing_with_the_last_complete_machine():
    X, truth = blobs(1_200, 2, seed=3, spread=2.0)
    y = np.where(np.arange(len(truth)) < 40, truth, -1)
    with pytest.warns(ConvergenceWarning):
        model = TransductiveSVC(kernel="linear", algorithm="anneal", max_iter=12).fit(lazy(X), y)
    assert model.termination_condition_ == "max_iter"
    assert np.mean(model.predict(X) == truth) > 0.8


# ---- thresholds ----


def some_mails(n=1_500, n_labeled=240, n_classes=2, seed=1):
    X, truth = blobs(n, n_classes, seed=seed, spread=4.0)
    is_labeled = np.random.default_rng(seed).permutation(n) < n_labeled
    return X, np.where(is_labeled, truth, -1)


def assert_same_points(there, here):
    """Rows in memory and out of it give one model, threshold and operating point."""
    np.testing.assert_array_equal(there.threshold_, here.threshold_)
    assert there.operating_points_ == here.operating_points_
    assert not hasattr(there, "transduction_")
    assert not hasattr(there, "labeled_iter_")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    "asked",
    [
        {"min_precision": 0.8},
        {"min_recall": 0.8, "confidence": 0.9},
        {"min_precision": 0.7, "costs": {0: 1.0, 1: 3.0}},
    ],
    ids=["cross-fitted", "certified", "costed"],
)
def test_preference_svc_is_that_of_all_rows_in_memory(tmp_path, kernel, asked):
    X, y = some_mails(900, 160)
    settings = asked | {"kernel": kernel, "probability": True, "random_state": 0}
    here = PreferenceSVC(**settings).fit(X, y)
    np.save(tmp_path / "rows.npy", X)
    rows = FileRows(tmp_path / "rows.npy")
    for streamed in (lazy(X), rows):
        there = PreferenceSVC(**settings).fit(streamed, y)
        assert_same_points(there, here)
        np.testing.assert_array_equal(there.intercept_, here.intercept_)
        np.testing.assert_array_equal(there.predict(lazy(X)).compute(), here.predict(X))
        np.testing.assert_array_equal(there.decision_function(rows), here.decision_function(X))
        np.testing.assert_array_equal(there.predict_proba(lazy(X)).compute(), here.predict_proba(X))
        if hasattr(here, "support_"):
            np.testing.assert_array_equal(there.support_, here.support_)


def draws(state):
    return np.random.RandomState(state) if state else state


def test_only_the_pool_of_unlabeled_rows_comes_into_memory(monkeypatch):
    """The draw depends on the number of unlabeled rows alone, so the model is that of all rows
    in memory.
    """
    monkeypatch.setattr(_decision, "POOL_SIZE", 500)
    X, y = some_mails()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    taken = []
    gather = streams._gather
    monkeypatch.setattr(streams, "_gather", lambda *rows: taken.append(gather(*rows)) or taken[-1])
    for state in (0, 3):
        here = PreferenceSVC(kernel="linear", random_state=draws(state)).fit(
            X, y, sample_weight=weight
        )
        there = PreferenceSVC(kernel="linear", random_state=draws(state)).fit(
            lazy(X), y, sample_weight=weight
        )
        assert_same_points(there, here)
        np.testing.assert_array_equal(there.coef_, here.coef_)
    assert (weight[taken[0].origin] > 0).all()
    assert np.count_nonzero(y[taken[0].origin] == -1) == 500
    np.testing.assert_array_equal(taken[0].X, X[taken[0].origin])


def test_marked_labels_train_and_do_not_measure():
    X, y = some_mails()
    marks = (y == -1) | (np.arange(len(y)) % 2 == 0)
    settings = {"kernel": "linear", "min_precision": 0.7, "random_state": 0}
    here = PreferenceSVC(**settings).fit(X, y, random_sample=marks)
    assert_same_points(PreferenceSVC(**settings).fit(lazy(X), y, random_sample=marks), here)
    assert_same_points(
        PreferenceSVC(**settings).fit(lazy(X), y, random_sample=da.from_array(marks)), here
    )
    with pytest.raises(
        ValueError, match="random_sample must have one entry for each of the 1,500 rows"
    ):
        PreferenceSVC(**settings).fit(lazy(X), y, random_sample=marks[:10])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_preference_classifier_is_that_of_all_rows_in_memory(tmp_path, n_classes, form):
    X, y = some_mails(800, 120, n_classes=n_classes)
    there_X = lazy(X) if form == "dense" else lazy(X).map_blocks(sparse.csr_array)
    X = X if form == "dense" else sparse.csr_array(X)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = PreferenceClassifier(RidgeClassifier(), min_recall=0.8, random_state=0)
    here = clone(model).fit(X, y, sample_weight=weight)
    there = clone(model).fit(there_X, y, sample_weight=weight)
    assert_same_points(there, here)
    np.testing.assert_array_equal(there.predict(there_X).compute(), here.predict(X))
    np.testing.assert_array_equal(
        there.decision_function(there_X).compute(), here.decision_function(X)
    )
    if form == "dense":
        np.save(tmp_path / "rows.npy", X)
        np.testing.assert_array_equal(
            there.predict(FileRows(tmp_path / "rows.npy")), here.predict(X)
        )


def test_more_labels_than_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr(streams, "MOST_GATHERED_NUMBERS", 100)
    X, y = some_mails()
    with pytest.raises(ValueError, match="240 rows with 4 features are more than"):
        PreferenceSVC().fit(lazy(X), y)


@pytest.mark.parametrize("where", [lazy, MemoryRows], ids=["dask", "rows"])
def test_a_campaign_draws_from_a_pool_that_is_not_in_memory(where):
    X, y = some_mails()
    truth = blobs(1_500, 2, seed=1, spread=4.0)[1]
    pool = y == -1
    campaigns = []
    for rows in (X[pool], where(X[pool])):
        model = PreferenceSVC(kernel="linear", min_precision=0.6, random_state=0).fit(X, y)
        campaign = model.campaign(rows, min_precision=0.6, seed="05")
        drawn = campaign.draw(60)
        campaign.tell(drawn, truth[pool][drawn])
        campaigns.append((drawn, repr(campaign.verdict())))
    assert campaigns[0] == campaigns[1]


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
        model.decision_function(frame[list("abcd")]).compute(),
        model.decision_function(table[list("abcd")]),
    )


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (
            lambda: LaplacianSVC(kernel="linear"),
            "LaplacianSVC can't be fitted on rows that are not in memory",
        ),
        (SupervisedSVC, "need kernel='linear'"),
        (
            lambda: SupervisedSVC(kernel="linear", solver="dual"),
            "need .* solver='primal' or 'auto'",
        ),
        (
            lambda: SupervisedSVC(kernel="linear", guard=True, costs={0: 1, 1: 2}),
            "need the labeled rows in memory",
        ),
        (
            lambda: TransductiveSVC(kernel="linear", algorithm="cccp"),
            "need algorithm='switch' or 'anneal'",
        ),
        (
            PaperPreferenceSVC,
            "labels all unlabeled rows, which needs them in memory",
        ),
    ],
)
def test_what_needs_memory_is_refused(make, match):
    X, y = blobs(300, 2)
    with pytest.raises((TypeError, ValueError), match=match):
        make().fit(lazy(X), y)


def test_bad_rows_are_refused_by_column():
    X, y = blobs(300, 2)
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match="Column 2 has 1 value missing"):
        SupervisedSVC(kernel="linear").fit(lazy(X), y)
    X[7, 2] = 0
    with pytest.raises(ValueError, match="sample_weight has 1 value negative"):
        SupervisedSVC(kernel="linear").fit(
            lazy(X), y, sample_weight=np.where(np.arange(300) == 4, -1.0, 1.0)
        )
    with pytest.raises(ValueError, match="y is missing"):
        SupervisedSVC(kernel="linear").fit(lazy(X), None)


def test_ctrl_c_ends_all_pairs_of_rows_out_of_memory(monkeypatch):
    """As in memory: classes whose turn did not come have scores of 0."""
    X, y = blobs(600, 3)
    n_calls = []

    def interrupted(*arguments, **options):
        n_calls.append(1)
        return replace(solve_primal(*arguments, **options), status=Status.INTERRUPTED)

    monkeypatch.setattr(machines, "solve_primal", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = SupervisedSVC(kernel="linear", multi_class="ovr").fit(MemoryRows(X), y)
    assert len(n_calls) == 1
    assert model.coef_[0].any()
    assert not model.coef_[1:].any()
    assert model.termination_condition_ == "interrupted"
