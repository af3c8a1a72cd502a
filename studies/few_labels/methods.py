"""The classifiers that are compared, each from rows, labels and new rows to scores of the new rows.

All see the same rows. Those that can't use unlabeled rows see the labeled ones; columns are
standardized, and words counted, with all rows. Settings are the usual ones; regularization is
chosen by cross-validation where scikit-learn offers that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from semisvm import AutoSVC

PRICES = [1.0, 10.0, 100.0, 0.1]  # of two that are as good, the first is taken
Scores = Callable[[Any, np.ndarray, Any], np.ndarray]


def auto_svc(X: Any, y: np.ndarray, new: Any, **settings: Any) -> np.ndarray:
    """Ours; it prepares columns and texts itself."""
    return AutoSVC(random_state=0, **settings).fit(X, y).decision_function(new)


def _supervised(make: Callable[[int], Any]) -> Scores:
    def scores(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
        rows, new_rows = _as_matrices(X, new)
        is_labeled = y >= 0
        fewest = int(np.bincount(y[is_labeled]).min())
        return _scores_of(make(fewest).fit(rows[is_labeled], y[is_labeled]), new_rows)

    return scores


def _semi_supervised(model: Any) -> Scores:
    def scores(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
        rows, new_rows = _as_matrices(X, new)
        return _scores_of(model.fit(rows, y), new_rows)

    return scores


def _tuned(model: Any) -> Callable[[int], Any]:
    def make(fewest: int) -> Any:
        if fewest < 2:
            return model
        folds = StratifiedKFold(min(5, fewest), shuffle=True, random_state=0)
        return GridSearchCV(model, {"C": PRICES}, cv=folds, scoring="average_precision")

    return make


METHODS: dict[str, Scores] = {
    "AutoSVC": auto_svc,
    "SVC": _supervised(_tuned(SVC())),
    "logistic regression": _supervised(
        _tuned(LogisticRegression(class_weight="balanced", max_iter=2000))
    ),
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
}
NOT_FOR_TEXT = ("gradient boosting",)  # it takes no sparse rows


def _as_matrices(X: Any, new: Any) -> tuple[Any, Any]:
    if isinstance(X, pd.DataFrame):
        scaler = StandardScaler().fit(X)
        return scaler.transform(X), scaler.transform(new)
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5).fit(X)
    return words.transform(X), words.transform(new)


def _scores_of(model: Any, rows: Any) -> np.ndarray:
    if hasattr(model, "decision_function"):
        return model.decision_function(rows)
    return np.nan_to_num(
        model.predict_proba(rows)[:, 1], nan=0.5
    )  # rows that no label reaches by LabelSpreading
