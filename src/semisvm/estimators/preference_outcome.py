"""What comes out of a preference method for one class against the rest, and how it is turned into decisions.

`Outcome` is a model, its decision values, and what is known of the threshold on them: its operating point and the audit
(`semisvm.decision.audit`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.decision import Counts, OperatingPoint, f_score, precision, recall


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
