"""Cells of the papers without the wait for new processes."""

import pytest

from studies.papers import run


@pytest.fixture
def cells_run_here(monkeypatch):
    """Run cells in this process; other processes are the subject of tests/studies/test_harness.py
    and test_run.py.
    """
    monkeypatch.setattr(run, "run_in_pool", lambda run, cells, **how: map(run, cells))
