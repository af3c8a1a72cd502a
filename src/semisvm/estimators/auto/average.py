"""One average of machines, most of them least-squares SVMs, each on a kernel of its own.

Every member is trained on the labeled rows (`stacking`), the weights come from the leave-one-out scores of all of them,
and the scores of the average are the weighted sum of theirs, not scaled before: where the labels say little about a row
in some kernel, its score there is near the bias, and so has little influence.

The members' leave-one-out scores have not seen the labels of their rows, but the weights of the average have. *Crossed*
scores have not: the labeled rows are dealt to folds by what they hold, and those of each are averaged with the weights
that the others give.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.estimators.auto.geometry import chunks_of
from semisvm.estimators.auto.library import Coordinates, KernelLibrary, Member
from semisvm.estimators.auto.preparation import TableRows
from semisvm.estimators.auto.stacking import LeastSquaresMachine, LogisticMachine, Stacked, fit_least_squares, stack
from semisvm.estimators.costs import Costs
from semisvm.estimators.equal_rows import content_key
from semisvm.estimators.progress import RoundRecord
from semisvm.labels import Labels

WORSE_THAN_RANDOM = 1.2  # times the error that random labels are expected to give: no belief is left
BELIEVED = 1e-9  # of the largest belief: members with less are not trained
SMALLEST_PRICE = 1e-9  # of the largest: a class that is free still has rows
MOST_CROSSINGS = 20

Machine = LeastSquaresMachine | LogisticMachine


@dataclass(frozen=True)
class LabeledTarget:
    """What the labeled rows say.

    labeled   (l,)    the rows that they are: of those that kernels are made from, or of a library
    Y         (l, c)  +1 for the rows of a class, -1 for others; one column for two classes, +1 being the second
    weight    (l,)    how many rows each counts for
    price     (l,)    what its error costs; the mean over all rows is 1
    fold      (l,)    where it is dealt to; copies of a row share a fold, and the order of the rows does not matter
    """

    labeled: np.ndarray
    Y: np.ndarray
    weight: np.ndarray
    price: np.ndarray
    fold: np.ndarray

    @property
    def count(self) -> np.ndarray:
        """How much each labeled row counts."""
        return self.weight * self.price


@dataclass(frozen=True)
class FamilySettings:
    """What the members are told."""

    n_classes: int
    n_neighbors: tuple[int, ...]
    metric: str
    is_safe: bool
    ridge: float
    strength: float
    tell: Callable[[RoundRecord], bool]
    device: str = "cpu"
    kernels_only: bool = False

    def train_with(self, title: str) -> dict[str, Any]:
        """What `train_members` is told; `title` comes before the names of the members."""
        return {"ridge": self.ridge, "strength": self.strength, "tell": self.tell, "title": title}


@dataclass(frozen=True)
class KernelAverage:
    """The trained members, by name their kernels, machines and weights."""

    library: KernelLibrary
    labeled: np.ndarray
    kernels: dict[str, str]
    machines: dict[str, LeastSquaresMachine]
    weights: dict[str, float]

    def scores(self, at: Coordinates) -> np.ndarray:
        """The scores of rows at these coordinates, (m, c)."""
        total: Any = 0.0
        for kernel_name, kernel in self.library.between(at, self.labeled):
            for name, machine in self.machines.items():
                if self.kernels[name] == kernel_name:
                    total = total + self.weights[name] * machine.scores(kernel)
        return total

    def scores_of_rows(self, X: Any) -> np.ndarray:
        """The scores of any rows, (m, c), a part of them at a time so that memory stays bounded."""
        parts = chunks_of(X.shape[0], self.library.geometry.n_rows)
        return np.concatenate([self.scores(self.library.place(X[part])) for part in parts])

    def kernel(self, at: Coordinates, rows: np.ndarray) -> np.ndarray:
        """The kernels, averaged with the same weights, between rows at these coordinates and some rows of the fit."""
        weight_of: dict[str, float] = {}
        for name, weight in self.weights.items():
            weight_of[self.kernels[name]] = weight_of.get(self.kernels[name], 0.0) + weight
        return np.sum([weight_of.get(name, 0.0) * K for name, K in self.library.between(at, rows)], axis=0)


@dataclass(frozen=True)
class MembersFit:
    """Trained members: their machines, weights and leave-one-out scores (l, c) as an average, and how they came.

    members   those that were trained; none in a forest
    crossed   (l, c) the same scores, of weights that have not seen the labels of their rows
    history   one record per member
    """

    members: list[Member]
    machines: dict[str, Any]
    weights: dict[str, float]
    left_out: np.ndarray
    crossed: np.ndarray
    stacked: Stacked
    history: list[RoundRecord]
    was_stopped: bool


def train_members(
    kernels: Iterable[tuple[str, np.ndarray]],
    members: list[Member],
    target: LabeledTarget,
    *,
    ridge: float,
    strength: float,
    tell: Callable[[RoundRecord], bool],
    title: str = "",
    train: Callable[..., Machine] = fit_least_squares,
) -> MembersFit:
    """Train members on what `train` takes, kernels between the labeled rows, and weigh them; `tell` may end it."""
    began = time.perf_counter()
    enough = BELIEVED * max(member.belief for member in members)
    machines: dict[str, Any] = {}
    records: dict[str, RoundRecord] = {}
    was_stopped = False
    for kernel_name, kernel in kernels:
        for member in members:
            if was_stopped or member.kernel != kernel_name or member.belief <= enough:
                continue
            machine = train(kernel, target.Y, target.weight, target.price, ridge=member.ridge * ridge)
            machines[member.name] = machine
            records[member.name] = record = member_record(
                title + member.name, machine.left_out, target, len(records), time.perf_counter() - began, member.belief
            )
            was_stopped = tell(record)

    trained = [member for member in members if member.name in machines]
    left_out = np.stack([machines[member.name].left_out for member in trained])
    prior = prior_weights(trained, machines, target)
    stacked = stack(left_out, target.Y, target.count, prior, strength=strength)
    weights = dict.fromkeys((member.name for member in members), 0.0)
    weights |= {member.name: float(w) for member, w in zip(trained, stacked.weights, strict=True)}
    history = [record.with_details(weight=weights[name]) for name, record in records.items()]
    scores = np.tensordot(stacked.weights, left_out, 1)

    def weigh(kept: np.ndarray) -> np.ndarray:
        prior = prior_weights(trained, machines, target, kept)
        return stack(left_out[:, kept], target.Y[kept], target.count[kept], prior, strength=strength).weights

    crossed = cross(left_out, target, weigh)
    return MembersFit(trained, machines, weights, scores, crossed, stacked, history, was_stopped)


def cross(scores: np.ndarray, target: LabeledTarget, weigh: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The averages (l, c) of scores (J, l, c), each row by the weights that `weigh` gives for a mask of other rows."""
    fold, found = target.fold, np.empty_like(target.Y)
    for own in range(fold.max() + 1):
        found[fold == own] = np.tensordot(weigh(fold != own), scores[:, fold == own], 1)
    return found


def codes_of(Y: np.ndarray) -> np.ndarray:
    """The class of each row."""
    return np.where(Y[:, 0] > 0, 1, 0) if Y.shape[1] == 1 else Y.argmax(axis=1)


def prior_weights(
    trained: list[Member], machines: dict[str, Any], target: LabeledTarget, rows: Any = slice(None)
) -> np.ndarray:
    """The weights of members before stacking, (J,): beliefs, less where some labeled rows speak against a member."""
    Y, weight, count = target.Y[rows], target.weight[rows], target.count[rows]
    total = float(weight.sum())
    variance = float((weight @ (Y - weight @ Y / total) ** 2).sum()) / max(total - 1, total / 2)
    found = np.empty(len(trained))
    for j, member in enumerate(trained):
        machine = machines[member.name]
        error = float(count @ ((Y - machine.left_out[rows]) ** 2).sum(axis=1))
        expected = variance * float(count @ machine.spread[rows])
        excess = (error / expected - 1) / (WORSE_THAN_RANDOM - 1) if member.is_structure and expected > 0 else 0.0
        found[j] = member.belief * np.clip(1 - excess, BELIEVED, 1)
    return found / found.sum()


def fit_average(
    library: KernelLibrary, at: Coordinates, target: LabeledTarget, **how: Any
) -> tuple[KernelAverage, MembersFit]:
    """Train the members of a library on its rows at `at`; `how` is what `train_members` is told."""
    members = library.members(target.labeled)
    kernels = library.between(_select(at, target.labeled), target.labeled)
    found = train_members(kernels, members, target, **how)
    kernel_of = {member.name: member.kernel for member in members}
    return KernelAverage(library, target.labeled, kernel_of, found.machines, found.weights), found


def member_record(
    name: str, left_out: np.ndarray, target: LabeledTarget, number: int, seconds: float, belief: float = 1.0
) -> RoundRecord:
    """What is told about a member: its leave-one-out errors, each row counted by weight and price."""
    squares = ((target.Y - left_out) ** 2).mean(axis=1)
    if target.Y.shape[1] == 1:
        is_wrong = (left_out * target.Y <= 0)[:, 0]
    else:
        is_wrong = left_out.argmax(axis=1) != target.Y.argmax(axis=1)
    return RoundRecord(
        problem=name,
        round=number,
        n_iter=1,
        seconds=seconds,
        objective=float(np.average(squares, weights=target.count)),
        details={"loo_error": float(np.average(is_wrong, weights=target.count)), "belief": belief},
    )


def _select(at: Coordinates, rows: np.ndarray) -> Coordinates:
    functions = {k: values[rows] for k, values in at.functions.items()}
    return Coordinates(at.products[rows], at.kernel[rows], at.components[rows], functions)


def labeled_target(X: Any, labels: Labels, costs: Costs, weight: np.ndarray, rows: np.ndarray) -> LabeledTarget:
    """What the labeled ones of these rows say."""
    is_labeled = labels.is_labeled[rows]
    labeled = rows[is_labeled]
    codes = labels.codes[labeled]
    Y = 2.0 * (codes[:, None] == np.arange(labels.n_classes)) - 1
    price = costs.select(labeled).price(codes)
    price = np.maximum(price, SMALLEST_PRICE * price.max())
    price = price * (weight[labeled].sum() / (weight[labeled] @ price))
    Y = Y[:, 1:] if labels.n_classes == 2 else Y
    own = X[labeled]
    key = content_key(own.cells if isinstance(own, TableRows) else own)
    group = np.unique([codes, key], axis=1, return_inverse=True)[1].ravel()  # one class after the other
    fold = group % min(MOST_CROSSINGS, group.max() + 1)
    return LabeledTarget(np.flatnonzero(is_labeled), Y, weight[labeled], price, fold)
