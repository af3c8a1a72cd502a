"""From numbers to verdicts: the fixed vocabulary, and the arithmetic behind each word.

    reproduced    within the tolerance of the reference
    close         within twice the tolerance
    differs       further away, or above a hard bound
    measured      run, with nothing to judge it against
    not runnable  this version, or this machine without the data, can't run it: the reason follows
    pending       not run yet

The tolerance depends on the reference's kind:

    mean        the published standard deviation, or 0.02 where that is smaller or missing
    tolerance   the reference's own, around our mean; median: around our median
    sampled     three standard errors of the difference between two means, theirs and ours
    draw        a single published draw has no spread, but ours has. Reproduced: the draw lies
                inside our 10-90% range, or within 0.02 of our median. Close: within 0.02 of the
                range, or within 0.04 of the median.
    above       a claim "ours is above the value". Reproduced: by more than two standard errors.
                Close: within two standard errors on either side, so undecided. Differs: below by
                more than that.
    at least, at most   reproduced inside the bound, else differs

A verdict is *firm* if it would be the same with a tolerance that is a third smaller: rounding on
another machine moves a mean by much less, so it can't change the verdict.

Counts of errors are judged as shares of the rows they were counted on: 0.02 of 600 test rows is 12
errors.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from studies.harness.means import Summary
from studies.papers.tasks import Reference

Verdict = Literal["reproduced", "close", "differs", "measured", "not runnable", "pending"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "close",
    "differs",
    "measured",
    "not runnable",
    "pending",
)
NEAR = 0.02
STANDARD_ERRORS = 3
FIRM = 2 / 3
ROUNDING = 1e-9  # published numbers are decimal: 0.52 - 0.50 must count as 0.02


def center(summary: Summary, reference: Reference | None) -> float:
    """Return the number that represents ours: the median for a median, a bound or a single draw,
    else the mean.
    """
    by_median = reference is not None and reference.kind in (
        "draw",
        "median",
        "at least",
        "at most",
    )
    return summary.median if by_median else summary.mean


def judge(
    summary: Summary,
    reference: Reference | None,
    bound: float | None = None,
    strictness: float = 1.0,
) -> tuple[Verdict, str]:
    """Return the verdict on a summary, with a reason if the bound decides; `strictness`
    multiplies tolerances.
    """
    if bound is not None and summary.mean > bound:
        return (
            "differs",
            f"our mean {summary.mean:.3f} is above the hard bound {bound:.3f}: something is wrong",
        )
    if reference is None or reference.kind == "shown":
        return "measured", ""
    if reference.kind == "draw":
        return _judge_draw(summary, reference, strictness), ""
    if reference.kind == "above":
        return _judge_above(summary, reference, strictness), ""
    if reference.kind in ("at least", "at most"):
        short = (
            reference.value - summary.median
            if reference.kind == "at least"
            else summary.median - reference.value
        )
        return "reproduced" if short <= ROUNDING else "differs", ""
    tolerance = strictness * _tolerance(summary, reference)
    return _graded(abs(center(summary, reference) - reference.value), tolerance), ""


def is_firm(summary: Summary, reference: Reference | None, bound: float | None = None) -> bool:
    """Return whether the verdict is the same with a tolerance that is a third smaller."""
    return judge(summary, reference, bound)[0] == judge(summary, reference, bound, FIRM)[0]


def _tolerance(summary: Summary, reference: Reference) -> float:
    if reference.kind in ("tolerance", "median", "sampled"):
        if reference.spread is None:
            raise ValueError(
                f"A reference of kind {reference.kind!r} needs its tolerance as spread:"
                f" {reference}."
            )
        if reference.kind != "sampled":
            return reference.spread
        error = np.sqrt(reference.spread**2 / reference.repeats + summary.sd**2 / summary.n)
        return max(STANDARD_ERRORS * float(error), reference.least)
    return max(reference.spread or 0.0, NEAR * reference.scale)


def _judge_draw(summary: Summary, reference: Reference, strictness: float) -> Verdict:
    near = strictness * NEAR * reference.scale
    low, high = (
        summary.median + strictness * (end - summary.median) for end in (summary.low, summary.high)
    )
    outside = max(low - reference.value, reference.value - high, 0.0)
    by_range: Verdict = (
        "reproduced"
        if outside <= ROUNDING
        else "close"
        if outside <= near + ROUNDING
        else "differs"
    )
    by_median = _graded(abs(summary.median - reference.value), near)
    return min(by_range, by_median, key=VERDICTS.index)


def _judge_above(summary: Summary, reference: Reference, strictness: float) -> Verdict:
    margin = 2 * summary.sd / np.sqrt(summary.n) / strictness
    lead = summary.mean - reference.value
    if lead > margin:
        return "reproduced"
    return "close" if lead >= -margin else "differs"


def _graded(distance: float, tolerance: float) -> Verdict:
    if distance <= tolerance + ROUNDING:
        return "reproduced"
    return "close" if distance <= 2 * tolerance + ROUNDING else "differs"
