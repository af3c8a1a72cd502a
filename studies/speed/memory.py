"""Does training stay inside a small kernel cache when the whole kernel would need seven times as much?

All 60,000 rows of MNIST (odd against even, C=10, gamma=0.125): the kernel matrix in float32 takes 13,700
MiB, the cache is given 2,000. Printed: time, peak memory, and memory when the fit began.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from studies.speed.runner import prepare_rows, run_child
from studies.speed.solvers import parse_solver
from studies.speed.tasks import TASKS, Cell


def main(argv=None):
    """Run one fit in a fresh process and print what it took; return the exit status."""
    options = parse_options(argv)
    try:
        n_rows, answer = run_one(options)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    if answer["outcome"] != "done":
        print(f"{options.solver}: {answer['outcome']}. {answer.get('why', '')}", file=sys.stderr)
        return 1
    print(report(options, n_rows, answer["measures"]))
    return 0


def run_one(options):
    """Prepare the rows and fit once in a fresh process; return the number of rows and the answer."""
    cell = Cell("mnist", f"{options.rows} rows" if options.rows else "all")
    task = TASKS[cell.task]
    with tempfile.TemporaryDirectory() as folder:
        rows_file = Path(folder) / "rows.npz"
        n_rows, _ = prepare_rows(cell, rows_file)
        spec = {
            "solver": options.solver,
            "rows_file": str(rows_file),
            "params": {"C": task.C, "gamma": task.gamma, "tol": 1e-3, "cache_mb": options.cache},
            "limit_s": options.limit,
        }
        return n_rows, run_child(spec)


def parse_options(argv):
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.speed.memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cache", type=float, default=2000, metavar="MIB", help="kernel cache (default 2000)")
    parser.add_argument("--solver", default="ours", help="as in studies.speed.supervised (default ours)")
    parser.add_argument("--rows", type=int, metavar="N", help="N rows instead of all, to try the harness")
    parser.add_argument("--limit", type=float, default=3600, metavar="S", help="seconds (default 3600)")
    options = parser.parse_args(argv)
    try:
        parse_solver(options.solver)
    except ValueError as error:
        parser.error(str(error))
    return options


def report(options, n_rows, measures):
    """Return the answer in a few lines."""
    before, peak = measures["rss_before_mib"], measures["rss_peak_mib"]
    whole = 4 * n_rows**2 / 2**20
    return (
        f"{options.solver}, {n_rows:,} rows of mnist\n"
        f"kernel  {whole:,.0f} MiB whole, in float32; cache {options.cache:,.0f} MiB\n"
        f"time    {measures['wall_s']:.1f} s ({measures['cpu_s']:.1f} s of processor)\n"
        f"memory  {peak:,.0f} MiB at the peak, {before:,.0f} before: {peak - before:,.0f} for the fit\n"
        f"result  {measures['n_sv']:,} support vectors, objective {measures['dual_objective']:.6g}, "
        f"gap {measures['gap']:.1e}"
    )


if __name__ == "__main__":
    sys.exit(main())
