"""What is asked of a threshold, and which of several candidates answers it best.

    min_precision, min_recall   constraints: a candidate falls short of each by max(0, target - value)
    beta or costs               the objective among candidates: largest F-beta, or smallest expected cost
    prefer                      "other rate": with one of the two constraints, the largest other rate instead of F-beta
    min_f, max_cost             constraints on F-beta and on the expected cost per row, in the same way
    accept                      a share (float) or number (int) of rows to accept; used alone

If some candidates meet the constraints, the best of them by the objective is taken. If none does, the one with the
smallest total shortfall is taken (with one constraint: the highest precision, or recall), and the objective decides
among equals. This is how PSVM selects its classifier (Section 4.3), extended to both constraints at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.decision.checks import check_accept, check_beta, check_costs, check_max_cost, check_target_rate
from semisvm.decision.counts import Counts, expected_cost, f_score, precision, recall

OTHER_RATE = "other rate"


@dataclass(frozen=True)
class Target:
    """What is asked of a threshold.

    Parameters
    ----------
    min_precision, min_recall : float, optional
        Lowest precision and recall that are good enough.
    beta : float, default=1.0
        Among thresholds that are good enough, F-beta is maximized; above 1 recall counts more.
    costs : (float, float), optional
        Cost of a missed positive and of an accepted negative. The expected cost is then minimized instead.
    accept : float or int, optional
        A share (float) or number (int) of rows to accept. Neither constraints nor costs can be given with it.
    min_f : float, optional
        Lowest F-beta that is good enough.
    max_cost : float, optional
        Highest expected cost per row that is good enough; it needs `costs`.
    prefer : {"other rate"}, optional
        With a minimum precision alone, the largest recall is taken among thresholds that are good enough, and with a
        minimum recall alone the largest precision. By default, and with both, F-beta is maximized.

    Examples
    --------
    >>> from semisvm.decision import Target
    >>> print(Target(min_precision=0.9))
    precision at least 0.9
    >>> print(Target(beta=2))
    best F2
    """

    min_precision: float | None = None
    min_recall: float | None = None
    beta: float = 1.0
    costs: tuple[float, float] | None = None
    accept: float | int | None = None
    min_f: float | None = None
    max_cost: float | None = None
    prefer: str | None = None

    def __post_init__(self) -> None:
        plain = {
            "min_precision": check_target_rate(self.min_precision, "min_precision"),
            "min_recall": check_target_rate(self.min_recall, "min_recall"),
            "beta": check_beta(self.beta),
            "costs": None if self.costs is None else check_costs(self.costs),
            "accept": None if self.accept is None else check_accept(self.accept),
            "min_f": check_target_rate(self.min_f, "min_f"),
            "max_cost": None if self.max_cost is None else check_max_cost(self.max_cost),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if self.accept is not None and (self.is_constrained or self.costs is not None):
            raise ValueError("accept alone fixes the threshold: leave out min_precision, min_recall and costs.")
        if self.prefer not in (None, OTHER_RATE):
            raise ValueError(f"prefer must be None or {OTHER_RATE!r}, got {self.prefer!r}.")
        if self.max_cost is not None and self.costs is None:
            raise ValueError("max_cost needs costs, a pair (missed positive, accepted negative): say what errors cost.")

    @property
    def is_constrained(self) -> bool:
        """Whether a precision, a recall, an F-beta or a cost is asked for."""
        limits = (self.min_precision, self.min_recall, self.min_f, self.max_cost)
        return any(limit is not None for limit in limits)

    def as_dict(self) -> dict[str, Any]:
        """Return what is asked as plain JSON values, without what is not asked.

        Returns
        -------
        dict
            The parameters that are not None.
        """
        found = {name: value for name, value in vars(self).items() if value is not None}
        return found if self.costs is None else found | {"costs": list(self.costs)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Target":
        """Return the target that `as_dict` wrote.

        Parameters
        ----------
        values : dict
            What `as_dict` returned.

        Returns
        -------
        Target
            An equal target.
        """
        return cls(**values)

    def share_of_risk(self, risk: float) -> float:
        """Return the part of a risk that each constraint gets.

        Parameters
        ----------
        risk : float
            Probability that any of the constraints may fail with.

        Returns
        -------
        float
            Half of it where both precision and recall are asked for, all of it otherwise.
        """
        return risk / 2 if self.min_precision is not None and self.min_recall is not None else risk

    def shortfall(self, counts: Counts) -> Any:
        """Return by how much each candidate misses the constraints in total; an undefined rate counts as 0.

        Parameters
        ----------
        counts : Counts
            Of one candidate, or arrays of those of many.

        Returns
        -------
        ndarray
            One number per candidate, 0 where all constraints hold.
        """
        missing = np.zeros(np.shape(counts.tp))
        for least, measured in ((self.min_precision, precision), (self.min_recall, recall)):
            if least is not None:
                missing = missing + np.maximum(0, least - np.nan_to_num(measured(counts), nan=0.0))
        if self.min_f is not None:
            missing = missing + np.maximum(0, self.min_f - np.nan_to_num(f_score(counts, self.beta), nan=0.0))
        if self.max_cost is not None and self.costs is not None:
            missing = missing + np.maximum(0, expected_cost(counts, self.costs) - self.max_cost)
        return missing

    def objective(self, counts: Counts) -> Any:
        """Return what is maximized among candidates that are otherwise equal.

        Parameters
        ----------
        counts : Counts
            Of one candidate, or arrays of those of many.

        Returns
        -------
        float or ndarray
            The F score, minus the expected cost where costs are given, or the rate that is preferred.
        """
        if self.costs is not None:
            return -expected_cost(counts, self.costs)
        if self.prefer == OTHER_RATE and (self.min_precision is None) != (self.min_recall is None):
            other = precision if self.min_precision is None else recall
            return np.nan_to_num(other(counts), nan=0.0)
        return f_score(counts, self.beta)

    def __str__(self) -> str:
        if self.accept is not None:
            return f"accept {self.accept} rows" if isinstance(self.accept, int) else f"accept {self.accept:.1%} of rows"
        parts = []
        if self.min_precision is not None:
            parts.append(f"precision at least {self.min_precision:.3g}")
        if self.min_recall is not None:
            parts.append(f"recall at least {self.min_recall:.3g}")
        if self.min_f is not None:
            parts.append(f"{f_name(self.beta)} at least {self.min_f:.3g}")
        if self.costs is not None:
            missed, accepted = self.costs
            if self.max_cost is not None:
                limit = f"cost at most {self.max_cost:.3g} per row"
                return ", ".join(
                    [*parts, f"{limit} ({missed:g} per missed positive, {accepted:g} per accepted negative)"]
                )
            parts.append(f"lowest expected cost ({missed:g} per missed positive, {accepted:g} per accepted negative)")
        elif not parts or (self.beta != 1 and self.min_f is None):
            parts.append(f"best {f_name(self.beta)}")
        return ", ".join(parts)


def best_of(counts: Counts, target: Target) -> tuple[int, bool]:
    """Return the best of several candidates.

    Parameters
    ----------
    counts : Counts
        Arrays with one entry per candidate.
    target : Target
        What is asked for.

    Returns
    -------
    index : int
        Position of the best candidate; the first of equals.
    reached : bool
        Whether it meets the constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.decision import Counts, Target, best_of
    >>> two = Counts(tp=np.array([8, 6]), fp=np.array([2, 0]), fn=np.array([2, 4]), tn=np.array([8, 10]))
    >>> best_of(two, Target())
    (0, True)
    >>> best_of(two, Target(min_precision=0.9))
    (1, True)
    """
    shortfall = target.shortfall(counts)
    is_nearest = shortfall == shortfall.min()
    index = int(np.argmax(np.where(is_nearest, target.objective(counts), -np.inf)))
    return index, bool(shortfall[index] == 0)


def f_name(beta: float) -> str:
    """Return the name of F-beta: F1, F2, F0.5."""
    return f"F{beta:g}"


def capital(text: str) -> str:
    """Make the first letter a capital and leave the rest alone (str.capitalize would write f1 for F1)."""
    return text[:1].upper() + text[1:]
