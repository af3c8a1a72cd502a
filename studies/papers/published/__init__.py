"""The papers' tables as data: values, spreads and where they are printed. One file per paper, with
no code but reading.

Tables are kept as text that can be compared with the paper, and read by `read_table`.
"""

from __future__ import annotations


def read_table(text: str) -> list[list[str]]:
    """Return the words of each line that has some, without the bars between columns."""
    rows = [line.replace("|", " ").split() for line in text.strip().splitlines()]
    return [row for row in rows if row]
