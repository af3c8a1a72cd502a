"""One-sided regression of labeled and unlabeled rows: the label-mean machine's answer to a cost matrix.

    1.  the machines of the labeled rows (`one_sided`): f_k(x) estimates what predicting class k costs
    2.  one class for every unlabeled row, u_k rows of class k:  maximize -sum_i f_{class of i}(x_i)   (`assignment`)
    3.  the machines of all rows, the guessed ones at C_unlabeled

For two classes 2 is the sort of the supervised scores. u_k is the share of class k times the number of unlabeled
rows, whatever their weights: no assignment of whole rows need have the share of the weight. Nothing is iterated: where
the label-mean machine searches on for two classes, its search was measured to change nothing.
"""

import time
from dataclasses import replace

import numpy as np

from semisvm.dual import Status
from semisvm.estimators.binary import ENDED_BY_USER, BinaryFit
from semisvm.estimators.class_shares import PositiveShare, settle_share
from semisvm.estimators.history import RoundRecord
from semisvm.estimators.label_mean.assignment import assign, counts_of
from semisvm.estimators.labeling import Labeler
from semisvm.estimators.problem import TrainingProblem
from semisvm.kernels import KernelRows
from semisvm.labels import Labels


def fit_cost_matrix(
    problem: TrainingProblem,
    kernel: KernelRows,
    C: float,
    C_unlabeled: float,
    positive_fraction: str | float,
    known: list[PositiveShare] | None = None,
) -> list[BinaryFit]:
    """Steps 1 to 3; `known` are the shares of the classes, settled here if not given; each is its fit's outcome."""
    labels, weight = problem.labels, problem.weight
    with problem.progress.whole_fit("one-sided regression") as watch:
        began = time.perf_counter()
        labeler = Labeler(problem, kernel, watch)
        box = C * weight * problem.costs.price(labels.codes)
        labeler.solve(labels.codes, box)  # step 1
        estimates = labeler.scores
        shares = known or settle_shares(positive_fraction, labels, estimates, weight)
        unlabeled = np.flatnonzero(~labels.is_labeled)
        guess, given_in = labels.codes.copy(), np.where(labels.is_labeled, 0, -1)
        first = RoundRecord("one-sided regression", details={"shares": [share.value for share in shares]})
        stop = watch.round_done(first)
        if len(unlabeled) and not stop and labeler.status not in ENDED_BY_USER:
            count = counts_of(np.array([share.value for share in shares]), len(unlabeled))
            guess[unlabeled] = assign(-estimates[unlabeled], count)  # step 2
            given_in[unlabeled] = 1
            box[unlabeled] = (C_unlabeled * weight * problem.costs.price(guess))[unlabeled]
            labeler.solve(guess, box)  # step 3
        if stop:
            labeler.end(Status.STOPPED)
    seconds = time.perf_counter() - began
    told = [
        replace(
            record, seconds=seconds, details={"positive_fraction": share.value, "interval": (share.low, share.high)}
        )
        for record, share in zip(labeler.records(), shares, strict=True)
    ]
    return [
        replace(fit, history=[record], outcome=share)
        for fit, record, share in zip(labeler.fits([], given_in), told, shares, strict=True)
    ]


def settle_shares(asked: str | float, labels: Labels, estimates: np.ndarray, weight: np.ndarray) -> list[PositiveShare]:
    """How many of the unlabeled rows are of each class: as `settle_share` has it of the class against the rest."""
    margin = np.stack([np.delete(estimates, k, axis=1).min(axis=1) - estimates[:, k] for k in range(labels.n_classes)])
    return [settle_share(asked, labels.sign(k), margin[k], weight) for k in range(labels.n_classes)]
