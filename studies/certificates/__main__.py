"""Are promises kept, and what do they cost?

python -m studies.certificates                         # all parts, a few seeds
python -m studies.certificates total_error --seeds 1000 --store
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from studies.records import OUT, describe_run, write_record
from studies.running import make_parser, run_study

PARTS = ("validity", "total_error", "unseen", "recall", "audit")
RECORDS = Path(__file__).parent / "records"


def main() -> None:
    """Run parts of the study, and print a table of each."""
    parser = make_parser("studies.certificates", __doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=" ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=5, help="campaigns of each cell")
    options = parser.parse_args()
    for part in options.parts or PARTS:
        study = import_module(f"studies.certificates.{part}")
        journal = OUT / f"certificates-{part}.jsonl"
        found = run_study(study.run_cell, study.cells(options.seeds), journal, options.workers)
        lines = study.means_of(found)
        print(f"\n{part}\n\n{study.table_of(lines)}", flush=True)
        if options.store:
            write_record([describe_run()], lines, RECORDS / f"{part}.json")


if __name__ == "__main__":
    main()
