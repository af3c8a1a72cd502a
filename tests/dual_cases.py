"""Dual problems to try a solver on, and what must hold of any solution."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification

from oracles import (
    gap_by_definition,
    gradient_by_definition,
    multiplier_interval,
    naive_kernel,
    objective_by_definition,
    scores_by_definition,
)
from semisvm.dual import DualProblem, repair
from semisvm.kernels import kernel_rows, make_formula


@dataclass(frozen=True)
class Case:
    """A problem with its naive kernel matrix, from which the oracles compute."""

    X: np.ndarray
    kernel: dict
    K: np.ndarray
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    total: float = 0.0
    row: np.ndarray | None = None

    def problem(self, dtype=np.float64, **cache):
        parameters = {"gamma": 1.0, **self.kernel}
        rows = kernel_rows(
            self.X, make_formula(parameters.pop("name"), self.X, **parameters), dtype=dtype, **cache
        )
        return DualProblem(rows, self.linear, self.lower, self.upper, self.total, self.row)

    @property
    def parts(self):
        return self.linear, self.lower, self.upper

    def start_objective(self):
        """The objective where a cold start begins."""
        beta = repair(np.zeros(len(self.linear)), self.lower, self.upper, self.total, self.linear)
        return objective_by_definition(self.K, self.linear, beta, self.row)


def make_case(X, kernel, linear, lower, upper, total=0.0, row=None):
    parameters = dict(kernel)
    K = naive_kernel(parameters.pop("name"), X, **parameters)
    return Case(
        X,
        kernel,
        K,
        *(np.asarray(part, dtype=float) for part in (linear, lower, upper)),
        total,
        row,
    )


def precomputed_case(K, linear, lower, upper, total=0.0, row=None):
    return Case(K, {"name": "precomputed"}, K, linear, lower, upper, total, row)


def svc_case(seed=0, n=60, C=1.0, kernel=None, n_features=4):
    """C-SVC on two overlapping classes: linear -y, bounds [0, C] or [-C, 0].

    On a grid of quarters, so that the products of rows are exact in float32: LIBSVM keeps them so
    whatever is asked.
    """
    X, y = make_classification(
        n, n_features, n_informative=3, n_redundant=0, flip_y=0.1, random_state=seed
    )
    X = np.round(4 * X) / 4
    sign = 2.0 * y - 1
    kernel = kernel or {"name": "rbf", "gamma": 0.5}
    return make_case(X, kernel, -sign, np.minimum(0, C * sign), np.maximum(0, C * sign))


KERNELS = {
    "rbf": {"name": "rbf", "gamma": 0.7},
    "linear": {"name": "linear"},
    "rank one": {"name": "linear"},
    "poly": {"name": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2},
}


def random_case(seed):
    """A problem with everything at once: ties, duplicates, zero-width boxes, shared and unused
    rows, any total.
    """
    rng = np.random.default_rng(seed)
    kernel_name = list(KERNELS)[seed % len(KERNELS)]
    n_rows = int(rng.choice([1, 2, 3, 6, 12, 25]))
    X = rng.normal(size=(n_rows, 1 if kernel_name == "rank one" else 3))
    if rng.random() < 0.5:
        X = X[rng.integers(n_rows, size=n_rows)]  # duplicate rows
    if rng.random() < 0.3:
        X = np.round(X)  # tied distances
    row = None
    if rng.random() < 0.5:
        row = rng.permutation(np.repeat(np.arange(n_rows), rng.integers(0, 4, size=n_rows)))
        row = row if len(row) else np.array([n_rows - 1])
    n = n_rows if row is None else len(row)
    linear = rng.choice([-1.0, 1.0], size=n) if rng.random() < 0.5 else rng.normal(size=n)
    lower, upper = random_boxes(rng, n)
    if kernel_name == "rbf" and rng.random() < 0.4:
        v = rng.integers(n)  # one equality piece; the others' boxes keep the problem bounded
        lower[v], upper[v] = -np.inf, np.inf
    total = random_total(rng, lower, upper)
    return make_case(X, KERNELS[kernel_name], linear, lower, upper, total, row)


def random_boxes(rng, n):
    C = 10.0 ** rng.uniform(-1, 1.5)
    kind = rng.integers(4, size=n)
    width = C * rng.choice([1.0, 1.0, 0.3], size=n)
    offset = rng.normal(size=n)
    lower = np.choose(kind, [np.zeros(n), -width, offset, offset])
    upper = np.choose(kind, [width, np.zeros(n), offset + width, offset])  # the last: zero width
    return lower, upper


def random_total(rng, lower, upper):
    """A sum that the bounds allow: usually in the middle, sometimes at one end."""
    share = rng.choice([0.0, 1.0, *rng.random(8)])
    low = np.clip(lower, -5, None)
    high = np.clip(upper, None, 5)
    return float(
        np.sum(low + share * (high - low))
        if 0 < share < 1
        else (lower if share == 0 else upper).sum()
    )


def usable(case):
    return (
        case
        if np.isfinite(case.total)
        else replace(case, total=float(np.clip(0, case.lower, case.upper).sum()))
    )


def is_feasible(case, beta):
    assert (beta >= case.lower).all()
    assert (beta <= case.upper).all()
    assert abs(beta.sum() - case.total) <= 1e-9 * max(1.0, np.abs(beta).sum())


def is_certified(case, solution):
    """Check everything the solution says of itself against the naive kernel matrix."""
    scores = scores_by_definition(case.K, solution.beta, case.row)
    size = 1e-9 * (
        1 + np.abs(case.K).max() * np.abs(solution.beta).sum() + np.abs(case.linear).max(initial=0)
    )
    is_feasible(case, solution.beta)
    assert_allclose(solution.scores, scores, rtol=0, atol=size)
    gradient = gradient_by_definition(case.K, case.linear, solution.beta, case.row)
    gap = gap_by_definition(case.K, *case.parts, solution.beta, case.row)
    assert solution.gap == pytest.approx(gap, rel=0, abs=size) or solution.gap == gap == -np.inf
    assert solution.objective == pytest.approx(
        objective_by_definition(case.K, case.linear, solution.beta, case.row), rel=1e-9, abs=size
    )
    least_rising, most_falling = multiplier_interval(
        gradient, solution.beta, case.lower, case.upper
    )
    slack = max(gap, 0) + size
    assert most_falling - slack <= -solution.bias <= least_rising + slack
    assert_allclose(solution.decision_values, scores + solution.bias, rtol=0, atol=size)
