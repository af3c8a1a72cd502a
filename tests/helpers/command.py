"""The command as a person runs it, without the wait for a new process; and tables to run it on."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from semisvm.cli import main

COMMAND = [sys.executable, "-m", "semisvm"]  # in a new process


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def run(capsys, *words) -> Done:
    """Run `semisvm` with these words in this process."""
    before = sys.argv
    sys.argv = ["semisvm", *map(str, words)]
    capsys.readouterr()
    code = 0
    try:
        main()
    except SystemExit as ending:
        code = int(ending.code or 0)
    finally:
        sys.argv = before
    printed = capsys.readouterr()
    return Done(code, printed.out, printed.err)


def loans(n=240, n_labels=60, seed=0):
    """Loans and their outcome: money with a currency, codes with zeros, dates, empty cells."""
    rng = np.random.default_rng(seed)
    is_bad = rng.random(n) < 0.3
    day = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D")
    table = pd.DataFrame(
        {
            "id": np.arange(n) + 5000,
            "amount": [f"${value:,.2f}" for value in rng.lognormal(7 + is_bad, 0.5)],
            "zip": [f"{code:05d}" for code in rng.integers(501, 560, n)],
            "opened": day.strftime("%d/%m/%Y"),
            "late": rng.poisson(1 + 3 * is_bad).astype(str),
            "kind": np.where(rng.random(n) < 0.2 + 0.5 * is_bad, "card", 'house, "old"'),
        }
    )
    table.loc[rng.random(n) < 0.05, "late"] = ""
    truth = np.where(is_bad, "yes", "no")
    target = np.full(n, "", dtype=object)
    known = rng.permutation(n)[:n_labels]
    target[known] = truth[known]
    return table.assign(default=target), truth


def write_loans(folder: Path, **how) -> np.ndarray:
    """Write loans.csv; return all labels by the number of the loan."""
    table, truth = loans(**how)
    table.to_csv(folder / "loans.csv", index=False)
    return truth


def fill_in(path, truth, first=5000, key="id"):
    """Answer all rows of a file of rows by their truth."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    frame["your_label"] = truth[frame[key].astype(int) - first]
    frame.to_csv(path, index=False)
    return frame


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with loans.csv, all labels in truth.csv, and a model of them: loans.skops."""
    from semisvm.tables.frame import read
    from semisvm.tables.model import TableModel

    folder = tmp_path_factory.mktemp("fitted")
    truth = write_loans(folder)
    table = read(folder / "loans.csv")
    table.assign(default=truth).to_csv(folder / "truth.csv", index=False)
    model = TableModel.fit(table, "default", source="loans.csv")
    model.save(folder / "loans.skops")
    return folder


@pytest.fixture
def place(fitted, tmp_path, monkeypatch):
    """A test's own copy of these files, as the working directory."""
    for name in ("loans.csv", "truth.csv", "loans.skops"):
        (tmp_path / name).write_bytes((fitted / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path
