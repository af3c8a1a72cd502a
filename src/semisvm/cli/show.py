"""Summaries, comparisons and evaluations as a person reads them in a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from semisvm.decision import Estimate, OperatingPoint
    from semisvm.tables.evaluate import Evaluation
    from semisvm.tables.summary import ComparisonSummary, FitSummary

STYLES = {"certified": "green", "reached": "green", "missed": "red"}


def show_fit(console: Console, summary: FitSummary) -> None:
    """Print the data, the method, the audit and whether the target is reached."""
    from rich.markup import escape

    from semisvm.report.wording import verdict

    data, method = summary.data, summary.method
    console.print(
        f"[bold]{escape(data.name)}[/]: {data.rows:,} rows, {data.labeled:,} labeled, {data.unlabeled:,} not; "
        f"{len(data.features)} columns; classes {escape(', '.join(summary.classes))}"
        + (f" (positive: {escape(summary.positive)})" if summary.positive else "")
    )
    console.print(f"[bold]Method[/]: {method.name} ({method.paper_name}). {escape(method.why)}")
    for name, steps in summary.audits.items():
        _show_audit(console, name, steps)
    said, advice = "", ""
    for name, point in summary.operating_points.items():
        if not point.target.is_constrained:
            continue
        found = verdict(point)
        of = "" if summary.positive else f"{escape(name)}: "
        headline = f"[{STYLES.get(point.status, 'yellow')}]{escape(found.headline)}[/]"
        console.print(f"[bold]{of}{headline}[/] {escape(found.sentence)} {escape(found.basis)}")
        said += found.sentence
        advice = found.advice or advice
    if advice:
        console.print(f"[bold]What to do[/]: {escape(advice)}")
    for note in summary.notes:
        if note not in said:
            console.print(f"- {escape(note.replace('`trust_labels`', '--trust-labels'))}")


def _show_audit(console: Console, name: str, steps: Mapping[str, OperatingPoint]) -> None:
    from rich.table import Table

    table = Table(
        f"held-out labels, {name}", "precision (90%)", "recall", "F1", "threshold", box=None, padding=(0, 2, 0, 0)
    )
    for step, point in steps.items():
        measures = (format_estimate(one) for one in (point.precision, point.recall, point.f_score))
        table.add_row(step, *measures, f"{point.threshold:.3g}")
    console.print(table)


def format_estimate(estimate: Estimate) -> str:
    """Return a value and its interval."""
    if math.isnan(estimate.value):
        return "undefined"
    return f"{estimate.value:.3f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def show_comparison(console: Console, found: ComparisonSummary) -> None:
    """Print every method beside the supervised one, and the verdict."""
    from rich.markup import escape
    from rich.table import Table

    sign = -1 if found.measure == "cost" else 1
    table = Table("method", f"{found.measure} (90%)", "gain over supervised", "seconds", "", box=None)
    for line in found.methods:
        low, high = sorted((sign * line.merit.low + 0.0, sign * line.merit.high + 0.0))  # never "-0.000"
        gap = line.difference
        remarks = ["chosen"] if line.name == found.chosen else []
        remarks += [] if line.reaches_target else ["target not reached"]
        table.add_row(
            line.name,
            f"{sign * line.merit.value:.3f} [{low:.3f}, {high:.3f}]",
            "" if line.name == "supervised" else f"{gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]",
            f"{line.seconds:.1f}",
            ", ".join(remarks),
        )
    console.print(table)
    for name, why in found.left_out.items():
        console.print(f"- {name} was left out: {escape(why)}")
    for line in found.methods:
        for complaint in line.complaints:
            console.print(f"- {line.name}: {escape(complaint)}")
    console.print(f"[bold]Verdict[/]: {escape(found.verdict)}")


def show_evaluation(console: Console, found: Evaluation) -> None:
    """Print what the model gives on labels it has not seen."""
    from rich.markup import escape
    from rich.table import Table

    unlabeled = f" ({found.unlabeled:,} unlabeled rows are not judged)" if found.unlabeled else ""
    console.print(f"{found.rows:,} labeled rows{unlabeled}. Accuracy {found.accuracy:.3f}.")
    if found.below_all:
        console.print(
            f"{found.below_all:,} rows are below the operating point of every class and get the label of the nearest "
            "class. Precision and recall of a class are those of the rows above its own operating point."
        )
    has_costs = any(point.cost is not None for point in found.points.values())
    titles = ["precision (90%)", "recall", "F1", *(["cost per row"] if has_costs else [])]
    table = Table("class", *titles, "asked", "", box=None)
    for name, point in found.points.items():
        measured = [point.precision, point.recall, point.f_score, *([point.cost] if has_costs else [])]
        cells = ["" if one is None else format_estimate(one) for one in measured]
        asked = ["", ""]
        if point.target.is_constrained:
            asked = [str(point.target), "reached" if point.reached else "not reached"]
        table.add_row(escape(name), *cells, *asked)
    console.print(table)
    grid = Table("true \\ predicted", *map(escape, found.classes), box=None)
    for name, counts in zip(found.classes, found.confusion, strict=True):
        grid.add_row(escape(name), *(f"{count:,}" for count in counts))
    console.print(grid)
