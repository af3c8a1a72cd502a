"""Label switching: the transductive SVM of Joachims (ICML 1999).

    minimize over f and guess_j in {-1, +1}, j unlabeled, with a fixed number of positive guesses

        1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                  + sum_unlabeled price[guess_j] weight_j max(0, 1 - guess_j f(x_j))

The guesses begin by rank: the supervised SVM's highest rows are positive. For given guesses this is
an ordinary SVM. Two rows of opposite guesses are switched when that lowers the objective at the f
at hand; solving again can only lower it further, so within a level of the price the objective falls
with every switch, and switching ends. The penalty (price) of unlabeled rows is raised from next to
nothing to C_unlabeled, doubling, so that the first guesses do not decide everything; in the primal
form with many rows it grows tenfold, because a level takes passes over all rows.

Rows that are not in memory have no state of their own (`StreamedSwitching`). A pair of guesses is
worth switching exactly when the row guessed negative has the higher score, at any prices of the two
classes, so switching all pairs that pay is labeling by rank. A guess is then a function of the last
model and one number,

    positive where  <w, x> + bias >= line,

the line being the quantile of the scores that leaves the share of positives above it
(`primal.ranks`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from semisvm.dual import DualSolution
from semisvm.estimators.binary import BinaryTask, Pair
from semisvm.estimators.class_shares import (
    PositiveShare,
    label_by_rank,
    rank_rows,
    share_of_labels,
    unlabeled_rows,
)
from semisvm.estimators.rounds import Rounds
from semisvm.estimators.streams import StreamRounds
from semisvm.machines import (
    LinearRows,
    Problem,
    Solution,
    hinge_problem,
    losses_at,
    primal_objective,
)
from semisvm.primal.problem import ClassPrices, PrimalSolution
from semisvm.primal.ranks import (
    RankPrices,
    count_changed,
    score_quantile,
    weigh_classes,
    weigh_unlabeled,
)

FIRST_PRICE = 1e-5
ROWS_FOR_FEW_PRICES, FACTOR_OF_MANY = 50_000, 10.0
# Switching at a fixed f promises a gain, and the new optimum has to keep the promise. Where a
# solution shows less than this share of it, its tolerance hides the rest: it is solved again, this
# much more tightly.
KEPT_PROMISE = 0.5
TOL_FACTOR_OF_PROMISES = 0.1
ROUGH_TOL = 0.1
TOL_ON_THE_WAY = 1e-2
MOST_TURNS_PER_PRICE = 20  # of rows out of memory

Guess = tuple[np.ndarray, float, float]  # of rows out of memory: w, bias, line


@dataclass(frozen=True)
class Level:
    """What slack costs at one price of the unlabeled rows, under either sign."""

    task: BinaryTask
    C: float
    price: dict[int, float]
    tol: float | None = None  # the tolerance here; None: that of the user

    def box(self, sign: np.ndarray) -> np.ndarray:
        """The price of a unit of slack of each row, were its sign this."""
        task = self.task
        guessed = np.where(
            sign > 0, self.price[+1] * task.cost_of[+1], self.price[-1] * task.cost_of[-1]
        )
        return task.weight * np.where(task.sign != 0, self.C, guessed)

    @property
    def record(self) -> dict[str, float]:
        return {"price_negative": self.price[-1], "price_positive": self.price[+1]}

    def problem(self, sign: np.ndarray) -> Problem:
        return hinge_problem(self.task.kernel, sign, self.box(sign))

    def objective(self, solution: Solution, sign: np.ndarray) -> float:
        return primal_objective(solution, sign, self.box(sign), self.task.loss)

    def gains(self, solution: Solution, sign: np.ndarray) -> np.ndarray:
        """By how much each row's loss would fall, f as it is, were its guess the other one."""
        margin = sign * solution.decision_values
        loss = self.task.loss
        return self.box(sign) * losses_at(margin, loss) - self.box(-sign) * losses_at(-margin, loss)


class SwitchMachine:
    """Label switching on one binary task; pairs_per_round None switches all pairs that pay."""

    def __init__(
        self, task: BinaryTask, C: float, C_unlabeled: float, pairs_per_round: int | None = None
    ):
        self.task = task
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.pairs_per_round = pairs_per_round

    def supervised(self) -> Problem:
        """The labeled rows alone."""
        return hinge_problem(self.task.kernel, self.task.sign, self.C * self.task.weight)

    def use_unlabeled(self, rounds: Rounds, share: PositiveShare) -> None:
        """Guess by rank, then switch at every level of the price."""
        first = sign = guess_share(self.task, rounds.decision_values, share)
        is_unlabeled = self.task.sign == 0
        rounds.label(is_unlabeled)
        weight = {s: float(self.task.counts[is_unlabeled & (sign == s)].sum()) for s in (-1, +1)}
        is_linear = isinstance(self.task.kernel, LinearRows)
        factor = FACTOR_OF_MANY if is_linear and len(sign) >= ROWS_FOR_FEW_PRICES else 2.0
        levels = [
            Level(self.task, self.C, price)
            for price in rising_prices(self.C_unlabeled, weight, factor)
        ]
        if is_linear:
            # On the way to the last price, which starts from what they leave, rough solutions rank
            # the rows as well.
            rough = max(TOL_ON_THE_WAY, rounds.tol)
            levels[:-1] = [replace(level, tol=rough) for level in levels[:-1]]
        sign = switch_at(rounds, levels[0], sign, self.pairs_per_round)
        for before, level in pairwise(levels):
            start = _raised(rounds.solution, sign, before, level)
            sign = switch_at(rounds, level, sign, self.pairs_per_round, start)
        if are_better(first, sign, rounds, levels[-1]):
            switch_at(rounds, levels[-1], first, self.pairs_per_round)


def guess_share(task: BinaryTask, decision_values: np.ndarray, share: PositiveShare) -> np.ndarray:
    """The signs, +1 for that share of the unlabeled rows by rank and weight, -1 for the others."""
    ranked = rank_rows(decision_values, unlabeled_rows(task.sign))
    return label_by_rank(task.sign, ranked, share.nearest(task.counts[ranked]))


def rising_prices(
    C_unlabeled: float, weight: dict[int, float], factor: float = 2.0
) -> Iterator[dict[int, float]]:
    """The levels of Joachims: at first both guesses weigh the same, then each price doubles.

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
    pairs_per_round: int | None = None,
    start: Solution | np.ndarray | None = None,
) -> np.ndarray:
    """Switch at one level until no pair lowers the objective; return the guesses."""
    solution = rounds.solve(level.problem(sign), start=start, tol=level.tol)
    objective = level.objective(solution, sign)
    rounds.guess = sign
    rounds.done(**level.record, switched=0, objective=objective)
    while True:
        gains = level.gains(solution, sign)
        rows = pairs_that_pay(gains, sign, level, rounds.tol, pairs_per_round)
        if len(rows) == 0:
            return sign
        switched = sign.copy()
        switched[rows] *= -1
        found, value = _solve_to_below(
            rounds, level, switched, objective - KEPT_PROMISE * gains[rows].sum()
        )
        if value >= objective:
            rounds.go_back(solution)
            return sign
        sign = switched
        solution = found
        objective = value
        rounds.guess = sign
        rounds.label(rows)
        rounds.done(**level.record, switched=len(rows), objective=objective)


def _raised(
    solution: Solution, sign: np.ndarray, before: Level, level: Level
) -> Solution | np.ndarray:
    """A start for the next level: coefficients at a bound go to the new bound."""
    if isinstance(solution, PrimalSolution):
        if solution.beta is None:
            return solution
        at_bound = np.abs(solution.beta) >= before.box(sign)
        return replace(solution, beta=np.where(at_bound, sign * level.box(sign), solution.beta))
    assert isinstance(solution, DualSolution)
    return np.where(solution.beta == sign * before.box(sign), sign * level.box(sign), solution.beta)


def are_better(first: np.ndarray, sign: np.ndarray, rounds: Rounds, level: Level) -> bool:
    """Whether the first guesses have a lower objective at the last level than the final ones.

    Each level lowers its own objective, and what is better at a low price may be worse at the last.
    """
    if (sign == first).all():
        return False
    solution = rounds.solution
    objective = level.objective(solution, sign)
    # The dual of a rough solution bounds from below what the first guesses can do: mostly that
    # settles it.
    rough = rounds.solve(level.problem(first), tol=max(ROUGH_TOL, rounds.tol))
    rounds.go_back(solution)  # what counts, should the fit end here
    if rough.bound >= objective:
        return False
    if level.objective(rounds.solve(level.problem(first), start=rough), first) >= objective:
        rounds.go_back(solution)
        return False
    rounds.label(np.flatnonzero(sign != first))
    return True


def pairs_that_pay(
    gains: np.ndarray, sign: np.ndarray, level: Level, tol: float, most_pairs: int | None
) -> np.ndarray:
    """Rows of disjoint pairs, one of each guess, whose switch lowers the objective; best first.

    With equal prices the gain of a pair is 2 price (slack_p + slack_n - 2), so this is Joachims'
    rule slack_p + slack_n > 2. A pair must gain more than the tolerance can make up.
    """
    unlabeled = level.task.sign == 0
    best = [
        _most_gaining(gains, np.flatnonzero(unlabeled & (sign == s)), most_pairs) for s in (+1, -1)
    ]
    n_pairs = min(map(len, best))
    positive, negative = (rows[:n_pairs] for rows in best)
    box = level.box(sign)
    pays = gains[positive] + gains[negative] > tol * (box[positive] + box[negative])
    n_paying = n_pairs if pays.all() else int(np.argmin(pays))
    return np.concatenate([positive[:n_paying], negative[:n_paying]])


def _most_gaining(gains: np.ndarray, rows: np.ndarray, most: int | None) -> np.ndarray:
    return rows[np.argsort(-gains[rows], kind="stable")][:most]


def _solve_to_below(rounds: Rounds, level: Level, sign, promised: float) -> tuple[Solution, float]:
    solution = rounds.solve(level.problem(sign), tol=level.tol)
    objective = level.objective(solution, sign)
    if objective > promised:
        solution = rounds.solve(
            level.problem(sign), tol=TOL_FACTOR_OF_PROMISES * (level.tol or rounds.tol)
        )
        objective = level.objective(solution, sign)
    return solution, objective


class StreamedSwitching:
    """Label switching of one binary problem on rows that are not in memory."""

    def __init__(self, rounds: StreamRounds, pair: Pair, C: float, C_unlabeled: float):
        self.rounds = rounds
        self.C_unlabeled = C_unlabeled
        self.problem = problem = rounds.problem
        self.labeled = ClassPrices(pair.positive, pair.negative, C * problem.price)
        rest = [code for code in range(problem.labels.n_classes) if code != pair.positive]
        others = rest if pair.negative is None else [pair.negative]
        self.classes = [pair.positive, *others]
        self.cost_of = {
            +1: float(problem.price[pair.positive]),
            -1: float(np.mean(problem.price[others])),
        }

    def settle_share(self, asked: Any) -> PositiveShare:
        """Set the share of positives for `positive_fraction`, by the SVM of the labeled rows."""
        problem = self.problem
        found = self.rounds.solution
        weight = problem.labeled_rows().sum_over(weigh_classes, problem.labels.n_classes)[
            self.classes
        ]
        n_labeled = int(problem.n_of_class[self.classes].sum())
        share = share_of_labels(asked, float(weight[0] / weight.sum()), n_labeled)
        if asked != "estimated":
            return share
        edges = np.array([-np.inf, -found.bias, np.inf])
        below, above = problem.rows.sum_over(weigh_unlabeled, found.w, edges)
        return share.toward(float(above / (above + below))) if above + below > 0 else share

    def use_unlabeled(self, share: PositiveShare) -> None:
        """Guess by rank, find a way to the last price, and switch there."""
        first = self._guess(share)
        self.approach(share)
        last = self._switch_at(self.C_unlabeled, share)
        # Each price lowers its own objective: the first guesses may have a lower one at the last.
        if not self._differ(first, last):
            return
        rounds, best, prices = (
            self.rounds,
            self.rounds.solution,
            self._prices_of(first, self.C_unlabeled),
        )
        rough = rounds.solve_prices(prices, tol=ROUGH_TOL)
        rounds.go_back(best)
        if rough.bound < best.objective:
            full = rounds.solve_prices(prices)
            rounds.go_back(best)
            if full.objective < best.objective:
                self._switch_at(self.C_unlabeled, share, guess=first)

    def approach(self, share: PositiveShare) -> None:
        """Switch at prices that rise to the last one, which is not among them."""
        price = FIRST_PRICE * self.C_unlabeled
        while price < self.C_unlabeled * (1 - 1e-9):
            self._switch_at(price, share, tol=TOL_ON_THE_WAY)
            price *= FACTOR_OF_MANY

    def _guess(self, share: PositiveShare) -> Guess:
        w = self.rounds.solution.w
        bias = self.rounds.solution.bias
        return w, bias, score_quantile(self.problem.rows, w, bias, 1 - share.value)

    def _switch_at(
        self, price: float, share: PositiveShare, tol: float = 0.0, guess: Guess | None = None
    ) -> Guess:
        """Take turns between the SVM and its guesses at one price until no guess changes."""
        guess = self._guess(share) if guess is None else guess
        for _ in range(MOST_TURNS_PER_PRICE):
            found = self.rounds.solve_prices(self._prices_of(guess, price), tol=tol)
            self.rounds.done(objective=found.objective, price=price)
            before = guess
            guess = self._guess(share)
            if not self._differ(before, guess):
                return before
        return guess

    def _prices_of(self, guess: Guess, price: float) -> RankPrices:
        return RankPrices(self.labeled, *guess, price * self.cost_of[+1], price * self.cost_of[-1])

    def _differ(self, one: Guess, other: Guess) -> bool:
        return bool(self.problem.rows.sum_over(count_changed, *one, *other)[0] > 0)
