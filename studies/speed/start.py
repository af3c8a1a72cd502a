"""How long does the command take to start, and what does importing the library cost?

    python -m studies.speed.start

Commands are run whole, in fresh processes, on 20 rows of generated tables; medians of seconds, CPU
seconds (which count on a busy machine) and peak memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.records import markdown_table
from studies.running import make_parser
from studies.speed.turns import medians, store

IMPORTS = ("semisvm", "semisvm.evidence", "semisvm.svm", "sklearn.svm")
COMMAND = "from semisvm.cli import main; main()"


def write_rows(folder: Path) -> None:
    """Write a table and texts, a third of the rows labeled, and new rows of each."""
    rng = np.random.default_rng(0)
    is_good = rng.random(300) < 0.4
    label = np.where(rng.random(300) < 1 / 3, np.where(is_good, "yes", "no"), "")
    numbers = rng.normal(size=(300, 5)) + 1.5 * is_good[:, None]
    table = pd.DataFrame(numbers.round(4), columns=list("abcde"))
    table["kind"] = np.where(is_good, rng.choice(list("aab"), 300), rng.choice(list("bcc"), 300))
    words = np.where(
        is_good[:, None],
        rng.choice(["great", "fine"], (300, 3)),
        rng.choice(["bad", "poor"], (300, 3)),
    )
    common = rng.choice(["the", "plot", "music", "was", "very", "end"], (300, 6))
    texts = pd.DataFrame({"text": [" ".join(row) for row in np.hstack([words, common])]})
    for name, frame in (("table", table), ("text", texts)):
        frame.assign(label=label).to_csv(folder / f"{name}.csv", index=False)
        frame[:20].to_csv(folder / f"new-{name}.csv", index=False)


def run_once(code: str, *words: Any) -> dict[str, float]:
    """Run Python code in a process of its own."""
    began = time.perf_counter()
    command = [sys.executable, "-c", code, *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(map(str, words)) or code} ended with {process.returncode}")
    return {
        "seconds": time.perf_counter() - began,
        "cpu": used.ru_utime + used.ru_stime,
        "megabytes": used.ru_maxrss / 1e3,
    }


def main() -> None:
    """Measure and print."""
    parser = make_parser("studies.speed.start", __doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder)
        runs: dict[str, tuple[Any, ...]] = {f"import {m}": (f"import {m}",) for m in IMPORTS}
        runs["semisvm --help"] = (COMMAND, "--help")
        for kind in ("table", "text"):
            model = folder / f"{kind}.skops"
            fit = ("fit", folder / f"{kind}.csv", "--target", "label", "--out", model, "--force")
            new = (
                "predict",
                model,
                folder / f"new-{kind}.csv",
                "--out",
                folder / "o.csv",
                "--force",
            )
            runs[f"semisvm fit, {kind}"] = (COMMAND, *fit)
            runs[f"semisvm predict, {kind}"] = (COMMAND, *new)
        found: dict[str, list[dict[str, float]]] = {what: [] for what in runs}
        for repeat in range(options.repeats + 1):
            for what, words in runs.items():
                took = run_once(*words)
                found[what] += [took] if repeat else []  # the first writes bytecode
    cells = [{"what": what} | medians(some) for what, some in found.items()]
    if options.store:
        store("start", cells, ("what",))
    print(table_of(cells))


def table_of(cells: list[dict[str, Any]]) -> str:
    """One line per command."""
    rows = [
        [c["what"], f"{c['seconds']:.2f}", f"{c['cpu']:.2f}", f"{c['megabytes']:.0f}"]
        for c in cells
    ]
    return markdown_table(["what", "seconds", "CPU seconds", "MB"], rows)


if __name__ == "__main__":
    main()
