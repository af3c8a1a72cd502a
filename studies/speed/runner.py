"""Starts one run in a process of its own and brings its answer back.

This module, and what imports it, stays small in memory (no scikit-learn): a process inherits its parent's
high-water mark of memory, and would report it as its own.
"""

import json
import os
import signal
import subprocess
import sys

from studies.speed.machine import ROOT, without_paths

ONE_CORE = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def run_child(spec):
    """Run `studies.speed.child` on a description and return its answer, whatever became of the process."""
    process = _start("studies.speed.child", json.dumps(spec))
    answer = _last_json(process.stdout)
    if answer is None:
        answer = _explain(process)
    if "why" in answer:
        answer["why"] = without_paths(answer["why"])
    return answer


def run_module(module, *arguments, environment=None):
    """Run a benchmark's own module with `--child` and return outcome, measures, and what it printed as errors."""
    process = _start(f"studies.speed.{module}", "--child", *map(str, arguments), environment=environment)
    measures = None if process.returncode else _last_json(process.stdout)
    answer = _explain(process) if measures is None else {"outcome": "done", "measures": measures}
    if "why" in answer:
        answer["why"] = without_paths(answer["why"])
    return answer, process.stderr


def prepare_rows(cell, path):
    """Write the file of a cell's rows in a process of its own and return its shape."""
    code = (
        "import sys, json; from studies.speed.rows import write_rows; from studies.speed.tasks import Cell;"
        "print(json.dumps(write_rows(Cell(*sys.argv[1:3]), sys.argv[3])))"
    )
    process = _start(None, cell.task, cell.size, str(path), code=code)
    shape = _last_json(process.stdout)
    if shape is None:
        # The last line of a traceback is "Name: sentence"; the sentence is for the reader.
        sentence = _last_line(process.stderr).partition(": ")[2]
        raise RuntimeError(sentence or f"The rows of {cell} could not be prepared.")
    return shape


def _start(module, *arguments, code=None, environment=None):
    how = ["-c", code] if code else ["-m", module]
    with subprocess.Popen(
        [sys.executable, *how, *arguments],
        cwd=ROOT,
        env=None if environment is None else os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, err = process.communicate()
        except BaseException:  # Ctrl-C above all: no run outlives the harness
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _last_json(text):
    """Return the object on the last line, or None: libraries may print before it."""
    try:
        return json.loads(_last_line(text))
    except json.JSONDecodeError:
        return None


def _last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _explain(process):
    """Return the answer of a process that gave none."""
    status = process.returncode
    if status == -signal.SIGALRM:
        return {"outcome": "over limit"}
    if status < 0:
        return {"outcome": "error", "why": f"ended by {signal.Signals(-status).name}"}
    return {"outcome": "error", "why": _last_line(process.stderr) or f"exit status {status}"}
