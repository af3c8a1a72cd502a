"""Two classes at a time: the binary problems of a fit, their input for a method, and its result.

One-vs-rest has one problem per class (one alone when there are two); one-vs-one has one per pair of
classes, in which the rows of other classes take no part and unlabeled rows always do. Where there
is a cost matrix, one-sided regression (`rounds.OneSided`) has one problem per class, whose score is
the cost of predicting it.

Most methods are written for two classes, as signs: `fit_pairs` makes the tasks and puts the fits
together. Methods that give a row one of *all* the classes use `rounds.Labeler` instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from semisvm.dual import Status
from semisvm.estimators.problem import FEW_ROWS, Limits, TrainingProblem
from semisvm.estimators.progress import Progress, RoundRecord, Watch
from semisvm.kernels.formula import Formula
from semisvm.kernels.rows import KernelRows
from semisvm.labels import UNLABELED_CODE, Labels
from semisvm.machines import LinearRows, MachineRows, Problem, hinge_problem
from semisvm.model_selection.cross_fit import list_folds
from semisvm.primal.rows import Rows

# A solve that stalled went as far as rounding allows: good enough to continue from.
USABLE = (Status.CONVERGED, Status.STALLED)
ENDED_BY_USER = (Status.INTERRUPTED, Status.STOPPED)


@dataclass(frozen=True)
class Pair:
    """One class against another, or against the rest (negative is None), by their indices."""

    positive: int
    negative: int | None

    def rows(self, labels: Labels) -> np.ndarray:
        """Which rows take part: all but the rows labeled as a third class."""
        if self.negative is None:
            return np.ones(len(labels.codes), dtype=bool)
        return np.isin(labels.codes, [self.positive, self.negative]) | ~labels.is_labeled

    def sign(self, codes: np.ndarray) -> np.ndarray:
        """+1 for the first class, -1 for the second (or the rest), 0 for all other rows."""
        is_negative = codes >= 0 if self.negative is None else codes == self.negative
        return np.where(codes == self.positive, 1.0, np.where(is_negative, -1.0, 0.0))

    def problem(self, kernel: MachineRows, codes: np.ndarray, box: np.ndarray) -> Problem:
        """The SVM of this labeling; `codes` is -1 where a row takes no part."""
        return hinge_problem(kernel, self.sign(codes), box)

    def name(self, classes: np.ndarray) -> str:
        """For people: "spam vs rest", "cat vs dog"."""
        rest = "rest" if self.negative is None else classes[self.negative]
        return f"{classes[self.positive]} vs {rest}"


def pairs(n_classes: int, multi_class: str) -> list[Pair]:
    """The binary problems of a fit; a two-class problem is one problem whatever the scheme."""
    if n_classes == 2:
        return [Pair(1, 0)]
    if multi_class == "ovr":
        return [Pair(k, None) for k in range(n_classes)]
    # As in scikit-learn a positive score of (i, j) speaks for i, the class that comes first.
    return [Pair(i, j) for i, j in combinations(range(n_classes), 2)]


def combine(scores: np.ndarray, n_classes: int, scheme: str) -> np.ndarray:
    """Scores of binary problems, (n, n_problems), to decision values, (n,) or (n, n_classes)."""
    if n_classes == 2:
        return scores[:, 0]
    if scheme == "ovo":
        return _votes(scores, n_classes)
    return scores if scheme == "ovr" else -scores


def _votes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes of the pairs, plus less than half a vote for the summed scores, which break ties."""
    votes = np.zeros((len(scores), n_classes))
    strength = np.zeros_like(votes)
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        first_wins = scores[:, k] > 0
        votes[:, i] += first_wins
        votes[:, j] += ~first_wins
        strength[:, i] += scores[:, k]
        strength[:, j] -= scores[:, k]
    return votes + strength / (3 * (np.abs(strength) + 1))


@dataclass(frozen=True)
class BinaryTask:
    """Two classes, as signs, on n rows.

    kernel   rows of K between the n rows, or in the primal form the rows themselves; tasks of one
             fit may share them
    sign     (n,) in {-1, 0, +1}: the label, 0 where there is none
    weight   (n,) what multiplies C for each row: costs, class weights and sample weights of its own
             class; for unlabeled rows the sample weight alone
    cost_of  {-1: cost, +1: cost}: what multiplies the weight of an unlabeled row once it is given
             that sign; a number each, or (n,) where the user gave costs of single rows
    counts   (n,) how many rows each row counts for: the user's sample weights alone
    limits   how far to solve, and where
    watch    progress, callbacks and Ctrl-C
    number   of the binary problem within the fit; `positive`, the index of the class that +1 stands
             for
    """

    kernel: MachineRows
    sign: np.ndarray
    weight: np.ndarray
    cost_of: dict[int, float | np.ndarray]
    counts: np.ndarray
    limits: Limits
    watch: Watch
    number: int = 0
    positive: int = 1

    @property
    def kernel_rows(self) -> KernelRows:
        """The rows of K, for methods that have the dual form only."""
        assert not isinstance(self.kernel, LinearRows | Rows), "the task is in the primal form"
        return self.kernel

    @property
    def loss(self) -> str:
        """The loss of the SVM: "hinge" or "squared_hinge"."""
        return self.kernel.loss if isinstance(self.kernel, LinearRows) else "hinge"


@dataclass(frozen=True)
class BinaryFit:
    """A classifier f(x) = sum_i row_beta[i] k(x_i, x) + bias or <w, x> + bias, and its history.

    row_beta   (n,) one coefficient per row; empty in the primal form
    w          (d,) one weight per feature; only in the primal form
    scores     (n,) f of every row, NaN for rows that the fit did not look at
    history    one record per round
    rounds     (n,) the round in which each row was given its label: 0 for the user's own, -1 for
               never
    guess      (n,) in {-1, 0, +1}: the labels a method settled on, where it fixes them and f may
               disagree
    ended      why the method ended, where the solver converged; None: because it converged
    outcome    what else the method found and its estimator reports
    """

    row_beta: np.ndarray
    bias: float
    scores: np.ndarray
    n_iter: int
    gap: float
    status: Status
    history: list[RoundRecord]
    rounds: np.ndarray | None = field(default=None)
    guess: np.ndarray | None = field(default=None)
    ended: str | None = None
    outcome: Any = None
    w: np.ndarray | None = field(default=None)

    @property
    def is_finite(self) -> bool:
        """Whether all that predictions need are numbers."""
        return bool(
            np.isfinite(self.row_beta if self.w is None else self.w).all()
            and np.isfinite(self.bias)
        )

    def at(self, rows: np.ndarray, row_beta: np.ndarray) -> BinaryFit:
        """The fit on these of its rows, given by their numbers, with other coefficients."""
        rounds = None if self.rounds is None else self.rounds[rows]
        guess = None if self.guess is None else self.guess[rows]
        return replace(
            self, row_beta=row_beta, scores=self.scores[rows], rounds=rounds, guess=guess
        )


@dataclass(frozen=True)
class MethodFit:
    """All that a method learned from a `TrainingProblem` of n rows.

    fits      one per binary problem, over all n rows
    formula   the kernel they are in
    scheme    how their scores are combined: "ovr", "ovo" or "one_sided"
    codes     (n,) the class that each row was trained with, where the method fixes it and f may
              disagree; -1 elsewhere
    rows      (n,) which rows of the problem these are, by number, where the method arranged them: a
              row may be there twice or not at all; None: all rows as they are
    per_row   attributes of the estimator with one number per row, (n,) each; rows out of use get
              -1, floats NaN
    warnings  warnings for the user, in the order in which they are issued
    settle    what else there is to learn once the SVMs can score rows, and before one is
              predicted; it is given what scores rows of X, by their numbers
    """

    fits: list[BinaryFit]
    formula: Formula
    scheme: str
    codes: np.ndarray | None = None
    rows: np.ndarray | None = None
    per_row: dict[str, np.ndarray] = field(default_factory=dict)
    warnings: tuple[Warning, ...] = ()
    settle: Callable[[Callable[[np.ndarray], np.ndarray]], None] | None = None

    @property
    def is_primal(self) -> bool:
        """Whether the fits are weights of features."""
        return self.fits[0].w is not None

    @property
    def weights_of_features(self) -> np.ndarray:
        """(n_problems, d), in the primal form."""
        return np.stack([fit.w for fit in self.fits if fit.w is not None])

    @property
    def worst(self) -> BinaryFit:
        """The fit that fell short the most, which speaks for all."""
        return max(self.fits, key=lambda fit: (fit.status is not Status.CONVERGED, fit.gap))

    @property
    def termination_condition(self) -> str:
        """The solver's reason where it did not converge, else the method's, else "converged"."""
        if self.worst.status is not Status.CONVERGED:
            return str(self.worst.status)
        endings = [fit.ended for fit in self.fits if fit.ended is not None]
        return min(endings, key=_SEVERITY.index, default=str(Status.CONVERGED))


_SEVERITY = ("max_rounds", "cycle", "margin_empty", "converged")


def fit_pairs(
    problem: TrainingProblem,
    formula: Formula,
    fit_binary: Callable[[BinaryTask], BinaryFit],
    *,
    kernel: MachineRows | None = None,
    is_frugal: bool = False,
    few_rows: int = FEW_ROWS,
    fit_together: Callable[[list[BinaryTask]], list[BinaryFit]] | None = None,
) -> list[BinaryFit]:
    """Solve the binary problems in turn; those on the same rows share their kernel rows.

    kernel         the rows of K, where they are there already
    is_frugal      whether a binary problem is one solve, after which its kernel rows are not needed
    fit_together   fits all of them at once, where that is faster: several on the same rows of a
                   device
    """
    labels, tasks = problem.labels, pairs(problem.labels.n_classes, problem.multi_class)
    costs = problem.costs.by_class(problem.name)
    progress = problem.progress
    fits: list[BinaryFit] = []

    def make_task(number: int, part: TrainingProblem, rows: np.ndarray, watch: Watch) -> BinaryTask:
        assert kernel is not None
        pair = tasks[number]
        own = costs.select(rows)
        return BinaryTask(
            kernel=kernel,
            sign=labels.sign(pair.positive)[rows],
            weight=part.weight
            * np.where(part.labels.is_labeled, own.price(part.labels.codes), 1.0),
            cost_of={
                +1: own.of(pair.positive),
                -1: own.of_rest(pair.positive) if pair.negative is None else own.of(pair.negative),
            },
            counts=part.weight,
            limits=problem.limits,
            watch=watch,
            number=number,
            positive=pair.positive,
        )

    if fit_together is not None and len(tasks) > 1 and problem.multi_class == "ovr":
        kernel = problem.machine_rows(formula, few_rows=few_rows) if kernel is None else kernel
        if getattr(kernel, "home", "cpu") != "cpu":
            rows = np.ones(problem.n_rows, dtype=bool)
            with progress.whole_fit("fit", max_subtasks=len(tasks)), ExitStack() as stack:
                parts = [progress.one_problem(pair.name(labels.classes)) for pair in tasks]
                watches = [stack.enter_context(part) for part in parts]
                return fit_together([make_task(k, problem, rows, w) for k, w in enumerate(watches)])
    for number, watch in each_task(tasks, labels.classes, progress, fits):
        rows = tasks[number].rows(labels)
        part = problem.select(rows)
        if kernel is None or not rows.all():
            serves_one_solve = is_frugal and (len(tasks) == 1 or not rows.all())
            kernel = part.machine_rows(formula, is_frugal=serves_one_solve, few_rows=few_rows)
        fits.append(spread(fit_binary(make_task(number, part, rows, watch)), rows))
    return fits


def each_task(
    tasks: Sequence[Pair], classes: np.ndarray, progress: Progress, fits: list[BinaryFit]
) -> Iterator[tuple[int, Watch]]:
    """The number of each binary problem and its watch, while the caller adds the fits; problems
    after one that the user ended are not trained.
    """
    with progress.whole_fit("fit", max_subtasks=len(tasks)):
        for number, pair in enumerate(tasks):
            with progress.one_problem(pair.name(classes)) as watch:
                yield number, watch
            if watch.was_stopped or fits[-1].status in ENDED_BY_USER:
                fits += [_untrained(fits[-1])] * (len(tasks) - len(fits))
                return


def score_left_out(
    problem: TrainingProblem,
    fold: np.ndarray,
    refit: Callable[[TrainingProblem], list[BinaryFit]],
    usable: Sequence[Status] = USABLE,
) -> np.ndarray | None:
    """Scores of the binary problems, (n, n_problems), by fits that have not seen a row's label.

    `fold`, (n,), has -1 for rows whose label is never hidden: their scores are NaN. None where a
    fit ended in another way than the `usable` ones, or where no label is hidden.
    """
    scores = None
    for _, test in list_folds(fold):
        codes = problem.labels.codes.copy()
        codes[test] = UNLABELED_CODE
        fits = refit(problem.relabel(codes))
        if any(fit.status not in usable for fit in fits):
            return None
        if scores is None:
            scores = np.full((problem.n_rows, len(fits)), np.nan)
        scores[test] = np.stack([fit.scores[test] for fit in fits], axis=1)
    return scores


def spread(fit: BinaryFit, rows: np.ndarray) -> BinaryFit:
    """A fit on some of the rows, given as a mask, as a fit on all of them."""
    if rows.all():
        return fit
    return replace(
        fit,
        row_beta=fit.row_beta if fit.w is not None else _widen(fit.row_beta, rows, 0.0),
        scores=_widen(fit.scores, rows, np.nan),
        rounds=None if fit.rounds is None else _widen(fit.rounds, rows, -1),
        guess=None if fit.guess is None else _widen(fit.guess, rows, 0),
    )


def _widen(values: np.ndarray, rows: np.ndarray, blank: float) -> np.ndarray:
    wide = np.full(len(rows), blank, dtype=values.dtype)
    wide[rows] = values
    return wide


def _untrained(last: BinaryFit) -> BinaryFit:
    """A binary problem that was not trained because the fit was ended: a score of 0 everywhere."""
    nothing = np.zeros(len(last.scores))
    w = None if last.w is None else np.zeros(len(last.w))
    return BinaryFit(
        nothing if w is None else np.empty(0), 0.0, nothing, 0, math.inf, last.status, [], w=w
    )
