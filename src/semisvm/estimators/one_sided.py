"""One-sided regression (Tu and Lin 2010): any cost matrix, one machine per class that estimates what it costs.

    cost_ik   what predicting class k for row i costs: matrix[y_i, k]; 0 for its own class

    for each class k    minimize  1/2 |w_k|^2 + price sum_i weight_i loss_ik(f_k(x_i))
                        loss_ik(f) = max(0, f - cost_ik)  where k is the cheapest for row i, cost_ik = 0
                                     max(0, cost_ik - f)  where it is not
    predict the class of least f_k

An estimate may err on the harmless side for free: f below the cost of the right class, or above that of a wrong one.
What a prediction costs is then at most the sum of the row's losses. The dictionary of the engine makes each problem a
dual: linear = -cost_ik, and the box [-price weight_i, 0] where k is cheapest, [0, price weight_i] where it is not.

price = C unit^2 / 2, unit the mean of the costs off the diagonal. So C keeps its meaning, and costs theirs: doubling
all costs is doubling C, as it is where costs multiply C; and where all costs are 1, f_k = (1 - h_k) / 2 with h_k the
ordinary one-vs-rest machine of class k at that C. The problems are solved for f in units of unit/2, so that tol too
means what it means elsewhere: costs 2 cost_ik / unit, price C unit. A cost of 0 off the diagonal is allowed: that
prediction is as good as the right one.
"""

from dataclasses import dataclass, replace

import numpy as np

from semisvm.dual import DualProblem
from semisvm.estimators.binary import BinaryFit
from semisvm.kernels import KernelRows
from semisvm.labels import Labels

ONE_SIDED = "one_sided"  # the scheme beside "ovr" and "ovo"


@dataclass(frozen=True)
class OneSided:
    """The machine of one class: the cost of predicting it, (K,) by true class or (n, K) by row and true class."""

    predicted: int
    cost: np.ndarray
    unit: float

    def rows(self, labels: Labels) -> np.ndarray:
        """Every row takes part."""
        return np.ones(len(labels.codes), dtype=bool)

    def name(self, classes) -> str:
        """For people: "cost of spam"."""
        return f"cost of {classes[self.predicted]}"

    def of_rows(self, rows: np.ndarray) -> "OneSided":
        """The same machine on some of the rows."""
        return self if self.cost.ndim == 1 else replace(self, cost=self.cost[rows])

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """cost_ik of each row, (n,), were `codes` the classes; in units of unit/2."""
        cost = self.cost[codes] if self.cost.ndim == 1 else self.cost[np.arange(len(codes)), codes]
        return 2 / self.unit * cost

    def problem(self, kernel: KernelRows, codes: np.ndarray, box: np.ndarray) -> DualProblem:
        """The dual above; `box` is C weight_i, `codes` is -1 where a row takes no part."""
        target = self.targets(codes)
        price = np.where(codes >= 0, self.unit * box, 0.0)
        return DualProblem(
            kernel, linear=-target, lower=np.where(target > 0, 0.0, -price), upper=np.where(target > 0, price, 0.0)
        )


def one_sided(matrix: np.ndarray) -> list[OneSided]:
    """The machines of a cost matrix (K, K), or of one per row, (n, K, K)."""
    return [OneSided(k, np.ascontiguousarray(matrix[..., k]), unit_of(matrix)) for k in range(matrix.shape[-1])]


def unit_of(matrix: np.ndarray) -> float:
    """The mean of the costs off the diagonal, which is 0 and does not count."""
    n_classes = matrix.shape[-1]
    return float(matrix.mean()) * n_classes / (n_classes - 1)


def in_units_of_cost(fit: BinaryFit, matrix: np.ndarray) -> BinaryFit:
    """A machine's fit, solved in units of unit/2, as an estimate in the user's units."""
    scale = unit_of(matrix) / 2
    return replace(fit, row_beta=scale * fit.row_beta, bias=scale * fit.bias, scores=scale * fit.scores)
