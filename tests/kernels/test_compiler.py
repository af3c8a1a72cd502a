"""Ctrl-C waits while Numba compiles, and finds a compiler that still works."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from semisvm.kernels.compiler import LateInterrupts

INTERRUPTED = """
import signal
from numba.core.event import Listener, install_listener
from semisvm.kernels.compiler import jit

@jit
def double(number):
    return 2 * number

class Impatient(Listener):
    n_sent = 0

    def on_start(self, event):
        self.n_sent += 1
        signal.raise_signal(signal.SIGINT)

    def on_end(self, event):
        pass

try:
    with install_listener("numba:run_pass", Impatient()) as impatient:
        double(3)
except KeyboardInterrupt:
    print("interrupted after", len(double.signatures), "signature")
print(impatient.n_sent > 1, double(4), signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""

CUT_OFF = """
import signal, sys

class Impatient:
    def find_spec(self, name, *more):
        if name == "numba.core.types.functions":
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Impatient())
import numpy as np
from semisvm import SupervisedSVC

X = np.random.default_rng(0).normal(size=(400, 3))
for _ in range(2):
    print(SupervisedSVC().fit(X, X[:, 0] > 0).termination_condition_)
"""


@pytest.fixture
def interrupts():
    """Interrupts that can wait; the handlers of this process are put back."""
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield LateInterrupts()
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGTERM, before[1])


def test_an_interrupt_waits_until_numba_has_compiled(tmp_path):
    program = tmp_path / "interrupted.py"
    program.write_text(INTERRUPTED)
    nothing_on_disk = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=120, env=nothing_on_disk
    )
    assert (done.stdout, done.stderr) == ("interrupted after 1 signature\nTrue 8 True\n", "")


def test_interrupts_come_when_the_outermost_pair_ends(interrupts):
    interrupts.hold()
    interrupts.hold()
    signal.raise_signal(signal.SIGINT)
    interrupts.release()
    with pytest.raises(KeyboardInterrupt):
        interrupts.release()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    interrupts.hold()
    interrupts.release()  # nothing is left of the first one


def test_a_signal_that_python_does_not_handle_is_left_alone(interrupts):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupts.hold()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    interrupts.release()


def test_both_signals_wait_where_python_handles_them(interrupts):
    seen = []
    signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    interrupts.hold()
    signal.raise_signal(signal.SIGTERM)
    assert not seen
    interrupts.release()
    assert seen == [signal.SIGTERM]


def test_other_threads_hold_nothing(interrupts):
    other = threading.Thread(target=interrupts.hold)
    other.start()
    other.join()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    interrupts.release()  # what was not held can't be released
    assert interrupts.n_holds == 0


@pytest.mark.posix
def test_ctrl_c_while_numba_is_imported_waits_until_it_is():
    done = subprocess.run(
        [sys.executable, "-c", CUT_OFF], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "interrupted\nconverged\n", done.stderr
