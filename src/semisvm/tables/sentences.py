"""The sentences and numbers that people read, in the terminal, the report and notebooks.

What came of a target is `OperatingPoint.status`; here it only gets its words. A number that is
undefined (NaN) is said to be not known.

    first_screen   the answer in at most 120 words, for people who want it and not the method: what
                   was asked, whether it is kept on the labels, how likely on new rows, how many
                   rows are accepted, what to do next. A model that is of no use says so in its
                   first line. Words of statistics stay on the pages below.
    verdict        what came of one operating point, and what it rests on
    figures        the numbers of one operating point, each with its interval and its meaning
    listing_of     how records of a fit are listed: rounds, or, where it tried several ways to use
                   the unlabeled rows, the result of each, or the members of an average. Those are
                   known by their details ("candidate", "belief"), and are listed but not drawn,
                   since no line leads from one to the next

Where only positives are labeled, the assumption comes first and no precision is claimed: recall and
lift are measured; the share of positives among the unlabeled rows, the prior, has an upper bound.
Precision is the prior times the lift: it is listed for several priors, and claimed for none that
the user did not give.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from semisvm.columns.kinds import LIKE_NUMBERS
from semisvm.decision import (
    Estimate,
    Evidence,
    OperatingPoint,
    PositiveUnlabeledEvidence,
    labels_needed,
)
from semisvm.decision.audit import changed_by_unlabeled, share_below
from semisvm.decision.target import f_name
from semisvm.errors import counted
from semisvm.estimators.progress import RoundRecord
from semisvm.tables.column_checks import GIVES_AWAY
from semisvm.tables.summary import FitSummary

NOT_KNOWN = "not known"
MINUS = "\N{MINUS SIGN}"

SHARES_OF_BOUND = (0.1, 0.25, 0.5, 0.75, 1.0)  # priors that are listed where a bound is known
SUPPOSED_PRIORS = (0.001, 0.01, 0.05, 0.1, 0.25)  # and where none is

# For each level, what its numbers rest on.
BASIS = {
    Evidence.EMPIRICAL: (
        "empirical: counted on these rows. If the threshold was chosen on the same rows, the values"
        " are optimistic"
    ),
    Evidence.CROSS_FITTED: (
        "cross-fitted: each row was scored by a model trained without it. If the threshold was"
        " chosen on the same rows, the values are slightly optimistic"
    ),
    Evidence.CERTIFIED: "these rows were used for nothing else",
    Evidence.SAMPLED: "drawn at random from the pool after the model was fixed",
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
    "For a promise, certify by sampling: semisvm certify start, or model.campaign(...) in Python."
    " It draws rows at random, asks for their labels, and says beforehand about how many it takes."
)
ASSUMED = (
    "All of this assumes that the labeled positives are a random sample of all positives. Where"
    " those that were found first are the easy ones, recall is lower than it says here."
)
CHECK = (
    "To check the assumption, draw 100 to 300 unlabeled rows at random, have somebody label them,"
    " and compare the scores of the positives among them with those of the labeled positives"
    " (out_of_fold_scores_, by a rank test): clearly lower scores mean that the assumption is"
    " wrong. The share of positives among the drawn rows is an estimate of the prior that needs no"
    " assumption."
)
PROVE = (
    "To know the precision, label accepted rows: semisvm certify start with a minimum precision, or"
    " model.campaign(X_pool, min_precision=...) in Python, draws them at random and says when they"
    " prove it."
)
NO_VERDICT = Verdict(
    "none", "Nothing was measured.", "No operating point was stored with this model.", "", ""
)


def verdict(point: OperatingPoint | None) -> Verdict:
    """Put an operating point into words."""
    if point is None:
        return NO_VERDICT
    if point.positive_unlabeled is not None:
        return _verdict_of_positives(point, point.positive_unlabeled)
    status = point.status
    sentence = point.reason
    advice = ""
    if status == "certified":
        sentence = point.caution
    elif status == "reached":
        sentence = f"The whole {percent(point.confidence)} interval is at or above what was asked."
    elif status == "unproven":
        sentence = " ".join(filter(None, [*_doubts(point), point.reason]))
        advice = _advice("" if point.reason else _labels_that_prove(point))
    elif _is_uncertified(point):
        advice = _advice("")
    return Verdict(status, _headline(point, str(point.target)), sentence, _basis(point), advice)


def _verdict_of_positives(point: OperatingPoint, known: PositiveUnlabeledEvidence) -> Verdict:
    asked = point.asked[:1].lower() + point.asked[1:]
    rows = counted(known.counts.unlabeled, "unlabeled row")
    return Verdict(
        point.status,
        _headline(point, asked),
        " ".join(filter(None, [ASSUMED, point.reason])),
        f"Measured on {counted(known.counts.positives, 'labeled positive')} and {rows}"
        f" ({BASIS[point.level]}).",
        f"{CHECK} {PROVE}",
    )


def _headline(point: OperatingPoint, asked: str) -> str:
    """What was asked, and what came of it."""
    return (NOT_CERTIFIED if _is_uncertified(point) else HEADLINES[point.status]).format(asked)


def _is_uncertified(point: OperatingPoint) -> bool:
    """Whether a certificate was asked for and is not given."""
    return point.status == "missed" and point.level.is_promise


def _basis(point: OperatingPoint) -> str:
    rows = counted(
        point.counts.rows if point.sampling is None else point.sampling.n_labels, "labeled row"
    )
    return f"The model {rule(point.threshold)}. Measured on {rows} ({BASIS[point.level]})."


def _asked(point: OperatingPoint) -> list[tuple[str, str, float, Estimate]]:
    """Return the measures whose interval goes below what was asked: name, rows it counts,
    target, estimate.
    """
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
        f"The {percent(point.confidence)} interval of {name} starts at {rate(found.low)}, below"
        f" {least:.3g}: the labels can't rule out a miss."
        for name, _, least, found in _asked(point)
    ]


def _labels_that_prove(point: OperatingPoint) -> str:
    """Say how many rows without an error would prove what was asked."""
    needed = [
        f"{name} {least:.3g} takes at least {n} {rows}, all of them right"
        for name, rows, least, _ in _asked(point)
        if (n := labels_needed(least, confidence=point.confidence)) is not None
    ]
    return " and ".join(needed)


def _advice(needed: str) -> str:
    proof = f" To prove {needed}." if needed else ""
    return (
        f"{CERTIFY_BY_SAMPLING}{proof} To improve the model, label the rows that semisvm suggest"
        " lists and fit again: they are chosen by doubt, so they prove nothing."
    )


# ---- figures ----


class Figure(NamedTuple):
    """One number as people read it: its name, value and interval, what was asked, its meaning."""

    label: str
    value: str
    meaning: str
    interval: str = ""
    asked: str = ""


def figures(point: OperatingPoint | None, name: str = "") -> list[Figure]:
    """Return the numbers of an operating point for the class `name`; those that are not known are
    left out.
    """
    if point is None:
        return []
    what = f"“{name}”" if name else "positive"
    target = point.target
    is_promised = point.level.is_promise
    precision = f"of the accepted rows, the share that is {what}"
    recall = f"of all rows that are {what}, the share that is accepted"
    known = point.positive_unlabeled
    if known is None:
        f1 = "precision and recall in one number"
        shown = [
            _figure("Precision", point.precision, precision, target.min_precision),
            _figure("Recall", point.recall, recall, target.min_recall),
            _figure(f_name(target.beta), point.f_score, f1, target.min_f),
            None if point.cost is None else _figure("Cost", point.cost, "expected cost per row"),
        ]
        if math.isfinite(point.share_accepted):
            rows = "labeled rows" if point.sampling is None else "rows of the pool"
            share = f"{100 * point.share_accepted:.1f}%"
            shown.append(Figure("Accepted", share, f"of the {rows} are called {what}"))
        return [figure for figure in shown if figure is not None]
    lift = f"how many times richer in {what} the accepted rows are than the pool"
    least = target.min_recall
    shown = [
        _figure("Recall", point.recall, recall, least, is_promised=is_promised),
        _figure("Accepted", known.share_accepted, "of the unlabeled rows"),
        _figure("Lift", known.lift, lift, is_promised=is_promised),
    ]
    if math.isfinite(known.prior_bound):
        bound = f"at most {known.prior_bound:.1%}"
        shown.append(Figure("Prior", bound, f"of the unlabeled rows are {what}"))
    if known.prior is not None:
        given = f"{precision}, if the prior is as given"
        shown.append(_figure("Precision", point.precision, given, is_promised=is_promised))
    return [figure for figure in shown if figure is not None]


def _figure(
    label: str,
    estimate: Estimate,
    meaning: str,
    least: float | None = None,
    *,
    is_promised: bool = False,
) -> Figure | None:
    """Return an estimate as a figure, None where it is not known; of a promise only the lower end
    is said. `least` is what was asked.
    """
    asked = "" if least is None else f"asked: at least {least:.3g}"
    if is_promised:
        return Figure(label, f"at least {rate(estimate.low)}", meaning, asked=asked)
    if not math.isfinite(estimate.value):
        return None
    return Figure(label, rate(estimate.value), meaning, interval(estimate), asked)


def precisions_by_prior(point: OperatingPoint) -> list[tuple[str, str]]:
    """Return priors, and the precision that each would give; empty unless only positives are
    labeled.
    """
    known = point.positive_unlabeled
    if known is None or math.isnan(known.lift.value):
        return []
    if known.prior is not None:
        supposed = sorted(set(known.prior))
    elif math.isnan(known.prior_bound):
        supposed = list(SUPPOSED_PRIORS)
    else:
        supposed = [share * min(known.prior_bound, 0.999) for share in SHARES_OF_BOUND]
    return [(f"{prior:.2%}", rate(known.precision_at(prior))) for prior in supposed]


def rate(value: float | None) -> str:
    """Return a share to three places."""
    return NOT_KNOWN if value is None or not math.isfinite(value) else f"{value:.3f}"


def interval(estimate: Estimate) -> str:
    """Return the interval of an estimate, or nothing."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return ""
    return f"{rate(estimate.low)} to {rate(estimate.high)}"


def format_estimate(estimate: Estimate) -> str:
    """Return a value and its interval in a few characters, for a table in a terminal."""
    if math.isnan(estimate.value):
        return NOT_KNOWN
    return f"{estimate.value:.3f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def signed(value: float) -> str:
    """Return a score to four figures, with a real minus sign."""
    return NOT_KNOWN if math.isnan(value) else f"{value:.4g}".replace("-", MINUS)


def signed_rate(value: float) -> str:
    """Return a difference of shares with its sign."""
    return NOT_KNOWN if not math.isfinite(value) else f"{value:+.3f}".replace("-", MINUS)


def signed_interval(estimate: Estimate) -> str:
    """Return the interval of a difference, or nothing."""
    return (
        f"{signed_rate(estimate.low)} to {signed_rate(estimate.high)}" if interval(estimate) else ""
    )


def whole(value: float | None) -> str:
    """Return a whole number with separated thousands."""
    return NOT_KNOWN if value is None else f"{value:,.0f}"


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
MEMBER_OF_A_GRAPH = re.compile(r"\bgraph (\d+) (smooth|first (\d+))")


@dataclass(frozen=True)
class Listing:
    """How records are listed: what they are, and which of their figures are shown, if not all."""

    title: str
    unit: str
    about: str
    columns: dict[str, str]


ROUNDS = Listing("What each round did", "rounds", "", {})
# Records that are no rounds, by the detail that tells them. Their place in the order of trying says
# nothing.
LISTINGS = {
    "candidate": Listing(
        "Ways to use the unlabeled rows",
        "ways",
        "Each line is one way to train on unlabeled rows with guessed labels, at a fraction of a"
        " labeled row's weight. All were tried on the same folds as the supervised model. The gain"
        " is over that model, in the measure that was asked for. A way is used only if its gain is"
        " larger than one and a half standard errors; otherwise the labels alone decide.",
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
        "The model is an average of the members below: SVMs that see the rows in different ways,"
        " and forests. Each was judged on every labeled row as if that row had no label. Those that"
        " err little get the weight. Members named after a graph or components follow the"
        " structure of all rows, labeled or not.",
        {
            "problem": "member",
            "weight": "share of the weight",
            "loo_error": "wrong labels, each row left out",
            "objective": "its mean squared error",
        },
    ),
}


def listing_of(records: Sequence[RoundRecord]) -> Listing | None:
    """How to list records that are no rounds that followed each other; None for rounds."""
    return next(
        (found for name, found in LISTINGS.items() if any(name in one.details for one in records)),
        None,
    )


def member_name(name: str) -> str:
    """Return the name of a member of an average for people."""
    return MEMBER_OF_A_GRAPH.sub(
        lambda match: (
            f"graph of {match[1]} neighbors"
            + (f", {match[3]} smoothest functions" if match[3] else ", smooth functions")
        ),
        name,
    )


def column_title(name: str) -> str:
    """Return the name of a column for people."""
    return TITLES.get(name, name.replace("_", " "))


# ---- what a fit adds ----

UNUSED = (
    "The unlabeled rows were tried and are not used: the held-out labels do not show that they"
    " help. The result comes from the labels and the threshold alone."
)
ABOVE = (
    "The target applies to the rows above the operating point of a class. A row that is above none"
    " still gets the label of the nearest class: the column 'above' of the predictions tells them"
    " apart."
)
CAMPAIGN_PRICE = (
    "A promise instead of an estimate, {}: label about {} rows that are drawn at random, until it"
    " is proved (semisvm label, or campaign() in Python)."
)
NO_CERTIFICATE = (
    "These labels give no hope of a promise, {}: improve the model first. Label the rows that"
    " semisvm suggest lists, and fit again."
)


# ---- the first screen ----

NEARLY_ALL = 0.5  # of all rows: a model that accepts as many of them sorts out too little,
MUCH_MORE = 4.0  # if the positive class is so many times rarer
CLEAR_GAP = (
    3.0  # standard errors between the shares accepted, from which on they are said to differ
)
LARGE_RATIO = 1.5
SAID_OF_MANY_ROWS = (
    "Many rows: it fits a weighted sum of the columns, in time that grows only with the rows."
)
REFUSED = (
    "No certificate is given: it would rest on labeled rows that do not look like a random sample."
    " If you know that they are one, say so (`trust_labels`)."
)
INSISTED = (
    "The certificate was asked for all the same. It rests on your word that the labeled rows are a"
    " random sample of the pool, which the check contradicts."
)


@dataclass(frozen=True)
class FirstScreen:
    """What a person reads first: `status` is that of the target, or "useless"; `lines` are
    sentences, the last of them what to do next.
    """

    status: str
    lines: tuple[str, ...]

    @property
    def is_useless(self) -> bool:
        """Whether the model is of no use."""
        return self.status == "useless"


def first_screen(
    summary: FitSummary,
    model: str = "MODEL",
    data: str | None = None,
    *,
    remarks: str = "`details`",
) -> FirstScreen:
    """Put a fit into at most 120 words; `model` and `data` are names of files, for the commands to
    run next.

    `remarks` says where the remarks on columns are listed.
    """
    data = data or summary.data.name
    if len(summary.classes) > 2:
        return _several_classes(summary, model, data, remarks)
    name = summary.positive or next(reversed(summary.classes), "the positive class")
    point = summary.operating_points.get(name)
    lines = [_looking_for(summary, name)]
    if summary.positives_only is not None:
        lines.append(
            f"Only {name} is labeled, so how much of what it accepts is {name} can't be measured."
        )
        lines.append(
            f"It takes the labeled rows for a random sample of all {name}; label a few random rows"
            " to check that."
        )
        lines += [
            _accepted(summary, name),
            f"Next: label some rows that it accepts: semisvm predict {model} {data}",
        ]
        return FirstScreen("none", tuple(line for line in lines if line))
    if point is None:
        why = next(
            (
                note
                for note in summary.notes
                if "can't be measured" in note or "was not measured" in note
            ),
            "",
        )
        lines += [why or "How good it is was not measured.", _next("useless", model, data, summary)]
        return FirstScreen("none", tuple(lines))
    useless = _why_useless(summary, name, point)
    status = "useless" if useless else point.status
    if useless:
        lines.insert(0, useless)
    lines += [_found(point, name), _sure(summary, name, point), _accepted(summary, name)]
    lines += [
        _unlabeled(summary, name),
        _many_rows(summary),
        _checks(summary, remarks),
        _next(status, model, data, summary),
    ]
    return FirstScreen(status, tuple(line for line in lines if line))


def _looking_for(summary: FitSummary, name: str) -> str:
    counts = summary.data.class_counts
    n = sum(counts.values())
    if not n:
        return f"Looking for: {name}."
    others = f"; {summary.data.labeled - n:,} more only train" if n < summary.data.labeled else ""
    share = counts.get(name, 0) / n
    rarer = "the rarer class; " if 0 < share < 0.45 else ""
    if share == 1:
        return f"Looking for: {name} (the class of all labels: {counted(n, 'row')})."
    return f"Looking for: {name} ({rarer}{_percent(share)} of {counted(n, 'labeled row')}{others})."


def _why_useless(summary: FitSummary, name: str, point: OperatingPoint) -> str:
    """Say why a model is of no use; "" where it may be."""
    share = point.share_accepted
    positives = point.counts.positives / max(point.counts.rows, 1)
    what = f"label more rows of {name}, or ask for less"
    if math.isinf(point.threshold) or share in (0.0, 1.0):
        accepts = "every row" if point.threshold < 0 or share == 1 else "no row"
        return f"This model is of no use: it accepts {accepts}. To do: {what}."
    if share >= NEARLY_ALL and share >= MUCH_MORE * positives:
        asked = " to find as many as asked" if point.target.min_recall is not None else ""
        return (
            f"This model is of no use: it accepts {_percent(share)} of all rows{asked}. To do:"
            f" {what}."
        )
    sample = summary.scores.get(name)
    if (
        sample is not None
        and sample.level != Evidence.EMPIRICAL
        and not _ranks(np.array(sample.labeled, dtype=float), np.array(sample.sign))
    ):
        return f"This model is of no use: the labels can't tell it from guessing. To do: {what}."
    return ""


def _ranks(scores: np.ndarray, sign: np.ndarray) -> bool:
    """Whether positive rows have higher scores than negative ones, beyond chance (Mann and
    Whitney's test, 5%).
    """
    is_number = np.isfinite(scores)  # rows without a score are stored as empty
    scores = scores[is_number]
    sign = sign[is_number]
    n = int((sign > 0).sum())
    m = int((sign < 0).sum())
    if min(n, m) == 0:
        return True
    auc = float(share_below(scores[sign > 0], scores[sign < 0]).mean())
    return (auc - 0.5) / math.sqrt((n + m + 1) / (12 * n * m)) > 1.64


def _found(point: OperatingPoint, name: str) -> str:
    measured = []
    if math.isfinite(point.precision.value):
        measured.append(f"{_percent(point.precision.value)} of what it accepts is {name}")
    if math.isfinite(point.recall.value):
        measured.append(f"it finds {_percent(point.recall.value)} of all {name}")
    given = ", and ".join(measured) or "nothing else is known"
    asked = []
    if point.target.min_precision is not None:
        asked.append(
            f"at least {_percent(point.target.min_precision)} of what it accepts should be {name}"
        )
    if point.target.min_recall is not None:
        asked.append(f"it should find at least {_percent(point.target.min_recall)} of all {name}")
    if not asked:
        return f"On labels it had not seen: {given}."
    kept = "kept" if point.reached else "NOT KEPT"
    return f"Asked: {' and '.join(asked)}. On your labels: {kept} ({given})."


def _sure(summary: FitSummary, name: str, point: OperatingPoint) -> str:
    if point.status == "certified":
        about = (
            "the rows it was proved on"
            if point.sampling is not None
            else "new rows like the labeled ones"
        )
        return (
            f"This is a promise: it holds for {about} with {_percent(point.confidence)} certainty."
        )
    chance = summary.chances.get(name)
    if not point.target.is_constrained or not point.reached:
        return ""
    if chance is None:
        return "On new rows: there are too few labels to say how likely it is kept."
    if point.status == "reached" and chance >= 0.9:
        return f"On new rows: very likely kept ({_in_ten(chance)})."
    return f"On new rows: kept with a chance of {_in_ten(chance)}."


def _in_ten(chance: float) -> str:
    return (
        "over 95%"
        if chance > 0.95
        else "under 10%"
        if chance < 0.1
        else f"about {round(10 * chance)} in 10"
    )


def _accepted(summary: FitSummary, name: str) -> str:
    sample = summary.scores.get(name)
    if sample is None or not sample.unlabeled or not sample.labeled:
        return ""
    own, other = (
        float(np.mean(np.array(part, dtype=float) > 0))
        for part in (sample.labeled, sample.unlabeled)
    )
    line = f"It accepts {_percent(own)} of the labeled and {_percent(other)} of the unlabeled rows."
    pooled = (own * len(sample.labeled) + other * len(sample.unlabeled)) / (
        len(sample.labeled) + len(sample.unlabeled)
    )
    error = math.sqrt(
        max(pooled * (1 - pooled), 1e-12) * (1 / len(sample.labeled) + 1 / len(sample.unlabeled))
    )
    ratio = max(own, other) / max(min(own, other), 1e-12)
    is_alike_expected = (
        summary.positives_only is None
    )  # labels of one class are unlike the pool by nature
    if is_alike_expected and abs(own - other) > CLEAR_GAP * error and ratio > LARGE_RATIO:
        line += " They differ much: the labeled rows may not be like the others."
    return line


def _unlabeled(summary: FitSummary, name: str) -> str:
    """Say what the unlabeled rows did, beyond the labels with a threshold of their own."""
    if not summary.data.unlabeled:
        return "Every row has a label: it learned from the labels alone."
    if summary.method.name == "supervised" or not changed_by_unlabeled(
        summary.audits.get(name, {})
    ):
        return "The unlabeled rows were not needed."
    chosen = next(
        (
            one
            for one in getattr(summary.comparison, "methods", ())
            if one.name == summary.method.name
        ),
        None,
    )
    if chosen is None:
        return ""
    if chosen.difference.low > 0:
        return "The unlabeled rows improved it."
    return (
        "Whether the unlabeled rows improved it, the labels can't tell."
        if chosen.difference.value > 0
        else ""
    )


def _checks(summary: FitSummary, remarks: str) -> str:
    said = []
    if summary.is_fair_sample is False:
        said.append("Careful: the labeled rows do not look like a random sample of all rows.")
        if REFUSED in summary.notes:
            said.append("No certificate is given. If they are one, say so (`trust_labels`).")
        elif INSISTED in summary.notes:
            said.append("The certificate rests on your word that they are one.")
    said += [note for note in summary.notes if note.startswith(GIVES_AWAY.partition("{")[0])][:1]
    doubtful = [feature.name for feature in summary.data.features if feature.remark]
    doubtful += [name for name, why in summary.data.left_out.items() if LIKE_NUMBERS in why]
    if doubtful:
        said.append(f"Please check {_listed(doubtful)} ({remarks}).")
    return " ".join(said)


def _listed(names: list[str]) -> str:
    if len(names) > 2:
        return f"{len(names)} columns"
    return f"the column{'s' * (len(names) > 1)} {' and '.join(repr(name) for name in names)}"


def _next(status: str, model: str, data: str, summary: FitSummary) -> str:
    """What to do next: `suggest` and `label` need rows without a label, which may be in another
    file.
    """
    if status == "certified":
        return f"Next: semisvm predict {model} NEW.csv"
    has_unlabeled = summary.data.unlabeled > 0
    pool = data if has_unlabeled else "NEW.csv"
    if status in ("useless", "missed"):
        better = f"semisvm suggest {model} {data} (rows worth a label)"
        return f"Next: {better}" if has_unlabeled else "Next: label more rows, and fit again."
    if any(point.target.is_constrained for point in summary.operating_points.values()):
        return f"Next, for a promise: semisvm label {model} {pool} (label rows until it is proved)"
    return f"Next: semisvm predict {model} NEW.csv; to improve it: semisvm suggest {model} {pool}"


def _many_rows(summary: FitSummary) -> str:
    """The sentence of a note on the form of a linear machine, without what follows it."""
    return (
        SAID_OF_MANY_ROWS
        if any(note.startswith(SAID_OF_MANY_ROWS) for note in summary.notes)
        else ""
    )


def _several_classes(summary: FitSummary, model: str, data: str, remarks: str) -> FirstScreen:
    lines = [
        f"Telling apart {len(summary.classes)} classes, {summary.data.labeled:,} labeled rows."
    ]
    missed = [name for name, point in summary.operating_points.items() if not point.reached]
    found = [
        (name, point)
        for name, point in summary.operating_points.items()
        if not math.isnan(point.recall.value)
    ]
    if found:
        worst_name, worst = min(found, key=lambda one: one[1].f_score.value)
        lines.append(
            f"The hardest is {worst_name}: {_percent(worst.precision.value)} of what is called"
            f" {worst_name} is right, and {_percent(worst.recall.value)} of all {worst_name} is"
            " found."
        )
    if any(point.target.is_constrained for point in summary.operating_points.values()):
        kept = (
            f"NOT KEPT for {_listed(missed).replace('column', 'class')}"
            if missed
            else "kept for every class"
        )
        lines.append(f"What was asked is {kept}, on your labels.")
    lines += [_many_rows(summary), _checks(summary, remarks), _next("missed", model, data, summary)]
    return FirstScreen("missed" if missed else "chosen", tuple(line for line in lines if line))


def _percent(share: float) -> str:
    if not math.isfinite(share):
        return "an unknown share"
    if 0 < share < 0.01 or 0.99 < share < 1:
        return f"{100 * share:.1f}%"
    return f"{100 * share:.0f}%"
