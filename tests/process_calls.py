"""Functions that tests of the harness call in other processes; importing them costs nothing."""

import os
import signal
import time

from studies.harness.fresh_process import NotAvailableError, measured


def run_or_die(number):
    """Return the number, the process and its threads; a negative number ends the process."""
    if number < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"number": number, "process": os.getpid(), "threads": os.environ["OMP_NUM_THREADS"]}


def failed_number(number, why):
    """Return the record of a number that ended its process."""
    return {"number": number, "why": why}


def add(one, other):
    """Return the sum."""
    return {"sum": one + other}


def fail():
    """Raise an error whose text has a path."""
    raise ValueError("it broke in /some/folder/file.py")


def lack():
    """Raise the error of something that can't be imported."""
    raise NotAvailableError("no such solver")


def take_time(seconds, limit_s):
    """Hold 50 MiB for some seconds of processor time, and return what that took."""
    took = {}
    with measured(took, limit_s):
        held = b"x" * (50 * 2**20)
        while time.process_time() < seconds:
            pass
        del held
    return took
