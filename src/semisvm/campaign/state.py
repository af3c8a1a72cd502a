"""The state of a campaign: what was frozen when it began, and the answers since."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from semisvm.campaign.answers import AnswerLog
from semisvm.campaign.draws import clock_key, plan_as_dict
from semisvm.decision import Target
from semisvm.decision.betting import SamplingClaim
from semisvm.decision.checks import check_scores
from semisvm.decision.sampling_plan import SamplingPlan, planned_labels

DontKnow = Literal["bad", "leave out"]


@dataclass
class CampaignState:
    """What a campaign's file holds; `Campaign` gives it a meaning.

    `experts` are the beliefs that bet, frozen like the plan; an empty list stands for those that
    the plan implies. `phases` are the speeds and beliefs of the draws for a recall, each kept when
    its phase begins. `error_rate` is the share of the negatives, at most, that people take for
    positive. `budget` is the number of labels that draws are planned for, if one was given.
    `about` is free for notes of the caller. `accepted` has one digest per threshold of the plan, of
    the rows above it.
    """

    target: Target
    confidence: float
    claim: SamplingClaim
    dont_know: DontKnow
    seed: bytes
    seed_given: bool
    plan: SamplingPlan
    log: AnswerLog
    ledger: list[dict[str, Any]]
    error_rate: float = 0.0
    budget: int | None = None
    experts: list[Any] = field(default_factory=list)
    phases: list[dict[str, list[float]]] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    accepted: list[str] = field(default_factory=list)

    @property
    def tested_target(self) -> Target:
        """What the answers have to show so that the true target holds."""
        return target_of_answers(self.target, self.error_rate)

    @property
    def risk(self) -> float:
        """The chance, at most, that a campaign like this one is ever wrong."""
        return 1 - self.confidence

    @property
    def total_risk(self) -> float:
        """The chance, at most, that any campaign of the ledger is wrong: the sum of their risks."""
        return min(1.0, sum(entry["risk"] for entry in self.ledger))

    @property
    def n_labels(self) -> int:
        """The rows with an answer, "don't know" included."""
        return len(self.log.answers)

    @property
    def n_positive(self) -> int:
        """The rows found positive."""
        return sum(answer.code == 1 for answer in self.log.answers.values())

    @property
    def n_unknown(self) -> int:
        """The rows answered with "don't know"."""
        return sum(answer.code is None for answer in self.log.answers.values())

    @property
    def n_in_play(self) -> int:
        """The rows that the promise is based on: all, or those that did not set the thresholds."""
        return int(self.is_in_play.sum())

    @property
    def is_in_play(self) -> np.ndarray:
        """Whether the promise is based on each row."""
        return self.plan.bands <= len(self.plan.sizes)

    @property
    def is_about_set(self) -> bool:
        """Whether more is certified than the rows above a threshold: rows found positive belong to
        the set, and rows found negative do not.
        """
        return self.plan.kind != "thresholds"

    @property
    def n_planned(self) -> int:
        """The number of labels that draws are planned for."""
        return planned_labels(self.budget, len(self.plan.bands))

    def clock_key(self, phase: int = 0) -> bytes:
        """Return the key of the clocks of the rows."""
        return clock_key(self.seed, self.plan.bands, self.ledger[-1]["campaign"], phase)

    @cached_property
    def packed_plan(self) -> dict[str, Any]:
        """The plan as plain JSON values; packing a large pool takes a while."""
        return plan_as_dict(self.plan)

    def require_scores(self, scores: ArrayLike) -> None:
        """ValueError if the model's scores are not those that the campaign began with."""
        if digests_of(check_scores(scores), self.plan) != self.accepted:
            raise ValueError(
                "The scores of the pool are not those that the campaign began with: the model or"
                " the rows have changed. A promise holds for the frozen model only. Go on with that"
                " model, or start a new campaign."
            )


def limits_of(target: Target) -> dict[str, Any]:
    """Return a target as the parameters of `Campaign` and `Monitor`."""
    names = ("min_precision", "min_recall", "min_f", "max_cost", "beta", "costs")
    return {name: getattr(target, name) for name in names}


def require_point(point: Any) -> None:
    """ValueError if there is no operating point, as in the verdict of an open campaign."""
    if point is None:
        raise ValueError(
            "There is no operating point: no threshold is certified. `verdict().reason` of the"
            " campaign says what it takes."
        )


def digests_of(scores: np.ndarray, plan: SamplingPlan) -> list[str]:
    """Return the digest of the rows above each threshold of a plan."""
    return [digest_of_accepted(scores, planned.threshold) for planned in plan.thresholds]


def digest_of_accepted(scores: np.ndarray, threshold: float) -> str:
    """Return a digest of which rows have a score above a threshold."""
    is_above = np.packbits(scores > threshold).tobytes()
    return hashlib.sha256(len(scores).to_bytes(8, "big") + is_above).hexdigest()[:32]


def target_of_answers(target: Target, error_rate: float) -> Target:
    """Return the target that answers have to show where people take a share `error_rate` of the
    negatives for positive: of the rows accepted with a precision p, they call p + (1 - p) e
    positive.
    """
    if not error_rate:
        return target
    assert target.min_precision is not None
    precision = target.min_precision
    return replace(target, min_precision=precision + (1 - precision) * error_rate)


def precision_with_errors(precision: float, error_rate: float) -> float:
    """Return the precision in truth where answers show `precision`, and people take a share
    `error_rate` of the negatives for positive.

    Examples
    --------
    >>> from semisvm.campaign.state import precision_with_errors
    >>> round(precision_with_errors(0.9, 0.05), 3)
    0.895
    """
    return max(0.0, (precision - error_rate) / (1 - error_rate))
