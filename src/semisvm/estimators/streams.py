"""Fits on rows that are not in memory: in files, or on a cluster. All that is known of them are
sums over parts.

    rows     `semisvm.primal.Rows`; their class codes come with them, or are made from y
    prices   rules that are evaluated where the rows are

The supervised SVM is one primal problem for each pair of classes; `transductive` has label
switching and annealing. The model is what a fit in memory has, without an entry per row.

Methods that consider a bounded number of unlabeled rows (`PreferenceSVC`, `PreferenceClassifier`)
need no sums: the labeled rows and the unlabeled ones that are drawn are gathered, and fitted in
memory. The draw depends on the number of unlabeled rows alone, so the model is the one of all rows
in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from semisvm.errors import UndefinedError
from semisvm.estimators.binary import BinaryFit, BinaryTask, MethodFit, Pair, each_task, pairs
from semisvm.estimators.classifier import check_class_counts, check_codes, widened
from semisvm.estimators.problem import Limits, read_costs
from semisvm.estimators.progress import Progress, Watch
from semisvm.estimators.rounds import Rounds
from semisvm.kernels import make_formula
from semisvm.labels import Labels, encode
from semisvm.memory import budget_bytes
from semisvm.primal import FileRows
from semisvm.primal.dask_rows import is_dask, read_dask
from semisvm.primal.problem import Loss, Prices, PrimalProblem, PrimalSolution, RowPart
from semisvm.primal.ranks import count_classes, count_open, labeled_places, pool_places, score_part
from semisvm.primal.rows import MemoryRows, Rows

FEW_LABELED_NUMBERS = 1 << 23  # labeled rows with no more numbers are gathered in memory
# 512 megabytes: labeled rows of methods that need them all in memory.
MOST_GATHERED_NUMBERS = 1 << 26


@dataclass
class StreamProblem:
    """The input of a method for rows that are not in memory.

    labels      one row per class, whose codes are the classes
    n_of_class  (n_classes,) how many labeled rows each class has
    price       (n_classes,) what multiplies C for the rows of each class
    """

    name: str
    rows: Rows
    labels: Labels
    n_of_class: np.ndarray
    price: np.ndarray
    multi_class: str
    loss: Loss
    limits: Limits
    progress: Progress
    gathered: MemoryRows | None = field(default=None)

    def fit_pairs(
        self, auto: str, fit_pair: Callable[[Pair, StreamRounds], BinaryFit]
    ) -> MethodFit:
        """Fit each pair of classes; `auto` is what multi_class="auto" means for the method."""
        scheme = auto if self.multi_class == "auto" else self.multi_class
        tasks = pairs(self.labels.n_classes, scheme)
        fits: list[BinaryFit] = []
        for number, watch in each_task(tasks, self.labels.classes, self.progress, fits):
            fits.append(fit_pair(tasks[number], StreamRounds(self, watch)))
        one_row = np.zeros((1, self.rows.n_features))  # models keep the name of the kernel
        formula = make_formula(
            "linear", one_row, gamma="auto", coef0=0.0, degree=1, weight=np.ones(1)
        )
        return MethodFit(fits, formula, scheme)

    def labeled_rows(self) -> Rows:
        """The labeled rows, in memory where they are few."""
        if self.gathered is None:
            if self.n_of_class.sum() * self.rows.n_features > FEW_LABELED_NUMBERS:
                return self.rows
            self.gathered = self.rows.gather(labeled_places)
            self.gathered.memory = budget_bytes(self.limits.cache_size)
        return self.gathered


class StreamRounds(Rounds):
    """A sequence of solves on rows that are not in memory: there is no entry per row."""

    def __init__(self, problem: StreamProblem, watch: Watch):
        nothing = np.empty(0)
        super().__init__(
            BinaryTask(problem.rows, nothing, nothing, {}, nothing, problem.limits, watch)
        )
        self.problem = problem

    @property
    def solution(self) -> PrimalSolution:
        assert isinstance(self._solution, PrimalSolution), "nothing is solved yet"
        return self._solution

    def solve_prices(
        self, prices: Prices, rows: Rows | None = None, *, tol: float = 0.0
    ) -> PrimalSolution:
        """Solve the primal problem of these prices, of all rows or of some."""
        problem = self.problem
        machine = PrimalProblem(problem.rows if rows is None else rows, prices, problem.loss)
        return self.solve(machine, tol=max(tol, self.tol))


def fit_stream(estimator: Any, X: Any, y: Any, sample_weight: Any, sample_cost: Any) -> Any:
    """Fit an estimator on rows that are not in memory; y None: the rows bring their class codes."""
    name = type(estimator).__name__
    if not hasattr(estimator, "_fit_stream"):
        raise ValueError(
            f"{name} can't be fitted on rows that are not in memory; SupervisedSVC, TransductiveSVC"
            " and PreferenceSVC can. If they fit into memory, pass them as an array."
        )
    if sample_cost is not None:
        raise ValueError(
            "Rows that are not in memory take costs of classes, not of rows: leave sample_cost out."
        )
    if estimator.kernel != "linear" or estimator.solver == "dual":
        raise ValueError(
            "Rows that are not in memory need kernel='linear', and solver='primal' or 'auto'; got"
            f" kernel={estimator.kernel!r} and solver={estimator.solver!r}."
        )
    rows, labels = read_streamed(X, y, sample_weight, estimator.unlabeled)
    n_of_class = rows.sum_over(count_classes, labels.n_classes)
    check_class_counts(labels, n_of_class)
    deadline = None if estimator.time_limit is None else time.perf_counter() + estimator.time_limit
    problem = StreamProblem(
        name=name,
        rows=rows,
        labels=labels,
        n_of_class=n_of_class,
        price=_price_of_classes(estimator, labels, n_of_class),
        multi_class=getattr(estimator, "multi_class", "ovr"),
        loss=estimator.loss,
        limits=Limits(estimator.tol, estimator.max_iter, deadline),
        progress=Progress(estimator),
    )
    estimator.classes_ = labels.classes
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        found: MethodFit = estimator._fit_stream(problem)
    if not all(fit.is_finite for fit in found.fits):
        raise UndefinedError(
            "The model is not finite in float64: scale the features and the costs to near 1."
        )
    estimator._learn_machines(found)
    _forget_rows(estimator, rows)
    return estimator._end_fit(problem, found)


def _forget_rows(estimator: Any, rows: Rows) -> None:
    """Set what is known of the columns; nothing is kept for each row."""
    estimator.n_features_in_ = rows.n_features
    for attribute in ("transduction_", "labeled_iter_", "feature_names_in_"):
        estimator.__dict__.pop(attribute, None)
    if rows.feature_names is not None:
        estimator.feature_names_in_ = np.asarray(rows.feature_names, dtype=object)


def fit_gathered(estimator: Any, X: Any, y: Any, sample_weight: Any, random_sample: Any) -> Any:
    """Fit in memory: on the labeled rows and a bounded pool of unlabeled ones."""
    rows, labels = read_streamed(X, y, sample_weight, estimator.unlabeled)
    gathered = _gather(rows, estimator._draw_pool, type(estimator).__name__)
    origin = np.asarray(gathered.origin)
    if random_sample is not None:
        marks = np.asarray(random_sample.compute() if is_dask(random_sample) else random_sample)
        if marks.shape != (rows.n_rows,):
            raise ValueError(
                f"random_sample must have one entry for each of the {rows.n_rows:,} rows."
            )
        random_sample = marks[origin]
    codes = np.asarray(gathered.codes, dtype=np.int64)
    estimator._fit_in_memory(
        gathered.X, Labels(labels.classes, codes), gathered.weight, random_sample
    )
    if hasattr(estimator, "support_"):
        estimator.support_ = origin[estimator.support_]
    _forget_rows(estimator, rows)
    return estimator


def _gather(rows: Rows, draw_pool: Callable[[int], np.ndarray | None], name: str) -> MemoryRows:
    """The labeled rows, and the unlabeled ones that are drawn."""
    counts = np.array(list(rows.map_over(count_open)), dtype=np.int64).reshape(-1, 3)
    n_labeled = int(counts[:, 1].sum())
    n_open = int(counts[:, 2].sum())
    if not rows.is_sparse and n_labeled * rows.n_features > MOST_GATHERED_NUMBERS:
        raise ValueError(
            f"{name} brings all labeled rows into memory, and {n_labeled:,} rows with"
            f" {rows.n_features:,} features are more than {8 * MOST_GATHERED_NUMBERS >> 20:,} MB."
            " Fit SupervisedSVC, and set its threshold by a campaign."
        )
    if n_labeled + n_open == 0:
        raise ValueError("There are no rows in use: every weight is 0.")
    ranks = np.cumsum(counts[:, 2]) - counts[:, 2]
    return rows.gather(pool_places, counts[:, 0], ranks, draw_pool(n_open))


def read_streamed(X: Any, y: Any, sample_weight: Any, unlabeled: Any) -> tuple[Rows, Labels]:
    """The rows with class codes, and the classes."""
    if is_dask(X):
        return read_dask(X, y, sample_weight, unlabeled)
    if sample_weight is not None:
        raise ValueError("Rows in files have weights of their own: leave sample_weight out.")
    rows: Rows = X
    if y is None and rows.classes is None:
        raise ValueError(
            "y is None, and the rows have no classes of their own: pass y, or rows with codes and"
            " classes."
        )
    if y is None:
        classes = np.asarray(rows.classes)
    else:
        found = encode(y, unlabeled=unlabeled, n_rows=rows.n_rows)
        classes = found.classes
        codes = found.codes.astype(np.int32)
        if isinstance(rows, FileRows):
            rows = FileRows(rows.path, codes, rows.weight, classes, rows.feature_names)
        elif isinstance(rows, MemoryRows):
            rows = MemoryRows(rows.X, codes, rows.weight)
        else:
            raise ValueError(f"{type(rows).__name__} has class codes of its own: leave y out.")
    if isinstance(rows, FileRows | MemoryRows):
        check_codes(rows.codes, rows.weight, len(classes))
    return rows, Labels(classes, np.arange(len(classes)))


def _price_of_classes(estimator: Any, labels: Labels, n_of_class: np.ndarray) -> np.ndarray:
    """What multiplies C for each class: costs and class weights."""
    class_weight = estimator.class_weight
    n_classes = labels.n_classes
    if isinstance(class_weight, str):  # "balanced"
        balanced = n_of_class.sum() / (n_classes * np.maximum(n_of_class, 1e-300))
        class_weight = dict(zip(labels.classes, balanced, strict=True))
    costs = read_costs(estimator.costs, None, class_weight, labels, np.ones(n_classes, dtype=bool))
    if costs.matrix is not None:
        raise ValueError(
            "Rows that are not in memory take a dictionary of costs, not a matrix for several"
            " classes."
        )
    return np.asarray(
        costs.by_class(type(estimator).__name__).price(labels.codes), dtype=np.float64
    )


def scores_of_rows(estimator: Any, rows: Rows) -> np.ndarray:
    """Scores of all rows by the binary problems, (n, n_problems)."""
    check_is_fitted(estimator)
    if rows.n_features != estimator.n_features_in_:
        raise ValueError(
            f"The rows have {rows.n_features} features, and the model has"
            f" {estimator.n_features_in_}."
        )
    if hasattr(estimator, "_coef"):
        return np.concatenate(
            list(rows.map_over(score_part, estimator._coef, estimator.intercept_))
        )
    return np.concatenate(list(rows.map_over(_score_by, estimator)))


def _score_by(part: RowPart, estimator: Any) -> np.ndarray:
    return np.asarray(estimator._score_checked(estimator._in_training_units(widened(part.X))))
