"""The first screen of a fit, in the terminal and at the top of the report: at most 120 words, for people who want the
answer and not the method.

    what was asked, and of which class
    whether it is kept on the labels, and how likely it is kept on new rows
    how many rows are accepted, among the labeled and among the unlabeled ones
    what to do next

A model that is of no use says so in its first line. Words of statistics and of this library stay on the pages below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from semisvm.decision import OperatingPoint, changed_by_unlabeled
from semisvm.decision.audit import share_below
from semisvm.errors import counted
from semisvm.tables.columns import LIKE_NUMBERS
from semisvm.tables.summary import FitSummary

NEARLY_ALL = 0.5  # of all rows: a model that accepts as many of them sorts out too little,
MUCH_MORE = 4.0  # if the positive class is so many times rarer
CLEAR_GAP = 3.0  # standard errors between the shares accepted, from which on they are said to differ
LARGE_RATIO = 1.5
SAID_OF_MANY_ROWS = "Many rows: it fits a weighted sum of the columns, in time that grows only with the rows."
REFUSED = (
    "No certificate is given: it would rest on labeled rows that do not look like a random sample. If you know that "
    "they are one, say so (`trust_labels`)."
)
INSISTED = (
    "The certificate was asked for all the same. It rests on your word that the labeled rows are a random sample of "
    "the pool, which the check contradicts."
)


@dataclass(frozen=True)
class FirstScreen:
    """What a person reads first: `status` is that of the target, or "useless"; `lines` are sentences."""

    status: str
    lines: tuple[str, ...]


def first_screen(
    summary: FitSummary, model: str = "MODEL", data: str | None = None, *, remarks: str = "`details`"
) -> FirstScreen:
    """Put a fit into at most 120 words; `model` and `data` are names of files, for the commands to run next.

    `remarks` says where the remarks on columns are listed.
    """
    data = data or summary.data.name
    if len(summary.classes) > 2:
        return _several_classes(summary, model, data, remarks)
    name = summary.positive or next(reversed(summary.classes), "the positive class")
    point = summary.operating_points.get(name)
    lines = [_looking_for(summary, name)]
    if summary.positives_only is not None:
        lines.append(f"Only {name} is labeled, so how much of what it accepts is {name} can't be measured.")
        lines.append(
            f"It takes the labeled rows for a random sample of all {name}; label a few random rows to check that."
        )
        lines += [_accepted(summary, name), f"Next: label some rows that it accepts: semisvm predict {model} {data}"]
        return FirstScreen("none", tuple(line for line in lines if line))
    if point is None:
        why = next((note for note in summary.notes if "can't be measured" in note or "was not measured" in note), "")
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
    share, positives = point.share_accepted, point.counts.positives / max(point.counts.rows, 1)
    what = f"label more rows of {name}, or ask for less"
    if math.isinf(point.threshold) or share in (0.0, 1.0):
        accepts = "every row" if point.threshold < 0 or share == 1 else "no row"
        return f"This model is of no use: it accepts {accepts}. To do: {what}."
    if share >= NEARLY_ALL and share >= MUCH_MORE * positives:
        asked = " to find as many as asked" if point.target.min_recall is not None else ""
        return f"This model is of no use: it accepts {_percent(share)} of all rows{asked}. To do: {what}."
    sample = summary.scores.get(name)
    if (
        sample is not None
        and sample.level != "empirical"
        and not _ranks(np.array(sample.labeled, dtype=float), np.array(sample.sign))
    ):
        return f"This model is of no use: the labels can't tell it from guessing. To do: {what}."
    return ""


def _ranks(scores: np.ndarray, sign: np.ndarray) -> bool:
    """Whether positive rows have higher scores than negative ones, beyond chance (Mann and Whitney's test, 5%)."""
    is_number = np.isfinite(scores)  # rows without a score are stored as empty
    scores, sign = scores[is_number], sign[is_number]
    n, m = int((sign > 0).sum()), int((sign < 0).sum())
    if min(n, m) == 0:
        return True
    auc = float(share_below(scores[sign > 0], scores[sign < 0]).mean())
    return (auc - 0.5) / math.sqrt((n + m + 1) / (12 * n * m)) > 1.64


def _found(point: OperatingPoint, name: str) -> str:
    right, found = _percent(point.precision.value), _percent(point.recall.value)
    given = f"{right} of what it accepts is {name}, and it finds {found} of all {name}"
    asked = []
    if point.target.min_precision is not None:
        asked.append(f"at least {_percent(point.target.min_precision)} of what it accepts should be {name}")
    if point.target.min_recall is not None:
        asked.append(f"it should find at least {_percent(point.target.min_recall)} of all {name}")
    if not asked:
        return f"On labels it had not seen: {given}."
    kept = "kept" if point.reached else "NOT KEPT"
    return f"Asked: {' and '.join(asked)}. On your labels: {kept} ({given})."


def _sure(summary: FitSummary, name: str, point: OperatingPoint) -> str:
    if point.status == "certified":
        about = "the rows it was proved on" if point.sampling is not None else "new rows like the labeled ones"
        return f"This is a promise: it holds for {about} with {_percent(point.confidence)} certainty."
    chance = summary.chances.get(name)
    if not point.target.is_constrained or not point.reached:
        return ""
    if chance is None:
        return "On new rows: there are too few labels to say how likely it is kept."
    if point.status == "reached" and chance >= 0.9:
        return f"On new rows: very likely kept ({_in_ten(chance)})."
    return f"On new rows: kept with a chance of {_in_ten(chance)}."


def _in_ten(chance: float) -> str:
    return "over 95%" if chance > 0.95 else "under 10%" if chance < 0.1 else f"about {round(10 * chance)} in 10"


def _accepted(summary: FitSummary, name: str) -> str:
    sample = summary.scores.get(name)
    if sample is None or not sample.unlabeled or not sample.labeled:
        return ""
    own, other = (float(np.mean(np.array(part, dtype=float) > 0)) for part in (sample.labeled, sample.unlabeled))
    line = f"It accepts {_percent(own)} of the labeled and {_percent(other)} of the unlabeled rows."
    pooled = (own * len(sample.labeled) + other * len(sample.unlabeled)) / (len(sample.labeled) + len(sample.unlabeled))
    error = math.sqrt(max(pooled * (1 - pooled), 1e-12) * (1 / len(sample.labeled) + 1 / len(sample.unlabeled)))
    ratio = max(own, other) / max(min(own, other), 1e-12)
    is_alike_expected = summary.positives_only is None  # labels of one class are unlike the pool by nature
    if is_alike_expected and abs(own - other) > CLEAR_GAP * error and ratio > LARGE_RATIO:
        line += " They differ much: the labeled rows may not be like the others."
    return line


def _unlabeled(summary: FitSummary, name: str) -> str:
    """Say what the unlabeled rows did, beyond the labels with a threshold of their own."""
    if not summary.data.unlabeled:
        return "Every row has a label: it learned from the labels alone."
    if summary.method.name == "supervised" or not changed_by_unlabeled(summary.audits.get(name, {})):
        return "The unlabeled rows were not needed."
    chosen = next((one for one in getattr(summary.comparison, "methods", ()) if one.name == summary.method.name), None)
    if chosen is None:
        return ""
    if chosen.difference.low > 0:
        return "The unlabeled rows improved it."
    return "Whether the unlabeled rows improved it, the labels can't tell." if chosen.difference.value > 0 else ""


def _checks(summary: FitSummary, remarks: str) -> str:
    said = []
    if summary.is_fair_sample is False:
        said.append("Careful: the labeled rows do not look like a random sample of all rows.")
        if REFUSED in summary.notes:
            said.append("No certificate is given. If they are one, say so (`trust_labels`).")
        elif INSISTED in summary.notes:
            said.append("The certificate rests on your word that they are one.")
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
    """What to do next: `suggest` and `label` need rows without a label, which may be in another file."""
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
    return SAID_OF_MANY_ROWS if any(note.startswith(SAID_OF_MANY_ROWS) for note in summary.notes) else ""


def _several_classes(summary: FitSummary, model: str, data: str, remarks: str) -> FirstScreen:
    lines = [f"Telling apart {len(summary.classes)} classes, {summary.data.labeled:,} labeled rows."]
    missed = [name for name, point in summary.operating_points.items() if not point.reached]
    found = [(name, point) for name, point in summary.operating_points.items() if not math.isnan(point.recall.value)]
    if found:
        worst_name, worst = min(found, key=lambda one: one[1].f_score.value)
        lines.append(
            f"The hardest is {worst_name}: {_percent(worst.precision.value)} of what is called {worst_name} is right, "
            f"and {_percent(worst.recall.value)} of all {worst_name} is found."
        )
    if any(point.target.is_constrained for point in summary.operating_points.values()):
        kept = f"NOT KEPT for {_listed(missed).replace('column', 'class')}" if missed else "kept for every class"
        lines.append(f"What was asked is {kept}, on your labels.")
    lines += [_many_rows(summary), _checks(summary, remarks), _next("missed", model, data, summary)]
    return FirstScreen("missed" if missed else "chosen", tuple(line for line in lines if line))


def _percent(share: float) -> str:
    if not math.isfinite(share):
        return "an unknown share"
    if 0 < share < 0.01 or 0.99 < share < 1:
        return f"{100 * share:.1f}%"
    return f"{100 * share:.0f}%"
