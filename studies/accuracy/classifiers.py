"""The classifiers that are compared, each from rows, labels and new rows to scores of the new rows.

All see the same rows. Those that can't use unlabeled rows see the labeled ones. Numbers are imputed
and standardized, categories one-hot encoded, and words counted (TF-IDF), with all rows. Settings
are the usual ones; regularization is chosen by cross-validation where scikit-learn offers that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

PRICES = [1.0, 10.0, 100.0, 0.1]  # of two that are as good, the first is taken
Scores = Callable[[Any, np.ndarray, Any], np.ndarray]
LOGISTIC = LogisticRegression(class_weight="balanced", max_iter=2000)
BUSHY = {"min_samples_leaf": 2, "random_state": 0}


def auto_svc(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    """Ours; it prepares columns and texts itself."""
    from semisvm import AutoSVC

    return AutoSVC(random_state=0).fit(X, y).decision_function(new)


def transductive(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    """Ours, a published method."""
    from semisvm import TransductiveSVC

    rows, new_rows = as_matrices(X, new)
    return TransductiveSVC(kernel="linear").fit(rows, y).decision_function(new_rows)


def catboost(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    """CatBoost with its own handling of categories, where it is installed."""
    from catboost import CatBoostClassifier

    if not isinstance(X, pd.DataFrame):
        return supervised(lambda _: CatBoostClassifier(verbose=0, random_seed=0))(X, y, new)
    words = list(X.columns.drop(X.select_dtypes("number").columns))
    X, new = (rows.fillna(dict.fromkeys(words, "")) for rows in (X, new))
    model = CatBoostClassifier(cat_features=words, verbose=0, random_seed=0)
    return scores_of(model.fit(X[y >= 0], y[y >= 0]), new)


def supervised(make: Callable[[int], Any], n_directions: int = 0) -> Scores:
    """A classifier of the labeled rows, made for so many labels of the rarest class."""

    def scores(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
        rows, new_rows = as_matrices(X, new)
        if n_directions:
            svd = TruncatedSVD(min(n_directions, min(rows.shape) - 1), random_state=0).fit(rows)
            rows, new_rows = svd.transform(rows), svd.transform(new_rows)
        is_labeled = y >= 0
        model = make(int(np.bincount(y[is_labeled]).min()))
        return scores_of(model.fit(rows[is_labeled], y[is_labeled]), new_rows)

    return scores


def semi_supervised(model: Any) -> Scores:
    """One of scikit-learn's classifiers that take -1 for no label."""

    def scores(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
        rows, new_rows = as_matrices(X, new)
        return scores_of(model.fit(rows, y), new_rows)

    return scores


def tuned(model: Any) -> Callable[[int], Any]:
    """A search for C, by folds that so many labels of the rarest class allow."""

    def make(fewest: int) -> Any:
        if fewest < 2:
            return model
        folds = StratifiedKFold(min(5, fewest), shuffle=True, random_state=0)
        return GridSearchCV(model, {"C": PRICES}, cv=folds, scoring="average_precision")

    return make


METHODS: dict[str, Scores] = {
    "AutoSVC": auto_svc,
    "SVC": supervised(tuned(SVC())),
    "logistic regression": supervised(tuned(LOGISTIC)),
    "SVD + logistic regression": supervised(tuned(LOGISTIC), n_directions=100),
    "random forest": supervised(lambda _: RandomForestClassifier(500, **BUSHY)),
    "extra trees": supervised(lambda _: ExtraTreesClassifier(500, **BUSHY)),
    "gradient boosting": supervised(
        lambda _: HistGradientBoostingClassifier(min_samples_leaf=5, random_state=0)
    ),
    "CatBoost": catboost,
    "LabelSpreading": semi_supervised(LabelSpreading("knn", n_neighbors=7)),
    "SelfTrainingClassifier": semi_supervised(
        SelfTrainingClassifier(CalibratedClassifierCV(SVC(), ensemble=False, cv=2))
    ),
    "TransductiveSVC": transductive,
}
FOR_TEXTS_ONLY = ("SVD + logistic regression",)
FOR_TABLES_ONLY = ("gradient boosting", "CatBoost")


def as_matrices(X: Any, new: Any) -> tuple[Any, Any]:
    """Rows and new rows as numbers."""
    if isinstance(X, pd.DataFrame):
        numbers = X.select_dtypes("number").columns
        encoder = make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), X.columns.drop(numbers)),
        )
        return encoder.fit_transform(X), encoder.transform(new)
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5).fit(X)
    return words.transform(X), words.transform(new)


def scores_of(model: Any, rows: Any) -> np.ndarray:
    """Decision values, or probabilities minus one half."""
    if hasattr(model, "decision_function"):
        return model.decision_function(rows)
    # rows that no label reaches by LabelSpreading have no probability
    return np.nan_to_num(model.predict_proba(rows)[:, 1], nan=0.5) - 0.5
