"""Where the gain comes from: supervised, + threshold, + unlabeled rows, each measure with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from semisvm.decision import OperatingPoint
from semisvm.report.displays.canvas import BLUE, GREY, pyplot
from semisvm.report.displays.fitted import last_step

MEASURES = ("precision", "recall", "f_score")


class AuditDisplay:
    """Precision, recall and F of each step of an audit; made by `from_estimator`.

    Parameters
    ----------
    audit : {step: OperatingPoint}, the last step being the model in use.

    Attributes
    ----------
    axes_, figure_ : the matplotlib axes, one a measure, and their figure, after `plot`.
    """

    def __init__(self, audit: Mapping[str, OperatingPoint]) -> None:
        self.audit = dict(audit)

    @classmethod
    def from_estimator(cls, estimator: Any, *, positive: Any = None, axes: Any = None) -> AuditDisplay:
        """Draw the `audit_` of a fitted estimator, or of the last step of a Pipeline; `positive` names the class."""
        check_is_fitted(estimator)
        final = last_step(estimator)
        if not hasattr(final, "audit_"):
            raise ValueError(f"{type(final).__name__} keeps no audit: PreferenceSVC does.")
        audit = final.audit_
        if not all(isinstance(found, OperatingPoint) for found in audit.values()):
            if positive not in audit:
                raise ValueError(f"positive must name one of the classes {list(audit)}, got {positive!r}.")
            audit = audit[positive]
        return cls(audit).plot(axes)

    def plot(self, axes: Any = None) -> AuditDisplay:
        """Draw on three axes, or on new ones."""
        if axes is None:
            axes = pyplot().subplots(1, 3, sharey=True, figsize=(9, 2.4), layout="constrained")[1]
        self.axes_ = np.atleast_1d(axes)
        if self.axes_.size != len(MEASURES):
            raise ValueError(f"axes must be {len(MEASURES)} axes, one a measure, got {self.axes_.size}.")
        colors = [GREY] * (len(self.audit) - 1) + [BLUE]
        for ax, name in zip(self.axes_, MEASURES, strict=True):
            for place, (found, color) in enumerate(zip(self.audit.values(), colors, strict=True)):
                value = getattr(found, name)
                ax.plot([value.low, value.high], [place, place], color=color, alpha=0.5, linewidth=5)
                ax.plot(value.value, place, "o", color=color)
                least = getattr(found.target, f"min_{name}", None)
            if least is not None:
                ax.axvline(least, color=GREY, linestyle="--", linewidth=1.2)
            ax.set(title=name.replace("_", " "), yticks=range(len(self.audit)), yticklabels=list(self.audit))
            ax.set_ylim(len(self.audit) - 0.5, -0.5)
        self.figure_ = self.axes_[0].figure
        return self
