"""Mails that the tests of campaigns and of monitors start from."""

import pytest

from command_line import write_messy


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """Mails, their true labels, and a model: (folder, truth)."""
    folder = tmp_path_factory.mktemp("mails")
    truth = write_messy(folder / "mails.csv", n_rows=900, share_labeled=0.12)
    return folder, truth
