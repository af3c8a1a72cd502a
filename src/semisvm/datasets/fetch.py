"""Find the file of a named set: in the data folder, in the cache, or by a download.

The data folder is an argument, or the environment variable SEMISVM_DATA. The cache is pooch's folder for this library.
Nothing is downloaded unless the caller asks for it. A file that is not the recorded one is never used.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from importlib import resources
from pathlib import Path

from semisvm.datasets.catalog import Download, NamedSet
from semisvm.datasets.layouts import RawSet, hash_contents, read_layout
from semisvm.errors import DataError, fault

FOLDER_VARIABLE = "SEMISVM_DATA"
CACHE_NAME = "semisvm"
SECONDS_TO_WAIT = 60


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


@lru_cache(maxsize=1)
def checksums() -> dict[str, tuple[str, str]]:
    """Return the SHA-256 of each packed file, and that of its contents."""
    lines = (resources.files("semisvm.datasets") / "checksums.txt").read_text(encoding="utf-8").splitlines()
    return {file: (packed, contents) for file, packed, contents in (line.split() for line in lines if line.strip())}


def _read_checked(one: NamedSet, path: Path, layout: str, source: Download | None = None) -> RawSet:
    """Read a file, and refuse it unless it is the recorded file or has the recorded contents."""
    member, classes = (source.member, source.classes) if source is not None else ("", ())
    again = (
        f"This is another file of that name. {how_to_get(one)}" if source is None else f"Delete it. {how_to_get(one)}"
    )
    try:
        raw = read_layout(path, layout, n_features=one.features, member=member, classes=classes)
    # NumPy, scikit-learn, zipfile and tarfile raise many unrelated types on bad bytes: all mean the same here
    except Exception as error:
        raise fault(path, f"can't be read as {one.name!r} ({error})", again) from None
    if raw.X.shape != (one.rows, one.features):
        there, expected = f"{raw.X.shape[0]} rows x {raw.X.shape[1]} features", f"{one.rows} x {one.features}"
        raise fault(path, f"{there}, but {one.name!r} has {expected}", again)
    packed, contents = checksums()[one.file]
    if _hash_file(path) != packed and hash_contents(raw) != contents:
        raise fault(path, f"wrong checksum: this is not the file that {one.name!r} was recorded from", again)
    return raw


def _hash_file(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
    if source.sha256 is None:
        _require_contents(one, source, Path(path))
    return Path(path)


def _require_contents(one: NamedSet, source: Download, path: Path) -> None:
    """Delete a download without a known checksum unless its contents are right."""
    try:
        _read_checked(one, path, source.layout, source)
    except DataError as error:
        path.unlink(missing_ok=True)
        reason = str(error).partition(": ")[2].partition(". ")[0]
        raise fault(source.url, reason, f"It was not kept. Get the set from {one.source}") from None


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
