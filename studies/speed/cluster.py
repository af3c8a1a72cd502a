"""Past one machine: what a fit of 10^8 and 10^9 rows would take on 10 and 100 workers, and with
slow workers.

    python -m studies.speed.cluster            # measures constants here, simulates, writes
    docs/measured/past-one-machine.svg
    python -m studies.speed.cluster --check    # also runs tasks that sleep on a real LocalCluster,
    for comparison

A pass is simulated task by task: the scheduler hands out one task at a time (TASK_SECONDS each), a
worker takes the next group when it is free, and sums of groups are added up in a tree of FAN_IN.
Groups hold GROUP_BYTES of rows, as in `semisvm.primal.dask_rows`.
"""

from __future__ import annotations

import argparse
import heapq
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from semisvm.primal.dask_rows import FAN_IN, GROUP_BYTES

TASK_SECONDS = 0.003  # of the scheduler, per task (docs/measured/large-data.md)
NETWORK = 1.0e9  # bytes per second
PASSES = {"supervised": 8, "transductive": 150}  # over all rows, as counted on 10^5 to 10^7 rows
FIGURE = Path(__file__).parents[2] / "docs" / "measured" / "past-one-machine.svg"


@dataclass(frozen=True)
class Constants:
    """CPU seconds per row: to look through a file, to encode it, and of one pass over encoded
    rows.
    """

    survey: float
    encode: float
    one_pass: float
    n_features: int = 20


def measure_constants(n_rows: int = 100_000, d: int = 20) -> Constants:
    """Measure on generated rows, one thread."""
    import pandas as pd

    from semisvm import TableEncoder
    from semisvm.primal.passes import passes_of
    from semisvm.primal.problem import ClassPrices, PrimalProblem
    from semisvm.tables.fit_folder import read_folder
    from semisvm.tables.folders import SurveyPlan, survey_file

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, d))).rename(columns=str)
    frame["kind"] = np.where(rng.random(n_rows) < 0.01, np.where(frame["0"] > 0, "yes", "no"), None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows" / "a.parquet"
        path.parent.mkdir()
        frame.to_parquet(path)
        names = tuple(map(str, range(d)))
        plan = SurveyPlan("kind", None, names, 1_000, 1_000)
        survey_file(path, plan)  # libraries are loaded
        began = time.process_time()
        survey_file(path, plan)
        survey = time.process_time() - began
        training = read_folder(path.parent, "kind")
        encoder = TableEncoder().fit(training.rows)
        began = time.process_time()
        rows = training.pool.rows(encoder)
        encode = time.process_time() - began
        passes = passes_of(PrimalProblem(rows, ClassPrices(1, 0, np.ones(2)), "hinge"))
        passes.at(np.zeros(d), 0.0, 1.0)
        began = time.process_time()
        for _ in range(5):
            passes.at(np.full(d, 0.01), 0.0, 1.0)
        one_pass = (time.process_time() - began) / 5
    return Constants(survey / n_rows, encode / n_rows, one_pass / n_rows, d)


# ---- the simulation ----


def simulate_pass(
    task_seconds: Sequence[float], speeds: Sequence[float], sum_bytes: float
) -> float:
    """Return how long a pass takes: tasks of so many seconds on workers of these speeds, then a
    tree of sums.

    A worker that is free takes the next task once the scheduler has handed it out. Nothing is taken
    away from a slow worker, so the last task of the slowest one may end the pass.
    """
    free = [(0.0, worker) for worker in range(len(speeds))]
    heapq.heapify(free)
    ends = []
    for number, seconds in enumerate(task_seconds):
        at, worker = heapq.heappop(free)
        end = max(at, (number + 1) * TASK_SECONDS) + seconds / speeds[worker]
        ends.append(end)
        heapq.heappush(free, (end, worker))
    level = ends
    while len(level) > 1:
        groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
        level = [
            max(group) + TASK_SECONDS + (len(group) - 1) * sum_bytes / NETWORK for group in groups
        ]
    return level[0]


@dataclass(frozen=True)
class Plan:
    """What a fit takes: seconds to read and encode, seconds per pass and of all passes, bytes
    moved per pass.
    """

    n_groups: int
    reading: float
    one_pass: float
    passes: float
    bytes_moved: float
    is_kept: bool


def plan_fit(
    constants: Constants,
    n_rows: float,
    n_workers: int,
    *,
    method: str,
    slow: int = 0,
    memory: float = 64e9,
) -> Plan:
    """Return what a fit takes on workers of one thread with so much memory; `slow` of them are
    three times slower.
    """
    d = constants.n_features
    rows_per_group = GROUP_BYTES // (4 * d)
    n_groups = int(np.ceil(n_rows / rows_per_group))
    speeds = [1 / 3] * slow + [1.0] * (n_workers - slow)
    sum_bytes = 8.0 * (d + 1) ** 2
    is_kept = 4 * d * n_rows <= 0.5 * memory * n_workers
    per_row = constants.one_pass + (0.0 if is_kept else constants.encode)
    one = simulate_pass([per_row * rows_per_group] * n_groups, speeds, sum_bytes)
    read = sum(
        simulate_pass([seconds * rows_per_group] * n_groups, speeds, 1e6)
        for seconds in (constants.survey, constants.encode)
    )
    moved = sum_bytes * n_groups + 8.0 * (d + 1) * n_workers
    return Plan(n_groups, read, one, PASSES[method] * one, moved, is_kept)


def table(constants: Constants) -> str:
    """Return the page's table."""
    lines = [
        (
            "| rows | workers | reading, 2 passes | one pass | supervised, 8 passes | transductive,"
            " 150 passes | moved |"
        ),
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for n_rows in (1e8, 1e9):
        for n_workers, slow in ((10, 0), (10, 1), (100, 0), (100, 10)):
            one, two = (
                plan_fit(constants, n_rows, n_workers, method=name, slow=slow) for name in PASSES
            )
            who = f"{n_workers}" + (f", {slow} of them three times slower" if slow else "")
            whole = [f"{plan.reading + plan.passes:,.0f} s" for plan in (one, two)]
            lines.append(
                f"| 10^{round(np.log10(n_rows))} | {who} | {one.reading:,.0f} s |"
                f" {one.one_pass:.2f} s | {whole[0]} | {whole[1]} | {one.bytes_moved / 1e6:.1f}"
                " MB |"
            )
    return "\n".join(lines)


def draw(constants: Constants, path: Path) -> None:
    """Draw the time of a pass against the number of workers."""
    from matplotlib.figure import Figure

    workers = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for n_rows, color in ((1e8, "#2a6f97"), (1e9, "#c05a2e")):
        for share, style in ((0.0, "-"), (0.1, ":")):
            seconds = [
                plan_fit(
                    constants, n_rows, n, method="supervised", slow=round(share * n), memory=1e15
                ).one_pass
                for n in workers
            ]
            label = f"10^{round(np.log10(n_rows))} rows" + (
                ", a tenth of the workers slow" if share else ""
            )
            axes.plot(workers, seconds, style, color=color, label=label)
    axes.set(xscale="log", yscale="log", xlabel="workers of one thread", ylabel="seconds per pass")
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})


# ---- a real cluster beside it ----


def _sleep(seconds: float) -> float:
    """A task: a worker whose name is "slow" takes three times as long."""
    from distributed import get_worker

    time.sleep(seconds * (3.0 if get_worker().name == "slow" else 1.0))
    return seconds


def check_on_cluster(n_tasks: int = 40, seconds: float = 0.25) -> tuple[float, float]:
    """Return (measured, simulated) seconds of tasks that sleep, on four workers of which one is
    slow.
    """
    from distributed import Client, LocalCluster, Worker

    spec = {name: {"cls": Worker, "options": {"nthreads": 1}} for name in ("slow", "a", "b", "c")}
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        cluster.worker_spec.update(spec)
        cluster.sync(cluster._correct_state)
        client.wait_for_workers(4)
        began = time.perf_counter()
        client.gather(client.map(_sleep, [seconds] * n_tasks, pure=False))
        measured = time.perf_counter() - began
    return measured, simulate_pass([seconds] * n_tasks, [1 / 3, 1.0, 1.0, 1.0], 0.0)


def main() -> None:
    """Measure, simulate and print."""
    parser = argparse.ArgumentParser(description="What fits past one machine would take.")
    parser.add_argument(
        "--check", action="store_true", help="also run sleeping tasks on a real cluster"
    )
    arguments = parser.parse_args()
    constants = measure_constants()
    print(
        "microseconds per row:",
        {k: round(1e6 * v, 3) for k, v in vars(constants).items() if k != "n_features"},
    )
    print(table(constants))
    draw(constants, FIGURE)
    if arguments.check:
        measured, simulated = check_on_cluster()
        print(
            f"40 tasks of 0.25 s on 4 workers, one slow: {measured:.2f} s measured, {simulated:.2f}"
            " s simulated"
        )


if __name__ == "__main__":
    main()
