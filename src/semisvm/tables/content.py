"""From a path to its format, its bytes or its text, decompressed; what can go wrong there is said plainly.

Every reader starts here, so that a missing, empty, truncated or wrongly encoded file is described once and in the same
words for all formats. A compression suffix comes last and does not count: rows.csv.xz is a CSV file.
"""

from __future__ import annotations

import codecs
import zlib
from importlib import import_module
from pathlib import Path
from typing import IO

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
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))

# UTF-32 first: its little-endian mark begins with that of UTF-16
FOREIGN_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


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
        reason = f"the suffix {suffix!r} tells no format" if suffix else "the name has no suffix to tell the format"
        known = ", ".join(SUFFIXES)
        remedy = f"Rename it, known are {known}; in Python format= can say it too, one of {', '.join(FORMATS)}"
        raise fault(path, reason, remedy)
    return SUFFIXES[suffix]


def open_stream(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, decompressed on the way; errors are those of the operating system."""
    module = COMPRESSIONS.get(path.suffix.lower())
    return open(path, "rb") if module is None else import_module(module).open(path, "rb")


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


def read_text(path: str | Path) -> str:
    """Return a file's text: UTF-8 with or without a byte order mark, with every line end made a newline."""
    content = read_bytes(path)
    for mark, encoding in FOREIGN_MARKS.items():
        if content.startswith(mark):
            raise fault(path, f"the text is encoded as {encoding}", "Save it as UTF-8")
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
