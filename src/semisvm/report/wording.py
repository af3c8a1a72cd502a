"""Numbers and findings in plain words.

What came of a target is `OperatingPoint.status`; here it only gets its words. A number that is undefined (NaN) is shown
as a dash.

Records of a fit are rounds; or, where it tried several ways to use the unlabeled rows, the result of each, or the
members of an average (`LISTINGS`). Those are known by their details ("candidate", "belief"), and are listed but not
drawn, since no line leads from one to the next.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from semisvm.decision import PROMISES, Estimate, OperatingPoint, PositiveUnlabeledPoint, labels_needed
from semisvm.errors import counted
from semisvm.estimators.progress import RoundRecord

DASH = "–"
MINUS = "\N{MINUS SIGN}"

# For each level, what its numbers rest on.
BASIS = {
    "empirical": "empirical: counted on these rows. If the threshold was chosen on the same rows, the values are "
    "optimistic",
    "cross-fitted": "cross-fitted: each row was scored by a model trained without it. If the threshold was chosen on "
    "the same rows, the values are slightly optimistic",
    "certified": "these rows were used for nothing else",
    "certified by sampling": "drawn at random from the pool after the model was fixed",
}
HEADLINES = {
    "certified": "Certified: {}.",
    "reached": "Reached: {}.",
    "unproven": "Reached on the labeled rows, not proven: {}.",
    "missed": "Not reached: {}.",
    "chosen": "The threshold was chosen for this: {}.",
}
NOT_CERTIFIED = "Not certified: {}."


class Verdict(NamedTuple):
    """The finding for one class, in words."""

    status: str  # `OperatingPoint.status`, or "none" where there is no operating point
    headline: str  # what was asked and what came of it
    sentence: str  # what stands behind that
    basis: str  # what the threshold does, and which rows it was measured on
    advice: str  # what to do; empty where nothing has to be done


CERTIFY_BY_SAMPLING = (
    "For a promise, certify by sampling: semisvm certify start, or model.campaign(...) in Python. It draws rows at "
    "random, asks for their labels, and says beforehand about how many it takes."
)
NO_VERDICT = Verdict("none", "Nothing was measured.", "No operating point was stored with this model.", "", "")


def verdict(point: OperatingPoint | None) -> Verdict:
    """Put an operating point into words."""
    if point is None:
        return NO_VERDICT
    status, sentence, advice = point.status, point.reason, ""
    if status == "certified":
        sentence = f"The promise holds with probability {percent(point.confidence)} over the draw of the labeled rows."
        sentence = sentence if point.sampling is None else point.caution
    elif status == "reached":
        sentence = f"The whole {percent(point.confidence)} interval is at or above what was asked."
    elif status == "unproven":
        sentence = " ".join(filter(None, [*_doubts(point), point.reason]))
        advice = _advice("" if point.reason else _labels_that_prove(point))
    elif _is_uncertified(point):
        advice = _advice("")
    return Verdict(status, headline_of(point, str(point.target)), sentence, _basis(point), advice)


def headline_of(point: OperatingPoint | PositiveUnlabeledPoint, asked: str) -> str:
    """What was asked, and what came of it."""
    return (NOT_CERTIFIED if _is_uncertified(point) else HEADLINES[point.status]).format(asked)


def _is_uncertified(point: OperatingPoint | PositiveUnlabeledPoint) -> bool:
    """Whether a certificate was asked for and is not given."""
    return point.status == "missed" and point.level in PROMISES


def _basis(point: OperatingPoint) -> str:
    rows = counted(point.counts.rows if point.sampling is None else point.sampling.n_labels, "labeled row")
    return f"The model {rule(point.threshold)}. Measured on {rows} ({BASIS[point.level]})."


def _asked(point: OperatingPoint) -> list[tuple[str, str, float, Estimate]]:
    """Return the measures whose interval goes below what was asked: name, rows it counts, target, estimate."""
    measures = [
        ("precision", "accepted rows", point.target.min_precision, point.precision),
        ("recall", "positive rows", point.target.min_recall, point.recall),
    ]
    return [
        (name, rows, least, found)
        for name, rows, least, found in measures
        if least is not None and not found.low >= least
    ]


def _doubts(point: OperatingPoint) -> list[str]:
    return [
        f"The {percent(point.confidence)} interval of {name} starts at {rate(found.low)}, below {least:.3g}: "
        "the labels can't rule out a miss."
        for name, _, least, found in _asked(point)
    ]


def _labels_that_prove(point: OperatingPoint) -> str:
    """Say how many rows without an error would prove what was asked."""
    needed = [
        (f"{name} {least:.3g} takes at least {n} {rows}, all of them right")
        for name, rows, least, _ in _asked(point)
        if (n := labels_needed(least, confidence=point.confidence)) is not None
    ]
    return " and ".join(needed)


def _advice(needed: str) -> str:
    proof = f" To prove {needed}." if needed else ""
    return (
        f"{CERTIFY_BY_SAMPLING}{proof} To improve the model, label the rows that semisvm suggest lists and fit again: "
        "they are chosen by doubt, so they prove nothing."
    )


def rate(value: float | None) -> str:
    """Return a share to three places."""
    return DASH if value is None or not math.isfinite(value) else f"{value:.3f}"


def interval(estimate: Estimate) -> str:
    """Return the interval of an estimate, or nothing."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return ""
    return f"{rate(estimate.low)} to {rate(estimate.high)}"


def signed(value: float) -> str:
    """Return a score to four figures, with a real minus sign."""
    return DASH if math.isnan(value) else f"{value:.4g}".replace("-", MINUS)


def signed_rate(value: float) -> str:
    """Return a difference of shares with its sign."""
    return DASH if not math.isfinite(value) else f"{value:+.3f}".replace("-", MINUS)


def signed_interval(estimate: Estimate) -> str:
    """Return the interval of a difference, or nothing."""
    return f"{signed_rate(estimate.low)} to {signed_rate(estimate.high)}" if interval(estimate) else ""


def whole(value: float | None) -> str:
    """Return a whole number with separated thousands."""
    return DASH if value is None else f"{value:,.0f}"


def percent(share: float) -> str:
    """Return a confidence as people say it: 90%."""
    return f"{100 * share:.4g}%"


def rule(threshold: float) -> str:
    """Say what a threshold does."""
    if math.isinf(threshold):
        return "accepts every row" if threshold < 0 else "accepts no row"
    return f"accepts a row when its score is above {signed(threshold)}"


def short_rule(threshold: float) -> str:
    """Return a threshold for a table."""
    return {math.inf: "accept none", -math.inf: "accept all"}.get(threshold, signed(threshold))


def duration(seconds: float) -> str:
    """Return a time as people say it; nothing where it is not known."""
    if not math.isfinite(seconds) or seconds < 0:
        return ""
    if seconds < 120:
        return f"{seconds:.3g} seconds"
    return f"{seconds / 60:.3g} minutes" if seconds < 7200 else f"{seconds / 3600:.3g} hours"


def text(value: Any) -> str:
    """Return words for a value of any kind; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{text(key)}: {text(part)}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(text, value))
    return str(value)


def table_cell(value: Any) -> str:
    """Return a value for a table, where four figures are enough."""
    return f"{value:.4g}" if isinstance(value, float) else text(value)


MARKS = {True: "known to be good", False: "known to miss"}


def price_left(line: Mapping[str, Any]) -> str:
    """How many labels a threshold of a campaign still takes."""
    if line["is_known"] is not None:
        return MARKS[line["is_known"]]
    if line["is_certified"]:
        return "certified"
    return "not in sight" if line["forecast"] is None else f"{line['forecast']:,} more"


# ---- records of rounds ----

TITLES = {"n_iter": "iterations"}


@dataclass(frozen=True)
class Listing:
    """How records are listed: what they are, and which of their figures are shown, if not all."""

    title: str
    unit: str
    about: str
    columns: dict[str, str]


ROUNDS = Listing("What each round did", "rounds", "", {})
# Records that are no rounds, by the detail that tells them. Their place in the order of trying says nothing.
LISTINGS = {
    "candidate": Listing(
        "Ways to use the unlabeled rows",
        "ways",
        "Each line is one way to train on unlabeled rows with guessed labels, at a fraction of a labeled row's weight. "
        "All were tried on the same folds as the supervised model. The gain is over that model, in the measure that "
        "was asked for. A way is used only if its gain is larger than one and a half standard errors; otherwise the "
        "labels alone decide.",
        {
            "problem": "problem",
            "candidate": "way",
            "chosen": "chosen",
            "gain": "gain",
            "gain_error": "its standard error",
            "adjusted_precision": "precision",
            "adjusted_recall": "recall",
            "adjusted_f_score": "F",
            "threshold": "threshold",
            "soft_positive": "guessed positive",
            "soft_negative": "guessed negative",
        },
    ),
    "belief": Listing(
        "What the model rests on",
        "members",
        "The model is an average of the members below: kernels that see the rows in different ways, and forests. Each "
        "was judged on every labeled row as if that row had no label. Those that err little get the weight; with few "
        "labels, so do those that fit the structure of all rows (the belief).",
        {
            "problem": "member",
            "weight": "share of the weight",
            "loo_error": "wrong labels, each row left out",
            "objective": "its mean squared error",
            "belief": "belief before labels",
        },
    ),
}


def listing_of(records: Sequence[RoundRecord]) -> Listing | None:
    """How to list records that are no rounds that followed each other; None for rounds."""
    return next((found for name, found in LISTINGS.items() if any(name in one.details for one in records)), None)


def column_title(name: str) -> str:
    """Return the name of a column for people."""
    return TITLES.get(name, name.replace("_", " "))
