"""Fixtures that several test files share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]


# A slow machine is no failure; and where nobody is there to look, every run tries the same examples.
settings.register_profile("semisvm", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("semisvm")


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """Return the folder of the papers' data: SEMISVM_DATA, else ../shared/data beside the repository."""
    given = os.environ.get("SEMISVM_DATA")
    folder = Path(given).expanduser() if given else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the papers' data, and there is no folder {folder}: set SEMISVM_DATA to it")
    return folder
