"""What one round of a fit did: the record type of every estimator's `history_`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RoundRecord:
    """One round of a fit, for one binary problem.

    Attributes
    ----------
    problem : str
        The binary problem, made from the labels themselves: "spam vs rest".
    round : int
        The number of the round, from 0 or 1 upward as the method counts.
    n_iter : int
        Solver iterations so far.
    gap : float
        The duality gap of the last solution; NaN where the method solves no dual problem.
    seconds : float
        Time since the fit began.
    objective : float or None
        The objective of the round, where the method has one.
    details : dict
        What only this method records, by name.
    """

    problem: str
    round: int
    n_iter: int
    gap: float
    seconds: float
    objective: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the record as one flat dictionary, with the details merged in."""
        own = {name: value for name, value in vars(self).items() if name != "details"}
        return own | self.details

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RoundRecord:
        """Return the record that `as_dict` wrote; names that are no fields become details."""
        gap = values.get("gap")
        own = {"problem", "round", "n_iter", "gap", "seconds", "objective"}
        return cls(
            problem=str(values.get("problem", "")),
            round=int(values.get("round") or 0),
            n_iter=int(values.get("n_iter") or 0),
            gap=math.nan if gap is None else float(gap),
            seconds=float(values.get("seconds") or 0.0),
            objective=values.get("objective"),
            details={name: value for name, value in values.items() if name not in own},
        )
