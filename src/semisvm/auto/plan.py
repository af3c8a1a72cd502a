"""Scores of new rows, fast: one plan per fitted model, equal to the sum of its members' scores.

    kernels   one product gives S, the exponents of all Gaussian kernel values of a block of rows:
                  S = [x, 1] [R / median, -|r|^2 / 2 median]'        larger is nearer
                  K0 = exp(S - |x|^2 / 2 median)
              One more product, K0 W, gives the scores of the ordinary kernel and the components.
              The coefficients of an SVM with a bias have the sum 0, so that centering cancels:
              where no component or graph has weight, the labeled rows are enough.
              Graphs: for the k nearest rows, sum_j w_j G_j / sqrt(sum_j w_j), G (n, c) the sum of
              all functions of the graph times their coefficients.
    trees     all trees of a view in one set of nodes, with weighted scores at the leaves.
    others    (texts, classifiers from outside) by their own methods.

Rows are scored in blocks on all cores: compiled loops and BLAS run without the interpreter's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import cpu_count
from numba import njit
from scipy.special import expit
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

from semisvm.auto.geometry import as_rows
from semisvm.auto.graph import SMALLEST_LINK
from semisvm.auto.members import ClassifierModel, KernelModel, LeafModel, OneVsRestLogistic
from semisvm.auto.stacking import Average

ROWS_AT_ONCE = 1_024
STEP = 64  # rows that walk through a tree together: their columns stay in the first cache
ROUNDING = 2e-6  # of the largest exponents, in float32: rows within it may be the nearer ones
SAME_ROW = 1e-20  # of the squared length: a row of the fit but for rounding of its columns
ENOUGH = 30.0  # sum of coefficients, up to which float32 gives scores to 1e-6
COMPILED: Any = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"nnan", "nsz", "contract", "reassoc"},
}


class Plan:
    """Scores (m, c) of any rows by a fitted average; `makers` makes views of them."""

    def __init__(self, average: Average, maker: Any, given: str):
        self.maker, self.given = maker, given
        self.bias = np.zeros(average.out_of_fold.shape[1])
        self.parts: list[Any] = []
        self.slow: list[tuple[Any, np.ndarray]] = []
        self.outside: list[tuple[Any, np.ndarray]] = []
        trees: dict[str, list[Any]] = {}
        for block, weights in average.in_use():
            model = block.model
            if isinstance(model, KernelModel) and not model.kernels.is_cosine:
                self.parts.append(KernelPlan(model, weights))
            elif isinstance(model, LeafModel):
                self.bias = self.bias + weights[0] * model.bias
                trees.setdefault(model.view, []).extend(_leaves(model, weights[0]))
            elif isinstance(model, ClassifierModel):
                self._add_classifiers(model, weights, trees)
            else:
                self.slow.append((model, weights))
        self.parts += [TreePlan(view, nodes) for view, nodes in trees.items()]

    def _add_classifiers(self, model: ClassifierModel, weights: np.ndarray, trees: dict) -> None:
        for (view, classifier), weight in zip(model.fitted, weights, strict=True):
            one = ClassifierModel([(view, classifier)], model.classes)
            if weight == 0:
                continue
            if view == self.given:
                self.outside.append((one, np.array([weight])))
            elif isinstance(classifier, RandomForestClassifier | ExtraTreesClassifier):
                trees.setdefault(view, []).extend(_forest(classifier, weight))
            elif isinstance(classifier, OneVsRestLogistic):
                self.parts.append(LogisticPlan(view, classifier, weight))
            else:
                self.slow.append((one, np.array([weight])))

    def scores(self, rows: Any) -> np.ndarray:
        """The scores of rows, (m, c)."""
        cells = self.maker.read(rows)
        return self._in_blocks(rows.shape[0], lambda part: self.maker.views(cells[part]), rows)

    def scores_of_views(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of rows whose views are there already, (m, c)."""
        n = next(iter(views.values())).shape[0]
        made = {name: rows for name, rows in views.items() if name != self.given}
        return self._in_blocks(
            n, lambda part: {name: rows[part] for name, rows in made.items()}, views.get(self.given)
        )

    def _in_blocks(self, n: int, views_of: Callable[[slice], dict], given: Any) -> np.ndarray:
        out = np.tile(self.bias, (n, 1))
        for model, weights in self.outside:
            out += model.scores({self.given: given}, weights)

        def score(start: int) -> None:
            part = slice(start, start + ROWS_AT_ONCE)
            views = views_of(part)
            for plan in self.parts:
                plan.add(views[plan.view], out[part])
            for model, weights in self.slow:
                out[part] += model.scores(views, weights)

        if n <= ROWS_AT_ONCE:
            score(0)
            return out
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(cpu_count()) as pool:
            list(pool.map(score, range(0, n, ROWS_AT_ONCE)))
        return out


class KernelPlan:
    """The kernels of one view; see the module's docstring."""

    def __init__(self, model: KernelModel, weights: np.ndarray):
        kernels, node, self.view = model.kernels, model.labeled, model.view
        components, C, mass = kernels.components, kernels.n_classes, kernels.mass
        coef, self.bias = model.combined(weights)
        c, total, share = len(self.bias), mass.sum(), mass / mass.sum()
        self.mean, R = kernels.mean, kernels.rows - kernels.mean
        self.slope = np.zeros((R.shape[1], c))
        if "linear" in coef:
            self.slope = R[node].T @ coef["linear"] * kernels.scale["linear"]
        self.c, self.median = c, components.median or 1.0
        has_components = "components" in coef or "component rbf" in coef
        self.graphs = (
            GraphPlan(kernels, node, coef) if any("graph" in name for name in coef) else None
        )
        kept = np.arange(len(R)) if has_components or self.graphs else np.unique(node)
        W = np.zeros((len(R), c))
        if "rbf" in coef:
            a = coef["rbf"] * kernels.scale["kernel"]
            np.add.at(W, node, a)
            sums = a.sum(axis=0)  # 0, but for rounding
            W -= share[:, None] * sums
            self.bias = self.bias + components.column_mean @ share * sums
            self.bias = self.bias - components.column_mean[node] @ a
        self.to_components = None
        if has_components:
            M = mass[:, None] * components.vectors / components.values
            W = np.hstack([W, M - share[:, None] * M.sum(axis=0)])
            self.origin = (
                components.column_mean @ share * M.sum(axis=0) - components.column_mean @ M
            )
            m = min(C - 1, M.shape[1])
            self.to_components = np.zeros((M.shape[1], c))
            self.landmarks = components.vectors[node]
            if "components" in coef:
                self.to_components[:m] = self.landmarks[:, :m].T @ coef["components"] * (total / m)
            self.near = coef.get("component rbf", np.zeros((len(node), c)))
            self.narrow = -0.5 * total / kernels.component_width
        self.dtype: Any = np.float32 if np.abs(W).sum(axis=0).max() < ENOUGH else np.float64
        self.W = W[kept].astype(self.dtype)
        R = R[kept]
        squares = (R * R).sum(axis=1)
        self.farthest = float(np.sqrt(squares.max()))
        self.exponents = np.ascontiguousarray(
            np.column_stack([R, -squares / 2]).T / self.median, dtype=self.dtype
        )

    def add(self, x: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of rows of the view."""
        x = as_rows(x) - self.mean
        out += self.bias
        out += x @ self.slope
        squares = (x * x).sum(axis=1)
        rows = np.ones((len(x), x.shape[1] + 1), dtype=self.dtype)
        rows[:, :-1] = x
        S = rows @ self.exponents
        if self.graphs is not None:
            reach = self.farthest * (np.sqrt(squares) + self.farthest / 2) / self.median
            self.graphs.add(S, x, ROUNDING * reach, out)
        S -= (squares / (2 * self.median))[:, None].astype(self.dtype)
        scores = np.exp(S, out=S) @ self.W
        out += scores[:, : self.c]
        if self.to_components is not None:
            P, Q = scores[:, self.c :] + self.origin, self.landmarks
            out += P @ self.to_components
            apart = (P * P).sum(axis=1)[:, None] + (Q * Q).sum(axis=1) - 2 * P @ Q.T
            out += np.exp(np.maximum(apart, 0) * self.narrow) @ self.near


class GraphPlan:
    """The graphs of one view: what each link to a row adds, (graphs, n, c), and the scores of the
    rows themselves.
    """

    def __init__(self, kernels: Any, node: np.ndarray, coef: dict[str, np.ndarray]):
        c = next(iter(coef.values())).shape[1]
        T = {k: np.zeros((len(graph.lam), c)) for k, graph in kernels.graphs.items()}
        for name, k, factor in kernels.spectra():
            if name in coef:
                T[k] += factor[:, None] * (kernels.graphs[k].vectors[node].T @ coef[name])
        used = {k: graph for k, graph in kernels.graphs.items() if T[k].any()}
        self.counts = np.array([graph.n_neighbors for graph in used.values()])
        self.widths = np.array([graph.width for graph in used.values()])
        self.per_link = np.array([graph.extension @ T[k] for k, graph in used.items()])
        self.known = np.array([graph.vectors @ T[k] for k, graph in used.items()])
        self.mass, self.unit = kernels.mass, kernels.unit
        self.rows = np.ascontiguousarray(kernels.rows - kernels.mean)

    def add(self, S: np.ndarray, x: np.ndarray, margin: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of rows with these exponents, of which `margin` may be rounding."""
        if len(self.counts):
            arrays = self.rows, self.mass, self.counts, self.widths, self.per_link, self.known
            _add_graphs(S, np.ascontiguousarray(x), margin, *arrays, self.unit, out)


@njit(**COMPILED)
def _add_graphs(S, x, margin, rows, mass, counts, widths, per_link, known, unit, out):  # type: ignore[no-untyped-def]
    m, n = S.shape
    c, k = out.shape[1], counts.max()
    top = np.empty(k, S.dtype)  # 1. the k largest exponents
    at = np.empty(k, np.int64)  # 2. the k nearest rows, nearest first, and their distances
    place, distance2, link = np.empty(k), np.empty(k), np.empty(k)
    for i in range(m):
        used = 0
        for start in range(0, n, 16):
            end = min(start + 16, n)
            most = S[i, start]
            for j in range(start, end):
                most = max(most, S[i, j])
            if used == k and not most > top[k - 1]:
                continue
            for j in range(start, end):
                s = S[i, j]
                if used == k and not s > top[k - 1]:
                    continue
                p = used if used < k else k - 1
                while p > 0 and top[p - 1] < s:
                    top[p] = top[p - 1]
                    p -= 1
                top[p] = s
                used = min(used + 1, k)
        least = top[used - 1] - margin[i]
        size = 0.0
        for q in range(x.shape[1]):
            size += x[i, q] * x[i, q]
        used = 0
        for j in range(n):
            if S[i, j] < least:
                continue
            total = 0.0
            for q in range(x.shape[1]):
                step = x[i, q] - rows[j, q]
                total += step * step
            near = np.rint(total / unit)
            if used == k and not near < place[k - 1]:
                continue
            p = used if used < k else k - 1
            while p > 0 and place[p - 1] > near:
                place[p], distance2[p], at[p] = place[p - 1], distance2[p - 1], at[p - 1]
                p -= 1
            place[p], distance2[p], at[p] = near, total, j
            used = min(used + 1, k)
        for g in range(counts.shape[0]):
            if distance2[0] <= SAME_ROW * (1.0 + size):
                for q in range(c):
                    out[i, q] += known[g, at[0], q]
                continue
            total = 0.0
            for p in range(counts[g]):
                weight = max(np.exp(-0.5 * distance2[p] / widths[g] ** 2), SMALLEST_LINK)
                link[p] = weight * mass[at[p]]
                total += link[p]
            for p in range(counts[g]):
                for q in range(c):
                    out[i, q] += link[p] / np.sqrt(total) * per_link[g, at[p], q]


def _forest(forest: Any, weight: float) -> list[tuple[Any, np.ndarray]]:
    """The trees of a forest, and the weighted scores (n, c) of their nodes."""
    trees = []
    for one in forest.estimators_:
        p = one.tree_.value[:, 0] / one.tree_.value[:, 0].sum(axis=1, keepdims=True)
        scores = 2 * (p[:, 1:] if p.shape[1] == 2 else p) - 1
        trees.append((one.tree_, weight / len(forest.estimators_) * scores))
    return trees


def _leaves(model: LeafModel, weight: float) -> list[tuple[Any, np.ndarray]]:
    """The trees that were grown without labels, and the weighted scores of their nodes."""
    trees, start = [], 0
    leaves = model.trees.one_hot_encoder_.categories_
    for one, of_tree in zip(model.trees.estimators_, leaves, strict=True):
        scores = np.zeros((one.tree_.node_count, model.slopes.shape[1]))
        scores[of_tree] = weight * model.slopes[start : start + len(of_tree)]
        start += len(of_tree)
        trees.append((one.tree_, scores))
    return trees


class TreePlan:
    """All trees of one view as one set of nodes, in which the right child follows the left one.

    branch      (nodes,) number of the left child times 2^16, plus the column that is compared; a
                leaf is its own left child
    threshold   (nodes,) the row goes right above it; infinite at a leaf
    scores      (nodes, c)
    """

    def __init__(self, view: str, trees: list[tuple[Any, np.ndarray]]):
        self.view, start = view, 0
        roots, depths, branches, thresholds, scores = [], [], [], [], []
        for tree, of_nodes in trees:
            order = [0]  # of the nodes, level by level
            for node in order:
                if tree.children_left[node] >= 0:
                    order += [tree.children_left[node], tree.children_right[node]]
            is_leaf = tree.children_left[order] < 0
            number = np.empty(len(order), dtype=np.int64)
            number[order] = np.arange(start, start + len(order))
            left = np.where(is_leaf, number[order], number[tree.children_left[order]])
            branches.append((left << 16) | np.where(is_leaf, 0, tree.feature[order]))
            exact = tree.threshold[order]
            rounded = exact.astype(np.float32)  # down: rows are float32, too
            down = np.nextafter(rounded, np.float32(-np.inf))
            rounded = np.where(rounded > exact, down, rounded)
            thresholds.append(np.where(is_leaf, np.float32(np.inf), rounded))
            scores.append(of_nodes[order])
            roots.append(start)
            depths.append(tree.max_depth)
            start += len(order)
        self.nodes = (
            np.array(roots),
            np.array(depths),
            np.concatenate(branches),
            np.concatenate(thresholds).astype(np.float32),
            np.concatenate(scores),
        )

    def add(self, x: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of rows of the view."""
        _add_trees(np.ascontiguousarray(x, dtype=np.float32), *self.nodes, out)


@njit(**COMPILED)
def _add_trees(rows, root, depth, branch, threshold, scores, out):  # type: ignore[no-untyped-def]
    """Tree by tree and step by step for a few rows, whose loop has no branch."""
    m, c = out.shape
    d = rows.shape[1]
    at = np.empty(STEP, np.int64)
    held = np.empty(STEP * d, np.float32)
    for start in range(0, m, STEP):
        n = min(STEP, m - start)
        for i in range(n):
            for q in range(d):
                held[i * d + q] = rows[start + i, q]
        for t in range(root.shape[0]):
            for i in range(n):
                at[i] = root[t]
            for _ in range(depth[t]):
                for i in range(n):
                    w = branch[at[i]]
                    at[i] = (w >> 16) + np.int64(held[i * d + (w & 65535)] > threshold[at[i]])
            for i in range(n):
                for k in range(c):
                    out[start + i, k] += scores[at[i], k]


class LogisticPlan:
    """Logistic regressions of one strength."""

    def __init__(self, view: str, classifier: OneVsRestLogistic, weight: float):
        self.view, self.weight = view, weight
        self.slopes, self.bias = classifier.coef_.T, classifier.intercept_

    def add(self, x: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of rows of the view."""
        z = x @ self.slopes + self.bias
        if z.shape[1] == 1:
            out += self.weight * np.tanh(z / 2)
            return
        p = expit(z)
        out += self.weight * (2 * p / p.sum(axis=1, keepdims=True) - 1)
