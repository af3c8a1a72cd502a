"""What a kernel matrix that all cells of a grid search share is worth, by estimator.

`GridSearchCV` over three values of C and two of gamma in three folds, with `gamma` in the grid and
with one `SharedKernel` for each gamma, by turns. Printed are medians of processor seconds.

    python -m studies.speed.shared_kernel
    python -m studies.speed.shared_kernel --rows 2000 --columns 50 --repeats 3
"""

from __future__ import annotations

import argparse
import time
import warnings
from statistics import median
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from semisvm import (
    LaplacianSVC,
    PositiveUnlabeledSVC,
    PreferenceSVC,
    SemiSupervisedKFold,
    TransductiveSVC,
)
from semisvm.kernels import SharedKernel
from studies.harness.tables import markdown_table
from studies.speed.runs import machine_line
from studies.speed.threads import make_rows

CS = (0.1, 1.0, 10.0)
FACTORS = (0.3, 3.0)  # of gamma="auto"
ESTIMATORS = (
    TransductiveSVC(),
    PreferenceSVC(min_precision=0.7, random_state=0),
    LaplacianSVC(),
    PositiveUnlabeledSVC(random_state=0),
)


def search(estimator: Any, grid: dict[str, Any], X: np.ndarray, y: np.ndarray) -> float:
    """Return the processor seconds of a search."""
    is_positives_only = isinstance(estimator, PositiveUnlabeledSVC)
    labels = np.where(y == 1, 1, -1) if is_positives_only else y
    cv = 3 if is_positives_only else SemiSupervisedKFold(3)
    began = time.process_time()
    GridSearchCV(estimator, grid, cv=cv, refit=False).fit(X, labels)
    return time.process_time() - began


def main() -> None:
    """Run the searches and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_200)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = make_rows(options.rows, options.columns)
    gammas = [factor / X.shape[1] for factor in FACTORS]
    print(machine_line())
    lines = []
    for estimator in ESTIMATORS:
        estimator.fit(X, np.where(y == 0, -1, y) if "Positive" in str(estimator) else y)  # warm up
        apart, shared = [], []
        for _ in range(options.repeats):
            apart.append(search(estimator, {"C": CS, "gamma": gammas}, X, y))
            kernels = [SharedKernel(X, gamma=gamma) for gamma in gammas]
            shared.append(search(estimator, {"C": CS, "kernel": kernels}, X, y))
        name = type(estimator).__name__
        lines.append([name, f"{median(apart):.2f}", f"{median(shared):.2f}"])
    print(markdown_table(["estimator", "gamma in the grid", "SharedKernel"], lines))


if __name__ == "__main__":
    main()
