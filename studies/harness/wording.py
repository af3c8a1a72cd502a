"""Numbers as people read them: one way for the terminal and the page."""

from __future__ import annotations

from studies.harness.compare import Comparison
from studies.harness.tasks import Reference
from studies.harness.verdicts import Summary

COUNTS = ("errors", "unlabeled_errors", "support", "steps", "rounds", "wins", "losses")
BY_MEDIAN = ("draw", "median", "at least", "at most")


def number(value: float, measure: str) -> str:
    """Return a count with at most one decimal, seconds with three digits, a share with three decimals."""
    if measure in COUNTS or measure.startswith("cost"):
        return f"{value:.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.1f}"
    return f"{value:.3g}" if measure == "seconds" else f"{value:.3f}"


def theirs(reference: Reference | None, measure: str) -> str:
    """Return the reference: a value with its spread or tolerance, or a claim."""
    if reference is None:
        return ""
    value = number(reference.value, measure)
    if reference.kind in ("above", "at least", "at most"):
        return f"{reference.kind} {value}"
    if reference.spread is None or reference.spread == 0:
        return value
    spread = number(reference.spread, measure)
    return f"{value} ± {spread}" if reference.kind in ("tolerance", "median") else f"{value} ({spread})"


def ours(summary: Summary | None, reference: Reference | None, measure: str) -> str:
    """Return our mean with its standard deviation, or our median with its 10-90% range beside a single draw."""
    if summary is None:
        return ""
    if reference is not None and reference.kind in BY_MEDIAN:
        low, high = number(summary.low, measure), number(summary.high, measure)
        return number(summary.median, measure) + (f" [{low}, {high}]" if summary.n > 1 else "")
    return number(summary.mean, measure) + (f" ({number(summary.sd, measure)})" if summary.n > 1 else "")


def difference(comparison: Comparison) -> str:
    """Return ours less theirs, with its sign."""
    value = comparison.difference
    if value is None:
        return ""
    text = number(value, comparison.line.measure)
    return text if text.startswith("-") else f"+{text}"


def verdict(comparison: Comparison) -> str:
    """Return the verdict, with the reason where something can't run."""
    if comparison.verdict == "not runnable":
        return f"not runnable: {comparison.why}"
    return comparison.verdict


def cells(comparison: Comparison) -> tuple[str, ...]:
    """Return setting, method, measure, theirs, ours, number of seeds and difference."""
    line = comparison.line
    method = f"{line.method} ({line.mark})" if line.mark else line.method
    n = str(comparison.summary.n) if comparison.summary else ""
    values = (theirs(line.reference, line.measure), ours(comparison.summary, line.reference, line.measure))
    return (line.setting, method, line.measure, *values, n, difference(comparison))
