"""How long does a million rows of 50 features take, and how near is the solution?

Rows of normal numbers, a linear rule of which 5% of the signs are turned round, RBF kernel, C = 1,
on all cores of the CPU. A fit ends after `--seconds` if it has not converged; then its gap says how
far it came. The gap of each solution is computed again in float64 from its coefficients alone where
that takes seconds: on a CUDA device, or for few rows.

    python -m studies.speed.million --rows 300000 1000000 --seconds 240
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from semisvm import SupervisedSVC
from semisvm.kernels.threads import n_threads
from studies.harness.fresh_process import measured
from studies.speed.certificate import certify, cuda_or_cpu
from studies.speed.cores_worker import MILLION, WARM_ROWS, million_rows
from studies.speed.runs import machine_line

MOST_CERTIFIED_ON_CPU = 30_000  # rows


def main(argv: list[str] | None = None) -> int:
    """Fit each number of rows and print what it took; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--rows", nargs="+", type=int, default=[1_000_000])
    add("--seconds", type=float, default=240.0, help="after which a fit ends")
    add("--cache-size", type=float, default=None, metavar="MB", help="memory for kernel rows")
    add("--out", type=Path, default=Path("million.jsonl"))
    options = parser.parse_args(argv)
    print(machine_line(), flush=True)
    X, sign = million_rows(WARM_ROWS)
    _model(options, None).fit(X, sign > 0)
    for n in options.rows:
        record = run(n, options)
        with options.out.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")
    return 0


def _model(options: argparse.Namespace, seconds: float | None) -> SupervisedSVC:
    limits: dict[str, Any] = {
        "time_limit": seconds,
        "cache_size": options.cache_size,
        "device": "cpu",
    }
    return SupervisedSVC(C=MILLION["C"], gamma=MILLION["gamma"], **limits)


def run(n: int, options: argparse.Namespace) -> dict[str, Any]:
    """Fit n rows; say what it took as soon as it is known, then the gap in float64."""
    X, sign = million_rows(n)
    model = _model(options, options.seconds)
    took = {}
    with warnings.catch_warnings(), measured(took):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, sign > 0)
    beta = model.dual_coef_[0]
    support = model.support_
    record = {
        "rows": n,
        "threads": n_threads(),
        "wall_s": round(took["wall_s"], 2),
        "cpu_s": round(took["cpu_s"], 1),
    }
    record["peak_mib"] = round((took["rss_peak_mib"] or 0) - (took["rss_before_mib"] or 0))
    record |= {
        "n_support": len(support),
        "n_iter": int(np.max(model.n_iter_)),
        "gap": model.history_[-1].gap,
    }
    print(json.dumps(record), flush=True)
    device = cuda_or_cpu()
    began = time.perf_counter()
    if device == "cpu" and n > MOST_CERTIFIED_ON_CPU:
        return record
    truth = certify(X, sign, support, beta, 0.0, MILLION["C"], MILLION["gamma"], device)
    more = {"gap_in_float64": truth["gap"], "accuracy": truth["training_accuracy"]}
    more["certificate_s"] = round(time.perf_counter() - began, 1)
    print(json.dumps(more), flush=True)
    return record | more


if __name__ == "__main__":
    sys.exit(main())
