"""What a fit says about itself: one record per round, and one word for why it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

# Every value that `termination_condition_` can have. The first six are those of the solver (`dual.Status`).
TerminationCondition = Literal[
    "converged",  # the tolerance is met, and the labels that the method gave stay as they are
    "max_iter",  # the limit of solver steps
    "time_limit",  # the limit of seconds
    "interrupted",  # Ctrl-C
    "stopped_by_callback",
    "stalled",  # rounding allows no further progress
    "max_rounds",  # the method's limit of rounds
    "cycle",  # an earlier labeling came back
    "margin_empty",  # no unlabeled row is left inside the margin: how PTSVM should end
]


@dataclass(frozen=True)
class RoundRecord:
    """One round of a fit.

    Attributes
    ----------
    problem : str
        The binary problem, for people: "spam vs rest".
    round : int
        The number of the round within its problem, from 0.
    n_iter : int
        Solver steps of the problem so far.
    gap : float
        The gap of the round's solution.
    seconds : float
        Seconds since the problem began.
    objective : float or None
        The value of the method's objective, where it has one.
    details : dict
        What only this method reports, such as the number of labels that changed.
    """

    problem: str
    round: int = 0
    n_iter: int = 0
    gap: float = 0.0
    seconds: float = 0.0
    objective: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the record as one flat dictionary, `details` merged in."""
        own = {name: value for name, value in vars(self).items() if name != "details"}
        return own | self.details

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RoundRecord:
        """Return the record that `as_dict` wrote; names that are no fields become details."""
        own = {one.name for one in fields(cls)} - {"details"}
        gap = values.get("gap")
        return cls(
            problem=str(values.get("problem", "")),
            round=int(values.get("round") or 0),
            n_iter=int(values.get("n_iter") or 0),
            gap=math.nan if gap is None else float(gap),
            seconds=float(values.get("seconds") or 0.0),
            objective=values.get("objective"),
            details={name: value for name, value in values.items() if name not in own},
        )

    def with_details(self, **more: Any) -> RoundRecord:
        """Return a copy with more details."""
        return replace(self, details=self.details | more)
