"""What the processes of `cores.py` do: write the rows of a part, fit parts, certify the solutions.

Every answer is one line of JSON, printed as soon as it is known. Solutions wait in files for their
certificate, which is computed for all of them together when the fits have ended: on a CUDA device
if torch finds one, else on all cores.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

from studies.harness.fresh_process import measured
from studies.speed.certificate import certify, cuda_or_cpu
from studies.speed.paper_sets import PAPER_SETS, read_part, write_part
from studies.speed.peers import convert, make_solver, parse_solver, signed_coefficients, witnessed

WARM_ROWS = 6_000  # enough for ours to take the way that it takes on all rows
WARM_ROWS_OF_OTHERS = 1_000
MOST_ON_CPU = 60_000  # rows whose certificate takes a minute on two cores
MILLION = {"C": 1.0, "gamma": 0.02, "features": 50, "noise": 0.05}
SOLUTION = "solution-{set}-{size}-{solver}-{cores}.npz"


def write(name: str, size: str, folder: str) -> None:
    """Write the rows of a part, if they are not there."""
    path = _rows_file(folder, name, size)
    if name != "million" and not path.exists():
        write_part(name, size, str(path))


def fit(solver: str, cells: str, folder: str, most_seconds: str, n_cores: str) -> None:
    """Fit parts, a JSON list of (set, size, fits), and say what each took; leave the solutions
    in the folder.
    """
    known, form = parse_solver("ours" if solver == "before" else solver)
    for name, size, repeats in json.loads(cells):
        X, sign, params = load(name, size, folder)
        X = X if name == "million" else convert(X, form)
        target = (sign > 0).astype(np.int64)
        params |= {"tol": 1e-3, "cache_mb": 12_000 if name != "million" else 40_000}
        some = slice(WARM_ROWS if known == "ours" else WARM_ROWS_OF_OTHERS)
        make_solver(known, **params).fit(X[some], target[some])
        runs: list[dict[str, Any]] = []
        while len(runs) < repeats and (
            not runs or _spent(runs) + runs[-1]["wall_s"] <= float(most_seconds)
        ):
            model = make_solver(known, **params)
            measures = {}
            with witnessed(known), measured(measures):
                model.fit(X, target)
            runs.append(measures)
        seconds = [round(run["wall_s"], 4) for run in runs]
        peak = max((run["rss_peak_mib"] or 0) - (run["rss_before_mib"] or 0) for run in runs)
        beta = signed_coefficients(model)
        support = np.asarray(model.support_, dtype=np.intp)
        found = {"set": name, "size": size, "rows": len(target), "seconds": seconds}
        found |= {
            "median": statistics.median(seconds),
            "cpu_s": round(statistics.median(r["cpu_s"] for r in runs), 3),
        }
        found |= {
            "peak_mib": round(peak),
            "n_support": len(support),
            "n_iter": int(np.max(model.n_iter_)),
        }
        file = SOLUTION.format(set=name, size=size, solver=solver, cores=n_cores)
        np.savez(Path(folder) / file, beta=beta, support=support)
        _say(found)
        del X, model


def certify_all(folder: str) -> None:
    """Say the gap and the objective of every solution in the folder, and remove the solutions."""
    parts: dict[tuple[str, str], list[Path]] = {}
    for path in sorted(
        Path(folder).glob(SOLUTION.format(set="*", size="*", solver="*", cores="*"))
    ):
        _, name, size, *_ = path.stem.split("-")
        parts.setdefault((name, size), []).append(path)
    device = cuda_or_cpu()
    for (name, size), paths in parts.items():
        X, sign, params = load(name, size, folder)
        if len(sign) > MOST_ON_CPU and device == "cpu":
            continue
        X = X.toarray() if name != "million" else X
        known = {}
        for path in paths:
            *solver, cores = path.stem.split("-")[3:]
            with np.load(path) as solution:
                beta = solution["beta"]
                support = solution["support"]
            same = beta.tobytes() + support.tobytes()  # ours is the same on every number of cores
            if same not in known:
                known[same] = certify(
                    X, sign, support, beta, 0.0, params["C"], params["gamma"], device
                )
            where = {"set": name, "size": size, "solver": "-".join(solver), "cores": int(cores)}
            _say(where | {"gap": known[same]["gap"], "objective": known[same]["dual_objective"]})
            path.unlink()


def load(name: str, size: str, folder: str) -> tuple[Any, np.ndarray, dict[str, float]]:
    """Return rows, signs, and C and gamma of a part."""
    if name == "million":
        return *million_rows(count_of(size)), {key: MILLION[key] for key in ("C", "gamma")}
    rows = read_part(str(_rows_file(folder, name, size)))
    return rows.X, rows.sign, {"C": PAPER_SETS[name].C, "gamma": PAPER_SETS[name].gamma}


def count_of(size: str) -> int:
    """Return how many rows of a million a size is: "all", or "200000 rows"."""
    return 1_000_000 if size == "all" else int(size.split()[0])


def million_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of normal numbers, float32, and signs by a linear rule of which a share is
    turned round.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, MILLION["features"]), dtype=np.float32)
    sign = np.where(X @ rng.standard_normal(MILLION["features"], dtype=np.float32) > 0, 1.0, -1.0)
    return X, np.where(rng.random(n) < MILLION["noise"], -sign, sign)


def _rows_file(folder: str, name: str, size: str) -> Path:
    return Path(folder) / f"{name}-{size}.npz"


def _spent(runs: list[dict[str, Any]]) -> float:
    return sum(run["wall_s"] for run in runs)


def _say(found: dict[str, Any]) -> None:
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    {"write": write, "fit": fit, "certify": certify_all}[sys.argv[1]](*sys.argv[2:])
