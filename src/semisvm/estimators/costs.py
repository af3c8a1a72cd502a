"""What mistakes cost: as the user says it, checked, and as the machines take it.

    classes     K, in the order of classes_
    costs       {class: cost of misclassifying it}, or a matrix (K, K): costs[y, k] is what predicting k costs where y
                is true, 0 on the diagonal
    sample_cost (n,): what misclassifying row i costs; (n, K): what it costs if row i is of class k, known or not;
                (n, K, K): a matrix a row

A cost that depends on the true class alone multiplies C for the rows of that class: every machine here can honor it.
For two classes that is all there is, and a matrix is a dictionary: {0: costs[0, 1], 1: costs[1, 0]}. A matrix between
more classes, in which it matters what a row is mistaken for, asks for one-sided regression (`one_sided`), and an
estimator that has no such machine refuses it. So it is with costs of single rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from semisvm.labels import Labels

MATRIX = "a cost matrix between more than two classes"
SAMPLE_COST = "sample_cost"


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

    def select(self, rows: np.ndarray) -> "Costs":
        """The costs of some of the rows."""
        of_row = None if self.of_row is None else self.of_row[rows]
        matrix = self.matrix[rows] if self.matrix is not None and self.matrix.ndim == 3 else self.matrix
        return Costs(self.of_class, of_row, matrix)


def read_costs(
    costs, sample_cost, class_weight, labels: Labels, in_use: np.ndarray, *, honors: frozenset[str], who: str
) -> Costs:
    """Check what the user says and settle what it means for the rows in use.

    `honors` says which of MATRIX and SAMPLE_COST the estimator `who` can.
    """
    factor = np.ones(labels.n_classes)
    if class_weight is not None:
        labeled = labels.decode(labels.codes[labels.is_labeled & in_use])
        factor = compute_class_weight(class_weight, classes=labels.classes, y=labeled)
    if costs is not None and sample_cost is not None:
        raise ValueError("Both costs and sample_cost were given: multiply them into sample_cost and leave costs out.")
    if sample_cost is not None:
        if SAMPLE_COST not in honors:
            raise ValueError(f"{who} can't honor {SAMPLE_COST}: use sample_weight, which scales the cost of a row.")
        return _of_samples(sample_cost, factor, labels, in_use, honors, who).select(in_use)
    if costs is None:
        return Costs(factor)
    if isinstance(costs, dict):
        return Costs(factor * _of_classes(costs, labels.classes))
    return _of_matrix(_checked(costs, "costs", (len(factor),) * 2, labels.classes), factor, honors, who)


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


def _of_matrix(matrix: np.ndarray, factor: np.ndarray, honors, who: str) -> Costs:
    if len(factor) == 2:
        return Costs(factor * matrix[[0, 1], [1, 0]])
    if MATRIX in honors:
        return Costs(factor, matrix=matrix)
    dearest = matrix.max(axis=1)
    if np.array_equal(matrix, np.where(np.eye(len(factor), dtype=bool), 0, dearest[:, None])):
        return Costs(factor * dearest)
    raise ValueError(
        f"{who} can't honor {MATRIX}: give costs={{class: cost of misclassifying it}}, or use SupervisedSVC, "
        "LabelMeanSVC or LaplacianSVC, which can."
    )


def _of_samples(sample_cost, factor: np.ndarray, labels: Labels, in_use: np.ndarray, honors, who: str) -> Costs:
    n, K = len(labels.codes), len(factor)
    values = _as_numbers(sample_cost, "sample_cost")
    if values.shape[:1] == (n,):  # rows that take no part may cost anything
        values[~in_use] = 1 - np.eye(K) if values.shape == (n, K, K) else 1.0
    if values.ndim == 3:
        tensor = _checked(values, "sample_cost", (n, K, K), labels.classes)
        if K == 2:
            return Costs(factor, of_row=np.ascontiguousarray(tensor[:, [0, 1], [1, 0]]))
        if MATRIX not in honors:
            raise ValueError(f"{who} can't honor {MATRIX}: give sample_cost the shape (n_samples, n_classes).")
        return Costs(factor, matrix=tensor)
    if values.shape not in ((n,), (n, K)):
        raise ValueError(
            f"sample_cost has shape {values.shape}: it must hold a cost a row, ({n},), a cost a row and class that it "
            f"may be of, ({n}, {K}), or a matrix a row, ({n}, {K}, {K})."
        )
    if not (np.isfinite(values).all() and (values > 0).all()):
        at = tuple(np.argwhere(~(np.isfinite(values) & (values > 0)))[0].tolist())
        raise ValueError(
            f"sample_cost must be positive and finite, and sample_cost{list(at)} is {values[at]}: column k is the cost "
            "of misclassifying the row if it is of class k. A row that is free gets sample_weight 0."
        )
    return Costs(factor, of_row=np.array(np.broadcast_to(values.reshape(n, -1), (n, K))))


def _checked(matrix, name: str, shape: tuple[int, ...], classes) -> np.ndarray:
    """A matrix, or one a row, without a fault."""
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
