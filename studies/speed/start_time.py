"""How long does the command take to start, and what does importing the library cost?

Imports are timed inside a fresh interpreter, next to `import sklearn.svm`. Commands are run whole,
on 20 rows, with models that `semisvm fit` wrote of generated rows: of numbers by the supervised
method, and of a table and of texts by the average over kernels and forests. Medians are reported,
with CPU seconds (which count on a busy machine) and peak memory. With --before, another version of
the source runs the same commands by turns.
"""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from studies.harness.fresh_process import call_fresh, peak_mib
from studies.harness.machine import describe_today
from studies.harness.means import write_cells
from studies.harness.tables import markdown_table
from studies.speed.runs import machine_line, make_parser, medians

MODULES = ("semisvm", "semisvm.estimators.supervised", "sklearn.svm")
HEAVY = ("numba", "llvmlite", "torch", "triton", "pandas", "pyarrow", "matplotlib", "rich", "click")
MODELS = {
    "numbers": ("numbers.csv", "supervised"),
    "table": ("table.csv", "autosvc"),
    "text": ("text.csv", "autosvc"),
}
N_ROWS, N_NEW = 300, 20
COMMAND = (sys.executable, "-c", "from semisvm.cli import main; main()")
GOOD = ("great", "fine", "good")
BAD = ("awful", "bad", "poor")
COMMON = ("the", "plot", "music", "was", "very", "end")


def import_once(module):
    """Import a module in this process; return seconds and the top-level modules that are loaded
    then.
    """
    before = time.process_time()
    start = time.perf_counter()
    __import__(module)
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - before,
        "megabytes": peak_mib() * 2**20 / 1e6,
        "modules": sorted({name.partition(".")[0] for name in sys.modules}),
    }


def write_rows(folder: Path) -> None:
    """Write generated rows of numbers, of a table and of texts, a third of them labeled, and new
    rows of each.
    """
    draw = random.Random(0)
    for name, (file, _) in MODELS.items():
        rows = []
        for _ in range(N_ROWS):
            is_good = draw.random() < 0.4
            numbers = [round(draw.gauss(1.5 * is_good, 1), 4) for _ in range(5)]
            words = " ".join(draw.choice(GOOD if is_good else BAD) for _ in range(3))
            words += " " + " ".join(draw.choice(COMMON) for _ in range(6))
            kind = draw.choice("aab" if is_good else "bcc")
            cells = {"numbers": numbers, "table": [*numbers, kind], "text": [words]}[name]
            rows.append([*cells, ("yes" if is_good else "no") if draw.random() < 1 / 3 else ""])
        names = [f"column {number}" for number in range(1, len(rows[0]))]
        for path, part in ((folder / file, rows), (folder / f"new {file}", rows[:N_NEW])):
            with open(path, "w", encoding="utf-8", newline="") as stream:
                csv.writer(stream).writerows([[*names, "label"], *part])


def run_once(words, source=None):
    """Run a command in a process of its own; return its wall and CPU seconds and its peak memory
    in MB.
    """
    environment = os.environ | ({"PYTHONPATH": str(source)} if source else {})
    start = time.perf_counter()
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)], env=environment, stdout=-3, stderr=-3
    )  # to nowhere
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))} ended with {process.returncode}")
    return {
        "seconds": time.perf_counter() - start,
        "cpu": used.ru_utime + used.ru_stime,
        "megabytes": used.ru_maxrss / 1e3,
    }


def measure_imports(repeats):
    """Return one cell per module, and the modules that the library loads and scikit-learn does
    not.
    """
    runs = {module: [] for module in MODULES}
    for repeat in range(repeats + 1):
        for module in MODULES:
            answer = call_fresh("studies.speed.start_time:import_once", module)
            if repeat > 0:  # the first import reads from disk and writes bytecode
                runs[module].append(answer["result"])
    _, ours, theirs = (set(runs[module][-1]["modules"]) for module in MODULES)
    cells = [{"what": f"import {module}"} | medians(some) for module, some in runs.items()]
    # scikit-learn loads pandas and rich if they are installed; we can't change that
    return cells, [name for name in HEAVY if name in ours - theirs]


def measure_commands(folder, repeats, before=None):
    """Return one cell per command, and per version of the source."""
    write_rows(folder)
    for name, (file, method) in MODELS.items():
        model = ["--method", method, "--out", folder / f"{name}.skops"]
        run_once(["fit", folder / file, "--target", "label", *model])
    commands = {"--help": ["--help"], "info": ["info"]}
    for name, (file, _) in MODELS.items():
        new = [folder / f"new {file}", "--out", folder / "out.csv", "--force"]
        commands[f"predict, {name}"] = ["predict", folder / f"{name}.skops", *new]
    commands["report, table"] = ["report", folder / "table.skops", "--force"]
    versions = {"": None} | ({" (before)": before} if before else {})
    runs = {(name, version): [] for name in commands for version in versions}
    for _ in range(repeats):
        for name, version in runs:
            runs[name, version].append(run_once(commands[name], versions[version]))
    return [
        {"what": f"semisvm {name}{version}"} | medians(some)
        for (name, version), some in runs.items()
    ]


def render_start(cells):
    """Return the table."""
    lines = [
        [cell["what"], f"{cell['seconds']:.2f}", f"{cell['cpu']:.2f}", f"{cell['megabytes']:.0f}"]
        for cell in cells
    ]
    return markdown_table(["what", "seconds", "CPU seconds", "MB"], lines)


def main(argv=None):
    """Measure and print; the exit status is 1 if semisvm loads a heavy module of its own."""
    parser = make_parser("start_time", __doc__)
    parser.add_argument("--repeats", type=int, default=5, metavar="N")
    parser.add_argument(
        "--before", type=Path, metavar="SRC", help="the source folder of another version"
    )
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        commands = measure_commands(Path(folder), options.repeats, options.before)
    imports, unwanted = measure_imports(options.repeats)
    cells = [*imports, *commands]
    write_cells([describe_today()], cells, options.out.with_suffix(".json"))
    print(f"{machine_line()}\n\n{render_start(cells)}")
    if unwanted:
        print(f"Not lazy: {', '.join(unwanted)}")
    return 1 if unwanted else 0


if __name__ == "__main__":
    sys.exit(main())
