"""What comes out of a preference method for one class against the rest, and how it is turned into decisions.

`Outcome` is a model, its decision values, and what is known of the threshold on them. The audit sets three operating
points side by side, measured on the same rows in the same way:

    supervised               the labels alone, accepted above 0
    supervised + threshold   the same scores, the threshold chosen as asked
    with unlabeled           what the method ends with

The difference of the first two is the threshold's, that of the last two the unlabeled rows'.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.decision import Counts, OperatingPoint, Target, choose_for, f_score, measure, precision, recall
from semisvm.decision.operating_point import Level

SUPERVISED, SUPERVISED_THRESHOLD, WITH_UNLABELED = "supervised", "supervised + threshold", "with unlabeled"


@dataclass(frozen=True)
class Outcome:
    """A trained classifier with its operating point.

    model               what the learner calls its model
    values              (n,) its decision values of all rows, the threshold not taken off
    point, audit        see above
    calibration_scores  (m,) what the point was chosen on, with the true signs, calibration_sign (m,)
    is_unlabeled        (n,) rows without a label of the user's
    labeled_in          (n,) the round that gave a row its last soft label; 0 for the user's own, -1 for none
    ended               why: "converged", "cycle" or "max_rounds"
    """

    model: Any
    values: np.ndarray
    point: OperatingPoint
    audit: dict[str, OperatingPoint]
    calibration_scores: np.ndarray
    calibration_sign: np.ndarray
    is_unlabeled: np.ndarray
    labeled_in: np.ndarray
    ended: str


def make_audit(
    target: Target, supervised: np.ndarray, sign: np.ndarray, point: OperatingPoint, level: Level
) -> dict[str, OperatingPoint]:
    """The three steps, from the supervised scores of the calibration rows and the point the method ends with."""
    return {
        SUPERVISED: measure(supervised, sign, 0.0, target=target, level=level),
        SUPERVISED_THRESHOLD: choose_for(target, supervised, sign, level=level),
        WITH_UNLABELED: point,
    }


def measures_at(counts: Counts, prefix: str = "") -> dict[str, float]:
    """Precision, recall and F1 for a round's record."""
    found = {"precision": precision(counts), "recall": recall(counts), "f_score": f_score(counts)}
    return {prefix + name: float(value) for name, value in found.items()}


def beyond(scores: np.ndarray, threshold: float) -> np.ndarray:
    """Scores minus the threshold: above 0 is accepted.

    An infinite threshold accepts every row, or none. Scores are then squeezed to one side of 0, their order kept, so
    that they stay finite and can still be ranked.
    """
    if np.isfinite(threshold):
        return scores - threshold
    return scores / (1 + np.abs(scores)) - np.sign(threshold)
