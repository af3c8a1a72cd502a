"""A threshold with what it is expected to give, how sure that is, and whether it is what was asked for.

Three levels, from the least to the most that is promised:

    empirical      measured on the calibration rows the threshold was chosen on
    cross-fitted   the same arithmetic on out-of-fold scores: every label trains and every label measures
    certified      a confidence bound, made on rows used for nothing else (`certify` has the argument)

The intervals of the first two are exact for a threshold fixed beforehand; choosing it on the same rows makes
them flatter it, and out-of-fold scores come from one model a fold, which the arithmetic takes for one.
A certified measure's interval is [target, 1], which is all that is promised of it.

`reached` says what was seen, not what is sure: where the rows behind it are so few that even a perfect record
would prove nothing, it stays True and `reason` says so.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from semisvm.decision.binomial import Estimate, estimate
from semisvm.decision.checks import check_confidence
from semisvm.decision.counts import Counts
from semisvm.decision.intervals import estimate_cost, estimate_f
from semisvm.decision.shortage import explain_thin_evidence
from semisvm.decision.target import Target, capital, f_name

Level = Literal["empirical", "cross-fitted", "certified"]

_CAUTION = {
    "empirical": "{:.0%} intervals, exact for a threshold fixed beforehand; this one saw the same rows.",
    "cross-fitted": "{:.0%} intervals on out-of-fold scores, exact for a threshold fixed beforehand.",
    "certified": "The promise holds with probability {:.0%} over the draw of the certificate's rows.",
}


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold (score > threshold is positive) and what is known of it; `str()` gives the summary.

    `reason` says why the target is not reached, or on how few labels it rests; it is empty otherwise.
    """

    threshold: float
    target: Target
    level: Level
    confidence: float
    counts: Counts
    precision: Estimate
    recall: Estimate
    f_score: Estimate
    cost: Estimate | None
    reached: bool
    reason: str = ""

    @property
    def share_accepted(self) -> float:
        return self.counts.accepted / self.counts.rows

    @property
    def is_constant(self) -> bool:
        """Whether every row, or none, is accepted, whatever its score."""
        return math.isinf(self.threshold)

    def summary(self) -> str:
        """The whole in a few lines of text."""
        verdict = "reached" if self.reached else "not reached"
        lines = [
            f"{capital(str(self.target))}: {verdict} ({self.level}, {self.counts.rows} labels).",
            f"  {self._rule()}; {self.share_accepted:.1%} of the rows",
        ]
        lines += [f"  {name:<9} {show(value)}" for name, value in self._measures()]
        if self.reason:
            lines.append(f"  {self.reason}")
        if self.reached or self.level != "certified":
            lines.append("  " + _CAUTION[self.level].format(self.confidence))
        return "\n".join(lines)

    __str__ = summary

    def as_dict(self) -> dict[str, Any]:
        """The whole as plain JSON values: an infinite threshold is the text "inf" or "-inf", NaN is None."""
        return {
            "threshold": str(self.threshold) if self.is_constant else self.threshold,
            "target": {name: value for name, value in vars(self.target).items() if value is not None},
            "asked": str(self.target),
            "level": self.level,
            "confidence": self.confidence,
            "reached": self.reached,
            "reason": self.reason,
            "share_accepted": self.share_accepted,
            "counts": self.counts._asdict(),
            "precision": _plain(self.precision),
            "recall": _plain(self.recall),
            "f_score": _plain(self.f_score),
            "cost": None if self.cost is None else _plain(self.cost),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "OperatingPoint":
        """Return the operating point that `as_dict` wrote: the inverse of it, with NaN for None."""
        target = dict(values["target"])
        if "costs" in target:
            target["costs"] = tuple(target["costs"])
        return cls(
            threshold=float(values["threshold"]),
            target=Target(**target),
            level=values["level"],
            confidence=values["confidence"],
            counts=Counts(**values["counts"]),
            precision=_estimate_from(values["precision"]),
            recall=_estimate_from(values["recall"]),
            f_score=_estimate_from(values["f_score"]),
            cost=None if values["cost"] is None else _estimate_from(values["cost"]),
            reached=values["reached"],
            reason=values["reason"],
        )

    def _rule(self) -> str:
        if self.is_constant:
            return f"accepts {'every row' if self.threshold < 0 else 'no row'}, whatever its score: a constant"
        return f"accepts score > {self.threshold:.6g}"

    def _measures(self) -> list[tuple[str, Estimate]]:
        named = [
            ("precision", self.precision),
            ("recall", self.recall),
            (f_name(self.target.beta), self.f_score),
        ]
        return named if self.cost is None else [*named, ("cost", self.cost)]


def operating_point(
    threshold: float,
    counts: Counts,
    target: Target,
    *,
    level: Level,
    confidence: float,
    reached: bool,
    reason: str = "",
) -> OperatingPoint:
    """Measure the counts of one threshold and put the whole together."""
    check_level(level)
    check_confidence(confidence)
    measured_precision = estimate(counts.tp, counts.accepted, confidence)
    measured_recall = estimate(counts.tp, counts.positives, confidence)
    if level == "certified" and reached:
        if target.min_precision is not None:
            measured_precision = Estimate(measured_precision.value, target.min_precision, 1.0)
        if target.min_recall is not None:
            measured_recall = Estimate(measured_recall.value, target.min_recall, 1.0)
    elif reached and not reason:
        reason = explain_thin_evidence(counts, target, confidence)
    return OperatingPoint(
        threshold=float(threshold),
        target=target,
        level=level,
        confidence=confidence,
        counts=counts,
        precision=measured_precision,
        recall=measured_recall,
        f_score=estimate_f(counts, target.beta, confidence),
        cost=None if target.costs is None else estimate_cost(counts, target.costs, confidence),
        reached=reached,
        reason=reason,
    )


def check_level(level: str) -> None:
    """Raise unless `level` is one of the three."""
    if level not in get_args(Level):
        raise ValueError(f"level must be one of {', '.join(get_args(Level))}; got {level!r}.")


def show(value: Estimate) -> str:
    """The value and its interval, or that there is none."""
    if math.isnan(value.value):
        return "undefined (nothing accepted)"
    return f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"


def _plain(value: Estimate) -> dict[str, float | None]:
    return {name: None if math.isnan(number) else number for name, number in value._asdict().items()}


def _estimate_from(values: Mapping[str, float | None]) -> Estimate:
    return Estimate(*(math.nan if values[end] is None else values[end] for end in Estimate._fields))  # type: ignore[arg-type]
