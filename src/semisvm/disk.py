"""Files: from a path to its format, its bytes or its text, and files that are written whole or not at all.

Every reader starts here, so that a missing, empty, truncated or wrongly encoded file is described once and in the same
words for all formats. A compression suffix comes last and does not count: rows.csv.xz is a CSV file.

A file is written under another name in the same folder, then renamed. Whatever ends the program half-way (an error,
Ctrl-C, kill -9, a full disk) leaves the old file or none, never half of a new one. An existing file is replaced only if
the caller says so. The unfinished file of a killed run is deleted by the next run that writes the same file.
"""

from __future__ import annotations

import codecs
import contextlib
import glob
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from semisvm.errors import DataError, fault, suggest

# suffix -> the standard library's module that reads it; not every Python is built with all three
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".dat": "libsvm",
    ".npz": "npz",
    ".parquet": "parquet",
    ".arff": "arff",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".ods": "ods",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
UNFINISHED = ".unfinished"
BYTES_COPIED_AT_A_TIME = 1 << 20
ELSEWHERE = "Free some space, or choose a folder that can be written to"

# UTF-32 first: its little-endian mark begins with that of UTF-16
FOREIGN_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
# what the first bytes of other files are, and what to do with a text file that begins like one of them
NO_TEXT = {
    b"PK\x03\x04": ("a spreadsheet or a ZIP archive", "End its name with .xlsx or .ods, or unpack the archive"),
    b"\x1f\x8b": ("a file compressed by gzip", "End its name with .gz"),
    b"PAR1": ("a Parquet file", "End its name with .parquet"),
    b"\xd0\xcf\x11\xe0": ("a spreadsheet of old versions of Excel", "Save it as .xlsx or CSV"),
}
CONVERT = {
    ".zip": "Unpack it, and give the file that is in it",
    ".xls": "Save it as .xlsx or CSV",
    ".json": "Convert it to CSV or Parquet",
    ".jsonl": "Convert it to CSV or Parquet",
    ".txt": "Rename it: .csv if its first line names columns, .libsvm if its rows are label index:value ...",
}


# ---- reading ----


def file_format(path: Path, format: str | None = None) -> str:
    """Return the format that a file's suffix, or `format`, names."""
    if format is not None:
        if format not in FORMATS:
            raise fault(path, f"there is no format {format!r}", suggest(format, FORMATS))
        return format
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in SUFFIXES:
        if not path.exists():
            raise _missing(path)
        reason = f"the suffix {suffix!r} tells no format" if suffix else "the name has no suffix to tell the format"
        known = ", ".join(SUFFIXES)
        remedy = f"Rename it, known are {known}; in Python format= can say it too"
        raise fault(path, reason, CONVERT.get(suffix, remedy))
    return SUFFIXES[suffix]


def open_stream(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, decompressed on the way; errors are those of the operating system."""
    module = COMPRESSIONS.get(path.suffix.lower())
    return open(path, "rb") if module is None else import_module(module).open(path, "rb")


def open_for_arrow(path: Path) -> Any:
    """Open a file that Arrow is to read, decompressed on the way; its last reader closes it.

    Arrow reads ahead, in threads of its own. One that is inside of a Python stream when the interpreter ends hangs, or
    takes the process down, so Arrow opens the file itself. Text in .xz, which Arrow can't decompress, is written to a
    temporary file first: it takes no memory, and the space of the text on disk until the last reader closes it.
    """
    import pyarrow

    codec: Any = COMPRESSIONS.get(path.suffix.lower())
    if codec == "lzma":
        with tempfile.TemporaryFile() as copy, open_stream(path) as stream:
            shutil.copyfileobj(stream, copy, BYTES_COPIED_AT_A_TIME)
            copy.seek(0)
            return _opened_again(copy)
    try:
        os.fsencode(path).decode()  # Arrow opens names in UTF-8 only
        file = pyarrow.OSFile(os.fspath(path), "rb")
    except UnicodeDecodeError:
        with open(path, "rb") as stream:
            file = _opened_again(stream)
    return file if codec is None else pyarrow.CompressedInputStream(file, codec)


def _opened_again(stream: IO[bytes]) -> Any:
    """Let Arrow open a file that may have no name that it knows; an OSError on systems without /dev/fd."""
    import pyarrow

    return pyarrow.OSFile(f"/dev/fd/{stream.fileno()}", "rb")


def read_bytes(path: str | Path) -> bytes:
    """Return a file's content, decompressed where its suffix is .gz, .bz2 or .xz; never empty."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise _missing(path) from None
    except IsADirectoryError:
        raise fault(path, "this is a folder, not a file", "Give the path of one file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise fault(path, f"can't be opened ({error})", "Check the path and its permissions") from None
    module = COMPRESSIONS.get(path.suffix.lower())
    if content and module is not None:
        content = _decompress(path, content, module)
    if not content:
        raise fault(path, "the file is empty", "Write the table again, or point to another file")
    return content


def require_content(path: Path) -> None:
    """Refuse a file that another library is to read where there is none, or nothing in it."""
    if not path.is_file() or path.stat().st_size == 0:
        read_bytes(path)  # says what is wrong with it


def read_text(path: str | Path) -> str:
    """Return a file's text: UTF-8 with or without a byte order mark, with every line end made a newline."""
    content = read_bytes(path)
    for mark, encoding in FOREIGN_MARKS.items():
        if content.startswith(mark):
            raise fault(path, f"the text is encoded as {encoding}", "Save it as UTF-8")
    for beginning, (what, remedy) in NO_TEXT.items():
        if content.startswith(beginning):
            raise fault(path, f"this is {what}, not text", remedy)
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        reason = f"byte 0x{content[error.start]:02x} is not UTF-8 text"
        raise fault(path, reason, "Save the file as UTF-8 (it may be Latin-1 or Windows-1252 now)", line=line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise fault(path, "a zero byte: this is not a text file", "Check that the suffix tells the format", line=line)
    return text


def first_line(error: Exception) -> str:
    """Return what a library says about bytes that it can't read."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _missing(path: Path) -> DataError:
    folder = path.parent
    if not folder.is_dir():
        return fault(path, f"no such file, nor is there a folder {folder}", "Check the path")
    there = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    return fault(path, "no such file in its folder", suggest(path.name, there))


def _decompress(path: Path, content: bytes, module: str) -> bytes:
    try:
        decompressor = import_module(module)
    except ImportError:
        raise fault(path, f"this Python was built without {module}", "Decompress the file first") from None
    # LZMAError can't be named without lzma, which this Python may lack
    broken = (OSError, EOFError, ValueError, zlib.error, getattr(decompressor, "LZMAError", OSError))
    try:
        return decompressor.decompress(content)
    except broken as error:
        reason = f"the compressed file is truncated or corrupt, or is no {path.suffix} file at all ({error})"
        raise fault(path, reason, "Copy or download it again") from None


# ---- writing ----


def check_can_write(path: str | Path, *, force: bool, inputs: Iterable[str | Path] = ()) -> Path:
    """Return the file to write; DataError, before any work is done, if it could not be written.

    A symbolic link stays, and the file that it points to is written. A file in `inputs` (what the same command reads,
    or writes elsewhere) is never replaced, whatever `force` says.
    """
    path = Path(path)
    if path.is_symlink():
        path = path.resolve()
    for other in inputs:
        if _is_same_file(path, Path(other)):
            raise fault(path, "this file is read or written by the same command", "Choose another name for the output")
        if Path(other).is_dir() and path.parent.resolve() == Path(other).resolve():
            raise fault(path, "its folder is read by the same command as a table", "Write to another folder")
    if path.is_dir():
        raise fault(path, "this is a folder", "Give the name of a file")
    if not path.parent.is_dir():
        raise fault(path, f"there is no folder {path.parent} to write to", "Create the folder, or choose another")
    if path.exists() and not path.is_file():
        raise fault(path, "this is a device, not a file", "Give the name of a file")
    if path.exists() and not force:
        raise fault(path, "the file exists", "Choose another name, or set `force` to replace it")
    if not os.access(path.parent, os.W_OK):
        raise fault(path, "its folder is read-only", "Choose another folder")
    return path


@contextlib.contextmanager
def whole_file(path: str | Path, *, force: bool, remedy: str = ELSEWHERE) -> Iterator[Path]:
    """Give a path to write to; when the block ends without an error, the file is renamed to `path`."""
    path = check_can_write(path, force=force)
    _clear_left_behind(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        yield unfinished
        if force:
            os.replace(unfinished, path)
        else:
            _move_to_new(unfinished, path)
    except OSError as error:
        reason = f"can't be written ({error.strerror or error})"
        raise fault(path, reason, remedy) from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet
        return one.resolve() == other.resolve()


def _move_to_new(unfinished: Path, path: Path) -> None:
    """Rename a complete file, unless a file of that name has appeared: then it is kept under a name of its own."""
    try:
        _link(unfinished, path)
    except FileExistsError:
        kept = path.with_name(f"{path.stem}-{os.getpid()}{path.suffix}")
        _link(unfinished, kept)
        reason = f"another program wrote a file of this name; nothing was replaced, and the result is in {kept.name}"
        raise fault(path, reason, "Rename that file") from None


def _link(unfinished: Path, path: Path) -> None:
    """Rename a file; FileExistsError where there is one of the new name, even if it appears at the same moment."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        os.replace(unfinished, path)


def _clear_left_behind(path: Path) -> None:
    """Delete unfinished files of processes that are no longer alive."""
    with contextlib.suppress(OSError):
        for left in path.parent.glob(f".{glob.escape(path.name)}.*{UNFINISHED}"):
            process = left.name.removesuffix(UNFINISHED).rpartition(".")[2]
            if process.isdigit() and not _is_alive(int(process)):
                left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # there signal 0 is Ctrl-C: nobody can ask, so every process counts as alive
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        pass
    return True


def lock_file(folder: Path, name: str) -> int | None:
    """Hold the folder until this process ends, however it ends; another fit in the same folder is an error."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        lock = os.open(folder / name, os.O_CREAT | os.O_RDWR)
    except OSError as error:
        raise fault(folder, f"can't be written to ({error.strerror})", "Choose another folder") from None
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(lock)
        reason = "another fit that is running uses this checkpoint"
        raise fault(folder, reason, "Wait until it ends, or use another folder") from None
    except OSError:  # a file system without locks
        pass
    return lock
