"""`AutoSVC` as users see it, at its default settings."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars
import pytest
import skops.io as skops
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_blobs, make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from semisvm.auto import AutoSVC, UnlabeledKernel


def hide(y, labeled):
    hidden = np.full(len(y), -1)
    hidden[labeled] = y[labeled]
    return hidden


def mixed_table(n=200, seed=0):
    """Numbers with gaps, dates, truth values, categories and text, and a class that all of them
    tell a little about.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    words = np.array([["rain", "wind", "storm", "cold"], ["sun", "warm", "beach", "light"]])
    frame = pd.DataFrame(
        {
            "amount": np.where(rng.random(n) < 0.1, np.nan, rng.normal(2.0 * y).round(3)),
            "visits": rng.integers(0, 9, n),
            "sent": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
            "urgent": rng.random(n) < 0.3 + 0.4 * y,
            "city": rng.choice(["Oslo", "Rome", "Kyiv"], n),
            "note": [" ".join(rng.choice(words[k], 5)) for k in y],
            "row_id": np.arange(5_000, 5_000 + n),
            "price": [f"${x:,.2f}" for x in rng.lognormal(8 + y, 1)],
        }
    )
    return frame, y, hide(y, np.arange(30))


# ---- accuracy ----


def test_two_moons_with_one_label_per_class():
    errors = []
    for seed in range(5):
        X, y = make_moons(200, noise=0.05, random_state=seed)
        rng = np.random.default_rng(seed)
        labeled = [rng.choice(np.flatnonzero(y == c)) for c in (0, 1)]
        errors.append(np.mean(AutoSVC().fit(X, hide(y, labeled)).transduction_ != y))
    assert np.mean(errors) < 0.05


def test_digits_inside_and_new():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y[:1200] == c))[:5] for c in range(10)])
    model = AutoSVC().fit(X[:1200], hide(y[:1200], rows))
    assert np.mean(model.transduction_ != y[:1200]) < 0.05
    assert np.mean(model.predict(X[1200:]) != y[1200:]) < 0.065
    assert sum(model.weights_.values()) == pytest.approx(1)
    assert sum(w for name, w in model.weights_.items() if name.startswith("graph")) > 0.5


def test_rows_without_structure_are_left_to_ordinary_kernels():
    rng = np.random.default_rng(5)
    lost = []
    for _ in range(3):
        X = rng.standard_normal((400, 10))
        y = (X @ rng.standard_normal(10) > 0).astype(int)
        model = AutoSVC().fit(X, hide(y, np.arange(30)))
        assert {name.partition(",")[0] for name in model.weights_} == {"rbf", "linear"}
        svm = SVC(C=100).fit(X[:30], y[:30])
        lost.append(np.mean(model.transduction_ != y) - np.mean(svm.predict(X) != y))
    assert np.mean(lost) < 0.02


LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@pytest.mark.parametrize("seed", range(2))
def test_codes_without_an_order_are_learned_from_thirty_labels(seed):
    """Boards on which a game of tic-tac-toe is over; each class has an own set of marks."""
    boards = np.indices((3,) * 9).reshape(9, -1).T
    wins = [(boards[:, np.array(LINES)] == k).all(axis=2).any(axis=1) for k in (1, 2)]
    ahead = (boards == 1).sum(axis=1) - (boards == 2).sum(axis=1)
    is_over = wins[0] | wins[1] | (boards > 0).all(axis=1)
    is_over &= ~(wins[0] & wins[1]) & (ahead == np.where(wins[1], 0, 1))
    X, y = boards[is_over].astype(float), wins[0][is_over].astype(int)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    model = AutoSVC().fit(X[:600], hide(y[:600], np.arange(30)))
    assert roc_auc_score(y[600:], model.decision_function(X[600:])) > 0.93


def test_a_rare_topic_is_ranked_first():
    """One text in twelve has the topic: six words of sixty, of which others have one at most. With
    a weak ridge of the latent kernel the mean is .81.
    """
    found = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        y = (rng.random(900) < 1 / 12).astype(int)
        common, own = [f"w{k}" for k in range(400)], [f"t{k}" for k in range(60)]
        p = 1 / np.arange(1, 401)
        words = [
            [
                *rng.choice(common, 25, p=p / p.sum()),
                *rng.choice(own, 6 if k else rng.integers(0, 2)),
            ]
            for k in y
        ]
        texts = np.array([" ".join(row) for row in words], dtype=object)
        model = AutoSVC().fit(texts[:600], hide(y[:600], np.arange(100)))
        found.append(average_precision_score(y[600:], model.decision_function(texts[600:])))
    assert np.mean(found) > 0.89


# ---- the same rows, the same model ----


def test_the_order_of_columns_and_the_library_of_the_frame_do_not_matter():
    frame, _, hidden = mixed_table()
    model = AutoSVC().fit(frame, hidden)
    scores = model.decision_function(frame)
    text = pd.read_csv(
        pd.io.common.StringIO(frame.to_csv(index=False)), dtype=str, keep_default_na=False
    )
    for other in (frame[frame.columns[::-1]], text, polars.from_pandas(frame)):
        assert_allclose(model.decision_function(other), scores, atol=1e-12)
        fitted = AutoSVC().fit(other, hidden)
        assert_allclose(fitted.decision_function(frame), scores, atol=1e-12)
        assert fitted.weights_ == model.weights_
    assert model.columns_.left_out == {
        "row_id": "is an identifier: a different whole number in every row"
    }


def test_the_order_of_rows_matters_little():
    X, y = make_moons(200, noise=0.1, random_state=0)
    hidden, order = hide(y, np.arange(10)), np.random.default_rng(0).permutation(200)
    one, other = AutoSVC().fit(X, hidden), AutoSVC().fit(X[order], hidden[order])
    assert np.mean(one.transduction_[order] != other.transduction_) <= 0.01
    assert_allclose(other.decision_function(X), one.decision_function(X), atol=0.05)


def matrices():
    rng = np.random.default_rng(0)
    yield load_digits().data[:300]
    yield np.eye(12)[rng.integers(0, 12, (300, 4))].reshape(300, -1)  # categories
    yield rng.random((300, 400)) * (rng.random((300, 400)) < 0.04)  # as of words
    yield rng.standard_normal((300, 5))


@pytest.mark.parametrize("X", matrices(), ids=["pixels", "categories", "words", "numbers"])
def test_dense_and_sparse_copies_of_a_matrix_give_the_same_model(X):
    hidden = hide(
        (X[:, :4].sum(axis=1) > np.median(X[:, :4].sum(axis=1))).astype(int), np.arange(60)
    )
    dense, stored = AutoSVC().fit(X, hidden), AutoSVC().fit(sparse.csr_matrix(X), hidden)
    assert dense.weights_ == stored.weights_
    for model in (dense, stored):
        assert_array_equal(
            model.decision_function(sparse.csr_matrix(X)), dense.decision_function(X)
        )


def test_shifted_and_scaled_rows_give_the_same_scores():
    X, y = make_moons(150, noise=0.15, random_state=0)
    one = AutoSVC().fit(X, hide(y, np.arange(8)))
    other = AutoSVC().fit(5 * X + [100, -20], hide(y, np.arange(8)))
    assert_allclose(
        other.decision_function(5 * X + [100, -20]), one.decision_function(X), atol=1e-5
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_the_fit_are_predicted_as_in_the_fit(n_classes):
    X, y = make_blobs(120, centers=n_classes, n_features=4, cluster_std=3, random_state=0)
    model = AutoSVC().fit(X, hide(y, np.arange(15)))
    assert_array_equal(model.predict(X)[15:], model.transduction_[15:])
    assert_array_equal(model.transduction_[:15], y[:15])
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1)
    scores = model.out_of_fold_scores_
    assert_array_equal(np.isnan(scores.reshape(120, -1)).all(axis=1), np.arange(120) >= 15)
    assert model.threshold_.shape == ((1,) if n_classes == 2 else (3,))


def test_a_fitted_model_travels():
    frame, _, hidden = mixed_table()
    model = AutoSVC().fit(frame, hidden)
    packed = pickle.dumps(model)
    assert len(packed) < 2_000_000
    for other in (
        pickle.loads(packed),
        skops.loads(skops.dumps(model), skops.get_untrusted_types(data=skops.dumps(model))),
    ):
        assert_array_equal(other.decision_function(frame), model.decision_function(frame))


# ---- what users can say ----


def test_classes_may_be_words_and_markers_missing():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
    names[np.arange(150) % 5 > 0] = None
    model = AutoSVC().fit(X, names)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert np.mean(model.predict(X) == model.classes_[y]) > 0.85


def test_kinds_of_columns_may_be_named_and_others_are_ignored():
    frame, _, hidden = mixed_table()
    model = AutoSVC(columns={"number": ["amount"], "category": ["visits"]}).fit(frame, hidden)
    assert model.columns_.by_kind() == {"number": ["amount"], "category": ["visits"]}
    few = frame[["visits", "amount"]]
    assert_array_equal(model.decision_function(few), model.decision_function(frame))


def test_a_classifier_from_outside_is_one_block():
    frame, y, hidden = mixed_table()
    oracle = FunctionTransformer(lambda rows: rows[["amount"]].fillna(0))
    pipeline = make_pipeline(oracle, LogisticRegression())
    frozen = FrozenEstimator(clone(pipeline).fit(frame, y))
    model = AutoSVC([("mine", pipeline, 5), ("frozen", frozen)]).fit(frame, hidden)
    assert {"mine", "frozen"} <= set(model.families_)
    heavy = AutoSVC([("mine", pipeline, 500)]).fit(frame, hidden)
    assert heavy.families_["mine"] > model.families_["mine"]
    assert model.predict(frame).shape == y.shape


def test_class_weights_move_scores_and_only_their_ratio_matters():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X, hidden = rng.standard_normal((300, 2)) + y[:, None], hide(y, np.arange(60))
    plain = AutoSVC().fit(X, hidden)
    model = AutoSVC(class_weight={0: 1, 1: 10}).fit(X, hidden)
    assert np.mean(model.predict(X)) > np.mean(plain.predict(X)) + 0.1
    same = AutoSVC(class_weight={0: 3, 1: 30}).fit(X, hidden)
    cost = np.where(hidden == 1, 10.0, 1.0)
    cost *= 60 / cost[:60].sum()
    by_row = AutoSVC().fit(X, hidden, sample_weight=cost)
    for other in (same, by_row):
        raw = other.decision_function(X) + other.threshold_
        assert_allclose(raw, model.decision_function(X), atol=1e-5)
    assert_array_equal(model.threshold_, 0)


def test_rows_of_weight_0_are_not_learned_from():
    X, y = make_moons(120, noise=0.1, random_state=0)
    kept = np.arange(120) < 100
    hidden = hide(y, np.arange(0, 120, 8))
    one = AutoSVC().fit(X, hidden, sample_weight=kept.astype(float))
    other = AutoSVC().fit(X[kept], hidden[kept])
    assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-6)


def test_more_rows_than_kernels_are_made_from_are_sampled_with_every_class():
    X, y = make_blobs(500, centers=3, random_state=0)
    hidden = np.where(np.arange(500) < 300, y, -1)
    model = AutoSVC(max_rows=40, random_state=0).fit(X, hidden)
    used = ~np.isnan(model.out_of_fold_scores_).any(axis=1)
    assert used.sum() == 20
    assert set(y[used]) == {0, 1, 2}
    assert model.transduction_.shape == (500,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "rows"}, "The 'columns' parameter"),
        ({"columns": {"number": "amount"}}, r"must be a list of names: write \['amount'\]"),
        ({"columns": {"number": ["amonut"]}}, "no column 'amonut'. Did you mean 'amount'"),
        ({"members": [("a", 3)]}, "member 'a' needs the methods fit and predict_proba"),
        ({"members": [LogisticRegression()]}, "members must be a list of"),
        ({"members": [("a", LogisticRegression(), 0)]}, "weight of member 'a' must be above 0"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(options, message):
    frame, _, hidden = mixed_table(60)
    with pytest.raises(ValueError, match=message):
        AutoSVC(**options).fit(frame, hidden)


POINTS, HALF = np.random.default_rng(0).standard_normal((60, 4)), np.resize([0, 1, -1, -1], 60)


@pytest.mark.parametrize(
    ("rows", "weight", "message"),
    [
        (np.where(np.arange(240).reshape(60, 4) == 9, 1e300, POINTS), None, "X holds a number of size 1e"),
        (sparse.csr_matrix(POINTS) * 1e300, None, "X holds a number of size"),
        (pd.DataFrame(POINTS * 1e300, columns=list("abcd")), None, "column 'a' holds a number of size"),
        (POINTS, np.full(60, 1e300), "sample_weight must be at most 1e.12, got 1e.300"),
        (["the same text"] * 60, None, "All 60 texts hold the same words"),
    ],
    ids=["number", "sparse", "column", "weight", "texts"],
)  # fmt: skip
def test_rows_that_no_arithmetic_can_take_are_refused(rows, weight, message):
    with pytest.raises(ValueError, match=message):
        AutoSVC().fit(rows, HALF, sample_weight=weight)


def test_new_rows_must_be_as_in_the_fit():
    frame, _, hidden = mixed_table()
    model = AutoSVC().fit(frame, hidden)
    for rows, message in [
        (frame.drop(columns="city"), "city"),
        (
            frame.assign(price="soon"),
            "row 0: column 'price' holds 'soon' where a number is expected",
        ),
        (frame[:0], "0 sample"),
        (["a text"] * 3, "as in fit"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict(rows)
    frame.loc[3, "price"] = "soon"
    with pytest.warns(UserWarning, match="1 cell of 'price' is no number") as caught:
        model.predict(frame)
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="as in fit"):
        AutoSVC().fit(frame["note"], hidden).predict(frame)
    with pytest.raises(ValueError, match="class 1 has no label with a weight above 0"):
        AutoSVC().fit(frame, hidden, sample_weight=(hidden != 1).astype(float))


EXPECTED = {
    "check_classifiers_classes": "-1 marks unlabeled rows",
    "check_sample_weight_equivalence_on_dense_data": "a weight is the cost of an error on a labeled row, not a copy of it",
    "check_sample_weight_equivalence_on_sparse_data": "a weight is the cost of an error on a labeled row, not a copy of it",
    "check_methods_subset_invariance": "products of float32 differ by 1e-6 with the number of rows",
}


@pytest.mark.parametrize("estimator", [AutoSVC(), UnlabeledKernel()])
def test_the_contract_of_scikit_learn(estimator):
    expected = EXPECTED if isinstance(estimator, AutoSVC) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator, expected_failed_checks=expected)


# ---- the kernel alone ----


def test_the_kernel_of_all_rows_serves_any_svm():
    X, y = make_moons(200, noise=0.05, random_state=0)
    hidden = hide(y, np.arange(6))
    transformer = UnlabeledKernel().fit(X, hidden)
    K = transformer.transform(X)
    assert_allclose(K, K.T, atol=1e-9)
    assert np.linalg.eigvalsh(K)[0] > -1e-8
    svm = SVC(C=10, kernel="precomputed").fit(
        K[np.ix_(hidden >= 0, np.arange(200))][:, hidden >= 0], y[hidden >= 0]
    )
    assert svm.score(K[:, hidden >= 0], y) == 1
    assert transformer.get_feature_names_out().shape == (200,)
    with pytest.raises(ValueError, match="takes 5,000 of them at most, not 5,001"):
        UnlabeledKernel().fit(np.zeros((5001, 1)), np.r_[0, 1, np.full(4999, -1)])


@pytest.mark.parametrize("columns", ["auto", "points", "table", {"number": [0, 1]}])
def test_arrays_and_frames_of_numbers_may_take_each_others_place(columns):
    X, y = make_moons(120, noise=0.1, random_state=0)
    hidden = hide(y, np.arange(20))
    model = AutoSVC(columns=columns).fit(X, hidden)
    assert_allclose(model.decision_function(pd.DataFrame(X)), model.decision_function(X), atol=1e-9)
    if columns != "auto":
        other = AutoSVC(columns=columns).fit(pd.DataFrame(X), hidden)
        assert_allclose(other.decision_function(X), model.decision_function(X), atol=1e-9)
    K = UnlabeledKernel().fit(pd.DataFrame(X), hidden).transform(X)
    assert_allclose(K, UnlabeledKernel().fit(X, hidden).transform(X))


def test_wide_rows_with_gaps_are_no_counts():
    X = np.zeros((60, 150))
    X[np.arange(60), np.arange(60)] = 1
    X[0, 0] = np.nan
    assert AutoSVC().fit(X, hide(np.arange(60) % 2, np.arange(20))).predict(X).shape == (60,)


def test_the_score_leaves_rows_without_a_label_out():
    X, y = make_moons(60, noise=0.05, random_state=0)
    hidden = np.where(np.arange(60) < 20, y, -1)
    model = AutoSVC().fit(X, hidden)
    assert model.score(X, hidden) == model.score(X[:20], y[:20])
    with pytest.raises(ValueError, match="needs rows with a label"):
        model.score(X, np.full(60, -1))
    with pytest.raises(ValueError, match="class_weight must be positive"):
        AutoSVC(class_weight={0: -1}).fit(X, hidden)
