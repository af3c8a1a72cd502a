"""Files that are written whole or not at all, and never over what another program wrote."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from semisvm.errors import DataError
from semisvm.files import whole_file


@contextmanager
def output_file(path: str | Path, *, force: bool = False, mode: str = "w") -> Iterator[IO[Any]]:
    """Give a stream to write to; what another program wrote meanwhile stays, even with `force`."""
    before = _stamp(path)
    with whole_file(path, force=force, mode=mode) as file:
        yield file
        if _stamp(path) != before:
            raise DataError(
                f"{path}: was written by another program meanwhile. Nothing was replaced."
            )


def _stamp(path: str | Path) -> tuple[int, ...] | None:
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
