"""The pages of results, in Markdown: one per paper and a front page, made from `Results` alone.

A paper's page has its tables with one verdict per line, its figures (drawn, and as tables of
numbers), a short text on what holds and what does not, and where the records were made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from studies.harness.means import Summary
from studies.harness.tables import markdown_table
from studies.papers.compare import Comparison, compare_table, count_verdicts
from studies.papers.drawings import Drawing
from studies.papers.results import Results, Runs
from studies.papers.scores import ROC_GRID
from studies.papers.tasks import Paper, Reference, Table
from studies.papers.verdicts import VERDICTS

COMMAND = "python -m studies.papers"
INDEX = "README.md"
INTRODUCTION = f"""# The papers' tables, ours and theirs

Each page is made by `{COMMAND}` and explains the words that it uses. `PAPER.json` holds the numbers of a page: the
mean, the standard deviation, the median and the 10% and 90% quantiles over the seeds. The records of single runs are
not kept in the repository; a run of the same command writes them to `PAPER.jsonl`, one JSON object per run. *Minutes*
are minutes of fitting on one core."""
HEAD = (
    "setting",
    "method",
    "measure",
    "published or expected",
    "ours",
    "seeds",
    "difference",
    "verdict",
)
HOW_TO_READ = (
    "Ours: mean (standard deviation over seeds); next to a single published draw, median [10%,"
    " 90%]. *Reproduced*: within the published standard deviation, or 0.02 where that is smaller or"
    " missing; for error counts 0.02 of the rows counted; for a single draw, inside our 10-90%"
    " range or within 0.02 of our median; for a claim that a difference is above 0, by more than"
    " two standard errors; for an expectation of ours, within its tolerance, or three standard"
    " errors where both are means. *Close*: within twice that (a claim: undecided). *Differs*:"
    " further away. *Measured*: nothing to judge it against. A wide published spread makes"
    " *reproduced* easy: the difference is shown as well."
)
COUNTS = ("errors", "unlabeled_errors", "support", "steps", "rounds", "wins", "losses")
BY_MEDIAN = ("draw", "median", "at least", "at most")


def render_page(
    paper: Paper,
    results: Results,
    *,
    quick: bool = False,
    drawings: Mapping[str, Drawing] | None = None,
) -> str:
    """Return the page of a paper; `drawings` are what `draw_figures` made of the same results."""
    judged = {table.name: compare_table(table, results, quick=quick) for table in paper.tables}
    everything = [comparison for comparisons in judged.values() for comparison in comparisons]
    parts = [
        f"# {paper.name}: ours and theirs",
        f"{paper.citation}.",
        f"Made by `{COMMAND}`"
        + (" (quick run)." if quick else f" from `{paper.name}.json` alone."),
        _verdict_counts(judged, everything),
        HOW_TO_READ,
        *_texts(paper),
    ]
    for table in paper.tables:
        text = table.explain(results, quick) if table.explain else ""
        parts += _table_section(
            table, judged[table.name], results, (drawings or {}).get(table.name), text
        )
    return "\n\n".join([*parts, _provenance(results.runs)]) + "\n"


def render_index(results: Sequence[tuple[Paper, Results]], *, quick: bool = False) -> str:
    """Return the front page; papers of which nothing has run are left out."""
    rows = []
    for paper, found in results:
        if not found.runs.cells:
            continue
        comparisons = [
            c for table in paper.tables for c in compare_table(table, found, quick=quick)
        ]
        counts = count_verdicts(comparisons)
        link = f"[{paper.name}]({paper.name}.md)"
        spent = [str(found.runs.cells), f"{found.runs.minutes:.0f}"]
        rows.append([link, *(str(counts.get(word, 0)) for word in VERDICTS), *spent])
    return (
        "\n\n".join([INTRODUCTION, markdown_table(["paper", *VERDICTS, "cells", "minutes"], rows)])
        + "\n"
    )


def line_cells(comparison: Comparison) -> tuple[str, ...]:
    """Return setting, method, measure, theirs, ours, number of seeds and difference, as text."""
    line = comparison.line
    method = f"{line.method} ({line.mark})" if line.mark else line.method
    n = str(comparison.summary.n) if comparison.summary else ""
    values = (
        _theirs(line.reference, line.measure),
        _ours(comparison.summary, line.reference, line.measure),
    )
    return (line.setting, method, line.measure, *values, n, _difference(comparison))


def format_number(value: float, measure: str) -> str:
    """Return a count with at most one decimal, seconds with three digits, a share with three
    decimals.
    """
    if measure in COUNTS or measure.startswith("cost"):
        return f"{value:.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.1f}"
    return f"{value:.3g}" if measure == "seconds" else f"{value:.3f}"


def _verdict_counts(judged: dict[str, list[Comparison]], everything: list[Comparison]) -> str:
    total = count_verdicts(everything)
    rows = []
    for name, comparisons in [*judged.items(), ("all", everything)]:
        counts = count_verdicts(comparisons)
        if comparisons:
            rows.append([name, *(str(counts.get(word, 0)) for word in total)])
    return "## Verdicts\n\n" + markdown_table(["table", *total], rows)


def _texts(paper: Paper) -> Iterator[str]:
    texts = (
        ("What holds", paper.holds),
        ("What does not", paper.fails),
        ("What the paper left out", paper.silent),
    )
    for title, sentences in texts:
        if sentences:
            yield f"## {title}\n\n" + "\n".join(f"- {sentence}" for sentence in sentences)


def _table_section(
    table: Table,
    comparisons: list[Comparison],
    results: Results,
    drawing: Drawing | None,
    text: str,
) -> Iterator[str]:
    if not comparisons:
        return
    yield f"## {table.name}: {table.title}"
    if drawing is not None:
        yield from _figure(drawing)
    if text:
        yield text
    reasons = {comparison.why for comparison in comparisons}
    if (
        all(comparison.verdict == "not runnable" for comparison in comparisons)
        and len(reasons) == 1
    ):
        yield f"Not runnable: {reasons.pop()}. The published values:"
    if any(comparison.line.reference for comparison in comparisons):
        yield markdown_table(
            HEAD, ((*line_cells(comparison), _verdict(comparison)) for comparison in comparisons)
        )
    else:
        yield _column_per_method(comparisons)
    remarks = list(_remarks(comparisons))
    if remarks:
        yield "\n".join(remarks)
    curves = _mean_curves(comparisons, results)
    if curves:
        head = ["true positive rate at false positive rate", *(f"{rate:g}" for rate in ROC_GRID)]
        yield markdown_table(head, curves)


def _figure(drawing: Drawing) -> Iterator[str]:
    """Return the figure and what it says about the paper's claim, or why there is none."""
    if drawing.svg is None:
        yield f"No figure: {drawing.why}."
        return
    yield f"![{drawing.alt}]({drawing.file})"
    if drawing.sentence:
        yield drawing.sentence


def _column_per_method(comparisons: list[Comparison]) -> str:
    """Return a table with one column per method, for a figure in numbers: nothing published to
    compare with.
    """
    methods = list(dict.fromkeys(comparison.line.method for comparison in comparisons))
    rows: dict[str, dict[str, str]] = defaultdict(dict)
    for comparison in comparisons:
        line = comparison.line
        rows[line.setting][line.method] = _ours(comparison.summary, None, line.measure) or _verdict(
            comparison
        )
    head = [comparisons[0].line.measure, *methods]
    return markdown_table(
        head, ([setting, *(row.get(m, "") for m in methods)] for setting, row in rows.items())
    )


def _remarks(comparisons: list[Comparison]) -> Iterator[str]:
    """Say what is known about the lines that differ."""
    by_note = defaultdict(list)
    for comparison in comparisons:
        if comparison.verdict == "differs":
            why = "; ".join(part for part in (comparison.why, comparison.line.note) if part)
            by_note[why or "no explanation is known"].append(comparison.line)
    for note, lines in by_note.items():
        methods = sorted(
            {f"{line.method} ({line.mark})" if line.mark else line.method for line in lines}
        )
        count = "1 line differs" if len(lines) == 1 else f"{len(lines)} lines differ"
        yield f"- {count} ({'; '.join(methods)}): {note}."


def _mean_curves(comparisons: Sequence[Comparison], results: Results) -> list[list[str]]:
    """Return mean ROC curves, where the lines are about areas under them."""
    rows = []
    for line in (comparison.line for comparison in comparisons):
        if line.measure != "auc" or line.task is None or line.against is not None:
            continue
        curve = results.curves.get(line.task.key)
        if curve:
            rows.append([f"{line.setting}: {line.method}", *(f"{rate:.3f}" for rate in curve)])
    return rows


def _provenance(runs: Runs) -> str:
    if not runs.cells:
        return "## Records\n\nNo cell has run."
    when = (
        f"between {runs.first} and {runs.last}" if runs.first != runs.last else f"on {runs.first}"
    )
    rows = [f"{runs.cells} finished cells {when}, {runs.minutes:.1f} minutes of fitting."]
    rows += [f"{runs.failed} failed attempts are in the records too."] if runs.failed else []
    return "## Records\n\n" + "\n".join(f"- {row}" for row in [*rows, *runs.sessions])


def _theirs(reference: Reference | None, measure: str) -> str:
    """Return the reference: a value with its spread or tolerance, or a claim."""
    if reference is None:
        return ""
    value = format_number(reference.value, measure)
    if reference.kind in ("above", "at least", "at most"):
        return f"{reference.kind} {value}"
    if reference.spread is None or reference.spread == 0:
        return value
    spread = format_number(reference.spread, measure)
    return (
        f"{value} ± {spread}"
        if reference.kind in ("tolerance", "median")
        else f"{value} ({spread})"
    )


def _ours(summary: Summary | None, reference: Reference | None, measure: str) -> str:
    """Return our mean with its standard deviation, or our median with its 10-90% range next to a
    single draw.
    """
    if summary is None:
        return ""
    if reference is not None and reference.kind in BY_MEDIAN:
        low = format_number(summary.low, measure)
        high = format_number(summary.high, measure)
        return format_number(summary.median, measure) + (
            f" [{low}, {high}]" if summary.n > 1 else ""
        )
    spread = f" ({format_number(summary.sd, measure)})" if summary.n > 1 else ""
    return format_number(summary.mean, measure) + spread


def _difference(comparison: Comparison) -> str:
    """Return ours minus theirs, with its sign."""
    value = comparison.difference
    if value is None:
        return ""
    text = format_number(value, comparison.line.measure)
    return text if text.startswith("-") else f"+{text}"


def _verdict(comparison: Comparison) -> str:
    """Return the verdict, with the reason where something can't run."""
    if comparison.verdict == "not runnable":
        return f"not runnable: {comparison.why}"
    return comparison.verdict
