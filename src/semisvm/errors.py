"""Errors about data: one sentence that says where, what is wrong, and what to do.

Data that can't be read is refused with a `DataError` whose message reads

    <file>, line <n>: <what is wrong>. <What to do about it>.

so that a program can print it as it is, and no traceback is needed to repair a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MOST_NAMES_SHOWN = 12
MOST_COLUMNS_NAMED = 3
WIDEST_CELL = 40  # characters of a cell in a message


class DataError(ValueError):
    """Data that can't be read as asked; the message has the place, the reason and the remedy."""


class UndefinedError(ValueError):
    """A result that would not be a finite number; `row` is the row to blame, from 0, or None."""

    def __init__(self, message: str, row: int | None = None):
        super().__init__(message)
        self.row = row


class MissingExtraError(ImportError):
    """A package of an extra of semisvm is not installed; the message has the line to run."""


class FairSampleWarning(UserWarning):
    """The labeled rows do not look like a random sample: figures measured on them may not hold.

    See Also
    --------
    semisvm.check_fair_sample : The check.

    Examples
    --------
    >>> import warnings
    >>> from semisvm import FairSampleWarning
    >>> warnings.simplefilter("ignore", FairSampleWarning)
    >>> warnings.simplefilter("default", FairSampleWarning)
    """


class RowsLostError(RuntimeError):
    """Rows that were there when the fit began are gone: those of a cluster or a file."""


# What `pip install "semisvm[cli]"` brings.
CLI_PACKAGES = ("click", "jinja2", "pandas", "pyarrow", "rich", "skops")


def require_extra(what: str, *packages: str) -> None:
    """Raise MissingExtraError if packages of the extra `cli` are not installed; none named: all."""
    missing = [name for name in packages or CLI_PACKAGES if not find_spec(name)]
    if missing:
        names = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
        raise MissingExtraError(
            f"{what} needs {names}, which {'is' if len(missing) == 1 else 'are'}"
            ' not installed. Run: pip install "semisvm[cli]"'
        )


def fault(path: str | Path, reason: str, remedy: str, *, line: int | None = None) -> DataError:
    """Build the `DataError` for a file; `reason` and `remedy` come without a full stop."""
    where = f"{path}, line {line}" if line is not None else str(path)
    return DataError(f"{where}: {reason}. {remedy}.")


def not_numbers(taker: str, words: Mapping[Any, str | None], *, is_fit: bool) -> ValueError:
    """Build the error for an estimator that is given words (`matrices.columns_of_words`)."""
    told = [
        f"column {name!r} holds {'dates' if word is None else f'text, for example {shorten(word)}'}"
        for name, word in words.items()
    ]
    encode = (
        f"Encode the columns of a DataFrame by make_pipeline(semisvm.TableEncoder(), {taker}())"
    )
    remedy = f"{encode}, or use semisvm.AutoSVC, which takes a DataFrame as it is"
    if taker == "AutoSVC":
        remedy = "Pass columns='table', or a DataFrame without `columns`"
    if not is_fit:
        remedy = "Give rows as in fit"
    return ValueError(
        f"{taker} takes numbers, and {'; '.join(told[:MOST_COLUMNS_NAMED])}. {remedy}."
    )


def not_numbers_but_texts(taker: str) -> ValueError:
    """Build the error for an estimator that is given one string per row."""
    return ValueError(
        f"{taker} takes numbers, and X holds texts. Use make_pipeline(TfidfVectorizer(),"
        f" {taker}()), or semisvm.AutoSVC, which takes texts as they are."
    )


def suggest(wanted: str, there: Iterable[str]) -> str:
    """List the names that exist, those that are spelled much like the `wanted` one first."""
    names = list(there)
    if not names:
        return "There are none"
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(name.strip().casefold(), []).append(name)
    matches = get_close_matches(wanted.strip().casefold(), folded, n=3)
    close = " or ".join(repr(name) for match in matches for name in folded[match])
    shown = ", ".join(repr(name) for name in names[:MOST_NAMES_SHOWN])
    rest = len(names) - MOST_NAMES_SHOWN
    listed = f"there are {shown}" + (f" and {rest} more" if rest > 0 else "")
    return f"Perhaps {close} is meant; {listed}" if close else listed[0].upper() + listed[1:]


def counted(n: int, noun: str) -> str:
    """Return a number of things in words: "1 row", "2,000 rows", "3 classes"."""
    return f"{n:,} {noun}" + ("" if n == 1 else "es" if noun.endswith(("s", "ch")) else "s")


def shorten(cell: str) -> str:
    """Quote a cell for a message; a long one is cut."""
    cell = str(cell)  # and no numpy.str_, whose repr names its type
    return repr(cell if len(cell) <= WIDEST_CELL else cell[: WIDEST_CELL - 3] + "...")
