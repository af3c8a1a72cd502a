"""Fits on rows that are not in memory: in files, or on a cluster. All that is known of them are sums over parts.

    rows     `semisvm.primal.Rows`; their class codes come with them, or are made from y
    prices   rules that are evaluated where the rows are

The supervised machine is one primal problem for each pair of classes. Label switching needs no state per row: a pair of
guesses is worth switching exactly when the row guessed negative has the higher score, at any prices of the two classes,
so switching all pairs that pay is labeling by rank. A guess is then a function of the last model and one number,

    positive where  <w, x> + bias >= line,

the line being the quantile of the scores that leaves the share of positives above it (`primal.ranks`). The model is
what a fit in memory has, without an entry per row.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from semisvm.dual import Status
from semisvm.errors import RowsLostError, UndefinedError
from semisvm.estimators.binary import USABLE, BinaryFit, MethodFit, Pair, pairs
from semisvm.estimators.class_shares import PositiveShare, share_of_labels
from semisvm.estimators.costs import read_costs
from semisvm.estimators.forms import Form, settle_form
from semisvm.estimators.inputs import check_class_counts, check_codes
from semisvm.estimators.problem import Limits
from semisvm.estimators.progress import Progress, RoundRecord, Watch
from semisvm.kernels import make_formula
from semisvm.labels import Labels, encode
from semisvm.primal import ClassPrices, FileRows, MemoryRows, PrimalProblem, PrimalSolution, Rows, solve_primal
from semisvm.primal.dask_data import map_lazily, read_dask
from semisvm.primal.dask_rows import is_dask
from semisvm.primal.problem import Loss
from semisvm.primal.ranks import (
    RankPrices,
    count_changed,
    count_classes,
    score_part,
    score_quantile,
    take_labeled,
    weigh_classes,
    weigh_unlabeled,
)

FEW_LABELED_NUMBERS = 1 << 23  # labeled rows with no more numbers are gathered in memory
FIRST_SHARE_OF_PRICE, PRICE_FACTOR = 1e-5, 10.0
MOST_TURNS_PER_PRICE = 20
TOL_BEFORE_LAST_PRICE = 1e-2


@dataclass
class StreamProblem:
    """What a method is given of rows that are not in memory.

    labels      one row per class, whose codes are the classes
    n_of_class  (n_classes,) how many labeled rows each class has
    price       (n_classes,) what multiplies C for the rows of each class
    unfinished  the last solution of each binary problem of a fit that lost its rows, where the next fit begins
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
    unfinished: dict[str, PrimalSolution] = field(default_factory=dict)

    def tasks(self, auto: str) -> list[Pair]:
        """The binary problems; `auto` is what multi_class="auto" means for the method."""
        return pairs(self.labels.n_classes, auto if self.multi_class == "auto" else self.multi_class)

    def labeled_rows(self) -> Rows:
        """The labeled rows, in memory where they are few."""
        if self.gathered is None:
            if self.n_of_class.sum() * self.rows.n_features > FEW_LABELED_NUMBERS:
                return self.rows
            found = [part for part in self.rows.map_over(take_labeled) if part[0].shape[0]]
            stack = sparse.vstack if self.rows.is_sparse else np.vstack
            X = stack([part[0] for part in found])
            codes, weight = (np.concatenate([part[k] for part in found]) for k in (1, 2))
            self.gathered = MemoryRows(X, codes, weight)
        return self.gathered

    def solve(
        self,
        prices: Any,
        watch: Watch,
        start: Any = None,
        *,
        rows: Rows | None = None,
        n_iter: int = 0,
        tol: float = 0.0,
    ) -> PrimalSolution:
        """Solve one primal problem within what is left of the limits."""
        limits = self.limits.of_solve(n_iter, callback=watch.look)
        own = {name: limits[name] for name in ("max_iter", "time_limit", "callback")}
        problem = PrimalProblem(self.rows if rows is None else rows, prices, self.loss)
        start = self.unfinished.pop(watch.name, None) if start is None else start
        try:
            return solve_primal(problem, start, tol=max(tol, limits["tol"]), **own)
        except RowsLostError as lost:
            if isinstance(lost.solution, PrimalSolution):
                self.unfinished[watch.name] = lost.solution
            raise


def fit_stream(estimator: Any, X: Any, y: Any, sample_weight: Any, sample_cost: Any, random_sample: Any) -> Any:
    """Fit an estimator on rows that are not in memory; y None: the rows bring their class codes."""
    name = type(estimator).__name__
    if not hasattr(estimator, "_fit_stream"):
        raise ValueError(
            f"{name} can't be fitted on rows that are not in memory; SupervisedSVC and TransductiveSVC can. If they "
            "fit into memory, pass them as an array."
        )
    if sample_cost is not None or random_sample is not None or (isinstance(X, Rows) and sample_weight is not None):
        raise ValueError("Rows that are not in memory bring their weights: leave everything but y out.")
    asked = Form("primal" if estimator.solver == "auto" else estimator.solver, estimator.loss)
    if not settle_form(asked, estimator.kernel, None, reason_against=None, device="cpu").is_primal:
        raise ValueError("Rows that are not in memory need solver='primal' or 'auto'.")
    if is_dask(X):
        rows, labels = read_dask(X, y, sample_weight, estimator.unlabeled)
    else:
        rows, labels = _with_codes(X, y, estimator.unlabeled)
    if isinstance(rows, FileRows | MemoryRows):
        check_codes(rows.codes, rows.weight, labels.n_classes)
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
        unfinished=estimator.__dict__.pop("_unfinished", {}),
    )
    estimator.classes_, estimator.n_features_in_ = labels.classes, rows.n_features
    estimator.__dict__.pop("feature_names_in_", None)
    if rows.feature_names is not None:
        estimator.feature_names_in_ = np.asarray(rows.feature_names, dtype=object)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            found: MethodFit = estimator._fit_stream(problem)
    except RowsLostError:
        estimator._unfinished = problem.unfinished  # where the next fit begins
        raise
    if not all(fit.is_finite for fit in found.fits):
        raise UndefinedError("The model is not finite in float64: scale the features and the costs to near 1.")
    estimator._learn_machines(found)
    for attribute in ("transduction_", "labeled_iter_"):
        estimator.__dict__.pop(attribute, None)  # of an earlier fit in memory
    return estimator._end_fit(problem, found)


def _with_codes(rows: Rows, y: Any, unlabeled: Any) -> tuple[Rows, Labels]:
    """The rows with class codes, and the classes."""
    if y is not None:
        found = encode(y, unlabeled=unlabeled, n_rows=rows.n_rows)
        codes = found.codes.astype(np.int32)
        if isinstance(rows, FileRows):
            rows = FileRows(rows.path, codes, rows.weight, found.classes, rows.feature_names)
        elif isinstance(rows, MemoryRows):
            rows = MemoryRows(rows.X, codes, rows.weight)
        else:
            raise ValueError(f"{type(rows).__name__} bring their class codes: leave y out.")
        classes = found.classes
    elif rows.classes is None:
        raise ValueError(
            "y is None, and the rows have no classes of their own: pass y, or rows with codes and classes."
        )
    else:
        classes = np.asarray(rows.classes)
    return rows, Labels(classes, np.arange(len(classes)))


def _price_of_classes(estimator: Any, labels: Labels, n_of_class: np.ndarray) -> np.ndarray:
    """What multiplies C for each class: costs and class weights."""
    class_weight, n_classes = estimator.class_weight, labels.n_classes
    if isinstance(class_weight, str):  # "balanced"
        balanced = n_of_class.sum() / (n_classes * np.maximum(n_of_class, 1e-300))
        class_weight = dict(zip(labels.classes, balanced, strict=True))
    costs = read_costs(estimator.costs, None, class_weight, labels, np.ones(n_classes, dtype=bool))
    if costs.matrix is not None:
        raise ValueError("Rows that are not in memory take a dictionary of costs, not a matrix for several classes.")
    return np.asarray(costs.by_class(type(estimator).__name__).price(labels.codes), dtype=np.float64)


def fit_supervised(problem: StreamProblem, C: float) -> list[BinaryFit]:
    """The supervised machine of each pair of classes."""
    fits: list[BinaryFit] = []
    tasks = problem.tasks("ovo")
    with problem.progress.whole_fit("fit", max_subtasks=len(tasks)):
        for pair in tasks:
            with problem.progress.one_problem(pair.name(problem.labels.classes)) as watch:
                prices = ClassPrices(pair.positive, pair.negative, C * problem.price)
                found = problem.solve(prices, watch, rows=problem.labeled_rows())
                record = RoundRecord(watch.name, 0, found.n_iter, found.gap, found.seconds, found.objective)
                fits.append(_fit_of(found, [record], found.n_iter))
    return fits


def fit_switching(problem: StreamProblem, C: float, C_unlabeled: float, asked_share: Any) -> list[BinaryFit]:
    """Label switching by rank, for each pair of classes; the outcome of a fit is its share of positives."""
    tasks = problem.tasks("ovr")
    with problem.progress.whole_fit("fit", max_subtasks=len(tasks)):
        fits = []
        for pair in tasks:
            with problem.progress.one_problem(pair.name(problem.labels.classes)) as watch:
                fits.append(_Switching(problem, pair, C, C_unlabeled, watch).run(asked_share))
    return fits


class _Switching:
    """Label switching of one binary problem."""

    def __init__(self, problem: StreamProblem, pair: Pair, C: float, C_unlabeled: float, watch: Watch):
        self.problem, self.pair, self.C_unlabeled, self.watch = problem, pair, C_unlabeled, watch
        self.labeled = ClassPrices(pair.positive, pair.negative, C * problem.price)
        rest = [code for code in range(problem.labels.n_classes) if code != pair.positive]
        others = rest if pair.negative is None else [pair.negative]
        self.classes = [pair.positive, *others]
        self.cost_of = {+1: problem.price[pair.positive], -1: float(np.mean(problem.price[others]))}
        self.began, self.n_iter, self.history = time.perf_counter(), 0, list[RoundRecord]()

    def run(self, asked_share: Any) -> BinaryFit:
        problem = self.problem
        found = self._solve(self.labeled, None, rows=problem.labeled_rows())
        share = self._share(asked_share, found)
        self._done(found, positive_fraction=share.value)
        last, before = found, (found.w, found.bias, 0.0)
        for price, is_last in self._prices():
            tol = 0.0 if is_last else TOL_BEFORE_LAST_PRICE
            for turn in range(MOST_TURNS_PER_PRICE):
                if last.status not in USABLE:
                    return _fit_of(found, self.history, self.n_iter, status=last.status, outcome=share)
                found = last
                line = score_quantile(problem.rows, found.w, found.bias, 1 - share.value)
                if turn and not self._has_changed(before, line, found):
                    break
                before = found.w, found.bias, line
                prices = RankPrices(self.labeled, *before, price * self.cost_of[+1], price * self.cost_of[-1])
                last = self._solve(prices, found, tol=tol)
                self._done(last, price=price)
        return _fit_of(last, self.history, self.n_iter, outcome=share)

    def _prices(self) -> Iterator[tuple[float, bool]]:
        price = FIRST_SHARE_OF_PRICE * self.C_unlabeled
        while price < self.C_unlabeled * (1 - 1e-9):
            yield price, False
            price *= PRICE_FACTOR
        yield self.C_unlabeled, True

    def _solve(self, prices: Any, start: Any, rows: Rows | None = None, tol: float = 0.0) -> PrimalSolution:
        found = self.problem.solve(prices, self.watch, start, rows=rows, n_iter=self.n_iter, tol=tol)
        self.n_iter += found.n_iter
        return found

    def _share(self, asked: Any, found: PrimalSolution) -> PositiveShare:
        problem, classes = self.problem, self.classes
        weight = problem.labeled_rows().sum_over(weigh_classes, problem.labels.n_classes)[classes]
        share = share_of_labels(asked, float(weight[0] / weight.sum()), int(problem.n_of_class[classes].sum()))
        if asked != "estimated":
            return share
        edges = np.array([-np.inf, -found.bias, np.inf])
        below, above = problem.rows.sum_over(weigh_unlabeled, found.w, edges)
        return share.towards(float(above / (above + below)))

    def _has_changed(self, before: tuple[np.ndarray, float, float], line: float, found: PrimalSolution) -> bool:
        """Whether any guess changes from the last model and line to these."""
        return bool(self.problem.rows.sum_over(count_changed, *before, found.w, found.bias, line)[0] > 0)

    def _done(self, found: PrimalSolution, **details: Any) -> None:
        seconds = time.perf_counter() - self.began
        number = len(self.history)
        self.history.append(
            RoundRecord(self.watch.name, number, self.n_iter, found.gap, seconds, found.objective, details)
        )
        self.watch.round_done(self.history[-1])


def _fit_of(
    found: PrimalSolution, history: list[RoundRecord], n_iter: int, status: Status | None = None, outcome: Any = None
) -> BinaryFit:
    nothing, ended = np.empty(0), status or found.status
    return BinaryFit(nothing, found.bias, nothing, n_iter, found.gap, ended, history, outcome=outcome, w=found.w)


def stream_formula(rows: Rows) -> Any:
    """The linear kernel, of which models keep the name."""
    return make_formula("linear", np.zeros((1, rows.n_features)), gamma="auto", coef0=0.0, degree=1, weight=np.ones(1))


def scores_of_rows(estimator: Any, rows: Rows) -> np.ndarray:
    """Scores of all rows by the binary problems, (n, n_problems)."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "_coef"):
        raise ValueError(
            "Rows that are not in memory are scored by models in the primal form: fit with solver='primal'."
        )
    if rows.n_features != estimator.n_features_in_:
        raise ValueError(f"The rows have {rows.n_features} features, and the model has {estimator.n_features_in_}.")
    return np.concatenate(list(rows.map_over(score_part, estimator._coef, estimator.intercept_)))


def decide_lazily(estimator: Any, X: Any) -> Any:
    """What `decision_function` gives for a Dask collection, as lazy as the collection is."""
    check_is_fitted(estimator)
    n_columns = None if len(estimator.classes_) == 2 else len(estimator.classes_)
    return map_lazily(estimator.decision_function, X, n_columns, np.float64)
