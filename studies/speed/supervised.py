"""How fast, and in how much memory, is the supervised RBF C-SVC trained on the papers' four sets?

Ours beside LIBSVM (scikit-learn) and oneDAL (scikit-learn-intelex, float32 and float64), on 10% of the
rows and on all of them, with the same C, gamma, tolerance and kernel cache. Each run is one fit in a
process of its own, after a warm-up on a small problem; repetitions alternate between the solvers; medians
are reported. Every run is appended as a record, so a benchmark that was stopped can be resumed, and the
table can be made again from the records alone.
"""

import argparse
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from studies.speed.records import append_record, cell_key, describe_session, read_records, same_session
from studies.speed.runner import prepare_rows, run_child
from studies.speed.schedule import interleave
from studies.speed.solvers import DEFAULT_FORM, parse_solver
from studies.speed.table import render
from studies.speed.tasks import TASKS, Cell

RESULTS = Path(__file__).resolve().parent / "results" / "supervised.jsonl"
TOL = 1e-3


def main(argv=None):
    """Run the benchmark and print its table; return the exit status."""
    options = parse_options(argv)
    session = describe_session()
    print(headline(session, options))
    status = 0
    try:
        for cell in options.cells:
            run_cell(cell, options, session)
    except KeyboardInterrupt:
        print("\nStopped. What was measured so far:")
        status = 130
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    table = render([record for record in read_records(options.out) if same_session(record, session)])
    print(f"\n{table}")
    if options.markdown:
        options.markdown.write_text(table + "\n", encoding="utf-8")
    return status


def parse_options(argv):
    """Return the command line's options, with `cells` made of sets and sizes."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.speed.supervised",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--sets", nargs="+", choices=TASKS, default=list(TASKS), metavar="SET", help=" ".join(TASKS))
    add("--sizes", nargs="+", choices=("10%", "all"), default=["10%", "all"], metavar="SIZE", help="10%% all")
    add("--rows", type=int, metavar="N", help="N rows of each set instead, to try the harness")
    add("--solvers", nargs="+", type=_solver, default=list(DEFAULT_FORM), metavar="SOLVER", help=SOLVER_HELP)
    add("--repeats", type=int, metavar="N", help="runs of each solver (default: 5 at 10%%, 3 on all rows)")
    add("--cache", type=float, default=8000, metavar="MIB", help="kernel cache, for all alike (default 8000)")
    add("--limit", type=float, default=600, metavar="S", help="seconds a fit may take (default 600)")
    add("--quick", action="store_true", help="the 10%% cells, once")
    add("--resume", action="store_true", help="skip runs that have a record from the same source and machine")
    add("--out", type=Path, default=RESULTS, metavar="FILE", help="records are appended here")
    add("--markdown", type=Path, metavar="FILE", help="write the table here too")
    options = parser.parse_args(argv)
    if options.quick:
        options.sizes, options.repeats = ["10%"], options.repeats or 1
    if options.rows:
        options.sizes = [f"{options.rows} rows"]
    options.cells = [Cell(task, size) for size in options.sizes for task in options.sets]
    return options


SOLVER_HELP = f"{' '.join(DEFAULT_FORM)}; with an input form as in libsvm:csr64"


def _solver(text):
    try:
        parse_solver(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def headline(session, options):
    """Return what the reader must know before the first number."""
    machine = session["machine"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB; "
        f"commit {session['commit']}\n"
        f"tol {TOL:g}, kernel cache {options.cache:g} MiB, limit {options.limit:g} s a fit. "
        "Each run: a fresh process, a warm-up fit on 1,200 rows (not timed), then one timed fit.\n"
    )


def run_cell(cell, options, session):
    """Make all runs of one cell that are still to be made, appending a record for each."""
    params = _params(cell, options)
    done = _records_to_keep(cell, params, options, session)
    # A solver that once failed or passed the limit here is not asked again.
    out_of_race = {record["solver"] for record in done.values() if record["outcome"] != "done"}
    plan = interleave(options.solvers, cell.size, options.repeats)
    todo = [(repeat, solver) for repeat, solver in plan if (solver, repeat) not in done]
    if all(solver in out_of_race for _, solver in todo):
        return
    with tempfile.TemporaryDirectory() as folder:
        rows_file = Path(folder) / "rows.npz"
        described = cell.describe(prepare_rows(cell, rows_file))
        for repeat, solver in todo:
            if solver in out_of_race:
                continue
            answer = run_child({"solver": solver, "rows_file": str(rows_file), **_spec(params)})
            print(f"{cell!s:16} {solver:12} {repeat + 1}  {_summary(answer)}", flush=True)
            if answer["outcome"] != "done":
                out_of_race.add(solver)
            if answer["outcome"] == "unavailable":  # nothing was measured, and nothing will be in other cells
                options.solvers.remove(solver)
            else:
                what = {"cell": described, "solver": solver, "form": parse_solver(solver)[1]}
                append_record(options.out, session | what | {"params": params, "repeat": repeat} | answer)


def _params(cell, options):
    task = TASKS[cell.task]
    return {
        "C": task.C,
        "gamma": task.gamma,
        "tol": TOL,
        "cache_mb": options.cache,
        "limit_s": options.limit,
    }


def _spec(params):
    """Return the parameters as `studies.speed.child` takes them: the solver's apart from the harness's."""
    solver_params = {name: value for name, value in params.items() if name != "limit_s"}
    return {"params": solver_params, "limit_s": params["limit_s"]}


def _records_to_keep(cell, params, options, session):
    """Return the records that `--resume` makes use of, by (solver, repeat)."""
    if not options.resume:
        return {}
    wanted = cell_key({"cell": asdict(cell), "params": params, "solver": None, "repeat": None})
    return {
        (record["solver"], record["repeat"]): record
        for record in read_records(options.out)
        if same_session(record, session) and cell_key(record) == wanted and _still_holds(record, options)
    }


def _still_holds(record, options):
    """Tell whether a record answers today's question: a limit that has been raised asks again."""
    return record["outcome"] != "over limit" or record["params"]["limit_s"] >= options.limit


def _summary(answer):
    if answer["outcome"] in ("done", "iteration limit"):
        measures = answer["measures"]
        note = "" if answer["outcome"] == "done" else "  (stopped at its iteration limit)"
        return f"{measures['wall_s']:9.3f} s  peak {measures['rss_peak_mib']:6.0f} MiB{note}"
    return f"{answer['outcome']}" + (f": {answer['why']}" if "why" in answer else "")


if __name__ == "__main__":
    sys.exit(main())
