"""Runs of a task with several solvers, by turns; their medians; and whether goals are met."""

import statistics
import sys

from studies.speed.records import append_record
from studies.speed.runner import run_module


def measure(module, task, solvers, repeats, params, out, session, *, once):
    """Make all runs of a task, appending a record for each; return medians by solver.

    module   the benchmark, run in a process of its own as `--child task solver`
    once     tells of a solver whether one run is enough
    """
    runs = {solver: [] for solver in solvers}
    for repeat in range(repeats):
        for solver in solvers:
            if repeat > 0 and once(solver):
                continue
            answer, _ = run_module(module, task, solver)
            what = {"cell": {"task": task, "size": "all"}, "solver": solver, "params": params, "repeat": repeat}
            append_record(out, session | what | answer)
            if answer["outcome"] == "done":
                runs[solver].append(answer["measures"])
            else:
                print(f"{task}, {solver}: {answer.get('why', answer['outcome'])}", file=sys.stderr)
    return {s: {name: statistics.median(r[name] for r in each) for name in each[0]} for s, each in runs.items() if each}


def goal_words(goal, took):
    """Say of the seconds and the memory a goal names whether they are met."""
    words = []
    if "seconds" in goal:
        words.append(f"{goal['seconds']:g} s {met(took['wall_s'] < goal['seconds'])}")
    if "mib" in goal:
        words.append(f"{goal['mib']:,.0f} MiB {met(took['rss_peak_mib'] < goal['mib'])}")
    return words


def met(is_met):
    """Say it."""
    return "met" if is_met else "missed"


def machine_line(session):
    """Name the machine and the commit."""
    machine = session["machine"]
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB; commit {session['commit']}"
