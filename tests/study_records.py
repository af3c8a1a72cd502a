"""Records of studies made by hand, and what comes of them."""

from studies.papers.compare import compare
from studies.papers.results import summarize_tables
from studies.papers.tasks import Table

SESSION = {
    "machine": {"cpu": "a processor", "cores": 2, "memory_gib": 4.0, "system": "Linux"},
    "versions": {"python": "3.12"},
    "commit": "abc",
    "source": "def",
}


def done_record(task, seed, measures, curves=None):
    """Return the record of a finished cell; it took one second."""
    made = {
        "task": task.as_dict(),
        "seed": seed,
        "outcome": "done",
        "date": "2026-01-02T00:00:00",
    } | SESSION
    return made | {"measures": {"seconds": 1.0} | measures} | ({"curves": curves} if curves else {})


def results_of(lines, records):
    """Return the results of a table with these lines."""
    return summarize_tables([Table("t", "", tuple(lines))], records)


def compare_records(lines, records):
    """Return the comparisons of these lines."""
    return compare(lines, results_of(lines, records))
