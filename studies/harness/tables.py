"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, n_text: int | None = None
) -> str:
    """Return a Markdown table; bars inside cells are escaped.

    Parameters
    ----------
    head : sequence of str
        The names of the columns.
    rows : iterable of sequences of str
        The cells.
    n_text : int, optional
        If given, columns are padded to equal width, so that the table also reads well as plain
        text: the first `n_text` columns are text, aligned left; the others are numbers, aligned
        right.
    """
    lines = [[cell.replace("|", "\\|") for cell in line] for line in (head, *rows)]
    if n_text is None:
        return "\n".join(map(_join, [lines[0], ["---"] * len(head), *lines[1:]]))
    widths = [max(3, *(len(line[k]) for line in lines)) for k in range(len(head))]
    rule = [
        "-" * width if k < n_text else "-" * (width - 1) + ":" for k, width in enumerate(widths)
    ]
    padded = [
        [
            cell.ljust(width) if k < n_text else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    ]
    return "\n".join(map(_join, [padded[0], rule, *padded[1:]]))


def _join(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
