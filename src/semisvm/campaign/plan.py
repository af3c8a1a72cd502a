"""What a campaign freezes when it begins, from the scores of the pool and from training labels that
suggest which rows to draw first.

Promises do not depend on how good any of this is, only on its being fixed before the first draw.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision import Target
from semisvm.decision.betting import SamplingClaim
from semisvm.decision.checks import check_scores, check_scores_and_sign
from semisvm.decision.counts import count_all, f_score, precision
from semisvm.decision.linear_claims import linear_forms
from semisvm.decision.logarithms import expit
from semisvm.decision.sampling_plan import (
    SamplingPlan,
    plan_precision_sets,
    plan_recall_sets,
    plan_sampling,
    planned_labels,
)

FEWEST_ACCEPTED = 3  # rows that a precision is estimated from
ASIDE = 0.2  # of the pool sets the thresholds where the claim is about new rows
MOST_TESTED = 100  # thresholds
# Of the log-odds, per unit of a margin, where nothing better is known: 0.88 at a margin of 1.
MARGIN_SLOPE = 2.0

Calibration = tuple[np.ndarray, np.ndarray]  # scores of labeled rows, and whether each is positive


def find_pos_label(classes: ArrayLike | None, pos_label: Any) -> Any:
    """Return the positive class: the one named, or the second of two; None without classes."""
    if classes is None:
        if pos_label is not None:
            raise ValueError(
                "pos_label needs classes: without them, answers are 1 (positive) and 0."
            )
        return None
    classes = np.asarray(classes)
    if pos_label is None:
        if len(classes) != 2:
            raise ValueError(
                f"There are {len(classes)} classes: say which one the target is about, by"
                " pos_label."
            )
        return classes[1]
    if not np.any(classes == pos_label):
        raise ValueError(f"pos_label={pos_label!r} is not one of the classes: {classes.tolist()}.")
    return pos_label


def plan_campaign(
    scores: np.ndarray,
    target: Target,
    confidence: float,
    claim: SamplingClaim,
    seed: bytes,
    *,
    calibration: Any,
    probabilities: Any,
    thresholds: Any,
    dont_know: str,
    as_sets: bool,
    budget: int | None,
    one_look: bool,
) -> SamplingPlan:
    """Return what a campaign freezes, from the pool's scores and what else is known; see
    `Campaign`.
    """
    known = None if calibration is None else check_scores_and_sign(*calibration)
    if probabilities is None:
        chances = predict_positive(scores, known)
    else:
        chances = check_scores(probabilities, "probabilities")
        if len(chances) != len(scores) or chances.min() < 0 or chances.max() > 1:
            raise ValueError(
                f"probabilities must be {len(scores)} numbers from 0 to 1, one per row of the pool."
            )
    given = None if thresholds is None else check_scores(np.ravel(thresholds), "thresholds")
    if given is not None and len(given) > MOST_TESTED:
        raise ValueError(f"At most {MOST_TESTED} thresholds can be tested, got {len(given)}.")
    measures = [form.measure for form in linear_forms(target)]
    if one_look and (measures != ["recall"] or given is not None or claim != "pool"):
        raise ValueError(
            "`one_look` is for `min_recall` alone, about the pool and without thresholds of your"
            " own. Leave it out: campaigns without it certify the others."
        )
    if one_look and dont_know != "bad":
        raise ValueError('`one_look` counts "don\'t know" as a miss: leave `dont_know` at "bad".')
    is_plain = given is None and claim == "pool" and dont_know == "bad"
    if as_sets and is_plain and len(measures) == 1:
        if target.min_precision is not None:
            return plan_precision_sets(
                scores,
                chances,
                target.min_precision,
                1 - confidence,
                planned_labels(budget, len(scores)),
                is_budget=budget is not None,
            )
        if target.min_recall is not None and target.min_recall < 1:
            plan = plan_recall_sets(scores, chances)
            if plan is not None:
                return replace(plan, kind="one look") if one_look else plan
    aside = None
    looked_at = scores
    if claim == "new rows" and given is None:
        random = np.random.default_rng(int.from_bytes(seed, "big"))
        aside = random.permutation(len(scores)) < max(1, round(ASIDE * len(scores)))
        if aside.all():
            raise ValueError("A pool of one row is not enough for a claim about new rows.")
        looked_at = scores[aside]  # the other rows must not say which thresholds are tested
    return plan_sampling(
        scores,
        chances,
        target,
        1 - confidence,
        n_base=own_accepted(looked_at, known, target),
        thresholds=given,
        equal_draws=claim == "new rows",
        aside=aside,
    )


def predict_positive(scores: np.ndarray, known: Calibration | None) -> np.ndarray:
    """Return the chance that each row of the pool is positive: logistic in the score."""
    if known is None:
        return scores if _are_probabilities(scores) else expit(MARGIN_SLOPE * scores)
    from sklearn.linear_model import LogisticRegression

    labeled, is_positive = known
    center = float(labeled.mean())
    spread = float(labeled.std()) or 1.0
    line = LogisticRegression().fit(((labeled - center) / spread)[:, None], is_positive)
    return expit(line.coef_[0, 0] * ((scores - center) / spread) + line.intercept_[0])


def own_accepted(scores: np.ndarray, known: Calibration | None, target: Target) -> int:
    """Return how many rows of the pool the threshold accepts that the labeled rows speak for.

    It is the one with the best F1 among those with the target precision, or else the most
    precise one. Without labeled rows it is the model's own: 0, or 0.5 where scores are
    probabilities.
    """
    if known is None or target.min_precision is None:
        return int((scores > (0.5 if _are_probabilities(scores) else 0.0)).sum())
    labeled, is_positive = known
    curve = count_all(labeled, np.where(is_positive, 1, -1))
    measured = np.where(curve.counts.accepted >= FEWEST_ACCEPTED, precision(curve.counts), -np.inf)
    is_enough = measured >= target.min_precision
    merit = np.where(is_enough, f_score(curve.counts), -np.inf) if is_enough.any() else measured
    return int((scores > curve.thresholds[int(np.nanargmax(merit))]).sum())


def _are_probabilities(scores: np.ndarray) -> bool:
    return bool(scores.min() >= 0 and scores.max() <= 1)
