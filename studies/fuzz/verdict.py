"""What came of one input, and how failures are recognized and made small."""

from __future__ import annotations

import copy
import io
import os
import re
import resource
import shutil
import signal
import tempfile
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CPU_SECONDS = 20  # what a dozen rows may take
GOOD = ("done", "refused", "skipped")
# Words of an error that speak about our code instead of the input.
INTERNAL = re.compile(
    r"has no attribute|NoneType|out of bounds|could not be broadcast|not aligned|setting an array"
    r" element|"
    r"unexpected keyword|positional argument|zero-size array|must not contain infs|unpack|not"
    r" subscriptable|"
    r"reduction operation|truth value|list index|division by zero|cannot reshape|Kernel"
    r" died|internal error|"
    r"searchsorted|unhashable|Buffer dtype|this is a bug",
    re.IGNORECASE,
)


class SlowError(Exception):
    """The processor time of an input is used up."""


@dataclass(frozen=True)
class Verdict:
    """`kind` is "done", "refused" (in words), "skipped", or what failed; `told` says more; `where`
    in the source.

    A category that draws several inputs from one recipe says how many in `count`.
    """

    kind: str
    told: str = ""
    where: str = ""
    count: int = 1

    @property
    def is_good(self) -> bool:
        return self.kind in GOOD

    @property
    def key(self) -> str:
        """Equal for failures that have one cause: the kind, the place, and the words without
        their numbers.
        """
        words = re.sub(r"[-+]?\d[\d.e+-]*|'[^']*'|\"[^\"]*\"|/\S+", "#", self.told)
        return f"{self.kind} {self.where} {words[:80]}"


def of_error(error: BaseException) -> Verdict:
    """The verdict on an exception that reached the caller."""
    where = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if "semisvm" in frame.filename:
            where = f"{frame.filename.rpartition('semisvm/')[2]}:{frame.name}"
    told = f"{type(error).__name__}: {error}"
    if isinstance(error, SlowError):
        return Verdict("hang", told, where)
    if isinstance(error, MemoryError):
        return Verdict("memory", told, where)
    if isinstance(error, Warning):
        return Verdict("warning", told, where)
    if not isinstance(error, ValueError | TypeError | FileNotFoundError) or not str(error).strip():
        return Verdict("traceback", told, where)
    if INTERNAL.search(str(error)):
        return Verdict("unhelpful", told, where)
    return Verdict("refused", told, where)


@contextmanager
def limited(seconds: float = CPU_SECONDS) -> Iterator[None]:
    """Raise SlowError once the block has used so many seconds of the processor."""

    def ring(number: int, frame: Any) -> None:
        raise SlowError(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def watched() -> Iterator[None]:
    """The limit of an input for an estimator; what it prints is dropped, and a RuntimeWarning is
    an error.
    """
    with limited(), warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        yield


def try_in_folder(
    run: Callable[..., Verdict],
    prepare: Callable[[], Any] | None = None,
    seconds: float = CPU_SECONDS,
) -> Verdict:
    """The verdict of `run(folder)` in a folder of its own, where any exception that comes out is a
    failure.

    `prepare` is called first, in the old folder and without a limit; its result is given to `run`
    too.
    """
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    before = os.getcwd()
    try:
        prepared = () if prepare is None else (prepare(),)
        os.chdir(folder)
        with limited(seconds):
            return run(folder, *prepared)
    except SlowError as error:
        return Verdict("hang", str(error))
    except Exception as error:
        found = of_error(error)
        return Verdict("traceback", found.told, found.where)
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def random_of(seed: int, category: str, number: int) -> np.random.Generator:
    """The random numbers of one input; a category has its own, so that one more of them changes
    no other.
    """
    return np.random.default_rng([seed, number, zlib.crc32(category.encode())])


def minimize(
    recipe: dict[str, Any],
    verdict: Verdict,
    check: Callable[[dict[str, Any]], Verdict],
    simpler: Callable[[dict[str, Any]], Iterator[dict[str, Any]]],
    most: int = 60,
) -> dict[str, Any]:
    """Take away from a recipe whatever the failure does not need; at most so many checks."""
    left = most
    is_smaller = True
    while is_smaller and left > 0:
        is_smaller = False
        for candidate in simpler(copy.deepcopy(recipe)):
            left -= 1
            if left <= 0:
                break
            if check(candidate).key == verdict.key:
                recipe = candidate
                is_smaller = True
                break
    return recipe


def peak_megabytes() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
