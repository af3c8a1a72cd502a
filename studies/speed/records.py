"""Records of runs: one JSON object a line, appended and never changed.

A record holds what was run (`cell`, `solver`, `form`, `params`, `repeat`), where and with what (`machine`,
`versions`, `commit`, `source`, `date`), how it ended (`outcome`), and `measures`, where it ended well.
"""

import json
from datetime import UTC, datetime

from studies.speed.machine import describe_machine, describe_source, describe_versions


def describe_session():
    """Return the part that all records of a session share."""
    return {"machine": describe_machine(), "versions": describe_versions()} | describe_source()


def append_record(path, record):
    """Date a record and append it as one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"date": datetime.now(UTC).isoformat(timespec="seconds")} | record)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def read_records(path):
    """Return all records of a file, oldest first; none where there is no file.

    A last line cut short by a killed process is left out.
    """
    if not path.exists():
        return []
    records = []
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            if number < len(lines):
                raise ValueError(f"{path.name}, line {number}, is not a record.") from None
    return records


def same_session(record, session):
    """Tell whether a record was made from the same source on the same machine."""
    return all(record[key] == session[key] for key in ("commit", "source", "machine"))


def run_key(record):
    """Return what makes a run: two records with equal keys measured the same thing, whatever the limit."""
    cell = record["cell"]
    params = tuple(sorted(item for item in record["params"].items() if item[0] != "limit_s"))
    return cell["task"], cell["size"], params, record["solver"], record["repeat"]


def cell_key(record):
    """Return what the runs that are compared with each other have in common: all but solver and repeat."""
    return run_key(record)[:3]
