"""Do fits use the cores that they are given, and no more?

Every fit runs with the default threads and with one thread (OMP_NUM_THREADS=1), on the machine as
it is and with busy loops beside it. A run is one process: it fits once to warm up, then once timed.
Runs alternate. Printed are medians of wall and processor seconds. The goal is a wall time within
1.2 times, and a processor time within 1.5 times, of the better of the two.

    python -m studies.speed.threads                        the machine as it is
    python -m studies.speed.threads --busy 2               with two busy loops beside
    python -m studies.speed.threads --before FOLDER/src    the version in another folder, too
    python -m studies.speed.threads --fits AutoSVC         fits whose names hold these words
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from studies.harness.fresh_process import measured
from studies.harness.machine import PACKAGE
from studies.harness.tables import markdown_table
from studies.speed.runs import machine_line, make_parser, run_by_turns

SIZES = (500, 2_000, 20_000)
ESTIMATORS = (
    "AutoSVC",
    "SupervisedSVC",
    "TransductiveSVC",
    "LaplacianSVC",
    "LabelMeanSVC",
    "ProgressiveSVC",
    "SelfTrainingSVC",
    "ClusterSVC",
    "PreferenceSVC",
    "MixtureClassifier",
)
NAMED = ("AutoSVC breast cancer", "AutoSVC breast cancer as a table", "LaplacianSVC digits")
COMMAND = "semisvm fit 1,000 x 60"
FITS = (
    *NAMED,
    COMMAND,
    *(f"{name} {size:,} x 50" for size in SIZES for name in ESTIMATORS),
)
N_LABELED = 200
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def make_rows(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two classes that overlap, and labels: -1 but for the first few."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n_rows)
    shift = rng.normal(size=n_features) / np.sqrt(n_features)
    X = rng.normal(size=(n_rows, n_features)) + 2.5 * np.outer(y, shift)
    return X, np.where(np.arange(n_rows) < N_LABELED, y, -1)


def run_fit(task: dict[str, Any], repeat: int) -> dict[str, Any]:
    """Fit twice, and measure the second time."""
    took: dict[str, Any] = {}
    warnings.simplefilter("ignore")
    if task["fit"] == COMMAND:
        _run_command(took)
        return took
    fit = _prepare(task["fit"])
    fit()
    with measured(took, limit_s=900):
        fit()
    return took


def _prepare(name: str) -> Any:
    import semisvm

    estimator, _, words = name.partition(" ")
    if words.startswith("digits"):
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        X = X / 16
    elif words.startswith("breast cancer"):
        from sklearn.datasets import load_breast_cancer

        frame = load_breast_cancer(as_frame=True)
        y = frame.target.to_numpy()
        scaled = (frame.data - frame.data.mean()) / frame.data.std()
        X = scaled if "table" in words else scaled.to_numpy()
    else:
        n_rows, _, n_features = words.replace(",", "").partition(" x ")
        X, hidden = make_rows(int(n_rows), int(n_features))
        return lambda: getattr(semisvm, estimator)().fit(X, hidden)
    hidden = np.where(np.random.default_rng(0).random(len(y)) < 0.06, y, -1)
    return lambda: getattr(semisvm, estimator)().fit(X, hidden)


def _run_command(took: dict[str, Any]) -> None:
    """The whole command, from its start: that is what a person waits for."""
    X, hidden = make_rows(1_000, 60)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        label = np.where(hidden < 0, "", np.where(hidden > 0, "yes", "no"))
        lines = [",".join([*(f"{value:.4f}" for value in row)]) for row in X]
        head = ",".join([*(f"c{number}" for number in range(X.shape[1])), "target"])
        body = "\n".join(f"{line},{text}" for line, text in zip(lines, label, strict=True))
        table.write_text(f"{head}\n{body}\n")
        command = [sys.executable, "-m", "semisvm", "fit", str(table), "--target", "target"]
        command += ["--out", str(Path(folder, "model.skops"))]
        with measured(took, limit_s=900):
            before = os.times()
            subprocess.run(command, check=True, capture_output=True)
            after = os.times()
        took["cpu_s"] = (
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )


@contextlib.contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """Keep so many cores busy."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def environment_of(task: dict[str, Any]) -> dict[str, str]:
    """One thread or as many as there are, and the version."""
    return (ONE_THREAD if task["threads"] == "one" else {}) | {"PYTHONPATH": task["source"]}


def main() -> None:
    """Run the fits and print the table."""
    parser = make_parser("threads", __doc__)
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="busy loops beside")
    parser.add_argument("--before", metavar="SRC", help="the src folder of another version")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fits", nargs="*", default=[""], metavar="WORDS")
    options = parser.parse_args()
    fits = [fit for fit in FITS if any(words in fit for words in options.fits)]
    ways = [("default", "now", PACKAGE.parent), ("one", "now", PACKAGE.parent)]
    if options.before:
        ways.append(("default", "before", Path(options.before).resolve()))
    tasks = [
        {
            "fit": fit,
            "threads": threads,
            "version": version,
            "source": str(source),
            "busy": options.busy,
        }
        for fit in fits
        for threads, version, source in ways
    ]
    print(machine_line())
    with busy_loops(options.busy):
        records = run_by_turns(
            "studies.speed.threads:run_fit",
            tasks,
            options.repeats,
            options.out,
            environment=environment_of,
        )
    lines = []
    for start in range(0, len(tasks), len(ways)):
        cells: list[str] = []
        for record in records[start : start + len(ways)]:
            cells += (
                ["failed", ""]
                if record is None
                else [f"{record['wall_s']:.2f}", f"{record['cpu_s']:.2f}"]
            )
        lines.append([tasks[start]["fit"], *cells])
    heads = [f"{version}, {threads} threads" for threads, version, _ in ways]
    print(
        markdown_table(
            ["fit", *(f"{head}: {unit}" for head in heads for unit in ("wall s", "CPU s"))], lines
        )
    )


if __name__ == "__main__":
    main()
