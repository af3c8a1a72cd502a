"""A model that the tests of the command share."""

import subprocess

import pytest

from command_line import COMMAND, write_rows


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A table and a model of it."""
    folder = tmp_path_factory.mktemp("fitted")
    data = write_rows(folder / "t.csv")
    done = subprocess.run(
        [
            *COMMAND,
            "fit",
            data,
            "--target",
            "y",
            "--method",
            "supervised",
            "--out",
            folder / "m.skops",
        ],
        check=False,
    )
    assert done.returncode == 0
    return data, folder / "m.skops"
