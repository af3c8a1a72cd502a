"""The average of `AutoSVC` on points as an ONNX graph.

A new row is placed among the rows of the fit as `KernelLibrary.place` does; one that equals a row of the fit is found,
and has its place. All kernels are linear in something that depends on the row: kernel values, products, components, or
functions on a graph. So the machines of one kernel, and of all kernels of one graph, become one matrix.

    coef       {kernel: (l, c)}  the coefficients of all its machines, times their weights
    placed     (n, r)            the components of the rows
    functions  (n, r)            the functions of a graph at the rows
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from semisvm.estimators.auto.average import KernelAverage
from semisvm.estimators.auto.geometry import EXTENDED_BELOW, SMALLEST_LINK, GraphFunctions
from semisvm.estimators.auto.library import FLOOR, POWER, KernelLibrary

SAME_DIRECTION = 1e-14  # between rows of length 1 that are equal: dividing by a length rounds
AXIS = np.array([1], dtype=np.int64)


def average_graph(average: KernelAverage, X: Any, op: Any) -> Any:
    """`KernelAverage.scores_of_rows`, (n, c)."""
    library = average.library
    geometry, components = library.geometry, library.components
    rows = geometry.rows.toarray() if sparse.issparse(geometry.rows) else geometry.rows
    if geometry.is_cosine:
        length = op.Sqrt(op.ReduceSumSquare(X, AXIS, keepdims=1))
        X = op.Div(X, op.Where(op.Greater(length, np.array(0.0)), length, np.array([[1.0]])))
    centered = op.Sub(X, geometry.mean)
    products = op.MatMul(centered, (rows - geometry.mean).T.copy())
    distances2 = _squared_distances(products, centered, geometry.squares, op)
    kernel = _kernel(components, products, distances2, geometry.mass, op)
    nearest = op.ArgMin(distances2, axis=1, keepdims=0)
    apart = op.ReduceMax(op.Abs(op.Sub(X, op.Gather(rows, nearest, axis=0))), AXIS, keepdims=1)
    is_known = op.LessOrEqual(apart, np.array(SAME_DIRECTION if geometry.is_cosine else 0.0))

    def in_place(of_rows: np.ndarray, of_others: Any) -> Any:
        return op.Where(is_known, op.Gather(of_rows, nearest, axis=0), of_others)

    coef, bias = _coefficients(average)
    placed = op.MatMul(kernel, geometry.mass[:, None] * components.vectors / components.values)
    placed = in_place(components.vectors, placed)
    parts = _of_ordinary_kernels(library, average.labeled, coef, centered, kernel, op)
    parts += _of_components(library, average.labeled, coef, placed, op)
    for k, graph in library.graphs.items():
        slopes = _graph_slopes(library, k, average.labeled, coef)
        if slopes is not None:
            functions = in_place(graph.vectors, _functions_at(graph, distances2, geometry.mass, op))
            parts.append(op.MatMul(functions, slopes))
    return op.Add(op.Sum(*parts), bias)


def _coefficients(average: KernelAverage) -> tuple[dict[str, np.ndarray], np.ndarray]:
    coef: dict[str, Any] = {}
    bias: Any = 0.0
    for name, machine in average.machines.items():
        kernel, weight = average.kernels[name], average.weights[name]
        coef[kernel] = coef.get(kernel, 0.0) + weight * machine.coef
        bias = bias + weight * machine.bias
    return coef, bias


def _squared_distances(products: Any, rows: Any, squares: np.ndarray, op: Any) -> Any:
    own = op.ReduceSumSquare(rows, AXIS, keepdims=1)
    return op.Max(op.Add(op.Add(op.Mul(products, np.array(-2.0)), own), squares), np.array(0.0))


def _kernel(components: Any, products: Any, distances2: Any, mass: np.ndarray, op: Any) -> Any:
    """`KernelComponents.kernel`."""
    if components.median is None:
        return products
    values = op.Exp(op.Mul(distances2, np.array(-0.5 / components.median)))
    means = op.MatMul(values, (mass / mass.sum())[:, None])
    return op.Add(op.Sub(values, means), components.mean - components.column_mean)


def _of_ordinary_kernels(
    library: KernelLibrary, labeled: np.ndarray, coef: dict[str, Any], centered: Any, kernel: Any, op: Any
) -> list[Any]:
    geometry, parts = library.geometry, []
    plain = "cosine" if geometry.is_cosine else "rbf"
    if plain in coef:
        trace = library.components.trace
        full = np.zeros((geometry.n_rows, coef[plain].shape[1]))
        np.add.at(full, labeled, coef[plain] * (geometry.total / trace if trace > 0 else 0.0))
        parts.append(op.MatMul(kernel, full))
    if "linear" in coef:
        trace = float(geometry.mass @ geometry.squares)
        from_mean = np.asarray(geometry.rows[labeled] - geometry.mean)
        slopes = from_mean.T @ coef["linear"] * (geometry.total / trace if trace > 0 else 0.0)
        parts.append(op.MatMul(centered, slopes))
    return parts


def _of_components(
    library: KernelLibrary, labeled: np.ndarray, coef: dict[str, Any], placed: Any, op: Any
) -> list[Any]:
    vectors, parts = library.components.vectors, []
    Q = vectors[labeled]
    if "components" in coef:
        m = min(library.n_classes - 1, Q.shape[1])
        is_first = (np.arange(Q.shape[1]) < m)[:, None]
        parts.append(op.MatMul(placed, is_first * (Q.T @ coef["components"]) * (library.geometry.total / m)))
    if "component rbf" in coef:
        between = _squared_distances(op.MatMul(placed, Q.T.copy()), placed, (Q * Q).sum(axis=1), op)
        gaussian = op.Exp(op.Mul(between, np.array(-0.5 / library.components.white_median)))
        parts.append(op.MatMul(gaussian, coef["component rbf"]))
    return parts


def _graph_slopes(library: KernelLibrary, k: int, labeled: np.ndarray, coef: dict[str, Any]) -> np.ndarray | None:
    """What the functions of a graph are multiplied by, (r, c), all its kernels together; None if none is used."""
    graph, total = library.graphs[k], library.geometry.total
    V = graph.vectors[labeled]
    slopes = None
    for name in library._graph_names(k):
        if name not in coef:
            continue
        if name.endswith("smooth"):
            weight = (graph.lam + FLOOR) ** -POWER
        else:
            weight = (np.arange(len(graph.lam)) < graph.smoothest(int(name.rsplit(" ", 1)[1]))).astype(np.float64)
        part = weight[:, None] * (V.T @ coef[name]) * (total / weight.sum())
        slopes = part if slopes is None else slopes + part
    return slopes


def _functions_at(graph: GraphFunctions, distances2: Any, mass: np.ndarray, op: Any) -> Any:
    """`GraphFunctions.place`, (n, r)."""
    found = op.TopK(distances2, np.array([graph.n_neighbors], dtype=np.int64), axis=1, largest=0, sorted=1)
    link = op.Exp(op.Mul(found[0], np.array(-0.5 / graph.width**2)))
    link = op.Mul(op.Max(link, np.array(SMALLEST_LINK)), op.Gather(mass, found[1], axis=0))
    degree = op.ReduceSum(link, AXIS, keepdims=1)
    link = op.Div(link, op.Sqrt(op.Mul(degree, op.Gather(graph.degree, found[1], axis=0))))
    is_extended = graph.lam < EXTENDED_BELOW
    table = np.where(is_extended, graph.vectors / np.where(is_extended, 1 - graph.lam, 1.0), 0.0)
    values = op.Mul(op.Unsqueeze(link, np.array([2], dtype=np.int64)), op.Gather(table, found[1], axis=0))
    return op.ReduceSum(values, AXIS, keepdims=0)
