"""How many clusters, and which C: cross-validation on the labeled rows, inside a fit.

    for each fold of labeled rows
        hide their labels; they stay among the rows, unlabeled
        for each number of clusters: label all rows from the labels that are left
            for each C, rising: train, from the solution of the C before; count hidden rows that are predicted right

The pair with most hidden rows right is chosen, of equals the fewest clusters and then the smallest C. Kernel rows and
eigenvectors are made once for all of it, and clusters once for each set of features. A class with a single label is
never hidden, so that every fold knows every class; with one label in every class there is nothing to hide.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.dual import Status
from semisvm.estimators.labeling import classes_of, solve_labeling
from semisvm.estimators.multiclass import Pair

N_FOLDS = 5
# Values of the paper's reproduction: linear machines in many dimensions want a small C, others do not.
LINEAR_C = (0.001, 0.003, 0.01, 0.03, 0.1, 1.0, 10.0)
OTHER_C = (0.1, 1.0, 10.0, 100.0)
N_CLUSTERS = (5, 10, 20, 50)
SEARCH_TOL = 1e-2  # a hundredth of the margin: no more is needed to count predictions


@dataclass(frozen=True)
class Choice:
    """What was chosen; `results` has a record for each pair tried, `interrupted` tells of Ctrl-C during the search."""

    n_clusters: int | None
    C: float
    results: list[dict[str, Any]]
    interrupted: bool = False


def deal_folds(codes, rng) -> np.ndarray:
    """A fold for each labeled row, -1 for rows that are never hidden; every class is spread over the folds."""
    fold = np.full(len(codes), -1)
    n_dealt = 0
    for code in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        if len(rows) > 1:
            fold[rows] = (n_dealt + np.arange(len(rows))) % N_FOLDS
            n_dealt += len(rows)
    return fold


def choose(labeler, tasks: list[Pair], numbers, values, cost_of_C1, multi_class: str, settings, rng) -> Choice:
    """Cross-validate every number of clusters with every C; `labeler.label(codes, k)` gives all rows a class.

    cost_of_C1(codes) is the cost of each row at C = 1. Ctrl-C ends the search with the best so far.
    """
    codes = labeler.labels.codes
    fold = deal_folds(codes, rng)
    if (fold < 0).all():
        return Choice(min(numbers, key=lambda k: k or 0), float(min(values, key=lambda C: abs(np.log(C)))), [])
    train = _Trainer(labeler, tasks, values, cost_of_C1, multi_class, settings)
    results: list[dict[str, Any]] = []
    interrupted = False
    try:
        for k in numbers:
            n_right = np.zeros(len(values), dtype=int)
            for held_out in np.unique(fold[fold >= 0]):
                hidden = fold == held_out
                predicted = train(labeler.label(np.where(hidden, -1, codes), k))
                n_right += (predicted[:, hidden] == codes[hidden]).sum(axis=1)
            n_hidden = int((fold >= 0).sum())
            results += [
                {"n_clusters": k, "C": float(C), "accuracy": right / n_hidden}
                for C, right in zip(values, n_right.tolist(), strict=True)
            ]
    except KeyboardInterrupt:
        if not results:
            raise
        interrupted = True
    best = max(results, key=lambda result: result["accuracy"])  # the first of equals
    return Choice(best["n_clusters"], best["C"], results, interrupted)


class _Trainer:
    """Trains on a labeling with every C; folds often come to the same labeling, which is trained on once."""

    def __init__(self, labeler, tasks: list[Pair], values, cost_of_C1, multi_class: str, settings):
        self.labeler, self.tasks, self.values, self.cost_of_C1 = labeler, tasks, values, cost_of_C1
        self.multi_class, self.settings = multi_class, settings | {"tol": max(settings["tol"], SEARCH_TOL)}
        self.seen: dict[bytes, np.ndarray] = {}

    def __call__(self, guess) -> np.ndarray:
        """The class that each C predicts for each row, shape (n_values, n)."""
        key = guess.tobytes()
        if key not in self.seen:
            self.seen[key] = np.stack(list(self._predictions(guess)))
        return self.seen[key]

    def _predictions(self, guess):
        found, cost = None, self.cost_of_C1(guess)
        for C in self.values:
            found = solve_labeling(self.labeler.kernel, self.tasks, guess, C * cost, found, **self.settings)
            if any(solution.status is Status.INTERRUPTED for solution in found):
                raise KeyboardInterrupt
            yield classes_of(found, self.labeler.labels.n_classes, self.multi_class)
