"""A cluster of real processes, and what its workers run: functions that another process can
import.
"""

import contextlib
import multiprocessing
import os
import signal
import time
import warnings


@contextlib.contextmanager
def start_cluster(n_workers=2, memory_limit="1GB"):
    """A client of worker processes on this machine, one thread each.

    Where there is `fork`, they are made by one process that has imported everything, so that
    neither a second cluster nor a worker in place of a killed one takes seconds to begin.
    """
    import dask
    import distributed

    fork = {}
    if "forkserver" in multiprocessing.get_all_start_methods():
        from multiprocessing import forkserver

        fork = {"distributed.worker.multiprocessing-method": "forkserver"}
        forkserver.set_forkserver_preload(["distributed", "semisvm.tables.fit_folder"])
        forkserver.ensure_running()  # before Dask says what to import
    options = {
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
        "memory_limit": memory_limit,
    }
    with (
        warnings.catch_warnings(),
        dask.config.set(fork),
        distributed.LocalCluster(n_workers=n_workers, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def load_libraries():
    """Import what reads and encodes the files of a folder."""
    import semisvm.tables.fit_folder  # noqa: F401


def bytes_of_rows(dask_worker):
    """Bytes that a worker holds now, without answers that it keeps until the client has them."""
    return sum(
        task.nbytes or 0
        for key, task in list(dask_worker.state.tasks.items())
        if task.state == "memory" and not str(key).startswith("_map_group")
    )


def sum_of_rows(part):
    return part.X.sum(axis=0)


def spans(part, shift):
    return part.span.start + shift, part.span.stop + shift


def slow_block(block):
    time.sleep(0.01)
    return block


def die(block):
    os.kill(os.getpid(), signal.SIGKILL)


def allow_no_failure(dask_scheduler):
    dask_scheduler.allowed_failures = 0
