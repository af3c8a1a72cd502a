"""Do fits use the cores that they are given, and no more?

Every fit runs in several ways, by turns in one process that is pinned to its cores:

    default    as it comes
    one        OMP_NUM_THREADS=1, and one thread of BLAS
    all        the library's threads on all cores, however busy the machine is; without busy loops
               that is the default

on the machine as it is and with busy loops on the same cores. The goal is a wall time within 1.2
times, and a processor time within 1.5 times, of the best of the three.

A fit that is shorter than BLOCK_SECONDS is repeated until they are over; of several such blocks the
shortest counts. One that takes longer than `--longest` is not measured, and the record says so. The
command is run whole, as a process. Fits on few cores run side by side on different cores, those on
all cores one after the other.

    python -m studies.speed.threads --cores 2 16 --busy 0 2
    python -m studies.speed.threads --fits AutoSVC         fits whose names hold these words
    python -m studies.speed.threads --add-to FILE          what a record lacks, added to it in --out
    python -m studies.speed.threads --table FILE           the tables of a record
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from unittest.mock import patch

import numpy as np

from studies.harness.fresh_process import call_fresh
from studies.harness.machine import describe_today, usable_cores, without_paths
from studies.harness.means import read_cells, write_cells
from studies.harness.tables import markdown_table
from studies.speed.runs import make_parser

SIZES = (500, 2_000, 20_000)
ESTIMATORS = (  # the quickest of 20,000 rows first
    "SupervisedSVC",
    "MixtureClassifier",
    "SVCCV",
    "SelfTrainingSVC",
    "LabelMeanSVC",
    "ClusterSVC",
    "PreferenceSVC",
    "AutoSVC",
    "PositiveUnlabeledSVC",
    "LaplacianSVC",
    "TransductiveSVC",
    "ProgressiveSVC",
)
COMMANDS = {
    "semisvm fit, 1,000 x 59, 100 labels": (1_000, 59, 100),
    "semisvm fit, 21,000 x 23, 200 labels": (21_000, 23, 200),
}
FITS = (
    *(f"{name}, {size:,} x 50" for size in SIZES[:2] for name in ESTIMATORS),
    "AutoSVC, breast cancer, 569 x 30",
    "AutoSVC, breast cancer as a table",
    "LaplacianSVC, digits, 1,797 x 64",
    *COMMANDS,
    *(f"{name}, {SIZES[2]:,} x 50" for name in ESTIMATORS),
    "AutoSVC, 2,000 texts",
)
N_LABELED = 200
BLOCK_SECONDS = 0.1
SECONDS_TO_LOAD = 4.0  # of the machine code, in a first fit
LONG_SECONDS = 4.0  # a fit that takes longer is measured once in every way
BLAS_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
WALL_GOAL, CPU_GOAL = 1.2, 1.5
WAYS = ("default", "one", "all")
NO_TIME = "no time was left"


# ---- the ways ----


@contextlib.contextmanager
def in_way(way: str) -> Iterator[None]:
    """Let fits use threads in one of the WAYS."""
    from threadpoolctl import threadpool_limits

    from semisvm.kernels import threads

    with contextlib.ExitStack() as changes:
        if way == "one":
            changes.enter_context(patch.dict(os.environ, {"OMP_NUM_THREADS": "1"}))
            changes.enter_context(threadpool_limits(1))
        if way == "all":
            changes.enter_context(patch.object(threads._load, "n_cores_to_use", usable_cores))
        yield


# ---- the fits ----


def make_rows(n_rows: int, n_features: int, n_labeled: int = N_LABELED) -> tuple[Any, Any]:
    """Return rows of two classes that overlap, and labels: -1 but for the first few."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n_rows)
    shift = rng.normal(size=n_features) / np.sqrt(n_features)
    X = rng.normal(size=(n_rows, n_features)) + 2.5 * np.outer(y, shift)
    return X, np.where(np.arange(n_rows) < n_labeled, y, -1)


def make_texts(n_texts: int) -> tuple[list[str], Any]:
    """Return texts of two classes, 40 to 160 words that are the rarer the longer, and labels."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlu"))
    words = np.array(
        ["".join(rng.choice(letters, 2 + int(np.log2(1 + rank)))) for rank in range(20_000)]
    )
    chances = 1 / (1 + np.arange(len(words)))
    y = rng.integers(2, size=n_texts)
    tilts = [chances * np.exp(rng.normal(size=len(words)) / 2) for _ in range(2)]
    texts = [
        " ".join(rng.choice(words, rng.integers(40, 160), p=tilts[label] / tilts[label].sum()))
        for label in y
    ]
    return texts, np.where(np.arange(n_texts) < N_LABELED, y, -1)


def make_fit(name: str) -> Callable[[], Any]:
    """Return the call that is measured."""
    import semisvm

    estimator, _, words = name.partition(", ")
    X: Any
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
    elif "texts" in words:
        X, hidden = make_texts(2_000)
        return lambda: semisvm.AutoSVC().fit(X, hidden)
    else:
        n_rows, _, n_features = words.replace(",", "").partition(" x ")
        X, hidden = make_rows(int(n_rows), int(n_features))
        if estimator == "PositiveUnlabeledSVC":
            hidden = np.where(hidden == 1, 1, -1)
        return lambda: getattr(semisvm, estimator)().fit(X, hidden)
    hidden = np.where(np.random.default_rng(0).random(len(y)) < 0.06, y, -1)
    return lambda: getattr(semisvm, estimator)().fit(X, hidden)


def time_fit(
    name: str, ways: Sequence[str], longest: float, seconds_left: Callable[[], float]
) -> dict[str, Any]:
    """Return the seconds of a fit in every way, or a word about why there are none."""
    fit = make_fit(name)
    try:
        with at_most(min(longest + SECONDS_TO_LOAD, seconds_left())):
            seconds = time_block(fit, 1)[0]
            if seconds < LONG_SECONDS:
                seconds = time_block(fit, 1)[0]  # the first call loads machine code
    except TimeoutError:
        return {"why": f"longer than {longest:g} s" if seconds_left() > 0 else NO_TIME}
    is_short = seconds < BLOCK_SECONDS
    n_fits = max(1, round(BLOCK_SECONDS / seconds))
    n_rounds = 3 if is_short else 2 if seconds < LONG_SECONDS else 1
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(n_rounds):
        for way in ways:
            limit = min(3 * longest, seconds_left())
            with contextlib.suppress(TimeoutError), in_way(way), at_most(limit):
                if is_short:
                    fit()  # threads of that number are started
                found[way].append(time_block(fit, n_fits))
            if seconds_left() <= 0:
                return {"why": NO_TIME}
    return shortest(found)


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError, as Ctrl-C is raised, if the block takes longer, or has ignored it."""
    is_over = []

    def end(number: int, frame: Any) -> None:
        is_over.append(True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    except KeyboardInterrupt:
        if not is_over:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if is_over:
        raise TimeoutError


def time_block(fit: Callable[[], Any], n_fits: int) -> tuple[float, float]:
    """Return wall and processor seconds of one of so many fits."""
    cpu = time.process_time()
    wall = time.perf_counter()
    for _ in range(n_fits):
        fit()
    return (time.perf_counter() - wall) / n_fits, (time.process_time() - cpu) / n_fits


def shortest(found: dict[str, list[tuple[float, float]]]) -> dict[str, Any]:
    """Return the least wall and processor seconds of every way."""
    return {
        f"{way}: {unit}": min(run[place] for run in runs)
        for way, runs in found.items()
        if runs
        for place, unit in enumerate(("wall s", "CPU s"))
    }


def time_command(
    name: str, ways: Sequence[str], longest: float, seconds_left: Callable[[], float]
) -> dict[str, Any]:
    """Return the seconds of the whole command, from its start: what a person waits for."""
    from semisvm.errors import CLI_PACKAGES, MissingExtraError, require_extra

    try:
        require_extra("The command", *CLI_PACKAGES)
    except MissingExtraError as error:
        return {"why": str(error)}
    X, hidden = make_rows(*COMMANDS[name])
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        label = np.where(hidden < 0, "", np.where(hidden > 0, "yes", "no"))
        head = ",".join([*(f"c{number}" for number in range(X.shape[1])), "target"])
        lines = [",".join([*(f"{value:.4f}" for value in row)]) for row in X]
        body = "\n".join(f"{line},{text}" for line, text in zip(lines, label, strict=True))
        table.write_text(f"{head}\n{body}\n")
        for way in (ways[0], *ways):  # the first run, which may compile, does not count
            program = "from semisvm.cli import main; main()"
            if way == "all":
                program = (
                    "from semisvm.cli import main; from studies.speed.threads import in_way\n"
                    "with in_way('all'): main()"
                )
            command = [sys.executable, "-c", program, "fit", str(table), "--target", "target"]
            command += ["--out", str(Path(folder, "model.skops")), "--force"]
            # Before NumPy is loaded: OpenBLAS starts its threads then.
            threads = dict.fromkeys(BLAS_VARIABLES, "1") if way == "one" else {}
            before = os.times()
            began = time.perf_counter()
            limit = max(0.0, min(4 * longest, seconds_left()))
            try:
                done = subprocess.run(
                    command,
                    capture_output=True,
                    text=True,
                    timeout=limit,
                    env=os.environ | threads,
                )
            except subprocess.TimeoutExpired:
                is_over = seconds_left() <= 0
                return {"why": NO_TIME if is_over else f"longer than {limit:g} s ({way})"}
            wall = time.perf_counter() - began
            after = os.times()
            if done.returncode not in (0, 1, 4):
                return {"why": done.stderr.strip()[-300:]}
            used = after.children_user + after.children_system
            found[way] = [(wall, used - before.children_user - before.children_system)]
    return shortest(found)


def run_group(
    fits: Sequence[str], n_busy: int, longest: float, seconds: float
) -> list[dict[str, Any]]:
    """Measure some fits in this process, beside busy loops, for so many seconds in all."""
    from semisvm.kernels import threads

    warnings.simplefilter("ignore")
    cells = []
    ways = WAYS if n_busy else WAYS[:2]
    began = time.perf_counter()

    def seconds_left() -> float:
        return seconds - (time.perf_counter() - began)

    make_fit("SupervisedSVC, 500 x 50")()  # imports
    with busy_loops(n_busy):
        time.sleep(0.5)
        for name in fits:
            cell = {"cores": usable_cores(), "busy": n_busy, "fit": name}
            cell["threads"] = threads.n_threads()
            if seconds_left() <= 0:
                cell["why"] = NO_TIME
            elif name in COMMANDS:
                cell |= time_command(name, ways, longest, seconds_left)
            else:
                try:
                    cell |= time_fit(name, ways, longest, seconds_left)
                except Exception as error:
                    cell["why"] = without_paths(f"{type(error).__name__}: {error}")
            cells.append(cell)
    return cells


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


# ---- all of them ----


Setting = tuple[str, int, int]  # fit, cores, busy loops


def measure(n_cores: int, options: Any, wanted: Callable[[Setting], bool]) -> list[dict[str, Any]]:
    """Return one cell per load and fit on so many cores."""
    cores = sorted(os.sched_getaffinity(0))
    n_beside = max(1, len(cores) // n_cores)
    places: SimpleQueue[list[int]] = SimpleQueue()
    for start in range(n_beside):
        places.put(cores[start * n_cores : (start + 1) * n_cores])
    groups = []
    for n_busy in sorted(options.busy, reverse=True):  # the longest first
        fits = [fit for fit in FITS if wanted((fit, n_cores, n_busy))]
        parts = [[fit] for fit in fits[::-1]] if n_beside > 1 else [fits]
        groups += [(part, n_busy) for part in parts if part]
    ends_at = time.perf_counter() + options.seconds

    def run(group: tuple[list[str], int]) -> list[dict[str, Any]]:
        some, n_busy = group
        where = places.get()
        os.sched_setaffinity(0, where)  # of this thread, and of the process that it starts
        left = ends_at - time.perf_counter()
        answer = call_fresh("studies.speed.threads:run_group", some, n_busy, options.longest, left)
        places.put(where)
        if answer["outcome"] != "done":
            print(answer, file=sys.stderr)
            return []
        for cell in answer["result"]:
            print(cell, file=sys.stderr)
        return answer["result"]

    with ThreadPoolExecutor(n_beside) as workers:
        return [cell for found in workers.map(run, groups) for cell in found]


def setting_of(cell: dict[str, Any]) -> Setting:
    return cell["fit"], cell["cores"], cell["busy"]


def ratios(cell: dict[str, Any]) -> tuple[float, float]:
    """Return wall and processor seconds of the default over those of the best of all ways."""
    wall, cpu = (
        cell[f"default: {unit}"]
        / min(cell[f"{way}: {unit}"] for way in WAYS if f"{way}: {unit}" in cell)
        for unit in ("wall s", "CPU s")
    )
    return wall, cpu


def render_threads(cells: Sequence[dict[str, Any]]) -> str:
    """Return the table: seconds of the default, one line per fit, and what is outside of the
    goal.
    """
    settings = sorted({(cell["cores"], cell["busy"]) for cell in cells})
    heads = [
        f"{n_cores} cores{f', {n_busy} busy loops' if n_busy else ''}"
        for n_cores, n_busy in settings
    ]
    by_key = {setting_of(cell): cell for cell in cells}
    lines = []
    found = []
    outside = []
    for name in (name for name in FITS if any(cell["fit"] == name for cell in cells)):
        line = [name]
        for setting, head in zip(settings, heads, strict=True):
            cell = by_key.get((name, *setting), {"why": ""})
            if "why" in cell:
                line.append(cell["why"].replace(NO_TIME, ""))
                continue
            wall, cpu = ratios(cell)
            found.append((wall, cpu))
            line.append(f"{cell['default: wall s']:.2g}, {cell['default: CPU s']:.2g}")
            if wall > WALL_GOAL or cpu > CPU_GOAL:
                line[-1] = f"*{line[-1]}*"
                outside.append(f"- {name}, {head}: {wall:.2f}, {cpu:.2f}")
        if any(line[1:]):
            lines.append(line)
    middle = [statistics.median(values) for values in zip(*found, strict=True)]
    said = (
        "Cells are wall and CPU seconds of the default. They are compared with the best of one"
        f" thread, all threads and the default: in the median, they are {middle[0]:.2f} and"
        f" {middle[1]:.2f} times as long, and in {len(found) - len(outside)} of {len(found)} cells"
        f" at most {WALL_GOAL} and {CPU_GOAL} times"
        f"{'. The other cells are in italics:' if outside else '.'}"
    )
    return "\n\n".join(
        [markdown_table(["fit", *heads], lines), said, *["\n".join(outside)][: len(outside)]]
    )


def main() -> None:
    """Measure and print the table."""
    parser = make_parser("threads", __doc__)
    parser.add_argument("--cores", type=int, nargs="+", default=[usable_cores()])
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 2], help="busy loops beside")
    parser.add_argument("--longest", type=float, default=4.0, help="seconds of a fit")
    parser.add_argument("--seconds", type=float, default=1e9, help="for a number of cores")
    parser.add_argument("--fits", nargs="*", default=[""], metavar="WORDS")
    parser.add_argument("--add-to", type=Path, metavar="FILE", help="a record, and what it lacks")
    parser.add_argument("--again", action="store_true", help="with --add-to: what it has, too")
    parser.add_argument("--table", type=Path, metavar="FILE", help="of this record; run nothing")
    options = parser.parse_args()
    if options.table:
        print(render_threads(read_cells(options.table)))
        return
    before = json.loads(options.add_to.read_text()) if options.add_to else {}
    cells = {setting_of(cell): cell for cell in before.get("cells", ())}

    def wanted(setting: Setting) -> bool:
        is_named = any(words in setting[0] for words in options.fits)
        return is_named and (options.again or "why" in cells.get(setting, {"why": NO_TIME}))

    for n_cores in options.cores:
        for cell in measure(n_cores, options, wanted):
            if cell.get("why") != NO_TIME or setting_of(cell) not in cells:
                cells[setting_of(cell)] = cell
    record = options.out.with_suffix(".json")
    write_cells([*before.get("measured", ()), describe_today()], cells.values(), record)
    print(render_threads(list(cells.values())))


if __name__ == "__main__":
    main()
