"""Fixtures that several test files share."""

import importlib.util
import os
import signal
from pathlib import Path

# Workers of a parallel run share the cores, and threads that wait in a loop take them from each
# other. Read when NumPy is first imported; what tests start inherits it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pytest
from hypothesis import settings

import browser

REPOSITORY = Path(__file__).resolve().parents[1]

# A slow machine is no failure, and every run tries the same examples where nobody is there to look.
settings.register_profile("semisvm", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("semisvm")


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard():
    """A process that a shell starts in the background ignores Ctrl-C: tests that press it need it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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
    """The folder of the papers' data: SEMISVM_DATA, else ../shared/data beside the repository."""
    given = os.environ.get("SEMISVM_DATA")
    folder = Path(given).expanduser() if given else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the papers' data, and there is no folder {folder}: set SEMISVM_DATA")
    return folder


def _devices() -> list[str]:
    """Where numerical tests run: the CPU; Triton's interpreter, where TRITON_INTERPRET=1 asks for
    it; else cuda.
    """
    if all(importlib.util.find_spec(name) for name in ("torch", "triton")):
        if os.environ.get("TRITON_INTERPRET") == "1":
            return ["cpu", "interpreter"]
        import torch

        if torch.cuda.is_available():
            return ["cpu", "cuda"]
    return ["cpu"]


DEVICES = _devices()


@pytest.fixture(params=DEVICES)
def device(request) -> str:
    """Run a test on every device there is."""
    return request.param


@pytest.fixture(params=[name for name in DEVICES if name != "cpu"] or ["none"])
def other_device(request) -> str:
    """Run a test on every device but the CPU, with which it compares."""
    if request.param == "none":
        pytest.skip("needs torch and Triton: make test-gpu")
    return request.param


def pytest_collection_modifyitems(items) -> None:
    """On the interpreter, where a step takes milliseconds, run the first case of each test; on
    Windows nothing that needs POSIX.
    """
    seen, kept = set(), []
    for item in items:
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
