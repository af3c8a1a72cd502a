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
    new_rows_log_evidence,
    new_rows_log_wealths,
    null_total,
    perfect_record,
)
from semisvm.decision.forecasts import simulated_bets
from semisvm.decision.linear_claims import (
    BettingState,
    LinearForm,
    StratifiedClaim,
    bet_on,
    stratified,
    with_experts,
)
from semisvm.decision.logarithms import log_sum_exp
from semisvm.decision.sampling_plan import PlannedThreshold, SamplingPlan, fewest_for_recall


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

    def simulated(self, good: np.ndarray, bad: np.ndarray) -> np.ndarray:
        """Return the log evidence after each step of simulated campaigns that go on from the last
        call of `evidence`, (n_campaigns, n_steps); `good` and `bad` are the rows of each of the
        claim's bands that a step draws, (n_campaigns, n_steps, n_bands).
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
        pos = self._n_good = int(good.sum())
        neg = self._n_bad = len(good) - pos
        is_known = None
        if not new:
            K = null_total(n, level)
            is_known = True if pos > K else False if neg >= n - K else None
        return *_highest(path), is_known

    def simulated(self, good: np.ndarray, bad: np.ndarray) -> np.ndarray:
        pos = self._n_good + np.cumsum(good.sum(axis=2), axis=1)
        neg = self._n_bad + np.cumsum(bad.sum(axis=2), axis=1)
        n = self.threshold.n_accepted
        # Campaigns meet at the same counts: each pair once.
        pairs, place = np.unique(pos * (n + 1) + neg, return_inverse=True)
        evidence = mixture_log_evidence(
            n, self.form.level, *np.divmod(pairs, n + 1), new_rows=self.is_about_new_rows
        )
        return evidence[place].reshape(pos.shape)

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

    def simulated(self, good: np.ndarray, bad: np.ndarray) -> np.ndarray:
        return simulated_bets(self.claim, self._state, good, bad)

    def fewest_labels(self, risk: float) -> int:
        level = self.form.level
        if self.form.measure != "recall" or self.claim.total <= 0:
            return 0
        if level == 1:
            return math.ceil((1 - risk) * self.n_rows)
        return fewest_for_recall(self.plan, self.threshold.n_bands, level, risk)


@dataclass
class NewRowsClaim(Claim):
    """Any target about new rows, by bets on equal draws: each row's gain is its value, if good,
    minus its due.
    """

    def __post_init__(self) -> None:
        is_accepted = np.arange(len(self.plan.sizes)) < self.threshold.n_bands
        matters = (self.form.values(is_accepted) > 0) | (self.form.dues(is_accepted) != 0)
        self.bands = np.flatnonzero((self.plan.sizes > 0) & matters)
        self._worst = -max(self.form.due_accepted, self.form.due_rejected)

    def _test(self, rows: np.ndarray, good: np.ndarray, is_complete: bool) -> Tested:
        is_accepted = self.plan.bands[rows] < self.threshold.n_bands
        gains = self.form.values(is_accepted) * good - self.form.dues(is_accepted)
        if self._worst >= 0:  # no row can bring a loss
            return math.inf, math.inf, True
        self._gains = gains
        return *_highest(new_rows_log_evidence(gains, self._worst)), None

    def simulated(self, good: np.ndarray, bad: np.ndarray) -> np.ndarray:
        is_accepted = self.bands < self.threshold.n_bands
        values = self.form.values(is_accepted)
        dues = self.form.dues(is_accepted)
        log_wealths = new_rows_log_wealths(self._gains, self._worst).sum(axis=0)
        steps = good @ new_rows_log_wealths(values - dues, self._worst)
        steps += bad @ new_rows_log_wealths(-dues, self._worst)
        paths = log_wealths + np.cumsum(steps, axis=1)
        return log_sum_exp(paths, axis=2) - math.log(paths.shape[2])


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
