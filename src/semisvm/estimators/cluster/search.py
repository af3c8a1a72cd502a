"""How many clusters, and which C: cross-validation on the labeled rows, inside a fit.

    for each fold of labeled rows
        hide their labels; they stay among the rows, unlabeled
        for each number of clusters: label all rows from the labels that are left
            for each C, rising: train, from the solution of the C before; count hidden rows that are predicted right

The pair with most hidden rows right, counted by their weights, is chosen; of equals the fewest clusters and then the
smallest C. Kernel rows and eigenvectors are made once for all of it, and clusters once for each set of features. A
class with a single label is never hidden, so that every fold knows every class; with one label in every class there is
nothing to hide. Each training has max_iter steps for itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.dual import Status
from semisvm.estimators.cluster.labels import ClusterLabeler
from semisvm.estimators.labeling import Labeler
from semisvm.estimators.problem import TrainingProblem
from semisvm.estimators.progress import Watch
from semisvm.kernels import KernelRows

N_FOLDS = 5
# Values of the paper's reproduction: linear machines in many dimensions want a small C, others do not.
LINEAR_C = (0.001, 0.003, 0.01, 0.03, 0.1, 1.0, 10.0)
OTHER_C = (0.1, 1.0, 10.0, 100.0)
N_CLUSTERS = (5, 10, 20, 50)
SEARCH_TOL = 1e-2  # a hundredth of the margin: no more is needed to count predictions


@dataclass(frozen=True)
class ClusterChoice:
    """What was chosen; `results` has one record per pair tried, `ended_by` says what ended the search early."""

    n_clusters: int | None
    C: float
    results: list[dict[str, Any]]
    ended_by: Status | None = None


class _SearchEndedError(Exception):
    """A limit was reached or a callback asked to stop."""

    def __init__(self, status: Status):
        super().__init__(status)
        self.status = status


def deal_folds(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A fold for each labeled row, -1 for rows that are never hidden; every class is spread over the folds."""
    fold = np.full(len(codes), -1)
    n_dealt = 0
    for code in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        if len(rows) > 1:
            fold[rows] = (n_dealt + np.arange(len(rows))) % N_FOLDS
            n_dealt += len(rows)
    return fold


def choose_clusters(
    labeler: ClusterLabeler,
    trainer: "Trainer",
    numbers: Sequence[int | None],
    values: Sequence[float],
    rng: np.random.Generator,
) -> ClusterChoice:
    """Cross-validate every number of clusters with every C.

    Ctrl-C, the time limit or a callback ends the search with the best pair so far.
    """
    codes, weight = labeler.labels.codes, labeler.weight
    fold = deal_folds(codes, rng)
    untried = ClusterChoice(min(numbers, key=lambda k: k or 0), float(min(values, key=lambda C: abs(np.log(C)))), [])
    if (fold < 0).all():
        return untried
    results: list[dict[str, Any]] = []
    ended_by = None
    try:
        for k in numbers:
            right = np.zeros(len(values))
            for held_out in np.unique(fold[fold >= 0]):
                hidden = fold == held_out
                predicted = trainer.predict(labeler.label(np.where(hidden, -1, codes), k))
                right += (predicted[:, hidden] == codes[hidden]) @ weight[hidden]
            accuracy = right / weight[fold >= 0].sum()
            results += [
                {"n_clusters": k, "C": float(C), "accuracy": share}
                for C, share in zip(values, accuracy.tolist(), strict=True)
            ]
    except KeyboardInterrupt:
        if not results:
            raise
        ended_by = Status.INTERRUPTED
    except _SearchEndedError as reason:
        ended_by = reason.status
    if not results:
        return ClusterChoice(untried.n_clusters, untried.C, [], ended_by)
    best = max(results, key=lambda result: result["accuracy"])  # the first of equals
    return ClusterChoice(best["n_clusters"], best["C"], results, ended_by)


class Trainer:
    """Trains on a labeling with every C; folds often come to the same labeling, which is trained on once."""

    def __init__(self, problem: TrainingProblem, kernel: KernelRows, watch: Watch, values: Sequence[float]):
        self.problem, self.kernel, self.watch, self.values = problem, kernel, watch, values
        self.seen: dict[bytes, np.ndarray] = {}

    def predict(self, guess: np.ndarray) -> np.ndarray:
        """The class that each C predicts for each row, shape (n_values, n)."""
        key = guess.tobytes()
        if key not in self.seen:
            self.seen[key] = np.stack(list(self._predictions(guess)))
        return self.seen[key]

    def _predictions(self, guess: np.ndarray) -> Iterator[np.ndarray]:
        problem, limits = self.problem, self.problem.limits
        labeler = Labeler(problem, self.kernel, self.watch)
        box_of_C1 = problem.weight * problem.costs.price(guess)
        for C in self.values:
            labeler.solve(guess, C * box_of_C1, tol=max(limits.tol, SEARCH_TOL), max_iter=limits.max_iter)
            if labeler.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if labeler.status in (Status.TIME_LIMIT, Status.STOPPED):
                raise _SearchEndedError(labeler.status)
            yield labeler.codes
