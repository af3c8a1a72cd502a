"""Named data sets of the papers, and splits into labeled, unlabeled and test rows.

`load` gives X and y of a published task by its name, `available` lists the names, `describe` says what a set is and
where to get it. `split` draws labeled, unlabeled and test rows, `hide` replaces the other labels by the marker of
unlabeled rows.

In a binary task y is 1 for the positive class and 0 for the other one, because -1 means "unlabeled" in this library.
Rows that have no label in the file get -1. Sets of several classes keep their class numbers.

The file of a set is found in the data folder, in the cache, or by a download. The data folder is an argument, or the
environment variable SEMISVM_DATA. The cache is pooch's folder for this library. Nothing is downloaded unless the caller
asks for it. A file that is not the recorded one is never used. `catalog.toml` says what the sets are.
"""

import hashlib
import os
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.datasets.dataset import Dataset, NumberedNames, RawSet, hash_contents, read_layout
from semisvm.datasets.splits import MARKER, Split, hide, split
from semisvm.errors import DataError, fault, suggest

__all__ = ["Dataset", "Split", "available", "describe", "hide", "load", "split"]

FOLDER_VARIABLE = "SEMISVM_DATA"
CACHE_NAME = "semisvm"
SECONDS_TO_WAIT = 60


@dataclass(frozen=True)
class Download:
    """A public file that holds a set, as it is there; where no checksum is known, only its contents are checked."""

    url: str
    layout: str
    sha256: str | None = None
    member: str = ""  # the file inside an archive
    classes: tuple[str, ...] = ()  # rows of other classes are left out; () keeps all rows
    was_tried: bool = False

    @property
    def file(self) -> str:
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class NamedSet:
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
        lines = [f"{self.name}: {self.about}", f"Rows x features: {self.rows} x {self.features}"]
        lines += [f"File: {self.file or 'comes with scikit-learn'}", f"Source: {self.source}", f"Terms: {self.terms}"]
        if self.download is not None:
            lines.append(f"Download: {self.download.url}")
            if not self.download.was_tried:
                lines.append(
                    "This address was not tried. The file is used only if its contents are those recorded here."
                )
        elif self.file:
            lines.append("Download: none. No public copy in this form is known; see `Source` for the original.")
        return "\n".join(lines)


@cache
def catalog() -> dict[str, NamedSet]:
    """Return the sets by name, as `catalog.toml` describes them."""
    found = {}
    for group in tomllib.loads(_read_text("catalog.toml"))["group"]:
        sets, download = group.pop("sets"), group.pop("download", None)
        for own in sets:
            known = {"stem": own["name"], "classes": []} | group | own
            source = None if download is None else Download(**_filled(download | {"classes": known["classes"]}, known))
            described = {field.name: known[field.name] for field in fields(NamedSet) if field.name in known}
            found[own["name"]] = NamedSet(**_filled(described, known), download=source)
    return found


def _filled(values: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Fill words in braces in, and make lists immutable."""
    filled = {name: value.format(**known) if isinstance(value, str) else value for name, value in values.items()}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in filled.items()}


def _read_text(file: str) -> str:
    return (resources.files("semisvm.datasets") / file).read_text(encoding="utf-8")


def available() -> tuple[str, ...]:
    """List the named sets.

    Returns
    -------
    names : tuple of str
        The names that `load` and `describe` know.
    """
    return tuple(catalog())


def describe(name: str) -> NamedSet:
    """Say what a set is, where to get it and on which terms.

    Parameters
    ----------
    name : str
        One of `available()`.

    Returns
    -------
    description : NamedSet
        Print it to read it; its attributes are for programs.

    Examples
    --------
    >>> print(describe("iris"))
    iris: Iris, 3 species
    Rows x features: 150 x 4
    File: comes with scikit-learn
    Source: scikit-learn, sklearn.datasets.load_iris
    Terms: As scikit-learn's: UCI data, cite UCI.
    """
    if name not in catalog():
        raise DataError(f"There is no set called {name!r}. {suggest(name, catalog())}.")
    return catalog()[name]


def load(name: str, data_home: str | Path | None = None, download: bool = False) -> Dataset:
    """Load a named set.

    The file is looked for in the data folder, then among earlier downloads. A file with a wrong checksum is refused.

    Parameters
    ----------
    name : str
        One of `available()`.
    data_home : str or Path, default=None
        The data folder. None: the environment variable SEMISVM_DATA, if it is set.
    download : bool, default=False
        Whether the set may be downloaded if it is not on this machine (needs ``semisvm[datasets]``). `describe` tells
        which sets can be downloaded, and on which terms.

    Returns
    -------
    data : Dataset
        In a binary task y is 0 or 1 (1 is the positive class); -1 where a row has no label. `split` and `splits` are
        the published splits, if there are any.

    Raises
    ------
    DataError
        If the set can't be found, downloaded or read, or is not the recorded one.

    Examples
    --------
    >>> load("wdbc")
    Dataset('wdbc': 569 rows x 30 features, dense float64)
    """
    one = describe(name)
    if not one.file:
        return _load_from_sklearn(one)
    raw = read_set(one, data_home, download=download)
    X = raw.X
    if one.scale != 1.0:
        X /= X.dtype.type(one.scale)
    names, source = NumberedNames(X.shape[1])[:], f"{one.about}; from {one.source}"
    return Dataset(one.name, X, _task(one, raw.y), names, "label", source, raw.split, raw.splits)


def find_missing(name: str, data_home: str | Path | None = None) -> str:
    """Return what to do to have a set on this machine; "" where it is in the data folder or comes with scikit-learn."""
    one = describe(name)
    try:
        is_here = not one.file or find_in_folder(one, data_home) is not None
    except DataError:  # no such folder
        is_here = False
    return "" if is_here else how_to_get(one)


def _load_from_sklearn(one: NamedSet) -> Dataset:
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, one.layout)()
    features = tuple(str(name) for name in bunch.feature_names)
    source = f"{one.about}; from {one.source}"
    return Dataset(one.name, bunch.data, bunch.target.astype(np.int64), features, "target", source)


def _task(one: NamedSet, y: NDArray) -> NDArray[np.int64]:
    """Return the labels of the task: 1 for positive ones, 0 for others, -1 for rows without a label."""
    if not one.positive:
        return y
    task = np.isin(y, one.positive).astype(np.int64)
    if one.unlabeled is not None:
        task[y == one.unlabeled] = MARKER
    return task


def read_set(one: NamedSet, data_home: str | Path | None, *, download: bool) -> RawSet:
    """Read a set from the first place that has it."""
    local = find_in_folder(one, data_home)
    if local is not None:
        return _read_checked(one, local, one.layout)
    source = one.download
    if source is not None:
        cached = _download(one, source) if download else _find_in_cache(source)
        if cached is not None:
            return _read_checked(one, cached, source.layout, source)
    raise _not_found(one, data_home, was_asked=download)


def find_in_folder(one: NamedSet, data_home: str | Path | None) -> Path | None:
    """Return the file in the data folder, or None; a data folder that is named and does not exist is a fault."""
    given = data_home if data_home is not None else os.environ.get(FOLDER_VARIABLE)
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        remedy = f"Set {FOLDER_VARIABLE} (or data_home) to the data folder, which should have {one.file}"
        raise fault(folder, f"no such folder to read {one.name!r} from", remedy)
    path = folder / one.file
    return path if path.is_file() else None


def how_to_get(one: NamedSet) -> str:
    """Say, in one sentence, what a user can do to have the file of a set."""
    place = f"Set {FOLDER_VARIABLE} (or data_home) to a folder that has {one.file}, from {one.source}"
    if one.download is None:
        return place
    return f"Download it with semisvm.datasets.load({one.name!r}, download=True). Or: {place[0].lower()}{place[1:]}"


@cache
def checksums() -> dict[str, tuple[str, str]]:
    """Return the SHA-256 of each packed file, and that of its contents."""
    lines = (line.split() for line in _read_text("checksums.txt").splitlines() if line.strip())
    return {file: (packed, contents) for file, packed, contents in lines}


def _read_checked(one: NamedSet, path: Path, layout: str, source: Download | None = None) -> RawSet:
    """Read a file, and refuse it unless it is the recorded file or has the recorded contents."""
    member, classes = (source.member, source.classes) if source is not None else ("", ())
    again = f"{'This is another file of that name' if source is None else 'Delete it'}. {how_to_get(one)}"
    try:
        raw = read_layout(path, layout, n_features=one.features, member=member, classes=classes)
    # NumPy, scikit-learn, zipfile and tarfile raise many unrelated types on bad bytes: all mean the same here
    except Exception as error:
        raise fault(path, f"can't be read as {one.name!r} ({error})", again) from None
    if raw.X.shape != (one.rows, one.features):
        there, expected = f"{raw.X.shape[0]} rows x {raw.X.shape[1]} features", f"{one.rows} x {one.features}"
        raise fault(path, f"{there}, but {one.name!r} has {expected}", again)
    packed, contents = checksums()[one.file]
    with open(path, "rb") as stream:
        is_the_file = hashlib.file_digest(stream, "sha256").hexdigest() == packed
    if not is_the_file and hash_contents(raw) != contents:
        raise fault(path, f"wrong checksum: this is not the file that {one.name!r} was recorded from", again)
    return raw


def _find_in_cache(source: Download) -> Path | None:
    try:
        import pooch
    except ImportError:
        return None  # only pooch writes to the cache
    path = Path(pooch.os_cache(CACHE_NAME)) / source.file
    return path if path.is_file() else None


def _download(one: NamedSet, source: Download) -> Path:
    try:
        import pooch
    except ImportError:
        reason = f"Downloading {one.name!r} needs pooch, which is not installed"
        raise DataError(f'{reason}. Install it with: pip install "semisvm[datasets]".') from None
    folder = Path(pooch.os_cache(CACHE_NAME))
    known = None if source.sha256 is None else f"sha256:{source.sha256}"
    try:
        # A file that is there and right is not downloaded again. pooch writes to a temporary file and renames it once
        # the download is complete and its checksum is right.
        downloader = pooch.HTTPDownloader(timeout=SECONDS_TO_WAIT)
        path = pooch.retrieve(source.url, known, fname=source.file, path=folder, downloader=downloader)
    except ValueError as error:
        if "hash" not in str(error):
            raise _not_downloaded(one, source, error) from None
        reason = f"wrong checksum: what was downloaded is not the file that {one.name!r} was recorded from"
        raise fault(source.url, reason, f"It was not kept. Try again, or get it from {one.source}") from None
    except Exception as error:  # of requests, urllib3 and the operating system
        raise _not_downloaded(one, source, error) from None
    if source.sha256 is None:  # then its contents have to be right
        try:
            _read_checked(one, Path(path), source.layout, source)
        except DataError as error:
            Path(path).unlink(missing_ok=True)
            reason = str(error).partition(": ")[2].partition(". ")[0]
            raise fault(source.url, reason, f"It was not kept. Get the set from {one.source}") from None
    return Path(path)


def _not_downloaded(one: NamedSet, source: Download, error: Exception) -> DataError:
    reason = f"can't be downloaded ({' '.join(str(error).split()) or type(error).__name__})"
    return fault(source.url, reason, f"Check the connection and try again, or get {one.name!r} from {one.source}")


def _not_found(one: NamedSet, data_home: str | Path | None, *, was_asked: bool) -> DataError:
    given = data_home if data_home is not None else os.environ.get(FOLDER_VARIABLE)
    if was_asked and one.download is None:
        return DataError(f"{one.name!r} can't be downloaded: no public copy in this form is known. {how_to_get(one)}.")
    if given:
        return fault(Path(given).expanduser() / one.file, f"no such file to read {one.name!r} from", how_to_get(one))
    return DataError(f"{one.name!r} is read from a data folder, and none is set. {how_to_get(one)}.")
