"""A method is one hook, and at most eight Python frames lie between `fit` and the solver,
neither of them counted.
"""

import inspect
import sys

import pytest

from every_estimator import each_case, few_labels
from semisvm import dual, machines, primal
from semisvm.estimators.base import BaseSVC

MOST_FRAMES = 8
# What learns, what moves the boundary afterward, and the units of the columns that both see.
HOOKS = {"_fit", "_decide", "_read_problem", "_in_training_units"}
# A machine in either form is solved by `machines`; methods with a problem of their own ask a form.
SOLVERS = {
    function.__code__
    for function in (
        machines.solve_machine,
        machines.solve_machines,
        dual.solve,
        dual.solve_many,
        primal.solve_primal,
    )
}


@each_case(only=lambda case: issubclass(case.estimator_class, BaseSVC))
def test_methods_replace_nothing_of_the_base_but_its_hooks(case):
    """Besides constructors, what users call, whose parameters and documentation are a method's own,
    and what a class declares of itself.
    """
    above = case.estimator_class.__mro__[: case.estimator_class.__mro__.index(BaseSVC)]
    own = {
        name
        for one in above
        for name in vars(one)
        if name.startswith("_") and not name.startswith("__")
    }
    assert "_fit" in own
    assert own & set(vars(BaseSVC)) <= HOOKS | {"_parameter_constraints", "_keeps_tensors"}


def deepest_walk(model, X, y) -> list[str]:
    """Fit, and return the functions of the longest walk from `fit` to a solver, both included."""
    start = inspect.unwrap(type(model).fit).__code__
    longest: list[str] = []

    def note(frame, event, argument):
        if event != "call" or frame.f_code not in SOLVERS:
            return
        walk = [frame.f_code.co_qualname]
        while frame.f_code is not start and frame.f_back is not None:
            frame = frame.f_back
            walk.append(frame.f_code.co_qualname)
        # Where one solver calls another, the walk ends at the first of them.
        if (
            frame.f_code is start
            and len(walk) > len(longest)
            and "SupervisedSVC._fit_sigmoids" not in walk  # whose folds are fits of their own
            and sum(name in {code.co_qualname for code in SOLVERS} for name in walk) == 1
        ):
            longest[:] = walk[::-1]

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(before)
    return longest


@pytest.mark.filterwarnings("ignore:.*one side of the boundary:UserWarning")
@each_case(only=lambda case: issubclass(case.estimator_class, BaseSVC))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_there_are_at_most_eight_frames_between_fit_and_the_solver(case, n_classes):
    if n_classes > case.most_classes:
        pytest.skip("for two classes only")
    X, y, _ = few_labels(n_classes)
    # With costs the guard fits again without some of the labels: that walk is the longest.
    walk = deepest_walk(case.make(costs=dict.fromkeys(range(n_classes), 1.0), guard=True), X, y)
    assert walk, "no solver was called"
    assert len(walk[1:-1]) <= MOST_FRAMES, " > ".join(walk)
