"""The files that a person fills in: rows of a campaign to label, and their answers; as CSV.

A file has the row's number in the data file (the first row below the header is 1), its cells, a
column that says how the row was drawn ("by campaign": such rows train a next model, and measure
nothing of it), and an empty label column. It has no score and no prediction, and its rows are
shuffled, so that the person is not led. In the label column

    a class name    the answer
    ?               "don't know"
    empty           no answer yet: the row is asked again
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.campaign import Campaign
from semisvm.disk import check_can_write, whole_file
from semisvm.errors import counted, fault, shorten, suggest
from semisvm.tables.certify import file_rows, read_cells, require_data
from semisvm.tables.delimited import open_delimited
from semisvm.tables.files import load_table_model
from semisvm.tables.model import Model
from semisvm.tables.training import BY_CAMPAIGN, name_drawn_column

AnyPath = str | Path
DONT_KNOW = "?"
# The column that says why a row is in a certified set: the first that the data do not have.
WHY_COLUMNS = ("why", "why_accepted", "semisvm_why")


def write_batch(
    campaign: Campaign,
    n: int,
    out: AnyPath,
    *,
    data: AnyPath | None = None,
    annotator: str | None = None,
    force: bool,
) -> int:
    """Write the next `n` rows to label, for an annotator; return how many there are: 0, and no
    file, if there is nothing left to ask.

    `data` is where the data file is now; by default where it was when the campaign began.
    """
    check_can_write(out, force=force)
    drawn = campaign.draw(n, annotator)
    shuffled = random.SystemRandom().sample(drawn, len(drawn))
    return _write_rows(campaign, dict.fromkeys(shuffled, ""), out, data, force)


def write_answers(
    campaign: Campaign, out: AnyPath, *, data: AnyPath | None = None, force: bool
) -> int:
    """Write the answered rows with their labels, "don't know" as none; return their number."""
    labels = {
        place: "" if label is None else str(label) for place, label in campaign.labels.items()
    }
    return _write_rows(campaign, labels, out, data, force)


def write_accepted(
    campaign: Campaign, out: AnyPath, *, data: AnyPath | None = None, force: bool
) -> int:
    """Write the rows of the certified set: the row's number in the data file, why it is in the
    set, and its cells. Return how many there are: 0, and no file, where nothing is certified.
    """
    model, source = _model_and_data(campaign, data)
    places, reasons = campaign.accepted()
    if not len(places) or not campaign.standing(with_forecasts=False).is_certified:
        return 0
    numbers = file_rows(campaign)[places]
    frame = read_cells(model, source, numbers)
    row_column = campaign.about["row_column"]
    why_column = next(name for name in WHY_COLUMNS if name not in {*model.names, row_column})
    frame.insert(0, why_column, list(map(str, reasons)))
    frame.insert(0, row_column, numbers + 1)
    with whole_file(out, force=force) as unfinished:
        frame.to_csv(unfinished, index=False)
    return len(frame)


def _write_rows(
    campaign: Campaign, labels: dict[int, str], out: AnyPath, data: AnyPath | None, force: bool
) -> int:
    """Write rows of the pool with these labels; a data file that has changed is refused."""
    model, source = _model_and_data(campaign, data)
    if labels:
        numbers = file_rows(campaign)[list(labels)].tolist()
        of_file = dict(zip(numbers, labels.values(), strict=True))
        write_label_file(model, source, of_file, out, campaign.about["row_column"], force=force)
    return len(labels)


def _model_and_data(campaign: Campaign, data: AnyPath | None) -> tuple[Model, Path]:
    source = Path(campaign.about["data"] if data is None else data)
    if data is None and not source.exists():
        reason = "the data file of the campaign is no longer there"
        raise fault(source, reason, "Say by `data` where it is now")
    require_data(campaign, source)
    return load_table_model(campaign.about["model"]), source


def write_label_file(
    model: Model,
    data: AnyPath,
    labels: Mapping[int, str],
    out: AnyPath,
    row_column: str,
    *,
    force: bool,
) -> None:
    """Write rows of a data file, by their places in it (from 0), with these labels or ""."""
    places = np.array(list(labels))
    frame = read_cells(model, data, places)
    frame.insert(0, row_column, places + 1)
    frame[name_drawn_column(model.names)] = BY_CAMPAIGN
    frame[model.target] = list(labels.values())
    with whole_file(out, force=force) as unfinished:
        frame.to_csv(unfinished, index=False)


def read_answers(campaign: Campaign, path: AnyPath, annotator: str | None = None) -> Counter[str]:
    """Read a filled-in file and tell the campaign; return what it held, in numbers."""
    about = campaign.about
    numbers = file_rows(campaign) + 1
    answers, n_empty = read_label_file(
        path, numbers, campaign.classes or [], about["row_column"], about["target"]
    )
    n_before = campaign.n_labels
    n_corrected = len(campaign.corrections)
    campaign.tell(list(answers), list(answers.values()), annotator)
    return Counter(
        n_new=campaign.n_labels - n_before,
        n_corrected=len(campaign.corrections) - n_corrected,
        n_empty=n_empty,
    )


def read_label_file(
    path: AnyPath,
    numbers: np.ndarray,
    classes: Sequence[Any],
    row_column: str,
    target: str,
    *,
    or_else: str = "",
) -> tuple[dict[int, str | None], int]:
    """Return the answers in a filled-in file, None for "don't know", by their place in `numbers`
    (the rows that may be answered, from 1, in ascending order), and how many rows are left empty.

    A cell that can't be understood is an error with its line. `or_else` is what else can help
    where a row can't be answered.
    """
    text = open_delimited(path)
    for column in (row_column, target):
        if column not in text.names:
            remedy = f"{suggest(column, text.names)}. Use the file that was written to be filled in"
            raise fault(path, f"there is no column {column!r}", remedy, line=1)
    columns = [text.names.index(row_column), text.names.index(target)]
    answers: dict[int, str | None] = {}
    n_empty = 0
    for line, cells in text.rows():
        number, label = (cells[column].strip() for column in columns)
        row = _place_of(path, number, numbers, line, or_else)
        if not label:
            n_empty += 1
            continue
        if label != DONT_KNOW and label not in classes:
            remedy = (
                f'{suggest(label, classes)}; write "{DONT_KNOW}" if you don\'t know, or leave the'
                " cell empty"
            )
            raise fault(path, f"row {number}: {shorten(label)} is not a class", remedy, line=line)
        answer = None if label == DONT_KNOW else label
        if answers.get(row, answer) != answer:
            reason = f"row {number} has two different answers in this file"
            remedy = (
                "Keep one of them: the first, or that of the majority, by a rule fixed beforehand"
            )
            raise fault(path, reason, remedy, line=line)
        answers[row] = answer
    return answers, n_empty


def _place_of(path: AnyPath, cell: str, numbers: np.ndarray, line: int, or_else: str) -> int:
    """Return the place of a row among those that may be answered, by its number in the file."""
    number = int(cell) if cell.isdecimal() else -1
    place = int(np.searchsorted(numbers, number))
    if place < len(numbers) and numbers[place] == number:
        return place
    reason = (
        f"row {number} is not one of the rows of the data file that can be answered"
        f" ({counted(len(numbers), 'row')})"
    )
    if number < 0:
        reason = f"{shorten(cell)} is not a row number"
    remedy = f"Leave the column of row numbers as it was written{or_else}"
    raise fault(path, reason, remedy, line=line)
