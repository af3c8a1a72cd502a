"""A model that the tests of the command share."""

import pytest

from command_line import write_rows
from semisvm.cli.commands import run


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A table and a model of it."""
    folder = tmp_path_factory.mktemp("fitted")
    data = write_rows(folder / "t.csv")
    words = ["fit", data, "--target", "y", "--method", "supervised", "--out", folder / "m.skops"]
    assert run([str(word) for word in words]) == 0
    return data, folder / "m.skops"
