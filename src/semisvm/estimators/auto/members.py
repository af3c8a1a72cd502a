"""The kinds of families that an average is made of, and how each is trained.

    kernels of a view       the library of one view of the rows (`library`): points, prepared
                            columns, words, characters
    trees without labels    the share of random trees, grown on all rows without labels, in which
                            two rows share a leaf
    latent semantics        inner products of the main directions of TF-IDF, centered and of length
                            1, with two ridges
    random forest, extra trees      of the labeled rows; their out-of-bag scores replace
                                    leave-one-out scores
    logistic regression     of the labeled rows in the prepared columns, with four ridges

A view is a matrix that is made from the rows (`columns.views`). Trees and directions are drawn from
a fixed seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from semisvm.estimators.auto.geometry import SMALLEST_VALUE, chunks_of
from semisvm.estimators.auto.library import (
    MOST_FUNCTIONS,
    Coordinates,
    KernelLibrary,
    make_library,
)
from semisvm.estimators.auto.stacking import (
    FamilySettings,
    Member,
    MembersFit,
    Stacked,
    codes_of,
    member_record,
    train_members,
)
from semisvm.estimators.auto.trees import LeafShares, TreeSet, grow_forest
from semisvm.estimators.least_squares import LabeledTarget, LeastSquaresMachine
from semisvm.matrices import as_dense, is_sparse_matrix

# The kernels of a table's columns are made from this share of `max_rows`: with fewer functions and
# rows that structure is seen from, less than half of the time, and average precision .003 lower on
# four tables.
SHARE_OF_COLUMNS = 1 / 3
MORE_FUNCTIONS = 48  # of graphs of columns and texts, beyond the 8 C that a kernel takes
# The weight of graphs from which a family of columns is made from all rows: with a third of them,
# average precision on digits (optdigits, 100 labels) falls from .95 to .87.
GRAPHS_TAKE_ALL_ROWS = 0.75
N_FOREST_TREES = 300
MOST_COLUMNS_PER_CUT = 60  # more take too long
N_DIRECTIONS, WEAK_RIDGE = 100, 0.1
SUBSPACE_ROUNDS = 4
LOGISTIC_RIDGES = (1, 10, 100, 1000)  # as multiples of the user's
MOST_LOGISTIC_STEPS, LONGEST_STEP = 50, 4.0  # of Newton's method, the second in log-odds
MOST_LOGISTIC_DIRECTIONS = 200  # of columns: a bound on the time
# Of logistic regression, for classes that columns separate without error.
SMALLEST_RIDGE = 1e-9


@dataclass(frozen=True)
class FamilyTask:
    """What a family is trained on, the title that comes before the names of its members, and the
    inner products of the rows of sparse views, which one family leaves to the next.
    """

    views: dict[str, Any]
    weight: np.ndarray
    target: LabeledTarget
    settings: FamilySettings
    title: str = ""
    products: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class FamilyFit:
    """A trained family (one of those of `families.FamilyAverage`), its members, the scores (n, c)
    of the rows that the views were made from, and the prior weight of a family from outside.
    """

    family: Any
    members: MembersFit
    scores: np.ndarray
    belief: float | None = None


# ---- kernels of a view ----


@dataclass(frozen=True)
class KernelFamily:
    """The kernels of one view; by the name of each member its kernel, SVM and weight.

    labeled_node   (l,) the number of each labeled row among the distinct rows of the library
    """

    view: str
    library: KernelLibrary
    labeled_node: np.ndarray
    kernels: dict[str, str]
    machines: dict[str, LeastSquaresMachine]
    weights: dict[str, float]

    def scores(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of rows, (m, c), a part of them at a time so that memory stays bounded."""
        X = views[self.view]
        parts = chunks_of(X.shape[0], self.library.geometry.n_rows)
        return np.concatenate([self.scores_at(self.library.place(X[part])) for part in parts])

    def scores_at(self, at: Coordinates) -> np.ndarray:
        """The scores of rows at these coordinates, (m, c)."""
        total: Any = 0.0
        for kernel_name, kernel in self.library.between(at, self.labeled_node):
            for name, machine in self.machines.items():
                if self.kernels[name] == kernel_name:
                    total = total + self.weights[name] * machine.scores(kernel)
        return total

    def kernel(self, at: Coordinates, node: np.ndarray) -> np.ndarray:
        """The kernels, averaged with the same weights, between rows at these coordinates and
        some rows of the library.
        """
        weight_of: dict[str, float] = {}
        for name, weight in self.weights.items():
            weight_of[self.kernels[name]] = weight_of.get(self.kernels[name], 0.0) + weight
        return np.sum(
            [weight_of.get(name, 0.0) * K for name, K in self.library.between(at, node)], axis=0
        )


def fit_kernels(
    library: KernelLibrary, at: Coordinates, node: np.ndarray, view: str, task: FamilyTask
) -> FamilyFit:
    """Train the members of a library, whose distinct rows are `at` these coordinates; `node` (n,)
    is the number of the distinct row that each row of the task equals.
    """
    labeled_node = node[task.target.position]
    members = library.members(labeled_node)
    kernels = library.between(at.of_rows(labeled_node), labeled_node)
    trained = train_members(kernels, members, task.target, task.settings, task.title)
    kernel_of = {member.name: member.kernel for member in members}
    family = KernelFamily(view, library, labeled_node, kernel_of, trained.machines, trained.weights)
    return FamilyFit(family, trained, family.scores_at(at)[node])


def train_kernels(view: str, task: FamilyTask) -> FamilyFit:
    """Make and train the kernels of one view."""
    settings = task.settings
    rows = task.views[view]
    is_cosine = settings.metric == "cosine"
    if settings.metric == "auto":
        is_cosine = is_sparse_matrix(rows)
    library, node, at = make_library(
        rows,
        task.weight,
        settings.n_classes,
        n_neighbors=settings.n_neighbors,
        is_cosine=is_cosine,
        is_safe=settings.is_safe,
        device=settings.device,
        n_functions=MOST_FUNCTIONS if view == "rows" else 8 * settings.n_classes + MORE_FUNCTIONS,
    )
    if is_sparse_matrix(rows) and is_cosine and view != "rows":  # texts, for latent semantics
        task.products[view] = library.geometry.uncentered(at.products)[np.ix_(node, node)]
    return fit_kernels(library, at, node, view, task)


def train_kernels_of_columns(view: str, task: FamilyTask) -> FamilyFit:
    """Train the kernels of one preparation of a table's columns, made from a sample of the rows;
    where graphs carry most of the weight, which need many rows, from all of them.
    """
    rows = task.views[view]
    sample = _sample_rows(task, int(SHARE_OF_COLUMNS * task.settings.max_rows))
    if sample.all():
        return train_kernels(view, task)
    target = replace(task.target, position=(np.cumsum(sample) - 1)[task.target.position])
    of_sample = replace(task, views={view: rows[sample]}, weight=task.weight[sample], target=target)
    fit = train_kernels(view, of_sample)
    weights = fit.members.weights
    of_graphs = sum(weight for name, weight in weights.items() if name.startswith("graph"))
    if of_graphs > GRAPHS_TAKE_ALL_ROWS and not fit.members.was_stopped:
        return train_kernels(view, task)
    scores = np.empty((len(sample), task.target.Y.shape[1]))
    scores[sample] = fit.scores
    scores[~sample] = fit.family.scores({view: rows[~sample]})
    return replace(fit, scores=scores)


def _sample_rows(task: FamilyTask, n_wanted: int) -> np.ndarray:
    """A mask (n,) of the labeled rows and others, drawn with a fixed seed: as many others as
    labeled rows, or more where fewer rows than wanted are labeled.
    """
    is_kept = np.zeros(len(task.weight), dtype=bool)
    is_kept[task.target.position] = True
    others = np.flatnonzero(~is_kept)
    n_labeled = len(is_kept) - len(others)
    n_others = min(max(n_wanted - n_labeled, n_labeled), len(others))
    is_kept[np.random.default_rng(0).choice(others, n_others, replace=False)] = True
    return is_kept


# ---- kernels that are inner products of features ----


@dataclass(frozen=True)
class LatentDirections:
    """Coordinates in the main directions (d, p) of all rows, centered and scaled to length 1."""

    directions: np.ndarray
    mean: np.ndarray

    def of(self, view: Any) -> Any:
        """The features of rows: dense."""
        return normalize(view.astype(np.float32) @ self.directions - self.mean)

    def products(self, view: Any, slopes: np.ndarray) -> np.ndarray:
        """The features of rows times slopes (p, c)."""
        return self.of(view) @ slopes


def find_latent_directions(view: Any, products: np.ndarray | None = None) -> LatentDirections:
    """Find the directions in which rows vary most, the first right singular vectors of a view, by
    subspace iteration on the inner products of its rows, where these are there already.
    """
    K = as_dense(view @ view.T) if products is None else products
    n_directions = max(1, min(N_DIRECTIONS, min(view.shape) - 1))
    Q = np.random.default_rng(0).standard_normal((len(K), min(n_directions + 20, len(K))))
    for _ in range(SUBSPACE_ROUNDS):
        Q = np.linalg.qr(K @ Q)[0]
    values, vectors = np.linalg.eigh(Q.T @ K @ Q)
    is_kept = values > SMALLEST_VALUE * values[-1]
    is_kept[:-n_directions] = False
    is_kept[-1] = True
    of_rows = Q @ vectors[:, is_kept] / np.sqrt(np.maximum(values[is_kept], np.finfo(float).tiny))
    directions = np.asarray(view.T @ of_rows, dtype=np.float32)  # half of a model file
    mean = np.asarray(view.mean(axis=0), dtype=np.float64).ravel()
    return LatentDirections(directions, mean @ directions)


@dataclass(frozen=True)
class FeatureFamily:
    """Kernels that are inner products of features; by the name of the view its features and the
    slopes (p, c) there.
    """

    features: dict[str, LeafShares | LatentDirections]
    slopes: dict[str, np.ndarray]
    bias: np.ndarray

    def scores(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of rows, (m, c)."""
        parts = (
            features.products(views[view], self.slopes[view])
            for view, features in self.features.items()
        )
        return self.bias + sum(parts)


def train_features(
    names: tuple[str, ...], make: Callable[[Any], Any], ridges: tuple[float, ...], task: FamilyTask
) -> FamilyFit:
    """Make the features of the views of these names, and train one member per view and ridge."""
    views = task.views
    target = task.target
    shared = {view: (task.products[view],) for view in names if view in task.products}
    makers = {view: make(views[view], *shared.get(view, ())) for view in names}
    features = {view: maker.of(views[view]) for view, maker in makers.items()}
    labeled = {view: matrix[target.position] for view, matrix in features.items()}
    members = [
        Member(view if ridge == 1 else f"{view}, weak ridge", view, ridge, 1.0)
        for view in names
        for ridge in ridges
    ]
    kernels = ((view, as_dense(Z @ Z.T)) for view, Z in labeled.items())
    trained = train_members(kernels, members, target, task.settings, task.title)
    slopes = {view: np.zeros((Z.shape[1], target.Y.shape[1])) for view, Z in labeled.items()}
    bias = np.zeros(target.Y.shape[1])
    for member in trained.members:
        machine = trained.machines[member.name]
        share = trained.weights[member.name]
        slopes[member.kernel] += share * (labeled[member.kernel].T @ machine.coef)
        bias += share * machine.bias
    scores = bias + sum(features[view] @ slopes[view] for view in names)
    return FamilyFit(FeatureFamily(makers, slopes, bias), trained, scores)


# ---- forests ----


@dataclass(frozen=True)
class ForestFamily:
    """A forest of trees; the score of a class is twice its mean share at the leaves, (n_nodes,
    n_classes), minus 1.
    """

    view: str
    trees: TreeSet
    shares: np.ndarray

    def scores(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of rows, (m, c)."""
        return from_shares(self.trees.sums(views[self.view], self.shares) / len(self.trees.roots))


def train_forest(view: str, is_random: bool, task: FamilyTask) -> FamilyFit:
    """Train a forest on the labeled rows of one view. Of d columns a cut of extra trees looks at
    the root, which is good where many columns say a little; one of the random forest at half of
    them, which is good where few columns say all.
    """
    began = time.perf_counter()
    rows = task.views[view]
    d = rows.shape[1]
    per_cut = max(1, int(d**0.5))
    if not is_random:
        per_cut = max(per_cut, min((d + 1) // 2, MOST_COLUMNS_PER_CUT))
    target = task.target
    codes = codes_of(target.Y)
    trees, shares, out_of_bag = grow_forest(
        rows[target.position],
        codes,
        target.count,
        max(2, target.Y.shape[1]),
        n_trees=N_FOREST_TREES,
        per_cut=per_cut,
        is_random=is_random,
    )
    # Rows that no tree has left out get the shares of the classes.
    share = np.bincount(codes, target.count, shares.shape[1]) / target.count.sum()
    has_none = out_of_bag.sum(axis=1, keepdims=True) == 0
    left_out = from_shares(np.where(has_none, share, out_of_bag))
    members = single_member(left_out, task, time.perf_counter() - began)
    family = ForestFamily(view, trees, shares)
    return FamilyFit(family, members, family.scores(task.views))


def single_member(
    left_out: np.ndarray, task: FamilyTask, seconds: float, belief: float = 1.0
) -> MembersFit:
    """A family of one member, by its scores (l, c) of labels left out."""
    stacked = Stacked(np.ones(1), n_iter=1, gap=0.0)
    name = task.title.removesuffix(": ")
    record = member_record(name, left_out, task.target, 0, seconds, belief).with_details(weight=1.0)
    return MembersFit(
        [], {}, {"": 1.0}, left_out, left_out, stacked, [record], task.settings.tell(record)
    )


def from_shares(share: np.ndarray) -> np.ndarray:
    """From shares of classes to scores: one column for two classes, +1 being the second."""
    return 2 * (share[:, 1:] if share.shape[1] == 2 else share) - 1


# ---- logistic regression ----


@dataclass(frozen=True)
class LogisticMachine:
    """Slopes (d, c), a bias per class (c,), and the leave-one-out scores (l, c)."""

    slopes: np.ndarray
    bias: np.ndarray
    left_out: np.ndarray

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """The scores of rows, (m, c)."""
        return np.tanh((rows @ self.slopes + self.bias) / 2)


def fit_logistic(
    rows: np.ndarray, Y: np.ndarray, weight: np.ndarray, price: np.ndarray, *, ridge: float
) -> LogisticMachine:
    """Train logistic regression on the labeled rows, (l, d), in their main directions where there
    are many columns.

    minimize  sum_i weight_i price_i log(1 + exp(-Y_i f(x_i))) + ridge |w|^2 / 2,     f(x) = w'x +
              bias

    Scores are 2 p - 1, p the probability of a class, so that they have the scale of the others.
    Those left out are from one step of Newton's method from the solution of all rows, in closed
    form; scikit-learn's LogisticRegression has none, and takes as long or longer (german, wdbc,
    adult; 30 to 300 labels, four ridges: 7 to 21 ms, 2 to 37 ms here, with the scores left out).
    """
    U, s, Vt = np.linalg.svd(rows, full_matrices=False)
    s = s[:MOST_LOGISTIC_DIRECTIONS]
    Vt = Vt[: len(s)]
    Z = np.column_stack([U[:, : len(s)] * s, np.ones(len(rows))])
    scale = float((weight * price).mean())
    least = SMALLEST_RIDGE * max(1.0, float(s[0]) ** 2)
    penalty = np.full(Z.shape[1], np.clip(ridge / scale, least, 1 / SMALLEST_RIDGE))
    penalty[-1] = SMALLEST_RIDGE
    count = weight * price / scale
    left = price * np.minimum(weight, 1) / scale  # how much of a row is left out
    slopes = np.empty((rows.shape[1], Y.shape[1]))
    bias = np.empty(Y.shape[1])
    left_out = np.empty_like(Y)
    for k, y in enumerate(Y.T):
        w = np.zeros(Z.shape[1])
        for _ in range(MOST_LOGISTIC_STEPS):
            half = np.tanh(Z @ w / 2)
            gradient = Z.T @ (count * (y - half)) / 2 - penalty * w
            hessian = (Z.T * (count * (1 - half**2) / 4)) @ Z + np.diag(penalty)
            step = np.linalg.solve(hessian, gradient)
            length = float(np.abs(Z @ step).max())
            w += step / max(1.0, length / LONGEST_STEP)
            if length < 1e-8:
                break
        half = np.tanh(Z @ w / 2)
        hessian = (Z.T * (count * (1 - half**2) / 4)) @ Z + np.diag(penalty)
        reach = np.einsum("ij,ji->i", Z, np.linalg.solve(hessian, Z.T))
        without = 1 - np.minimum(reach * left * (1 - half**2) / 4, 1 - 1e-3)
        left_out[:, k] = np.tanh((Z @ w - reach * left * (y - half) / 2 / without) / 2)
        slopes[:, k] = Vt.T @ w[:-1]
        bias[k] = w[-1]
    return LogisticMachine(slopes, bias, left_out)


@dataclass(frozen=True)
class LogisticFamily:
    """Logistic regressions: by name their views, models and weights."""

    views: dict[str, str]
    machines: dict[str, LogisticMachine]
    weights: dict[str, float]

    def scores(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of rows, (m, c)."""
        parts = [
            self.weights[name] * machine.scores(views[self.views[name]])
            for name, machine in self.machines.items()
        ]
        return np.sum(parts, axis=0)


def train_logistic(names: tuple[str, ...], task: FamilyTask) -> FamilyFit:
    """Train logistic regression on the views of these names, one member per view and ridge."""
    members = [
        Member(f"{view}, ridge {ridge}", view, ridge, 1.0)
        for view in names
        for ridge in LOGISTIC_RIDGES
    ]
    labeled = ((view, task.views[view][task.target.position]) for view in names)
    trained = train_members(labeled, members, task.target, task.settings, task.title, fit_logistic)
    views = {member.name: member.kernel for member in trained.members}
    family = LogisticFamily(views, trained.machines, trained.weights)
    return FamilyFit(family, trained, family.scores(task.views))
