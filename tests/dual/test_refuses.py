"""Invalid problems and solves are refused with an error that says why."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dual_cases import svc_case
from semisvm.dual import DualProblem, DualSolution, solve
from semisvm.kernels import kernel_rows, make_formula

ROWS = kernel_rows(np.eye(3), make_formula("linear", np.eye(3)), dtype=np.float64)
BAD_PROBLEMS = {
    "too few": (
        {"linear": np.zeros(2), "lower": np.zeros(2), "upper": np.ones(2)},
        "2 variables for 3 kernel rows",
    ),
    "lower short": ({"lower": np.zeros(2)}, "lower .* upper"),
    "upper long": ({"upper": np.ones(4)}, "lower .* upper"),
    "linear of two dimensions": ({"linear": np.zeros((3, 1))}, "shape|length|dimension"),
    "linear a number": ({"linear": 0.0}, "shape|length|dimension"),
    "crossed": ({"lower": np.array([0, 2.0, 0])}, "Variable 1 has lower bound 2.0 above"),
    "nan bound": ({"lower": np.array([0, np.nan, 0])}, "Variable 1"),
    "nan linear": ({"linear": np.array([0, np.nan, 0])}, "linear must be finite"),
    "total too large": ({"total": 3.5}, "No beta within the bounds sums to 3.5"),
    "total too small": ({"total": -0.1}, "sums run from 0.0 to 3.0"),
    "total nan": ({"total": np.nan}, "No beta|total"),
    "total infinite": ({"total": np.inf}, "No beta|total"),
    "row too large": ({"row": np.array([0, 1, 3])}, "indices of kernel rows, 0 to 2"),
    "row negative": ({"row": np.array([0, 1, -1])}, "indices of kernel rows"),
    "row short": ({"row": np.array([0, 1])}, "row must hold 3 indices"),
}


@pytest.mark.parametrize("name", BAD_PROBLEMS)
def test_an_invalid_problem_is_refused(name):
    changes, sentence = BAD_PROBLEMS[name]
    parts = {"linear": np.zeros(3), "lower": np.zeros(3), "upper": np.ones(3)} | changes
    with pytest.raises(ValueError, match=sentence):
        DualProblem(ROWS, **parts)


def test_a_total_that_only_rounding_puts_out_of_reach_is_accepted():
    a = 1e6 / 3
    b = 1e6 / 7
    held = np.array([a, -(a + b), b])
    assert held.sum() != 0
    problem = DualProblem(ROWS, np.zeros(3), held, held, total=0.0)
    assert_array_equal(solve(problem).beta, held)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"tol": 0}, "tol must be positive"),
        ({"tol": -1e-3}, "tol must be positive"),
        ({"tol": np.nan}, "tol must be positive"),
        ({"device": "abacus"}, "device must be"),
        ({"device": "cuda:99"}, "needs torch|torch sees|TRITON_INTERPRET"),
        ({"start": np.zeros(4)}, "start has shape"),
        ({"start": np.zeros((3, 1))}, "start has shape"),
        ({"start": np.array([0, np.nan, 0]), "time_limit": 1}, "start"),
    ],
    ids=str,
)
def test_an_invalid_solve_is_refused(arguments, sentence):
    problem = DualProblem(ROWS, np.array([-1.0, 1, 0]), np.zeros(3), np.ones(3), total=1)
    with pytest.raises(ValueError, match=sentence):
        solve(problem, **arguments)


def test_a_solution_of_another_length_is_refused():
    problem = svc_case(n=20).problem()
    other = solve(svc_case(n=30).problem())
    assert isinstance(other, DualSolution)
    with pytest.raises(ValueError, match="start has shape"):
        solve(problem, start=other)
