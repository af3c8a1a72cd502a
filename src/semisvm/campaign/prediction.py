"""What is frozen when a campaign begins, and what training labels say about where to look first.

Promises do not depend on how good any of this is, only on its being fixed before the first draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from semisvm.campaign.threshold import scores_for_class
from semisvm.decision import Target, count_all, f_score, precision
from semisvm.decision.betting import SamplingClaim
from semisvm.decision.checks import check_scores, check_scores_and_sign
from semisvm.decision.sampling_plan import SamplingPlan, plan_sampling
from semisvm.labels import encode
from semisvm.model_selection import SemiSupervisedKFold, cross_fit_scores

FOLDS_OF_CALIBRATION = 5
FEWEST_ACCEPTED = 3  # rows that a precision is estimated from
ASIDE = 0.2  # of the pool sets the thresholds where the claim is about new rows
MOST_TESTED = 100  # thresholds
MARGIN_SLOPE = 2.0  # of the probability at score 0, where nothing better is known: 0.88 at a margin of 1

Calibration = tuple[np.ndarray, np.ndarray]


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
) -> SamplingPlan:
    """Return what a campaign freezes, from the pool's scores and what else is known; see `Campaign`."""
    known = None if calibration is None else read_calibration(*calibration)
    if probabilities is None:
        chances = predict_positive(scores, known)
    else:
        chances = check_scores(probabilities, "probabilities")
        if len(chances) != len(scores) or chances.min() < 0 or chances.max() > 1:
            raise ValueError(f"probabilities must be {len(scores)} numbers from 0 to 1, one per row of the pool.")
    given = None if thresholds is None else check_scores(np.ravel(thresholds), "thresholds")
    if given is not None and len(given) > MOST_TESTED:
        raise ValueError(f"At most {MOST_TESTED} thresholds can be tested, got {len(given)}.")
    aside = None
    if claim == "new rows" and given is None:
        random = np.random.default_rng(int.from_bytes(seed, "big"))
        aside = random.permutation(len(scores)) < max(1, round(ASIDE * len(scores)))
        if aside.all():
            raise ValueError("A pool of one row is not enough for a claim about new rows.")
    return plan_sampling(
        scores,
        chances,
        target,
        1 - confidence,
        n_base=own_accepted(scores, known, target),
        thresholds=given,
        equal_draws=claim == "new rows",
        aside=aside,
    )


def read_calibration(scores: ArrayLike, sign: ArrayLike) -> Calibration:
    """Return scores of labeled rows and whether each is positive."""
    return check_scores_and_sign(scores, sign)


def predict_positive(scores: np.ndarray, known: Calibration | None) -> np.ndarray:
    """Return the chance that each row of the pool is positive: logistic in the score."""
    from sklearn.linear_model import LogisticRegression

    if known is None:
        return scores if _are_probabilities(scores) else expit(MARGIN_SLOPE * scores)
    own, is_positive = known
    center, spread = float(own.mean()), float(own.std()) or 1.0
    line = LogisticRegression().fit(((own - center) / spread)[:, None], is_positive)
    return expit(line.coef_[0, 0] * ((scores - center) / spread) + line.intercept_[0])


def own_accepted(scores: np.ndarray, known: Calibration | None, target: Target) -> int:
    """Return how many rows of the pool the threshold accepts that the labeled rows speak for.

    It is the one with the best F1 among those with the precision asked for, or else the most precise one. Without
    labeled rows it is the model's own: 0, or 0.5 where scores are probabilities.
    """
    if known is None or target.min_precision is None:
        return int((scores > (0.5 if _are_probabilities(scores) else 0.0)).sum())
    own, is_positive = known
    curve = count_all(own, np.where(is_positive, 1, -1))
    measured = np.where(curve.counts.accepted >= FEWEST_ACCEPTED, precision(curve.counts), -np.inf)
    is_enough = measured >= target.min_precision
    merit = np.where(is_enough, f_score(curve.counts), -np.inf) if is_enough.any() else measured
    return int((scores > curve.thresholds[int(np.nanargmax(merit))]).sum())


def calibration_of(model: Any, pos_label: Any, training: tuple[Any, Any] | None, method: str) -> Any:
    """Return scores and signs of labeled rows by fits that had not seen their labels; None where there are none."""
    if training is not None:
        X, y = training
        marker = getattr(model, "unlabeled", -1)
        cv = SemiSupervisedKFold(FOLDS_OF_CALIBRATION, shuffle=True, random_state=0, unlabeled=marker)
        raw = cross_fit_scores(model, X, y, cv=cv, method=method)
        labels = encode(y, unlabeled=marker, n_rows=len(raw))
        is_tested = labels.is_labeled & ~np.isnan(raw.reshape(len(raw), -1)[:, 0])
        known = labels.decode(labels.codes[is_tested])
        scores = scores_for_class(raw[is_tested], labels.classes, pos_label)
        return scores, np.where(known == pos_label, 1, -1)
    own: Any = getattr(model, "calibration_scores_", None)
    points: Any = getattr(model, "operating_points_", None)
    if not isinstance(own, dict) or pos_label not in own or not points or len(model.classes_) > 2:
        return None
    threshold, sign = points[pos_label].threshold, np.asarray(model.calibration_sign_[pos_label])
    if not np.isfinite(threshold) or len(np.unique(sign)) < 2:
        return None
    return np.asarray(own[pos_label]) - threshold, sign


def _are_probabilities(scores: np.ndarray) -> bool:
    return bool(scores.min() >= 0 and scores.max() <= 1)
