"""How fast is the supervised RBF SVM on the PSVM paper's four sets, and how much memory does it
take?

Ours next to LIBSVM (scikit-learn) and oneDAL (scikit-learn-intelex, float32 and float64), on 10% of
the rows and on all of them, with the same C, gamma, tolerance and kernel cache. Each run is one fit
in a process of its own, after a warm-up on a small problem; repetitions alternate between the
solvers; medians are reported. Every run is recorded, so a benchmark that was stopped can be
resumed, and `python -m studies.speed.supervised_table FILE` makes the table again from the records.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

from studies.harness.fresh_process import call_fresh, measured
from studies.harness.machine import describe_session, is_same_session
from studies.harness.records import Journal, read_records, task_key
from studies.speed.paper_sets import PAPER_SETS
from studies.speed.runs import machine_line, make_parser
from studies.speed.supervised_table import render

TOL = 1e-3
SOLVERS = ("ours", "libsvm", "onedal-f32", "onedal-f64")
REPEATS = 3
# how often solvers run that take long on all rows; 60,000 rows of MNIST would take LIBSVM about
# half an hour
OF_ALL_ROWS = {"libsvm": 1, "onedal-f64": 1}
OF_ALL_MNIST = {"ours": 2, "libsvm": 0, "onedal-f32": 1, "onedal-f64": 1}
# Enough for ours to take the float32 path that it takes on all rows. Below 1,000 rows it works in
# float64, which is other compiled code, and loading the float32 code would become part of the timed
# fit.
WARM_UP_ROWS = 1_200


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark and print its table; return the exit status."""
    options = parse_options(argv)
    session = describe_session()
    print(
        f"{machine_line()}\ntol {TOL:g}, kernel cache {options.cache:g} MiB, limit"
        f" {options.limit:g} s per fit\n"
    )
    status = 0
    try:
        for size in options.sizes:
            for name in options.sets:
                run_part(name, size, options, session)
    except KeyboardInterrupt:
        print("\nStopped. What was measured so far:")
        status = 130
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    print(
        f"\n{render([record for record in read_records(options.out) if is_same_session(record, session)])}"
    )
    return status


def parse_options(argv: list[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = make_parser("supervised", __doc__)
    add = parser.add_argument
    add(
        "--sets",
        nargs="+",
        choices=PAPER_SETS,
        default=list(PAPER_SETS),
        metavar="SET",
        help=" ".join(PAPER_SETS),
    )
    add(
        "--sizes",
        nargs="+",
        choices=("10%", "all"),
        default=["10%", "all"],
        metavar="SIZE",
        help="10%% all",
    )
    add("--rows", type=int, metavar="N", help="N rows of each set instead, to try the benchmark")
    add(
        "--solvers",
        nargs="+",
        type=_solver,
        default=list(SOLVERS),
        metavar="SOLVER",
        help=SOLVER_HELP,
    )
    add(
        "--repeats",
        type=int,
        metavar="N",
        help="runs of each solver (default 3, fewer on all rows)",
    )
    add(
        "--cache",
        type=float,
        default=8000,
        metavar="MIB",
        help="kernel cache of all solvers (default 8000)",
    )
    add(
        "--limit",
        type=float,
        default=600,
        metavar="S",
        help="seconds that a fit may take (default 600)",
    )
    add("--quick", action="store_true", help="only the 10%% of rows, once")
    add(
        "--resume",
        action="store_true",
        help="skip runs that have a record from the same source and machine",
    )
    options = parser.parse_args(argv)
    if options.quick:
        options.sizes = ["10%"]
        options.repeats = options.repeats or 1
    if options.rows:
        options.sizes = [f"{options.rows} rows"]
    return options


SOLVER_HELP = f"{' '.join(SOLVERS)}; with an input form as in libsvm:csr64"


def _solver(text: str) -> str:
    from studies.speed.peers import parse_solver

    try:
        parse_solver(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def run_part(name: str, size: str, options: argparse.Namespace, session: dict[str, Any]) -> None:
    """Make all runs on a part of a set that are still to be made, and record each."""
    tasks = {solver: make_task(name, size, solver, options.cache) for solver in options.solvers}
    kept = _records_to_keep(tasks, options, session) if options.resume else {}
    # A solver that failed or passed the limit here is not run again.
    excluded = {solver for (solver, _), outcome in kept.items() if outcome != "done"}
    plan = [
        run
        for run in interleave(options.solvers, name, size, options.repeats)
        if run[::-1] not in kept
    ]
    if all(solver in excluded for _, solver in plan):
        return
    with tempfile.TemporaryDirectory() as folder, Journal(options.out, session) as journal:
        rows_file = str(Path(folder) / "rows.npz")
        prepared = call_fresh("studies.speed.paper_sets:write_part", name, size, rows_file)
        if prepared["outcome"] != "done":
            raise RuntimeError(f"The rows of {name} could not be prepared: {prepared['why']}")
        for repeat, solver in plan:
            if solver in excluded:
                continue
            answer = call_fresh(
                "studies.speed.supervised:fit_once", tasks[solver], rows_file, options.limit
            )
            ended = {"outcome": answer["outcome"]} | answer.get(
                "result", {"why": answer.get("why")}
            )
            print(f"{name} {size:16} {solver:12} {repeat + 1}  {_summary(ended)}", flush=True)
            if ended["outcome"] != "done":
                excluded.add(solver)
            if (
                ended["outcome"] == "not available"
            ):  # nothing was measured, and nothing will be elsewhere
                options.solvers.remove(solver)
            else:
                more = {"limit_s": options.limit, "rows": prepared["result"][0]}
                journal.append({"task": tasks[solver], "seed": repeat} | more | ended)


def make_task(name: str, size: str, solver: str, cache: float) -> dict[str, Any]:
    """Return what is run, as a record holds it."""
    paper_set = PAPER_SETS[name]
    params = {"C": paper_set.C, "gamma": paper_set.gamma, "tol": TOL, "cache_mb": cache}
    return {"set": name, "size": size, "solver": solver, "params": params}


def interleave(
    solvers: list[str], name: str, size: str, asked: int | None = None
) -> list[tuple[int, str]]:
    """Return (repetition, solver) in the order of the runs: the solvers take turns."""
    usual = {} if size != "all" else OF_ALL_MNIST if name == "mnist" else OF_ALL_ROWS
    repeats = {
        solver: usual.get(solver.partition(":")[0], REPEATS) if asked is None else asked
        for solver in solvers
    }
    return [
        (repeat, solver)
        for repeat in range(max(repeats.values(), default=0))
        for solver in solvers
        if repeat < repeats[solver]
    ]


def _records_to_keep(
    tasks: dict[str, dict[str, Any]], options: argparse.Namespace, session: dict[str, Any]
) -> dict[tuple[str, int], str]:
    """Return the outcomes that --resume can use, by solver and repetition; a higher limit asks
    again.
    """
    keys = {task_key(task): solver for solver, task in tasks.items()}
    return {
        (keys[task_key(record["task"])], record["seed"]): record["outcome"]
        for record in read_records(options.out)
        if is_same_session(record, session)
        and task_key(record["task"]) in keys
        and not (record["outcome"] == "over limit" and record["limit_s"] < options.limit)
    }


def _summary(ended: dict[str, Any]) -> str:
    if "measures" not in ended:
        return f"{ended['outcome']}: {ended['why']}"
    measures = ended["measures"]
    note = "" if ended["outcome"] == "done" else "  (stopped at its iteration limit)"
    return f"{measures['wall_s']:9.3f} s  peak {measures['rss_peak_mib']:6.0f} MiB{note}"


def fit_once(task: dict[str, Any], rows_file: str, limit_s: float) -> dict[str, Any]:
    """Fit one solver once: load, convert, warm up, fit (timed), then check the solution and
    predict.
    """
    import numpy as np

    from studies.speed.certificate import certify
    from studies.speed.paper_sets import read_part
    from studies.speed.peers import (
        convert,
        ended_by_itself,
        make_solver,
        parse_solver,
        signed_coefficients,
        witnessed,
    )

    name, form = parse_solver(task["solver"])
    params = task["params"]
    rows = read_part(rows_file)
    # 0 and 1, because semisvm reads -1 as "no label"
    X = convert(rows.X, form)
    target = (rows.sign > 0).astype(np.int64)
    start = time.perf_counter()
    small = make_solver(name, **params)
    some = slice(WARM_UP_ROWS)
    with witnessed(name):
        small.fit(X[some], target[some])
    small.decision_function(X[some])
    measures: dict[str, Any] = {"warm_up_s": time.perf_counter() - start}
    model = make_solver(name, **params)
    with witnessed(name), measured(measures, limit_s):
        model.fit(X, target)
    start = time.perf_counter()
    beta = signed_coefficients(model)
    support = np.asarray(model.support_, dtype=np.intp)
    bias = float(np.ravel(model.intercept_)[0])
    measures |= certify(rows.X, rows.sign, support, beta, bias, params["C"], params["gamma"])
    decision = np.ravel(model.decision_function(convert(rows.compared, form)))
    measures |= {
        "n_sv": len(support),
        "n_iter": int(np.max(model.n_iter_)),
        "check_s": time.perf_counter() - start,
    }
    # one bit per row
    signs = base64.b64encode(zlib.compress(np.packbits(decision > 0).tobytes())).decode()
    return {
        "outcome": "done" if ended_by_itself(name, model) else "iteration limit",
        "measures": measures,
        "form": form,
        "predictions": {"rows": rows.compared_are, "n": len(decision), "signs": signs},
    }


if __name__ == "__main__":
    sys.exit(main())
