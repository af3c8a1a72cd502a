"""Targets as linear claims, and the beliefs that bet on them.

With g = 1 where an accepted row is positive or a rejected row is negative, it reads

    sum_i (value_i g_i - due_i) >= 0

    target           value accepted       value rejected   due accepted   due rejected
    precision >= p   1                    0                p              0
    recall >= r      1 - r                r                0              r
    F_beta >= f      1 + b2 - f b2        f b2             f              f b2            (b2 = beta^2)
    cost <= k        cost of an accepted negative,         their costs - k
                     cost of a missed positive
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import expit, logit

from semisvm.decision.betting import CLAIM_ROUNDING
from semisvm.decision.checks import Floats
from semisvm.decision.stratified_bets import StratifiedClaim
from semisvm.decision.target import Target

Measure = Literal["precision", "recall", "f", "cost"]

LEAST_DOUBT = 0.0005  # no belief is surer than this
ACCEPTED_SHIFTS, REJECTED_SHIFTS = (-0.7, 0.0, 0.7), (-1.5, -0.75, 0.0, 0.75)  # of the experts' log-odds
SHARE_EXPERTS = (0.2, 0.5, 0.8, 0.97)  # experts for a precision: from the target (0) to 1


class LinearForm(NamedTuple):
    """A target as a linear claim: what a good row is worth and what each row owes, for accepted and rejected rows."""

    measure: Measure
    level: float
    value_accepted: float
    value_rejected: float
    due_accepted: float
    due_rejected: float

    def values(self, is_accepted: np.ndarray) -> Floats:
        """Return what a good row is worth."""
        return np.where(is_accepted, self.value_accepted, self.value_rejected)

    def dues(self, is_accepted: np.ndarray) -> Floats:
        """Return what each row owes."""
        return np.where(is_accepted, self.due_accepted, self.due_rejected)

    def neutral(self, is_accepted: np.ndarray) -> Floats:
        """Return the outcome with which a row counts for nothing: the outcome of a row that is left out."""
        values = self.values(is_accepted)
        return np.divide(self.dues(is_accepted), values, out=np.zeros(len(values)), where=values > 0)


def linear_forms(target: Target) -> tuple[LinearForm, ...]:
    """Return the claims that a target consists of; all of them have to hold."""
    forms = []
    if target.min_precision is not None:
        p = target.min_precision
        forms.append(LinearForm("precision", p, 1.0, 0.0, p, 0.0))
    if target.min_recall is not None:
        r = target.min_recall
        forms.append(LinearForm("recall", r, 1 - r, r, 0.0, r))
    if target.min_f is not None:
        f, b2 = target.min_f, target.beta**2
        forms.append(LinearForm("f", f, 1 + b2 - f * b2, f * b2, f, f * b2))
    if target.max_cost is not None:
        assert target.costs is not None
        missed, accepted = target.costs
        k = target.max_cost
        forms.append(LinearForm("cost", k, accepted, missed, accepted - k, missed - k))
    return tuple(forms)


def stratified(
    sizes: Floats,
    beliefs: Floats,
    speeds: Floats,
    form: LinearForm,
    n_accepting: int,
    *,
    whole_outcomes: bool = True,
) -> tuple[StratifiedClaim, np.ndarray]:
    """Return the claim of one target at one threshold, and the bands that it is about (those that are worth something).

    The claim's one expert is the belief itself: `with_experts` gives it the others. With `whole_outcomes` every row is
    good or not, nothing between.
    """
    is_accepted = np.arange(len(sizes)) < n_accepting
    values = form.values(is_accepted)
    bands = np.flatnonzero((values > 0) & (sizes > 0))
    total = float((form.dues(is_accepted) * sizes).sum())
    kinds = np.unique(values[bands])
    if len(kinds) == 1 and whole_outcomes:  # only multiples of one value occur: the null's largest total is one of them
        total = float(kinds[0] * (math.ceil(total / kinds[0] - CLAIM_ROUNDING) - 1))
    else:
        total -= CLAIM_ROUNDING
    good = np.where(is_accepted, beliefs, 1 - beliefs)
    return StratifiedClaim(sizes[bands], values[bands], total, speeds[bands], good[bands][None]), bands


def with_experts(claim: StratifiedClaim, bands: np.ndarray, form: LinearForm, n_accepting: int) -> StratifiedClaim:
    """Give a claim the beliefs that bet on it: the prediction with its log-odds shifted, as far as they believe it."""
    is_accepted = bands < n_accepting
    log_odds = logit(claim.experts[0])
    shifts = [(a, b) for a in ACCEPTED_SHIFTS for b in REJECTED_SHIFTS]
    # The shift is of being positive, and a rejected row is good where it is negative.
    experts = [expit(log_odds + np.where(is_accepted, a, -b)) for a, b in shifts]
    if form.measure == "precision":
        experts += [np.full(len(bands), form.level + (1 - form.level) * part) for part in SHARE_EXPERTS]
    kept = np.unique(np.clip(experts, LEAST_DOUBT, 1 - LEAST_DOUBT), axis=0)
    worth = claim.sizes * claim.values
    believing = kept[(worth * kept).sum(axis=1) > claim.total]
    shift = 0.5
    while not len(believing):
        hopeful = np.clip(expit(log_odds + shift), LEAST_DOUBT, 1 - LEAST_DOUBT)[None]
        room = claim.total + 0.2 * (worth.sum() - claim.total)
        believing = hopeful if (worth * hopeful).sum() > room or shift > 20 else believing
        shift += 0.5
    return StratifiedClaim(claim.sizes, claim.values, claim.total, claim.weights, believing)


def measure_of(tp: float, fp: float, fn: float, n_rows: int, form: LinearForm, target: Target) -> float:
    """Return a measure from totals; NaN where it is undefined."""
    if form.measure == "precision":
        top, bottom = tp, tp + fp
    elif form.measure == "recall":
        top, bottom = tp, tp + fn
    elif form.measure == "f":
        b2 = target.beta**2
        top, bottom = (1 + b2) * tp, (1 + b2) * tp + b2 * fn + fp
    else:
        missed, accepted = target.costs or (0.0, 0.0)
        top, bottom = missed * fn + accepted * fp, n_rows
    return top / bottom if bottom else math.nan
