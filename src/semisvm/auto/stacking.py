"""One average of members, whose weights come from scores that have not seen the labels.

    A_j     (l, c)  the scores of member j on the labeled rows, each label left out
    Y       (l, c)  what they should be, +1 or -1
    count   (l,)    how much each labeled row counts
    prior   (J,)    the weights where the labels say nothing, positive, with sum 1

    minimize    1/(2 c) sum_i count_i |Y_i - sum_j w_j A_ji|^2 + strength sum_j w_j log(w_j /
                prior_j)
    subject to  w >= 0,  sum_j w_j = 1

Members come in blocks, such as the kernels of one view. They are weighted within their block, then
the blocks are weighted: so a block with many members does not outweigh the others, and can't gain
by having many members to choose from, because blocks are compared by out-of-fold scores: averages
whose weights have not seen the label of the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

STEPS, TOL = 200, 1e-10
SMALLEST_WEIGHT = 1e-100
N_FOLDS = 5
LEAST_WEIGHT = 0.002  # of a member in the whole average


def stack(
    left_out: np.ndarray, Y: np.ndarray, count: np.ndarray, prior: np.ndarray, strength: float
) -> np.ndarray:
    """Weights (J,) by Newton's method, positive by the logarithm; `left_out` is (J, l, c)."""
    by_row = np.sqrt(count / Y.shape[1])[:, None]
    A = (left_out * by_row).reshape(len(left_out), -1)
    G = A @ A.T
    b = A @ (Y * by_row).ravel()

    def objective(w: np.ndarray) -> float:
        return float(w @ G @ w / 2 - b @ w + strength * (w @ np.log(w / prior)))

    w = prior / prior.sum()
    system = np.ones((len(w) + 1, len(w) + 1))
    system[-1, -1] = 0
    for _ in range(STEPS):
        gradient = G @ w - b + strength * (np.log(w / prior) + 1)
        system[:-1, :-1] = G + np.diag(strength / w)
        step = np.linalg.solve(system, np.append(-gradient, 0))[
            :-1
        ]  # the sum of the weights stays 1
        decrease = -gradient @ step
        if decrease <= 2 * TOL * max(1.0, strength):
            break
        length = 1.0
        while (
            objective(_moved(w, length * step)) > objective(w) - 1e-4 * length * decrease
            and length > 1e-14
        ):
            length /= 2
        w = _moved(w, length * step)
    return w


def _moved(w: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Weights after a step; those that shrink do so by a factor, and stay positive."""
    moved = np.where(step < 0, w * np.exp(np.minimum(step, 0) / w), w + step)
    moved = np.maximum(moved, SMALLEST_WEIGHT)
    return moved / moved.sum()


@dataclass(frozen=True)
class Block:
    """Members that are trained and scored together.

    model      has ``scores(views, weights)``: their weighted scores of any rows, (m, c)
    prior      (J,) their prior weights within the block
    left_out   (J, l, c) the scores of the labeled rows, each label left out
    prior_weight    of the block
    """

    name: str
    model: Any
    members: list[str]
    prior: np.ndarray
    left_out: np.ndarray
    prior_weight: float = 1.0


@dataclass(frozen=True)
class Target:
    """What the labeled rows say: where they are, their classes, +1 or -1 (one column for two
    classes), how much each counts, and the fold it is dealt to.
    """

    position: np.ndarray
    codes: np.ndarray
    Y: np.ndarray
    count: np.ndarray
    fold: np.ndarray
    n_classes: int
    classes: np.ndarray

    @property
    def y(self) -> np.ndarray:
        """The labels."""
        return self.classes[self.codes]


def weigh(
    left_out: np.ndarray, prior: np.ndarray, target: Target, rows: np.ndarray, strength: float
) -> np.ndarray:
    """The weights (J,) by some of the labeled rows."""
    return stack(
        left_out[:, rows], target.Y[rows], target.count[rows], prior / prior.sum(), strength
    )


def out_of_fold_average(
    left_out: np.ndarray, prior: np.ndarray, target: Target, strength: float
) -> np.ndarray:
    """Averages (l, c) of scores (J, l, c), each row by the weights that the other folds give."""
    out_of_fold = np.empty_like(target.Y)
    for fold in range(target.fold.max() + 1):
        is_out = target.fold == fold
        out_of_fold[is_out] = np.tensordot(
            weigh(left_out, prior, target, ~is_out, strength), left_out[:, is_out], 1
        )
    return out_of_fold


@dataclass(frozen=True)
class Average:
    """Blocks, the weights of the members of each, which have the sum 1 over all blocks, and
    out-of-fold scores (l, c) of the labeled rows.
    """

    blocks: list[Block]
    weights: list[np.ndarray]
    out_of_fold: np.ndarray

    def in_use(self) -> list[tuple[Block, np.ndarray]]:
        """The blocks with a weight, and those of their members."""
        pairs = zip(self.blocks, self.weights, strict=True)
        return [(block, weights) for block, weights in pairs if weights.any()]

    def of_blocks(self) -> dict[str, float]:
        """The weight of each block."""
        pairs = zip(self.blocks, self.weights, strict=True)
        return {block.name: float(weights.sum()) for block, weights in pairs}

    def of_members(self) -> dict[str, float]:
        """The weight of each member; the name of its block comes first where there are several."""
        named = {}
        for block, weights in zip(self.blocks, self.weights, strict=True):
            for member, weight in zip(block.members, weights.tolist(), strict=True):
                full = block.name if len(block.members) == 1 else f"{block.name}: {member}"
                named[member if member and len(self.blocks) == 1 else full] = weight
        return named

    def scores(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of any rows, (m, c)."""
        return sum(block.model.scores(views, weights) for block, weights in self.in_use())


def average(
    blocks: list[Block], target: Target, strength: float, strength_of_blocks: float
) -> Average:
    """Weigh the members of each block, then the blocks. Members with next to no weight are left
    out: they would cost time in each prediction.
    """
    every = np.ones(len(target.codes), dtype=bool)
    within = [weigh(block.left_out, block.prior, target, every, strength) for block in blocks]
    scores = np.stack(
        [out_of_fold_average(block.left_out, block.prior, target, strength) for block in blocks]
    )
    prior = np.array([block.prior_weight for block in blocks])
    of_blocks = weigh(scores, prior, target, every, strength_of_blocks)
    weights = [
        np.where(weight * own < LEAST_WEIGHT, 0, weight * own)
        for weight, own in zip(of_blocks, within, strict=True)
    ]
    total = sum(own.sum() for own in weights)
    out_of_fold = out_of_fold_average(scores, prior, target, strength_of_blocks)
    return Average(blocks, [own / total for own in weights], out_of_fold)


def make_target(
    codes: np.ndarray, classes: np.ndarray, weight: np.ndarray, class_weight: Any
) -> Target:
    """What the labels of some rows say; those of each class are dealt to the folds one after the
    other.
    """
    n_classes = len(classes)
    position = np.flatnonzero(codes >= 0)
    codes, count = codes[position], weight[position]
    Y = 2.0 * (codes[:, None] == np.arange(n_classes)) - 1
    if class_weight is not None:
        sizes = np.bincount(codes, count, n_classes)
        is_balanced = isinstance(class_weight, str)
        cost = (
            count.sum() / (n_classes * sizes)
            if is_balanced
            else np.array([class_weight.get(name, 1.0) for name in classes.tolist()])
        )
        if not ((cost > 0) & (cost < np.inf)).all():
            raise ValueError(f"class_weight must be positive and finite, got {class_weight}.")
        count = count * cost[codes] * count.sum() / (count @ cost[codes])
    order = np.lexsort((np.random.default_rng(0).random(len(codes)), codes))
    fold = np.empty(len(codes), dtype=int)
    fold[order] = np.arange(len(codes)) % min(N_FOLDS, len(codes))
    Y = Y[:, 1:] if n_classes == 2 else Y
    return Target(position, codes, Y, count, fold, n_classes, classes)
