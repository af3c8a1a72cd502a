"""What the page says where only positives are labeled: first what all of it assumes, and never a precision of its own.

Recall and lift are measured; the share of positives among the unlabeled rows, the prior, has an upper bound. Precision
is the prior times the lift: it is listed for several priors, and claimed for none that the user did not give.
"""

from __future__ import annotations

import math
from typing import Any

from semisvm.decision import PROMISES, Estimate, PositiveUnlabeledPoint
from semisvm.report.wording import BASIS, DASH, HEADLINES, NOT_CERTIFIED, Verdict, interval, percent, rate, whole

ASSUMED = (
    "All of this assumes that the labeled positives are a random sample of all positives. Where those that were found "
    "first are the easy ones, recall is lower than it says here."
)
CHECK = (
    "To check the assumption, draw 100 to 300 unlabeled rows at random, have somebody label them, and compare the "
    "scores of the positives among them with those of the labeled positives (out_of_fold_scores_, by a rank test): "
    "clearly lower scores mean that the assumption is wrong. The share of positives among the drawn rows is an "
    "estimate of the prior that needs no assumption."
)
PROVE = (
    "To know the precision, label accepted rows: semisvm certify start with a minimum precision, or "
    "model.campaign(X_pool, min_precision=...) in Python, draws them at random and says when they prove it."
)
PRECISION_NOT_KNOWN = (
    "Precision is the share of positives among the unlabeled rows (the prior) times the lift. The prior is not known, "
    "so the table lists what precision would be; none of these lines is a measurement."
)
PRECISION_GIVEN = "Precision follows from the prior that was given, and is as right as that is."
NO_AUDIT_OF_POSITIVES = "Only positives are labeled: no step can be measured by its errors."
SHARES_OF_BOUND = (0.1, 0.25, 0.5, 0.75, 1.0)
SUPPOSED = (0.001, 0.01, 0.05, 0.1, 0.25)


def describe_positives(point: PositiveUnlabeledPoint, name: str) -> dict[str, Any]:
    """The parts of an answer that differ where only positives are labeled."""
    return {
        "verdict": _verdict(point),
        "measures": _tiles(point, name),
        "confidence": percent(point.confidence),
        "priors": {"sentence": _about_precision(point), "rows": _precisions(point)},
    }


def _verdict(point: PositiveUnlabeledPoint) -> Verdict:
    asked = point.asked[:1].lower() + point.asked[1:]
    is_uncertified = point.status == "missed" and point.level in PROMISES
    headline = (NOT_CERTIFIED if is_uncertified else HEADLINES[point.status]).format(asked)
    counts = point.counts
    basis = (
        f"Measured on {whole(counts.positives)} labeled positives and {whole(counts.unlabeled)} unlabeled rows "
        f"({BASIS[point.level]})."
    )
    return Verdict(point.status, headline, " ".join(filter(None, [ASSUMED, point.reason])), basis, f"{CHECK} {PROVE}")


def _tiles(point: PositiveUnlabeledPoint, name: str) -> list[dict[str, str]]:
    """The figures at the top: recall, rows accepted, lift, the bound of the prior, and a precision if it is known."""
    what = f"“{name}”" if name else "positive"
    is_promised = point.level in PROMISES
    asked = "" if point.min_recall is None else f"asked: at least {point.min_recall:.3g}"
    tiles = [
        _tile("Recall", point.recall, f"of all rows that are {what}, the share that is accepted", is_promised, asked),
        _tile("Accepted", point.share_accepted, "of the unlabeled rows"),
        _tile("Lift", point.lift, f"how many times richer in {what} the accepted rows are than the pool", is_promised),
    ]
    bound = DASH if math.isnan(point.prior_bound) else f"at most {point.prior_bound:.1%}"
    tiles.append(_plain_tile("Prior", bound, f"of the unlabeled rows are {what}"))
    if point.precision is not None:
        meaning = f"of the accepted rows, the share that is {what}, if the prior is as given"
        tiles.append(_tile("Precision", point.precision, meaning, is_promised))
    return tiles


def _tile(label: str, found: Estimate, meaning: str, is_promised: bool = False, asked: str = "") -> dict[str, str]:
    value = f"at least {rate(found.low)}" if is_promised else rate(found.value)
    return _plain_tile(label, value, meaning, "" if is_promised else interval(found), asked)


def _plain_tile(label: str, value: str, meaning: str, ends: str = "", asked: str = "") -> dict[str, str]:
    return {"label": label, "value": value, "interval": ends, "asked": asked, "meaning": meaning}


def _about_precision(point: PositiveUnlabeledPoint) -> str:
    return PRECISION_NOT_KNOWN if point.precision is None else PRECISION_GIVEN


def _precisions(point: PositiveUnlabeledPoint) -> list[tuple[str, str]]:
    """Priors, and the precision that each would give."""
    if math.isnan(point.lift.value):
        return []
    if point.prior is not None:
        supposed = sorted(set(point.prior))
    elif math.isnan(point.prior_bound):
        supposed = list(SUPPOSED)
    else:
        supposed = [share * min(point.prior_bound, 0.999) for share in SHARES_OF_BOUND]
    return [(f"{prior:.2%}", rate(point.precision_at(prior))) for prior in supposed]
