"""Several problems are solved as each of them alone would be, and limits end all of them."""

import numpy as np

from dual_cases import svc_case
from semisvm.dual import DualProblem, Status, solve, solve_many


def problems_of_three_sizes(case):
    kernel = case.problem().kernel
    return [
        DualProblem(kernel, case.linear, C * case.lower, C * case.upper) for C in (0.1, 1.0, 2.0)
    ]


def test_nothing_is_shared_between_solves():
    problem = svc_case(n=20).problem()
    one = solve(problem)
    other = solve(problem)
    assert one is not other
    assert np.array_equal(one.beta, other.beta)


def test_limits_of_many_solves_end_each_of_them():
    problems = problems_of_three_sizes(svc_case(n=60))
    whole = solve_many(problems, tol=1e-6)
    assert {found.status for found in whole} == {Status.CONVERGED}
    for limit, status in (
        ({"max_iter": 1}, Status.MAX_ITER),
        ({"time_limit": 1e-9}, Status.TIME_LIMIT),
    ):
        for found, best in zip(solve_many(problems, tol=1e-6, **limit), whole, strict=True):
            assert found.status == status
            assert found.objective >= best.objective


def test_a_callback_that_ends_one_solve_ends_all_after_it():
    asked = []

    def stop(n_iter, gap):
        asked.append(gap)
        return True

    found = solve_many(problems_of_three_sizes(svc_case(n=60)), tol=1e-6, callback=stop)
    assert [one.status for one in found] == [Status.STOPPED] * 3
    assert asked


def test_multiples_of_the_same_bounds_are_solved_as_problems_of_their_own(device):
    case = svc_case(n=24)
    unit = case.problem()
    factors = (0.1, 1.0, 2.0)
    alone = [
        DualProblem(unit.kernel, case.linear, factor * case.lower, factor * case.upper)
        for factor in factors
    ]
    together = solve_many([unit.with_bounds_times(f) for f in factors], device=device)
    for found, expected in zip(together, solve_many(alone, device=device), strict=True):
        assert np.array_equal(found.beta, expected.beta)
        assert found.gap < 1e-3
