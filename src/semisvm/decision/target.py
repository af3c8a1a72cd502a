"""What is asked of a threshold, and which of several candidates answers it best.

    min_precision, min_recall   constraints: each candidate falls short by max(0, target - value)
    beta or costs               the objective among candidates: largest F-beta, or least expected cost
    accept                      a share (float) or number (int) of rows to accept; asked for alone

Candidates that meet the constraints -> the best objective among them. None does -> the least total shortfall
(with one constraint: the highest precision, or recall), and the best objective among equals. This is how PSVM
picks its classifier (Section 4.3), extended to both constraints at once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.decision.checks import check_accept, check_beta, check_costs, check_target_rate
from semisvm.decision.counts import Counts
from semisvm.decision.measures import expected_cost, f_score, precision, recall


@dataclass(frozen=True)
class Target:
    """What is asked of a threshold."""

    min_precision: float | None = None
    min_recall: float | None = None
    beta: float = 1.0
    costs: tuple[float, float] | None = None
    accept: float | int | None = None

    def __post_init__(self) -> None:
        plain = {
            "min_precision": check_target_rate(self.min_precision, "min_precision"),
            "min_recall": check_target_rate(self.min_recall, "min_recall"),
            "beta": check_beta(self.beta),
            "costs": None if self.costs is None else check_costs(self.costs),
            "accept": None if self.accept is None else check_accept(self.accept),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if self.accept is not None and (self.is_constrained or self.costs is not None):
            raise ValueError("accept alone fixes the threshold: leave out min_precision, min_recall and costs.")

    @property
    def is_constrained(self) -> bool:
        return self.min_precision is not None or self.min_recall is not None

    def share_of_risk(self, risk: float) -> float:
        """The part of a risk that each constraint gets."""
        return risk / 2 if self.min_precision is not None and self.min_recall is not None else risk

    def shortfall(self, counts: Counts) -> Any:
        """How far each candidate stays below the constraints in total; an undefined precision counts as 0."""
        missing = np.zeros(np.shape(counts.tp))
        if self.min_precision is not None:
            missing = missing + np.maximum(0, self.min_precision - np.nan_to_num(precision(counts), nan=0.0))
        if self.min_recall is not None:
            missing = missing + np.maximum(0, self.min_recall - recall(counts))
        return missing

    def objective(self, counts: Counts) -> Any:
        """What is made as large as possible among candidates that are equally good otherwise."""
        return f_score(counts, self.beta) if self.costs is None else -expected_cost(counts, self.costs)

    def __str__(self) -> str:
        if self.accept is not None:
            return f"accept {self.accept} rows" if isinstance(self.accept, int) else f"accept {self.accept:.1%} of rows"
        parts = []
        if self.min_precision is not None:
            parts.append(f"precision at least {self.min_precision:.3g}")
        if self.min_recall is not None:
            parts.append(f"recall at least {self.min_recall:.3g}")
        if self.costs is not None:
            parts.append("least expected cost ({:g} a missed positive, {:g} an accepted negative)".format(*self.costs))
        elif not parts or self.beta != 1:
            parts.append(f"best {f_name(self.beta)}")
        return ", ".join(parts)


def best_of(counts: Counts, target: Target) -> tuple[int, bool]:
    """Return the index of the best candidate (the first of equals) and whether it meets the constraints."""
    shortfall = target.shortfall(counts)
    is_nearest = shortfall == shortfall.min()
    index = int(np.argmax(np.where(is_nearest, target.objective(counts), -np.inf)))
    return index, bool(shortfall[index] == 0)


def f_name(beta: float) -> str:
    """F1, F2, F0.5."""
    return f"F{beta:g}"


def capital(text: str) -> str:
    """Make the first letter a capital and leave the rest alone (str.capitalize would write f1 for F1)."""
    return text[:1].upper() + text[1:]
