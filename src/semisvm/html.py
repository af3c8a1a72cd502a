"""What this library shows in a browser or a notebook: its colors, and cards for results.

Everything has the class `semisvm`. It follows the theme of the page it is in: that of Jupyter, VS
Code or marimo, and that of the system elsewhere. A card is one `_repr_html_`: a headline,
sentences, and small drawings in SVG. Every text is escaped here, so no caller can forget it.
"""

import base64
import hashlib
import math
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import Literal, NamedTuple

WIDTH = 520  # of drawings, in CSS pixels
NAME_WIDTH = 130  # of the names beside intervals
VALUE_WIDTH = 170  # of the numbers beside them
LINE_HEIGHT = 26

Tone = Literal["", "good", "bad"]


class IntervalLine(NamedTuple):
    """A measure in a chart of intervals; `asked` is its target, if there is one."""

    name: str
    value: float
    low: float
    high: float
    asked: float | None = None


@cache
def asset(package: str, name: str) -> str:
    """Return the text of a file of a package."""
    return resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")


def policy_hash(content: str) -> str:
    """Return how a Content-Security-Policy names a script or style that may be used."""
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def style() -> str:
    """Return the style sheet."""
    return asset("semisvm", "html.css")


def card(headline: str, sentences: Iterable[str] = (), *drawings: str, tone: Tone = "") -> str:
    """Return a result as HTML: its headline, its drawings, and sentences below them.

    `headline` and `sentences` are plain text; `drawings` are HTML of this module.
    """
    below = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence)
    return (
        f'<div class="semisvm semisvm-card {tone}"><style>{style()}</style>'
        f'<p class="headline">{escape(headline)}</p>{"".join(drawings)}{below}</div>'
    )


def reason_card(reason: str, *drawings: str, tone: Tone = "") -> str:
    """Return a verdict as HTML; its first sentence is the headline."""
    headline, stop, rest = reason.partition(". ")
    return card(headline + stop.strip(), [rest], *drawings, tone=tone)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], chosen: Iterable[int] = ()) -> str:
    """Return a table of texts; the rows at the places `chosen` stand out."""
    strong = set(chosen)
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    lines = []
    for place, row in enumerate(rows):
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row)
        kind = "chosen" if place in strong else ""
        lines.append(f'<tr class="{kind}">{cells}</tr>')
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def fold(summary: str, content: str) -> str:
    """Return HTML of this module that is shown when it is opened."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def interval_chart(lines: Iterable[IntervalLine]) -> str:
    """Draw values between 0 and 1 with their intervals; those that are not known are left out."""
    known = [line for line in lines if math.isfinite(line.value)]
    if not known:
        return ""
    left, right = NAME_WIDTH, WIDTH - VALUE_WIDTH
    height = LINE_HEIGHT * len(known) + 22

    def across(share: float) -> float:
        return left + (right - left) * min(max(share, 0.0), 1.0)

    parts = []
    for tick in (0, 0.5, 1):
        x = across(tick)
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{height - 18}"/>')
        parts.append(_text(x, height - 4, f"{tick:g}", "middle", "soft"))
    for k, (name, value, low, high, asked) in enumerate(known):
        y = LINE_HEIGHT * (k + 0.5) + 2
        ends = ""
        if math.isfinite(low) and math.isfinite(high):
            ends = f" ({low:.3f} to {high:.3f})"
            x1, x2 = across(low), across(high)
            parts.append(
                f'<line class="interval" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:g}" y2="{y:g}"/>'
            )
        if asked is not None:
            x = across(asked)
            parts.append(
                f'<line class="asked" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 12:g}" y2="{y + 12:g}"/>'
            )
        parts.append(f'<circle class="value" cx="{across(value):.1f}" cy="{y:g}" r="5"/>')
        parts.append(_text(0, y + 4, name))
        parts.append(_text(right + 14, y + 4, f"{value:.3f}{ends}"))
    said = "; ".join(f"{line.name} {line.value:.3f}" for line in known)
    return _svg(WIDTH, height, said, parts)


def progress_bar(n_done: int, n_more: int | None) -> str:
    """Draw labels so far, and about how many are to go (None: not known)."""
    whole = max(n_done + (n_more or 0), 1)
    width = WIDTH * n_done / whole
    to_go = "" if n_more is None else f", about {n_more:,} to go"
    said = f"{n_done:,} {'label' if n_done == 1 else 'labels'} so far{to_go}"
    parts = [
        f'<rect class="to-go" x="0" y="0" width="{WIDTH}" height="10" rx="5"/>',
        f'<rect class="done" x="0" y="0" width="{width:.1f}" height="10" rx="5"/>',
    ]
    return _svg(WIDTH, 10, said, parts) + f'<p class="soft">{escape(said)}</p>'


def _svg(width: int, height: float, said: str, parts: Iterable[str]) -> str:
    return (
        f'<svg width="{width}" height="{height:g}" viewBox="0 0 {width} {height:g}" role="img"'
        f' aria-label="{escape(said)}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    shown = escape(text if len(text) <= 60 else text[:59] + "…")
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{shown}</text>'
