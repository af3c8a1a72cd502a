"""One average of least-squares SVMs, each on a kernel of its own.

Every member is trained on the labeled rows, the weights come from the leave-one-out scores of all of them, and the
scores of the average are the weighted sum of theirs, not scaled before: where the labels say little about a row in some
kernel, its score there is near the bias, and so has little influence.

**The machine**, and the scores that each labeled row would get had it been left out:

    K        (l, l)  the kernel between the labeled rows
    Y        (l, c)  +1 for the rows of a class, -1 for the others, one column per class
    weight   (l,)    how many rows each row counts for
    price    (l,)    what its error costs
    r                the ridge, times the mean of the diagonal of K

    minimize  sum_i weight_i price_i |Y_i - f(x_i)|^2 + r |w|^2,     f(x) = K(x, .) a + bias

    [[K + diag(r / (weight price)), 1], [1', 0]] [a; bias] = [Y; 0],     H the inverse of that matrix

Without one row of weight 1, the score of row i is Y_i - a_i / H_ii: exact, since nothing in K depends on a label. A row
of weight w > 1 stands for w rows of which one is left out; the inverse of the larger system has the diagonal element
H_ii / w^2 + (1 - 1 / w) price_i / r at each of them, and the coefficients there are a_i / w. A row of weight below 1
is left out as a whole.

**The weights**:

    A_j     (l, c)  the leave-one-out scores of member j on the labeled rows
    Y       (l, c)  what they should be, +1 or -1
    count   (l,)    how much each labeled row counts
    prior   (J,)    the weights where the labels say nothing, positive, with sum 1

    minimize    1/(2 c) sum_i count_i |Y_i - sum_j w_j A_ji|^2 + strength sum_j w_j log(w_j / prior_j)
    subject to  w >= 0,  sum_j w_j = 1

It is strictly convex, and the logarithm keeps every weight positive: Newton's method needs no active set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from semisvm.estimators.auto.geometry import chunks_of
from semisvm.estimators.auto.library import Coordinates, KernelLibrary, Member
from semisvm.estimators.costs import Costs
from semisvm.estimators.progress import RoundRecord
from semisvm.labels import Labels

MOST_NEWTON_STEPS = 200
SMALLEST_WEIGHT = 1e-100
SUFFICIENT = 1e-4  # of the decrease that the slope promises


@dataclass(frozen=True)
class LeastSquaresMachine:
    """Coefficients (l, c), a bias per class (c,), and the leave-one-out scores (l, c)."""

    coef: np.ndarray
    bias: np.ndarray
    left_out: np.ndarray

    def scores(self, kernel: np.ndarray) -> np.ndarray:
        """The scores of rows, (m, c), from their kernel values with the labeled rows, (m, l)."""
        return kernel @ self.coef + self.bias


def fit_least_squares(
    K: np.ndarray, Y: np.ndarray, weight: np.ndarray, price: np.ndarray, *, ridge: float
) -> LeastSquaresMachine:
    """Train the machine of the module's docstring."""
    diagonal = float(weight @ np.diagonal(K) / weight.sum())
    r = ridge * (diagonal if diagonal > 0 else 1.0)
    system = (K + K.T) / 2
    system[np.diag_indices_from(system)] += r / (weight * price)
    inverse = cho_solve(cho_factor(system, overwrite_a=True), np.eye(len(K)), overwrite_b=True)
    sums = inverse.sum(axis=1)
    bias = sums @ Y / sums.sum()
    coef = inverse @ (Y - bias)
    h = np.diagonal(inverse) - sums**2 / sums.sum()
    copies = np.maximum(weight, 1)
    left_out = Y - coef / copies[:, None] / (h / copies**2 + (1 - 1 / copies) * price / r)[:, None]
    return LeastSquaresMachine(coef, bias, left_out)


@dataclass(frozen=True)
class Stacked:
    """Weights (J,), the value of the objective, how many steps were made, and how far it may be from the minimum.

    The gap is a share of the strength where that is above 1.
    """

    weights: np.ndarray
    objective: float
    n_iter: int
    gap: float


def stack(
    left_out: np.ndarray, Y: np.ndarray, count: np.ndarray, prior: np.ndarray, *, strength: float, tol: float = 1e-10
) -> Stacked:
    """Solve the problem of the module's docstring; `left_out` is (J, l, c)."""
    n_members, _, n_columns = left_out.shape
    by_row = np.sqrt(count / n_columns)[:, None]
    A, target = (left_out * by_row).reshape(n_members, -1), (Y * by_row).ravel()
    G, b = A @ A.T, A @ target

    def objective(w: np.ndarray) -> float:
        return float(w @ G @ w / 2 - b @ w + strength * (w @ np.log(w / prior)))

    w, gap, n_iter = prior.copy(), np.inf, 0
    while n_iter < MOST_NEWTON_STEPS:
        n_iter += 1
        gradient = G @ w - b + strength * (np.log(w / prior) + 1)
        step = _newton_step(G + np.diag(strength / w), gradient)
        decrease = float(-gradient @ step)  # twice what the quadratic model promises
        gap = decrease / 2 / max(1.0, strength)
        if gap <= tol:
            break
        length, before = 1.0, objective(w)
        while objective(_moved(w, length * step)) > before - SUFFICIENT * length * decrease and length > 1e-14:
            length /= 2
        w = _moved(w, length * step)
    return Stacked(w, objective(w) + float(target @ target) / 2, n_iter, max(gap, 0.0))


def _moved(w: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The weights after a step; those that shrink do so by a factor, and stay positive however long it is."""
    moved = np.where(step < 0, w * np.exp(np.minimum(step, 0) / w), w + step)
    moved = np.maximum(moved, SMALLEST_WEIGHT)
    return moved / moved.sum()


def _newton_step(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The step to the minimum of the quadratic model along which the sum stays the same."""
    n = len(gradient)
    system = np.ones((n + 1, n + 1))
    system[:n, :n], system[n, n] = hessian, 0
    return np.linalg.solve(system, np.append(-gradient, 0))[:n]


# ---- the average ----

BELIEVED = 1e-9  # of the largest belief: members with less are not trained
SMALLEST_PRICE = 1e-9  # of the largest: a class that is free still has rows


@dataclass(frozen=True)
class LabeledTarget:
    """What the labeled rows say.

    labeled   (l,)    the rows that they are: of those that kernels are made from, or of a library
    Y         (l, c)  +1 for the rows of a class, -1 for others; one column for two classes, +1 being the second
    weight    (l,)    how many rows each counts for
    price     (l,)    what its error costs; the mean over all rows is 1
    """

    labeled: np.ndarray
    Y: np.ndarray
    weight: np.ndarray
    price: np.ndarray

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

    history   one record per member
    """

    machines: dict[str, LeastSquaresMachine]
    weights: dict[str, float]
    left_out: np.ndarray
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
) -> MembersFit:
    """Train members on their kernels between the labeled rows, and weigh them; `tell` may end it after any member."""
    began = time.perf_counter()
    enough = BELIEVED * max(member.belief for member in members)
    machines: dict[str, LeastSquaresMachine] = {}
    records: dict[str, RoundRecord] = {}
    was_stopped = False
    for kernel_name, kernel in kernels:
        for member in members:
            if was_stopped or member.kernel != kernel_name or member.belief <= enough:
                continue
            machine = fit_least_squares(kernel, target.Y, target.weight, target.price, ridge=member.ridge * ridge)
            machines[member.name] = machine
            records[member.name] = record = member_record(
                title + member.name, machine.left_out, target, len(records), time.perf_counter() - began, member.belief
            )
            was_stopped = tell(record)

    trained = [member for member in members if member.name in machines]
    belief = np.array([member.belief for member in trained])
    left_out = np.stack([machines[member.name].left_out for member in trained])
    stacked = stack(left_out, target.Y, target.count, belief / belief.sum(), strength=strength)
    weights = dict.fromkeys((member.name for member in members), 0.0)
    weights |= {member.name: float(w) for member, w in zip(trained, stacked.weights, strict=True)}
    history = [record.with_details(weight=weights[name]) for name, record in records.items()]
    return MembersFit(machines, weights, np.tensordot(stacked.weights, left_out, 1), stacked, history, was_stopped)


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


def labeled_target(labels: Labels, costs: Costs, weight: np.ndarray, rows: np.ndarray) -> LabeledTarget:
    """What the labeled ones of these rows say."""
    is_labeled = labels.is_labeled[rows]
    labeled = rows[is_labeled]
    codes = labels.codes[labeled]
    Y = 2.0 * (codes[:, None] == np.arange(labels.n_classes)) - 1
    price = costs.select(labeled).price(codes)
    price = np.maximum(price, SMALLEST_PRICE * price.max())
    price = price * (weight[labeled].sum() / (weight[labeled] @ price))
    return LabeledTarget(np.flatnonzero(is_labeled), Y[:, 1:] if labels.n_classes == 2 else Y, weight[labeled], price)
