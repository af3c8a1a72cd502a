"""After `compile_all` no fit compiles anything."""

import subprocess
import sys

PROGRAM = """
import warnings
import numpy as np
import pandas as pd
from numba.core.event import install_recorder
from scipy import sparse
import semisvm
from semisvm.decision import Target
from semisvm.decision.audit import resample, resampled_values
from semisvm.estimators.auto.trees import grow_forest, grow_leaf_shares
from semisvm.estimators.compilation import compile_all

warnings.simplefilter("ignore")
compile_all()
rng = np.random.default_rng(0)


def fit(X, is_positive, name="SupervisedSVC", **settings):
    y = np.where(np.arange(X.shape[0]) < n_labeled, is_positive.astype(int), -1)
    getattr(semisvm, name)(**settings).fit(X, y).predict(X)


with install_recorder("numba:compile") as recorder:
    n_labeled = 4500
    sizes = (200, 5), (1500, 5), (4500, 3), (1500, 100)
    for (n, d), form in zip(sizes, (np.asarray, sparse.csr_matrix, np.asarray, np.asarray)):
        X = rng.normal(size=(n, d))
        fit(form(X), X[:, 0] > 0)
    whole = rng.integers(0, 9, (2100, 5))
    fit(sparse.csr_matrix(whole, dtype=float), whole[:, 0] > 4)
    for dtype in (np.float32, np.float64):
        X = rng.normal(size=(4500, 8)).astype(dtype)
        fit(sparse.csr_matrix(X), X[:, 0] > 0, kernel="linear")
        X, n_labeled = X[:300], 40
        for kernel in ("linear", "rbf", "poly"):
            fit(X, X[:, 0] > 0, kernel=kernel)
            fit(sparse.csr_matrix(X), X[:, 0] > 0, kernel=kernel)
        n_labeled = 4500
    n_labeled = 40
    for name in ("PreferenceSVC", "TransductiveSVC", "LaplacianSVC", "ProgressiveSVC", "LabelMeanSVC", "ClusterSVC"):
        fit(X, X[:, 0] > 0, name)
    many = rng.normal(size=3000)
    resampled_values(many, many > 0, resample(many > 0, 100, rng), Target())
    grow_leaf_shares(X)
    for is_random in (False, True):
        trees, shares, _ = grow_forest(X, (X[:, 0] > 0).astype(int), np.ones(300), 2, n_trees=400, per_cut=2, is_random=is_random)
        trees.sums(X, shares)
    table = pd.DataFrame(X, columns=list("abcdefgh")).assign(kind=np.where(X[:, 1] > 0, "p", "q"))
    for rows in (X, table):
        fit(rows, X[:, 0] > 0, "AutoSVC")
print(sorted({event.data["dispatcher"].py_func.__name__ for _, event in recorder.buffer}))
"""


def test_after_compiling_everything_fits_compile_nothing():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=500, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
