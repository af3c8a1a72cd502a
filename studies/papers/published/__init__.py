"""The papers' tables as data: values, spreads and where they are printed. A file a paper, and no code but reading.

Tables are kept as text that can be held against the paper, and read by `read_table`.
"""

from __future__ import annotations


def read_table(text: str) -> list[list[str]]:
    """Return the words of each line that has some, without the bars that are there for the eye."""
    rows = [line.replace("|", " ").split() for line in text.strip().splitlines()]
    return [row for row in rows if row]
