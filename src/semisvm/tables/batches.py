"""The files that a person fills in: rows of a campaign to label, and their answers.

A file has the row's number in the data file (the first row below the header is 1), its cells, a column that says how
the row was drawn ("by campaign": such rows train a next model, and measure nothing of it), and an empty label column.
It has no score and no prediction, and its rows are shuffled, so that the person is not led. In the label column

    a class name    the answer
    ?               "don't know"
    empty           no answer yet: the row is asked again

`semisvm.tables.exchange` has the same as JSON for labeling tools.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from semisvm.campaign import Campaign
from semisvm.errors import fault, shorten, suggest
from semisvm.tables.certify import file_rows, load_model, read_cells, require_data
from semisvm.tables.delimited import open_delimited
from semisvm.tables.disk import check_can_write, whole_file
from semisvm.tables.drawn import BY_CAMPAIGN, name_drawn_column
from semisvm.tables.exchange import DONT_KNOW, BatchFormat, BatchRow, as_json_text, read_json_answers


@dataclass(frozen=True)
class Told:
    """What was read from a file of answers: how many are new, how many changed, rows that were left empty."""

    n_new: int
    n_corrected: int
    n_empty: int


def write_batch(
    campaign: Campaign,
    n: int,
    out: str | Path,
    *,
    data: str | Path | None = None,
    format: BatchFormat = "csv",
    force: bool,
) -> int:
    """Write the next rows to label; return how many there are.

    Parameters
    ----------
    campaign : Campaign
        One that `start_campaign` began.
    n : int
        How many rows.
    out : path
        The file.
    data : path, optional
        Where the data file is now; by default where it was.
    format : {"csv", "label-studio", "argilla"}, default="csv"
        A CSV file, or the JSON of a labeling tool (`semisvm.tables.exchange`).
    force : bool
        Whether an existing file may be replaced.

    Returns
    -------
    int
        The number of rows; 0, and no file, if there is nothing left to ask.
    """
    check_can_write(out, force=force)
    rows = _batch_rows(campaign, campaign.draw(n), data)
    random.SystemRandom().shuffle(rows)
    return _write_rows(campaign, rows, out, format, force)


def write_answers(
    campaign: Campaign,
    out: str | Path,
    *,
    data: str | Path | None = None,
    format: BatchFormat = "csv",
    force: bool,
) -> int:
    """Write the rows that were answered, with their labels: to train a next model on, or for a labeling tool.

    Parameters are those of `write_batch`; "don't know" is written as "?" for labeling tools, and empty (unlabeled) in
    the CSV file, which `semisvm fit` reads. The rows are marked as drawn "by campaign".

    Returns
    -------
    int
        The number of rows; 0, and no file, if nothing was answered.
    """
    check_can_write(out, force=force)
    rows = _batch_rows(campaign, list(campaign.labels), data)
    unknown = "" if format == "csv" else DONT_KNOW
    said = [unknown if label is None else str(label) for label in campaign.labels.values()]
    labeled = [replace(row, label=label) for row, label in zip(rows, said, strict=True)]
    return _write_rows(campaign, labeled, out, format, force)


def _batch_rows(campaign: Campaign, places: list[int], data: str | Path | None) -> list[BatchRow]:
    """Return rows of the pool with their cells; a data file that has changed is refused."""
    source = Path(campaign.about["data"] if data is None else data)
    require_data(campaign, source)
    numbers = file_rows(campaign)[np.array(places, dtype=np.intp)]
    cells = read_cells(load_model(campaign.about["model"]), source, numbers) if places else []
    return [BatchRow(number + 1, own, BY_CAMPAIGN) for number, own in zip(numbers.tolist(), cells, strict=True)]


def _write_rows(campaign: Campaign, rows: list[BatchRow], out: str | Path, format: BatchFormat, force: bool) -> int:
    if not rows:
        return 0
    import pandas

    target, name = campaign.about["target"], campaign.about["row_column"]
    with whole_file(out, force=force) as unfinished:
        if format == "csv":
            model = load_model(campaign.about["model"])
            drawn = name_drawn_column(getattr(model.encoder, "names", ()))
            lines = [{name: row.number, **row.cells, drawn: row.drawn, target: row.label} for row in rows]
            pandas.DataFrame(lines).to_csv(unfinished, index=False)
        else:
            unfinished.write_text(as_json_text(rows, target, format), encoding="utf-8")
    return len(rows)


def read_answers(campaign: Campaign, path: str | Path) -> Told:
    """Read a filled-in file and tell the campaign; a cell that can't be understood is an error with its line.

    Parameters
    ----------
    campaign : Campaign
        The campaign.
    path : path
        A CSV file with the columns of a batch (others are ignored), or a .json export of Label Studio or Argilla.

    Returns
    -------
    Told
        What was read.
    """
    is_json = Path(path).suffix.lower() == ".json"
    found = _json_answers(campaign, path) if is_json else _csv_answers(campaign, path)
    numbers = file_rows(campaign) + 1
    classes = campaign.classes or []
    answers: dict[int, str | None] = {}
    n_empty = 0
    for line, number, label in found:
        row = _row_number(path, number, numbers, line)
        if not label:
            n_empty += 1
            continue
        if label != DONT_KNOW and label not in classes:
            remedy = f'{suggest(label, classes)}; write "{DONT_KNOW}" if you don\'t know, or leave the cell empty'
            raise fault(path, f"row {number}: {shorten(label)} is not a class", remedy, line=line)
        answer = None if label == DONT_KNOW else label
        if answers.get(row, answer) != answer:
            remedy = "Keep one of them: the first, or that of the majority, by a rule fixed beforehand"
            raise fault(path, f"row {number} has two different answers in this file", remedy, line=line)
        answers[row] = answer
    n_before, n_corrected = campaign.n_labels, len(campaign.corrections)
    campaign.tell(list(answers), list(answers.values()))
    return Told(campaign.n_labels - n_before, len(campaign.corrections) - n_corrected, n_empty)


def _csv_answers(campaign: Campaign, path: str | Path) -> Iterator[tuple[int | None, str, str]]:
    """Yield (line, row number, answer) of a CSV file; the answer is "" where there is none."""
    text = open_delimited(path)
    target, name = campaign.about["target"], campaign.about["row_column"]
    for column in (name, target):
        if column not in text.names:
            remedy = f"{suggest(column, text.names)}. Use the file that the campaign wrote"
            raise fault(path, f"there is no column {column!r}", remedy, line=1)
    at_row, at_label = text.names.index(name), text.names.index(target)
    for line, cells in text.rows():
        yield line, cells[at_row].strip(), cells[at_label].strip()


def _json_answers(campaign: Campaign, path: str | Path) -> Iterator[tuple[int | None, str, str]]:
    for number, answer in read_json_answers(path, campaign.about["target"]):
        yield None, number, answer


def _row_number(path: str | Path, cell: str, numbers: np.ndarray, line: int | None) -> int:
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
