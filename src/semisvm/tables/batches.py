"""The files that a person fills in: rows of a campaign to label, and their answers.

A file has the row's number in the data file (the first row below the header is 1), its cells, a column that says how
the row was drawn ("by campaign": such rows train a next model, and measure nothing of it), and an empty label column.
It has no score and no prediction, and its rows are shuffled, so that the person is not led. In the label column

    a class name    the answer
    ?               "don't know"
    empty           no answer yet: the row is asked again
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.campaign import Campaign
from semisvm.errors import fault, shorten, suggest
from semisvm.tables.certify import file_digest, file_rows, load_model, require_digest
from semisvm.tables.delimited import open_delimited
from semisvm.tables.disk import check_can_write, whole_file
from semisvm.tables.drawn import BY_CAMPAIGN, name_drawn_column
from semisvm.tables.model import Model

DONT_KNOW = "?"


@dataclass(frozen=True)
class Told:
    """What was read from a file of answers: how many are new, how many changed, rows that were left empty."""

    n_new: int
    n_corrected: int
    n_empty: int


def write_batch(campaign: Campaign, n: int, out: str | Path, *, data: str | Path | None = None, force: bool) -> int:
    """Write the next rows to label as a CSV file; return how many there are.

    Parameters
    ----------
    campaign : Campaign
        One that `start_campaign` began.
    n : int
        How many rows.
    out : path
        The CSV file.
    data : path, optional
        Where the data file is now; by default where it was.
    force : bool
        Whether an existing file may be replaced.

    Returns
    -------
    int
        The number of rows; 0, and no file, if there is nothing left to ask.
    """
    check_can_write(out, force=force)
    source = Path(campaign.about["data"] if data is None else data)
    require_digest(source, file_digest(source), campaign.about["data_digest"], "the data file")
    rows = campaign.draw(n)
    if not rows:
        return 0
    import pandas

    target = campaign.about["target"]
    numbers = file_rows(campaign)[rows]
    model = load_model(campaign.about["model"])
    cells = _read_cells(model, source, numbers, target)
    lines = list(zip((numbers + 1).tolist(), cells, strict=True))
    random.SystemRandom().shuffle(lines)
    name = campaign.about["row_column"]
    drawn = {name_drawn_column(getattr(model.encoder, "names", ())): BY_CAMPAIGN}
    frame = pandas.DataFrame([{name: number, **own, **drawn, target: ""} for number, own in lines])
    with whole_file(out, force=force) as unfinished:
        frame.to_csv(unfinished, index=False)
    return len(lines)


def read_answers(campaign: Campaign, path: str | Path) -> Told:
    """Read a filled-in file and tell the campaign; a cell that can't be understood is an error with its line.

    Parameters
    ----------
    campaign : Campaign
        The campaign.
    path : path
        A CSV file with the columns of a batch; others are ignored.

    Returns
    -------
    Told
        What was read.
    """
    text = open_delimited(path)
    target = campaign.about["target"]
    name = campaign.about["row_column"]
    for column in (name, target):
        if column not in text.names:
            remedy = f"{suggest(column, text.names)}. Use the file that the campaign wrote"
            raise fault(path, f"there is no column {column!r}", remedy, line=1)
    at_row, at_label = text.names.index(name), text.names.index(target)
    numbers = file_rows(campaign) + 1
    classes = campaign.classes or []
    answers: dict[int, str | None] = {}
    n_empty = 0
    for line, cells in text.rows():
        label = cells[at_label].strip()
        row = _row_number(path, cells[at_row], numbers, line)
        if not label:
            n_empty += 1
            continue
        if label != DONT_KNOW and label not in classes:
            remedy = f'{suggest(label, classes)}; write "{DONT_KNOW}" if you don\'t know, or leave the cell empty'
            raise fault(path, f"{shorten(label)} is not a class", remedy, line=line)
        answer = None if label == DONT_KNOW else label
        if answers.get(row, answer) != answer:
            reason = f"row {cells[at_row].strip()} has two different answers in this file"
            raise fault(path, reason, "Keep one of them", line=line)
        answers[row] = answer
    n_before, n_corrected = campaign.n_labels, len(campaign.corrections)
    campaign.tell(list(answers), list(answers.values()))
    return Told(campaign.n_labels - n_before, len(campaign.corrections) - n_corrected, n_empty)


def _read_cells(model: Model, data: Path, numbers: np.ndarray, target: str) -> list[dict[str, Any]]:
    """Return the cells of some rows of a file as they are written, in the order of `numbers`."""
    rows = model.open(data)
    found: dict[int, dict[str, Any]] = {}
    if rows.names is None:
        return [{} for _ in numbers]
    wanted = np.sort(numbers)
    for chunk in rows.chunks():
        low, high = np.searchsorted(wanted, [chunk.start, chunk.start + len(chunk)])
        for number in wanted[low:high].tolist():
            assert chunk.frame is not None  # a file with named columns
            own = chunk.frame.iloc[number - chunk.start]
            found[number] = {str(name): cell for name, cell in own.items() if name != target}
    return [found[number] for number in numbers.tolist()]


def _row_number(path: str | Path, cell: str, numbers: np.ndarray, line: int) -> int:
    """Return the place in the pool of a row whose number in the file is given; `numbers` are those of the pool."""
    try:
        number = int(cell.strip())
    except ValueError:
        reason = f"{shorten(cell)} is not a row number"
        raise fault(path, reason, "Leave the column of row numbers as the campaign wrote it", line=line) from None
    place = int(np.searchsorted(numbers, number))
    if place == len(numbers) or numbers[place] != number:
        reason = f"row {number} is not one of the {len(numbers)} rows of the data file that had no label"
        raise fault(path, reason, "Leave the column of row numbers as the campaign wrote it", line=line)
    return place
