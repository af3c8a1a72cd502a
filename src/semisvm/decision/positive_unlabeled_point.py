"""A threshold where no negative is labeled, with what is known about it: recall, share accepted, lift.

The levels are those of `OperatingPoint`. A precision is only given where the user gave the prior: an interval of it
that rested on an estimated prior would be wrong most of the time.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from semisvm.decision.binomial import Estimate, binomial_interval, estimate_rate
from semisvm.decision.checks import check_confidence
from semisvm.decision.operating_point import (
    PROMISES,
    EvidenceLevel,
    TargetStatus,
    check_level,
    estimate_from_plain,
    in_one_line,
    plain_estimate,
    show,
)
from semisvm.decision.target import capital
from semisvm.decision.without_negatives import bound_lift, estimate_lift
from semisvm.errors import counted

ASSUMPTION = "All of this assumes that the labeled positives are a random sample of all positives."


class AcceptedCounts(NamedTuple):
    """How many rows a threshold accepts, of how many.

    Parameters
    ----------
    accepted_positives, positives : int
        Labeled positives.
    accepted_unlabeled, unlabeled : int
        Unlabeled rows.

    Examples
    --------
    >>> from semisvm.decision import AcceptedCounts
    >>> AcceptedCounts(45, 50, 300, 3000).accepted_unlabeled
    300
    """

    accepted_positives: int
    positives: int
    accepted_unlabeled: int
    unlabeled: int


@dataclass(frozen=True, repr=False)
class PositiveUnlabeledPoint:
    """A threshold and what is known about it without labeled negatives; `str()` gives a summary.

    Parameters
    ----------
    threshold : float
        A row is accepted (called positive) when its score is above it.
    asked : str
        What was asked for, in words.
    min_recall : float or None
        The recall that was asked for.
    level : {"empirical", "cross-fitted", "certified"}
        What the numbers rest on.
    confidence : float
        Of the intervals, or of each promise.
    counts : AcceptedCounts
        What the threshold does to the rows that it is judged on.
    recall, share_accepted, lift : Estimate
        Of the positives; of the unlabeled rows; and the first divided by the second. At level "certified" the lower
        end of recall and of lift is promised, each with the confidence.
    prior : (float, float) or None
        Between which numbers the share of positives among the unlabeled rows lies, as the user says; None where the
        user did not.
    prior_estimate, prior_bound : float
        The same share as the scores show it, and an upper bound at the confidence; NaN where it is not known.
    reached : bool
        Whether the recall that was asked for is met; at level "certified", whether it is certified.
    reason : str
        Why it is not reached, or why no F1 could be estimated; empty otherwise.

    See Also
    --------
    OperatingPoint : The same where negatives are labeled too.

    Examples
    --------
    >>> from semisvm.decision import AcceptedCounts, judge_without_negatives
    >>> point = judge_without_negatives(0.3, AcceptedCounts(86, 100, 400, 3000), min_recall=0.8, level="certified")
    >>> round(point.lift.low, 2), point.status, point.precision
    (5.45, 'certified', None)
    >>> round(point.precision_at(0.1), 3)
    0.645
    """

    threshold: float
    asked: str
    min_recall: float | None
    level: EvidenceLevel
    confidence: float
    counts: AcceptedCounts
    recall: Estimate
    share_accepted: Estimate
    lift: Estimate
    prior: tuple[float, float] | None
    prior_estimate: float
    prior_bound: float
    reached: bool
    reason: str = ""

    @property
    def status(self) -> TargetStatus:
        """What came of the recall that was asked for: the words of `OperatingPoint.status`."""
        if not self.reached:
            return "missed"
        if self.min_recall is None:
            return "chosen"
        if self.level in PROMISES:
            return "certified"
        return "reached" if self.recall.low >= self.min_recall else "unproven"

    @property
    def precision(self) -> Estimate | None:
        """Precision among the unlabeled rows, from the prior that the user gave; None where the prior is estimated."""
        if self.prior is None:
            return None
        low, high = self.prior
        value = min(1.0, math.sqrt(low * high) * self.lift.value)
        return Estimate(value, min(1.0, low * self.lift.low), min(1.0, high * self.lift.high))

    def precision_at(self, prior: float) -> float:
        """Return the precision that the threshold would have if this were the prior.

        Parameters
        ----------
        prior : float
            A share of positives among the unlabeled rows, in (0, 1).

        Returns
        -------
        float
            prior * lift, at most 1: a value under an assumption, never a bound.
        """
        if not 0 < prior < 1:
            raise ValueError(f"prior must lie strictly between 0 and 1, got {prior!r}.")
        return min(1.0, prior * self.lift.value)

    def summary(self) -> str:
        """Return a few lines of text.

        Returns
        -------
        str
            What was asked for, what is known or promised, and what it assumes.
        """
        seen = f"{counted(self.counts.positives, 'positive')} and {counted(self.counts.unlabeled, 'unlabeled row')}"
        found = "" if self.min_recall is None else ": reached" if self.reached else ": not reached"
        lines = [
            f"{capital(self.asked)}{found} ({self.level}, {seen}).",
            f"  accepts score > {self.threshold:.6g}",
        ]
        if self.level in PROMISES:
            lines += [
                f"  recall is at least {self.recall.low:.3f}, each promise with probability {self.confidence:.0%}",
                f"  accepted rows are at least {self.lift.low:.2f} times richer in positives than the unlabeled rows",
            ]
        else:
            lines += [
                f"  recall         {show(self.recall)}",
                f"  rows accepted  {show(self.share_accepted)}",
                f"  lift           {show(self.lift)}",
            ]
        if not math.isnan(self.prior_bound):
            lines.append(f"  at most {self.prior_bound:.1%} of the unlabeled rows are positive")
        lines.append("  " + self._about_precision())
        if self.reason:
            lines.append("  " + self.reason)
        return "\n".join([*lines, "  " + ASSUMPTION])

    __str__, __repr__ = summary, in_one_line

    def _about_precision(self) -> str:
        if math.isnan(self.lift.value):
            return "precision      undefined (no unlabeled row is accepted)"
        if self.precision is not None and self.level in PROMISES:
            return f"precision is at least {self.precision.low:.3f}, if the prior is as given"
        if self.precision is not None:
            return f"precision      {show(self.precision)}, if the prior is as given"
        # Two examples, neither of them an estimate.
        supposed = [0.01, 0.1] if math.isnan(self.prior_bound) else [self.prior_bound / 4, self.prior_bound / 2]
        told = " and ".join(f"{self.precision_at(prior):.2f} if {prior:.1%} are positive" for prior in supposed)
        return f"precision depends on the prior, which is not known: {told}; look at some accepted rows to know"

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values; NaN and infinite numbers are None.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        return {
            "threshold": self.threshold,
            "asked": self.asked,
            "min_recall": self.min_recall,
            "level": self.level,
            "confidence": self.confidence,
            "counts": self.counts._asdict(),
            "recall": plain_estimate(self.recall),
            "share_accepted": plain_estimate(self.share_accepted),
            "lift": {name: number if math.isfinite(number) else None for name, number in self.lift._asdict().items()},
            "precision": None if self.precision is None else plain_estimate(self.precision),
            "prior": None if self.prior is None else list(self.prior),
            "prior_estimate": None if math.isnan(self.prior_estimate) else self.prior_estimate,
            "prior_bound": None if math.isnan(self.prior_bound) else self.prior_bound,
            "reached": self.reached,
            "reason": self.reason,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "PositiveUnlabeledPoint":
        """Return the point that `as_dict` wrote.

        Parameters
        ----------
        values : dict
            What `as_dict` returned. "precision" follows from the rest and is not read.

        Returns
        -------
        PositiveUnlabeledPoint
            Equal to the original, NaN included.
        """
        lift = estimate_from_plain(values["lift"])
        return cls(
            threshold=float(values["threshold"]),
            asked=str(values["asked"]),
            min_recall=values["min_recall"],
            level=check_level(values["level"]),
            confidence=check_confidence(values["confidence"]),
            counts=AcceptedCounts(**values["counts"]),
            recall=estimate_from_plain(values["recall"]),
            share_accepted=estimate_from_plain(values["share_accepted"]),
            lift=lift._replace(high=math.inf if math.isnan(lift.high) else lift.high),
            prior=None if values["prior"] is None else (float(values["prior"][0]), float(values["prior"][1])),
            prior_estimate=math.nan if values["prior_estimate"] is None else float(values["prior_estimate"]),
            prior_bound=math.nan if values["prior_bound"] is None else float(values["prior_bound"]),
            reached=bool(values["reached"]),
            reason=str(values["reason"]),
        )


def judge_without_negatives(
    threshold: float,
    counts: AcceptedCounts,
    *,
    asked: str = "",
    min_recall: float | None = None,
    level: EvidenceLevel = "cross-fitted",
    confidence: float = 0.9,
    prior: tuple[float, float] | None = None,
    prior_estimate: float = math.nan,
    prior_bound: float = math.nan,
    reached: bool = True,
    reason: str = "",
) -> PositiveUnlabeledPoint:
    """Measure what a threshold accepts and return its operating point.

    Parameters
    ----------
    threshold : float
        The threshold.
    counts : AcceptedCounts
        What it accepts of the rows that it is judged on.
    asked : str, default=""
        What was asked for, in words; by default made from `min_recall`.
    min_recall : float, optional
        The recall that was asked for. At level "certified" the counts must prove it, as those of `certify_recall` do.
    level : {"empirical", "cross-fitted", "certified"}, default="cross-fitted"
        What the counts rest on. "certified": rows that were used for nothing else.
    confidence : float, default=0.9
        Of the intervals, or of each promise.
    prior : (float, float), optional
        Between which numbers the prior lies, as the user says.
    prior_estimate, prior_bound : float, default=NaN
        From `bound_prior`.
    reached : bool, default=True
        Whether the recall is met.
    reason : str, default=""
        Why not.

    Returns
    -------
    PositiveUnlabeledPoint
        The point.

    Examples
    --------
    >>> from semisvm.decision import AcceptedCounts, judge_without_negatives
    >>> judge_without_negatives(0.3, AcceptedCounts(45, 50, 300, 3000)).recall.value
    0.9
    """
    check_level(level)
    recall = estimate_rate(counts.accepted_positives, counts.positives, confidence)
    share = estimate_rate(counts.accepted_unlabeled, counts.unlabeled, confidence)
    lift = estimate_lift(*counts, confidence=confidence)
    if level in PROMISES:
        low = float(binomial_interval(counts.accepted_positives, counts.positives, confidence, "lower")[0])
        recall = Estimate(recall.value, low if min_recall is None or not reached else max(low, min_recall), 1.0)
        lift = Estimate(lift.value, bound_lift(*counts, confidence=confidence), math.inf)
    asked = asked or ("the threshold given" if min_recall is None else f"recall at least {min_recall:g}")
    return PositiveUnlabeledPoint(
        threshold=float(threshold),
        asked=asked,
        min_recall=min_recall,
        level=level,
        confidence=confidence,
        counts=counts,
        recall=recall,
        share_accepted=share,
        lift=lift,
        prior=prior,
        prior_estimate=prior_estimate,
        prior_bound=prior_bound,
        reached=reached,
        reason=reason,
    )
