"""Rows to label in a terminal: one row fills the screen, one key answers it.

Progress and keys are always on the screen. A row that does not fit between them is cut, and the
space bar shows all of it.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from semisvm.campaign.labeling import LabelSession, RowToLabel

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

LONGEST_CELL = 2_000  # characters that are shown of one cell at first
UNSURE, LATER, UNDO, QUIT, MORE = "?", "l", "u", "q", " "
ENDS = (QUIT, "\x03", "\x04", "")  # Ctrl-C, Ctrl-D, no more input
UNDOES = (UNDO, "\x08", "\x7f")  # backspace
LINES_AROUND_A_ROW = 7  # progress, rules, keys (which may take two lines) and a hint
FEWEST_LINES = 5
SMALL_PICTURE = 16  # pixels; a smaller picture is drawn twice as large


def ask_in_terminal(session: LabelSession, console: Console, read_key: Callable[[], str]) -> None:
    """Ask for one row after the other until the person quits or nothing is left; `read_key`
    returns the next key.
    """
    hint = ""
    is_whole = False
    while (row := session.row()) is not None:
        show_row(session, console, row, hint, is_whole)
        try:
            key = read_key().lower()
        except (EOFError, KeyboardInterrupt):
            return
        hint = ""
        is_whole = key == MORE and not is_whole
        if key in ENDS:
            return
        if key in session.keys:
            session.answer(row.place, session.keys[key])
        elif key == UNSURE:
            session.answer(row.place, None)
        elif key == LATER:
            session.postpone(row.place)
        elif key in UNDOES:
            hint = "" if session.undo() else "There is no answer to take back."
        elif key != MORE:
            hint = "This key has no meaning here."
    console.print("There is nothing left to label.")


def show_row(
    session: LabelSession, console: Console, row: RowToLabel, hint: str, is_whole: bool
) -> None:
    """Print a row between the progress and the keys; `is_whole`: all of it, however long."""
    from rich.rule import Rule
    from rich.segment import Segment, Segments
    from rich.text import Text

    progress = session.progress()
    room = max(console.height - LINES_AROUND_A_ROW, FEWEST_LINES)
    lines = [
        line
        for part in _parts(session, row, is_whole)
        for line in console.render_lines(part, pad=False)
    ]
    is_cut = not is_whole and (len(lines) > room or _has_more(session, row))
    shown = lines if is_whole else lines[:room]
    console.clear()
    console.print(Text(progress.sentence, style="bold green" if progress.is_certified else "bold"))
    console.print(Rule(Text(f"row {row.number:,} of {session.source}"), align="left"))
    console.print(Segments([piece for line in shown for piece in [*line, Segment.line()]]), end="")
    console.print(Rule())
    keys = [f"[{key}] {printable(name)}" for key, name in session.keys.items()]
    keys += [f"[{UNSURE}] don't know", f"[{LATER}] later"]
    keys += [f"[{UNDO}] undo"] if progress.can_undo else []
    keys += ["[space] all of it"] if is_cut else []
    keys += [f"[{QUIT}] quit"]
    unbroken = [key.replace(" ", "\N{NO-BREAK SPACE}") for key in keys]
    said = textwrap.fill("   ".join(unbroken), console.width, break_on_hyphens=False)
    console.print(Text(said.replace("\N{NO-BREAK SPACE}", " ")))
    if hint:
        console.print(Text(hint, style="yellow"))


def _has_more(session: LabelSession, row: RowToLabel) -> bool:
    return any(cell.is_extra or len(cell.value) > LONGEST_CELL for cell in session.shown(row))


def _parts(session: LabelSession, row: RowToLabel, is_whole: bool) -> list[RenderableType]:
    """Pictures and texts one below the other, and a table of the other cells."""
    from rich.table import Table
    from rich.text import Text

    cells = [cell for cell in session.shown(row) if is_whole or not cell.is_extra]
    if not cells:
        return [Text("The file has no named columns: find the row by its number.")]
    parts: list[RenderableType] = []
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True, max_width=30)
    grid.add_column(overflow="fold")
    for cell in cells:
        name = Text(printable(cell.name), style="dim")
        if cell.pixels is not None:
            parts += [name, draw_pixels(cell.pixels)]
        elif cell.kind == "text":
            parts += [name, Text(printable(cell.value, is_whole), overflow="fold")]
        elif cell.kind == "image":
            grid.add_row(name, Text(_image_words(row.cells.get(cell.name))))
        else:
            grid.add_row(name, Text(printable(cell.value, is_whole)))
    return [*parts, grid] if grid.rows else parts


def _image_words(cell: object) -> str:
    is_path = isinstance(cell, str) and len(cell) < 300 and not cell.startswith("data:")
    return printable(str(cell)) if is_path else "(a picture, which the page shows)"


def draw_pixels(pixels: NDArray[np.uint8]) -> Text:
    """Draw a picture by characters, each of which is two pixels, one above the other."""
    from rich.text import Text

    colors = pixels if pixels.ndim == 3 else np.repeat(pixels[:, :, np.newaxis], 3, axis=2)
    if max(colors.shape[:2]) < SMALL_PICTURE:
        colors = colors.repeat(2, axis=0).repeat(2, axis=1)
    if len(colors) % 2:
        colors = np.vstack([colors, np.zeros_like(colors[:1])])
    drawn = Text()
    for upper, lower in zip(colors[::2], colors[1::2], strict=True):
        for above, below in zip(upper, lower, strict=True):
            front = "rgb({},{},{})".format(*above)
            back = "rgb({},{},{})".format(*below)
            drawn.append("▀", style=f"{front} on {back}")
        drawn.append("\n")
    return drawn


def printable(text: str, is_whole: bool = False) -> str:
    """Return a text without characters that would move the cursor or change colors; a long one
    is cut.
    """
    shown = text if is_whole or len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + " ..."
    return "".join(
        (
            char
            if char in "\n\t" or unicodedata.category(char)[0] != "C"
            else "\N{REPLACEMENT CHARACTER}"
        )
        for char in shown
    )
