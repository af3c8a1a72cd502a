"""Label switching: the transductive SVM of Joachims (ICML 1999).

minimize over f and guess_j in {-1, +1}, j unlabeled, with a fixed number of positive guesses

    1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
              + sum_unlabeled price[guess_j] weight_j max(0, 1 - guess_j f(x_j))

1  The guesses begin by rank: the supervised SVM's highest rows are positive.
2  The price of unlabeled rows rises from next to nothing to C_unlabeled, doubling, so that the
   first guesses do not decide everything. (In the primal form with many rows it grows tenfold,
   because a level takes passes over all rows.) At each level:
3  Train on the labels and the guesses: for given guesses this is an ordinary SVM.
4  Switch two rows of opposite guesses where that lowers the objective at the f at hand, and go
   on with 3. Solving again can only lower it further, so the objective falls with every switch
   of a level, and switching ends.
5  What is better at a low price may be worse at the last: where the first guesses have a lower
   objective there, switch from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from semisvm.engine import Problem, Solution

from ._binary import BinaryProblem
from ._engine import carried, losses_at, primal_objective
from ._rounds import Rounds
from ._shares import PositiveShare, label_by_rank, rank_rows

FIRST_PRICE = 1e-5
ROWS_FOR_FEW_PRICES, FACTOR_OF_MANY = 50_000, 10.0
# Switching at a fixed f promises a gain, and the new optimum has to keep the promise. Where a
# solution shows less than this share of it, its tolerance hides the rest: it is solved again, this
# much more tightly.
KEPT_PROMISE = 0.5
TOL_FACTOR_OF_PROMISES = 0.1
ROUGH_TOL = 0.1
TOL_ON_THE_WAY = 1e-2  # in the primal form: rough solutions rank the rows as well


def switch_labels(
    rounds: Rounds,
    share: PositiveShare,
    C: float,
    C_unlabeled: float,
    most_pairs: int | None = None,
) -> np.ndarray:
    """Guess by rank, then switch at every level of the price; return the guesses."""
    problem = rounds.problem
    is_linear = problem.engine.form == "primal"
    ranked = rank_rows(rounds.decision_values, np.flatnonzero(~problem.is_labeled))
    first = label_by_rank(problem.sign, ranked, share.nearest(problem.weight[ranked]))  # 1
    rounds.label(ranked)
    weight = {s: float(problem.weight[ranked][first[ranked] == s].sum()) for s in (-1, +1)}
    is_many = is_linear and len(first) >= ROWS_FOR_FEW_PRICES
    prices = rising_prices(C_unlabeled, weight, FACTOR_OF_MANY if is_many else 2.0)  # 2
    levels = [Level(problem, C, price, rounds.tol) for price in prices]
    if is_linear:
        rough = max(TOL_ON_THE_WAY, rounds.tol)
        levels[:-1] = [replace(level, tol=rough) for level in levels[:-1]]
    sign = switch_at(rounds, levels[0], first, most_pairs)
    for before, level in pairwise(levels):
        start = carried(rounds.solution, sign * before.box(sign), sign * level.box(sign))
        sign = switch_at(rounds, level, sign, most_pairs, start)
    if are_better(first, sign, rounds, levels[-1]):  # 5
        sign = switch_at(rounds, levels[-1], first, most_pairs)
    return sign


@dataclass(frozen=True)
class Level:
    """The SVM of guesses at one price of the unlabeled rows, which may differ by sign."""

    problem: BinaryProblem
    C: float
    price: dict[int, float]
    tol: float

    def box(self, sign: np.ndarray) -> np.ndarray:
        return self.problem.box(sign, self.C, self.price)

    def svm(self, sign: np.ndarray) -> Problem:
        return self.problem.svm(sign, self.box(sign))

    @property
    def loss(self) -> str:
        return self.problem.engine.loss

    def objective(self, solution: Solution, sign: np.ndarray) -> float:
        return primal_objective(solution, sign, self.box(sign), self.loss)

    def gains(self, solution: Solution, sign: np.ndarray) -> np.ndarray:
        """By how much each row's loss would fall, f as it is, were its guess the other one."""
        margin = sign * solution.decision_values
        own = self.box(sign) * losses_at(margin, self.loss)
        return own - self.box(-sign) * losses_at(-margin, self.loss)


def rising_prices(
    C_unlabeled: float, weight: dict[int, float], factor: float
) -> Iterator[dict[int, float]]:
    """The levels of Joachims: at first both guesses weigh the same, then each price is multiplied.

    `weight` is that of the rows guessed positive and negative; a lone row has one guess only.
    """
    first = {-1: FIRST_PRICE, +1: FIRST_PRICE * (weight[+1] or 1) / (weight[-1] or 1)}
    price = {s: min(first[s], C_unlabeled) for s in (-1, +1)}
    yield price
    while min(price.values()) < C_unlabeled:
        price = {s: min(factor * price[s], C_unlabeled) for s in (-1, +1)}
        yield price


def switch_at(
    rounds: Rounds,
    level: Level,
    sign: np.ndarray,
    most_pairs: int | None = None,
    start: Solution | np.ndarray | None = None,
) -> np.ndarray:
    """Switch at one level until no pair lowers the objective; return the guesses."""
    solution = rounds.solve(level.svm(sign), start, tol=level.tol)  # 3
    objective = level.objective(solution, sign)
    rounds.done(**_named(level.price), switched=0, objective=objective)
    while True:
        gains = level.gains(solution, sign)  # 4
        rows = pairs_that_pay(gains, sign, level, rounds.tol, most_pairs)
        if len(rows) == 0:
            return sign
        switched = sign.copy()
        switched[rows] *= -1
        found = rounds.solve(level.svm(switched), tol=level.tol)
        value = level.objective(found, switched)
        if value > objective - KEPT_PROMISE * gains[rows].sum():
            found = rounds.solve(level.svm(switched), tol=TOL_FACTOR_OF_PROMISES * level.tol)
            value = level.objective(found, switched)
        if value >= objective:
            rounds.solution = solution
            return sign
        sign, solution, objective = switched, found, value
        rounds.label(rows)
        rounds.done(**_named(level.price), switched=len(rows), objective=objective)


def pairs_that_pay(
    gains: np.ndarray, sign: np.ndarray, level: Level, tol: float, most_pairs: int | None
) -> np.ndarray:
    """Rows of disjoint pairs, one of each guess, whose switch lowers the objective; best first.

    With equal prices the gain of a pair is 2 price (slack_p + slack_n - 2), so this is Joachims'
    rule slack_p + slack_n > 2. A pair must gain more than the tolerance can make up.
    """
    guessed = ~level.problem.is_labeled
    best = [rank_rows(gains, np.flatnonzero(guessed & (sign == s)))[:most_pairs] for s in (+1, -1)]
    n_pairs = min(map(len, best))
    positive, negative = (rows[:n_pairs] for rows in best)
    box = level.box(sign)
    pays = gains[positive] + gains[negative] > tol * (box[positive] + box[negative])
    n_paying = n_pairs if pays.all() else int(np.argmin(pays))
    return np.concatenate([positive[:n_paying], negative[:n_paying]])


def are_better(first: np.ndarray, sign: np.ndarray, rounds: Rounds, level: Level) -> bool:
    """Whether the first guesses have a lower objective at the last level than the final ones.

    Each level lowers its own objective, and what is better at a low price may be worse at the last.
    If so, the solution of the first guesses is the last one of `rounds`.
    """
    if (sign == first).all():
        return False
    best = rounds.solution
    objective = level.objective(best, sign)
    # The dual of a rough solution bounds from below what the first guesses can do: mostly that
    # settles it.
    rough = rounds.solve(level.svm(first), tol=max(ROUGH_TOL, rounds.tol))
    if (
        rough.bound < objective
        and level.objective(rounds.solve(level.svm(first)), first) < objective
    ):
        rounds.label(np.flatnonzero(sign != first))
        return True
    rounds.solution = best
    return False


def _named(price: dict[int, float]) -> dict[str, float]:
    return {"price_negative": price[-1], "price_positive": price[+1]}
