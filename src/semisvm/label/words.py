"""A verdict in sentences: one line of where the labeling stands, and one of what is promised."""

from __future__ import annotations

from semisvm.errors import counted
from semisvm.label.job import LabelingJob, LabelingStatus


def percent(share: float) -> str:
    """A share as it was asked for: "90%", "97.5%"."""
    return f"{100 * share:.6g}%"


def verdict_line(v: LabelingStatus) -> str:
    """Where the labeling stands, and what more labels would bring."""
    labels = counted(v.n_labels, "label")
    if v.promise == "none":
        return f"{labels}. Add them to the data (semisvm finish) and fit again."
    if v.is_useless:
        return f"{labels}: not worth it. {useless(v)}"
    line = f"{labels}: {counted(v.n_free, 'row')} that nobody has to look at"
    if v.stop:
        return f"{line}. {v.stop}"
    if v.next_labels and v.next_free is not None and v.next_free > v.n_free:
        return f"{line}; {counted(v.next_labels, 'more label')}: about {v.next_free:,}."
    return f"{line}."


def useless(v: LabelingStatus) -> str:
    """Why labels were not worth it."""
    if v.promise == "error":
        return f"A person would have to label {1 - v.n_free / v.n_pool:.0%} of the rows."
    return f"{counted(v.n_labels, 'label')} for {counted(v.n_free, 'row')}."


def promise_line(v: LabelingStatus, job: LabelingJob) -> str:
    """What is promised, in one sentence; before that, what is wanted."""
    if v.promise == "none":
        return "Nothing is promised: the rows were chosen to improve the model."
    sure, level = percent(v.confidence), percent(v.level)
    start, free = f"With probability {sure}", f"{v.n_free:,} rows"
    if not v.n_free:
        start, free = f"Nothing is proved yet. Wanted: with probability {sure}", "rows"
    if v.promise == "error":
        most = int(v.level * v.n_pool + 1e-9)
        return (
            f"{start}, at most {most:,} of all {v.n_pool:,} labels ({level}) are wrong once people"
            f" have labeled the {v.n_left:,} rows that are left."
        )
    if v.promise == "recall":
        return (
            f"{start}, at most {percent(1 - v.level)} of all {job.positive!r} rows are among the"
            f" {free} that the machine rejected: nobody has to read these."
        )
    what = f"are {job.positive!r}" if job.given is None else "have the right label"
    return (
        f"{start}, at least {level} of the {free} that the machine accepted and nobody looked at"
        f" {what}."
    )


def wanted(job: LabelingJob) -> str:
    """What a job wants, in a few words."""
    if job.promise == "none":
        return "rows to improve the model"
    what = f"{job.promise} at least {job.level:g}"
    if job.promise == "error":
        what = f"at most {percent(job.level)} of all labels wrong"
    budget = f", budget {job.budget:,}" if job.budget else ""
    return f"{what}, with probability {percent(job.confidence)}{budget}"


def finished(counts: dict[str, int], v: LabelingStatus, job: LabelingJob, out: str) -> str:
    """What `finish` wrote, and what is promised."""
    by = {"file": "before", "person": "by people", "machine": "by the machine"}
    parts = [f"{n:,} {by.get(who, 'by nobody')}" for who, n in counts.items() if n]
    rows = counted(sum(counts.values()), "row")
    lines = [f"{out}: {rows}, labeled: {', '.join(parts)}.", promise_line(v, job)]
    if v.is_useless:
        lines.append(f"It was not worth it: {useless(v)}")
    return "\n".join(lines)
