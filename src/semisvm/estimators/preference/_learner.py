"""What the preference methods require of a classifier, and the two kinds of classifiers that they
can use.

    train(sign, share, sequence) -> (n,) decision values of all n rows

    sign      (n,) in {-1, 0, +1}: the rows with sign != 0 are trained on, each with its sign
    share     (n,) in [0, 1]: row i counts for this share of its own price
    sequence  the name of a sequence of trainings, each of which starts from the one before: "all",
              ("fold", 0, 3)

`SvmLearner` is the support vector machine on shared kernel rows. The price of a row is C times its
weight if the user labeled it, and C_unlabeled times its weight if the method did. The first
training of a sequence starts from the newest solution of "all": out-of-fold SVMs differ from it
by a few rows. `ClassifierLearner` trains any classifier of scikit-learn, from the beginning each
time.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from semisvm.estimators.progress import RoundRecord, Watch
from semisvm.estimators.rounds import EndedEarlyError, Rounds
from semisvm.machines import Problem, Solution, hinge_problem
from semisvm.sklearn_private import safe_indexing

ALL_LABELS = "all"  # the sequence of models that are trained on every label
SMALLEST_PROBABILITY = 1e-300  # so that log-odds stay finite

TrainingCall = tuple[np.ndarray, np.ndarray, Hashable]  # sign, share, sequence


class Learner:
    """A classifier that is trained again and again on the same rows; see the module's docstring.

    model    what was trained last in the sequence "all", with everything that predictions need
    n_iter   the work so far: solver steps of the SVM, trainings of other classifiers
    trains_at_once   whether trainings that are independent of each other are faster all at once
    """

    model: Any = None
    n_iter: int = 0
    trains_at_once: bool = False

    def train(self, sign: np.ndarray, share: np.ndarray, sequence: Hashable) -> np.ndarray:
        """Train once; return the decision values of all rows."""
        raise NotImplementedError

    def train_many(self, trainings: Sequence[TrainingCall]) -> Iterable[np.ndarray]:
        """Train several times, each independent of the others, when the values are asked for."""
        return (self.train(*training) for training in trainings)

    def done(self, **details: Any) -> None:
        """Close a round with its record; by default it is not kept."""


class SvmLearner(Learner):
    """The support vector machine of one binary task."""

    def __init__(self, rounds: Rounds, C: float, C_unlabeled: float):
        task = rounds.task
        self.rounds = rounds
        self.kernel = task.kernel
        is_given = task.sign != 0
        self.price = {
            s: task.weight * np.where(is_given, C, C_unlabeled * task.cost_of[s]) for s in (-1, +1)
        }
        self.newest: dict[Hashable, Solution] = {}
        # A batch needs memory for the kernel rows of each problem's block where K is not there as a
        # whole.
        self.trains_at_once = getattr(self.kernel, "is_whole", False)

    @property
    def model(self) -> Solution:  # type: ignore[override]
        return self.newest[ALL_LABELS]

    @property
    def n_iter(self) -> int:  # type: ignore[override]
        return self.rounds.n_iter

    def train(self, sign: np.ndarray, share: np.ndarray, sequence: Hashable) -> np.ndarray:
        return self._note(
            sequence, self.rounds.solve(self._problem(sign, share), start=self._start(sequence))
        )

    def train_many(self, trainings: Sequence[TrainingCall]) -> Iterator[np.ndarray]:
        """Train several times; on a device they are one batch."""
        problems = [self._problem(sign, share) for sign, share, _ in trainings]
        sequences = [sequence for *_, sequence in trainings]
        solutions = self.rounds.solve_many(problems, [self._start(name) for name in sequences])
        return map(self._note, sequences, solutions)

    def _note(self, sequence: Hashable, found: Solution) -> np.ndarray:
        self.newest[sequence] = found
        return found.decision_values

    def _problem(self, sign: np.ndarray, share: np.ndarray) -> Problem:
        box = share * np.where(sign > 0, self.price[+1], self.price[-1])
        return hinge_problem(self.kernel, sign, box)

    def _start(self, sequence: Hashable) -> Solution | None:
        return self.newest.get(sequence, self.newest.get(ALL_LABELS))

    def done(self, **details: Any) -> None:
        self.rounds.done(**details)


class ClassifierLearner(Learner):
    """Any classifier with decision_function or predict_proba, for one class against the rest.

    weight   (n,) the user's sample weights, or None
    price    (n,) the weight of each row at a share of 1
    watch    is notified of each training and round; where it asks to stop, the round is the last,
             and `done` raises EndedEarlyError

    A classifier that takes no sample_weight is trained on a row of share s if the row's own random
    number is below s: the same rows take part for the same share, and on average as much weight
    takes part.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        weight: np.ndarray | None,
        price: np.ndarray,
        random_state: np.random.RandomState,
        watch: Watch,
        *,
        problem: str,
        is_last: bool = False,
        n_jobs: int | None = None,
    ):
        self.n_jobs = n_jobs
        self.watch = watch
        self.is_last = is_last
        self.takes_weight = has_fit_parameter(estimator, "sample_weight")
        if weight is not None and not self.takes_weight:
            raise ValueError(f"{type(estimator).__name__} takes no sample_weight: leave it out.")
        self.estimator = estimator
        self.X = X
        self.price = price if weight is None else price * weight
        self.lot = None if self.takes_weight else random_state.uniform(size=len(price))
        self.problem = problem
        self.began = time.perf_counter()
        self.n_iter = 0
        self.history: list[RoundRecord] = []

    def train(self, sign: np.ndarray, share: np.ndarray, sequence: Hashable) -> np.ndarray:
        return self._keep(sequence, *self._fit_and_score(sign, share))

    def train_many(self, trainings: Sequence[TrainingCall]) -> list[np.ndarray]:
        """Train in several independent sequences, in parallel as joblib is set up."""
        calls = (delayed(self._fit_and_score)(sign, share) for sign, share, _ in trainings)
        fitted = Parallel(self.n_jobs, return_as="generator")(calls)
        return [
            self._keep(sequence, *found)
            for (*_, sequence), found in zip(trainings, fitted, strict=True)
        ]

    def _keep(self, sequence: Hashable, model: Any, scores: np.ndarray) -> np.ndarray:
        if sequence == ALL_LABELS:
            self.model = model
        self.n_iter += 1
        self.is_last |= self.watch.look(self.n_iter)
        return scores

    def _fit_and_score(self, sign: np.ndarray, share: np.ndarray) -> tuple[Any, np.ndarray]:
        price = share * self.price
        in_use = (sign != 0) & (price > 0)
        if self.lot is not None:
            in_use &= self.lot < price
        rows = np.flatnonzero(in_use)
        weights = (
            {"sample_weight": price[rows]} if self.takes_weight and (price[rows] != 1).any() else {}
        )
        with np.errstate(over="ignore", invalid="ignore"):  # of checks that add up huge numbers
            model = clone(self.estimator).fit(
                safe_indexing(self.X, rows), (sign[rows] > 0).astype(int), **weights
            )
            return model, scores_of_classifier(model, self.X)

    def done(self, **details: Any) -> None:
        seconds = time.perf_counter() - self.began
        record = RoundRecord(
            self.problem, len(self.history), self.n_iter, seconds=seconds, details=details
        )
        self.history.append(record)
        if self.watch.round_done(record) or self.is_last:
            raise EndedEarlyError


@np.errstate(over="ignore", invalid="ignore")  # scores that are not finite are refused
def scores_of_classifier(model: Any, X: Any) -> np.ndarray:
    """Decision values of a two-class model; log-odds where it has probabilities only."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    probability = np.maximum(model.predict_proba(X), SMALLEST_PROBABILITY)
    return np.log(probability[:, 1]) - np.log(probability[:, 0])
