"""The results page of a paper, in Markdown: a pure function of its records.

Tables side by side with a verdict a line, the figures drawn and as tables of numbers, a short text on what holds and
what does not, and where the records were made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from studies.harness.compare import Comparison, Results, compare_table, count_verdicts
from studies.harness.draw import Drawing
from studies.harness.scores import ROC_GRID
from studies.harness.tasks import Paper, Table
from studies.harness.wording import cells, ours, verdict

HEAD = ("setting", "method", "measure", "published or expected", "ours", "seeds", "difference", "verdict")
HOW_TO_READ = (
    "Ours: mean (standard deviation over seeds); beside a single published draw, median [10%, 90%]. "
    "*Reproduced*: within the published standard deviation, or 0.02 where that is smaller or missing; for error "
    "counts 0.02 of the rows counted; for a single draw, inside our 10-90% range or within 0.02 of our median; for "
    "a claim that a difference is above 0, by more than two standard errors; for an expectation of ours, within its "
    "tolerance, or three standard errors where both are means. *Close*: within twice that (a claim: undecided). "
    "*Differs*: further off. *Measured*: nothing to be judged against. A wide published spread makes *reproduced* "
    "easy: the difference stands beside it."
)


def render(
    paper: Paper,
    records: Iterable[dict[str, Any]],
    *,
    quick: bool = False,
    drawings: Mapping[str, Drawing] | None = None,
) -> str:
    """Return the page of a paper; `drawings` are what `draw_figures` made of the same records."""
    records = list(records)
    results = Results(records)
    judged = {table.name: compare_table(table, results, quick=quick) for table in paper.tables}
    everything = [comparison for comparisons in judged.values() for comparison in comparisons]
    parts = [
        f"# {paper.name}: ours beside theirs",
        f"{paper.citation}.",
        "Made by `semisvm reproduce` from its records alone" + (" (quick run)." if quick else "."),
        _verdict_counts(judged, everything),
        HOW_TO_READ,
        *_texts(paper),
    ]
    for table in paper.tables:
        told = table.tell(results, quick) if table.tell else ""
        parts += _table_section(table, judged[table.name], results, (drawings or {}).get(table.name), told)
    return "\n\n".join([*parts, _provenance(records)]) + "\n"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; bars inside cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _verdict_counts(judged: dict[str, list[Comparison]], everything: list[Comparison]) -> str:
    total = count_verdicts(everything)
    rows = []
    for name, comparisons in [*judged.items(), ("all", everything)]:
        counts = count_verdicts(comparisons)
        if comparisons:
            rows.append([name, *(str(counts.get(word, 0)) for word in total)])
    return "## Verdicts\n\n" + markdown_table(["table", *total], rows)


def _texts(paper: Paper) -> Iterator[str]:
    told = (("What holds", paper.holds), ("What does not", paper.fails), ("What the paper left out", paper.silent))
    for title, sentences in told:
        if sentences:
            yield f"## {title}\n\n" + "\n".join(f"- {sentence}" for sentence in sentences)


def _table_section(
    table: Table, comparisons: list[Comparison], results: Results, drawing: Drawing | None, told: str
) -> Iterator[str]:
    if not comparisons:
        return
    yield f"## {table.name}: {table.title}"
    if drawing is not None:
        yield from _figure(drawing)
    if told:
        yield told
    reasons = {comparison.why for comparison in comparisons}
    if all(comparison.verdict == "not runnable" for comparison in comparisons) and len(reasons) == 1:
        yield f"Not runnable: {reasons.pop()}. The published values:"
    if any(comparison.line.reference for comparison in comparisons):
        yield markdown_table(HEAD, ((*cells(comparison), verdict(comparison)) for comparison in comparisons))
    else:
        yield _side_by_side(comparisons)
    remarks = list(_remarks(comparisons))
    if remarks:
        yield "\n".join(remarks)
    curves = _mean_curves(comparisons, results)
    if curves:
        head = ["true positive rate at false positive rate", *(f"{rate:g}" for rate in ROC_GRID)]
        yield markdown_table(head, curves)


def _figure(drawing: Drawing) -> Iterator[str]:
    """Return the figure and what it says of the paper's claim, or why it is not there."""
    if drawing.svg is None:
        yield f"No figure: {drawing.why}."
        return
    yield f"![{drawing.alt}]({drawing.file})"
    if drawing.said:
        yield drawing.said


def _side_by_side(comparisons: list[Comparison]) -> str:
    """Return a table with a column a method, for what stands beside nothing published: a figure in numbers."""
    methods = list(dict.fromkeys(comparison.line.method for comparison in comparisons))
    rows: dict[str, dict[str, str]] = defaultdict(dict)
    for comparison in comparisons:
        line = comparison.line
        rows[line.setting][line.method] = ours(comparison.summary, None, line.measure) or verdict(comparison)
    head = [comparisons[0].line.measure, *methods]
    return markdown_table(head, ([setting, *(row.get(m, "") for m in methods)] for setting, row in rows.items()))


def _remarks(comparisons: list[Comparison]) -> Iterator[str]:
    """Say of every line that differs what is known about it."""
    by_note = defaultdict(list)
    for comparison in comparisons:
        if comparison.verdict == "differs":
            why = "; ".join(part for part in (comparison.why, comparison.line.note) if part)
            by_note[why or "no explanation is known"].append(comparison.line)
    for note, lines in by_note.items():
        methods = sorted({f"{line.method} ({line.mark})" if line.mark else line.method for line in lines})
        count = "1 line differs" if len(lines) == 1 else f"{len(lines)} lines differ"
        yield f"- {count} ({'; '.join(methods)}): {note}."


def _mean_curves(comparisons: list[Comparison], results: Results) -> list[list[str]]:
    """Return mean ROC curves, where the lines are about areas under them."""
    rows = []
    for line in (comparison.line for comparison in comparisons):
        if line.measure != "auc" or line.task is None or line.against is not None:
            continue
        curves = [curve["roc"] for curve in results.curves.get(line.task.key, {}).values() if "roc" in curve]
        if curves:
            means = np.mean(curves, axis=0)
            rows.append([f"{line.setting}: {line.method}", *(f"{rate:.3f}" for rate in means)])
    return rows


def _provenance(records: list[dict[str, Any]]) -> str:
    done = [record for record in records if record["outcome"] == "done"]
    if not done:
        return "## Records\n\nNo cell has run."
    minutes = sum(record["seconds"] for record in done) / 60
    dates = sorted(record["date"][:10] for record in done)
    rows = [f"- {len(done)} finished cells between {dates[0]} and {dates[-1]}, {minutes:.1f} minutes of fitting."]
    failed = sum(record["outcome"] == "failed" for record in records)
    rows += [f"- {failed} failed attempts are in the records too."] if failed else []
    for machine in sorted({_machine(record) for record in done}):
        rows.append(f"- {machine}")
    return "## Records\n\n" + "\n".join(rows)


def _machine(record: dict[str, Any]) -> str:
    machine, versions = record.get("machine") or {}, record.get("versions") or {}
    packages = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    where = f"{machine.get('cpu')}, {machine.get('cores')} cores, {machine.get('memory_gib')} GiB"
    return f"{where}, {machine.get('system')}; {packages}; commit {record.get('commit')}, source {record.get('source')}"
