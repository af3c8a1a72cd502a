"""A checkpointed fit killed with -9 at random moments and resumed, beside one that was left alone.

    python killed_fits.py FOLDER METHOD N_ROWS N_KILLS

Prints JSON: how many times it was killed, and whether the two models are the same to the last bit. Children are forked
from a process that has imported and compiled everything, so that a fit is killed and not an import. It must run on one
thread (OMP_NUM_THREADS=1, NUMBA_NUM_THREADS=1): threads do not survive a fork.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pandas
import sklearn.compose  # noqa: F401  here and below: imported once, before children are forked
import skops.io  # noqa: F401

import semisvm
import semisvm.dual.pairwise_kernel
import semisvm.kernels.compiled
from semisvm.tables import fit as fitting
from semisvm.tables.classes import Classes
from semisvm.tables.columns import Column
from semisvm.tables.methods import Settings
from semisvm.tables.training import Training


def training(n_rows: int) -> Training:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, 4)) + 0.8 * truth[:, None]
    codes = np.where(rng.random(n_rows) < 0.1, truth, -1)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    columns = [Column(name, "number") for name in "abcd"]
    return Training("rows", "y", frame, codes, Classes(("no", "yes"), False), columns)


def fit(folder: Path, method: str, rows: Training, name: str) -> None:
    """What `semisvm fit --checkpoint --resume` does once the rows are read."""
    fitted = fitting.fit_model(rows, Settings(), method=method, checkpoint=folder / name, resume=True)
    semisvm.save(fitted.model, folder / f"{name}.skops", force=True)
    assert fitted.checkpoint is not None
    fitted.checkpoint.remove()


def begin(folder: Path, method: str, rows: Training, name: str) -> int:
    child = os.fork()
    if child:
        return child
    try:
        fit(folder, method, rows, name)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def main(folder: Path, method: str, n_rows: int, n_kills: int) -> None:
    rows = training(n_rows)
    fit(folder, method, rows, "warm")
    before = time.perf_counter()
    assert os.waitpid(begin(folder, method, rows, "whole"), 0)[1] == 0
    seconds = time.perf_counter() - before
    chance = random.Random(0)
    kills = 0
    while kills < n_kills:
        child = begin(folder, method, rows, "parts")
        time.sleep(chance.uniform(0.2, 0.95) * seconds)
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):  # it was done before the kill
            (folder / "parts.skops").unlink()
            continue
        kills += 1
    status = os.waitpid(begin(folder, method, rows, "parts"), 0)[1]
    whole, parts = (semisvm.load(folder / f"{name}.skops").estimator for name in ("whole", "parts"))
    names = ("dual_coef_", "intercept_", "support_", "support_vectors_")
    same = all(np.array_equal(getattr(whole, name), getattr(parts, name)) for name in names)
    left = sorted(entry.name for entry in folder.iterdir())
    print(json.dumps({"kills": kills, "status": status, "same": same, "left": left, "seconds": seconds}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
