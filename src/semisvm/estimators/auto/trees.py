"""Decision trees as a few arrays: grown without labels here, or what forests of scikit-learn become.

Models that hold them are small, can be kept in files without trusting any code, and score rows by one compiled loop.

    left, right   (n,)    the children of each node, counted over all trees; a leaf is its own child
    feature       (n,)    a row goes left where row[feature] <= threshold
    threshold     (n,)
    roots         (T,)    the first node of each tree
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.kernels.resources import jit

N_LEAF_TREES, LEAF_DEPTH = 200, 7
FEW_WALKS = 100_000  # from a root to a leaf: NumPy takes them before compiled code is loaded
compiled: Callable[..., Any] = cache(jit)


@dataclass(frozen=True)
class TreeSet:
    """See the module's docstring."""

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    roots: np.ndarray

    @property
    def n_nodes(self) -> int:
        return len(self.left)

    def leaves(self, rows: Any) -> np.ndarray:
        """The leaf of each row in each tree, (m, T)."""
        rows = self._checked(rows)
        if len(rows) * len(self.roots) <= FEW_WALKS:
            return self._leaves_of_few(rows)
        found = np.empty((len(rows), len(self.roots)), dtype=np.int64)
        compiled(_find_leaves)(rows, self.left, self.right, self.feature, self.threshold, self.roots, found)
        return found

    def sums(self, rows: Any, table: np.ndarray) -> np.ndarray:
        """For each row the sum over all trees of the lines of `table`, (n, c), at its leaves: (m, c)."""
        rows = self._checked(rows)
        total = np.zeros((len(rows), table.shape[1]))
        if len(rows) * len(self.roots) <= FEW_WALKS:
            for leaf in self._leaves_of_few(rows).T:
                total += table[leaf]
            return total
        compiled(_sum_at_leaves)(rows, self.left, self.right, self.feature, self.threshold, self.roots, table, total)
        return total

    def _leaves_of_few(self, rows: np.ndarray) -> np.ndarray:
        """The leaves of rows that were checked: every walk takes a step, until all have ended."""
        node = np.broadcast_to(self.roots.astype(np.int64), (len(rows), len(self.roots)))
        row = np.arange(len(rows))[:, None]
        while (self.left[node] != node).any():
            is_left = rows[row, self.feature[node]] <= self.threshold[node]
            node = np.where(is_left, self.left[node], self.right[node])
        return np.array(node)

    def _checked(self, rows: Any) -> np.ndarray:
        """Rows in single precision, as scikit-learn compares them; trees of a damaged file are refused."""
        n, d = self.n_nodes, rows.shape[1]
        is_whole = {len(self.right), len(self.feature), len(self.threshold)} == {n} and self.roots.max() < n
        is_known = is_whole and self.roots.min() >= 0 and self.feature.min() >= 0 and self.feature.max() < d
        own = np.arange(n)  # children come after their parent, so that every walk ends
        if not (is_known and all(((own <= a) & (a < n)).all() for a in (self.left, self.right))):
            raise ValueError(f"These {len(self.roots)} trees are damaged, or were not grown on {d} columns.")
        return np.ascontiguousarray(rows, dtype=np.float32)


def trees_of(forest: Any) -> TreeSet:
    """The trees of a fitted forest of scikit-learn."""
    trees = [one.tree_ for one in forest.estimators_]
    roots = np.cumsum([0, *(tree.node_count for tree in trees)])[:-1]
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("left", "right", "feature", "threshold")}
    for root, tree in zip(roots, trees, strict=True):
        own = np.arange(tree.node_count)
        is_leaf = tree.children_left < 0
        parts["left"].append(np.where(is_leaf, own, tree.children_left) + root)
        parts["right"].append(np.where(is_leaf, own, tree.children_right) + root)
        parts["feature"].append(np.where(is_leaf, 0, tree.feature))
        parts["threshold"].append(np.where(is_leaf, 0.0, tree.threshold))
    return TreeSet(roots=roots, **{name: np.concatenate(arrays) for name, arrays in parts.items()})


def shares_at_leaves(forest: Any) -> np.ndarray:
    """The shares of the classes at each node of a fitted forest of classifiers, (n, c)."""
    values = np.concatenate([one.tree_.value[:, 0, :] for one in forest.estimators_])
    return values / values.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class LeafShares:
    """One column per node of every tree, so that inner products are the share of trees in which two rows meet."""

    trees: TreeSet

    def of(self, view: Any) -> Any:
        """The features of rows: sparse, one entry per tree."""
        leaves = self.trees.leaves(view)
        n, k = leaves.shape
        data = np.full(n * k, k**-0.5)
        return sparse.csr_matrix((data, leaves.ravel(), np.arange(0, n * k + 1, k)), shape=(n, self.trees.n_nodes))

    def products(self, view: Any, slopes: np.ndarray) -> np.ndarray:
        """The features of rows times slopes (p, c), without making the features."""
        return self.trees.sums(view, slopes) * len(self.trees.roots) ** -0.5


def grow_leaf_shares(view: Any) -> LeafShares:
    """Grow trees without labels: each node is cut at random between the ends of a random column that varies there."""
    rows, most = np.ascontiguousarray(view, dtype=np.float32), N_LEAF_TREES * (2 ** (LEAF_DEPTH + 1) - 1)
    left, right, feature = (np.zeros(most, dtype=np.int64) for _ in range(3))
    threshold, roots = np.zeros(most), np.zeros(N_LEAF_TREES, dtype=np.int64)
    draws = np.random.default_rng(0).random(4 * most)
    n = compiled(_grow_at_random)(rows, LEAF_DEPTH, draws, left, right, feature, threshold, roots)
    return LeafShares(TreeSet(left[:n].copy(), right[:n].copy(), feature[:n].copy(), threshold[:n].copy(), roots))


def _grow_at_random(rows, depth, draws, left, right, feature, threshold, roots):
    """Fill the arrays of trees from random numbers in [0, 1), and return the number of nodes."""
    n_rows, n_columns = rows.shape
    most = 2 ** (depth + 1)
    start, end, level = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    order, columns = np.arange(n_rows), np.arange(n_columns)
    total = used = 0
    for t in range(roots.shape[0]):
        roots[t], start[0], end[0], level[0] = total, 0, n_rows, 0
        count, own = 1, 0
        while own < count:
            node = total + own
            left[node] = right[node] = node
            low = high = np.float32(0)
            m, column = 0, 0
            while level[own] < depth and not high > low and m < n_columns:
                pick = m + int(draws[used % draws.shape[0]] * (n_columns - m))
                used += 1
                column = columns[pick]
                columns[pick], columns[m] = columns[m], column
                low = high = rows[order[start[own]], column]
                for k in range(start[own] + 1, end[own]):
                    value = rows[order[k], column]
                    low, high = min(low, value), max(high, value)
                m += 1
            if high > low:
                cut = low + draws[used % draws.shape[0]] * (np.float64(high) - low)
                used += 1
                cut = cut if cut < high else np.float64(low)
                middle = start[own]
                for k in range(start[own], end[own]):
                    if rows[order[k], column] <= cut:
                        order[k], order[middle] = order[middle], order[k]
                        middle += 1
                feature[node], threshold[node] = column, cut
                left[node], right[node] = total + count, total + count + 1
                start[count], end[count] = start[own], middle
                start[count + 1], end[count + 1] = middle, end[own]
                level[count] = level[count + 1] = level[own] + 1
                count += 2
            own += 1
        total += count
    return total


def _find_leaves(rows, left, right, feature, threshold, roots, found):
    for i in range(rows.shape[0]):
        for t in range(roots.shape[0]):
            node = roots[t]
            while left[node] != node:
                node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
            found[i, t] = node


def _sum_at_leaves(rows, left, right, feature, threshold, roots, table, total):
    for t in range(roots.shape[0]):
        for i in range(rows.shape[0]):
            node = roots[t]
            while left[node] != node:
                node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
            for c in range(table.shape[1]):
                total[i, c] += table[node, c]
