"""Pools of rows with scores and truth, by name."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from studies.data import load

# name: (set, the classes that are positive, the precision to promise). None of these was used to
# choose how campaigns plan.
HELD_BACK = {
    "adult": ("adult", [1], 0.7),
    "ijcnn1": ("ijcnn1", [1], 0.7),
    "mnist, odd": ("mnist", [1], 0.9),
    "protein": ("protein", [1], 0.6),
    "krvskp": ("krvskp", [1], 0.95),
    "optdigits, 8": ("optdigits_full", [8], 0.9),
    "optdigits, even": ("optdigits_full", [0, 2, 4, 6, 8], 0.9),
    "sat, gray soils": ("sat_full", [3, 4, 7], 0.9),
    "sat, 4": ("sat_full", [4], 0.6),
    "texture, 2 to 6": ("texture_full", [2, 3, 4, 5, 6], 0.95),
    "usps": ("ssl-usps", [1], 0.8),
    "digit1": ("ssl-digit1", [1], 0.95),
}
N_TRAINING = 200
LARGEST = 10_000


def _csv(folder: str, name: str) -> pd.DataFrame:
    return pd.read_csv(Path(os.environ["SEMISVM_DATA"]) / folder / f"{name}.csv.xz")


@cache
def machine_labels(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels by a machine, its confidences, and the truth: a set of the PAC labeling project."""
    frame = _csv("pac", name)
    return (
        frame["given"].astype(str).to_numpy(),
        frame["confidence"].to_numpy(),
        frame["label"].astype(str).to_numpy(),
    )


@cache
def scored(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and truth (0, 1): logistic regression on 200 rows scores up to 10,000 others."""
    of, positive, _ = HELD_BACK[name]
    data = load(of)
    rows = np.random.default_rng(0).permutation(np.flatnonzero(data.y != -1))
    X = data.X.toarray() if hasattr(data.X, "toarray") and data.X.shape[1] < 1000 else data.X
    y = np.isin(data.y, positive).astype(int)
    fit, pool = rows[:N_TRAINING], rows[N_TRAINING : N_TRAINING + LARGEST]
    scale = StandardScaler(with_mean=not hasattr(X, "toarray"))
    model = make_pipeline(scale, LogisticRegression(C=0.1, max_iter=2000)).fit(X[fit], y[fit])
    return model.predict_proba(X[pool])[:, 1], y[pool]
