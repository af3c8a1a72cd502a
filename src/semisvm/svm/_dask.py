"""Rows of a Dask array or data frame: linear SVMs in the primal form, by sums over partitions.

`DaskProblem` is to these rows what `BinaryProblem` is to rows in memory, but nothing has an entry
per row. So a guess is not an array. Two guesses are worth switching exactly when the row guessed
negative has the higher score, at any prices of the two classes, and switching all pairs that pay is
labeling by rank. A guess is then a function of the last model and one number,

    positive where  <w, x> + bias >= line,

the line being the quantile of the scores that leaves the share of positives above it
(`engine.primal.ranks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from semisvm.engine import Formula, Solution
from semisvm.engine.dask_rows import read_dask
from semisvm.engine.primal.ranks import (
    ClassPenalties,
    RankPenalties,
    count_changed,
    count_classes,
    labeled_places,
    score_quantile,
    weigh_classes,
    weigh_unlabeled,
)
from semisvm.engine.primal.rows import Rows
from semisvm.engine.problem import PrimalProblem
from semisvm.labels import Labels

from ._binary import Pair, pairs_of
from ._engine import Engine
from ._rounds import Rounds
from ._shares import PositiveShare
from ._switching import FACTOR_OF_MANY, FIRST_PRICE, ROUGH_TOL, TOL_ON_THE_WAY

FEW_LABELED_NUMBERS = 1 << 23  # labeled rows with no more numbers are gathered in memory
MOST_TURNS_PER_PRICE = 20

Guess = tuple[np.ndarray, float, float]  # w, bias, line


def learn_from_dask(svm: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Set what an estimator learns from Dask rows."""
    is_primal = svm._takes_dask and svm.kernel == "linear" and svm.solver != "dual"
    if not is_primal or svm._why_not_primal() is not None:
        raise ValueError(
            "Dask rows need SupervisedSVC, or TransductiveSVC with algorithm='switch', with"
            " kernel='linear' and solver='auto' or 'primal'. If the rows fit into memory, pass them"
            " as an array."
        )
    rows, labels = read_dask(X, y, sample_weight, svm.unlabeled)
    n_of_class = rows.sum_over(count_classes, labels.n_classes).astype(int)
    if not n_of_class.all():
        name = labels.classes.tolist()[n_of_class.argmin()]
        raise ValueError(f"No row of class {name!r} has a positive sample_weight.")
    svm.classes_, svm.n_features_in_ = labels.classes, rows.n_features
    if rows.feature_names is not None:
        svm.feature_names_in_ = np.asarray(rows.feature_names, dtype=object)
    cost = svm._class_cost(labels.classes, n_of_class)
    engine = Engine(
        svm.tol, svm.max_iter, "cpu", svm.cache_size, svm.verbose, form="primal", loss=svm.loss
    )
    pairs = pairs_of(labels.n_classes, svm.multi_class)
    fits = [svm._fit_binary(DaskProblem(rows, labels, pair, cost, engine)) for pair in pairs]
    svm._set_model(Formula("linear"), fits)


@dataclass(frozen=True)
class DaskProblem:
    """Two classes on Dask rows, whose codes are with them.

    rows    the rows, their class codes and their weights
    labels  the classes
    cost    (K,) what multiplies C for the rows of each class
    """

    rows: Rows
    labels: Labels
    pair: Pair
    cost: np.ndarray
    engine: Engine
    is_in_memory = False

    @property
    def name(self) -> str:
        return self.pair.name(self.labels.classes)

    @property
    def is_labeled(self) -> np.ndarray:
        """Nothing has an entry per row."""
        return np.empty(0, dtype=bool)

    @cached_property
    def weight_of_class(self) -> np.ndarray:
        """(K,) the weight of the labeled rows of each class."""
        return self.rows.sum_over(weigh_classes, len(self.cost))

    @cached_property
    def labeled_rows(self) -> Rows:
        """The labeled rows, in memory where they are few."""
        n_labeled = self.rows.sum_over(count_classes, len(self.cost)).sum()
        is_few = n_labeled * self.rows.n_features <= FEW_LABELED_NUMBERS
        return self.rows.gather(labeled_places) if is_few else self.rows

    def prices(self, C: float) -> ClassPenalties:
        """What labeled rows are charged."""
        return ClassPenalties(self.pair.positive, self.pair.negative, C * self.cost)

    def supervised(self, C: float) -> PrimalProblem:
        """The SVM of the labeled rows."""
        return PrimalProblem(self.labeled_rows, self.prices(C), self.engine.loss)

    def labeled_share(self) -> tuple[float, int]:
        """The share of positives among the labeled rows, and how many rows these are."""
        others = [k for k in range(len(self.cost)) if k != self.pair.positive]
        if self.pair.negative is not None:
            others = [self.pair.negative]
        classes = np.array([self.pair.positive, *others])
        counts = self.rows.sum_over(count_classes, len(self.cost))[classes]
        weight = self.weight_of_class[classes]
        return float(weight[0] / weight.sum()), int(counts.sum())

    def predicted_share(self, found: Solution) -> float:
        """The share of the unlabeled rows that an SVM calls positive; NaN where there are none."""
        edges = np.array([-np.inf, -found.bias, np.inf])
        below, above = self.rows.sum_over(weigh_unlabeled, found.w, edges)
        return float(above / (above + below)) if above + below > 0 else float("nan")

    def guessed(self, guess: Guess, C: float, C_unlabeled: float) -> PrimalProblem:
        """The SVM of all rows, those without a label on the side of the line that they are on."""
        rest = np.delete(self.cost, self.pair.positive).mean()
        negative = rest if self.pair.negative is None else self.cost[self.pair.negative]
        of_sign = C_unlabeled * self.cost[self.pair.positive], C_unlabeled * negative
        prices = RankPenalties(self.prices(C), *guess, *of_sign)
        return PrimalProblem(self.rows, prices, self.engine.loss)


class RankSwitching:
    """Label switching by rank; see the module's docstring, and `_switching` for the prices."""

    def __init__(self, rounds: Rounds, share: PositiveShare, C: float, C_unlabeled: float):
        self.rounds = rounds
        self.problem = rounds.problem
        self.share = share
        self.C = C
        self.C_unlabeled = C_unlabeled

    def run(self) -> None:
        """Guess by rank, then take turns at every price up to the last one."""
        rounds = self.rounds
        first = self._guess()
        price = FIRST_PRICE * self.C_unlabeled
        while price < self.C_unlabeled * (1 - 1e-9):
            self._switch_at(price, self._guess(), max(TOL_ON_THE_WAY, rounds.tol))
            price *= FACTOR_OF_MANY
        last = self._switch_at(self.C_unlabeled, self._guess(), rounds.tol)
        if not self._differ(first, last):
            return
        # Each price lowers its own objective: the first guesses may have a lower one at the last.
        best = rounds.solution
        svm = self.problem.guessed(first, self.C, self.C_unlabeled)
        rough = rounds.solve(svm, tol=ROUGH_TOL)
        if rough.bound < best.objective and rounds.solve(svm).objective < best.objective:
            self._switch_at(self.C_unlabeled, first, rounds.tol)
        else:
            rounds.solution = best

    def _guess(self) -> Guess:
        found = self.rounds.solution
        line = score_quantile(self.problem.rows, found.w, found.bias, 1 - self.share.value)
        return found.w, found.bias, line

    def _switch_at(self, price: float, guess: Guess, tol: float) -> Guess:
        """Take turns between the SVM and its guesses at one price until no guess changes."""
        for _ in range(MOST_TURNS_PER_PRICE):
            svm = self.problem.guessed(guess, self.C, price)
            found = self.rounds.solve(svm, tol=tol)
            self.rounds.done(objective=found.objective, price=price)
            before, guess = guess, self._guess()
            if not self._differ(before, guess):
                return before
        return guess

    def _differ(self, one: Guess, other: Guess) -> bool:
        return bool(self.problem.rows.sum_over(count_changed, *one, *other)[0] > 0)
