"""Members from outside: cross-fitted, weighed as families, and used for new rows."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from semisvm import AutoSVC, load, save


class Recorder(ClassifierMixin, BaseEstimator):
    """Logistic regression that notes on which rows it was fitted."""

    fits: ClassVar[list] = []

    def fit(self, X, y):
        self.fits.append(np.asarray(X)[:, 0].tolist())
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def task(n=300, n_labeled=40, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    cuts = np.quantile(X[:, 0] + X[:, 1], np.arange(1, n_classes) / n_classes)
    truth = np.digitize(X[:, 0] + X[:, 1], cuts)
    return X, np.where(np.arange(n) < n_labeled, truth, -1), truth


def test_a_member_is_fitted_without_the_labels_that_it_scores():
    X, y, _ = task()
    Recorder.fits.clear()
    model = AutoSVC(members=[("mine", Recorder())]).fit(X, y)
    *folds, whole = Recorder.fits
    assert sorted(whole) == sorted(X[:40, 0])
    assert [len(fold) for fold in folds] == [32] * 5
    left_out = [set(whole) - set(fold) for fold in folds]
    assert set.union(*left_out) == set(whole)
    assert sum(map(len, left_out)) == 40
    assert set(model.families_) == {"rows", "mine"}
    assert model.weights_["mine"] == model.families_["mine"]
    record = next(record for record in model.history_ if record.problem == "mine")
    assert record.details["weight"] == model.families_["mine"]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_score_is_the_weighted_sum_of_families(n_classes):
    X, y, _ = task(n_classes=n_classes)
    y = np.array(["a", "b", "c", ""])[y]
    member = LogisticRegression()
    model = AutoSVC(members=[("linear", member, 2.0)], threshold="score").fit(X, y)
    share = model.families_["linear"]
    p = member.fit(X[:40], y[:40]).predict_proba(X)
    own = 2 * (p[:, 1] if n_classes == 2 else p) - 1
    ours = model._average.families["rows"].scores({"rows": X})
    ours = ours[:, 0] if n_classes == 2 else ours
    assert_allclose(model.decision_function(X), share * own + (1 - share) * ours)
    assert model.score(X[40:], np.array(["a", "b", "c"])[task(n_classes=n_classes)[2]][40:]) > 0.8


def test_belief_grows_with_what_the_user_says_and_a_strong_source_pays():
    X, y, truth = task(n=400, n_labeled=30)
    noisy = X + np.random.default_rng(1).normal(scale=2.0, size=X.shape)
    rows = np.hstack([noisy, X])  # the source alone reads the last columns
    frame = pd.DataFrame(rows, columns=[f"c{k}" for k in range(8)])
    kinds = {"number": ["c0", "c1", "c2", "c3"]}
    accuracy = []
    shares = []
    source = make_pipeline(
        make_column_transformer(("passthrough", ["c4", "c5"])), LogisticRegression()
    ).fit(frame[100:], truth[100:])
    for belief in (1.0, 10.0):
        model = AutoSVC(columns=kinds, members=[("source", FrozenEstimator(source), belief)]).fit(
            frame, y
        )
        shares.append(model.families_["source"])
        accuracy.append(np.mean(model.transduction_[30:] == truth[30:]))
    alone = AutoSVC(columns=kinds).fit(frame, y)
    assert shares[0] < shares[1]
    assert min(accuracy) > np.mean(alone.transduction_[30:] == truth[30:]) + 0.05
    assert accuracy[1] > 0.9


def test_members_see_rows_as_they_were_given(tmp_path):
    X, y, _ = task()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 2] > 0, "u", "v"))
    member = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b"])), LogisticRegression()
    )
    model = AutoSVC(members=[("two columns", member)], max_rows=150).fit(frame, y)
    assert_allclose(
        model.decision_function(frame[["kind", "d", "c", "b", "a"]][50:60]),
        model.decision_function(frame[50:60]),
    )
    texts = ["good fine day" if label else "bad gray night" for label in task()[2]]
    words = make_pipeline(TfidfVectorizer(), LogisticRegression())
    of_texts = AutoSVC(members=[("words by hand", words)]).fit(texts, y)
    assert of_texts.score(texts[40:], task()[2][40:]) == 1
    plain = AutoSVC(members=[("linear", LogisticRegression())]).fit(X, y)
    save(plain, tmp_path / "model.skops")
    assert_array_equal(
        load(tmp_path / "model.skops").decision_function(X), plain.decision_function(X)
    )


@pytest.mark.parametrize("number", [np.float32, np.float64, np.int64])
def test_the_weight_of_a_member_may_be_a_number_of_numpy(number):
    X, y, _ = task(100)
    member = ("linear", LogisticRegression())
    scores = [
        AutoSVC(members=[(*member, weight)]).fit(X, y).decision_function(X)
        for weight in (2.0, number(2))
    ]
    assert_array_equal(*scores)


@pytest.mark.parametrize("name", ["words", "random forest"])  # families of texts and of tables
def test_the_name_of_a_member_changes_nothing(name):
    X, y, _ = task(100)
    scores = [
        AutoSVC(members=[(other, LogisticRegression())]).fit(X, y).decision_function(X)
        for other in ("mine", name)
    ]
    assert_array_equal(*scores)


def test_a_class_that_a_fold_lacks_and_weights():
    X, y, _ = task(n_labeled=12, n_classes=3)
    y[np.flatnonzero(y == 2)[1:]] = -1
    members = [("trees", ExtraTreesClassifier(10, random_state=0))]
    model = AutoSVC(members=members).fit(X, y, sample_weight=1 + np.arange(len(y)) % 2)
    assert model.predict_proba(X).shape == (300, 3)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ([("a",)], "must hold"),
        ([LogisticRegression()], "must hold"),
        ([("a", LogisticRegression(), 0)], "positive number"),
        ([("a", SVC())], "CalibratedClassifierCV"),
        ([("a", LogisticRegression()), ("a", LogisticRegression())], "Two members"),
        ([("rows", LogisticRegression())], "has a family of that name"),
        (
            [("a", FrozenEstimator(LogisticRegression().fit([[0.0], [1.0]], [5, 6])))],
            "does not know",
        ),
        ([("a", FrozenEstimator(LogisticRegression()))], "has no classes_: fit it before"),
    ],
)
def test_what_is_no_member_is_refused(members, told):
    X, y, _ = task(100)
    with pytest.raises(ValueError, match=told):
        AutoSVC(members=members).fit(X, y)
