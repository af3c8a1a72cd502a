"""One-sided regression of labeled and unlabeled rows: the label-mean machine's answer to a cost matrix.

    1.  the machines of the labeled rows (`one_sided`): f_k(x) estimates what predicting class k costs
    2.  a class for every unlabeled row, u_k rows of class k:  maximize -sum_i f_{class of i}(x_i)   (`assignment`)
    3.  the machines of all rows, the guessed ones at C_unlabeled

For two classes 2 is the sort of the supervised scores. u_k is the share of class k times the number of unlabeled
rows, whatever their weights: no assignment of whole rows need have the share of the weight. Nothing is iterated: where
the label-mean machine searches on for two classes, its search was measured to change nothing.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from semisvm.dual import DualSolution, Status
from semisvm.estimators.assignment import assign, counts_of
from semisvm.estimators.binary import BinaryFit
from semisvm.estimators.fraction import Fraction, settle_fraction
from semisvm.estimators.labeling import ENDED, as_fits, limits_of, solve_labeling
from semisvm.estimators.watch import Watch
from semisvm.labels import Labels


def fit_one_sided(
    estimator, X, labels: Labels, weight: np.ndarray, shares: list[Fraction] | None = None
) -> list[BinaryFit]:
    """Steps 1 to 3 with an estimator's C, C_unlabeled, costs, limits and kernel; `shares` are settled if not given."""
    root = estimator._init_callback_context(max_subtasks=None)
    root.call_on_fit_task_begin(estimator=estimator)
    watch = Watch(estimator, root, "one-sided regression")
    began = time.perf_counter()
    kernel, tasks, limits = estimator._kernel_rows(X), estimator._tasks(labels), limits_of(estimator, watch)
    box = estimator.C * weight * estimator._costs.price(labels.codes)
    found = solve_labeling(kernel, tasks, labels.codes, box, **limits)  # step 1
    n_iter = sum(solution.n_iter for solution in found)
    estimates = np.stack([solution.decision_values for solution in found], axis=1)
    shares = settle_shares(estimator.positive_fraction, labels, estimates, weight) if shares is None else shares
    unlabeled = np.flatnonzero(~labels.is_labeled)
    guess, given_in = labels.codes.copy(), np.where(labels.is_labeled, 0, -1)
    stop = watch.round_done({"round": 0, "shares": [share.value for share in shares]})
    if len(unlabeled) and not stop and not any(solution.status in ENDED for solution in found):
        count = counts_of(np.array([share.value for share in shares]), len(unlabeled))
        guess[unlabeled] = assign(-estimates[unlabeled], count)  # step 2
        given_in[unlabeled] = 1
        box[unlabeled] = (estimator.C_unlabeled * weight * estimator._costs.price(guess))[unlabeled]
        found = solve_labeling(kernel, tasks, guess, box, found, **limits)  # step 3
        n_iter += sum(solution.n_iter for solution in found)
    if stop:
        found = [replace(solution, status=Status.STOPPED) for solution in found]
    root.call_on_fit_task_end(estimator=estimator)
    seconds = time.perf_counter() - began
    fits = as_fits(found, given_in, [], n_iter)
    return [
        replace(fit, history=[_record(task.name(labels.classes), share, solution, seconds)])
        for fit, task, share, solution in zip(fits, tasks, shares, found, strict=True)
    ]


def settle_shares(asked: str | float, labels: Labels, estimates: np.ndarray, weight: np.ndarray) -> list[Fraction]:
    """How many of the unlabeled rows are of each class: as `settle_fraction` has it of the class against the rest."""
    margin = np.stack([np.delete(estimates, k, axis=1).min(axis=1) - estimates[:, k] for k in range(labels.n_classes)])
    return [settle_fraction(asked, labels.sign(k), margin[k], weight) for k in range(labels.n_classes)]


def _record(name: str, share: Fraction, solution: DualSolution, seconds: float) -> dict[str, Any]:
    return {
        "problem": name,
        "positive_fraction": share.value,
        "interval": (share.low, share.high),
        "steps": solution.n_iter,
        "gap": solution.gap,
        "objective": solution.objective,
        "seconds": seconds,
    }
