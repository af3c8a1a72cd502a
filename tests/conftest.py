"""Fixtures that several test files share."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]


# A slow machine is no failure; and where nobody is there to look, every run tries the same examples.
settings.register_profile("semisvm", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("semisvm")


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard():
    """A process that a shell starts in the background ignores Ctrl-C, its children too: tests that press it need it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """Return the folder of the papers' data: SEMISVM_DATA, else ../shared/data beside the repository."""
    given = os.environ.get("SEMISVM_DATA")
    folder = Path(given).expanduser() if given else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the papers' data, and there is no folder {folder}: set SEMISVM_DATA to it")
    return folder
