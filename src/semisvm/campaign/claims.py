"""The evidence of one target at one threshold, from the rows of its own sequence that are answered.

    answers   (n,)   1 positive, 0 negative, NaN "don't know", in the order of the clocks
    outcome   (n,)   1 if an accepted row is positive or a rejected row negative, 0 if not

"Don't know" counts as a bad outcome, so that the claim errs on the safe side; or the row is left
out: it has the outcome with which it counts for nothing, and the claim is about the rows that can
be decided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from semisvm.decision.betting import (
    CLAIM_ROUNDING,
    mixture_log_evidence,
    new_rows_growth,
    new_rows_log_evidence,
    null_total,
    perfect_record,
)
from semisvm.decision.linear_claims import (
    BettingState,
    LinearForm,
    StratifiedClaim,
    bet_on,
    median_labels,
    next_gains,
    stratified,
    with_experts,
)
from semisvm.decision.recall_sets import PRIOR_ROWS
from semisvm.decision.sampling_plan import PlannedThreshold, SamplingPlan


@dataclass(frozen=True)
class ClaimEvidence:
    """Where one claim stands.

    log_highest, log_now   the logarithm of the highest evidence so far, which certifies, and of the
                           evidence now
    is_known               whether the claim is known to be true or false; None while it is open
    n_read, positives      answers that the claim has read, and how many of them are positive
    n_left                 rows of the claim that it has not read
    """

    log_highest: float
    log_now: float
    is_known: bool | None
    n_read: int
    positives: int
    n_left: int


Tested = tuple[float, float, bool | None]  # the first three of `ClaimEvidence`


@dataclass
class Claim:
    """A target at a threshold; `bands` are the rows that it is about.

    Subclasses say how outcomes become evidence. `evidence` is a function of the rows and answers
    alone; what it keeps between calls only saves time.
    """

    plan: SamplingPlan
    form: LinearForm
    threshold: PlannedThreshold
    leaves_out: bool
    bands: np.ndarray = field(init=False)

    def outcomes(self, rows: np.ndarray, answers: np.ndarray) -> np.ndarray:
        """Return how good each row was."""
        is_accepted = self.plan.bands[rows] < self.threshold.n_bands
        good = np.where(is_accepted, answers, 1 - answers)
        instead = self.form.neutral(is_accepted) if self.leaves_out else np.zeros(len(rows))
        return np.where(np.isnan(answers), instead, good)

    def evidence(self, rows: np.ndarray, answers: np.ndarray, is_complete: bool) -> ClaimEvidence:
        """Return where the claim stands after these rows, which may be all that it is about."""
        tested = self._test(rows, self.outcomes(rows, answers), is_complete)
        return ClaimEvidence(*tested, len(rows), int(np.nansum(answers)), self.n_rows - len(rows))

    def _test(self, rows: np.ndarray, good: np.ndarray, is_complete: bool) -> Tested:
        raise NotImplementedError

    def fewest_labels(self, risk: float) -> int:
        """Return how many labels it takes if every answer is as hoped, about."""
        return 0

    def labels_needed(self, standing: ClaimEvidence, log_wanted: float, risk: float) -> int | None:
        """Return about how many labels it takes until the evidence is as wanted, which is 1 / risk;
        None where it is not in sight.
        """
        if standing.is_known is not None:
            return 0 if standing.is_known else None
        if standing.log_highest >= log_wanted:
            return 0
        expected = self._labels_expected(standing, log_wanted)
        if math.isinf(expected):
            return None
        fewest = self.fewest_labels(risk) - standing.n_read
        return min(max(1, fewest, math.ceil(expected)), standing.n_left)

    def _labels_expected(self, standing: ClaimEvidence, log_wanted: float) -> float:
        """How many labels are expected to do; infinite where the evidence is not expected to
        grow.
        """
        raise NotImplementedError

    @property
    def n_rows(self) -> int:
        """How many rows the claim is about."""
        return int(self.plan.sizes[self.bands].sum())


@dataclass
class ShareClaim(Claim):
    """Precision by the closed form: equal draws, outcomes of 0 and 1. About the pool, or about
    new rows.
    """

    is_about_new_rows: bool = False

    def __post_init__(self) -> None:
        self.bands = np.arange(self.threshold.n_bands)

    def _test(self, rows: np.ndarray, good: np.ndarray, is_complete: bool) -> Tested:
        n = self.threshold.n_accepted
        level = self.form.level
        new = self.is_about_new_rows
        path = mixture_log_evidence(n, level, np.cumsum(good), np.cumsum(1 - good), new_rows=new)
        pos = int(good.sum())
        neg = len(good) - pos
        is_known = None
        if not new:
            K = null_total(n, level)
            is_known = True if pos > K else False if neg >= n - K else None
        return *_highest(path), is_known

    def _labels_expected(self, standing: ClaimEvidence, log_wanted: float) -> float:
        level = self.form.level
        if level == 1 and standing.positives == standing.n_read and not self.is_about_new_rows:
            return 0  # what it takes is `fewest_labels`
        expected = float((self.plan.sizes * self.plan.beliefs)[self.bands].sum())
        believed = expected / self.threshold.n_accepted
        # The prior is worth four rows: half of them the belief, half the middle above the level.
        x = (standing.positives + 1 + level + 2 * believed) / (standing.n_read + 4)
        growth = _divergence(x, level) if x > level else 0.0
        return (log_wanted - standing.log_now) / growth if growth > 0 else math.inf

    def fewest_labels(self, risk: float) -> int:
        n = self.threshold.n_accepted
        record = perfect_record(n, self.form.level, risk, new_rows=self.is_about_new_rows)
        return n if record is None else record


@dataclass
class PoolClaim(Claim):
    """Any target about the pool, by bets on weighted draws."""

    claim: StratifiedClaim = field(init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        n_accepting = self.threshold.n_bands
        plain, self.bands = stratified(
            plan.sizes,
            plan.beliefs,
            plan.speeds,
            self.form,
            n_accepting,
            whole_outcomes=not self.leaves_out,
        )
        self._stratum = np.full(len(plan.sizes) + 2, -1)
        self._stratum[self.bands] = np.arange(len(self.bands))
        self._believed = plain.experts[0]
        self._bet(with_experts(plain, self.bands, self.form, n_accepting))

    def bet_as(self, experts: np.ndarray) -> None:
        """Let other beliefs bet: those that were frozen when the campaign began."""
        self._bet(replace(self.claim, experts=experts))

    def _bet(self, claim: StratifiedClaim) -> None:
        self.claim, self._state = claim, BettingState.at_start(claim)
        self._read = (np.empty(0, dtype=np.intp), np.empty(0))

    def _test(self, rows: np.ndarray, good: np.ndarray, is_complete: bool) -> Tested:
        n_before = len(self._read[0])
        goes_on = np.array_equal(rows[:n_before], self._read[0]) and np.array_equal(
            good[:n_before], self._read[1]
        )
        state, start = (
            (self._state, n_before) if goes_on else (BettingState.at_start(self.claim), 0)
        )
        strata = self._stratum[self.plan.bands[rows[start:]]]
        state, _ = bet_on(self.claim, strata, good[start:], state)
        self._read = (rows, good)
        self._state = state
        is_known = None
        if state.highest == math.inf:
            is_known = True
        elif is_complete or state.total > (state.sizes * self.claim.values).sum() + CLAIM_ROUNDING:
            is_known = False
        return state.highest, state.log_evidence, is_known

    def _labels_expected(self, standing: ClaimEvidence, log_wanted: float) -> float:
        claim, state = self.claim, self._state
        gains, chances = next_gains(
            claim.values, state.sizes, state.total, claim.weights, claim.experts
        )
        rows, outcomes = self._read
        strata = self._stratum[self.plan.bands[rows]]
        seen = np.bincount(strata, minlength=len(claim.sizes))
        good = np.bincount(strata, weights=outcomes, minlength=len(claim.sizes))
        rates = (good + PRIOR_ROWS * self._believed) / (seen + PRIOR_ROWS)
        shares = np.exp(state.log_wealths - state.log_wealths.max())
        hoped = shares @ claim.experts / shares.sum()
        n_labels = math.inf
        for chance_good in (rates, hoped):  # those who bet see a way where the predictions do not
            if math.isinf(n_labels):
                draws = np.stack([chance_good, 1 - chance_good]) * chances
                n_labels = median_labels(gains, draws, state.log_wealths, log_wanted)
        return n_labels

    def fewest_labels(self, risk: float) -> int:
        """For recall the elusion bound: even if no rejected row that is drawn is positive, it
        takes so many.
        """
        if self.form.measure != "recall" or self.claim.total <= 0:
            return 0
        if self.form.level == 1:
            return math.ceil((1 - risk) * self.n_rows)
        k = self.threshold.n_bands
        hits = float((self.plan.sizes[:k] * self.plan.beliefs[:k]).sum())
        n_rejected = float(self.plan.sizes[k:].sum())
        worth = (1 - self.form.level) * hits
        bound = -math.log(risk) * self.form.level * n_rejected / worth if worth > 0 else math.inf
        return int(min(self.n_rows, math.ceil(min(bound, self.n_rows))))


@dataclass
class NewRowsClaim(Claim):
    """Any target about new rows, by bets on equal draws: each row's gain is its value, if good,
    minus its due.
    """

    def __post_init__(self) -> None:
        is_accepted = np.arange(len(self.plan.sizes)) < self.threshold.n_bands
        matters = (self.form.values(is_accepted) > 0) | (self.form.dues(is_accepted) != 0)
        self.bands = np.flatnonzero((self.plan.sizes > 0) & matters)

    def _test(self, rows: np.ndarray, good: np.ndarray, is_complete: bool) -> Tested:
        is_accepted = self.plan.bands[rows] < self.threshold.n_bands
        gains = self.form.values(is_accepted) * good - self.form.dues(is_accepted)
        worst = -max(self.form.due_accepted, self.form.due_rejected)
        if worst >= 0:  # no row can bring a loss
            return math.inf, math.inf, True
        self._gains = gains
        return *_highest(new_rows_log_evidence(gains, worst)), None

    def _labels_expected(self, standing: ClaimEvidence, log_wanted: float) -> float:
        """What the beliefs and the gains seen promise; the beliefs count for 20 rows."""
        is_accepted = np.arange(len(self.plan.sizes)) < self.threshold.n_bands
        good = np.where(is_accepted, self.plan.beliefs, 1 - self.plan.beliefs)
        dues = self.form.dues(is_accepted)
        values = self.form.values(is_accepted)
        prior = 20.0 * (self.plan.sizes / self.plan.sizes.sum())
        weights = np.concatenate([prior * good, prior * (1 - good), np.ones(len(self._gains))])
        growth = new_rows_growth(
            np.concatenate([values - dues, -dues, self._gains]),
            weights / weights.sum(),
            -max(self.form.due_accepted, self.form.due_rejected),
        )
        return (log_wanted - standing.log_now) / growth if growth > 0 else math.inf


def make_claim(
    plan: SamplingPlan,
    form: LinearForm,
    threshold: PlannedThreshold,
    *,
    about: str,
    leaves_out: bool,
) -> Claim:
    """Return the test that suits a claim."""
    is_new = about == "new rows"
    has_equal_draws = bool(np.all(plan.speeds == plan.speeds[0]))
    if form.measure == "precision" and has_equal_draws and not leaves_out:
        return ShareClaim(plan, form, threshold, leaves_out, is_about_new_rows=is_new)
    if is_new:
        return NewRowsClaim(plan, form, threshold, leaves_out)
    return PoolClaim(plan, form, threshold, leaves_out)


def _highest(path: np.ndarray) -> tuple[float, float]:
    """Return the highest log evidence, 0 being the start, and the last."""
    return (max(0.0, float(path.max())), float(path[-1])) if len(path) else (0.0, 0.0)


def _divergence(x: float, level: float) -> float:
    """Return the Kullback-Leibler divergence of Bernoulli(x) from Bernoulli(level)."""
    if level == 1:
        return 0.0
    far = x * math.log(x / level)
    return far + (1 - x) * math.log((1 - x) / (1 - level)) if x < 1 else far
