"""Targets of a threshold, and which of several candidates is best for a target.

    min_precision, min_recall   constraints: a candidate falls short of each by max(0, target -
                                value)
    beta or costs               the objective among candidates: largest F-beta, or smallest expected
                                cost
    prefer                      "other rate": with one of the two constraints, the largest other
                                rate instead of F-beta
    min_f, max_cost             constraints on F-beta and on the expected cost per row, in the same
                                way
    accept                      a share (float) or number (int) of rows to accept; used alone

If some candidates meet the constraints, the best of them by the objective is taken. If none does,
the one with the smallest total shortfall is taken (with one constraint: the highest precision, or
recall), and the objective decides among equals. This is how PSVM selects its classifier (Section
4.3), extended to both constraints at once.

In words: why a target could not be certified, and how many labels would be needed. There are two
numbers for each measure: the shortest perfect record (a record without an error) that certifies it,
and the length needed if the rate stays as it was seen. Precision counts accepted rows and recall
counts positives, so each number is also converted into labels, at the share seen here. A threshold
that reaches its target on fewer rows than the shortest perfect record proves nothing: among many
thresholds, one with seven accepted rows and no error is easily found by chance.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from semisvm.decision.binomial import estimate_rate, labels_needed
from semisvm.decision.checks import (
    check_accept,
    check_costs,
    check_number,
    check_target_rate,
)
from semisvm.decision.counts import Counts, expected_cost, f_score, precision, recall
from semisvm.errors import counted

OTHER_RATE = "other rate"
LARGEST_BETA = 1e100  # its square is finite
# with fewer, useful targets usually can't be certified
FEW_LABELS = 100


@dataclass(frozen=True)
class Target:
    """The minimum precision, recall or other goal that a threshold has to reach.

    Parameters
    ----------
    min_precision, min_recall : float, optional
        Minimum precision and recall.
    beta : float, default=1.0
        Among the thresholds that reach the minimums, F-beta is maximized; above 1 recall counts
        more.
    costs : (float, float), optional
        Cost of a missed positive and of an accepted negative. The expected cost is then minimized
        instead of maximizing F-beta.
    accept : float or int, optional
        Share (float) or number (int) of rows to accept. It can't be combined with minimums or
        costs.
    min_f : float, optional
        Minimum F-beta.
    max_cost : float, optional
        Maximum expected cost per row; it needs `costs`.
    prefer : {"other rate"}, optional
        Maximize the recall with a minimum precision only, and the precision with a minimum recall
        only. By default, and with both, F-beta is maximized.

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
        must_beta = f"be a positive number of at most {LARGEST_BETA:g}"
        checked = {
            "min_precision": check_target_rate(self.min_precision, "min_precision"),
            "min_recall": check_target_rate(self.min_recall, "min_recall"),
            "beta": check_number(self.beta, "beta", must_beta, lambda b: 0 < b <= LARGEST_BETA),
            "costs": None if self.costs is None else check_costs(self.costs),
            "accept": None if self.accept is None else check_accept(self.accept),
            "min_f": check_target_rate(self.min_f, "min_f"),
        }
        if self.max_cost is not None:
            checked["max_cost"] = check_number(
                self.max_cost, "max_cost", "be a number of 0 or more", lambda c: 0 <= c < math.inf
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.accept is not None and (self.is_constrained or self.costs is not None):
            raise ValueError(
                "accept already fixes the threshold: pass neither a minimum nor costs with it."
            )
        if self.prefer not in (None, OTHER_RATE):
            raise ValueError(f"prefer must be None or {OTHER_RATE!r}, got {self.prefer!r}.")
        if self.max_cost is not None and self.costs is None:
            raise ValueError(
                "`max_cost` needs `costs`: what a missed positive and what an accepted negative"
                " cost."
            )

    @property
    def is_constrained(self) -> bool:
        """Whether there is a minimum precision, recall or F-beta, or a maximum cost."""
        limits = (self.min_precision, self.min_recall, self.min_f, self.max_cost)
        return any(limit is not None for limit in limits)

    def as_dict(self) -> dict[str, Any]:
        """Return the target as plain JSON values.

        Returns
        -------
        dict
            The parameters that are not None.
        """
        given = {name: value for name, value in vars(self).items() if value is not None}
        return given if self.costs is None else given | {"costs": list(self.costs)}

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

    def shortfall(self, counts: Counts) -> Any:
        """Return by how much each candidate misses the constraints in total; an undefined rate
        counts as 0.

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
        for least, measured in (
            (self.min_precision, precision(counts)),
            (self.min_recall, recall(counts)),
            (self.min_f, f_score(counts, self.beta)),
        ):
            if least is not None:
                missing = missing + np.maximum(0, least - np.nan_to_num(measured, nan=0.0))
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
            The F score, minus the expected cost where costs are given, or the rate that is
            preferred.
        """
        if self.costs is not None:
            return -expected_cost(counts, self.costs)
        if self.prefer == OTHER_RATE and (self.min_precision is None) != (self.min_recall is None):
            other = precision if self.min_precision is None else recall
            return np.nan_to_num(other(counts), nan=0.0)
        return f_score(counts, self.beta)

    def __str__(self) -> str:
        if self.accept is not None:
            what = (
                counted(self.accept, "row")
                if isinstance(self.accept, int)
                else f"{self.accept:.1%} of rows"
            )
            return f"accept {what}"
        limits = {
            "precision": self.min_precision,
            "recall": self.min_recall,
            f_name(self.beta): self.min_f,
        }
        parts = [f"{name} at least {least:.3g}" for name, least in limits.items() if least]
        if self.costs is not None:
            missed, accepted = self.costs
            aim = "lowest expected cost"
            if self.max_cost is not None:
                aim = f"cost at most {self.max_cost:.3g} per row"
            parts.append(
                f"{aim} ({missed:g} per missed positive, {accepted:g} per accepted negative)"
            )
        elif not parts or (self.beta != 1 and self.min_f is None):
            parts.append(f"best {f_name(self.beta)}")
        return ", ".join(parts)


def best_of(counts: Counts, target: Target) -> tuple[int, bool]:
    """Return the place of the best of several candidates, the first of equals, and whether it meets
    the constraints.

    >>> import numpy as np
    >>> from semisvm.decision import Counts, Target
    >>> two = Counts(*np.array([[8, 6], [2, 0], [2, 4], [8, 10]]))  # tp, fp, fn, tn
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
    """Make the first letter a capital and leave the rest alone (str.capitalize would write f1
    for F1).
    """
    return text[:1].upper() + text[1:]


class _Record(NamedTuple):
    """One measure at the empirical choice: `counts.tp` successes in `trials`."""

    name: str
    unit: str
    trials: int
    target: float


def explain_shortage(counts: Counts, target: Target, confidence: float, each: float) -> str:
    """Explain why nothing is certified.

    `counts` are those of the empirical choice, and `each` is the confidence of the test of each
    measure.
    """
    records = _records(counts, target)
    targets = " with ".join(f"{record.name} {record.target:.3g}" for record in records)
    seen = " and ".join(_seen(record, counts.tp, each) for record in records)
    sentences = [
        f"{capital(targets)} can't be certified at {confidence:.0%} confidence from {counts.rows}"
        f" labels. The best threshold gives {seen}."
    ]
    sentences += [_needed(record, counts, each) for record in records]
    if target.min_precision is None:
        sentences.append("Only accepting every row guarantees that recall.")
    if counts.rows < FEW_LABELS:
        sentences.append(
            f"With fewer than about {FEW_LABELS} labels this is the usual outcome of any valid"
            " method."
        )
    return " ".join(sentences)


def explain_thin_evidence(counts: Counts, target: Target, confidence: float) -> str:
    """Return one sentence per target that is reached on too few rows to prove it; "" if there is
    none.
    """
    thin = (_thin(record, confidence) for record in _records(counts, target))
    return " ".join(filter(None, thin))


def _records(counts: Counts, target: Target) -> list[_Record]:
    precise = _Record("precision", "accepted rows", counts.accepted, target.min_precision or 0.0)
    complete = _Record("recall", "positives", counts.positives, target.min_recall or 0.0)
    return [record for record in (precise, complete) if record.target > 0]


def _seen(record: _Record, successes: int, confidence: float) -> str:
    value, low, high = estimate_rate(successes, record.trials, confidence)
    interval = f"{confidence:.0%} interval {low:.2f} to {high:.2f}"
    return f"{record.name} {successes} of {record.trials} {record.unit} ({value:.2f}, {interval})"


def _needed(record: _Record, counts: Counts, confidence: float) -> str:
    """Say how long a perfect record has to be, and how long one at the rate seen."""
    perfect = labels_needed(record.target, confidence=confidence)
    if perfect is None:
        return f"No number of labels certifies a {record.name} of 1."
    share = record.trials / counts.rows
    labels = math.ceil(perfect / share)
    words = (
        f"For {record.name} a perfect record needs {perfect} {record.unit}, about {labels} labels"
    )
    if counts.tp == record.trials:
        return f"{words}."
    needed = labels_needed(record.target, rate=counts.tp / record.trials, confidence=confidence)
    if needed is None:
        return (
            f"{words}; at the rate seen, which is not above {record.target:.3g}, no number is"
            " enough."
        )
    if needed <= record.trials:
        return (
            f"{words}; the rate seen would be enough if this threshold had been the only one"
            " tested."
        )
    return (
        f"{words}; the rate seen needs about {needed} {record.unit}, {math.ceil(needed / share)}"
        " labels."
    )


def _thin(record: _Record, confidence: float) -> str:
    """Say that even a perfect record of this length would prove nothing, where that is so."""
    perfect = labels_needed(record.target, confidence=confidence)
    if perfect is not None and record.trials >= perfect:
        return ""
    kind = {"precision": "accepted", "recall": "positive"}[record.name]
    words = f"This is based on {counted(record.trials, f'{kind} label')}; "
    aim = f"a {record.name} of {record.target:.3g}"
    if perfect is None:
        return f"{words}no number of labels can prove {aim}: don't rely on it."
    words += (
        f"to prove {aim} at {100 * confidence:.3g}% confidence takes at least {perfect}, all of"
        " them right"
    )
    return f"{words}: don't rely on it."
