"""One average of models, each of which knows its leave-one-out scores: the weights come from
these.

The scores of the average are the weighted sum of those of its members, not scaled before: where the
labels say little about a row in some kernel, its score there is near the bias, and so has little
influence.

The members on kernels are least-squares SVMs (`estimators.least_squares`). A kernel of structure
whose leave-one-out error is above what random labels are expected to give is down-weighted, and
left out where it is a fifth above: its structure has nothing to do with the classes.

**The weights**:

    A_j     (l, c)  the leave-one-out scores of member j on the labeled rows
    Y       (l, c)  what they should be, +1 or -1
    count   (l,)    how much each labeled row counts
    prior   (J,)    the weights where the labels say nothing, positive, with sum 1

    minimize    1/(2 c) sum_i count_i |Y_i - sum_j w_j A_ji|^2 + strength sum_j w_j log(w_j /
                prior_j)
    subject to  w >= 0,  sum_j w_j = 1

It is strictly convex, and the logarithm keeps every weight positive: Newton's method needs no
active set.

The members' leave-one-out scores have not seen the labels of their rows, but the weights of the
average have. *Crossed* scores have not: the labeled rows are dealt to folds by what they hold, and
those of each are averaged with the weights that the others give.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from semisvm.estimators.least_squares import (
    LabeledTarget,
    fit_least_squares,
)
from semisvm.estimators.progress import RoundRecord

MOST_NEWTON_STEPS = 200
SMALLEST_WEIGHT = 1e-100
STACKING_TOL = 1e-10  # of the gap
SUFFICIENT = 1e-4  # of the decrease that the slope promises
WORSE_THAN_RANDOM = 1.2  # times the error expected of random labels: the prior weight is 0
LEAST_PRIOR_WEIGHT = 1e-9  # of the largest prior weight: members with less are not trained


@dataclass(frozen=True)
class Stacked:
    """Weights (J,), how many steps were made, and the gap: how far the objective may be from its
    minimum.

    The gap is a share of the strength where that is above 1.
    """

    weights: np.ndarray
    n_iter: int
    gap: float


def stack(
    left_out: np.ndarray, Y: np.ndarray, count: np.ndarray, prior: np.ndarray, *, strength: float
) -> Stacked:
    """Solve the problem of the module's docstring; `left_out` is (J, l, c)."""
    n_members, _, n_columns = left_out.shape
    by_row = np.sqrt(count / n_columns)[:, None]
    A = (left_out * by_row).reshape(n_members, -1)
    target = (Y * by_row).ravel()
    G = A @ A.T
    b = A @ target

    def objective(w: np.ndarray) -> float:
        return float(w @ G @ w / 2 - b @ w + strength * (w @ np.log(w / prior)))

    w = prior.copy()
    gap = np.inf
    n_iter = 0
    while n_iter < MOST_NEWTON_STEPS:
        n_iter += 1
        gradient = G @ w - b + strength * (np.log(w / prior) + 1)
        step = _newton_step(G + np.diag(strength / w), gradient)
        decrease = float(-gradient @ step)  # twice what the quadratic model promises
        gap = decrease / 2 / max(1.0, strength)
        if gap <= STACKING_TOL:
            break
        length = 1.0
        before = objective(w)
        while (
            objective(_moved(w, length * step)) > before - SUFFICIENT * length * decrease
            and length > 1e-14
        ):
            length /= 2
        w = _moved(w, length * step)
    return Stacked(w, n_iter, max(gap, 0.0))


def _moved(w: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The weights after a step; those that shrink do so by a factor, and stay positive however
    long it is.
    """
    moved = np.where(step < 0, w * np.exp(np.minimum(step, 0) / w), w + step)
    moved = np.maximum(moved, SMALLEST_WEIGHT)
    return moved / moved.sum()


def _newton_step(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The step to the minimum of the quadratic model along which the sum stays the same."""
    n = len(gradient)
    system = np.ones((n + 1, n + 1))
    system[:n, :n], system[n, n] = hessian, 0
    return np.linalg.solve(system, np.append(-gradient, 0))[:n]


# ---- training and weighing members ----


@dataclass(frozen=True)
class Member:
    """One kernel, a multiple of the user's ridge, and its prior weight, which labels lower if
    `is_structure`.
    """

    name: str
    kernel: str
    ridge: float
    belief: float
    is_structure: bool = False


@dataclass(frozen=True)
class FamilySettings:
    """Settings of the members; the defaults are those of `AutoSVC`."""

    n_classes: int
    n_neighbors: tuple[int, ...] = (3, 15)
    metric: str = "auto"
    is_safe: bool = True
    ridge: float = 0.1
    strength: float = 0.5
    tell: Callable[[RoundRecord], bool] = lambda record: False
    device: str = "cpu"
    max_rows: int = 3000

    @classmethod
    def of(cls, estimator: Any, n_classes: int) -> FamilySettings:
        """The settings that `AutoSVC` and `UnlabeledKernel` have in common."""
        return cls(
            n_classes=n_classes,
            n_neighbors=_check_neighbors(estimator.n_neighbors),
            metric=estimator.metric,
            is_safe=estimator.safe,
            ridge=estimator.ridge,
            strength=estimator.prior_strength,
        )


def _check_neighbors(n_neighbors: Any) -> tuple[int, ...]:
    """Raise ValueError for anything but different positive integers."""
    numbers = tuple(n_neighbors)
    is_number = all(
        isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1 for k in numbers
    )
    if not (is_number and len(set(numbers)) == len(numbers)):
        raise ValueError(
            "n_neighbors must hold different integers of at least 1, such as (3, 15), got"
            f" {n_neighbors!r}: one graph is made for each."
        )
    return tuple(int(k) for k in numbers)


@dataclass(frozen=True)
class MembersFit:
    """Trained members: their models, weights and leave-one-out scores (l, c) as an average, and
    how they came.

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


def codes_of(Y: np.ndarray) -> np.ndarray:
    """The class of each row."""
    return np.where(Y[:, 0] > 0, 1, 0) if Y.shape[1] == 1 else Y.argmax(axis=1)


def most_likely_slope(
    scores: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    bounds: tuple[float, float | None],
) -> float:
    """The slope at which softmax(slope * scores), (l, C), gives the classes the largest likelihood.
    Targets are smoothed: (n + 1) / (n + 2) for the class of a label, with n labels, and the rest
    shared by the others.
    """
    from scipy.optimize import minimize

    total = float(weight.sum())
    seen = (total + 1) / (total + 2)
    goal = np.full(scores.shape, (1 - seen) / (scores.shape[1] - 1))
    goal[np.arange(len(codes)), codes] = seen
    share = weight / total

    def loss(slope: np.ndarray) -> tuple[float, np.ndarray]:
        log_p = log_softmax(slope[0] * scores, axis=1)
        residual = ((np.exp(log_p) - goal) * scores).sum(axis=1)
        return -float(share @ (goal * log_p).sum(axis=1)), np.array([float(share @ residual)])

    solution = minimize(
        loss,
        [1.0],
        jac=True,
        method="L-BFGS-B",
        bounds=[bounds],
        options={"ftol": 1e-12, "gtol": 1e-8},
    )
    return float(solution.x[0])


def train_members(
    kernels: Iterable[tuple[str, np.ndarray]],
    members: list[Member],
    target: LabeledTarget,
    settings: FamilySettings,
    title: str = "",
    train: Callable[..., Any] = fit_least_squares,
) -> MembersFit:
    """Train members on what `train` takes, kernels between the labeled rows, and find their
    weights; `tell` reports them and may end the fit.

    `title` comes before the names of the members in the reports.
    """
    began = time.perf_counter()
    enough = LEAST_PRIOR_WEIGHT * max(member.belief for member in members)
    machines: dict[str, Any] = {}
    records: dict[str, RoundRecord] = {}
    was_stopped = False
    for kernel_name, kernel in kernels:
        for member in members:
            if was_stopped or member.kernel != kernel_name or member.belief <= enough:
                continue
            machine = train(
                kernel, target.Y, target.weight, target.price, ridge=member.ridge * settings.ridge
            )
            machines[member.name] = machine
            records[member.name] = record = member_record(
                title + member.name,
                machine.left_out,
                target,
                len(records),
                time.perf_counter() - began,
                member.belief,
            )
            was_stopped = settings.tell(record)

    trained = [member for member in members if member.name in machines]
    left_out = np.stack([machines[member.name].left_out for member in trained])

    def weigh(rows: Any) -> Stacked:
        prior = prior_weights(trained, machines, target, rows)
        return stack(
            left_out[:, rows], target.Y[rows], target.count[rows], prior, strength=settings.strength
        )

    stacked = weigh(slice(None))
    weights = dict.fromkeys((member.name for member in members), 0.0)
    weights |= {member.name: float(w) for member, w in zip(trained, stacked.weights, strict=True)}
    history = [record.with_details(weight=weights[name]) for name, record in records.items()]
    scores = np.tensordot(stacked.weights, left_out, 1)
    crossed = cross(left_out, target, weigh)
    return MembersFit(trained, machines, weights, scores, crossed, stacked, history, was_stopped)


def cross(
    scores: np.ndarray, target: LabeledTarget, weigh: Callable[[np.ndarray], Stacked]
) -> np.ndarray:
    """The averages (l, c) of scores (J, l, c), each row by the weights that `weigh` gives for a
    mask of other rows.
    """
    crossed = np.empty_like(target.Y)
    for fold in range(target.fold.max() + 1):
        is_out = target.fold == fold
        crossed[is_out] = np.tensordot(weigh(~is_out).weights, scores[:, is_out], 1)
    return crossed


def prior_weights(
    trained: list[Member], machines: dict[str, Any], target: LabeledTarget, rows: Any = slice(None)
) -> np.ndarray:
    """The weights of members before stacking, (J,): prior weights, less if labeled rows contradict
    a member.
    """
    Y = target.Y[rows]
    weight = target.weight[rows]
    count = target.count[rows]
    total = float(weight.sum())
    variance = float((weight @ (Y - weight @ Y / total) ** 2).sum()) / max(total - 1, total / 2)
    beliefs = np.empty(len(trained))
    for j, member in enumerate(trained):
        machine = machines[member.name]
        error = float(count @ ((Y - machine.left_out[rows]) ** 2).sum(axis=1))
        expected = variance * float(count @ machine.spread[rows]) if member.is_structure else 0.0
        excess = (error / expected - 1) / (WORSE_THAN_RANDOM - 1) if expected > 0 else 0.0
        beliefs[j] = member.belief * np.clip(1 - excess, LEAST_PRIOR_WEIGHT, 1)
    return beliefs / beliefs.sum()


def member_record(
    name: str,
    left_out: np.ndarray,
    target: LabeledTarget,
    number: int,
    seconds: float,
    belief: float = 1.0,
) -> RoundRecord:
    """The record of a member: its leave-one-out errors, each row counted by weight and price."""
    squares = ((target.Y - left_out) ** 2).mean(axis=1)
    is_wrong = left_out.argmax(axis=1) != target.Y.argmax(axis=1)
    if target.Y.shape[1] == 1:
        is_wrong = (left_out * target.Y <= 0)[:, 0]
    return RoundRecord(
        problem=name,
        round=number,
        n_iter=1,
        seconds=seconds,
        objective=float(np.average(squares, weights=target.count)),
        details={"loo_error": float(np.average(is_wrong, weights=target.count)), "belief": belief},
    )
