"""After `compile_all` a fit compiles nothing."""

import subprocess
import sys

PROGRAM = """
import numpy as np
from numba.core.event import install_recorder
from scipy import sparse
from semisvm import SupervisedSVC
from semisvm.dual.warm import compile_all

assert len(compile_all()) == 12
rng = np.random.default_rng(0)
with install_recorder("numba:compile") as recorder:
    sizes = (200, 5), (1500, 5), (4500, 3), (1500, 100)
    for (n, d), form in zip(sizes, (np.asarray, sparse.csr_matrix, np.asarray, np.asarray)):
        X = rng.normal(size=(n, d))
        SupervisedSVC().fit(form(X), X[:, 0] > 0).decision_function(form(X))
    X = rng.integers(0, 9, (2100, 5))
    SupervisedSVC().fit(sparse.csr_matrix(X, dtype=float), X[:, 0] > 4)
print(sorted({event.data["dispatcher"].py_func.__name__ for _, event in recorder.buffer}))
"""


def test_after_compiling_everything_fits_compile_nothing():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=500, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
