"""How long does it take to train and tune an RBF SVM, and what is chosen?

`SVCCV` beside `GridSearchCV(SVC)`, the same with scikit-learn-intelex, and TorchKM (the published
tool for this job; where it is installed). All choose C by cross-validated accuracy, with the same
gamma, values of C and number of folds. Beside time and memory (of the process, and of the device):
the C that was chosen, accuracy on 2,000 rows left out, and up to 25,000 rows the objective of the
SVM at the same C for all, computed in float64 and divided by ours.

    make bench-tune
    make bench-tune ARGS="--sets mixture-10000x1000 ijcnn1-10000 --folds 10 --Cs 50 --device cuda"

A set is "mixture-ROWSxCOLUMNS" (two classes of ten Gaussian clusters each), or rows of a set of the
PSVM paper, "adult-ROWS" and "ijcnn1-ROWS". "all" is every row but those left out.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studies.harness.fresh_process import NotAvailableError, measured
from studies.speed.paper_sets import PAPER_SETS
from studies.speed.runs import machine_line, make_parser, run_by_turns

PEERS = ("ours", "svc", "intelex", "torchkm")
SETS = ("mixture-5000x20", "ijcnn1-5000", "adult-5000")
N_LEFT_OUT = 2_000
C_RANGE = 1e-2, 1e2
COMPARED_C = 1.0
NAMES = {
    "ours": "`SVCCV`",
    "svc": "`GridSearchCV(SVC)`",
    "intelex": "the same, scikit-learn-intelex 2026.2",
    "torchkm": "TorchKM 4.3.2",
}
MOST_COMPARED_ROWS = 25_000  # another fit, and its kernel in float64, would take minutes for more


def main(argv: list[str] | None = None) -> int:
    """Run all peers on all sets by turns and print a table; return the exit status."""
    parser = make_parser("tune", __doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="SET")
    parser.add_argument("--peers", nargs="+", default=PEERS, choices=PEERS)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--Cs", type=int, default=10, help="values of C from 0.01 to 100")
    parser.add_argument("--device", default="cpu", help="of ours and TorchKM (default cpu)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one run")
    options = parser.parse_args(argv)
    tasks = [
        {
            "set": name,
            "peer": peer,
            "folds": options.folds,
            "Cs": options.Cs,
            "device": options.device,
            "limit": options.limit,
        }
        for name in options.sets
        for peer in options.peers
    ]
    print(f"{machine_line()}\n{options.folds} folds x {options.Cs} values of C\n")
    measures = run_by_turns("studies.speed.tune:tune_once", tasks, options.repeats, options.out)
    columns = ("wall s", "CPU s", "peak MiB", "device MiB", "C", "accuracy", "objective / ours")
    print(f"{'set':22}{'':9}" + "".join(f"{column:>17}" for column in columns))
    ours: dict[str, float] = {}
    for task, measure in zip(tasks, measures, strict=True):
        if measure is None:
            print(f"{task['set']:22}{task['peer']:9}{'not available, or over the limit':>40}")
            continue
        if task["peer"] == "ours":
            ours[task["set"]] = measure.get("objective", math.nan)
        ratio = measure.get("objective", math.nan) / ours.get(task["set"], math.nan)
        print(
            f"{task['set']:22}{task['peer']:9}{measure['wall_s']:17.2f}{measure['cpu_s']:17.2f}"
            f"{measure['rss_peak_mib']:17.0f}{measure.get('device_peak_mib', math.nan):17.0f}"
            f"{measure['C']:17.3g}{measure['accuracy']:17.4f}{ratio:17.6f}"
        )
    return 0


def render_tune(runs: Sequence[dict[str, Any]], machine: str, peers: Sequence[str]) -> str:
    """Return the table of one machine: seconds of each peer, and how many times those of ours."""
    seconds: dict[tuple[str, str], list[float]] = {}
    grid_of = {}
    for run in runs:
        if run["machine"] == machine:
            seconds.setdefault((run["set"], run["peer"]), []).append(run["wall_s"])
            grid_of[run["set"]] = f"{run['Cs']} x {run['folds']}"
    lines = []
    for name, grid in grid_of.items():
        line = [set_in_words(name), grid]
        ours = statistics.median(seconds[name, "ours"])
        for peer in peers:
            took = statistics.median(seconds.get((name, peer), [math.nan]))
            more = "" if peer == "ours" else f" ({took / ours:.0f} times)"
            line.append("" if math.isnan(took) else f"{took:.3g}{more}")
        lines.append(line)
    heads = ["rows x columns", "values of C x folds", *(NAMES[peer] for peer in peers)]
    table = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in table)


def set_in_words(name: str) -> str:
    """Name rows as a page does: "10,000 x 22, IJCNN1"."""
    kind, _, size = name.partition("-")
    if kind == "mixture":
        n, d = (int(part) for part in size.split("x"))
        return f"{n:,} x {d:,}, two mixtures"
    n_all, columns, title = {"ijcnn1": (49_990, 22, "IJCNN1"), "adult": (32_561, 123, "Adult")}[
        kind
    ]
    n = n_all - N_LEFT_OUT if size == "all" else int(size)
    return f"{n:,} x {columns}, {title}"


def tune_once(task: dict[str, Any], repeat: int) -> dict[str, Any]:
    """Tune with one peer, and measure it and what it chose."""
    import numpy as np
    from sklearn.base import clone

    X, y, X_left, y_left, gamma = read_rows(task["set"])
    Cs = np.geomspace(*C_RANGE, task["Cs"])
    make = MAKERS[task["peer"]]
    # Imports and compiled code, which depend on the number of rows, are not part of what is timed.
    warm_up = slice(None) if task["peer"] == "ours" else slice(1_200)
    make(Cs[:2], gamma, 2, task["device"]).fit(X[warm_up], y[warm_up])
    took: dict[str, Any] = {}
    model = make(Cs, gamma, task["folds"], task["device"])
    seconds_before = cpu_s_of_workers()
    on_device = task["device"] != "cpu" and task["peer"] in ("ours", "torchkm")
    if on_device:
        import torch

        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    with measured(took, task["limit"]):
        model.fit(X, y)
    took["cpu_s"] += cpu_s_of_workers() - seconds_before
    if on_device:
        took["device_peak_mib"] = torch.cuda.max_memory_reserved() / 2**20
    chosen = {
        "ours": lambda: model.C_,
        "torchkm": lambda: model.best_C_,
    }.get(task["peer"], lambda: model.best_params_["C"])()
    took["C"] = float(chosen)
    took["accuracy"] = float((model.predict(X_left) == y_left).mean())
    if len(y) <= MOST_COMPARED_ROWS:
        if task["peer"] in ("svc", "intelex"):
            one = clone(model.best_estimator_).set_params(C=COMPARED_C)
        else:
            one = make(np.array([COMPARED_C]), gamma, 2, task["device"])
        took["objective"] = objective(one.fit(X, y), X, y, gamma, task["peer"])
    return took


def cpu_s_of_workers() -> float:
    """CPU seconds of joblib's worker processes so far; 0 where the system does not say."""
    ticks = 0
    for file in Path("/proc/self/task").glob("*/children"):
        for worker in file.read_text().split():
            fields = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])  # in the user's mode and in the system's
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else 0.0


def read_rows(name: str) -> tuple[Any, Any, Any, Any, float]:
    """Training rows and labels, those left out, and gamma."""
    import numpy as np

    kind, _, size = name.partition("-")
    rng = np.random.default_rng(0)
    if kind == "mixture":
        n, d = (int(part) for part in size.split("x"))
        n_all = n + N_LEFT_OUT
        y = rng.integers(0, 2, n_all)
        centers = rng.normal(size=(2, 10, d)) + np.array([0.5, -0.5])[:, None, None]
        X = centers[y, rng.integers(0, 10, n_all)] + 2.0 * rng.normal(size=(n_all, d))
        gamma = 1 / (d * X.var())
    else:
        from studies.speed.paper_sets import load_signed

        rows, sign = load_signed(kind)
        order = rng.permutation(len(sign))
        n = len(sign) - N_LEFT_OUT if size == "all" else int(size)
        order = order[: n + N_LEFT_OUT]
        X = rows[order].toarray()
        y = (sign[order] > 0).astype(int)
        gamma = PAPER_SETS[kind].gamma
    return X[:n], y[:n], X[n:], y[n:], float(gamma)


def make_ours(Cs: Any, gamma: float, folds: int, device: str) -> Any:
    """Ours."""
    from semisvm import SVCCV

    return SVCCV(Cs, gammas=[gamma], cv=folds, scoring="accuracy", device=device)


def make_svc(Cs: Any, gamma: float, folds: int, device: str) -> Any:
    """scikit-learn's, on all cores."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    return GridSearchCV(SVC(gamma=gamma, cache_size=1000), {"C": Cs}, cv=folds, n_jobs=-1)


def make_intelex(Cs: Any, gamma: float, folds: int, device: str) -> Any:
    """Intel's, which uses all cores in each fit."""
    try:
        from sklearnex.svm import SVC
    except ImportError as error:
        raise NotAvailableError("scikit-learn-intelex") from error
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(SVC(gamma=gamma, cache_size=1000), {"C": Cs}, cv=folds)


def make_torchkm(Cs: Any, gamma: float, folds: int, device: str) -> Any:
    """TorchKM, at its defaults."""
    try:
        from torchkm.estimators import TorchKMSVC
    except ImportError as error:
        raise NotAvailableError("torchkm") from error
    falling = sorted(Cs.tolist(), reverse=True)
    # Its kernel is exp(-2 sigma |x - z|^2).
    return TorchKMSVC(
        Cs=falling, nC=len(falling), cv=folds, device=device, rbf_sigma=gamma / 2, random_state=0
    )


MAKERS = {"ours": make_ours, "svc": make_svc, "intelex": make_intelex, "torchkm": make_torchkm}


def objective(model: Any, X: Any, y: Any, gamma: float, peer: str) -> float:
    """1/2 |w|^2 + C sum of hinge losses, in float64, of the SVM at `COMPARED_C`."""
    import numpy as np
    from sklearn.metrics.pairwise import rbf_kernel

    if peer == "torchkm":
        coefficients = np.asarray(model.alpha_, dtype=np.float64).ravel()[-len(y) :]
        bias = float(model.intercept_)
    else:
        coefficients = np.zeros(len(y))
        coefficients[np.asarray(model.support_)] = np.asarray(model.dual_coef_).ravel()
        bias = float(np.ravel(model.intercept_)[0])
    used = np.flatnonzero(coefficients)
    scores = np.zeros(len(y))
    for first in range(0, len(y), 2_000):
        part = slice(first, first + 2_000)
        scores[part] = rbf_kernel(X[part], X[used], gamma=gamma) @ coefficients[used]
    slack = np.maximum(0, 1 - np.where(y > 0, 1, -1) * (scores + bias))
    return float(0.5 * coefficients @ scores + COMPARED_C * slack.sum())


if __name__ == "__main__":
    sys.exit(main())
