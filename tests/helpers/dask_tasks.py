"""A cluster of two real processes, and tasks that another process can import."""

import contextlib
import multiprocessing
import os
import signal
import warnings


@contextlib.contextmanager
def start_cluster():
    """A client of two worker processes on this machine, one thread each.

    Where there is `fork`, they are made by one process that has imported everything, so that a
    worker in place of a killed one takes no seconds to begin.
    """
    import dask
    import distributed

    fork = {}
    if "forkserver" in multiprocessing.get_all_start_methods():
        from multiprocessing import forkserver

        fork = {"distributed.worker.multiprocessing-method": "forkserver"}
        forkserver.set_forkserver_preload(["distributed", "semisvm.engine.dask_rows"])
        forkserver.ensure_running()  # before Dask says what to import
    with (
        warnings.catch_warnings(),
        dask.config.set(fork),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="1GB"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def sum_of_rows(part):
    return part.X.sum(axis=0)


def span_of(part):
    return part.span.start, part.span.stop


def die(block):
    os.kill(os.getpid(), signal.SIGKILL)


def allow_no_failure(dask_scheduler):
    dask_scheduler.allowed_failures = 0
