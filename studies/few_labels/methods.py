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

from semisvm import AutoSVC, TransductiveSVC

PRICES = [1.0, 10.0, 100.0, 0.1]  # of two that are as good, the first is taken
Scores = Callable[[Any, np.ndarray, Any], np.ndarray]


def auto_svc(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    """Ours; it prepares columns and texts itself."""
    return AutoSVC(random_state=0).fit(X, y).decision_function(new)


def auto_svc_on_arrays(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    """Ours, given the numbers of a table as an array."""
    return auto_svc(X.to_numpy(), y, new.to_numpy())


def _supervised(make: Callable[[int], Any]) -> Scores:
    def scores(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
        rows, new_rows = as_matrices(X, new)
        is_labeled = y >= 0
        fewest = int(np.bincount(y[is_labeled]).min())
        return _scores_of(make(fewest).fit(rows[is_labeled], y[is_labeled]), new_rows)

    return scores


def _semi_supervised(model: Any) -> Scores:
    def scores(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
        rows, new_rows = as_matrices(X, new)
        return _scores_of(model.fit(rows, y), new_rows)

    return scores


def tuned(model: Any, scoring: str = "average_precision") -> Callable[[int], Any]:
    """A search for C, by folds that so many labels of the rarest class allow."""

    def make(fewest: int) -> Any:
        if fewest < 2:
            return model
        folds = StratifiedKFold(min(5, fewest), shuffle=True, random_state=0)
        return GridSearchCV(model, {"C": PRICES}, cv=folds, scoring=scoring)

    return make


BALANCED_LOGISTIC = LogisticRegression(class_weight="balanced", max_iter=2000)
METHODS: dict[str, Scores] = {
    "AutoSVC": auto_svc,
    "AutoSVC, array": auto_svc_on_arrays,
    "SVC": _supervised(tuned(SVC())),
    "logistic regression": _supervised(tuned(BALANCED_LOGISTIC)),
    "SVD + logistic regression": lambda X, y, new: _latent_logistic(X, y, new),
    "random forest": _supervised(
        lambda _: RandomForestClassifier(500, min_samples_leaf=2, random_state=0)
    ),
    "extra trees": _supervised(
        lambda _: ExtraTreesClassifier(500, min_samples_leaf=2, random_state=0)
    ),
    "gradient boosting": _supervised(
        lambda _: HistGradientBoostingClassifier(min_samples_leaf=5, random_state=0)
    ),
    "LabelSpreading": _semi_supervised(LabelSpreading("knn", n_neighbors=7)),
    "SelfTrainingClassifier": _semi_supervised(
        SelfTrainingClassifier(CalibratedClassifierCV(SVC(), ensemble=False, cv=2))
    ),
    "TransductiveSVC": _semi_supervised(TransductiveSVC(kernel="linear")),
}


def fits(method: str, X: Any) -> bool:
    """Whether a method is for rows of this kind."""
    if not isinstance(X, pd.DataFrame):
        return method not in ("AutoSVC, array", "gradient boosting")  # which takes no sparse rows
    has_numbers_only = X.shape[1] == X.select_dtypes("number").shape[1]
    return method != "SVD + logistic regression" and (
        method != "AutoSVC, array" or has_numbers_only
    )


def _latent_logistic(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    rows, new_rows = as_matrices(X, new)
    directions = TruncatedSVD(min(100, min(rows.shape) - 1), random_state=0).fit(rows)
    is_labeled = y >= 0
    model = tuned(BALANCED_LOGISTIC)(int(np.bincount(y[is_labeled]).min()))
    model.fit(directions.transform(rows[is_labeled]), y[is_labeled])
    return _scores_of(model, directions.transform(new_rows))


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


def _scores_of(model: Any, rows: Any) -> np.ndarray:
    if hasattr(model, "decision_function"):
        return model.decision_function(rows)
    # rows that no label reaches by LabelSpreading have no probability
    return np.nan_to_num(model.predict_proba(rows)[:, 1], nan=0.5) - 0.5
