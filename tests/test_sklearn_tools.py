"""scikit-learn's tools where some rows have no label: what docs/scikit-learn.md says to write."""

import io

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedGroupKFold,
    cross_val_score,
    learning_curve,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from semisvm import (
    AutoSVC,
    PreferenceClassifier,
    PreferenceSVC,
    SemiSupervisedCalibratedClassifierCV,
    SemiSupervisedSplit,
    SupervisedSVC,
    TransductiveSVC,
    make_labeled_scorer,
)
from semisvm.model_selection import cross_fit

CV = SemiSupervisedSplit()


def cancer(n_labeled=100):
    """Rows to train on, of which few have labels, and rows to test on with all labels."""
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    return X_train, np.where(np.arange(len(y_train)) < n_labeled, y_train, -1), X_test, y_test


def customers(n=300):
    """A table of mixed columns with missing values, and who left; most labels are not known."""
    rng = np.random.default_rng(0)
    plan = rng.choice(["basic", "plus", "pro"], n)
    age = rng.integers(18, 80, n).astype(float)
    calls = rng.poisson(3, n).astype(float)
    left = (plan == "basic") * 1.5 + calls * 0.6 - age * 0.03 + rng.normal(0, 0.5, n) > 1.4
    age[rng.random(n) < 0.1] = np.nan
    table = pd.DataFrame({"plan": plan, "age": age, "calls": calls})
    return table, np.where(np.arange(n) < 120, left.astype(int), -1), left.astype(int)


def test_pipelines_of_columns():
    table, y, truth = customers()
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer(
        [("numbers", numbers, ["age", "calls"]), ("words", OneHotEncoder(), ["plan"])]
    )
    model = make_pipeline(columns, TransductiveSVC()).fit(table, y)
    assert (model.predict(table) == truth).mean() > 0.8
    assert model[-1].n_features_in_ == len(model[:-1].get_feature_names_out()) == 5


@pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy"])
def test_a_search_judges_labeled_rows_and_finds_what_a_search_on_them_finds(scoring):
    X, y, X_test, y_test = cancer()
    pipeline = make_pipeline(StandardScaler(), SupervisedSVC())
    grid = {"supervisedsvc__C": [0.1, 1, 10], "supervisedsvc__gamma": ["scale", 0.01]}
    for search in (
        GridSearchCV(pipeline, grid, cv=CV, scoring=scoring),
        RandomizedSearchCV(pipeline, grid, n_iter=3, cv=CV, scoring=scoring, random_state=0),
    ):
        search.fit(X, y)
        assert not np.isnan(search.cv_results_["mean_test_score"]).any()
        scaler = StandardScaler().fit(X)
        chosen = {name.partition("__")[2]: value for name, value in search.best_params_.items()}
        alone = SVC(**chosen).fit(scaler.transform(X[y != -1]), y[y != -1])
        expected = get_scorer(scoring)(alone, scaler.transform(X_test), y_test)
        assert search.score(X_test, y_test) == pytest.approx(expected, abs=2e-3)


def test_a_labeled_scorer_is_the_scorer_of_the_labeled_rows():
    X, y, _, _ = cancer()
    model = make_pipeline(StandardScaler(), SupervisedSVC()).fit(X, y)
    labeled = y != -1
    for scoring in ("accuracy", "roc_auc", get_scorer("f1")):
        alone = get_scorer(scoring)(model, X[labeled], y[labeled])
        assert make_labeled_scorer(scoring)(model, X, y) == alone
    assert cross_val_score(model, X, y, scoring=make_labeled_scorer("roc_auc")).min() > 0.9
    assert learning_curve(model, X, y, cv=CV, train_sizes=[0.5, 1.0])[2].mean() > 0.9
    with pytest.raises(ValueError, match="scoring must be the name of a scorer"):
        make_labeled_scorer(3)


def test_the_order_of_categories_does_not_matter():
    X, y = load_breast_cancer(return_X_y=True)
    named = pd.Series(pd.Categorical(np.where(y, "yes", "no"), ["yes", "no"]))
    model = make_pipeline(StandardScaler(), SupervisedSVC())
    assert model.fit(X, named).classes_.tolist() == ["no", "yes"]
    assert cross_val_score(model, X, named, scoring="roc_auc").min() > 0.95


def test_groups_stay_on_one_side():
    X, truth = load_digits(return_X_y=True)
    X, truth, groups = X[:600] / 16, truth[:600] % 2, np.arange(600) // 20
    y = np.where(np.arange(600) % 3 == 0, truth, -1)
    cv = SemiSupervisedSplit(StratifiedGroupKFold(5, shuffle=True, random_state=0))
    assert cross_val_score(SupervisedSVC(), X, y, groups=groups, cv=cv).min() > 0.75
    for train, test in cv.split(X, y, groups):
        assert not set(groups[train]) & set(groups[test])


def test_calibrated_probabilities():
    X, y, X_test, y_test = cancer()
    pipeline = make_pipeline(StandardScaler(), TransductiveSVC())
    model = SemiSupervisedCalibratedClassifierCV(pipeline).fit(X, y)
    labeled = y != -1
    fitted = FrozenEstimator(pipeline.fit(X[labeled][:60], y[labeled][:60]))
    later = CalibratedClassifierCV(fitted).fit(X[labeled][60:], y[labeled][60:])
    of_a_constant = brier_score_loss(y_test, np.full(len(y_test), y_test.mean()))
    for calibrated in (model, later):
        chance = calibrated.predict_proba(X_test)[:, 1]
        assert brier_score_loss(y_test, chance) < of_a_constant / 2


def test_importances_say_what_is_noise():
    table, y, _ = customers()
    table["noise"] = np.random.default_rng(1).normal(size=len(table))
    model = AutoSVC(random_state=0).fit(table, y)
    scoring = make_labeled_scorer("roc_auc")
    found = permutation_importance(model, table, y, scoring=scoring, n_repeats=3, random_state=0)
    assert table.columns[found.importances_mean.argmin()] == "noise"


def test_a_target_around_any_classifier():
    X, y, _, _ = cancer()
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = PreferenceClassifier(pipeline, min_precision=0.95, random_state=0).fit(X, y)
    assert model.operating_point_.reached
    assert_array_equal(np.isnan(model.out_of_fold_scores_), y == -1)
    own = make_pipeline(StandardScaler(), SupervisedSVC())
    assert_array_equal(np.isnan(cross_fit(own, X, y, random_state=0)), y == -1)
    with pytest.raises(ValueError, match="counts the marker of unlabeled rows, -1, as a class"):
        cross_fit(pipeline, X, y)


def test_joblib_keeps_a_model():
    X, y, X_test, _ = cancer()
    for model in (
        AutoSVC(random_state=0),
        make_pipeline(StandardScaler(), PreferenceSVC(min_precision=0.8, random_state=0)),
    ):
        file = io.BytesIO()
        joblib.dump(model.fit(X, y), file)
        file.seek(0)
        loaded = joblib.load(file)
        assert_allclose(loaded.decision_function(X_test), model.decision_function(X_test))


def test_polars_frames():
    polars = pytest.importorskip("polars")
    table, y, truth = customers()
    labels = polars.Series([None if label == -1 else ["stays", "leaves"][label] for label in y])
    model = AutoSVC(random_state=0).fit(polars.from_pandas(table), labels)
    assert model.classes_.tolist() == ["leaves", "stays"]
    predicted = model.predict(polars.from_pandas(table))
    assert (predicted == np.where(truth, "leaves", "stays")).mean() > 0.8


def test_texts():
    rng = np.random.default_rng(0)
    words = {0: ["invoice", "meeting", "report", "budget"], 1: ["prize", "winner", "free", "click"]}
    both = ["please", "today", "new", "team", "now"]
    truth = rng.integers(0, 2, 240)
    texts = [" ".join([*rng.choice(words[k], 2), *rng.choice(both, 5)]) for k in truth.tolist()]
    y = np.where(np.arange(240) < 24, truth, -1)
    pipeline = make_pipeline(TfidfVectorizer(), SupervisedSVC(kernel="linear"))
    for model in (pipeline, AutoSVC(random_state=0)):
        assert (model.fit(texts, y).predict(texts) == truth).mean() > 0.9
