"""Where the gain comes from: up to three operating points, measured on the same rows in the same way.

    supervised               the model trained on the labels alone, accepted above 0
    supervised + threshold   the same scores, with the threshold chosen for the target
    with unlabeled           the final model

The difference between the first two is due to the threshold, that between the last two to the unlabeled rows. The steps
are in this order; a step that a method does not have is left out.
"""

from collections.abc import Mapping

from numpy.typing import ArrayLike

from semisvm.decision.choose import choose_for, measure
from semisvm.decision.operating_point import EvidenceLevel, OperatingPoint
from semisvm.decision.target import Target

SUPERVISED, SUPERVISED_THRESHOLD, WITH_UNLABELED = "supervised", "supervised + threshold", "with unlabeled"

Audit = dict[str, OperatingPoint]


def make_audit(
    target: Target,
    supervised: ArrayLike,
    sign: ArrayLike,
    point: OperatingPoint | None,
    level: EvidenceLevel,
    *,
    sets_threshold: bool = True,
) -> Audit:
    """Return the steps of an audit.

    Parameters
    ----------
    target : Target
        What is asked for.
    supervised : array-like of shape (n,)
        Scores of the calibration rows by the supervised model.
    sign : array-like of shape (n,)
        Their true classes, +1 or -1.
    point : OperatingPoint or None
        The operating point of the final model; None if it does not use the unlabeled rows.
    level : {"empirical", "cross-fitted"}
        Where the supervised scores come from.
    sets_threshold : bool, default=True
        Whether a threshold is chosen. If not, there is no step for it.

    Returns
    -------
    dict of {str: OperatingPoint}
        One operating point per step.

    Examples
    --------
    >>> from semisvm.decision import Target, make_audit, measure
    >>> scores, sign = [2.0, 1.0, -1.0, -2.0], [1, 1, 1, -1]
    >>> point = measure([3.0, 2.0, 1.0, -2.0], sign)
    >>> for step, found in make_audit(Target(), scores, sign, point, "empirical").items():
    ...     print(f"{step}: F1 {found.f_score.value:.2f}")
    supervised: F1 0.80
    supervised + threshold: F1 1.00
    with unlabeled: F1 1.00
    """
    audit = {SUPERVISED: measure(supervised, sign, 0.0, target=target, level=level)}
    if sets_threshold:
        audit[SUPERVISED_THRESHOLD] = choose_for(target, supervised, sign, level=level)
    if point is not None:
        audit[WITH_UNLABELED] = point
    return audit


def changed_by_unlabeled(audit: Mapping[str, OperatingPoint]) -> bool:
    """Whether the step with the unlabeled rows differs from the step before it, in threshold or in counts.

    Parameters
    ----------
    audit : dict of {str: OperatingPoint}
        The steps in order, as `make_audit` returns them.

    Returns
    -------
    bool
        False also where there is no such step.

    Examples
    --------
    >>> from semisvm.decision import Target, changed_by_unlabeled, make_audit
    >>> audit = make_audit(Target(), [2.0, 1.0, -1.0], [1, 1, -1], None, "empirical")
    >>> changed_by_unlabeled(audit)
    False
    """
    if WITH_UNLABELED not in audit or len(audit) < 2:
        return False
    before, after = list(audit.values())[-2], audit[WITH_UNLABELED]
    return (before.threshold, before.counts) != (after.threshold, after.counts)
