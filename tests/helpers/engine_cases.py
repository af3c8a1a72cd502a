"""Dual problems to try a solver on, slow and obvious answers to them, and what must hold of any
solution. Nothing here shares code with the engine but `Case.problem`.
"""

import math
from dataclasses import dataclass, replace

import clarabel
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_classification

from semisvm.engine import DualProblem, make_formula
from semisvm.engine.kernels import kernel_of


def naive_kernel(name, X, Z=None, *, gamma=1.0, coef0=0.0, degree=3):
    """K[i, j] = k(X[i], Z[j]) in float64, one pair at a time."""
    X = _dense(X)
    Z = X if Z is None else _dense(Z)
    value = {
        "linear": lambda x, z: x @ z,
        "rbf": lambda x, z: math.exp(-gamma * float((x - z) @ (x - z))),
        "poly": lambda x, z: (gamma * float(x @ z) + coef0) ** degree,
        "sigmoid": lambda x, z: math.tanh(gamma * float(x @ z) + coef0),
    }[name]
    return np.array([[float(value(x, z)) for z in Z] for x in X])


def _dense(X):
    return (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)


@dataclass(frozen=True)
class Case:
    """A problem with its naive kernel matrix."""

    X: np.ndarray
    kernel: dict
    K: np.ndarray
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    total: float = 0.0
    row: np.ndarray | None = None

    def problem(self, dtype=np.float64, form=np.asarray, **settings):
        parameters = {"gamma": 1.0, **self.kernel}
        formula = make_formula(parameters.pop("name"), self.X, **parameters)
        return self.on(kernel_of(form(self.X), formula, dtype=dtype, **settings))

    def on(self, kernel):
        return DualProblem(kernel, self.linear, self.lower, self.upper, self.total, self.row)

    @property
    def parts(self):
        return self.linear, self.lower, self.upper

    def gradient(self, beta):
        return _at_variables(self.K @ self.by_row(beta), self.row) + self.linear

    def by_row(self, beta):
        by_row = np.zeros(len(self.K))
        np.add.at(by_row, np.arange(len(beta)) if self.row is None else self.row, beta)
        return by_row

    def objective(self, beta):
        return float(0.5 * beta @ (self.gradient(beta) + self.linear))

    def gap(self, beta):
        """The largest gradient of those that may fall less the least of those that may rise."""
        least, most = self.multipliers(beta)
        return most - least

    def multipliers(self, beta):
        gradient = self.gradient(beta)
        least = gradient[beta < self.upper].min(initial=np.inf)
        return least, gradient[beta > self.lower].max(initial=-np.inf)

    def optimum(self):
        """The least objective, by a general-purpose interior-point method."""
        Q = self.K if self.row is None else self.K[np.ix_(self.row, self.row)]
        beta, free = self.lower.copy(), np.flatnonzero(self.lower < self.upper)
        if len(free):  # interior points need an interior
            held = np.where(self.lower < self.upper, 0.0, self.lower)
            beta[free] = _interior_point(
                Q[np.ix_(free, free)],
                (self.linear + Q @ held)[free],
                self.lower[free],
                self.upper[free],
                self.total - held.sum(),
            )
        return float(0.5 * beta @ Q @ beta + self.linear @ beta)


def _at_variables(values, row):
    return values if row is None else values[row]


def _interior_point(Q, linear, lower, upper, total):
    n = len(linear)
    below, above = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    one = sparse.identity(n, format="csc")
    A = sparse.vstack([np.ones((1, n)), one[above], -one[below]], format="csc")
    b = np.concatenate([[total], upper[above], -lower[below]])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(b) - 1)][: 1 + (len(b) > 1)]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = 1e-8
    settings.reduced_tol_feas = 1e-8
    Q = sparse.triu(sparse.csc_matrix(Q), format="csc")
    answer = clarabel.DefaultSolver(Q, linear, A, b, cones, settings).solve()
    assert str(answer.status) in ("Solved", "AlmostSolved"), f"the oracle failed: {answer.status}"
    return np.asarray(answer.x)


def is_feasible(case, beta):
    assert (beta >= case.lower).all()
    assert (beta <= case.upper).all()
    assert abs(beta.sum() - case.total) <= 1e-9 * max(1.0, np.abs(beta).sum())


def is_certified(case, solution, digits=1e-9):
    """Check everything a solution says of itself, from its coefficients alone, in float64.

    `digits` is the relative precision of kernel values: about 1e-6 for float32 rows.
    """
    beta = solution.beta
    is_feasible(case, beta)
    scores = case.K @ case.by_row(beta)
    size = digits * (
        1 + np.abs(case.K).max() * np.abs(beta).sum() + np.abs(case.linear).max(initial=0)
    )
    assert_allclose(solution.scores, scores, rtol=0, atol=size)
    gap = case.gap(beta)
    assert solution.gap == pytest.approx(gap, rel=0, abs=2 * size) or solution.gap == gap
    objective = case.objective(beta)
    reach = size * max(1.0, np.abs(beta).sum())
    assert solution.objective == pytest.approx(objective, rel=10 * digits, abs=reach)
    least, most = case.multipliers(beta)
    slack = max(gap, 0) + size
    assert most - slack <= -solution.bias <= least + slack
    assert_allclose(solution.decision_values, scores + solution.bias, rtol=0, atol=size)


def make_case(X, kernel, linear, lower, upper, total=0.0, row=None):
    parameters = dict(kernel)
    K = naive_kernel(parameters.pop("name"), X, **parameters)
    parts = (np.asarray(part, dtype=float) for part in (linear, lower, upper))
    return Case(X, kernel, K, *parts, total, row)


def given_case(K, linear, lower, upper, total=0.0, row=None):
    return Case(K, {"name": "precomputed"}, K, linear, lower, upper, total, row)


def svc_case(seed=0, n=60, C=1.0, kernel=None, n_features=4):
    """C-SVC on two overlapping classes, on a grid of quarters: products are exact in float32."""
    X, y = make_classification(
        n, n_features, n_informative=3, n_redundant=0, flip_y=0.1, random_state=seed
    )
    X, sign = np.round(4 * X) / 4, 2.0 * y - 1
    kernel = kernel or {"name": "rbf", "gamma": 0.5}
    return make_case(X, kernel, -sign, np.minimum(0, C * sign), np.maximum(0, C * sign))


KERNELS = {
    "rbf": {"name": "rbf", "gamma": 0.7},
    "linear": {"name": "linear"},
    "rank one": {"name": "linear"},
    "poly": {"name": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2},
    "sigmoid": {"name": "sigmoid", "gamma": 1e-3, "coef0": 0.0},  # nearly linear: no saddles
    "given": {"name": "rbf", "gamma": 0.2},
}


def random_case(seed):
    """A problem with everything at once: ties, duplicates, zero-width boxes, shared and unused
    rows, any total.
    """
    rng = np.random.default_rng(seed)
    name = list(KERNELS)[seed % len(KERNELS)]
    n_rows = int(rng.choice([1, 2, 3, 6, 12, 25]))
    X = rng.normal(size=(n_rows, 1 if name == "rank one" else 3))
    X = X[rng.integers(n_rows, size=n_rows)] if rng.random() < 0.5 else X  # duplicate rows
    X = np.round(X) if rng.random() < 0.3 else X  # tied distances
    row = None
    if rng.random() < 0.5:
        row = rng.permutation(np.repeat(np.arange(n_rows), rng.integers(0, 4, size=n_rows)))
        row = row if len(row) else np.array([n_rows - 1])
    n = n_rows if row is None else len(row)
    linear = rng.choice([-1.0, 1.0], size=n) if rng.random() < 0.5 else rng.normal(size=n)
    lower, upper = random_boxes(rng, n)
    if name in ("rbf", "given") and rng.random() < 0.4:
        v = rng.integers(n)  # one equality piece; the others' boxes keep the problem bounded
        lower[v], upper[v] = -np.inf, np.inf
    case = make_case(X, KERNELS[name], linear, lower, upper, random_total(rng, lower, upper), row)
    return replace(case, X=case.K, kernel={"name": "precomputed"}) if name == "given" else case


def random_boxes(rng, n):
    C = 10.0 ** rng.uniform(-1, 1.5)
    kind = rng.integers(4, size=n)
    width, offset = C * rng.choice([1.0, 1.0, 0.3], size=n), rng.normal(size=n)
    lower = np.choose(kind, [np.zeros(n), -width, offset, offset])
    return lower, np.choose(kind, [width, np.zeros(n), offset + width, offset])  # last: no width


def random_total(rng, lower, upper):
    """A sum that the bounds allow: usually in the middle, sometimes at one end."""
    share = rng.choice([0.0, 1.0, *rng.random(8)])
    low, high = np.clip(lower, -5, None), np.clip(upper, None, 5)
    total = float(np.sum(low + share * (high - low)))
    return float((lower if share == 0 else upper).sum()) if share in (0, 1) else total


def usable(case):
    if np.isfinite(case.total):
        return case
    return replace(case, total=float(np.clip(0, case.lower, case.upper).sum()))
