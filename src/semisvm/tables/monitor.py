"""Monitors on files: draw rows of each new file to label, and read the answers."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.campaign import Monitor
from semisvm.errors import fault
from semisvm.tables.batches import AnyPath, read_label_file, write_label_file
from semisvm.tables.certify import (
    ROW_COLUMNS,
    find_positive,
    load_begun,
    own_target,
    require_model,
    require_same,
    score_open_rows,
)
from semisvm.tables.column_checks import columns_that_moved
from semisvm.tables.files import load_table_model, model_digest
from semisvm.tables.methods import Tell, say_nothing


def open_monitor(
    model_path: AnyPath, state: AnyPath, *, positive: str | None = None, **options: Any
) -> Monitor:
    """Go on with the monitor in `state`, or begin one, by default of the model's promise."""
    if Path(state).exists():
        monitor = load_monitor(state)
        asked = options | ({} if positive is None else {"positive": positive})
        known = {"risk": monitor.risk, "positive": monitor.pos_label}
        require_same(monitor, state, known, asked)
        require_model(monitor, model_path)
        monitor.about["model"] = str(Path(model_path).resolve())
        return monitor
    model = load_table_model(model_path)
    label = find_positive(model, positive)
    options = own_target(model_path, positive, options)
    monitor = Monitor(
        0.0,  # the line of the scores that `predict` writes
        classes=model.classes.names,
        pos_label=label,
        **options,
    )
    monitor.about.update(
        {
            "model": str(Path(model_path).resolve()),
            "model_digest": model_digest(model_path),
            "target": model.target,
        }
    )
    return monitor


def load_monitor(state: AnyPath) -> Monitor:
    """Read the file of a monitor that was begun on files."""
    return load_begun(Monitor, state)


def draw_batch(
    monitor: Monitor,
    data: AnyPath,
    n: int,
    out: AnyPath,
    *,
    unlabeled: str | None = None,
    force: bool = False,
    tell: Tell = say_nothing,
) -> list[str]:
    """Score a new file, write rows of it to label, and return which columns moved."""
    model = load_table_model(monitor.about["model"])
    scores, is_open = score_open_rows(model, monitor.pos_label, data, unlabeled, tell)
    if not len(scores):
        raise fault(data, "there is no row without a label", "Give a file of new rows")
    drawn = monitor.draw(scores, n)
    places = np.flatnonzero(is_open)[drawn]
    rows = model.open(data)
    names = {*rows.names, model.target}
    row_column = next(name for name in ROW_COLUMNS if name not in names)
    moved = columns_that_moved(
        model.summary, model.schema.read(next(iter(model.chunks(rows))).frame)
    )
    monitor.batches[-1].about.update(
        {
            "data": str(Path(data).resolve()),
            "row_column": row_column,
            "numbers": (places + 1).tolist(),
            "columns_moved": moved,
        }
    )
    if drawn:
        shuffled = random.SystemRandom().sample(places.tolist(), len(places))
        labels = dict.fromkeys(shuffled, "")
        write_label_file(model, data, labels, out, row_column, force=force)
    return moved


def read_monitor_answers(monitor: Monitor, path: AnyPath, batch: int | None = None) -> int:
    """Read a filled-in file of a batch (from 1; None: the last); return its answers' number."""
    if not monitor.batches:
        raise fault(path, "the monitor has no batch yet", "Draw one first: semisvm monitor draw")
    if batch is not None and not 1 <= batch <= len(monitor.batches):
        raise ValueError(
            f"There is no batch {batch}: they are numbered 1 to {len(monitor.batches)}."
        )
    number = len(monitor.batches) - 1 if batch is None else batch - 1
    about = monitor.batches[number].about
    numbers = np.array(about["numbers"])
    order = np.argsort(numbers)
    is_one = len(monitor.batches) == 1
    answers, _ = read_label_file(
        path,
        numbers[order],
        monitor.classes or [],
        about["row_column"],
        monitor.about["target"],
        or_else="" if is_one else "; the number of an earlier batch is given by `batch`",
    )
    rows = [monitor.batches[number].drawn[order[place]] for place in answers]
    monitor.tell(rows, list(answers.values()), batch=number)
    return len(rows)
