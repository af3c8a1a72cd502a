"""Fits on rows that are not in memory: Dask collections, and any other `semisvm.primal.Rows`.

Only sums over the rows are ever asked for, so a method must say everything about a row by a rule that is evaluated
where the row is, from an earlier machine and a few numbers:

    supervised    the price of its class
    transductive  what an earlier machine says of it (`transductive.streamed`)

What is learned is a weight per feature: a model like any other. `transduction_` is not set: it would have an entry per
row. `predict` gives the same, lazily.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from semisvm.errors import RowsLostError
from semisvm.estimators.binary import BinaryFit, MethodFit, Pair, pairs
from semisvm.estimators.costs import read_costs
from semisvm.estimators.problem import Limits
from semisvm.estimators.progress import Progress, RoundRecord, Watch, ended_early
from semisvm.kernels import make_formula
from semisvm.labels import Labels
from semisvm.primal import ClassPrices, DaskRows, PrimalProblem, PrimalSolution, RowPart, Rows, solve_primal
from semisvm.primal.dask_rows import encode_dask, is_dask
from semisvm.primal.problem import Loss


def is_streamed(X: Any) -> bool:
    """Whether X is a collection whose rows are not in memory."""
    return isinstance(X, Rows) or is_dask(X)


@dataclass(frozen=True)
class Stream:
    """What a method is given: rows with class codes, and what is known of them in sum.

    name        the estimator's, for messages
    classes     (K,) the classes
    weight_of   (K,) the weight of the labeled rows of each class
    n_of        (K,) their number
    unlabeled   the weight of the unlabeled rows
    price       (K,) what multiplies C for rows of each class
    starts      solutions to start from, of a fit that lost its rows, by the name of the binary problem
    """

    name: str
    rows: Rows
    classes: np.ndarray
    weight_of: np.ndarray
    n_of: np.ndarray
    unlabeled: float
    price: np.ndarray
    scheme: str
    loss: Loss
    limits: Limits
    progress: Progress
    starts: dict[str, PrimalSolution] = field(default_factory=dict)

    def solve_pairs(self, fit_pair: Callable[[StreamTask], Any]) -> list[BinaryFit]:
        """Fit every binary problem, in turn."""
        found = pairs(len(self.classes), self.scheme)
        fits: list[BinaryFit] = []
        with self.progress.whole_fit("linear machines", len(found)):
            for pair in found:
                name = pair.name(self.classes)
                with self.progress.one_problem(name) as watch:
                    task = StreamTask(self, pair, name, watch)
                    try:
                        outcome = fit_pair(task)
                    except RowsLostError:
                        if task.solution is not None:
                            self.starts[name] = task.solution
                        raise
                    fits.append(task.fit(outcome))
        return fits


@dataclass
class StreamTask:
    """One binary problem of a stream: the last machine, and the record of all."""

    stream: Stream
    pair: Pair
    name: str
    watch: Watch
    solution: Any = None
    history: list[RoundRecord] = field(default_factory=list)
    n_iter: int = 0
    began: float = field(default_factory=time.perf_counter)

    def class_prices(self, C: float) -> ClassPrices:
        """Labeled rows only."""
        return ClassPrices(self.pair.positive, self.pair.negative, C * self.stream.price)

    def solve(self, prices: Callable[[RowPart], Any], tol: float | None = None, **details: Any) -> PrimalSolution:
        """Solve from the last machine, and note it."""
        stream, start = self.stream, self.solution
        limits = stream.limits.of_solve(self.n_iter, tol=tol, callback=self.watch.look)
        start = stream.starts.pop(self.name, None) if start is None else start
        own = {name: limits[name] for name in ("tol", "max_iter", "time_limit", "callback")}
        try:
            found = solve_primal(PrimalProblem(stream.rows, prices, stream.loss), start, **own)
        except RowsLostError as lost:
            self.solution = lost.solution or self.solution
            raise
        self.solution = found
        self.n_iter += found.n_iter
        seconds = time.perf_counter() - self.began
        record = RoundRecord(
            self.name, len(self.history), self.n_iter, found.gap, seconds, found.objective, details=details
        )
        self.history.append(record)
        self.watch.round_done(record)
        return found

    def fit(self, outcome: Any) -> BinaryFit:
        found = self.solution
        return BinaryFit(
            row_beta=np.empty(0),
            w=found.w,
            bias=found.bias,
            scores=np.empty(0),
            n_iter=self.n_iter,
            gap=found.gap,
            status=found.status,
            history=self.history,
            outcome=outcome,
        )


def fit_streamed(estimator: Any, X: Any, y: Any, sample_weight: Any, sample_cost: Any) -> MethodFit:
    """Fit an estimator that has `_fit_stream`; refuse what needs the rows in memory."""
    name = type(estimator).__name__
    kind = "a Dask collection" if is_dask(X) else "rows that are not in memory"
    method = getattr(estimator, "_fit_stream", None)
    if method is None:
        raise TypeError(
            f"{name} can't be fitted on {kind}: it needs all rows in memory. SupervisedSVC and TransductiveSVC with "
            "kernel='linear' can. If the rows fit into memory, pass X.compute()."
        )
    if not (isinstance(estimator.kernel, str) and estimator.kernel == "linear") or estimator.solver == "dual":
        raise ValueError(
            f"On {kind} {name} needs kernel='linear' and solver='auto' or 'primal', got kernel={estimator.kernel!r} "
            f"and solver={estimator.solver!r}. For another kernel transform the rows with Nystroem first."
        )
    if sample_cost is not None:
        raise ValueError(f"On {kind} {name} takes costs of classes only; sample_cost was given.")
    rows, labels = _read_rows(X, y, sample_weight, estimator.unlabeled)
    names = _names_of_columns(X)
    _check_rows(rows, names)
    weight_of, n_of, unlabeled = _count_classes(rows, labels)
    stream = Stream(
        name=name,
        rows=rows,
        classes=labels.classes,
        weight_of=weight_of,
        n_of=n_of,
        unlabeled=unlabeled,
        price=_prices(estimator, labels, n_of),
        scheme=estimator.multi_class if estimator.multi_class != "auto" else estimator._auto_scheme,
        loss=estimator.loss,
        limits=Limits(
            estimator.tol,
            estimator.max_iter,
            None if estimator.time_limit is None else time.perf_counter() + estimator.time_limit,
        ),
        progress=Progress(estimator),
        starts=estimator.__dict__.pop("_unfinished", {}),
    )
    estimator.n_features_in_ = rows.n_features
    estimator.__dict__.pop("feature_names_in_", None)
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    try:
        fits = method(stream)
    except RowsLostError:
        estimator._unfinished = stream.starts
        raise
    estimator.classes_ = labels.classes
    found = MethodFit(fits, make_formula("linear", np.zeros((1, rows.n_features)), gamma=1.0), stream.scheme)
    return replace(found, warnings=tuple(ended_early(stream, found)))


def _read_rows(X: Any, y: Any, sample_weight: Any, unlabeled: Any) -> tuple[Rows, Labels]:
    """The rows with their codes, and the classes; the codes of `Labels` are those of one row per class only."""
    if isinstance(X, Rows):
        if y is not None or sample_weight is not None:
            raise ValueError("Rows bring their own class codes and weights: pass y=None and no sample_weight.")
        known = X.sum_over(_mark_codes)
        classes = np.flatnonzero(known[1:])
        if len(classes) < 2:
            raise ValueError(f"The rows have {len(classes)} classes among their codes; at least 2 are needed.")
        return X, Labels(classes, np.arange(len(classes)))
    if y is None:
        raise ValueError("y is missing: pass the labels, with the marker of `unlabeled` where there is none.")
    labels, codes = encode_dask(y, unlabeled)
    return DaskRows(X, codes, sample_weight), labels


def _mark_codes(part: RowPart, most: int = 256) -> np.ndarray:
    """How many rows have each code, no code first."""
    assert part.codes is not None
    return np.bincount(part.codes.astype(np.int64) + 1, minlength=most + 1).astype(float)


def _names_of_columns(X: Any) -> Any:
    columns = getattr(X, "columns", None)
    return None if columns is None or not all(isinstance(name, str) for name in columns) else list(columns)


def _check_rows(rows: Rows, names: Any) -> None:
    bad = rows.sum_over(_count_not_finite)
    if bad[:-1].any():
        column = int(np.argmax(bad[:-1]))
        called = f"Column {column}" if names is None else f"Column {names[column]!r}"
        raise ValueError(
            f"{called} has {int(bad[column]):,} values that are missing or not finite. Fill or drop them first, for "
            "example with fillna."
        )
    if bad[-1]:
        raise ValueError(f"sample_weight has {int(bad[-1]):,} values that are negative or not finite.")


def _count_not_finite(part: RowPart) -> np.ndarray:
    """For each column, and last for the weights."""
    if isinstance(part.X, np.ndarray):
        counts = np.count_nonzero(~np.isfinite(part.X), axis=0)
    else:
        counts = np.bincount(part.X.indices[~np.isfinite(part.X.data)], minlength=part.X.shape[1])
    wrong = 0 if part.weight is None else np.count_nonzero(~(np.isfinite(part.weight) & (part.weight >= 0)))
    return np.append(counts, wrong).astype(float)


def _count_classes(rows: Rows, labels: Labels) -> tuple[np.ndarray, np.ndarray, float]:
    counts = rows.sum_over(_count_codes, labels.n_classes)
    missing = np.flatnonzero(counts[0, 1:] <= 0)
    if len(missing):
        raise ValueError(f"Class {labels.classes[missing[0]]!r} has no row of positive weight.")
    return counts[0, 1:], counts[1, 1:], float(counts[0, 0])


def _count_codes(part: RowPart, n_classes: int) -> np.ndarray:
    """(2, K + 1): weight and number of rows, those without a label first."""
    assert part.codes is not None
    codes = part.codes.astype(np.int64) + 1
    weight = np.ones(len(codes)) if part.weight is None else part.weight
    return np.stack(
        [np.bincount(codes, weight, minlength=n_classes + 1), np.bincount(codes[weight > 0], minlength=n_classes + 1)]
    )


def _prices(estimator: Any, labels: Labels, n_of: np.ndarray) -> np.ndarray:
    weights = estimator.class_weight
    if isinstance(weights, str) and weights == "balanced":
        weights = dict(zip(labels.classes.tolist(), n_of.sum() / (len(n_of) * n_of), strict=True))
    one_per_class = Labels(labels.classes, np.arange(labels.n_classes))
    costs = read_costs(estimator.costs, None, weights, one_per_class, np.ones(labels.n_classes, dtype=bool))
    return costs.by_class(type(estimator).__name__).of_class
