"""What mistakes cost: as the user says it, checked, and as the machines take it.

    classes     K, in the order of classes_
    costs       {class: cost of misclassifying it}, or a matrix (K, K): costs[y, k] is what predicting k costs where y
                is true, 0 on the diagonal
    sample_cost (n,): what misclassifying row i costs; (n, K): what it costs if row i is of class k, known or not;
                (n, K, K): one matrix per row

A cost that depends on the true class alone multiplies C for the rows of that class: every machine here can honor it.
For two classes that is all there is, and a matrix is a dictionary: {0: costs[0, 1], 1: costs[1, 0]}. A matrix between
more classes, in which it matters what a row is mistaken for, asks for one-sided regression (`OneSided`); a method
that has no such machine asks for `Costs.by_class`, which refuses it.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from semisvm.dual import DualProblem
from semisvm.kernels import KernelRows
from semisvm.labels import Labels


@dataclass(frozen=True)
class Costs:
    """Costs as the machines take them.

    of_class  (K,) what multiplies C for each class: costs times class weights
    of_row    (n, K) what multiplies it further for each row, were it of class k; None where rows are alike
    matrix    (K, K) or (n, K, K) where it matters what a row is mistaken for, else None
    """

    of_class: np.ndarray
    of_row: np.ndarray | None = None
    matrix: np.ndarray | None = None

    def price(self, codes: np.ndarray) -> np.ndarray:
        """What multiplies C for each row, were `codes` the classes."""
        price = self.of_class[codes]
        return price if self.of_row is None else price * self.of_row[np.arange(len(codes)), codes]

    def of(self, code: int) -> float | np.ndarray:
        """What multiplies C for a row of this class: a number, or (n,) where rows differ."""
        price = float(self.of_class[code])
        return price if self.of_row is None else price * self.of_row[:, code]

    def of_rest(self, code: int) -> float | np.ndarray:
        """The same for a row given to "the rest": nobody knows which class it is, so the mean of the others."""
        others = np.delete(self.of_class, code)
        if self.of_row is None:
            return float(others.mean())
        return (others * np.delete(self.of_row, code, axis=1)).mean(axis=1)

    def by_class(self, name: str) -> Costs:
        """The costs for a method that knows costs of classes and rows only; `name` is the estimator's."""
        if self.matrix is None:
            return self
        most_expensive = self.matrix.max(axis=-1)
        off_diagonal = ~np.eye(self.matrix.shape[-1], dtype=bool)
        if not np.array_equal(self.matrix, np.where(off_diagonal, most_expensive[..., None], 0)):
            raise ValueError(
                f"{name} can't use a cost matrix between more than two classes in which it matters what a row is "
                "mistaken for: pass costs={class: cost of misclassifying it} (or a sample_cost of shape (n_samples, "
                "n_classes)), or use SupervisedSVC, LabelMeanSVC or LaplacianSVC."
            )
        if self.matrix.ndim == 2:
            return Costs(self.of_class * most_expensive)
        return Costs(self.of_class, of_row=most_expensive)

    def select(self, rows: np.ndarray) -> Costs:
        """The costs of some of the rows."""
        of_row = None if self.of_row is None else self.of_row[rows]
        matrix = self.matrix[rows] if self.matrix is not None and self.matrix.ndim == 3 else self.matrix
        return Costs(self.of_class, of_row, matrix)


def read_costs(costs: Any, sample_cost: Any, class_weight: Any, labels: Labels, in_use: np.ndarray) -> Costs:
    """Check what the user says and settle what it means for each row; what rows out of use say does not count."""
    factor = np.ones(labels.n_classes)
    if class_weight is not None:
        labeled = labels.decode(labels.codes[labels.is_labeled & in_use])
        factor = _checked_class_weight(class_weight, labels.classes, labeled)
    if costs is not None and sample_cost is not None:
        raise ValueError("Both costs and sample_cost were given: multiply them into sample_cost and leave costs out.")
    if sample_cost is not None:
        return _of_samples(sample_cost, factor, labels, in_use)
    if costs is None:
        return Costs(factor)
    if isinstance(costs, dict):
        own = _of_classes(costs, labels.classes)
        with np.errstate(over="ignore"):
            price = factor * own
        if not np.isfinite(price).all():
            raise ValueError("costs times class_weight is not finite for some class: scale both to near 1.")
        return Costs(price)
    matrix = _checked(costs, "costs", (len(factor),) * 2, labels.classes)
    return Costs(factor * matrix[[0, 1], [1, 0]]) if len(factor) == 2 else Costs(factor, matrix=matrix)


def _checked_class_weight(class_weight: Any, classes: np.ndarray, labeled: np.ndarray) -> np.ndarray:
    if isinstance(class_weight, dict):
        for name, value in class_weight.items():
            is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if not is_number or not 0 <= value < np.inf:
                raise ValueError(
                    f"class_weight must be finite and not negative for each class, got {value!r} for class {name!r}."
                )
        if not any(class_weight.get(name, 1) for name in classes.tolist()):
            raise ValueError(f"class_weight is 0 for every class: give at least one a weight; got {class_weight}.")
    return np.asarray(compute_class_weight(class_weight, classes=classes, y=labeled), dtype=np.float64)


def cost_matrix(costs, classes: np.ndarray) -> np.ndarray:
    """A dictionary or a matrix, checked, as a matrix (K, K): for those who weigh probabilities by it."""
    if isinstance(costs, dict):
        return _of_classes(costs, classes)[:, None] * (1 - np.eye(len(classes)))
    return _checked(costs, "costs", (len(classes),) * 2, classes)


def _of_classes(costs: dict[Any, float], classes) -> np.ndarray:
    names = classes.tolist()
    missing, unknown = [c for c in names if c not in costs], [c for c in costs if c not in names]
    if missing or unknown:
        raise ValueError(
            f"costs must name each class once: classes are {names}; missing {missing}, not a class {unknown}."
        )
    try:
        values = np.array([costs[c] for c in names], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"costs must be a number for each class, got {costs}.") from None
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"costs must be positive and finite, got {costs}: leave out the rows of a class that is free.")
    return values


def _of_samples(sample_cost: Any, factor: np.ndarray, labels: Labels, in_use: np.ndarray) -> Costs:
    n, K = len(labels.codes), len(factor)
    values = _as_numbers(sample_cost, "sample_cost")
    if values.shape[:1] == (n,):  # rows that take no part may cost anything
        values[~in_use] = 1 - np.eye(K) if values.shape == (n, K, K) else 1.0
    if values.ndim == 3:
        tensor = _checked(values, "sample_cost", (n, K, K), labels.classes)
        if K == 2:
            return Costs(factor, of_row=np.ascontiguousarray(tensor[:, [0, 1], [1, 0]]))
        return Costs(factor, matrix=tensor)
    if values.shape not in ((n,), (n, K)):
        raise ValueError(
            f"sample_cost has shape {values.shape}: it must hold one cost per row, ({n},), one per row and class "
            f"that the row may be of, ({n}, {K}), or one matrix per row, ({n}, {K}, {K})."
        )
    if not (np.isfinite(values).all() and (values > 0).all()):
        at = tuple(np.argwhere(~(np.isfinite(values) & (values > 0)))[0].tolist())
        raise ValueError(
            f"sample_cost must be positive and finite, and sample_cost{list(at)} is {values[at]}: column k is the cost "
            "of misclassifying the row if it is of class k. A row that is free gets sample_weight 0."
        )
    return Costs(factor, of_row=np.array(np.broadcast_to(values.reshape(n, -1), (n, K))))


def _checked(matrix, name: str, shape: tuple[int, ...], classes) -> np.ndarray:
    """A matrix, or one per row, without a fault."""
    values = _as_numbers(matrix, name)
    if values.shape != shape:
        raise ValueError(
            f"{name} has shape {values.shape} where {shape} is needed: a line for each true class and a column for "
            f"each predicted class, in the order {classes.tolist()}."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        at = tuple(np.argwhere(~(values >= 0) | np.isinf(values))[0].tolist())
        raise ValueError(f"{name} must be finite and not negative, and {name}{list(at)} is {values[at]}.")
    diagonal = np.diagonal(values, axis1=-2, axis2=-1)
    if diagonal.any():
        at = tuple(np.argwhere(diagonal)[0].tolist())
        raise ValueError(
            f"{name} must be 0 on the diagonal, where the prediction is right, and is {diagonal[at]} for class "
            f"{classes.tolist()[at[-1]]!r}: subtract that from its line."
        )
    free = ~values.any(axis=-1)
    if free.any():
        at = np.argwhere(free)[0].tolist()
        remedy = "leave its rows out" if values.ndim == 2 else "give the row sample_weight 0"
        raise ValueError(
            f"{name} says that mistaking class {classes.tolist()[at[-1]]!r} costs nothing, since the line {name}{at} "
            f"is all 0: give it a cost, or {remedy}."
        )
    return values


def _as_numbers(values, name: str) -> np.ndarray:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {type(values).__name__}.") from None


# ---- the machines of a cost matrix ----


@dataclass(frozen=True)
class OneSided:
    """The cost of predicting one class: a machine of one-sided regression (Tu and Lin 2010), for any cost matrix.

        cost_ik   what predicting class k for row i costs: matrix[y_i, k]; 0 for its own class

        for each class k    minimize  1/2 |w_k|^2 + price sum_i weight_i loss_ik(f_k(x_i))
                            loss_ik(f) = max(0, f - cost_ik)  where k is the cheapest for row i, cost_ik = 0
                                         max(0, cost_ik - f)  where it is not
        predict the class of least f_k

    An estimate may err on the harmless side for free: f below the cost of the right class, or above that of a wrong
    one. What a prediction costs is then at most the sum of the row's losses. Each problem is a dual with linear =
    -cost_ik, and the box [-price weight_i, 0] where k is cheapest, [0, price weight_i] where it is not.

    price = C unit^2 / 2, unit the mean of the costs off the diagonal. So C keeps its meaning, and costs theirs:
    doubling all costs is doubling C, as it is where costs multiply C; and where all costs are 1, f_k = (1 - h_k) / 2
    with h_k the ordinary one-vs-rest machine of class k at that C. The problems are solved for f in units of unit/2, so
    that tol too means what it means elsewhere: costs 2 cost_ik / unit, price C unit. A cost of 0 off the diagonal is
    allowed: that prediction is as good as the right one.

    `cost` is (K,) by true class, or (n, K) by row and true class.
    """

    predicted: int
    cost: np.ndarray
    unit: float

    def name(self, classes) -> str:
        """For people: "cost of spam"."""
        return f"cost of {classes[self.predicted]}"

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
