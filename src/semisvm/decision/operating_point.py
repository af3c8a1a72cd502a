"""A threshold with what it is expected to give, how sure that is, and whether it is what was asked for.

Levels, from the weakest promise to the strongest:

    empirical      measured on the calibration rows that the threshold was chosen on
    cross-fitted   the same arithmetic on out-of-fold scores: every label is used for training and for measuring
    certified      a confidence bound from rows that were used for nothing else (`certify` has the proof)
    certified by sampling   rows drawn at random from the pool prove it (`betting` has the proof); `sampling` says
                   what the promise is about

The intervals of the first two are exact for a threshold that was fixed beforehand. Choosing it on the same rows makes
it look better than it is, and out-of-fold scores come from one model per fold, while the arithmetic treats them as
those of one model. The interval of a certified measure is [target, 1]: that is all that is promised.

`reached` says what was seen, not what is sure. Where it rests on so few rows that even a record without an error would
prove nothing, `reached` stays True and `reason` says so.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from semisvm.decision.betting import SamplingEvidence
from semisvm.decision.binomial import Estimate, estimate_cost, estimate_f, estimate_rate
from semisvm.decision.checks import check_confidence
from semisvm.decision.counts import Counts
from semisvm.decision.target import Target, capital, explain_thin_evidence, f_name
from semisvm.errors import counted

EvidenceLevel = Literal["empirical", "cross-fitted", "certified", "certified by sampling"]
TargetStatus = Literal["certified", "reached", "unproven", "missed", "chosen"]

LINES_OF_REPR = 4  # of a summary: what was asked, the rule, and two measures

# The levels at which `reached` is a promise: nothing more has to be proved.
PROMISES: frozenset[EvidenceLevel] = frozenset({"certified", "certified by sampling"})

# For each level, how far its numbers can be trusted.
_CAUTION: dict[EvidenceLevel, str] = {
    "empirical": "{:.0%} intervals, exact for a threshold fixed beforehand; this one was chosen on the same rows.",
    "cross-fitted": "{:.0%} intervals on out-of-fold scores, exact for a threshold fixed beforehand.",
    "certified": "The promise holds with probability {:.0%} over the draw of the certificate's rows.",
    "certified by sampling": "The promise holds with probability {:.0%} over the random draw of the rows to label.",
}


@dataclass(frozen=True, repr=False)
class OperatingPoint:
    """A threshold and what is known about it; `str()` gives a summary, and notebooks show its first lines.

    Parameters
    ----------
    threshold : float
        A row is accepted (called positive) when its score is above it. Infinite for a constant.
    target : Target
        What was asked for.
    level : {"empirical", "cross-fitted", "certified", "certified by sampling"}
        What the numbers rest on.
    confidence : float
        Of the intervals, or of the certificate.
    counts : Counts
        What the threshold does to the labeled rows.
    precision, recall, f_score : Estimate
        What it gives on them, with intervals.
    cost : Estimate or None
        The expected cost per row, where the target has costs.
    reached : bool
        Whether the target is met on the labeled rows; at level "certified", whether it is certified.
    reason : str
        Why the target is not reached, or on how few labels it rests; empty otherwise.
    sampling : SamplingEvidence or None
        At level "certified by sampling": what the promise is about. `counts` are then those of the rows that were
        labeled in the campaign, which are not a fair sample of the pool on both sides of the threshold.

    Examples
    --------
    >>> from semisvm.decision import choose
    >>> point = choose([4.0, 3.0, 2.0, 1.0], [1, 1, -1, 1], min_precision=0.9)
    >>> point.threshold, point.precision.value, point.status
    (2.5, 1.0, 'unproven')
    >>> point
    <OperatingPoint: Precision at least 0.9: reached (empirical, 4 labels); accepts score > 2.5; 50.0% of the rows;
    precision 1.000 [0.224, 1.000]; recall 0.667 [0.135, 0.983]>
    """

    threshold: float
    target: Target
    level: EvidenceLevel
    confidence: float
    counts: Counts
    precision: Estimate
    recall: Estimate
    f_score: Estimate
    cost: Estimate | None
    reached: bool
    reason: str = ""
    sampling: SamplingEvidence | None = None

    @property
    def status(self) -> TargetStatus:
        """What came of the target.

        - "certified": the promise is given.
        - "reached": the labels show it, and so does the whole interval of every measure that was asked for.
        - "unproven": the labels show it, but an interval goes below the target.
        - "missed": no threshold gives it, or it could not be certified.
        - "chosen": no precision, recall, F-beta or cost was asked for.
        """
        if not self.reached:
            return "missed"
        target, cost = self.target, self.cost
        if not target.is_constrained:
            return "chosen"
        if self.level in PROMISES:
            return "certified"
        lows = [self.precision.low, self.recall.low, self.f_score.low]
        leasts = [target.min_precision, target.min_recall, target.min_f]
        is_shown = all(least is None or low >= least for least, low in zip(leasts, lows, strict=True))
        is_cheap = target.max_cost is None or (cost is not None and cost.high <= target.max_cost)
        return "reached" if is_shown and is_cheap else "unproven"

    @property
    def share_accepted(self) -> float:
        """The share of the labeled rows, or of the pool that was sampled, that is accepted; NaN without rows."""
        if self.sampling is not None:
            return self.sampling.n_accepted / self.sampling.n_rows
        return self.counts.accepted / self.counts.rows if self.counts.rows else math.nan

    @property
    def is_constant(self) -> bool:
        """Whether every row, or none, is accepted, whatever its score."""
        return math.isinf(self.threshold)

    @property
    def caution(self) -> str:
        """How far the numbers can be trusted, in one sentence."""
        if self.sampling is not None:
            return self.sampling.caution(self.confidence)
        return _CAUTION[self.level].format(self.confidence)

    def summary(self) -> str:
        """Return a few lines of text.

        Returns
        -------
        str
            What was asked, whether it was reached, the rule, and the estimates with their intervals.
        """
        found = "reached" if self.reached else "not reached"
        lines = [
            f"{capital(str(self.target))}: {found} ({self.level}, {counted(self._n_labels, 'label')}).",
            f"  {self._rule()}; {self.share_accepted:.1%} of the rows",
        ]
        lines += [f"  {name:<9} {show(value)}" for name, value in self._measures()]
        if self.reason:
            lines.append(f"  {self.reason}")
        if self.reached or self.level not in PROMISES:
            lines.append("  " + self.caution)
        return "\n".join(lines)

    __str__ = summary

    def __repr__(self) -> str:
        return in_one_line(self)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values: an infinite threshold is the text "inf" or "-inf", NaN is None.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        return {
            "threshold": str(self.threshold) if self.is_constant else self.threshold,
            "target": self.target.as_dict(),
            "asked": str(self.target),
            "level": self.level,
            "confidence": self.confidence,
            "reached": self.reached,
            "reason": self.reason,
            "share_accepted": None if math.isnan(self.share_accepted) else self.share_accepted,
            "counts": self.counts._asdict(),
            "precision": plain_estimate(self.precision),
            "recall": plain_estimate(self.recall),
            "f_score": plain_estimate(self.f_score),
            "cost": None if self.cost is None else plain_estimate(self.cost),
            **({} if self.sampling is None else {"sampling": asdict(self.sampling)}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "OperatingPoint":
        """Return the operating point that `as_dict` wrote.

        Parameters
        ----------
        values : dict
            What `as_dict` returned. "asked" and "share_accepted" follow from the rest and are not read.

        Returns
        -------
        OperatingPoint
            Equal to the original; None has become NaN again.

        Raises
        ------
        ValueError
            If an entry is missing or has an impossible value.
        """
        try:
            counts = Counts(**{name: int(number) for name, number in values["counts"].items()})
            estimates = {name: estimate_from_plain(values[name]) for name in ("precision", "recall", "f_score")}
            cost = None if values["cost"] is None else estimate_from_plain(values["cost"])
            point = cls(
                threshold=float(values["threshold"]),
                target=Target.from_dict(values["target"]),
                level=check_level(values["level"]),
                confidence=check_confidence(values["confidence"]),
                counts=counts,
                cost=cost,
                reached=bool(values["reached"]),
                reason=str(values["reason"]),
                sampling=SamplingEvidence(**values["sampling"]) if values.get("sampling") else None,
                **estimates,
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"This is not an operating point as as_dict writes it: {error!r}.") from None
        if math.isnan(point.threshold) or min(counts) < 0:
            raise ValueError(f"An operating point has a threshold and counts of 0 or more, got {values!r}.")
        return point

    @property
    def _n_labels(self) -> int:
        return self.counts.rows if self.sampling is None else self.sampling.n_labels

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
    level: EvidenceLevel,
    confidence: float,
    reached: bool,
    reason: str = "",
) -> OperatingPoint:
    """Measure the counts of one threshold and return its operating point."""
    check_level(level)
    check_confidence(confidence)
    measured_precision = estimate_rate(counts.tp, counts.accepted, confidence)
    measured_recall = estimate_rate(counts.tp, counts.positives, confidence)
    if level in PROMISES and reached:
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


def scores_beyond(scores: np.ndarray, threshold: float) -> np.ndarray:
    """Scores minus the threshold: above 0 is accepted.

    An infinite threshold accepts every row, or none. The scores are then moved to one side of 0, in the same order, so
    that they stay finite and still rank the rows.
    """
    if np.isfinite(threshold):
        return scores - threshold
    return scores / (1 + np.abs(scores)) - np.sign(threshold)


def in_one_line(point: Any) -> str:
    """Return the first lines of the summary of an operating point, of any kind, as one."""
    lines = point.summary().splitlines()[:LINES_OF_REPR]
    return f"<{type(point).__name__}: {'; '.join(' '.join(line.rstrip('.').split()) for line in lines)}>"


def check_level(level: Any) -> EvidenceLevel:
    """Return the level if it is one of the known ones."""
    if level not in get_args(EvidenceLevel):
        raise ValueError(f"level must be one of {', '.join(get_args(EvidenceLevel))}; got {level!r}.")
    return level  # type: ignore[no-any-return]


def show(value: Estimate) -> str:
    """Return the value and its interval as text, or that there is none."""
    if math.isnan(value.value):
        return "undefined (nothing accepted)" if value.low == 0 and value.high == 1 else "not measured"
    return f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"


def plain_estimate(value: Estimate) -> dict[str, float | None]:
    """Return an estimate as plain JSON values: NaN is None."""
    return {name: None if math.isnan(number) else number for name, number in value._asdict().items()}


def estimate_from_plain(values: Mapping[str, float | None]) -> Estimate:
    """Return the estimate that `plain_estimate` wrote."""
    ends = (values[name] for name in Estimate._fields)
    return Estimate(*(math.nan if number is None else float(number) for number in ends))
