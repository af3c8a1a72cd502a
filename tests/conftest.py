"""Fixtures that several test files share. They import what they need: the process that hands out
tests to the others, and waits, reads this file too.
"""

import contextlib
import gc
import importlib.util
import os
import signal
import sys
from functools import partial
from pathlib import Path

# The workers of a parallel run share the cores, and threads that wait in a loop, as OpenBLAS's and
# OpenMP's, take them from each other. Read when NumPy is first imported; the workers and the
# commands that tests start inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Without bytecode every worker and every command that a test starts compiles all modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import pytest
from hypothesis import settings

import browser

sys.dont_write_bytecode = False
REPOSITORY = Path(__file__).resolve().parents[1]


# A slow machine is no failure; and where nobody is there to look, every run tries the same
# examples.
settings.register_profile("semisvm", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("semisvm")


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard():
    """A process that a shell starts in the background ignores Ctrl-C, its children too: tests
    that press it need it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def compiled_once():
    """In a fresh clone one of several workers compiles everything first; the others, whose first
    tests need little of it, find the machine code on disk. What does not compile fails in its
    own tests.
    """
    # Before anything is patched, since modules copy constants of each other.
    from semisvm.estimators.compilation import compile_all

    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        with contextlib.suppress(Exception):
            compile_all()


@pytest.fixture(autouse=True)
def signal_handlers_are_put_back():
    """The command sets handlers for the rest of its process, and a test that calls it goes on."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def chromium():
    """A running browser; without one the test is skipped with the reason."""
    from playwright.sync_api import sync_playwright

    found = browser.find()
    if found is None:
        pytest.skip(browser.NONE)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=found, args=browser.ARGUMENTS, env=browser.environment(found)
        )
        yield running
        running.close()


@pytest.fixture(scope="module")
def cluster():
    """A client of two real worker processes."""
    pytest.importorskip("distributed")
    from cluster_tasks import start_cluster

    with start_cluster() as client:
        yield client


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """Return the folder of the papers' data: SEMISVM_DATA, else ../shared/data beside the
    repository.
    """
    given = os.environ.get("SEMISVM_DATA")
    folder = Path(given).expanduser() if given else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(
            f"needs the papers' data, and there is no folder {folder}: set SEMISVM_DATA to it"
        )
    return folder


def _devices() -> list[str]:
    """Where numerical tests run: the CPU; Triton's interpreter, where TRITON_INTERPRET=1 asks
    for it; else cuda.
    """
    if all(importlib.util.find_spec(name) for name in ("torch", "triton")):
        if os.environ.get("TRITON_INTERPRET") == "1":
            return ["cpu", "interpreter"]
        from semisvm.device import resolve

        if resolve("auto", n_rows=10**9) == "cuda":
            return ["cpu", "cuda"]
    return ["cpu"]


DEVICES = _devices()
WORKING_SETS = "cpu, working sets"


def in_working_sets(monkeypatch, size=24) -> None:
    """Let the CPU solve small problems as it solves large ones, by sets so small that there are
    many rounds.
    """
    from semisvm.dual import advance, host

    monkeypatch.setattr(host, "WHOLE_GRAM_BYTES", -1)
    monkeypatch.setattr(host, "WARM_GRAM_BYTES", -1)
    monkeypatch.setattr(host, "PAIRWISE_WARM_ROWS", -1)
    monkeypatch.setattr(advance, "SET_SIZES", ((200, 4 * size), (0, size)))


@pytest.fixture(params=[*DEVICES[:1], WORKING_SETS, *DEVICES[1:]])
def device(request, monkeypatch) -> str:
    """Run a test on every device there is, on the CPU by both of its ways."""
    if request.param == WORKING_SETS:
        in_working_sets(monkeypatch)
        return "cpu"
    return request.param


@pytest.fixture(params=["pairwise steps", "working sets"])
def cpu_way(request, monkeypatch) -> str:
    """Run a test by both ways of the CPU."""
    if request.param == "working sets":
        in_working_sets(monkeypatch)
    return request.param


@pytest.fixture(params=[name for name in DEVICES if name != "cpu"] or ["none"])
def other_device(request) -> str:
    """Run a test on every device but the CPU, with which it compares."""
    if request.param == "none":
        pytest.skip("needs torch and Triton: make test-gpu")
    return request.param


@pytest.fixture
def solve(device):
    """The solver of a device."""
    from semisvm import dual

    return partial(dual.solve, device=device)


def pytest_collection() -> None:
    """What is imported and collected stays to the end: the garbage collector need not look at it
    again and again, and elsewhere not as often as by default, which takes 4% of the time.
    """
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


def pytest_collection_modifyitems(items) -> None:
    """On the interpreter, where a step takes milliseconds, run the first case of each test; on
    Windows no POSIX. Nobody reads the traceback of an expected failure, whose drawing parses all
    of its files.
    """
    seen = set()
    kept = []
    for item in items:
        if item.get_closest_marker("xfail"):
            item.repr_failure = pytest.ExceptionInfo.exconly
        if os.name == "nt" and item.get_closest_marker("posix"):
            item.add_marker(pytest.mark.skip(reason="needs POSIX"))
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if "interpreter" in (parameters.get("device"), parameters.get("other_device")):
            name = item.path, item.originalname
            if name in seen or item.get_closest_marker("many_steps"):
                continue
            seen.add(name)
        kept.append(item)
    items[:] = kept


@pytest.fixture(autouse=True)
def no_ctrl_c_before():
    """Two Ctrl-C within a second end more than a fit: those of one test must not count for the
    next.
    """
    from semisvm.estimators import progress

    progress._interrupted_at = -float("inf")
