"""All classes at once: the binary problems of one labeling of the rows, on kernel rows that they share.

    codes  (n,)  the class of each row, guessed or given; -1 where the row takes no part
    cost   (n,)  what a row on the wrong side of its margin costs: C times its weight times the cost of its class

Most methods here are written for two classes and decomposed in `base`. Methods that give a row one of *all* the
classes (its cluster's majority, the class of the largest score) can't be: solved apart, two binary problems could
claim the same row. They train every binary problem on one labeling instead. Rows that a problem does not concern
(a third class in one-vs-one, rows left out) have a box of zero width in it, so that all problems, and all
labelings of a sequence, share their kernel rows and start from each other's solutions.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from semisvm.dual import DualProblem, DualSolution, Status, solve_many
from semisvm.estimators.binary import BinaryFit
from semisvm.estimators.hinge import hinge_problem
from semisvm.estimators.multiclass import Pair, combine
from semisvm.estimators.one_sided import OneSided
from semisvm.estimators.watch import Watch

ENDED = (Status.INTERRUPTED, Status.STOPPED)


def sign_of(pair: Pair, codes) -> np.ndarray:
    """+1 for the pair's first class, -1 for its second (or the rest), 0 for rows it does not concern."""
    is_negative = codes >= 0 if pair.negative is None else codes == pair.negative
    return np.where(codes == pair.positive, 1.0, np.where(is_negative, -1.0, 0.0))


def problem_of(task: Pair | OneSided, kernel, codes, cost) -> DualProblem:
    """The dual problem of a task on a labeling."""
    if isinstance(task, OneSided):
        return task.problem(kernel, codes, cost)
    return hinge_problem(kernel, sign_of(task, codes), cost)


def solve_labeling(
    kernel, tasks: Sequence[Pair | OneSided], codes, cost, start: list[DualSolution] | None = None, **settings
) -> list[DualSolution]:
    """Solve the C-SVC of each pair, or the regression of each class.

    `start` holds the solutions of an earlier labeling, `settings` go to `solve`.

    Once a solve was interrupted or stopped, the problems after it are carried into their bounds and left there.
    """
    return solve_many([problem_of(task, kernel, codes, cost) for task in tasks], start, **settings)


def limits_of(estimator, watch: Watch) -> dict[str, Any]:
    """An estimator's settings for each solve."""
    limits = {name: getattr(estimator, name) for name in ("tol", "max_iter", "time_limit", "device")}
    return limits | {"callback": watch.look}


def record_of(name: str, solution: DualSolution) -> dict[str, Any]:
    """What the history says of a problem that was solved once."""
    return {
        "problem": name,
        "steps": solution.n_iter,
        "gap": solution.gap,
        "objective": solution.objective,
        "n_support": int(np.count_nonzero(solution.beta)),
        "seconds": solution.seconds,
    }


def classes_of(found: list[DualSolution], n_classes: int, scheme: str) -> np.ndarray:
    """The class each row is given by the scores that came with the solutions: no kernel value is made."""
    scores = np.stack([solution.decision_values for solution in found], axis=1)
    decision = combine(scores, n_classes, scheme)
    return (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)


def as_fits(found: list[DualSolution], rounds, history, n_iter: int) -> list[BinaryFit]:
    """The solutions as the base takes them; the history and the steps of the whole sequence go with the first."""
    return [
        BinaryFit(
            row_beta=solution.row_beta,
            bias=solution.bias,
            scores=solution.decision_values,
            n_iter=0 if k else n_iter,
            gap=solution.gap,
            status=solution.status,
            history=[] if k else history,
            rounds=rounds,
        )
        for k, solution in enumerate(found)
    ]
