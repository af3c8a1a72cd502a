"""Files: from a path to its format, its bytes or its text, and files that are written whole or not
at all.

Every reader starts here, so that a missing, empty, truncated or wrongly encoded file is described
once and in the same words for all formats. A compression suffix comes last and does not count:
rows.csv.xz is a CSV file. Pipes and devices are refused: they can't be read twice.

A file is written under another name in the same folder, then renamed. Whatever ends the program
half-way (an error, Ctrl-C, kill -9, a full disk) leaves the old file or none, never half of a new
one. An existing file is replaced only if the caller says so, and keeps its permissions. A file that
several programs read, change and write is `locked` meanwhile.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from semisvm.errors import DataError, fault, suggest

# suffix -> the standard library's module that reads it
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".ods": "ods",
}
STALE_LOCK_S = 60.0  # writers hold a lock for a second at most: a killed program left an older one
ELSEWHERE = "Free some space, or choose a folder that can be written to"

# UTF-32 first: its little-endian mark begins with that of UTF-16
FOREIGN_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
# what the first bytes of other files are, and what to do with a text file that begins like one of
# them
NO_TEXT = {
    b"PK\x03\x04": (
        "a spreadsheet or a ZIP archive",
        "End its name with .xlsx or .ods, or unpack the archive",
    ),
    b"\x1f\x8b": ("a file compressed by gzip", "End its name with .gz"),
    b"PAR1": ("a Parquet file", "End its name with .parquet"),
    b"\xd0\xcf\x11\xe0": ("a spreadsheet of old versions of Excel", "Save it as .xlsx or CSV"),
}
CONVERT = {
    ".zip": "Unpack it, and give the file that is in it",
    ".xls": "Save it as .xlsx or CSV",
    ".json": "Convert it to CSV or Parquet",
    ".jsonl": "Convert it to CSV or Parquet",
    ".arff": "Convert it to CSV or Parquet; scipy.io.arff.loadarff reads it",
    ".txt": "Rename it to .csv if its first line names columns",
}


# ---- reading ----


def file_format(path: Path) -> str:
    """Return the format that a file's suffix names."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in SUFFIXES:
        if not path.exists():
            raise _missing(path)
        reason = (
            f"the suffix {suffix!r} is not supported"
            if suffix
            else "the name has no suffix, so its format is not known"
        )
        remedy = f"Rename it; known suffixes are {', '.join(SUFFIXES)}"
        raise fault(path, reason, CONVERT.get(suffix, remedy))
    return SUFFIXES[suffix]


def require_file(path: Path) -> None:
    """Refuse what is not a file with content; opening a named pipe would wait for ever."""
    try:
        is_file = path.is_file()
        size = path.stat().st_size
    except FileNotFoundError:
        raise _missing(path) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _unreadable(path, error) from None
    if path.is_dir():
        raise fault(path, "this is a folder, not a file", "Give the path of one file")
    if not is_file:
        reason = "this is a pipe or a device, and a table may be read twice"
        raise fault(path, reason, "Write its content to a file, and give the file")
    if size == 0:
        raise _empty(path)


def open_bytes(path: Path, *, skip: int = 0) -> IO[bytes]:
    """Open a file for reading, decompressed on the way; `skip` bytes are passed over."""
    require_file(path)
    module = COMPRESSIONS.get(path.suffix.lower())
    try:
        open_file: Any = open if module is None else import_module(module).open
        stream: IO[bytes] = open_file(path, "rb")
    except (OSError, ImportError) as error:
        raise _unreadable(path, error) from None
    stream.seek(skip)
    return stream


def read_block(path: Path, stream: IO[bytes], n: int = -1) -> bytes:
    """Return the next `n` bytes of a stream of `open_bytes`, fewer only at its end; -1: all."""
    try:
        return stream.read(n)
    except MemoryError:
        raise
    except Exception as error:  # each kind of compression raises errors of its own
        if path.suffix.lower() not in COMPRESSIONS:
            raise _unreadable(path, error) from None
        reason = (
            f"the compressed file is truncated or corrupt, or is no {path.suffix} file at all"
            f" ({error})"
        )
        raise fault(path, reason, "Copy or download it again") from None


def read_bytes(path: str | Path) -> bytes:
    """Return a file's content, decompressed where its suffix is .gz, .bz2 or .xz; never empty."""
    path = Path(path)
    with open_bytes(path) as stream:
        content = read_block(path, stream)
    if not content:
        raise _empty(path)
    return content


def refuse_other_formats(path: Path, beginning: bytes) -> None:
    """Refuse a file that begins like one of another format, or in another encoding."""
    if not beginning:
        raise _empty(path)
    for mark, encoding in FOREIGN_MARKS.items():
        if beginning.startswith(mark):
            raise fault(path, f"the text is encoded as {encoding}", "Save it as UTF-8")
    for signature, (what, remedy) in NO_TEXT.items():
        if beginning.startswith(signature):
            raise fault(path, f"this is {what}, not text", remedy)


def decode_text(path: Path, content: bytes, line: int) -> str:
    """Return bytes of a file, which begin in a line, as text; a fault where they are not UTF-8."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line += content.count(b"\n", 0, error.start)
        reason = f"byte 0x{content[error.start]:02x} is not UTF-8 text"
        remedy = "Save the file as UTF-8 (it may be Latin-1 or Windows-1252 now)"
        raise fault(path, reason, remedy, line=line) from None
    if "\0" in text:
        line += text.count("\n", 0, text.index("\0"))
        reason = "a zero byte: this is not a text file"
        raise fault(path, reason, "Check that the suffix is that of its format", line=line)
    return text


def open_for_arrow(path: Path) -> Any:
    """Open a file that Arrow is to read; its last reader closes it.

    Arrow reads ahead, in threads of its own. One that is inside of a Python stream when the
    interpreter ends hangs, or takes the process down, so Arrow opens the file itself.
    """
    import pyarrow

    try:
        os.fsencode(path).decode()  # Arrow opens names in UTF-8 only
        return pyarrow.OSFile(os.fspath(path), "rb")
    except UnicodeDecodeError:
        with open(path, "rb") as stream:  # an OSError on systems without /dev/fd
            return pyarrow.OSFile(f"/dev/fd/{stream.fileno()}", "rb")


def first_line(error: Exception) -> str:
    """Return what a library says about bytes that it can't read."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _missing(path: Path) -> DataError:
    folder = path.parent
    if not folder.is_dir():
        return fault(path, f"no such file, nor is there a folder {folder}", "Check the path")
    there = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    return fault(path, "no such file in its folder", suggest(path.name, there))


def _unreadable(path: Path, error: Exception) -> DataError:
    return fault(path, f"can't be opened ({error})", "Check the path and its permissions")


def _empty(path: Path) -> DataError:
    return fault(path, "the file is empty", "Write the table again, or point to another file")


# ---- writing ----


def check_can_write(path: str | Path, *, force: bool, inputs: Iterable[str | Path] = ()) -> Path:
    """Return the file to write; DataError, before any work is done, if it could not be written.

    A symbolic link stays, and the file that it points to is written. A file in `inputs` (what the
    same command reads, or writes elsewhere) is never replaced, whatever `force` says.
    """
    path = Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)
    if path.is_symlink():
        raise fault(path, "this link leads back to itself", "Give the name of a file")
    for other in inputs:
        if _is_same_file(path, Path(other)):
            reason = "this file is read or written by the same command"
            raise fault(path, reason, "Choose another name for the output")
        if Path(other).is_dir() and path.parent.resolve() == Path(other).resolve():
            raise fault(
                path, "its folder is read by the same command as a table", "Write to another folder"
            )
    if path.is_dir():
        raise fault(path, "this is a folder", "Give the name of a file")
    if not path.parent.is_dir():
        reason = f"there is no folder {path.parent} to write to"
        raise fault(path, reason, "Create the folder, or choose another")
    if path.exists() and not path.is_file():
        raise fault(path, "this is a device, not a file", "Give the name of a file")
    if path.exists() and not force:
        raise fault(path, "the file exists", "Choose another name, or set `force` to replace it")
    if not os.access(path.parent, os.W_OK):
        raise fault(path, "its folder is read-only", "Choose another folder")
    return path


@contextlib.contextmanager
def whole_file(
    path: str | Path, *, force: bool, inputs: Iterable[str | Path] = (), remedy: str = ELSEWHERE
) -> Iterator[Path]:
    """Give a path to write to; when the block ends without an error, the file is renamed to
    `path`.

    `inputs` are files that are never replaced (`check_can_write`).
    """
    path = check_can_write(path, force=force, inputs=inputs)
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}.unfinished")
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL, 0o666))
        if mode is not None:  # before there is anything to read; a read-only file is written
            unfinished.chmod(mode | 0o200)
        yield unfinished
        if mode is not None:
            unfinished.chmod(mode)
        if force:
            os.replace(unfinished, path)
        else:
            _rename_to_new(unfinished, path)
    except OSError as error:
        raise fault(path, f"can't be written ({error.strerror or error})", remedy) from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _rename_to_new(unfinished: Path, path: Path) -> None:
    """Rename a complete file; if its name is taken meanwhile, keep it under another one."""
    try:
        os.link(unfinished, path)
    except OSError:  # there is such a file, or the file system has no links
        if not path.exists():
            os.replace(unfinished, path)
            return
        kept = path.with_name(f"{path.stem}-{secrets.token_hex(4)}{path.suffix}")
        os.replace(unfinished, kept)
        reason = (
            "another program wrote a file of this name; nothing was replaced, and the result is in"
            f" {kept.name}"
        )
        raise fault(path, reason, "Rename that file") from None


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the file `path` against other programs that lock it; a second one waits.

    The lock is a file beside it, held by `flock` where the system has it (it ends with the
    program), and otherwise by its existence. Where none can be created, writing will say why.
    """
    if not os.access(path.parent, os.W_OK):
        yield
        return
    lock = path.with_name(f".{path.name}.lock")
    descriptor = _flock(lock)
    if descriptor is None:
        lock = lock.with_suffix(".held")
        descriptor = _create_exclusively(lock)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _flock(lock: Path) -> int | None:
    """Return the descriptor of a lock file that we hold; None where there is no `flock`."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    while True:
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # a network drive without locks
            os.close(descriptor)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        os.close(descriptor)  # the program that held it has deleted it


def _create_exclusively(lock: Path) -> int:
    while True:
        try:
            return os.open(lock, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - lock.stat().st_mtime > STALE_LOCK_S:
                    lock.unlink()
            time.sleep(0.02)
