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
        forkserver.set_forkserver_preload(["distributed", "semisvm"])
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


def slow_block(block):
    time.sleep(0.01)
    return block


def die(block):
    os.kill(os.getpid(), signal.SIGKILL)


def allow_no_failure(dask_scheduler):
    dask_scheduler.allowed_failures = 0
