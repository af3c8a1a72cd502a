"""What a method is given and what it gives back: one class against another, whatever the number of classes.

Every method here is written for two classes. `BinaryTask` is all it needs to know, `BinaryFit` all it has to say;
`base` makes the tasks from the user's data and puts the fits together. n is the number of rows in use.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semisvm.dual import Status
from semisvm.estimators.watch import Watch
from semisvm.kernels import KernelRows


@dataclass(frozen=True)
class BinaryTask:
    """Two classes, as signs.

    kernel   rows of K between the n rows in use; several tasks of one fit may share them
    sign     (n,) in {-1, 0, +1}: the label, 0 where there is none
    weight   (n,) what multiplies C for each row: costs, class weights and sample weights of its own class;
             for unlabeled rows the sample weight alone
    cost_of  {-1: cost, +1: cost}: what multiplies the weight of an unlabeled row once it is given that sign; a number
             each, or (n,) where the user gave costs of single rows
    watch    progress, callbacks and Ctrl-C
    positive the class, as an index, that +1 stands for
    counts   (n,) how often each row counts: the user's sample weights alone; None where each counts once
    """

    kernel: KernelRows
    sign: np.ndarray
    weight: np.ndarray
    cost_of: dict[int, float | np.ndarray]
    watch: Watch
    positive: int = 1
    counts: np.ndarray | None = None


@dataclass(frozen=True)
class BinaryFit:
    """A classifier f(x) = sum_i row_beta[i] k(x_i, x) + bias, and how it came about.

    row_beta   (n,) a coefficient for each row in use
    scores     (n,) f for every row in use
    history    a record a round
    rounds     (n,) the round in which each row was given its label: 0 for the user's own, -1 for never
    guess      (n,) in {-1, 0, +1}: the labels a method settled on, where it fixes them and f may disagree
    """

    row_beta: np.ndarray
    bias: float
    scores: np.ndarray
    n_iter: int
    gap: float
    status: Status
    history: list[dict[str, Any]]
    rounds: np.ndarray | None = field(default=None)
    guess: np.ndarray | None = field(default=None)
