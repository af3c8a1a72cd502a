"""The threshold test: fixed thresholds in a fixed order, each with evidence for every target.

It certifies F-scores, costs, several targets at once, thresholds that the user gives, and every
claim about new rows. A precision or a recall of a pool alone has a procedure of its own
(`precision_sets`, `recall_sets`).
"""

from __future__ import annotations

import math

import numpy as np

from semisvm.campaign.answers import POSITIVE, UNKNOWN, UNLABELED
from semisvm.campaign.claims import Claim, ClaimEvidence, PoolClaim, make_claim
from semisvm.campaign.draws import DrawOrder
from semisvm.campaign.procedure import (
    ABOVE,
    AcceptedRows,
    CampaignStatus,
    Procedure,
    Standing,
    ThresholdEvidence,
)
from semisvm.campaign.state import CampaignState
from semisvm.decision.betting import fallback, log_evidence_needed
from semisvm.decision.forecasts import SimulatedDraws, median_or_none, passages, simulate_draws
from semisvm.decision.linear_claims import linear_forms
from semisvm.decision.logarithms import expit, logit
from semisvm.decision.recall_sets import PRIOR_ROWS
from semisvm.decision.sampling_plan import measure_of, predicted_value

# A threshold looks lost with so many answers, and less evidence than this.
LOST_AFTER = 8
LOST_EVIDENCE = 0.3
# Of the log-odds that predictions are right: a forecast takes the first with which a certificate is
# in sight.
HOPEFUL_SHIFTS = (0.0, 1.0, 4.0, 16.0)

# Answers as claims read them: by NEGATIVE, POSITIVE and UNKNOWN.
AS_NUMBER = np.array([0.0, 1.0, math.nan])

Parts = tuple[ClaimEvidence, ...]


class ThresholdTests(Procedure):
    """The claims of every threshold; `claims[k]` has one per target at threshold k."""

    def __init__(self, state: CampaignState):
        super().__init__(state)
        self.forms = linear_forms(state.tested_target)
        leaves_out = state.dont_know == "leave out"
        self.claims: list[list[Claim]] = [
            [
                make_claim(state.plan, form, planned, about=state.claim, leaves_out=leaves_out)
                for form in self.forms
            ]
            for planned in state.plan.thresholds
        ]
        pool_claims = [
            claim for claims in self.claims for claim in claims if isinstance(claim, PoolClaim)
        ]
        if state.experts:
            for claim, beliefs in zip(pool_claims, state.experts, strict=True):
                claim.bet_as(np.array(beliefs))
        else:
            state.experts = [claim.claim.experts.tolist() for claim in pool_claims]
        self._order = DrawOrder(state.plan, state.clock_key())
        self.read()

    # ---- what a campaign asks ----

    def read(self) -> None:
        super().read()
        self._order.read(self._answers != UNLABELED)

    def fewest_labels(self) -> tuple[int, ...]:
        return tuple(
            max(claim.fewest_labels(self._state.risk) for claim in claims) for claims in self.claims
        )

    def next_rows(self, n: int) -> list[int]:
        rows: list[int] = []
        for bands, limit in self._what_to_draw():
            wanted = n - len(rows) if limit is None else min(limit, n - len(rows))
            candidates = self._order.next_rows(bands, wanted + len(rows))
            rows += [row for row in candidates if row not in rows][:wanted]
        return rows or self._rows_to_find_a_positive(n)

    def standing(self, *, with_forecasts: bool = True) -> Standing:
        return self._judge(with_forecasts)[0]

    def accepted(self) -> AcceptedRows:
        """Return all rows above the certified threshold, regardless of their answers."""
        rows, _ = super().accepted()
        return AcceptedRows(rows, np.full(len(rows), ABOVE))

    def _is_accepted(self) -> np.ndarray:
        best = self.standing(with_forecasts=False).best
        return self._plan.bands < (0 if best is None else self._plan.thresholds[best].n_bands)

    # ---- how they are tested ----

    def _judge(self, with_forecasts: bool) -> tuple[Standing, list[Parts]]:
        parts = [tuple(map(self._evidence, claims)) for claims in self.claims]
        risk = self._state.risk
        known = [_all_known([part.is_known for part in line]) for line in parts]
        highest = np.array([min(part.log_highest for part in line) for line in parts])
        # A claim that is known to be false is not certified, whatever the evidence was before.
        highest = np.where([is_known is False for is_known in known], -np.inf, highest)
        shares = [planned.share for planned in self._plan.thresholds]
        passed, levels = fallback(highest, shares, risk)
        if self._says_nothing():
            passed[:] = False
            known = [None if is_known else is_known for is_known in known]
        n_more = self._labels_in_sight(parts, levels) if with_forecasts else None
        table = []
        for k, planned in enumerate(self._plan.thresholds):
            least_read = min(parts[k], key=lambda part: part.n_read)
            level = float(levels[k])
            table.append(
                ThresholdEvidence(
                    threshold=planned.threshold,
                    n_accepted=planned.n_accepted,
                    predicted={
                        form.measure: predicted_value(
                            self._plan, form, planned.n_bands, self._state.tested_target
                        )
                        for form in self.forms
                    },
                    evidence=float(np.exp(highest[k])),
                    evidence_needed=1 / (risk * level) if level > 0 else math.inf,
                    evidence_hoped=math.exp(self._log_wanted(k, level)),
                    n_read=least_read.n_read,
                    positives=least_read.positives,
                    is_certified=bool(passed[k]),
                    is_known=known[k],
                    forecast=None if n_more is None else median_or_none(n_more[k]),
                )
            )
        best = self._best(passed)
        better = [
            k
            for k, line in enumerate(table)
            if not line.is_certified and line.forecast != 0 and self._improves(k, best)
        ]
        forecast = None
        if n_more is not None and better:
            forecast = median_or_none(n_more[better].min(axis=0))
        status: CampaignStatus = "open"
        if best is not None:
            status = "known" if known[best] else "certified"
        elif all(is_known is False for is_known in known):
            status = "refuted"
        standing = Standing(
            status=status,
            table=tuple(table),
            best=best,
            estimates={} if best is None else self._estimates(best),
            n_accepted=0 if best is None else table[best].n_accepted,
            forecast=forecast,
        )
        return standing, parts

    def _says_nothing(self) -> bool:
        """Whether no positive row is known: then a recall is true of itself, and so is a precision
        of rows that are all left out. A recall of a threshold that accepts every row needs none.
        """
        if self._is_about("cost") or (self._answers == POSITIVE).any():
            return False
        accepts_all = any(line.n_accepted == self._plan.n_rows for line in self._plan.thresholds)
        return not (accepts_all and self._is_about("recall"))

    def _evidence(self, claim: Claim) -> ClaimEvidence:
        rows, is_complete = self._order.prefix(claim.bands)
        return claim.evidence(rows, AS_NUMBER[self._answers[rows]], is_complete)

    def _what_to_draw(self) -> list[tuple[np.ndarray, int | None]]:
        """Return bands whose rows are worth a label, first things first, each with how many rows
        (None: no limit).

        Precision alone: the first threshold in the order of tests that is open and does not look
        lost, as many rows as it is expected to take; then the next. Otherwise one order serves all
        thresholds that are open.
        """
        standing, parts = self._judge(with_forecasts=False)
        places = [
            k
            for k, line in enumerate(standing.table)
            if line.is_known is None and not line.is_certified and self._improves(k, standing.best)
        ]
        bands = {k: self._open_bands(k, parts[k]) for k in places}
        if self._is_about("precision"):
            places = [k for k in places if not self._looks_lost(parts[k])] or places[-1:]
            limits = [line.forecast for line in self.standing().table] if len(places) > 1 else []
            steps = [(bands[k], limits[k]) for k in places] if limits else []
            return steps + [(bands[k], None) for k in places]
        return [(np.unique(np.concatenate(list(bands.values()))), None)] if places else []

    def _rows_to_find_a_positive(self, n: int) -> list[int]:
        """Return the first n rows in play without an answer, if one positive row is all that the
        proof of a recall waits for: a recall of 1 reads the rejected rows alone.
        """
        if not self._is_about("recall") or not self._says_nothing():
            return []
        if not any(self._evidence(claim).is_known for (claim,) in self.claims):
            return []
        by_band = np.argsort(self._plan.bands, kind="stable")
        is_open = (self._answers == UNLABELED) & self._state.is_in_play
        return by_band[is_open[by_band]][:n].tolist()

    def _improves(self, k: int, best: int | None) -> bool:
        """Whether threshold k would be better than the one that is certified."""
        if best is None:
            return True
        n_accepted = self._plan.thresholds[k].n_accepted
        certified = self._plan.thresholds[best].n_accepted
        if self._is_about("precision"):
            return n_accepted > certified
        return self._is_about("recall") and n_accepted < certified

    def _is_about(self, measure: str) -> bool:
        """Whether this measure is the only target."""
        return all(form.measure == measure for form in self.forms)

    def _best(self, passed: np.ndarray) -> int | None:
        """The certified threshold to report: the widest for precision, the strictest for recall,
        else the first.
        """
        places = np.flatnonzero(passed)
        if not len(places):
            return None
        sizes = np.array([self._plan.thresholds[k].n_accepted for k in places])
        if self._is_about("precision"):
            return int(places[sizes.argmax()])
        return int(places[sizes.argmin()]) if self._is_about("recall") else int(places[0])

    def _log_wanted(self, k: int, level: float) -> float:
        """The log evidence that certifies threshold k; where its level is 0, if those before it
        pass.
        """
        thresholds = self._plan.thresholds
        hoped = level if level > 0 else sum(planned.share for planned in thresholds[: k + 1])
        risk = self._state.risk * min(hoped, 1.0)
        return log_evidence_needed(risk) if risk > 0 else math.inf

    def _labels_in_sight(self, parts: list[Parts], levels: np.ndarray) -> np.ndarray:
        """After how many more labels each threshold is proved in simulated campaigns,
        (n_thresholds, n_campaigns): as predicted, or else with better predictions, as far as the
        answers allow them.
        """
        for shift in HOPEFUL_SHIFTS:
            needs = self._labels_of_campaigns(parts, levels, self._simulate(shift))
            if np.isfinite(np.median(needs, axis=1)).any():
                break
        return needs

    def _labels_of_campaigns(
        self, parts: list[Parts], levels: np.ndarray, drawn: SimulatedDraws
    ) -> np.ndarray:
        """After how many labels these campaigns prove each threshold; infinite where they never do.

        A threshold without a share of the risk waits for the one before it.
        """
        needs = np.zeros((len(parts), drawn.n_campaigns))
        for k, (line, claims) in enumerate(zip(parts, self.claims, strict=True)):
            wanted = self._log_wanted(k, float(levels[k]))
            bands = np.unique(np.concatenate([claim.bands for claim in claims]))
            n_labels = drawn.n_labels(bands)
            for part, claim in zip(line, claims, strict=True):
                if part.is_known is False or math.isinf(wanted):
                    needs[k] = np.inf
                elif part.is_known is None and part.log_highest < wanted:
                    n_bands = claim.threshold.n_bands
                    evidence = claim.simulated(
                        *drawn.outcomes(claim.bands, n_bands, claim.leaves_out)
                    )
                    labels = passages(evidence, part.log_now, wanted, n_labels)
                    needs[k] = np.maximum(needs[k], labels)
            if k and levels[k] == 0:
                needs[k] = np.maximum(needs[k], needs[k - 1])
        return needs

    def _simulate(self, shift: float) -> SimulatedDraws:
        """Go on with this campaign in simulations, with the shares of positives that predictions
        and answers suggest; the log-odds that a prediction is right are shifted.
        """
        plan = self._plan
        n_bands = len(plan.sizes)
        everything = [claim.bands for claims in self.claims for claim in claims]
        rows, _ = self._order.prefix(np.unique(np.concatenate(everything)))
        answers = self._answers[rows]
        seen = self._per_band(rows)
        known = self._per_band(rows[answers != UNKNOWN])
        positive = self._per_band(rows[answers == POSITIVE])
        is_accepted = np.arange(n_bands) < plan.thresholds[0].n_bands
        beliefs = expit(logit(plan.beliefs) + np.where(is_accepted, shift, -shift))
        rates = (positive + PRIOR_ROWS * beliefs) / (known + PRIOR_ROWS)
        unknown = float((seen - known).sum() / (len(rows) + PRIOR_ROWS))
        return simulate_draws(plan.sizes - seen, plan.speeds, rates, unknown)

    def _open_bands(self, k: int, parts: Parts) -> np.ndarray:
        """The bands of the claims at threshold k that are not proved; of all, if only the tests
        before it are open.
        """
        wanted = self._log_wanted(k, 0.0)
        left = [
            (claim, part)
            for claim, part in zip(self.claims[k], parts, strict=True)
            if part.n_left > 0
        ]
        chosen = [claim for claim, part in left if part.log_highest < wanted] or [
            claim for claim, _ in left
        ]
        return np.concatenate([np.empty(0, dtype=np.intp), *(claim.bands for claim in chosen)])

    def _looks_lost(self, parts: Parts) -> bool:
        (part,) = parts
        share = part.positives / max(part.n_read, 1)
        is_low = share < self.forms[0].level and part.log_now < math.log(LOST_EVIDENCE)
        return part.n_read >= LOST_AFTER and is_low

    # ---- what the certified threshold gives ----

    def _estimates(self, k: int) -> dict[str, float]:
        """The measures at threshold k, from the answers of each claim's own sequence, band by
        band; the belief counts for one row per band.
        """
        plan = self._plan
        n_accepting = plan.thresholds[k].n_bands
        measured: dict[str, float] = {}
        for form, claim in zip(self.forms, self.claims[k], strict=True):
            rows, _ = self._order.prefix(claim.bands)
            rows = rows[self._answers[rows] != UNKNOWN]
            answers = self._answers[rows]
            has_equal_draws = bool(np.all(plan.speeds == plan.speeds[0]))
            if form.measure == "precision" and len(answers) and has_equal_draws:
                measured[form.measure] = float(answers.mean())
                continue
            seen = self._per_band(rows)
            positive = self._per_band(rows[answers == POSITIVE])
            positives = plan.sizes * (positive + plan.beliefs) / (seen + 1)
            tp = float(positives[:n_accepting].sum())
            fn = float(positives[n_accepting:].sum())
            fp = float(plan.sizes[:n_accepting].sum()) - tp
            measured[form.measure] = measure_of(
                tp, fp, fn, plan.n_rows, form, self._state.tested_target
            )
        return measured


def _all_known(parts: list[bool | None]) -> bool | None:
    if any(part is False for part in parts):
        return False
    return True if all(part is True for part in parts) else None
