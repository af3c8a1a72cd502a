"""Does training stay inside a small kernel cache when the whole kernel would need seven times as
much?

All 60,000 rows of MNIST (odd against even, C=10, gamma=0.125): the kernel matrix in float32 takes
13,700 MiB, the cache gets 2,000. Printed: time, peak memory, and the memory that was held when the
fit began.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from studies.harness.fresh_process import call_fresh
from studies.harness.machine import describe_session
from studies.harness.records import Journal
from studies.speed.runs import make_parser
from studies.speed.supervised import make_task


def main(argv: list[str] | None = None) -> int:
    """Run one fit in a fresh process and print what it took; return the exit status."""
    parser = make_parser("memory", __doc__)
    parser.add_argument(
        "--cache", type=float, default=2000, metavar="MIB", help="kernel cache (default 2000)"
    )
    parser.add_argument(
        "--solver", default="ours", help="as in studies.speed.supervised (default ours)"
    )
    parser.add_argument(
        "--rows", type=int, metavar="N", help="N rows instead of all, to try the benchmark"
    )
    parser.add_argument(
        "--limit", type=float, default=3600, metavar="S", help="seconds (default 3600)"
    )
    options = parser.parse_args(argv)
    size = f"{options.rows} rows" if options.rows else "all"
    task = make_task("mnist", size, options.solver, options.cache)
    with tempfile.TemporaryDirectory() as folder:
        rows_file = str(Path(folder) / "rows.npz")
        answer = call_fresh("studies.speed.paper_sets:write_part", "mnist", size, rows_file)
        if answer["outcome"] == "done":
            n_rows = answer["result"][0]
            answer = call_fresh("studies.speed.supervised:fit_once", task, rows_file, options.limit)
    ended = {"outcome": answer["outcome"]} | answer.get("result", {})
    if ended["outcome"] != "done":
        print(f"{options.solver}: {ended['outcome']}. {answer.get('why', '')}", file=sys.stderr)
        return 1
    with Journal(options.out, describe_session()) as journal:
        journal.append({"task": task, "seed": 0} | ended)
    print(report(options, n_rows, ended["measures"]))
    return 0


def report(options: argparse.Namespace, n_rows: int, measures: dict[str, Any]) -> str:
    """Return the answer in a few lines."""
    before = measures["rss_before_mib"]
    peak = measures["rss_peak_mib"]
    whole = 4 * n_rows**2 / 2**20
    return (
        f"{options.solver}, {n_rows:,} rows of mnist\nkernel  {whole:,.0f} MiB as a whole, in"
        f" float32; cache {options.cache:,.0f} MiB\ntime    {measures['wall_s']:.1f} s"
        f" ({measures['cpu_s']:.1f} s of processor time)\nmemory  {peak:,.0f} MiB at the peak,"
        f" {before:,.0f} before: {peak - before:,.0f} for the fit\nresult  {measures['n_sv']:,}"
        f" support vectors, objective {measures['dual_objective']:.6g}, gap {measures['gap']:.1e}"
    )


if __name__ == "__main__":
    sys.exit(main())
