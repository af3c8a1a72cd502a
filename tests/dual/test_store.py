"""A store answers for finished solves and keeps new ones."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dual_cases import svc_case
from semisvm.dual import DualProblem, Status, solve, solve_many


class ListStore:
    """The solutions of a sequence of solves, in order."""

    def __init__(self):
        self.solutions, self.settings, self.n_asked = [], [], 0

    def recall(self, problem, settings):
        self.settings.append(settings)
        self.n_asked += 1
        return self.solutions[self.n_asked - 1] if self.n_asked <= len(self.solutions) else None

    def keep(self, problem, solution):
        self.solutions.append(solution)

    def rewind(self):
        self.n_asked = 0


def problems_of_three_sizes(case):
    kernel = case.problem().kernel
    return [DualProblem(kernel, case.linear, C * case.lower, C * case.upper) for C in (0.1, 1.0, 2.0)]


def test_a_solve_is_kept_and_recalled(device):
    store, problem = ListStore(), svc_case(n=20).problem()
    first = solve(problem, tol=1e-3, device=device, store=store)
    assert store.solutions == [first]
    assert store.settings == [{"tol": 1e-3, "max_iter": None, "time_limit": None, "device": device}]
    store.rewind()
    assert solve(problem, tol=1e-3, device=device, store=store) is first


def test_many_solves_are_kept_in_order_and_recalled(device):
    store, problems = ListStore(), problems_of_three_sizes(svc_case(n=20))
    alone = [solve(problem, tol=1e-3, device=device) for problem in problems]
    found = solve_many(problems, tol=1e-3, device=device, store=store)
    assert store.solutions == found
    for one, other in zip(alone, found, strict=True):
        assert_array_equal(one.beta, other.beta)
    store.rewind()
    again = solve_many(problems, tol=1e-3, device=device, store=store)
    assert all(one is other for one, other in zip(found, again, strict=True))


def test_the_first_solve_that_is_not_stored_runs_as_if_there_were_no_store():
    store, problems = ListStore(), problems_of_three_sizes(svc_case(n=30))
    whole = solve_many(problems, tol=1e-6)
    store.solutions = whole[:2]
    resumed = solve_many(problems, tol=1e-6, store=store)
    assert resumed[:2] == whole[:2]
    assert_array_equal(resumed[2].beta, whole[2].beta)
    assert len(store.solutions) == 3


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"max_iter": 1}, Status.MAX_ITER),
        ({"time_limit": 0.0}, Status.TIME_LIMIT),
        ({"callback": lambda n_iter, gap: True}, Status.STOPPED),
    ],
    ids=["max_iter", "time_limit", "callback"],
)
def test_a_solve_that_a_limit_ended_is_not_kept(limits, status):
    store = ListStore()
    assert solve(svc_case(n=30).problem(), tol=1e-9, store=store, **limits).status is status
    assert store.solutions == []


def test_without_a_store_nothing_is_shared_between_solves():
    problem = svc_case(n=20).problem()
    one, other = solve(problem), solve(problem)
    assert one is not other
    assert np.array_equal(one.beta, other.beta)


def test_limits_of_many_solves_end_each_of_them():
    problems = problems_of_three_sizes(svc_case(n=60))
    whole = solve_many(problems, tol=1e-6)
    assert {found.status for found in whole} == {Status.CONVERGED}
    for limit, status in (({"max_iter": 1}, Status.MAX_ITER), ({"time_limit": 1e-9}, Status.TIME_LIMIT)):
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
