"""What the preference methods ask of a classifier, and the two kinds that can be asked.

    train(sign, share, sequence) -> (n,) decision values of all n rows

    sign      (n,) in {-1, 0, +1}: the rows with sign != 0 are trained on, each with its sign
    share     (n,) in [0, 1]: row i counts for this share of its own price
    sequence  a name for a line of trainings, each of which goes on from the one before: "all", ("fold", 3)

`SvmLearner` is the support vector machine on shared kernel rows: a row's own price is C times its weight where the
user labeled it, C_unlabeled times its weight where the method did. A sequence that is new starts from the newest
solution of "all": out-of-fold machines differ from it by a few rows. `ClassifierLearner` trains any classifier of
scikit-learn's from nothing each time.
"""

import time
from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from semisvm.dual import DualProblem, DualSolution
from semisvm.estimators.hinge import hinge_problem
from semisvm.estimators.rounds import Rounds
from semisvm.estimators.watch import print_record
from semisvm.sklearn_private import safe_indexing

ALL = "all"  # the sequence of machines that use every label there is
SMALLEST_PROBABILITY = 1e-300  # so that log-odds stay finite


class Learner(Protocol):
    """See above. `model` is what was trained last in "all", with all it takes to predict; `n_iter`, steps so far."""

    @property
    def model(self) -> Any: ...

    @property
    def n_iter(self) -> int: ...

    def train(self, sign: np.ndarray, share: np.ndarray, sequence: Hashable) -> np.ndarray: ...

    def done(self, **facts: Any) -> dict[str, Any]:
        """Close a round; return its record."""


class SvmLearner:
    """The support vector machine of one binary task, in sequences of warm starts."""

    def __init__(self, rounds: Rounds, C: float, C_unlabeled: float):
        task = rounds.task
        self.rounds, self.kernel = rounds, task.kernel
        self.is_given = task.sign != 0
        self.price = {s: task.weight * np.where(self.is_given, C, C_unlabeled * task.cost_of[s]) for s in (-1, +1)}
        self.newest: dict[Hashable, DualSolution] = {}

    @property
    def model(self) -> DualSolution:
        return self.newest[ALL]

    @property
    def n_iter(self) -> int:
        return self.rounds.n_iter

    def train(self, sign: np.ndarray, share: np.ndarray, sequence: Hashable) -> np.ndarray:
        found = self.rounds.solve(self._problem(sign, share), start=self._start(sequence))
        self.newest[sequence] = found
        return found.decision_values

    def train_many(self, trainings: Sequence[tuple[np.ndarray, np.ndarray, Hashable]]) -> list[np.ndarray]:
        """Trainings in as many sequences, none of which waits for another: on a device they are one batch."""
        problems = [self._problem(sign, share) for sign, share, _ in trainings]
        found = self.rounds.solve_many(problems, [self._start(sequence) for *_, sequence in trainings])
        self.newest |= {sequence: solution for (*_, sequence), solution in zip(trainings, found, strict=True)}
        return [solution.decision_values for solution in found]

    def _problem(self, sign: np.ndarray, share: np.ndarray) -> DualProblem:
        box = share * np.where(sign > 0, self.price[+1], self.price[-1])
        return hinge_problem(self.kernel, sign, box)

    def _start(self, sequence: Hashable) -> DualSolution | None:
        return self.newest.get(sequence, self.newest.get(ALL))

    def done(self, **facts: Any) -> dict[str, Any]:
        self.rounds.done(**facts)
        return self.rounds.history[-1]


class ClassifierLearner:
    """Any classifier with decision_function or predict_proba, for one class against the rest.

    weight   (n,) the user's sample weights, or None;  price (n,) what each row weighs at a share of 1

    Where it takes no sample_weight, a row of share s is trained on if its own random number is below s: the same rows
    stay in for the same share, and in the mean as much weight does.
    """

    def __init__(
        self, estimator, X, weight: np.ndarray | None, price: np.ndarray, random_state, *, problem: str, verbose: bool
    ):
        self.takes_weight = has_fit_parameter(estimator, "sample_weight")
        if weight is not None and not self.takes_weight:
            raise ValueError(f"{type(estimator).__name__} takes no sample_weight: leave it out.")
        self.estimator, self.X = estimator, X
        self.price = price if weight is None else price * weight
        self.lot = None if self.takes_weight else random_state.uniform(size=len(price))
        self.problem, self.verbose = problem, verbose
        self.began, self.n_trained = time.perf_counter(), 0
        self.model: Any = None
        self.n_iter = 0  # nobody counts the steps of a stranger
        self.history: list[dict[str, Any]] = []

    def train(self, sign: np.ndarray, share: np.ndarray, sequence: Hashable) -> np.ndarray:
        price = share * self.price
        in_use = (sign != 0) & (price > 0)
        if self.lot is not None:
            in_use &= self.lot < price
        rows = np.flatnonzero(in_use)
        weights = {"sample_weight": price[rows]} if self.takes_weight and (price[rows] != 1).any() else {}
        model = clone(self.estimator).fit(safe_indexing(self.X, rows), (sign[rows] > 0).astype(int), **weights)
        if sequence == ALL:
            self.model = model
        self.n_trained += 1
        return scores_of(model, self.X)

    def done(self, **facts: Any) -> dict[str, Any]:
        record = {"problem": self.problem, "round": len(self.history)} | facts
        self.history.append(record | {"trainings": self.n_trained, "seconds": time.perf_counter() - self.began})
        if self.verbose:
            print_record(self.problem, self.history[-1])
        return self.history[-1]


def scores_of(model, X) -> np.ndarray:
    """Decision values of a two-class model; of probabilities the log-odds, so that 0 is the even chance."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    probability = np.maximum(model.predict_proba(X), SMALLEST_PROBABILITY)
    return np.log(probability[:, 1]) - np.log(probability[:, 0])
