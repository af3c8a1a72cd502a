"""The kinds of families that an average is made of, and how each is trained.

    kernels of a view       the library of one view of the rows (`library`): points, prepared columns, words, characters
    trees without labels    the share of random trees, grown on all rows without labels, in which two rows share a leaf
    latent semantics        inner products of the main directions of TF-IDF, centered and of length 1, with two ridges
    random forest, extra trees      of the labeled rows; their out-of-bag scores stand for leave-one-out scores
    logistic regression     of the labeled rows in the prepared columns, with four ridges

A view is a matrix that is made from the rows (`preparation`). Trees and directions are drawn from a fixed seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD

from semisvm.estimators.auto.average import (
    FamilySettings,
    KernelAverage,
    LabeledTarget,
    MembersFit,
    codes_of,
    fit_average,
    member_record,
    train_members,
)
from semisvm.estimators.auto.library import Member, make_library
from semisvm.estimators.auto.stacking import LogisticMachine, Stacked, fit_logistic
from semisvm.estimators.auto.trees import LeafShares, TreeSet, grow_forest
from semisvm.matrices import as_dense, is_sparse_matrix

N_FOREST_TREES = 300
N_DIRECTIONS, WEAK_RIDGE = 100, 0.1
LOGISTIC_RIDGES = (1, 10, 100, 1000)  # as multiples of the one asked for


# ---- kernels of a view ----


@dataclass(frozen=True)
class KernelFamily:
    """The kernels of one view."""

    view: str
    average: KernelAverage

    def scores(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of rows, (m, c)."""
        return self.average.scores_of_rows(views[self.view])


def train_kernels(
    view: str,
    views: dict[str, Any],
    weight: np.ndarray,
    target: LabeledTarget,
    settings: FamilySettings,
    title: str,
) -> FamilyFit:
    """Train the kernels of one view."""
    metric = settings.metric
    library, node, at = make_library(
        views[view],
        weight,
        settings.n_classes,
        n_neighbors=settings.n_neighbors,
        is_cosine=metric == "cosine" or (metric == "auto" and is_sparse_matrix(views[view])),
        is_safe=settings.is_safe,
        device=settings.device,
    )
    of_nodes = replace(target, labeled=node[target.labeled])
    average, members = fit_average(library, at, of_nodes, **settings.train_with(title))
    return FamilyFit(KernelFamily(view, average), members, average.scores(at)[node])


# ---- kernels that are inner products of features ----


@dataclass(frozen=True)
class LatentDirections:
    """Coordinates in the main directions of all rows, centered and scaled to length 1."""

    directions: TruncatedSVD
    mean: np.ndarray

    def of(self, view: Any) -> Any:
        """The features of rows: dense."""
        centered = self.directions.transform(view) - self.mean
        length = np.linalg.norm(centered, axis=1, keepdims=True)
        return centered / np.where(length > 0, length, 1)

    def products(self, view: Any, slopes: np.ndarray) -> np.ndarray:
        """The features of rows times slopes (p, c)."""
        return self.of(view) @ slopes


def find_latent_directions(view: Any) -> LatentDirections:
    """Find the directions in which rows vary most."""
    directions = TruncatedSVD(max(1, min(N_DIRECTIONS, min(view.shape) - 1)), random_state=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # shares of the variance, of which equal texts have none
        return LatentDirections(directions, directions.fit_transform(view).mean(axis=0))


@dataclass(frozen=True)
class FeatureFamily:
    """Kernels that are inner products of features; by the name of the view its features and the slopes (p, c) there."""

    features: dict[str, LeafShares | LatentDirections]
    slopes: dict[str, np.ndarray]
    bias: np.ndarray

    def scores(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of rows, (m, c)."""
        return self.bias + sum(
            features.products(views[view], self.slopes[view]) for view, features in self.features.items()
        )


def train_features(
    names: tuple[str, ...],
    make: Callable[[Any], LeafShares | LatentDirections],
    ridges: tuple[float, ...],
    views: dict[str, Any],
    weight: np.ndarray,
    target: LabeledTarget,
    settings: FamilySettings,
    title: str,
) -> FamilyFit:
    """Make the features of the views of these names, and train one member per view and ridge."""
    makers = {view: make(views[view]) for view in names}
    features = {view: maker.of(views[view]) for view, maker in makers.items()}
    labeled = {view: matrix[target.labeled] for view, matrix in features.items()}
    members = [
        Member(view if ridge == 1 else f"{view}, weak ridge", view, ridge, 1.0) for view in names for ridge in ridges
    ]
    found = train_members(_inner_products(labeled), members, target, **settings.train_with(title))
    slopes = {view: np.zeros((matrix.shape[1], target.Y.shape[1])) for view, matrix in labeled.items()}
    bias = np.zeros(target.Y.shape[1])
    for member in members:
        if member.name in found.machines:
            machine, share = found.machines[member.name], found.weights[member.name]
            slopes[member.kernel] += share * (labeled[member.kernel].T @ machine.coef)
            bias += share * machine.bias
    scores = bias + sum(features[view] @ slopes[view] for view in names)
    return FamilyFit(FeatureFamily(makers, slopes, bias), found, scores)


def _inner_products(labeled: dict[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    for view, matrix in labeled.items():
        kernel = matrix @ matrix.T
        yield view, as_dense(kernel)


# ---- forests ----


@dataclass(frozen=True)
class ForestFamily:
    """A forest of trees; the score of a class is twice its mean share at the leaves, (n_nodes, n_classes), minus 1."""

    view: str
    trees: TreeSet
    shares: np.ndarray

    def scores(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of rows, (m, c)."""
        return _from_shares(self.trees.sums(views[self.view], self.shares) / len(self.trees.roots))


def train_forest(
    view: str,
    is_random: bool,
    per_cut: Callable[[int], int],
    views: dict[str, Any],
    weight: np.ndarray,
    target: LabeledTarget,
    settings: FamilySettings,
    title: str,
) -> FamilyFit:
    """Train a forest on the labeled rows of one view, of whose d columns a cut looks at `per_cut(d)`."""
    began = time.perf_counter()
    rows, codes = views[view], codes_of(target.Y)
    forest = grow_forest(
        rows[target.labeled],
        codes,
        target.count,
        max(2, target.Y.shape[1]),
        n_trees=N_FOREST_TREES,
        per_cut=per_cut(rows.shape[1]),
        is_random=is_random,
    )
    share = np.bincount(codes, target.count, forest.shares.shape[1]) / target.count.sum()
    has_none = forest.out_of_bag.sum(axis=1) == 0  # rows that no tree has left out get the shares of the classes
    left_out = _from_shares(np.where(has_none[:, None], share, forest.out_of_bag))
    record = member_record(title[:-2], left_out, target, 0, time.perf_counter() - began).with_details(weight=1.0)
    stacked = Stacked(np.ones(1), float(record.objective or 0), n_iter=1, gap=0.0)
    members = MembersFit([], {}, {"": 1.0}, left_out, left_out, stacked, [record], settings.tell(record))
    family = ForestFamily(view, forest.trees, forest.shares)
    return FamilyFit(family, members, family.scores(views))


def _from_shares(share: np.ndarray) -> np.ndarray:
    """From shares of classes to scores: one column for two classes, +1 being the second."""
    return 2 * (share[:, 1:] if share.shape[1] == 2 else share) - 1


# ---- logistic regression ----


@dataclass(frozen=True)
class LogisticFamily:
    """Logistic regressions: by name their views, machines and weights."""

    views: dict[str, str]
    machines: dict[str, LogisticMachine]
    weights: dict[str, float]

    def scores(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of rows, (m, c)."""
        return np.sum(
            [self.weights[name] * machine.scores(views[self.views[name]]) for name, machine in self.machines.items()],
            axis=0,
        )


def train_logistic(
    names: tuple[str, ...],
    views: dict[str, Any],
    weight: np.ndarray,
    target: LabeledTarget,
    settings: FamilySettings,
    title: str,
) -> FamilyFit:
    """Train logistic regression on the views of these names, one member per view and ridge."""
    members = [Member(f"{view}, ridge {ridge}", view, ridge, 1.0) for view in names for ridge in LOGISTIC_RIDGES]
    labeled = ((view, views[view][target.labeled]) for view in names)
    found = train_members(labeled, members, target, **settings.train_with(title), train=fit_logistic)
    family = LogisticFamily({one.name: one.kernel for one in found.members}, found.machines, found.weights)
    return FamilyFit(family, found, family.scores(views))


@dataclass(frozen=True)
class FamilyFit:
    """A trained family, its members, and the scores (n, c) of the rows that the views were made from."""

    family: KernelFamily | FeatureFamily | ForestFamily | LogisticFamily
    members: MembersFit
    scores: np.ndarray
