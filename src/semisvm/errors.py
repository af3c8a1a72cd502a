"""Errors about data: one sentence that says where, what is wrong, and what to do.

Data that can't be read is refused with a `DataError` whose message reads

    <file>: <what is wrong>. <What to do about it>.

so that a program can print it as it is, and no traceback is needed to repair a file.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

# What `pip install "semisvm[cli]"` brings.
CLI_PACKAGES = ("click", "filelock", "pandas", "pyarrow", "rich", "skops")


class DataError(ValueError):
    """Data that can't be read as asked; the message has the place, the reason and the remedy."""


class UndefinedError(ValueError):
    """A result that would not be a finite number; `row` is the row to blame, from 0, or None."""

    def __init__(self, message: str, row: int | None = None):
        super().__init__(message)
        self.row = row


class MissingExtraError(ImportError):
    """A package of an extra of semisvm is not installed; the message has the line to run."""


class RowsLostError(RuntimeError):
    """Rows that were there when the fit began are gone: those of a cluster."""


def require_extra(what: str, *packages: str) -> None:
    """Raise MissingExtraError if packages of the extra `cli` are not installed; none named: all."""
    missing = [name for name in packages or CLI_PACKAGES if not find_spec(name)]
    if missing:
        raise MissingExtraError(
            f"{what} needs packages that are not installed: {', '.join(missing)}. Run: pip install"
            ' "semisvm[cli]"'
        )


def fault(path: str | Path, reason: str, remedy: str) -> DataError:
    """Build the `DataError` for a file; `reason` and `remedy` come without a full stop."""
    return DataError(f"{path}: {reason}. {remedy}.")


def counted(n: int, noun: str) -> str:
    """A number of things: "1 row", "2,000 rows", "3 classes"."""
    return f"{n:,} {noun}" + ("" if n == 1 else "es" if noun.endswith(("s", "ch")) else "s")
