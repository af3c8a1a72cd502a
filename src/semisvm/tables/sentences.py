"""The sentences and numbers that people read, in the terminal, the report and notebooks.

The outcome for a target is `OperatingPoint.status`; here it is put into words. A number that is
undefined (NaN) is said to be unknown.

The first screen is the result in at most 120 words, for people who are not interested in the
method: the target, whether it is reached on the labels, how likely on new rows, how many rows are
accepted, what to do next. If the model is of no use, its first line says so.

Where only positives are labeled, the assumption comes first and no precision is claimed: recall and
lift are measured; the share of positives among the unlabeled rows, the prior, has an upper bound.
Precision is the prior times the lift: it is listed for several priors, and claimed for none that
the user did not give.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import mannwhitneyu

from semisvm import html
from semisvm.columns.kinds import LIKE_NUMBERS
from semisvm.decision import Estimate, Evidence, OperatingPoint
from semisvm.decision.audit import (
    SUPERVISED,
    SUPERVISED_THRESHOLD,
    WITH_UNLABELED,
    changed_by_unlabeled,
)
from semisvm.decision.target import f_name
from semisvm.errors import counted
from semisvm.tables.column_checks import GIVES_AWAY, shares_differ
from semisvm.tables.summary import Comparison, FitSummary

# ---- numbers ----

NOT_KNOWN = "not known"
MINUS = "\N{MINUS SIGN}"


def rate(value: float | None, sign: str = "") -> str:
    """Return a share to three places; with `sign` "+", a difference of shares."""
    if value is None or not math.isfinite(value):
        return NOT_KNOWN
    return f"{value:{sign}.3f}".replace("-", MINUS)


def interval(estimate: Estimate, sign: str = "") -> str:
    """Return the interval of an estimate, or nothing."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return ""
    return f"{rate(estimate.low, sign)} to {rate(estimate.high, sign)}"


def with_interval(estimate: Estimate, sign: str = "") -> str:
    """Return a value and its interval, for a table."""
    ends = interval(estimate, sign)
    return rate(estimate.value, sign) + (f" ({ends})" if ends else "")


def signed(value: float) -> str:
    """Return a score or a threshold to four figures, with a real minus sign."""
    if math.isinf(value):
        return "accept none" if value > 0 else "accept all"
    return NOT_KNOWN if math.isnan(value) else f"{value:.4g}".replace("-", MINUS)


def whole(value: float | None) -> str:
    """Return a whole number with separated thousands."""
    return NOT_KNOWN if value is None else f"{value:,.0f}"


def percent(share: float) -> str:
    """Return a share that was given, such as a confidence, as people say it: 90%."""
    return f"{100 * share:.4g}%"


def rounded_percent(share: float) -> str:
    """Return a share that was measured, in whole percent except near 0 and 1."""
    if not math.isfinite(share):
        return "an unknown share"
    is_near_an_end = 0 < share < 0.01 or 0.99 < share < 1
    return f"{100 * share:.{int(is_near_an_end)}f}%"


def rule(threshold: float) -> str:
    """Say what a threshold does."""
    if math.isinf(threshold):
        return "accepts every row" if threshold < 0 else "accepts no row"
    return f"accepts a row when its score is above {signed(threshold)}"


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


# ---- the verdict on one operating point ----

HEADLINES = {
    "certified": "Certified: {}.",
    "reached": "Reached: {}.",
    "unproven": "Reached on the labeled rows, not proven: {}.",
    "missed": "Not reached: {}.",
    "chosen": "The threshold was chosen for: {}.",
}
CERTIFY_BY_SAMPLING = (
    "For a promise, certify by sampling: semisvm certify start, or model.campaign(...) in Python."
    " It draws rows at random, asks for their labels, and estimates beforehand how many it takes."
)
IMPROVE = (
    "To improve the model, label the rows that semisvm suggest lists and fit again. These rows are"
    " not a random sample, so they prove nothing."
)
ASSUMED = (
    "All of this assumes that the labeled positives are a random sample of all positives. If mainly"
    " easy positives were labeled, the recall is lower than reported here."
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


class Verdict(NamedTuple):
    """The finding for one class, in words."""

    status: str  # `OperatingPoint.status`, or "none" where there is no operating point
    headline: str  # the target and the outcome
    sentence: str  # the reason or the evidence
    basis: str = ""  # what the threshold does, and which rows it was measured on
    advice: str = ""  # what to do; empty where nothing has to be done


def verdict(point: OperatingPoint | None) -> Verdict:
    """Put an operating point into words."""
    if point is None:
        stored = "No operating point was stored with this model."
        return Verdict("none", "Nothing was measured.", stored)
    status = point.status
    is_uncertified = status == "missed" and point.level.is_promise
    headline = "Not certified: {}." if is_uncertified else HEADLINES[status]
    caution = "" if point.level.is_promise else point.caution
    known = point.positive_unlabeled
    if known is not None:
        positives = counted(known.counts.positives, "labeled positive")
        rows = f"{positives} and {counted(known.counts.unlabeled, 'unlabeled row')}"
        return Verdict(
            status,
            headline.format(point.asked[:1].lower() + point.asked[1:]),
            f"{ASSUMED} {point.reason}".strip(),
            f"Measured on {rows}. {point.caution}",
            f"{CHECK} {PROVE}",
        )
    sentence = point.reason
    advice = f"{CERTIFY_BY_SAMPLING} {IMPROVE}" if is_uncertified else ""
    if status == "certified":
        sentence = point.caution
    elif status == "reached":
        sentence = f"The whole {percent(point.confidence)} interval is at or above the target."
    elif status == "unproven":
        sentence = " ".join([*_doubts(point), point.reason]).strip()
        advice = f"{CERTIFY_BY_SAMPLING} {IMPROVE}"
    n_rows = point.counts.rows if point.sampling is None else point.sampling.n_labels
    measured = f"Measured on {counted(n_rows, 'labeled row')}. {caution}".strip()
    basis = f"The model {rule(point.threshold)}. {measured}"
    return Verdict(status, headline.format(point.target), sentence, basis, advice)


def _doubts(point: OperatingPoint) -> list[str]:
    """Return a sentence for each measure in doubt."""
    asked = {
        "precision": (point.target.min_precision, point.precision),
        "recall": (point.target.min_recall, point.recall),
    }
    return [
        f"The {percent(point.confidence)} interval of {name} starts at {rate(estimate.low)}, below"
        f" {least:.3g}: the labels can't rule out a miss."
        for name, (least, estimate) in asked.items()
        if least is not None and estimate.low < least
    ]


# ---- figures ----

SHARES_OF_BOUND = (0.1, 0.25, 0.5, 0.75, 1.0)  # priors that are listed where a bound is known
SUPPOSED_PRIORS = (0.001, 0.01, 0.05, 0.1, 0.25)  # and where none is


class Figure(NamedTuple):
    """One number as people read it: its name, value and interval, its target, its meaning."""

    label: str
    value: str
    meaning: str
    interval: str = ""
    asked: str = ""


def figures(point: OperatingPoint | None, name: str = "") -> list[Figure]:
    """Return the numbers of an operating point that are known."""
    if point is None:
        return []
    what = f"“{name}”" if name else "positive"
    target = point.target
    precision = f"of the accepted rows, the share that is {what}"
    recall = f"of all rows that are {what}, the share that is accepted"
    known = point.positive_unlabeled
    if known is None:
        shown = [
            _figure("Precision", point.precision, precision, target.min_precision),
            _figure("Recall", point.recall, recall, target.min_recall),
            _figure(
                f_name(target.beta),
                point.f_score,
                "precision and recall in one number",
                target.min_f,
            ),
        ]
        if point.cost is not None:
            shown.append(_figure("Cost", point.cost, "expected cost per row"))
        if math.isfinite(point.share_accepted):
            rows = "labeled rows" if point.sampling is None else "rows of the pool"
            share = f"{point.share_accepted:.1%}"
            shown.append(Figure("Accepted", share, f"of the {rows} are predicted as {what}"))
        return [figure for figure in shown if figure is not None]
    is_promised = point.level.is_promise
    lift = f"how many times richer in {what} the accepted rows are than the pool"
    shown = [
        _figure("Recall", point.recall, recall, target.min_recall, is_promised),
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
    is_promised: bool = False,
) -> Figure | None:
    """Return an estimate as a figure, None if unknown; of a promise only its lower end."""
    asked = "" if least is None else f"target: at least {least:.3g}"
    if is_promised:
        return Figure(label, f"at least {rate(estimate.low)}", meaning, asked=asked)
    if not math.isfinite(estimate.value):
        return None
    return Figure(label, rate(estimate.value), meaning, interval(estimate), asked)


def precisions_by_prior(point: OperatingPoint) -> list[tuple[str, str]]:
    """Return (prior, precision) where only positives are labeled."""
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


def labels_left(line: Mapping[str, Any]) -> str:
    """The number of labels that a threshold of a campaign still takes."""
    if line["is_known"] is not None:
        return "known to be good" if line["is_known"] else "known to miss"
    if line["is_certified"]:
        return "certified"
    if line["forecast"] == 0:
        return "accepted already"
    return "not in sight" if line["forecast"] is None else f"{line['forecast']:,} more"


def comparison_table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return titles and cells: every method with its gain over the baseline."""
    titles = [
        "method",
        f"{comparison.measure} (90% interval)",
        f"gain over {comparison.baseline}",
        "seconds",
        "",
    ]
    rows = []
    for method in comparison.methods:
        is_baseline = method.name == comparison.baseline
        remarks = ["chosen"] if method.name == comparison.chosen else []
        remarks += [] if method.reaches_target else ["target not reached"]
        rows.append(
            [
                method.name,
                with_interval(comparison.shown(method)),
                "the baseline" if is_baseline else with_interval(method.difference, "+"),
                f"{method.seconds:.1f}",
                ", ".join(remarks),
            ]
        )
    return titles, rows


def left_out_of(comparison: Comparison) -> list[str]:
    """Return a sentence on each method that was not compared."""
    return [f"{name} was left out: {why}" for name, why in comparison.left_out.items()]


def comparison_text(comparison: Comparison) -> str:
    """Return a comparison as plain text, without the seconds, which differ."""
    titles, rows = comparison_table(comparison)
    columns = [column for column in zip(titles, *rows, strict=True) if column[0] != "seconds"]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    ]
    return "\n".join([*lines, *left_out_of(comparison), comparison.verdict])


STEP_NAMES = {
    SUPERVISED: "Supervised, threshold 0",
    SUPERVISED_THRESHOLD: "Supervised + threshold",
    WITH_UNLABELED: "+ unlabeled rows",
}


# ---- notes that a fit adds ----

UNUSED = (
    "The unlabeled rows were tried and are not used: the held-out labels do not show that they"
    " help. The model uses the labels and the threshold only."
)
ABOVE = (
    "The target applies to the rows above the operating point of a class. A row that is above"
    " several counts for each of them, but gets one label. A row that is above none still gets the"
    " label of the nearest class: the column 'above' of the predictions marks them."
)
LABELS_FOR_PROMISE = (
    "For a promise instead of an estimate ({}), label about {} rows drawn at random until it is"
    " proved (semisvm label, or campaign() in Python)."
)
NO_CERTIFICATE = (
    "A promise ({}) is out of reach for this model: improve it first. Label the rows that semisvm"
    " suggest lists, and fit again."
)
SEEN = (
    "The model seems to have been fitted to this file: these figures are too optimistic. Evaluate"
    " on other rows."
)
REFUSED = (
    "No certificate is given, because the labeled rows do not look like a random sample. If you"
    " know that they are one, set `trust_labels`."
)
SAME_SCORES = (
    "Out-of-fold scores are the same for all rows, up to rounding: the model assigns every row to"
    " the more frequent class. Tune the parameters, raise C, or set costs of errors."
)
INSISTED = (
    "The certificate is only valid if the labeled rows are a random sample of the pool, as you say"
    " (`trust_labels`). The check contradicts this."
)


# ---- the first screen ----

NEARLY_ALL = 0.5  # of all rows: a model that accepts as many of them sorts out too little,
MUCH_MORE = 4.0  # if the positive class is so many times rarer
NEARLY_EVERY = 0.95  # of the unlabeled rows, where only positives are labeled


@dataclass(frozen=True)
class FirstScreen:
    """What a person reads first: the status, which may be "useless", and sentences."""

    status: str
    lines: tuple[str, ...]

    @property
    def is_useless(self) -> bool:
        """Whether the model is of no use."""
        return self.status == "useless"


def first_screen(
    summary: FitSummary,
    model: str | None = "MODEL",
    data: str | None = None,
    *,
    remarks: str = "`details`",
) -> FirstScreen:
    """Put a fit into at most 120 words; `model` and `data` are names of files, for the commands to
    run next. Without a model file, None, the next step is one in Python.

    `remarks` says where the remarks on columns are listed.
    """
    data = data or summary.data.name
    name = summary.positive or next(reversed(summary.classes), "the positive class")
    point = summary.operating_points.get(name)
    if len(summary.classes) > 2:
        missed = [label for label, each in summary.operating_points.items() if not each.reached]
        status = "missed" if missed else "chosen"
        lines = _several_classes(summary, missed)
        next_step = _next("missed", model, data, summary)
    elif summary.positives_only is not None:
        useless = _why_useless_alone(summary, name)
        status = "useless" if useless else "none"
        lines = [
            useless,
            _looking_for(summary, name),
            f"Only {name} is labeled, so how much of what it accepts is {name} can't be measured.",
            f"It assumes that the labeled rows are a random sample of all {name}; label a few"
            " random rows to check this.",
            _accepted(summary, name),
        ]
        how = "model.predict(X)" if model is None else f"semisvm predict {model} {data}"
        next_step = f"Next: label some rows that it accepts: {how}"
    elif point is None:
        status = "none"
        reasons = [
            note
            for note in summary.notes
            if "can't be measured" in note or "was not measured" in note
        ]
        lines = [_looking_for(summary, name), *reasons[:1]]
        lines += [] if reasons else ["How good it is was not measured."]
        next_step = _next("useless", model, data, summary)
    else:
        useless = _why_useless(summary, name, point)
        status = "useless" if useless else point.status
        lines = [
            useless,
            _looking_for(summary, name),
            _found(point, name),
            _sure(summary, name, point),
            _accepted(summary, name),
            _unlabeled(summary, name, point),
        ]
        next_step = _next(status, model, data, summary)
    if summary.positives_only is None and (point is not None or len(summary.classes) > 2):
        lines.append(_checks(summary, remarks))
    return FirstScreen(status, tuple(line for line in [*lines, next_step] if line))


def _looking_for(summary: FitSummary, name: str) -> str:
    counts = summary.data.class_counts
    n = sum(counts.values())
    if not n:
        return f"Looking for: {name}."
    share = counts.get(name, 0) / n
    if share == 1:
        return f"Looking for: {name} (the only class with labels: {counted(n, 'row')})."
    rarer = "the rarer class; " if 0 < share < 0.45 else ""
    more = summary.data.labeled - n
    others = f"; {more:,} more are used for training only" if more > 0 else ""
    rows = f"{rounded_percent(share)} of {counted(n, 'labeled row')}"
    return f"Looking for: {name} ({rarer}{rows}{others})."


def _why_useless(summary: FitSummary, name: str, point: OperatingPoint) -> str:
    """Say why a model is of no use; "" where it may be."""
    share = point.share_accepted
    positives = point.counts.positives / max(point.counts.rows, 1)
    sample = summary.scores.get(name)
    if math.isinf(point.threshold) or share in (0.0, 1.0):
        accepts_all = point.threshold < 0 or share == 1
        why = f"it accepts {'every row' if accepts_all else 'no row'}"
    elif share >= NEARLY_ALL and share >= MUCH_MORE * positives:
        asked = " to reach the minimum recall" if point.target.min_recall is not None else ""
        why = f"it accepts {rounded_percent(share)} of all rows{asked}"
    elif sample is not None and sample.level != Evidence.EMPIRICAL and not _ranks(*sample.judged):
        why = "the labels do not show that it is better than guessing"
    elif SAME_SCORES in summary.notes:
        why = "it gives all rows the same score, up to rounding"
    else:
        return ""
    remedy = f"label more rows of {name}, or lower the target"
    return f"This model is of no use: {why}. To do: {remedy}."


def _why_useless_alone(summary: FitSummary, name: str) -> str:
    """Say why a model of labeled positives alone is of no use; "" where it may be."""
    sample = summary.scores.get(name)
    pool = np.array([] if sample is None else sample.unlabeled, dtype=float)
    share = float(np.mean(pool > 0)) if len(pool) else 0.0
    if share < NEARLY_EVERY:
        return ""
    return (
        f"This model is of no use: it accepts {rounded_percent(share)} of the unlabeled rows. To"
        f" do: label some rows that are not {name}, or add columns that separate them."
    )


def _ranks(scores: np.ndarray, sign: np.ndarray) -> bool:
    """Whether positive rows have higher scores than negative ones, beyond chance."""
    positives = scores[sign > 0]
    negatives = scores[sign < 0]
    if min(len(positives), len(negatives)) == 0:
        return True
    test = mannwhitneyu(
        positives, negatives, alternative="greater", method="asymptotic", use_continuity=False
    )
    return bool(test.pvalue < 0.05)


def _found(point: OperatingPoint, name: str) -> str:
    measured = []
    if math.isfinite(point.precision.value):
        measured.append(f"{rounded_percent(point.precision.value)} of what it accepts is {name}")
    if math.isfinite(point.recall.value):
        measured.append(f"it finds {rounded_percent(point.recall.value)} of all {name}")
    given = ", and ".join(measured) or "nothing else is known"
    asked = []
    target = point.target
    if target.min_precision is not None:
        share = percent(target.min_precision)
        asked.append(f"at least {share} of what it accepts is {name}")
    if target.min_recall is not None:
        asked.append(f"it finds at least {percent(target.min_recall)} of all {name}")
    if not asked:
        rows = "the given labels" if point.level == Evidence.EMPIRICAL else "held-out labels"
        return f"On {rows}: {given}."
    met = "met" if point.reached else _not_met(point)
    return f"Target: {' and '.join(asked)}. On your labels: {met} ({given})."


def _not_met(point: OperatingPoint) -> str:
    """Say that a target is not reached; one that was to be certified may be met all the same."""
    return "NOT PROVED" if point.level.is_promise else "NOT MET"


def _sure(summary: FitSummary, name: str, point: OperatingPoint) -> str:
    if point.status == "certified":
        about = "new rows like the labeled ones"
        limits = " It is valid for one fit: the best of several fits is not covered."
        if point.sampling is not None:
            about = "the rows it was proved on"
            limits = ""
        confidence = f"{percent(point.confidence)} confidence"
        return f"This is a promise: it holds for {about} with {confidence}.{limits}"
    is_of_fit = point.level != Evidence.EMPIRICAL
    if not (point.target.is_constrained and point.reached and is_of_fit):
        return ""
    chance = summary.chances.get(name)
    if chance is None:
        return "On new rows: there are too few labels to say how likely it is met."
    in_ten = f"about {min(round(10 * chance), 9)} in 10"
    if chance < 0.1:
        in_ten = "under 10%"
    elif chance > 0.95:
        in_ten = "over 95%"
    if point.status == "reached" and chance >= 0.9:
        return f"On new rows: very likely met ({in_ten})."
    return f"On new rows: met with a probability of {in_ten}."


def _accepted(summary: FitSummary, name: str) -> str:
    sample = summary.scores.get(name)
    if sample is None or not sample.unlabeled or not sample.labeled:
        return ""
    labeled, unlabeled = (
        float(np.mean(np.array(part, dtype=float) > 0))
        for part in (sample.labeled, sample.unlabeled)
    )
    line = (
        f"It accepts {rounded_percent(labeled)} of the labeled and {rounded_percent(unlabeled)} of"
        " the unlabeled rows."
    )
    is_of_both = len(set(sample.sign)) > 1  # labels of one class are unlike the pool by nature
    sizes = len(sample.labeled), len(sample.unlabeled)
    if is_of_both and shares_differ((labeled, unlabeled), sizes):
        line += " These shares differ a lot: the labeled rows may be unlike the others."
    return line


def _unlabeled(summary: FitSummary, name: str, point: OperatingPoint) -> str:
    """Say what the unlabeled rows contributed."""
    if not summary.data.unlabeled:
        is_of_fit = point.level != Evidence.EMPIRICAL
        said = "Every row has a label, so there were no unlabeled rows to learn from."
        return said if is_of_fit else ""
    method = summary.method.name
    if method == "supervised":
        return "It learned from the labels alone."
    audit = summary.audits.get(name, {})
    if not audit:
        return ""
    if not changed_by_unlabeled(audit):
        return "The unlabeled rows were not needed."
    compared = () if summary.comparison is None else summary.comparison.methods
    gains = [result.difference for result in compared if result.name == method]
    if not gains or gains[0].value <= 0:
        return ""
    if gains[0].low > 0:
        return "The unlabeled rows improved it."
    return "The labels do not show whether the unlabeled rows improved it."


def _checks(summary: FitSummary, remarks: str) -> str:
    said = []
    if summary.is_fair_sample is False:
        said.append("Careful: the labeled rows do not look like a random sample of all rows.")
        if REFUSED in summary.notes:
            said.append("No certificate is given. If they are one, set `trust_labels`.")
        elif INSISTED in summary.notes:
            said.append("The certificate is only valid if they are one.")
    said += [SEEN for note in summary.notes if note.startswith(SEEN)]
    said += [note for note in summary.notes if note.startswith(GIVES_AWAY.partition("{")[0])][:1]
    doubtful = [feature.name for feature in summary.data.features if feature.remark]
    doubtful += [name for name, why in summary.data.left_out.items() if LIKE_NUMBERS in why]
    if doubtful:
        said.append(f"Please check {_listed(doubtful, 'column', 'columns')} ({remarks}).")
    return " ".join(said)


def _listed(names: list[str], singular: str, plural: str) -> str:
    if len(names) > 2:
        return f"{len(names)} {plural}"
    return f"the {singular if len(names) == 1 else plural} {' and '.join(map(repr, names))}"


def _next(status: str, model: str | None, data: str, summary: FitSummary) -> str:
    """Say what to do next; `suggest` and `label` need rows without a label."""
    has_unlabeled = summary.data.unlabeled > 0
    pool = data if has_unlabeled else "NEW.csv"
    predict = f"semisvm predict {model} NEW.csv"
    suggest = f"semisvm suggest {model} {pool}"
    label = f"semisvm label {model} {pool}"
    if model is None:
        predict = "model.predict(X_new)"
        suggest = "label the rows with scores nearest to 0, and fit again"
        label = "semisvm.Campaign"
    if status == "certified":
        return f"Next: {predict}"
    if status in ("useless", "missed"):
        if not has_unlabeled:
            return "Next: label more rows, and fit again."
        return f"Next: {suggest}" + ("" if model is None else " (rows to label next)")
    if any(point.target.is_constrained for point in summary.operating_points.values()):
        return f"Next, for a promise: {label} (label rows until it is proved)"
    return f"Next: {predict}; to improve it: {suggest}"


def _several_classes(summary: FitSummary, missed: list[str]) -> list[str]:
    labeled = f"{summary.data.labeled:,} labeled rows"
    lines = [f"{len(summary.classes)} classes, {labeled}."]
    points = summary.operating_points
    measured = [name for name, point in points.items() if not math.isnan(point.recall.value)]
    if measured:
        hardest = min(measured, key=lambda name: points[name].f_score.value)
        precision = rounded_percent(points[hardest].precision.value)
        recall = rounded_percent(points[hardest].recall.value)
        lines.append(
            f"The hardest class is {hardest}: {precision} of the rows predicted as {hardest} are"
            f" right, and {recall} of all {hardest} are found."
        )
    if any(point.target.is_constrained for point in points.values()):
        met = "met for every class"
        if missed:
            met = f"{_not_met(points[missed[0]])} for {_listed(missed, 'class', 'classes')}"
        lines.append(f"On your labels, the target is {met}.")
    return lines


# ---- in notebooks ----

TONES: dict[str, html.Tone] = {
    "certified": "good",
    "reached": "good",
    "missed": "bad",
    "useless": "bad",
}


def summary_html(summary: FitSummary) -> str:
    """Return a fit as HTML: the first screen, and precision and recall with their intervals."""
    first = first_screen(summary)
    headline, *lines = first.lines
    point = summary.operating_points.get(summary.positive or "")
    drawing = ""
    if point is not None:
        precision = html.IntervalLine("precision", *point.precision, point.target.min_precision)
        recall = html.IntervalLine("recall", *point.recall, point.target.min_recall)
        drawing = html.interval_chart([precision, recall])
    elif summary.operating_points:
        rows = [
            [str(label), *map(with_interval, (each.precision, each.recall))]
            for label, each in summary.operating_points.items()
        ]
        drawing = html.table(["class", "precision (90%)", "recall"], rows)
    return html.card(headline, lines, drawing, tone=TONES.get(first.status, ""))


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison as HTML: every method with its gain, and the verdict."""
    titles, rows = comparison_table(comparison)
    chosen = [k for k, method in enumerate(comparison.methods) if method.name == comparison.chosen]
    return html.card(
        f"Chosen: {comparison.chosen}",
        [comparison.verdict, *left_out_of(comparison)],
        html.table(titles, rows, chosen),
    )
