"""One average of least-squares SVMs, each on a kernel of its own.

Every member is trained on the labeled rows (`leave_one_out`), the weights come from the leave-one-out scores of all of
them (`stacking`), and the scores of the average are the weighted sum of theirs, not scaled before: where the labels say
little about a row in some kernel, its score there is near the bias, and so has little influence.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.estimators.auto.geometry import chunks_of
from semisvm.estimators.auto.leave_one_out import LeastSquaresMachine, fit_least_squares
from semisvm.estimators.auto.library import Coordinates, KernelLibrary, Member
from semisvm.estimators.auto.stacking import Stacked, stack
from semisvm.estimators.progress import RoundRecord

BELIEVED = 1e-9  # of the largest belief: members with less are not trained


@dataclass(frozen=True)
class LabeledTarget:
    """What the labeled rows say.

    labeled   (l,)    the rows of the library that they are
    Y         (l, c)  +1 for the rows of a class, -1 for others; one column for two classes, +1 being the second
    weight    (l,)    how many rows each counts for
    price     (l,)    what its error costs; the mean over all rows is 1
    """

    labeled: np.ndarray
    Y: np.ndarray
    weight: np.ndarray
    price: np.ndarray


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
class AverageFit:
    """An average, the leave-one-out scores (l, c) of it, how its weights were found, and one record per member."""

    average: KernelAverage
    left_out: np.ndarray
    stacked: Stacked
    history: list[RoundRecord]
    was_stopped: bool


def fit_average(
    library: KernelLibrary,
    at: Coordinates,
    target: LabeledTarget,
    *,
    ridge: float,
    strength: float,
    tell: Callable[[RoundRecord], bool],
) -> AverageFit:
    """Train the members on the rows of the library at `at`, and weigh them; `tell` may end it after any member."""
    began = time.perf_counter()
    members = library.members(target.labeled)
    enough = BELIEVED * max(member.belief for member in members)
    machines: dict[str, LeastSquaresMachine] = {}
    records: dict[str, RoundRecord] = {}
    was_stopped = False
    for kernel_name, kernel in library.between(_select(at, target.labeled), target.labeled):
        for member in members:
            if was_stopped or member.kernel != kernel_name or member.belief <= enough:
                continue
            machine = fit_least_squares(kernel, target.Y, target.weight, target.price, ridge=member.ridge * ridge)
            machines[member.name] = machine
            records[member.name] = _record(member, machine, target, len(records), time.perf_counter() - began)
            was_stopped = tell(records[member.name])

    trained = [member for member in members if member.name in machines]
    belief = np.array([member.belief for member in trained])
    left_out = np.stack([machines[member.name].left_out for member in trained])
    count = target.weight * target.price
    stacked = stack(left_out, target.Y, count, belief / belief.sum(), strength=strength)
    weights = dict.fromkeys((member.name for member in members), 0.0)
    weights |= {member.name: float(w) for member, w in zip(trained, stacked.weights, strict=True)}
    history = [record.with_details(weight=weights[name]) for name, record in records.items()]
    kernels = {member.name: member.kernel for member in members}
    average = KernelAverage(library, target.labeled, kernels, machines, weights)
    return AverageFit(average, np.tensordot(stacked.weights, left_out, 1), stacked, history, was_stopped)


def _record(
    member: Member, machine: LeastSquaresMachine, target: LabeledTarget, number: int, seconds: float
) -> RoundRecord:
    """What is told about a member: its leave-one-out errors, each row counted by weight and price."""
    squares = ((target.Y - machine.left_out) ** 2).mean(axis=1)
    if target.Y.shape[1] == 1:
        is_wrong = (machine.left_out * target.Y <= 0)[:, 0]
    else:
        is_wrong = machine.left_out.argmax(axis=1) != target.Y.argmax(axis=1)
    count = target.weight * target.price
    return RoundRecord(
        problem=member.name,
        round=number,
        n_iter=1,
        seconds=seconds,
        objective=float(np.average(squares, weights=count)),
        details={"loo_error": float(np.average(is_wrong, weights=count)), "belief": member.belief},
    )


def _select(at: Coordinates, rows: np.ndarray) -> Coordinates:
    functions = {k: values[rows] for k, values in at.functions.items()}
    return Coordinates(at.products[rows], at.kernel[rows], at.components[rows], functions)
