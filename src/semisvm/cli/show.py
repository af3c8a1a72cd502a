"""Facts, comparisons and evaluations as a person reads them in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

ASKED = {"min_precision", "min_recall"}
STYLES = {"certified": "green", "reached": "green", "missed": "red"}


def show_fit(console: Console, facts: Mapping[str, Any]) -> None:
    """What was learned from, how, and what it gives."""
    from rich.markup import escape

    from semisvm.decision import OperatingPoint
    from semisvm.report.wording import verdict

    data, method = facts["data"], facts["method"]
    console.print(
        f"[bold]{escape(data['name'])}[/]: {data['rows']:,} rows, {data['labeled']:,} labeled, "
        f"{data['unlabeled']:,} not; {len(data['features'])} columns; classes {escape(', '.join(facts['classes']))}"
        + (f" (positive: {escape(facts['positive'])})" if facts["positive"] else "")
    )
    console.print(f"[bold]Method[/]: {method['name']} ({method['paper_name']}). {escape(method['why'])}")
    audits = facts["audit"] if isinstance(facts["audit"], dict) else {facts["positive"]: facts["audit"]}
    for name, lines in audits.items():
        if lines:
            _show_audit(console, str(name), lines)
    points, said, advice = facts["operating_point"] or {}, "", ""
    for name, point in ({"": points} if "reached" in points else points).items():
        if not ASKED & set(point["target"]):
            continue
        found = verdict(OperatingPoint.from_dict(point))
        of = f"{escape(str(name))}: " if name else ""
        style = STYLES.get(found.status, "yellow")
        console.print(f"[bold]{of}[{style}]{escape(found.headline)}[/][/] {escape(found.sentence)}")
        said += found.sentence
        advice = found.advice or advice
    if advice:
        console.print(f"[bold]What to do[/]: {escape(advice)}")
    for note in facts["notes"]:
        if note not in said:
            console.print(f"- {escape(note)}")


def _show_audit(console: Console, name: str, lines: list[Mapping[str, Any]]) -> None:
    from rich.table import Table

    table = Table(
        f"held-out labels, {name}", "precision (90%)", "recall", "F1", "threshold", box=None, padding=(0, 2, 0, 0)
    )
    for line in lines:
        measures = (show_estimate(line[key]) for key in ("precision", "recall", "f_score"))
        threshold = line["threshold"]
        table.add_row(line["step"], *measures, threshold if isinstance(threshold, str) else f"{threshold:.3g}")
    console.print(table)


def show_estimate(estimate: Mapping[str, float | None]) -> str:
    """A value and its interval."""
    if estimate["value"] is None:
        return "undefined"
    return f"{estimate['value']:.3f} [{estimate['low']:.2f}, {estimate['high']:.2f}]"


def show_comparison(console: Console, found: Mapping[str, Any]) -> None:
    """Every method beside the supervised one, and the verdict."""
    from rich.markup import escape
    from rich.table import Table

    sign = -1 if found["measure"] == "cost" else 1
    table = Table("method", f"{found['measure']} (90%)", "gain over supervised", "seconds", "", box=None)
    for line in found["methods"]:
        merit, difference = line["merit"], line["difference"]
        ends = sorted((sign * merit["low"], sign * merit["high"]))
        gap = f"{difference['value']:+.3f} [{difference['low']:+.3f}, {difference['high']:+.3f}]"
        remark = "" if line["reaches_target"] else "target not reached"
        if line["name"] == found["chosen"]:
            remark = "chosen" + (f", {remark}" if remark else "")
        table.add_row(
            line["name"],
            f"{sign * merit['value']:.3f} [{ends[0]:.3f}, {ends[1]:.3f}]",
            "" if line["name"] == "supervised" else gap,
            f"{line['seconds']:.1f}",
            remark,
        )
    console.print(table)
    for name, why in found["left_out"].items():
        console.print(f"- {name} was left out: {escape(why)}")
    for line in found["methods"]:
        for complaint in line["complaints"]:
            console.print(f"- {line['name']}: {escape(complaint)}")
    console.print(f"[bold]Verdict[/]: {escape(found['verdict'])}")


def show_evaluation(console: Console, found: Mapping[str, Any]) -> None:
    """What the model gives on labels it has not seen."""
    from rich.markup import escape
    from rich.table import Table

    unlabeled = f" ({found['unlabeled']:,} rows without a label are not judged)" if found["unlabeled"] else ""
    console.print(f"{found['rows']:,} labeled rows{unlabeled}. Accuracy {found['accuracy']:.3f}.")
    if found["below_all"]:
        console.print(
            f"{found['below_all']:,} rows are below the operating point of every class and have the label of the "
            "nearest one. Precision and recall of a class are those of the rows above its own operating point."
        )
    points = found["operating_point"]
    if "reached" in points:
        points = {found["classes"][1]: points}
    measured = {"precision": "precision (90%)", "recall": "recall", "f_score": "F1"}
    if any(point["cost"] is not None for point in points.values()):
        measured["cost"] = "cost a row"
    table = Table("class", *measured.values(), "asked", "", box=None)
    for name, point in points.items():
        measures = (show_estimate(point[key]) for key in measured)
        is_asked = ASKED & set(point["target"])
        verdict = ("reached" if point["reached"] else "not reached") if is_asked else ""
        table.add_row(escape(str(name)), *measures, point["asked"] if is_asked else "", verdict)
    console.print(table)
    grid = Table("true \\ predicted", *map(escape, found["classes"]), box=None)
    for name, counts in zip(found["classes"], found["confusion"], strict=True):
        grid.add_row(escape(name), *(f"{count:,}" for count in counts))
    console.print(grid)
