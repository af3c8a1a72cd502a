"""The page of results, from the records alone."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from studies.records import read_cells, read_measured

TEXT = """# Results: certificates

Are promises kept, and what do they cost? Every number is from simulated campaigns on rows whose truth is known.
"""
TITLES = {
    "validity": "Promises that were ever false",
    "total_error": "Labels by machines: share of rows without a human label (labels used; promises missed)",
    "unseen": "Rows accepted unseen: campaign / one look at a uniform sample",
    "recall": "Rows read until a recall is proved, as a share of all",
    "audit": "Widths of intervals that hold at any time",
}
RECORDS = Path(__file__).parent / "records"


def page() -> str:
    """Return the page, with a section for each part that has a record."""
    sections = [TEXT]
    for part, title in TITLES.items():
        record = RECORDS / f"{part}.json"
        if record.exists():
            study = import_module(f"studies.certificates.{part}")
            question = (study.__doc__ or "").strip()
            table = study.table_of(read_cells(record))
            measured = "; ".join(read_measured(record))
            origin = f"Measured by `python -m studies.certificates {part}`: {measured}."
            sections += [f"## {title}", question, table, origin]
    return "\n\n".join(sections)
