"""What a fit learns from, its binary problems, and how their scores become classes.

    TrainingSet     the rows of a fit, with classes, weights and costs; the kernel; the engine
    BinaryProblem   two classes as signs, on all of these rows or those of a pair of classes
    BinaryFit       what a method learned from a binary problem
    AllPairs        every binary problem at once, on one labeling of the rows after another

Most methods are written for one `BinaryProblem`. Those that give a row one of *all* the classes
(its cluster's majority, the class of the largest score) use `AllPairs`: solved apart, two binary
problems could claim the same row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from semisvm.engine import Formula, Solution, Status
from semisvm.labels import Labels

from ._engine import Engine


@dataclass(frozen=True)
class Pair:
    """One class against another, or against the rest (negative is None), by their indices."""

    positive: int
    negative: int | None

    def concerns(self, codes: np.ndarray) -> np.ndarray:
        """Which rows take part: all but the rows labeled as a third class."""
        if self.negative is None:
            return np.ones(len(codes), dtype=bool)
        return (codes == self.positive) | (codes == self.negative) | (codes < 0)

    def sign(self, codes: np.ndarray) -> np.ndarray:
        """+1 for the first class, -1 for the second (or the rest), 0 for all other rows."""
        is_negative = codes >= 0 if self.negative is None else codes == self.negative
        return np.where(codes == self.positive, 1.0, np.where(is_negative, -1.0, 0.0))

    def name(self, classes: np.ndarray) -> str:
        """For people: "spam vs rest", "cat vs dog"."""
        rest = "rest" if self.negative is None else classes[self.negative]
        return f"{classes[self.positive]} vs {rest}"


def pairs_of(n_classes: int, multi_class: str) -> list[Pair]:
    """The binary problems of a fit; two classes are one problem whatever the scheme."""
    if n_classes == 2:
        return [Pair(1, 0)]
    if multi_class == "ovr":
        return [Pair(k, None) for k in range(n_classes)]
    # As in scikit-learn a positive score of (i, j) speaks for i, the class that comes first.
    return [Pair(i, j) for i, j in combinations(range(n_classes), 2)]


def combine(scores: np.ndarray, n_classes: int, multi_class: str) -> np.ndarray:
    """Scores of binary problems, (n, n_problems), to decision values, (n,) or (n, n_classes).

    One-vs-one counts votes; the summed scores add less than half a vote, which breaks ties.
    """
    if n_classes == 2:
        return scores[:, 0]
    if multi_class == "ovr":
        return scores
    votes, strength = np.zeros((2, len(scores), n_classes))
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        first_wins = scores[:, k] > 0
        votes[:, i] += first_wins
        votes[:, j] += ~first_wins
        strength[:, i] += scores[:, k]
        strength[:, j] -= scores[:, k]
    return votes + _less_than_half(strength)


def _less_than_half(scores: np.ndarray) -> np.ndarray:
    return scores / (3 * (np.abs(scores) + 1))


def winning_codes(decision: np.ndarray) -> np.ndarray:
    """The class of each row: whether the decision value is above 0, or the largest of several."""
    return (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)


@dataclass(frozen=True)
class TrainingSet:
    """The n rows that a fit learns from.

    X            (n, d)  the rows, or (n, n) the kernel matrix between them
    labels       the classes, and a code for each row, -1 for none
    weight       (n,)    how many rows each row counts for
    class_cost   (K,)    what multiplies C for the rows of each class: costs and class weights
    multi_class  "ovr" or "ovo"
    formula      the kernel with its parameters as numbers
    engine       what the SVMs are solved by
    origin       (n,)    which rows of the user's X these are, by number
    n_given              how many rows the user's X has
    """

    X: Any
    labels: Labels
    weight: np.ndarray
    class_cost: np.ndarray
    multi_class: str
    formula: Formula
    engine: Engine
    origin: np.ndarray
    n_given: int

    @property
    def n_rows(self) -> int:
        return len(self.weight)

    @property
    def pairs(self) -> list[Pair]:
        return pairs_of(self.labels.n_classes, self.multi_class)

    @cached_property
    def rows(self) -> Any:
        """Machine rows of all rows, made once; classes against the rest share them."""
        return self.engine.rows(self.X, self.formula)

    def take(self, rows: np.ndarray) -> TrainingSet:
        """Some of the rows, given as a mask or by number; the kernel is that of all of them."""
        X = self.X[np.ix_(rows, rows)] if self.formula.name == "precomputed" else self.X[rows]
        labels, weight, origin = self.labels.take(rows), self.weight[rows], self.origin[rows]
        return replace(self, X=X, labels=labels, weight=weight, origin=origin)

    def spread(self, values: np.ndarray, blank: float) -> np.ndarray:
        """One number for each of the user's rows: `values` where a row is in use, else `blank`."""
        wide = np.full(self.n_given, blank, dtype=values.dtype)
        wide[self.origin] = values
        return wide

    def price(self, codes: np.ndarray) -> np.ndarray:
        """What multiplies C for each row, were these the classes; 0 where a row has none."""
        return np.where(codes >= 0, self.weight * self.class_cost[codes], 0.0)

    def binary_problems(self) -> Iterator[BinaryProblem]:
        """One after the other; a pair of several classes has its own rows, made when it comes."""
        for pair in self.pairs:
            takes_part = pair.concerns(self.labels.codes)
            part = self if takes_part.all() else self.take(takes_part)
            yield BinaryProblem(
                rows=part.rows,
                sign=pair.sign(part.labels.codes),
                weight=part.weight,
                label_cost=np.where(
                    part.labels.is_labeled, self.class_cost[part.labels.codes], 1.0
                ),
                sign_cost=self._sign_cost(pair),
                name=pair.name(self.labels.classes),
                engine=self.engine,
                takes_part=takes_part,
            )

    def _sign_cost(self, pair: Pair) -> dict[int, float]:
        """What a row without a label costs under either sign; "the rest" at its mean cost."""
        rest = np.delete(self.class_cost, pair.positive).mean()
        negative = rest if pair.negative is None else self.class_cost[pair.negative]
        return {+1: float(self.class_cost[pair.positive]), -1: float(negative)}


@dataclass(frozen=True)
class BinaryProblem:
    """Two classes, as signs, on n rows.

    rows        the machine rows; see `_engine`
    sign        (n,) +1 or -1: the label; 0 where there is none
    weight      (n,) how many rows each row counts for
    label_cost  (n,) what the class of a labeled row costs; 1 for the others
    sign_cost   {-1: cost, +1: cost} of an unlabeled row, once it is given that sign
    takes_part  (n_all,) mask: which rows of the training set these n are
    """

    rows: Any
    sign: np.ndarray
    weight: np.ndarray
    label_cost: np.ndarray
    sign_cost: dict[int, float]
    name: str
    engine: Engine
    takes_part: np.ndarray
    is_in_memory = True

    @property
    def is_labeled(self) -> np.ndarray:
        return self.sign != 0

    def box(
        self, sign: np.ndarray, C: float, C_unlabeled: float | dict[int, float] = 0.0
    ) -> np.ndarray:
        """What a unit of slack of each row costs, were its sign this: C weight cost.

        Costs and weights enter here and nowhere else. `C_unlabeled` may differ by sign.
        """
        of = C_unlabeled if isinstance(C_unlabeled, dict) else dict.fromkeys((-1, +1), C_unlabeled)
        guessed = np.where(sign > 0, of[+1] * self.sign_cost[+1], of[-1] * self.sign_cost[-1])
        return self.weight * np.where(self.is_labeled, C * self.label_cost, guessed)

    def svm(self, sign: np.ndarray, box: np.ndarray) -> Any:
        """The SVM of these signs (0: out of use) and boxes."""
        return self.engine.svm(self.rows, sign, box)

    def supervised(self, C: float) -> Any:
        """The SVM of the labeled rows."""
        return self.svm(self.sign, self.box(self.sign, C))

    def labeled_share(self) -> tuple[float, int]:
        """The share of positives among the labeled rows, and how many rows these are."""
        labeled = self.is_labeled
        share = np.average(self.sign[labeled] > 0, weights=self.weight[labeled])
        return float(share), int(np.count_nonzero(labeled))

    def predicted_share(self, found: Solution) -> float:
        """The share of the unlabeled rows that an SVM calls positive; NaN where there are none."""
        opened = ~self.is_labeled
        weight = self.weight[opened]
        positive = found.decision_values[opened] > 0
        return float(np.average(positive, weights=weight)) if len(weight) else float("nan")


@dataclass(frozen=True)
class BinaryFit:
    """f(x) = sum_i row_beta[i] k(x_i, x) + bias, or <w, x> + bias, on the n rows of a problem.

    row_beta (n,) in the dual form, w (d,) in the primal form; the other one is None
    scores   (n,) f of every row; NaN for rows that take no part; None where rows are elsewhere
    guess    (n,) +1 or -1, the signs that the rows were trained with, where f may disagree
    rounds   (n,) the round in which each row got its sign: 0 for labels, -1 for never
    facts    what else the method found, for the attributes of its estimator
    """

    row_beta: Any
    w: Any
    bias: float
    scores: Any
    gap: float
    n_iter: int
    status: Status
    history: list[dict[str, Any]] = field(default_factory=list)
    guess: Any = None
    rounds: Any = None
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, solution: Solution, **better: Any) -> BinaryFit:
        """A solution as a fit; what the method knows better is in `better`."""
        known = {
            "row_beta": solution.row_beta if solution.w is None else None,
            "w": solution.w,
            "bias": solution.bias,
            "scores": None if solution.scores is None else solution.decision_values,
            "gap": solution.gap,
            "n_iter": solution.n_iter,
            "status": solution.status,
        }
        return cls(**known | better)

    @property
    def is_finite(self) -> bool:
        """Whether all that predictions need are numbers."""
        coefficients = self.w if self.row_beta is None else self.row_beta
        return bool(np.isfinite(coefficients).all() and np.isfinite(self.bias))

    def with_weights(self, X: Any) -> BinaryFit:
        """The same fit of a linear kernel, with one weight per feature."""
        return self if self.w is not None else replace(self, w=X.T @ self.row_beta, row_beta=None)

    def over(self, takes_part: np.ndarray) -> BinaryFit:
        """The same fit on all rows of the training set, of which the mask says which it has."""
        if takes_part.all():
            return self

        def widen(values: np.ndarray | None, blank: float) -> np.ndarray | None:
            if values is None:
                return None
            wide = np.full(len(takes_part), blank, dtype=values.dtype)
            wide[takes_part] = values
            return wide

        return replace(
            self,
            row_beta=widen(self.row_beta, 0.0),
            scores=widen(self.scores, np.nan),
            guess=widen(self.guess, 0.0),
            rounds=widen(self.rounds, -1),
        )


def guessed_codes(fits: list[BinaryFit], n_classes: int, multi_class: str) -> np.ndarray:
    """The class of each row: by the signs it was trained with, else by the scores of f."""
    votes = [
        fit.scores if fit.guess is None else fit.guess + _less_than_half(fit.scores) for fit in fits
    ]
    return winning_codes(combine(np.stack(votes, axis=1), n_classes, multi_class))


class AllPairs:
    """The SVMs of all pairs of classes, trained together on one labeling after another.

    Rows that a pair does not concern (a third class in one-vs-one) have a box of zero width in it,
    so that all pairs, and all labelings, share their machine rows and start from each other's
    solutions.

    found   the solutions of the last labeling, one per pair
    """

    def __init__(self, data: TrainingSet):
        self.data = data
        self.found: list[Solution] = []
        self.n_iter = np.zeros(len(data.pairs), dtype=np.intp)
        self.history: list[dict[str, Any]] = []

    def train(self, codes: np.ndarray, C: float) -> None:
        """Train on a labeling: the class of each row, guessed or given; -1: out of use."""
        box = C * self.data.price(codes)
        svms = [
            self.data.engine.svm(self.data.rows, pair.sign(codes), box) for pair in self.data.pairs
        ]
        self.found = self.data.engine.solve_all(svms, self.found or None)
        self.n_iter += [solution.n_iter for solution in self.found]

    @property
    def codes(self) -> np.ndarray:
        """The class that the last solutions give each row."""
        scores = np.stack([solution.decision_values for solution in self.found], axis=1)
        return winning_codes(combine(scores, self.data.labels.n_classes, self.data.multi_class))

    def done(self, **record: Any) -> None:
        """Close a round with its record."""
        gap = max(solution.gap for solution in self.found)
        objective = sum(solution.objective for solution in self.found)
        known = {"round": len(self.history) + 1, "n_iter": int(self.n_iter.sum()), "gap": gap}
        self.history.append(known | {"objective": objective} | record)
        if self.data.engine.verbose:
            print(self.history[-1], flush=True)

    def fits(self, codes: np.ndarray | None = None, **known: Any) -> list[BinaryFit]:
        """The solutions as fits; `codes` are the classes that rows were trained with."""
        fits = []
        for pair, solution, n_iter in zip(self.data.pairs, self.found, self.n_iter, strict=True):
            guess = None if codes is None else pair.sign(codes)
            fits.append(BinaryFit.of(solution, guess=guess, n_iter=int(n_iter), **known))
        fits[0] = replace(fits[0], history=self.history)
        return fits
