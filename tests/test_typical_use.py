"""Ten scripts of typical use, from end to end, with every warning an error: what people write
around a classifier of scikit-learn works with unlabeled rows, too.
"""

import io

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.metrics import brier_score_loss, get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from semisvm import (
    AutoSVC,
    PreferenceSVC,
    SemiSupervisedCalibratedClassifierCV,
    SemiSupervisedGroupKFold,
    SemiSupervisedKFold,
    SupervisedSVC,
    TransductiveSVC,
    hide,
)
from semisvm.metrics import make_labeled_scorer


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


def test_a_pipeline_with_a_column_transformer():
    table, y, truth = customers()
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "calls"]),
            ("words", OneHotEncoder(), ["plan"]),
        ]
    )
    model = make_pipeline(columns, TransductiveSVC()).fit(table, y)
    assert model.score(table, y) > 0.85
    assert (model.predict(table) == truth).mean() > 0.8
    names = model[:-1].get_feature_names_out()
    assert model[-1].n_features_in_ == len(names) == 5


def test_a_grid_search_over_a_pipeline():
    X, y, X_test, y_test = cancer()
    pipeline = make_pipeline(StandardScaler(), SupervisedSVC())
    grid = {"supervisedsvc__C": [0.1, 1, 10], "supervisedsvc__gamma": ["scale", 0.01]}
    for scoring in ("roc_auc", "balanced_accuracy"):
        search = GridSearchCV(pipeline, grid, cv=SemiSupervisedKFold(3), scoring=scoring).fit(X, y)
        assert not np.isnan(search.cv_results_["mean_test_score"]).any()
        # An SVM of the labeled rows, scaled by all rows, and scikit-learn's scorer of its name.
        scaler = StandardScaler().fit(X)
        chosen = {name.partition("__")[2]: v for name, v in search.best_params_.items()}
        alone = SVC(**chosen).fit(scaler.transform(X[y != -1]), y[y != -1])
        assert_array_equal(search.predict(X_test), alone.predict(scaler.transform(X_test)))
        assert search.score(X_test, y_test) == pytest.approx(
            get_scorer(scoring)(alone, scaler.transform(X_test), y_test), abs=1e-3
        )


def test_calibrated_probabilities():
    X, y, X_test, y_test = cancer()
    pipeline = make_pipeline(StandardScaler(), TransductiveSVC())
    model = SemiSupervisedCalibratedClassifierCV(pipeline).fit(X, y)
    own = make_pipeline(StandardScaler(), SupervisedSVC(probability=True)).fit(X, y)
    # The rows that the fits have not seen are enough for scikit-learn's calibrator.
    is_labeled = y != -1
    fitted = FrozenEstimator(pipeline.fit(X[is_labeled][:60], y[is_labeled][:60]))
    later = CalibratedClassifierCV(fitted).fit(X[is_labeled][60:], y[is_labeled][60:])
    of_a_constant = brier_score_loss(y_test, np.full(len(y_test), y_test.mean()))
    for calibrated in (model, own, later):
        chance = calibrated.predict_proba(X_test)[:, 1]
        assert brier_score_loss(y_test, chance) < of_a_constant / 2
        assert abs(chance.mean() - y_test.mean()) < 0.1


def test_permutation_importance():
    table, y, _ = customers()
    table["noise"] = np.random.default_rng(1).normal(size=len(table))
    model = AutoSVC(random_state=0).fit(table, y)
    for scoring in (None, make_labeled_scorer("roc_auc")):
        found = permutation_importance(
            model, table, y, scoring=scoring, n_repeats=3, random_state=0
        )
        assert table.columns[found.importances_mean.argmin()] == "noise"


def test_shapley_values():
    shap = pytest.importorskip("shap")
    X, y, X_test, _ = cancer()
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X)[:, :6], scaler.transform(X_test)[:20, :6]
    model = SupervisedSVC(kernel="linear").fit(X, y)
    explainer = shap.KernelExplainer(model.decision_function, X[:100])
    values = explainer.shap_values(X_test, silent=True)
    # those of a linear function are known
    assert_allclose(values, (X_test - X[:100].mean(axis=0)) * model.coef_, atol=1e-6)


def test_joblib_keeps_a_model():
    X, y, X_test, _ = cancer()
    for model in (
        make_pipeline(StandardScaler(), SupervisedSVC(probability=True)),
        AutoSVC(random_state=0),
        make_pipeline(StandardScaler(), PreferenceSVC(min_precision=0.8, random_state=0)),
    ):
        file = io.BytesIO()
        joblib.dump(model.fit(X, y), file)
        file.seek(0)
        loaded = joblib.load(file)
        assert_array_equal(loaded.predict(X_test), model.predict(X_test))
        assert_array_equal(loaded.decision_function(X_test), model.decision_function(X_test))


def test_onnx():
    onnxruntime = pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    from semisvm.export import register_converters

    X, y, X_test, _ = cancer()
    model = make_pipeline(StandardScaler(), SupervisedSVC(probability=True)).fit(X, y)
    register_converters()
    graph = skl2onnx.to_onnx(model, X[:1], target_opset=18)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    label, probabilities = session.run(["label", "probabilities"], {"X": X_test})
    assert_array_equal(label, model.predict(X_test))
    assert_allclose(probabilities, model.predict_proba(X_test), atol=1e-6)


def test_polars():
    table, y, truth = customers()
    frame = pl.from_pandas(table)
    labels = pl.Series([None if label == -1 else ["stays", "leaves"][label] for label in y])
    model = AutoSVC(random_state=0).fit(frame, labels)
    assert model.classes_.tolist() == ["leaves", "stays"]
    assert (model.predict(frame) == np.where(truth, "leaves", "stays")).mean() > 0.8
    numbers = pl.DataFrame(load_breast_cancer().data[:200, :4], schema=list("abcd"))
    target = pl.Series(hide(load_breast_cancer().target[:200], np.arange(50)))
    pipeline = make_pipeline(StandardScaler().set_output(transform="polars"), SupervisedSVC())
    assert pipeline.fit(numbers, target).score(numbers, target) > 0.8
    # scikit-learn 1.6 sees no names in the frames of polars 2.
    names = list(getattr(pipeline[0], "feature_names_in_", []))
    assert list(getattr(pipeline[-1], "feature_names_in_", [])) == names


def test_text():
    rng = np.random.default_rng(0)
    words = {0: ["invoice", "meeting", "report", "budget"], 1: ["prize", "winner", "free", "click"]}
    both = ["please", "today", "new", "team", "now"]
    truth = rng.integers(0, 2, 240)
    texts = [
        " ".join([*rng.choice(words[label], 2), *rng.choice(both, 5)]) for label in truth.tolist()
    ]
    y = np.where(np.arange(240) < 24, truth, -1)
    pipeline = make_pipeline(TfidfVectorizer(), SupervisedSVC(kernel="linear")).fit(texts, y)
    auto = AutoSVC(random_state=0).fit(texts, y)
    for model in (pipeline, auto):
        assert (model.predict(texts) == truth).mean() > 0.9
    assert pipeline[-1].coef_.shape == (1, len(pipeline[0].vocabulary_))


def test_groups():
    """Digits of thirty writers: no writer is on both sides of a split."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:600] / 16, truth[:600] % 2
    groups = np.arange(600) // 20
    y = np.where(np.arange(600) % 3 == 0, truth, -1)
    cv = SemiSupervisedGroupKFold(5)
    scores = cross_val_score(SupervisedSVC(), X, y, groups=groups, cv=cv, scoring="accuracy")
    assert scores.min() > 0.8
    search = GridSearchCV(SupervisedSVC(), {"C": [1, 10]}, cv=cv).fit(X, y, groups=groups)
    assert search.best_score_ > 0.85
    for train, test in cv.split(X, y, groups):
        assert not set(groups[train]) & set(groups[test])
