"""All claims of a campaign in the order of their tests: where they stand, what is proved, what to ask for next."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.campaign.claims import Claim, ClaimEvidence, PoolClaim, make_claim
from semisvm.campaign.draws import DrawOrder
from semisvm.decision import Target
from semisvm.decision.betting import SamplingClaim, fallback, log_evidence_needed
from semisvm.decision.linear_claims import linear_forms
from semisvm.decision.sampling_plan import SamplingPlan, predicted_value

LOST_AFTER, LOST_EVIDENCE = 8, 0.3  # a threshold looks lost with so many answers, and less evidence than this


@dataclass(frozen=True)
class ThresholdEvidence:
    """Where one threshold stands.

    Attributes
    ----------
    threshold : float
        Rows with a higher score are accepted.
    n_accepted : int
        Rows of the pool that it accepts.
    predicted : dict of {str: float}
        What the model's scores predict for each measure that was asked for: a guess, not a measurement.
    evidence : float
        The highest evidence so far; of several targets, that of the weakest.
    evidence_needed : float
        What certifies it; infinite while the tests before it have not passed.
    evidence_hoped : float
        The same, if the tests before it pass.
    n_read : int
        Answers that count for it.
    positives : int
        How many of them are positive.
    is_certified : bool
        Whether it is certified.
    is_known : bool or None
        Whether the answers leave no doubt that it keeps the target (True) or misses it (False).
    forecast : int or None
        About how many more labels it takes; None where none is in sight.
    """

    threshold: float
    n_accepted: int
    predicted: dict[str, float]
    evidence: float
    evidence_needed: float
    evidence_hoped: float
    n_read: int
    positives: int
    is_certified: bool
    is_known: bool | None
    forecast: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values: infinite numbers are the text "inf"."""
        return {name: _plain_value(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Standing:
    """Where all claims stand: one table line and one list of evidence per threshold, and the best that is certified."""

    table: tuple[ThresholdEvidence, ...]
    parts: tuple[tuple[ClaimEvidence, ...], ...]
    best: int | None


class ClaimSequence:
    """The claims of every threshold, in the order of their tests; `claims[k]` has one per target at threshold k."""

    def __init__(
        self, plan: SamplingPlan, target: Target, confidence: float, about: SamplingClaim, *, leaves_out: bool
    ):
        self.plan, self.target, self.confidence, self.about = plan, target, confidence, about
        self.forms = linear_forms(target)
        self.claims: list[list[Claim]] = [
            [make_claim(plan, form, one, about=about, leaves_out=leaves_out) for form in self.forms]
            for one in plan.thresholds
        ]

    def experts(self) -> list[list[list[float]]]:
        """Return the beliefs of all claims that have some, to be kept in a file."""
        return [claim.claim.experts.tolist() for claim in self._pool_claims()]

    def bet_as(self, experts: list[Any]) -> None:
        """Let the beliefs of a file bet; an empty list changes nothing."""
        for claim, beliefs in zip(self._pool_claims(), experts, strict=False):
            claim.bet_as(np.array(beliefs))

    def fewest_labels(self) -> tuple[int, ...]:
        """Return per threshold how many labels it takes if every answer is as hoped."""
        return tuple(max(claim.fewest_labels(1 - self.confidence) for claim in claims) for claims in self.claims)

    def standing(self, order: DrawOrder, answers: Mapping[int, float]) -> Standing:
        """Return where all claims stand."""
        parts = tuple(tuple(_evidence(claim, order, answers) for claim in claims) for claims in self.claims)
        risk = 1 - self.confidence
        known = [_all_known([one.is_known for one in found]) for found in parts]
        highest = np.array([min(one.log_highest for one in found) for found in parts])
        # A claim that is known to be false is not certified, whatever the evidence was before.
        highest = np.where([one is False for one in known], -np.inf, highest)
        passed, levels = fallback(highest, [one.share for one in self.plan.thresholds], risk)
        table = []
        for k, one in enumerate(self.plan.thresholds):
            least_read = min(parts[k], key=lambda part: part.n_read)
            table.append(
                ThresholdEvidence(
                    threshold=one.threshold,
                    n_accepted=one.n_accepted,
                    predicted={f.measure: predicted_value(self.plan, f, one.n_bands, self.target) for f in self.forms},
                    evidence=float(np.exp(highest[k])),
                    evidence_needed=1 / (risk * levels[k]) if levels[k] > 0 else math.inf,
                    evidence_hoped=math.exp(self._log_wanted(k, float(levels[k]))[0]),
                    n_read=least_read.n_read,
                    positives=least_read.positives,
                    is_certified=bool(passed[k]),
                    is_known=known[k],
                    forecast=self._forecast(k, parts[k], float(levels[k])),
                )
            )
        return Standing(tuple(table), parts, self._best(passed))

    def what_to_draw(self, standing: Standing) -> list[tuple[np.ndarray, int | None]]:
        """Return bands whose rows are worth a label, first things first, each with how many rows (None: no limit).

        Precision alone: the first threshold in the order of tests that is open and does not look lost, as many rows as
        it is expected to take; then the next. Otherwise one order serves all thresholds that are open.
        """
        places = [
            k
            for k, line in enumerate(standing.table)
            if line.is_known is None and not line.is_certified and self.improves(k, standing.best)
        ]
        bands = {k: self._open_bands(k, standing.parts[k]) for k in places}
        if self.is_about("precision"):
            places = [k for k in places if not self._looks_lost(standing.parts[k])] or places[-1:]
            steps = [(bands[k], standing.table[k].forecast) for k in places]
            return steps + [(own, None) for own, _ in steps]
        return [(np.unique(np.concatenate(list(bands.values()))), None)] if places else []

    def improves(self, k: int, best: int | None) -> bool:
        """Whether threshold k would be better than the one that is certified."""
        if best is None:
            return True
        mine, certified = self.plan.thresholds[k].n_accepted, self.plan.thresholds[best].n_accepted
        return mine > certified if self.is_about("precision") else self.is_about("recall") and mine < certified

    def is_about(self, measure: str) -> bool:
        """Whether this measure is all that is asked for."""
        return all(form.measure == measure for form in self.forms)

    def _pool_claims(self) -> list[PoolClaim]:
        return [claim for claims in self.claims for claim in claims if isinstance(claim, PoolClaim)]

    def _best(self, passed: np.ndarray) -> int | None:
        """The certified threshold to report: the widest for precision, the strictest for recall, else the first."""
        places = np.flatnonzero(passed)
        if not len(places):
            return None
        sizes = np.array([self.plan.thresholds[k].n_accepted for k in places])
        if self.is_about("precision"):
            return int(places[sizes.argmax()])
        return int(places[sizes.argmin()]) if self.is_about("recall") else int(places[0])

    def _log_wanted(self, k: int, level: float) -> tuple[float, float]:
        """The log evidence that certifies threshold k, and its risk; where its level is 0, if those before it pass."""
        hoped = level if level > 0 else sum(one.share for one in self.plan.thresholds[: k + 1])
        risk = (1 - self.confidence) * min(hoped, 1.0)
        return (log_evidence_needed(risk), risk) if risk > 0 else (math.inf, 0.0)

    def _forecast(self, k: int, parts: tuple[ClaimEvidence, ...], level: float) -> int | None:
        wanted, risk = self._log_wanted(k, level)
        if risk == 0:
            return None
        needs = [
            part.labels_needed(wanted, claim.fewest_labels(risk))
            for part, claim in zip(parts, self.claims[k], strict=True)
        ]
        found = [need for need in needs if need is not None]
        return max(found) if len(found) == len(needs) else None

    def _open_bands(self, k: int, parts: tuple[ClaimEvidence, ...]) -> np.ndarray:
        """The bands of the claims at threshold k that are not proved; of all, if only the tests before it are open."""
        wanted, _ = self._log_wanted(k, 0.0)
        left = [(claim, part) for claim, part in zip(self.claims[k], parts, strict=True) if part.n_left > 0]
        chosen = [claim for claim, part in left if part.log_highest < wanted] or [claim for claim, _ in left]
        return np.concatenate([np.empty(0, dtype=np.intp), *(claim.bands for claim in chosen)])

    def _looks_lost(self, parts: tuple[ClaimEvidence, ...]) -> bool:
        (part,) = parts
        share = part.positives / max(part.n_read, 1)
        is_low = share < self.forms[0].level and part.log_now < math.log(LOST_EVIDENCE)
        return part.n_read >= LOST_AFTER and is_low


def _evidence(claim: Claim, order: DrawOrder, answers: Mapping[int, float]) -> ClaimEvidence:
    rows, is_complete = order.prefix(claim.bands)
    return claim.evidence(rows, np.array([answers[int(row)] for row in rows]), is_complete)


def _all_known(parts: list[bool | None]) -> bool | None:
    if any(part is False for part in parts):
        return False
    return True if all(part is True for part in parts) else None


def _plain_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {name: _plain_value(one) for name, one in value.items()}
    return value
