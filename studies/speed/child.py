"""One run: a fresh process that fits one solver to one cell once, and says what it took.

Started by the harness as `python -m studies.speed.child SPEC`, SPEC a JSON object; the answer is one JSON
object on standard output. In order: load, convert, warm up on a tiny problem (imports, thread pools,
compilation), *fit, timed*, then everything that is not timed: certificate and predictions.

A fit past the limit is ended by the system's alarm signal, which stops compiled code as well; the
harness sees it in the exit status.
"""

import base64
import json
import signal
import sys
import time
import zlib

import numpy as np

from studies.speed import footprint
from studies.speed.certificate import certify
from studies.speed.rows import read_rows
from studies.speed.solvers import (
    SolverUnavailableError,
    convert,
    ended_by_itself,
    make_solver,
    parse_solver,
    signed_coefficients,
    witnessed,
)

# Enough for ours to take the float32 path it takes on the whole: below 1,000 rows it works in float64, which is
# other compiled code, and loading that would fall into the timed fit.
WARM_UP_ROWS = 1_200


def warm_up(name, params, X, target):
    """Fit a small problem of the same form and return the seconds it took."""
    rows = slice(WARM_UP_ROWS)
    start = time.perf_counter()
    solver = make_solver(name, **params)
    with witnessed(name):
        solver.fit(X[rows], target[rows])
    solver.decision_function(X[rows])
    return time.perf_counter() - start


def timed_fit(name, params, X, target, limit_s):
    """Fit once and return the model with seconds and memory."""
    model = make_solver(name, **params)
    was_reset = footprint.reset_peak()
    measures = {"rss_before_mib": footprint.present_mib(), "peak_was_reset": was_reset}
    with witnessed(name):
        signal.setitimer(signal.ITIMER_REAL, limit_s)
        cpu, wall = time.process_time(), time.perf_counter()
        model.fit(X, target)
        measures["wall_s"] = time.perf_counter() - wall
        measures["cpu_s"] = time.process_time() - cpu
        signal.setitimer(signal.ITIMER_REAL, 0)
    measures["rss_peak_mib"] = footprint.peak_mib()
    return model, measures


def pack_signs(values):
    """Return the signs of decision values as a short string: a bit a row."""
    return base64.b64encode(zlib.compress(np.packbits(values > 0).tobytes())).decode()


def run(spec):
    """Do one run and return its outcome with its measures."""
    name, form = parse_solver(spec["solver"])
    params = spec["params"]
    rows = read_rows(spec["rows_file"])
    # 0 and 1, as semisvm reads -1 as "no label"
    X, target = convert(rows.X, form), (rows.sign > 0).astype(np.int64)
    warm_up_s = warm_up(name, params, X, target)
    model, measures = timed_fit(name, params, X, target, spec["limit_s"])
    start = time.perf_counter()
    beta, support = signed_coefficients(model), np.asarray(model.support_, dtype=np.intp)
    bias = float(np.ravel(model.intercept_)[0])
    measures |= certify(rows.X, rows.sign, support, beta, bias, params["C"], params["gamma"])
    decision = np.ravel(model.decision_function(convert(rows.compared, form)))
    measures |= {
        "warm_up_s": warm_up_s,
        "n_sv": len(support),
        "n_iter": int(np.max(model.n_iter_)),
        "compared": rows.compared_are,
        "n_compared": len(decision),
        "signs": pack_signs(decision),
        "check_s": time.perf_counter() - start,
    }
    return {"outcome": "done" if ended_by_itself(name, model) else "iteration limit", "measures": measures}


def main():
    """Read the run's description, do it, print the answer."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends compiled code too; the harness reports
    try:
        answer = run(json.loads(sys.argv[1]))
    except SolverUnavailableError as error:
        answer = {"outcome": "unavailable", "why": str(error)}
    except Exception as error:  # a solver that fails is a result, not the end of the benchmark
        answer = {"outcome": "error", "why": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
