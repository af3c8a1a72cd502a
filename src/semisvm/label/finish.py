"""The whole table, labeled: every row with its label, and with who gave it."""

from __future__ import annotations

from pathlib import Path

from semisvm.errors import DataError
from semisvm.label.session import LabelSession
from semisvm.tables.frame import as_written, has_no_label
from semisvm.tables.output import output_file

LABEL, SOURCE = "label", "labeled_by"
FILE, PERSON, MACHINE, NOBODY = "file", "person", "machine", "nobody"


def finish(session: LabelSession, out: str | Path, *, force: bool = False) -> dict[str, int]:
    """Write the table with two more columns; return how many rows each source has labeled."""
    pool, job = session.pool, session.job
    names = (LABEL, SOURCE)
    if any(name in pool.table for name in names):
        names = (f"final_{LABEL}", f"final_{SOURCE}")
    for name in names:
        if name in pool.table:
            raise DataError(f"{pool.path}: has columns {LABEL!r} and {name!r}. Rename one.")
    labels = [""] * len(pool.table)
    sources = [NOBODY] * len(pool.table)
    if job.target is not None and job.target in pool.table:
        has_label = ~has_no_label(pool.table[job.target], job.unlabeled)
        for row, word in enumerate(as_written(pool.table[job.target])):
            if has_label.iloc[row]:
                labels[row], sources[row] = word, FILE
    for place, word in session.procedure.machine_labels().items():
        labels[pool.rows[place]], sources[pool.rows[place]] = word, MACHINE
    for name, answer in session.answers.items():
        row = pool.rows[pool.place[name]]
        labels[row], sources[row] = answer or "", PERSON if answer else NOBODY
    table = pool.table.assign(**{names[0]: labels, names[1]: sources})
    with output_file(out, force=force) as file:
        table.to_csv(file, index=False, lineterminator="\n")
    return {who: sources.count(who) for who in (FILE, PERSON, MACHINE, NOBODY)}
