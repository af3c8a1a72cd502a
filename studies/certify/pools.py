"""Pools with known truth: scores of a cheap model, and the label of every row.

SUPG's     imagenet, onto and tacred, as their project publishes them (`pools/*.csv.xz` of the data
           folder). Campaigns were developed on these.
circles    MAPIE's example: 5,000 rows of two noisy circles, an RBF SVM of 200 labels
tables     public tables that no part of the campaign was developed on: scikit-learn's digits and
           breast cancer, and sets of the data folder. A logistic regression of 200 random labels
           gives the probabilities. A set of more classes is one class against the rest; "rare"
           keeps one positive in five.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_digits, make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from semisvm import SupervisedSVC
from studies.data import load

N_TRAIN = 200
MOST_ROWS = 8_000  # of a pool
SUPG_POOLS = ("imagenet", "onto", "tacred")
# Name of the pool: data set, positive class (None: the larger label), and whether it is rare.
TABLES = {
    "texture 4, rare": ("texture_full", 4, True),
    "ijcnn1, rare": ("ijcnn1", None, True),
    "optdigits 3, rare": ("optdigits_full", 3, True),
    "texture 2": ("texture_full", 2, False),
    "ijcnn1": ("ijcnn1", None, False),
    "sat 4": ("sat_full", 4, False),
    "digits 8": ("digits", 8, False),
    "optdigits 8": ("optdigits_full", 8, False),
    "breast cancer": ("breast cancer", None, False),
    "krvskp": ("krvskp", None, False),
    "adult": ("adult", None, False),
    "mnist odd": ("mnist", None, False),
}


class Pool(NamedTuple):
    """The score of each row by a cheap model, between 0 and 1, and its label, 1 or 0."""

    name: str
    scores: np.ndarray
    truth: np.ndarray


def supg_pools() -> Iterator[Pool]:
    """Yield SUPG's three pools."""
    for name in SUPG_POOLS:
        table = pd.read_csv(Path(os.environ["SEMISVM_DATA"]) / "pools" / f"{name}.csv.xz")
        yield Pool(name, table["proxy_score"].to_numpy(), table["label"].to_numpy().astype(int))


def circles(seed: int) -> Pool:
    """Return MAPIE's example; probabilities are those that a campaign takes margins for."""
    X, y = make_circles(n_samples=5000 + N_TRAIN, noise=0.3, factor=0.3, random_state=seed)
    model = SupervisedSVC(C=1.0).fit(X[:N_TRAIN], y[:N_TRAIN])
    margins = model.decision_function(X[N_TRAIN:])
    return Pool("circles", expit(2 * margins), y[N_TRAIN:])


def table_pool(name: str, seed: int) -> Pool:
    """Return the pool of a public table, by a model of 200 other rows."""
    source, positive, is_rare = TABLES[name]
    X, y = _rows_of(source)
    truth = (y == (y.max() if positive is None else positive)).astype(int)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(truth))
    if is_rare:
        rows = rows[(truth[rows] == 0) | (rng.random(len(rows)) < 0.2)]
    n_train = min(N_TRAIN, len(rows) // 4)
    train = rows[:n_train]
    pool = rows[n_train : n_train + MOST_ROWS]
    scaler = StandardScaler(with_mean=not hasattr(X, "tocsr")).fit(X[train])
    model = LogisticRegression(max_iter=300).fit(scaler.transform(X[train]), truth[train])
    return Pool(name, model.predict_proba(scaler.transform(X[pool]))[:, 1], truth[pool])


def _rows_of(source: str):
    if source == "digits":
        return load_digits(return_X_y=True)
    if source == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return X, 1 - y  # malignant is positive
    data = load(source)
    return data.X, data.y
