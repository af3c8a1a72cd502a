"""One page of HTML: what is promised now comes first. Plain SVG, no script, nothing from outside.

page_of_fit(summary)        what a model was made of, and what its left-out labels say
page_of_session(session)    what is proved, and who labels the rows
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

from semisvm.label import LabelSession, words
from semisvm.label.page import asset
from semisvm.tables.output import output_file
from semisvm.tables.summary import Interval, Summary

WIDTH, HEIGHT, N_BARS = 600, 120, 40  # of the histogram


def write_page(path: str | Path, page: str, *, force: bool = False) -> None:
    """Write a page to a file."""
    with output_file(path, force=force) as file:
        file.write(page)


def page_of_fit(s: Summary) -> str:
    """The page of a fit: nothing is promised yet, and that is said first."""
    figures = [(name, str(each)) for name, each in s.figures.items()]
    if s.gain is not None:
        figures.append(("ROC AUC beyond a supervised SVM", _signed(s.gain)))
    made_of = [
        ("labels", ", ".join(f"{n:,} {name}" for name, n in s.labels.items())),
        ("rows without a label", f"{s.n_unlabeled:,}"),
        ("method", s.method),
        ("columns", ", ".join(f"{n} {kind}" for kind, n in s.n_columns().items())),
    ]
    weights = [(name, f"{weight:.2f}") for name, weight in s.weights.items()]
    nearest = "" if s.is_reached else " No threshold reaches that on these labels: the nearest."
    return _page(
        f"Model of {s.target}",
        _card(
            f"Nothing is promised yet: the threshold was chosen for {s.wants}.{nearest}",
            "semisvm label proves a precision, a recall or an error.",
        ),
        _section("On labels left out of the fit", _table(figures), _text(EACH_INTERVAL)),
        _section("Scores of rows without a label", _histogram(s.scores, str(s.positive))),
        _section(f"Made of {Path(s.data).name}", _table(made_of)),
        _section("Columns left out", _table(list(s.left_out.items()))),
        _section("How columns were read", _table(list(s.remarks.items()))),
        _section("Weights of the parts", _table(weights)),
    )


EACH_INTERVAL = (
    "Intervals are at 95%, each by itself. They describe these labels; they prove nothing."
)


def page_of_session(session: LabelSession) -> str:
    """The page of a session: what is promised now, then how far the labeling is."""
    verdict, job = session.verdict(), session.job
    n_known = verdict.n_pool - verdict.n_free - verdict.n_left
    parts = [
        ("nobody has to look", verdict.n_free, "free"),
        ("labeled by people", n_known, "person"),
        ("left for people", verdict.n_left, "left"),
    ]
    given = [label for label in session.answers.values() if label is not None]
    answers = [(name, f"{given.count(name):,}") for name in session.classes]
    answers.append(("don't know", f"{len(session.answers) - len(given):,}"))
    about = [
        ("wanted", words.wanted(job)),
        ("data", session.pool.path.name),
        ("rows that had no label", f"{verdict.n_pool:,}"),
    ]
    return _page(
        "What is proved" if job.promise != "none" else "Labeled rows",
        _card(words.promise_line(verdict, job), words.verdict_line(verdict)),
        _section("The rows", _bar(parts), _table([(name, f"{n:,}") for name, n, _ in parts])),
        _section("Answers", _table(answers)),
        _section("The job", _table(about)),
    )


def _page(title: str, *sections: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        f' content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f'<style>{asset("page.css")}</style></head>\n<body class="semisvm report">'
        f"<h1>{escape(title)}</h1>\n{''.join(sections)}</body></html>\n"
    )


def _section(title: str, *parts: str) -> str:
    """A part of the page; nothing where its first part is empty."""
    return f"<h2>{escape(title)}</h2>{''.join(parts)}\n" if parts[0] else ""


def _card(*lines: str) -> str:
    return f'<div class="card">{"".join(f"<p>{escape(line)}</p>" for line in lines)}</div>\n'


def _text(line: str) -> str:
    return f'<p class="soft">{escape(line)}</p>'


def _table(rows: list[tuple[str, str]]) -> str:
    cells = (
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{''.join(cells)}</table>" if rows else ""


def _signed(each: Interval) -> str:
    return f"{each.value:+.3f} ({each.low:+.3f} to {each.high:+.3f})"


# ---- drawings: numbers stand beside them as text, which a small screen does not shrink ----


def _svg(height: int, label: str, *shapes: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" preserveAspectRatio="none" height="{height}"'
        f' role="img" aria-label="{escape(label)}">{"".join(shapes)}</svg>'
    )


def _box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}"/>'
    )


def _bar(parts: list[tuple[str, int, str]]) -> str:
    """Shares of a whole, side by side."""
    sizes = np.array([n for _, n, _ in parts]) * WIDTH / max(sum(n for _, n, _ in parts), 1)
    starts = np.cumsum(sizes) - sizes
    boxes = [
        _box(x, 0, width, 24, kind)
        for x, width, (*_, kind) in zip(starts, sizes, parts, strict=True)
    ]
    label = ", ".join(f"{name}: {n:,}" for name, n, _ in parts)
    return _svg(24, label, *boxes)


def _histogram(scores: list[float], positive: str) -> str:
    """Scores, with the line from which rows are accepted."""
    if not scores:
        return ""
    step = (max(*scores, 0.0) - min(*scores, 0.0)) / N_BARS or 1.0
    first, last = np.floor(min(*scores, 0.0) / step), np.ceil(max(*scores, 0.0) / step)
    counts, edges = np.histogram(scores, step * np.arange(first, max(last, first + 1) + 1))
    width = WIDTH / len(counts)
    heights = (HEIGHT - 10) * counts / counts.max()
    boxes = [
        _box(
            k * width,
            HEIGHT - height,
            width - 1,
            height,
            "accepted" if edge > -step / 2 else "rejected",
        )
        for k, (height, edge) in enumerate(zip(heights, edges[:-1], strict=True))
    ]
    zero = WIDTH * (0 - edges[0]) / (edges[-1] - edges[0])
    line = f'<line class="axis" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="{HEIGHT}"/>'
    n_accepted = sum(score > 0 for score in scores)
    label = f"Histogram of {len(scores):,} scores; {n_accepted:,} are above 0"
    return (
        _svg(HEIGHT, label, *boxes, line)
        + f'<p class="soft ends"><span>{edges[0]:.2f}</span><span>{edges[-1]:.2f}</span></p>'
        + _text(
            f"Right of the line, above 0: accepted as {positive} ({n_accepted:,} of"
            f" {len(scores):,} rows)."
        )
    )
