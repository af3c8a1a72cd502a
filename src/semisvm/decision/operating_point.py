"""A threshold with its expected precision, recall and cost, how certain they are, and whether the
target is reached.

Levels, from the weakest promise to the strongest:

    empirical      measured on the calibration rows that the threshold was chosen on
    cross-fitted   the same arithmetic on out-of-fold scores: every label is used for training and
                   for measuring
    certified      a confidence bound from rows that were used for nothing else (`certify` has the
                   proof)
    certified by sampling   rows drawn at random from the pool prove it (`betting` has the proof);
                   `sampling` says what the promise is about

The intervals of the first two are exact for a threshold that was fixed beforehand; one that is
chosen on the same rows looks better than it is. The interval of a certified measure is [target, 1]:
that is all that is promised. `reached` says what was observed, not what is certain: if it is based
on so few rows that even a record without an error would prove nothing, `reason` says so.

Where no negative is labeled, `positive_unlabeled` holds what is known of the unlabeled rows.
Precision is then only known if the user gave the prior: an interval based on an estimated prior
would be wrong most of the time. A measure that is not known is NaN.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Literal

import numpy as np

from semisvm import html
from semisvm.decision.betting import SamplingEvidence
from semisvm.decision.binomial import (
    Estimate,
    binomial_interval,
    estimate_cost,
    estimate_f,
    estimate_rate,
    fewest_that_pass,
)
from semisvm.decision.checks import check_confidence
from semisvm.decision.counts import Counts
from semisvm.decision.target import Target, capital, explain_thin_evidence, f_name
from semisvm.decision.without_negatives import AcceptedCounts, bound_lift, estimate_lift
from semisvm.errors import counted
from semisvm.plain import read_fields, to_plain

TargetStatus = Literal["certified", "reached", "unproven", "missed", "chosen"]

LINES_OF_REPR = 4  # of a summary: the target, the rule, and two measures
UNKNOWN = Estimate(math.nan, math.nan, math.nan)
ASSUMPTION = "All of this assumes that the labeled positives are a random sample of all positives."


class Evidence(StrEnum):
    """How the numbers of an operating point are supported; equal to its text.

    Examples
    --------
    >>> from semisvm.decision import Evidence
    >>> Evidence.CROSS_FITTED == "cross-fitted", Evidence("certified").is_promise
    (True, True)
    """

    EMPIRICAL = "empirical"
    CROSS_FITTED = "cross-fitted"
    CERTIFIED = "certified"
    SAMPLED = "certified by sampling"

    __repr__ = str.__repr__

    @property
    def is_promise(self) -> bool:
        """Whether `reached` is a guarantee, so that nothing more has to be proved."""
        return self in (Evidence.CERTIFIED, Evidence.SAMPLED)

    @property
    def caution(self) -> str:
        """How far the numbers can be trusted, with a placeholder for the confidence."""
        return _CAUTION[self]

    @classmethod
    def _missing_(cls, value: object) -> "Evidence":
        raise ValueError(f"level must be one of {', '.join(cls)}; got {value!r}.")


_CAUTION = {
    Evidence.EMPIRICAL: (
        "{:.0%} intervals, exact for a threshold fixed beforehand; one that was chosen on these"
        " rows looks better than it is."
    ),
    Evidence.CROSS_FITTED: (
        "{:.0%} intervals on out-of-fold scores, exact for a threshold fixed beforehand."
    ),
    Evidence.CERTIFIED: (
        "The promise holds with probability {:.0%} over the draw of the certificate's rows, for a"
        " single certificate. The best of several, by other splits, seeds or settings on these"
        " labels, is not covered: their risks add up, and nothing here counts them."
    ),
    Evidence.SAMPLED: (
        "The promise holds with probability {:.0%} over the random draw of the rows to label."
    ),
}


@dataclass(frozen=True)
class PositiveUnlabeledEvidence:
    """What is known of the unlabeled rows if no negative is labeled.

    Parameters
    ----------
    counts : AcceptedCounts
        Counts of the rows that the threshold is measured on.
    share_accepted, lift : Estimate
        The share of the unlabeled rows that are accepted; and recall divided by that share, which
        is guaranteed like recall at level "certified".
    prior : (float, float) or None
        Lower and upper bound of the share of positives among the unlabeled rows, if the user gave
        them.
    prior_estimate, prior_bound : float
        The same share as estimated from the scores, and an upper bound at the confidence; NaN if
        unknown.
    """

    counts: AcceptedCounts
    share_accepted: Estimate
    lift: Estimate
    prior: tuple[float, float] | None = None
    prior_estimate: float = math.nan
    prior_bound: float = math.nan

    @property
    def precision(self) -> Estimate:
        """Precision among the unlabeled rows with the user's prior; NaN without one."""
        if self.prior is None:
            return UNKNOWN
        low, high = self.prior
        value = min(1.0, math.sqrt(low * high) * self.lift.value)
        return Estimate(value, min(1.0, low * self.lift.low), min(1.0, high * self.lift.high))

    def precision_at(self, prior: float) -> float:
        """Return the precision that the threshold would have with this prior.

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


@dataclass(frozen=True, repr=False)
class OperatingPoint:
    """A threshold and what is known about it; `str()` gives a summary, and notebooks show its first
    lines.

    Parameters
    ----------
    threshold : float
        Rows with a higher score are accepted (predicted as positive). Infinite for a constant.
    target : Target
        The target.
    level : Evidence
        How the numbers are supported: "empirical", "cross-fitted", "certified" or "certified by
        sampling".
    confidence : float
        Confidence of the intervals, or of the certificate.
    counts : Counts
        The confusion counts of the labeled rows.
    precision, recall, f_score : Estimate
        The measures on the labeled rows, with intervals.
    cost : Estimate or None
        The expected cost per row, if the target has costs.
    reached : bool
        Whether the target is met on the labeled rows; at level "certified", whether it is
        certified.
    reason : str
        Why the target is not reached, or that it is based on too few labels; empty otherwise.
    sampling : SamplingEvidence or None
        At level "certified by sampling": what the promise is about. `counts` are then those of the
        rows labeled in the campaign, which are not a fair sample of the whole pool.
    positive_unlabeled : PositiveUnlabeledEvidence or None
        If no negative is labeled: what is known of the unlabeled rows. `counts` are then those of
        the labeled positives, and precision is NaN unless the user gave the prior.
    X_pool : array-like or None
        The pool, if the campaign knows it: `with_threshold` checks that the model still accepts the
        same rows of it. Not saved in files.

    Examples
    --------
    >>> from semisvm.decision import Target, choose
    >>> point = choose([4.0, 3.0, 2.0, 1.0], [1, 1, -1, 1], Target(min_precision=0.9))
    >>> point.threshold, point.precision.value, point.status
    (2.5, 1.0, 'unproven')
    >>> point
    <OperatingPoint: Precision at least 0.9: reached (empirical, 4 labels); accepts score > 2.5;
    50.0% of the rows; precision 1.000 [0.224, 1.000]; recall 0.667 [0.135, 0.983]>
    """

    threshold: float
    target: Target
    level: Evidence
    confidence: float
    counts: Counts
    precision: Estimate
    recall: Estimate
    f_score: Estimate
    cost: Estimate | None
    reached: bool
    reason: str = ""
    sampling: SamplingEvidence | None = None
    positive_unlabeled: PositiveUnlabeledEvidence | None = None
    X_pool: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", Evidence(self.level))

    def __getstate__(self) -> dict[str, Any]:
        # Files of models hold the text: their reader knows no enums.
        return self.__dict__ | {"level": self.level.value, "X_pool": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"level": Evidence(state["level"])})

    @property
    def status(self) -> TargetStatus:
        """The outcome for the target.

        - "certified": the target is certified.
        - "reached": the measures reach the target, and so do their whole intervals.
        - "unproven": the measures reach the target, but an interval goes below it.
        - "missed": no threshold reaches the target, or it could not be certified.
        - "chosen": there is no minimum precision, recall or F-beta and no maximum cost.
        """
        if not self.reached:
            return "missed"
        if not self.target.is_constrained:
            return "chosen"
        if self.level.is_promise:
            return "certified"
        is_shown = all(
            limit is None or (value.high <= limit if name == "cost" else value.low >= limit)
            for name, value, limit in self.measures
        )
        return "reached" if is_shown else "unproven"

    @property
    def asked(self) -> str:
        """The target in words."""
        target = self.target
        if self.positive_unlabeled and not target.is_constrained and target.accept is None:
            return "the largest estimated F1"
        return str(target)

    @property
    def lift(self) -> Estimate:
        """The share of positives among the accepted rows over that among the unlabeled rows; NaN if
        unknown.
        """
        return UNKNOWN if self.positive_unlabeled is None else self.positive_unlabeled.lift

    @property
    def share_accepted(self) -> float:
        """The share of rows that are accepted: of the labeled rows, of the pool of a campaign, or
        of the unlabeled rows if no negative is labeled; NaN without rows.
        """
        if self.positive_unlabeled is not None:
            return self.positive_unlabeled.share_accepted.value
        if self.sampling is not None:
            return self.sampling.n_accepted / self.sampling.n_rows
        return self.counts.accepted / self.counts.rows if self.counts.rows else math.nan

    @property
    def is_constant(self) -> bool:
        """Whether every row, or no row, is accepted, regardless of its score."""
        return math.isinf(self.threshold)

    @property
    def caution(self) -> str:
        """How far the numbers can be trusted, in one sentence."""
        if self.sampling is not None:
            return self.sampling.caution(self.confidence)
        return self.level.caution.format(self.confidence)

    def summary(self) -> str:
        """Return a summary in a few lines of text.

        Returns
        -------
        str
            The target, whether it was reached, the rule, and the measures with their intervals.
        """
        if self.positive_unlabeled is not None:
            return "\n".join(_lines_without_negatives(self, self.positive_unlabeled))
        finding = f"{capital(self.asked)}: {'reached' if self.reached else 'not reached'}"
        if self.status == "chosen":  # a threshold of 0 is not chosen for the best F
            finding = "No target was set"
        lines = [
            f"{finding} ({self.level}, {counted(self._n_labels, 'label')}).",
            f"  {self._rule()}; {self.share_accepted:.1%} of the rows",
        ]
        lines += [f"  {name:<9} {show(value)}" for name, value, _ in self.measures]
        if self.reason:
            lines.append(f"  {self.reason}")
        if self.reached or not self.level.is_promise:
            lines.append("  " + self.caution)
        return "\n".join(lines)

    __str__ = summary

    def __repr__(self) -> str:
        lines = self.summary().splitlines()[:LINES_OF_REPR]
        words = "; ".join(" ".join(line.rstrip(".").split()) for line in lines)
        if self.status == "certified" and self.sampling is None:
            words += "; a single certificate, which does not cover the best of several"
        return f"<{type(self).__name__}: {words}>"

    def _repr_html_(self) -> str:
        headline, rule, *rest = (line.strip() for line in self.summary().splitlines())
        lines = [
            html.IntervalLine(name, *value, limit)
            for name, value, limit in self.measures
            if name != "cost"
        ]
        drawn = tuple(line.name for line in lines)
        tone: html.Tone = "good" if self.status in ("certified", "reached") else ""
        return html.card(
            headline,
            [rule, *(line for line in rest if not line.startswith(drawn))],
            html.interval_chart(lines),
            tone="bad" if self.status == "missed" else tone,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values: an infinite threshold is the text "inf" or "-inf", NaN is None.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        names = [part.name for part in fields(self) if part.name != "X_pool"]
        plain = {
            name: to_plain(getattr(self, name)) for name in (*names, "asked", "share_accepted")
        }
        for name in ("sampling", "positive_unlabeled"):
            if plain[name] is None:
                del plain[name]
        return plain

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "OperatingPoint":
        """Return the operating point that `as_dict` wrote.

        Parameters
        ----------
        values : dict
            What `as_dict` returned. "asked" and "share_accepted" follow from the rest and are not
            read.

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
            point: OperatingPoint = read_fields(cls, values, "operating_point")
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"This is not an operating point as as_dict writes it: {error!r}."
            ) from None
        check_confidence(point.confidence)
        if math.isnan(point.threshold) or min(point.counts) < 0:
            raise ValueError(
                f"An operating point has a threshold and counts of 0 or more, got {values!r}."
            )
        return point

    @property
    def _n_labels(self) -> int:
        return self.counts.rows if self.sampling is None else self.sampling.n_labels

    def _rule(self) -> str:
        if self.is_constant:
            return f"accepts {'every' if self.threshold < 0 else 'no'} row, regardless of its score"
        return f"accepts score > {self.threshold:.6g}"

    @property
    def measures(self) -> list[tuple[str, Estimate, float | None]]:
        """The name, the value and the limit of each measure: the minimum rate or the maximum cost,
        or None.
        """
        target = self.target
        measured = [
            ("precision", self.precision, target.min_precision),
            ("recall", self.recall, target.min_recall),
            (f_name(target.beta), self.f_score, target.min_f),
        ]
        if self.cost is not None:
            measured.append(("cost", self.cost, target.max_cost))
        return measured


def operating_point(
    threshold: float,
    counts: Counts,
    target: Target,
    *,
    level: Evidence | str,
    confidence: float,
    reached: bool,
    reason: str = "",
) -> OperatingPoint:
    """Measure the counts of one threshold and return its operating point."""
    level = Evidence(level)
    check_confidence(confidence)
    measured_precision = estimate_rate(counts.tp, counts.accepted, confidence)
    measured_recall = estimate_rate(counts.tp, counts.positives, confidence)
    if level.is_promise and reached:
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


def judge_without_negatives(
    threshold: float,
    counts: AcceptedCounts,
    target: Target | None = None,
    *,
    level: Evidence | str = Evidence.CROSS_FITTED,
    confidence: float = 0.9,
    prior: tuple[float, float] | None = None,
    prior_estimate: float = math.nan,
    prior_bound: float = math.nan,
    reached: bool = True,
    reason: str = "",
) -> OperatingPoint:
    """Measure what a threshold accepts where no negative is labeled.

    target          a recall, a number of rows, or by default the best F1. At level "certified" the
                    counts must prove the recall, as those of `certify_recall` do
    level           what the counts are based on; "certified": rows that were used for nothing else
    prior           between which numbers the prior lies, as the user says
    prior_estimate, prior_bound   from `bound_prior`

    >>> from semisvm.decision import Target
    >>> from semisvm.decision.without_negatives import AcceptedCounts
    >>> counts = AcceptedCounts(86, 100, 400, 3000)
    >>> point = judge_without_negatives(0.3, counts, Target(min_recall=0.8), level="certified")
    >>> round(point.lift.low, 2), point.status, point.precision.value
    (5.45, 'certified', nan)
    >>> round(point.positive_unlabeled.precision_at(0.1), 3)
    0.645
    """
    level = Evidence(level)
    target = target or Target()
    recall = estimate_rate(counts.accepted_positives, counts.positives, confidence)
    lift = estimate_lift(counts, confidence)
    if level.is_promise:
        proved = counts
        least = 0.0
        if target.min_recall is not None and reached:
            # Scores that are equal may bring more positives than prove the recall. As the threshold
            # was chosen on these very positives, only the number that was fixed beforehand counts.
            least = target.min_recall
            needed = int(fewest_that_pass(counts.positives, least, 1 - confidence))
            proved = counts._replace(accepted_positives=min(counts.accepted_positives, needed))
        low = float(
            binomial_interval(proved.accepted_positives, proved.positives, confidence, "lower")[0]
        )
        recall = Estimate(recall.value, max(low, least), 1.0)
        lift = Estimate(lift.value, bound_lift(*proved, confidence=confidence), math.inf)
    share = estimate_rate(counts.accepted_unlabeled, counts.unlabeled, confidence)
    known = PositiveUnlabeledEvidence(counts, share, lift, prior, prior_estimate, prior_bound)
    missed = counts.positives - counts.accepted_positives
    return OperatingPoint(
        threshold=float(threshold),
        target=target,
        level=level,
        confidence=confidence,
        counts=Counts(tp=counts.accepted_positives, fp=0, fn=missed, tn=0),
        precision=known.precision,
        recall=recall,
        f_score=UNKNOWN,
        cost=None,
        reached=reached,
        reason=reason,
        positive_unlabeled=known,
    )


def _lines_without_negatives(point: OperatingPoint, known: PositiveUnlabeledEvidence) -> list[str]:
    """The summary where no negative is labeled."""
    judged_on = (
        f"{counted(known.counts.positives, 'positive')} and"
        f" {counted(known.counts.unlabeled, 'unlabeled row')}"
    )
    came = ""
    if point.target.is_constrained:
        came = ": reached" if point.reached else ": not reached"
    lines = [
        f"{capital(point.asked)}{came} ({point.level}, {judged_on}).",
        f"  accepts score > {point.threshold:.6g}",
    ]
    if point.level.is_promise:
        lines += [
            (
                f"  recall is at least {point.recall.low:.3f}, each promise with probability"
                f" {point.confidence:.0%}"
            ),
            (
                f"  accepted rows are at least {known.lift.low:.2f} times richer in positives than"
                " the unlabeled rows"
            ),
        ]
    else:
        lines += [
            f"  recall         {show(point.recall)}",
            f"  rows accepted  {show(known.share_accepted)}",
            f"  lift           {show(known.lift)}",
        ]
    if not math.isnan(known.prior_bound):
        lines.append(f"  at most {known.prior_bound:.1%} of the unlabeled rows are positive")
    lines.append("  " + _about_precision(point, known))
    if point.reason:
        lines.append("  " + point.reason)
    if point.level.is_promise:
        lines.append("  " + point.caution)
    return [*lines, "  " + ASSUMPTION]


def _about_precision(point: OperatingPoint, known: PositiveUnlabeledEvidence) -> str:
    if math.isnan(known.lift.value):
        return "precision      undefined (no unlabeled row is accepted)"
    if known.prior is not None and point.level.is_promise:
        return f"precision is at least {point.precision.low:.3f}, if the prior is as given"
    if known.prior is not None:
        return f"precision      {show(point.precision)}, if the prior is as given"
    # Two examples, neither of them an estimate.
    supposed = (
        [0.01, 0.1]
        if math.isnan(known.prior_bound)
        else [known.prior_bound / 4, known.prior_bound / 2]
    )
    examples = " and ".join(
        f"{known.precision_at(prior):.2f} if {prior:.1%} are positive" for prior in supposed
    )
    return (
        f"precision depends on the prior, which is not known: {examples}; label some accepted"
        " rows to find out"
    )


def scores_beyond(scores: np.ndarray, threshold: float) -> np.ndarray:
    """Scores minus the threshold: above 0 is accepted.

    An infinite threshold accepts every row, or no row. The scores are then moved to one side of 0,
    in the same order, so that they stay finite and still rank the rows.
    """
    if np.isfinite(threshold):
        return scores - threshold
    return scores / (1 + np.abs(scores)) - np.sign(threshold)


def show(value: Estimate) -> str:
    """Return the value and its interval as text, or that there is none."""
    if math.isnan(value.value):
        return (
            "undefined (nothing accepted)" if value.low == 0 and value.high == 1 else "not measured"
        )
    return f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"
