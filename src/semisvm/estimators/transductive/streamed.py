"""Label switching and annealing on rows that are not in memory, without any state per row.

A pair of guesses is worth switching exactly when the row guessed negative has the higher score, at any prices of the
two classes, so switching all pairs that pay is labeling by rank. A guess is then a function of the last model and one
number,

    positive where  <w, x> + bias >= line,

the line being the quantile of the scores that leaves the share of positives above it. The soft labels of annealing are
a function of the last model, the temperature and one level (`primal.ranks` has both). Rows that are not in memory have
fewer prices than rows in memory, each ten times the one before: a price costs passes over all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from semisvm.estimators.binary import BinaryFit, Pair
from semisvm.estimators.class_shares import PositiveShare, share_of_labels
from semisvm.estimators.streams import StreamRounds
from semisvm.estimators.transductive.relaxed import (
    ANNEALING_TOL,
    COOLING,
    FIRST_TEMPERATURE,
    LAST_TEMPERATURE,
    MOST_TURNS,
    SETTLED,
)
from semisvm.estimators.transductive.switching import FACTOR_OF_MANY, FIRST_PRICE, ROUGH_TOL, TOL_ON_THE_WAY
from semisvm.primal import ClassPrices, PrimalSolution
from semisvm.primal.ranks import (
    RankPrices,
    SoftLabels,
    SoftPrices,
    count_changed,
    score_quantile,
    soft_level,
    sum_soft,
    weigh_classes,
    weigh_unlabeled,
)

MOST_TURNS_PER_PRICE = 20

Guess = tuple[np.ndarray, float, float]  # w, bias, line


class StreamedMachine:
    """One binary problem; the outcome of its fit is the share of positives."""

    def __init__(self, rounds: StreamRounds, pair: Pair, C: float, C_unlabeled: float):
        self.rounds, self.C_unlabeled = rounds, C_unlabeled
        self.problem = problem = rounds.problem
        self.labeled = ClassPrices(pair.positive, pair.negative, C * problem.price)
        rest = [code for code in range(problem.labels.n_classes) if code != pair.positive]
        others = rest if pair.negative is None else [pair.negative]
        self.classes = [pair.positive, *others]
        self.cost_of = {+1: float(problem.price[pair.positive]), -1: float(np.mean(problem.price[others]))}

    def run(self, algorithm: str, asked_share: Any) -> BinaryFit:
        problem, share = self.problem, None
        with self.rounds.until_stopped():
            found = self.rounds.solve_prices(self.labeled, problem.labeled_rows())
            share = self._share(asked_share, found)
            self._done(positive_fraction=share.value)
            if problem.n_of_class.sum() < problem.rows.n_rows:
                first = self._guess(share)
                if algorithm == "anneal":
                    self._anneal(share)
                else:
                    for price in self._prices_on_the_way():
                        self._switch_at(price, share, tol=TOL_ON_THE_WAY)
                self._compare_with(first, self._switch_at(self.C_unlabeled, share), share)
        return self.rounds.fit(outcome=share)

    def _done(self, **details: Any) -> None:
        self.rounds.done(objective=self.rounds.solution.objective, **details)

    def _prices_on_the_way(self) -> Iterator[float]:
        price = FIRST_PRICE * self.C_unlabeled
        while price < self.C_unlabeled * (1 - 1e-9):
            yield price
            price *= FACTOR_OF_MANY

    def _guess(self, share: PositiveShare) -> Guess:
        """Labels by rank: the line that leaves the share of positives above it."""
        w, bias = self.rounds.solution.w, self.rounds.solution.bias
        return w, bias, score_quantile(self.problem.rows, w, bias, 1 - share.value)

    def _switch_at(self, price: float, share: PositiveShare, tol: float = 0.0, guess: Guess | None = None) -> Guess:
        """Take turns between the machine and its guesses at one price until no guess changes."""
        guess = self._guess(share) if guess is None else guess
        for _ in range(MOST_TURNS_PER_PRICE):
            self.rounds.solve_prices(self._prices_of(guess, price), tol=tol)
            self._done(price=price)
            before, guess = guess, self._guess(share)
            if not self._differ(before, guess):
                return before
        return guess

    def _prices_of(self, guess: Guess, price: float) -> RankPrices:
        return RankPrices(self.labeled, *guess, price * self.cost_of[+1], price * self.cost_of[-1])

    def _differ(self, one: Guess, other: Guess) -> bool:
        return bool(self.problem.rows.sum_over(count_changed, *one, *other)[0] > 0)

    def _compare_with(self, first: Guess, last: Guess, share: PositiveShare) -> None:
        """Each price lowers its own objective: the first guesses may have a lower one at the last."""
        if not self._differ(first, last):
            return
        best, prices = self.rounds.solution, self._prices_of(first, self.C_unlabeled)
        rough = self.rounds.solve_prices(prices, tol=ROUGH_TOL)
        self.rounds.go_back(best)
        if rough.bound < best.objective:
            full = self.rounds.solve_prices(prices)
            self.rounds.go_back(best)
            if full.objective < best.objective:
                self._switch_at(self.C_unlabeled, share, guess=first)

    def _anneal(self, share: PositiveShare) -> None:
        """Follow the solution of soft labels from a high temperature to a low one."""
        temperature, soft = FIRST_TEMPERATURE, None
        while temperature > LAST_TEMPERATURE:
            for turn in range(MOST_TURNS):
                before, soft = soft, self._soften(temperature, share)
                _, _, change, undecided, total = self.problem.rows.sum_over(sum_soft, soft, before)
                if turn > 0 and change < SETTLED * total:
                    break
                self.rounds.solve_prices(SoftPrices(self.labeled, soft, self.C_unlabeled), tol=ANNEALING_TOL)
                self._done(temperature=temperature, change=change / total, undecided=undecided / total)
            temperature /= COOLING

    def _soften(self, temperature: float, share: PositiveShare) -> SoftLabels:
        found = self.rounds.solution
        soft = SoftLabels(found.w, found.bias, temperature, 0.0, self.cost_of[+1], self.cost_of[-1], self.problem.loss)
        return soft_level(self.problem.rows, soft, share.value)

    def _share(self, asked: Any, found: PrimalSolution) -> PositiveShare:
        problem, classes = self.problem, self.classes
        weight = problem.labeled_rows().sum_over(weigh_classes, problem.labels.n_classes)[classes]
        share = share_of_labels(asked, float(weight[0] / weight.sum()), int(problem.n_of_class[classes].sum()))
        if asked != "estimated":
            return share
        edges = np.array([-np.inf, -found.bias, np.inf])
        below, above = problem.rows.sum_over(weigh_unlabeled, found.w, edges)
        return share.towards(float(above / (above + below))) if above + below > 0 else share
