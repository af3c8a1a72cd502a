"""From the target and the scores of a positive-unlabeled SVM to its threshold, its prior and its
certificate.

The threshold is chosen on out-of-fold scores of the rows that trained. What it gives is judged on
the same scores (level "cross-fitted"); or, with a confidence, on positives and unlabeled rows that
were held out for nothing else (level "certified"). A recall that is to be certified is the
exception: its threshold comes from the positives held out, whose rank proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.decision import Evidence, OperatingPoint, Target, labels_needed
from semisvm.decision.operating_point import judge_without_negatives
from semisvm.decision.without_negatives import (
    FEWEST_FOR_A_PRIOR,
    LARGEST_PRIOR,
    AcceptedCounts,
    PriorBound,
    accept_best,
    bound_prior,
    certify_recall,
    choose_without_negatives,
    reach_recall,
)
from semisvm.errors import counted
from semisvm.estimators.equal_rows import is_first_copy
from semisvm.estimators.positive_unlabeled.search import WeightSearch
from semisvm.labels import Labels, encode


def read_prior(prior: Any) -> tuple[float, float] | None:
    """The numbers that a prior lies between, or None where it is to be estimated."""
    if isinstance(prior, str):
        return None
    ends = prior if isinstance(prior, tuple | list) else (prior, prior)
    try:
        low, high = map(float, ends)
    except (TypeError, ValueError):
        raise ValueError(
            f"prior must be a number, two numbers or 'estimated', got {prior!r}."
        ) from None
    if not 0 < low <= high < 1:
        raise ValueError(
            f"prior must lie strictly between 0 and 1, the lower number first; got {prior!r}."
        )
    return low, high


def read_positives(y: Any, *, unlabeled: Any, n_rows: int | None, negative: Any = None) -> Labels:
    """Read a target as two classes, the negative and the positive, though y may hold the
    positive alone.
    """
    labels = encode(y, unlabeled=unlabeled, n_rows=n_rows, may_be_one_class=True)
    names = labels.classes.tolist()
    if labels.n_classes > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: y has"
            f" {labels.n_classes} classes, such as {names[0]!r}. Keep the label of the positives"
            " and mark other rows as unlabeled."
        )
    if labels.n_classes == 2:
        if negative is not None and negative not in names:
            raise ValueError(f"negative={negative!r} is not a label of y, which has {names}.")
        if negative is not None and negative == names[1]:
            return Labels(
                labels.classes[::-1].copy(),
                np.where(labels.is_labeled, 1 - labels.codes, labels.codes),
            )
        return labels
    name = _name_of_others(names[0], unlabeled) if negative is None else negative
    if name == names[0] or isinstance(name, str) != isinstance(names[0], str):
        raise ValueError(
            f"negative={name!r} must differ from the positive label {names[0]!r} and have its type."
        )
    kind = labels.classes.dtype if labels.classes.dtype.kind == "O" else None
    return Labels(
        np.array([name, names[0]], dtype=kind), np.where(labels.is_labeled, 1, labels.codes)
    )


def _name_of_others(positive: Any, marker: Any) -> Any:
    """A name for rows that are not positive: neither the positive's nor the marker of unlabeled
    rows.
    """
    if isinstance(positive, str):
        return f"not {positive}"
    if isinstance(positive, bool):
        return not positive
    free = [name for name in (0, -1) if name not in (positive, marker)]
    if not free:
        raise ValueError(
            f"The positive label is {positive!r}, and there is no default label for the other rows:"
            " pass one as `negative`, for example negative=1."
        )
    return type(positive)(free[0])


# The confidence of intervals and of the prior's bound by default.
USUAL_CONFIDENCE = 0.9
# With a certificate, the share of the rows that is held out for it: positives are few, unlabeled
# rows many.
HELD_OUT_POSITIVES = 0.5
HELD_OUT_UNLABELED = 0.2
# The prior that F1 is estimated with lies between the estimate (0) and the bound (1), on a scale of
# ratios: a prior too high costs little F1, one too low may cost most of it.
TRUST_IN_BOUND = 0.75
# A prior that the user gives bounds it by a multiple, and no smaller share of the rows is accepted:
# on 24 lines (13 sets, 30 and 100 positives, four draws) the mean F1 was .797 with the true prior
# and .791 without, and lower on no line. The prior itself, raised as below, gave .800, and lost on
# up to two of them. The rule was chosen among about ten on these same sets: on others it may lose.
MOST_PRIORS = 4.0
# With too few positives for an estimate, F1 is estimated with this multiple of the prior: the
# maximum over thresholds favors those that few rows pass, by chance.
RAISED_PRIOR = 1.6


@dataclass(frozen=True)
class SampleScores:
    """Scores of positives and of unlabeled rows by one scorer, in each of several draws of folds.

    draws_of_positive    (draws, n_positive)
    draws_of_unlabeled   (draws, n_unlabeled)
    """

    draws_of_positive: np.ndarray
    draws_of_unlabeled: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, sign: np.ndarray, rows: np.ndarray) -> SampleScores:
        """The scores of some rows, a mask; `scores` is (n,) or (draws, n)."""
        scores = np.atleast_2d(scores)
        return cls(scores[:, rows & (sign > 0)], scores[:, rows & (sign == 0)])

    @property
    def positive(self) -> np.ndarray:
        """The scores of all draws: shares of them are means over the draws."""
        return self.draws_of_positive.ravel()

    @property
    def unlabeled(self) -> np.ndarray:
        return self.draws_of_unlabeled.ravel()

    @property
    def n_positive(self) -> int:
        return self.draws_of_positive.shape[1]

    @property
    def n_unlabeled(self) -> int:
        return self.draws_of_unlabeled.shape[1]

    def count(self, threshold: float) -> AcceptedCounts:
        """How many rows a threshold accepts, on average over the draws."""
        n_draws = len(self.draws_of_positive)
        n_positive = round(np.count_nonzero(self.positive > threshold) / n_draws)
        n_unlabeled = round(np.count_nonzero(self.unlabeled > threshold) / n_draws)
        return AcceptedCounts(n_positive, self.n_positive, n_unlabeled, self.n_unlabeled)

    def bound_prior(self, confidence: float) -> list[PriorBound]:
        """What each draw says about the prior."""
        draws = zip(self.draws_of_positive, self.draws_of_unlabeled, strict=True)
        return [bound_prior(positive, unlabeled, confidence) for positive, unlabeled in draws]

    @property
    def can_bound_prior(self) -> bool:
        return self.n_positive >= FEWEST_FOR_A_PRIOR


def hold_out(
    sign: np.ndarray, row_numbers: np.ndarray, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """A mask of the rows that serve the certificate and nothing else, drawn at random, and one of
    the rows that learn.

    `row_numbers` are equal for the copies of a row: one copy serves the certificate, and then none
    learns.
    """
    held = np.zeros(len(sign), dtype=bool)
    is_first = is_first_copy(row_numbers)
    for side, share, name in (
        (1, HELD_OUT_POSITIVES, "labeled positives"),
        (0, HELD_OUT_UNLABELED, "unlabeled rows"),
    ):
        rows = np.flatnonzero((sign == side) & is_first)
        if len(rows) < 2:
            raise ValueError(
                f"confidence needs at least 2 {name}, some to train on and some to hold out, and"
                f" there is {len(rows)}. Label more, or leave confidence out."
            )
        held[rng.permutation(rows)[: max(1, round(share * len(rows)))]] = True
    return held, ~np.isin(row_numbers, row_numbers[held])


def settle_threshold(
    target: Target,
    prior: tuple[float, float] | None,
    confidence: float | None,
    search: WeightSearch,
    final: np.ndarray,
    sign: np.ndarray,
    held: np.ndarray,
    learns: np.ndarray,
) -> tuple[OperatingPoint, list[Warning]]:
    """Choose the threshold and say what is known about it.

    target       a recall, a number or share of rows, or the largest F1
    prior        (low, high), or None where it is to be estimated
    confidence   of a certificate, or None
    final        (n,) the scores of all rows by the final SVM
    held         (n,) mask: rows that serve the certificate alone
    learns       (n,) mask: rows that trained
    """
    best = search.best
    is_cross_fitted = best is not None and not np.isnan(best.pu_auc)
    level = Evidence.EMPIRICAL
    seen = SampleScores.of(final, sign, learns)
    shown = None  # what the out-of-fold scores say about the prior
    estimate = bound = math.nan
    if best is not None and is_cross_fitted:
        level = Evidence.CROSS_FITTED
        seen = SampleScores.of(best.scores, sign, learns)
        if seen.can_bound_prior:
            shown = _bound_over_scorers(search, sign, learns)
            estimate = _clip(shown.estimate, seen)
            bound = shown.bound
    aside = None
    if confidence is not None:
        level = Evidence.CERTIFIED
        aside = SampleScores.of(final, sign, held)
        bound = aside.bound_prior(confidence)[0].bound if aside.can_bound_prior else math.nan
    if target.min_recall is None:
        threshold, reason = _choose(target, prior, seen, shown)
        reached = True
    else:
        threshold, reason = _choose_for_recall(target.min_recall, confidence, seen, aside)
        reached = not reason
    counts = (aside or seen).count(threshold)
    if isinstance(target.accept, int) and aside is None:
        # Judged by out-of-fold scores as above, but cut where exactly so many rows of the pool are
        # accepted.
        threshold = accept_best(final[sign == 0], target.accept)
    point = judge_without_negatives(
        threshold,
        counts,
        target,
        level=level,
        confidence=confidence or USUAL_CONFIDENCE,
        prior=prior,
        prior_estimate=estimate,
        prior_bound=bound,
        reached=reached,
        reason=reason,
    )
    return point, _warnings(prior, best.pu_auc if best else math.nan, seen, bound)


def _choose_for_recall(
    min_recall: float, confidence: float | None, seen: SampleScores, aside: SampleScores | None
) -> tuple[float, str]:
    """The threshold, and why it does not give the recall."""
    if aside is None or confidence is None:
        return reach_recall(seen.positive, min_recall), ""
    threshold = certify_recall(aside.positive, min_recall, confidence)
    if threshold is not None:
        return threshold, ""
    needed = labels_needed(min_recall, confidence=confidence)
    n = aside.n_positive
    reason = f"No number of positives can prove a recall of {min_recall:g}: lower min_recall."
    if needed is not None:
        more = counted(math.ceil((needed - n) / HELD_OUT_POSITIVES), "more positive")
        reason = (
            f"To certify this recall at {confidence:.0%}, at least {counted(needed, 'positive')}"
            f" must be held out, and {n} are: label {more}, or lower min_recall."
        )
    return reach_recall(seen.positive, min_recall), reason


def _choose(
    target: Target, given: tuple[float, float] | None, seen: SampleScores, shown: PriorBound | None
) -> tuple[float, str]:
    """The threshold without a minimum recall, and what it lacks."""
    if target.accept is not None:
        share = target.accept
        if isinstance(share, int):
            share = min(1.0, share / seen.n_unlabeled)
        return accept_best(seen.unlabeled, float(share)), ""
    at = most = highest = math.inf
    if given is not None:
        prior = math.sqrt(math.prod(given))
        at = RAISED_PRIOR * prior
        most = MOST_PRIORS * prior
        highest = accept_best(seen.unlabeled, prior)
    if shown is not None:
        at = _clip(shown.estimate, seen) ** (1 - TRUST_IN_BOUND) * shown.bound**TRUST_IN_BOUND
        at = min(at, most)
    if at < math.inf:
        at = min(at, LARGEST_PRIOR)
        best_f1 = choose_without_negatives(seen.positive, seen.unlabeled, at)
        return min(best_f1, highest), ""
    reason = (
        f"The prior can't be estimated from {counted(seen.n_positive, 'labeled positive')}, so this"
        f" is the threshold of the largest balanced accuracy. With {FEWEST_FOR_A_PRIOR} positives,"
        " or a prior, F1 can be estimated."
    )
    return choose_without_negatives(seen.positive, seen.unlabeled), reason


def _bound_over_scorers(search: WeightSearch, sign: np.ndarray, rows: np.ndarray) -> PriorBound:
    """The least bound over the out-of-fold scores of all weights, the risk shared between them; of
    several draws of folds the median.
    """
    each = 1 - (1 - USUAL_CONFIDENCE) / len(search.tried)
    by_weight = [
        SampleScores.of(trial.scores, sign, rows).bound_prior(each) for trial in search.tried
    ]
    least = [min(draw, key=lambda prior: prior.bound) for draw in zip(*by_weight, strict=True)]
    return PriorBound(*np.median(least, axis=0).tolist())


def _clip(estimate: float, seen: SampleScores) -> float:
    return min(max(estimate, 1 / seen.n_unlabeled), LARGEST_PRIOR)


def _warnings(
    prior: tuple[float, float] | None, auc: float, seen: SampleScores, bound: float
) -> list[Warning]:
    warnings: list[Warning] = []
    noise = math.sqrt((1 / seen.n_positive + 1 / seen.n_unlabeled) / 12)
    if seen.can_bound_prior and auc < 0.5 + 1.645 * noise:
        warnings.append(
            UserWarning(
                "The labeled positives can't be told apart from the unlabeled rows: out of fold,"
                f" the AUC is {auc:.2f} and chance is 0.5. Nearly all unlabeled rows may be"
                " positive, or the features do not separate them."
            )
        )
    if prior is not None and prior[0] > bound:
        warnings.append(
            UserWarning(
                f"The prior given, {prior[0]:g}, is above what the scores allow: at most"
                f" {bound:.3g} of the unlabeled rows are positive. The prior is wrong, or the"
                " labeled positives are not a random sample of all positives."
            )
        )
    return warnings
