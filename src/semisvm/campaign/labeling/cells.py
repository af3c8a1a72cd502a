"""How the cells of a row are shown to a person who labels it.

Pictures come first, then texts (with their line breaks, the longest column first), then links, then
all other cells. Nobody reads sixty numbers before an answer: of the other columns a few are shown
at once, and the rest is one key away. What is shown where is decided once, on the first rows that
are read, so that a column keeps its place from row to row.

A cell is a picture if it is the path of an image file (relative to the table's folder), a
`data:image/` URL, the base64 text or the bytes of an image, or an object that draws itself
(`_repr_png_`, as images of Pillow do). Only files that begin like a PNG, JPEG, GIF or WebP file are
read further. Several columns of numbers make one picture where the caller gives its size: "8x8" for
gray values row by row, "32x32x3" for colors.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from semisvm.columns.cells import parse_number, plain_cell
from semisvm.errors import counted, suggest

SHOWN_AT_ONCE = 12  # short cells beside pictures and texts: what fits on a phone
LONG_TEXT = 60  # characters of a column's longest cell, from which on it is shown as a text
ENOUGH_ROWS = 10  # read so far, before a column that never changes is put aside
LARGEST_IMAGE = 20_000_000  # bytes
IMAGE_NAMES = re.compile(r"\.(png|jpe?g|gif|webp)$", re.IGNORECASE)
LINK = re.compile(r"https?://\S+")
BASE64_STARTS = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")  # of PNG, JPEG, GIF and WebP
DRAWS_ITSELF = "_repr_png_"  # the method of objects that notebooks show as images

CellKind = Literal["image", "text", "value"]


@dataclass(frozen=True)
class ShownCell:
    """A cell as a person sees it.

    `value` is text; that of an image is a `data:` URL, and `pixels` are its gray values or colors
    from 0 to 255 where it was made of numbers. `is_extra` cells are shown on request.
    """

    name: str
    kind: CellKind
    value: str
    is_extra: bool = False
    pixels: NDArray[np.uint8] | None = None


class RowView:
    """Which columns of rows are shown, and how.

    Parameters
    ----------
    rows : sequence of dict
        The first rows, {column: cell}; they decide the order of the columns.
    show : sequence of str, default=()
        The columns to show, in this order; by default they are chosen.
    image : str, optional
        The size of a picture that the columns of numbers make: "8x8", or "32x32x3" for colors. With
        "8x8:pixel" they are those whose name begins with "pixel".
    folder : path, optional
        Where paths of images begin; by default the working directory.

    Raises
    ------
    ValueError
        If a column does not exist, or the columns do not make a picture of this size.
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        *,
        show: Sequence[str] = (),
        image: str | None = None,
        folder: str | Path | None = None,
    ):
        self.folder = Path.cwd() if folder is None else Path(folder)
        names = list(dict.fromkeys(name for row in rows for name in row))
        self.pixel_columns: list[str] = []
        if image is not None:
            self.shape, self.pixel_columns = _read_image_size(image, names, rows)
            pixels = np.array([[_number(row.get(n)) for n in self.pixel_columns] for row in rows])
            self.low = float(np.nanmin(pixels))
            self.high = float(np.nanmax(pixels))
        unknown = [name for name in show if name not in names]
        if unknown:
            raise ValueError(
                f"There is no column {unknown[0]!r} to `show`. {suggest(unknown[0], names)}."
            )
        rest = [name for name in names if name not in self.pixel_columns]
        if show:
            self.shown = list(show)
            self.extra = [name for name in rest if name not in show]
            return
        cells = {name: [row.get(name) for row in rows] for name in rest}
        length = {name: max(map(_length, cells[name]), default=0) for name in rest}
        pictures = [name for name in rest if any(map(is_image, cells[name]))]
        texts = [name for name in rest if name not in pictures and length[name] >= LONG_TEXT]
        short = [name for name in rest if name not in (*pictures, *texts)]
        texts.sort(key=lambda name: -length[name])
        short.sort(key=lambda name: not any(map(_is_link, cells[name])))
        if len(rows) >= ENOUGH_ROWS:
            changing = [name for name in short if len(set(map(str, cells[name]))) > 1]
        else:
            changing = short
        self.shown = [*pictures, *texts, *changing[:SHOWN_AT_ONCE]]
        self.extra = [name for name in short if name not in self.shown]

    def cells(self, row: Mapping[str, Any]) -> list[ShownCell]:
        """Return the cells of a row in the order in which they are shown."""
        shown = []
        if self.pixel_columns:
            shown.append(self._picture_of_numbers(row))
        shown += [self._cell(name, row.get(name), False) for name in self.shown]
        return shown + [self._cell(name, row.get(name), True) for name in self.extra]

    def _cell(self, name: str, cell: Any, is_extra: bool) -> ShownCell:
        if is_image(cell):
            try:
                return ShownCell(name, "image", image_url(cell, self.folder), is_extra)
            except (OSError, ValueError) as error:
                reason = f"{cell if isinstance(cell, str) else ''} (no picture: {error})".strip()
                return ShownCell(name, "value", reason, is_extra)
        text = cell_text(cell)
        is_text = not _is_link(cell) and ("\n" in text.strip() or len(text) >= LONG_TEXT)
        return ShownCell(name, "text" if is_text else "value", text, is_extra)

    def _picture_of_numbers(self, row: Mapping[str, Any]) -> ShownCell:
        values = np.array([_number(row.get(name)) for name in self.pixel_columns])
        span = self.high - self.low or 1.0
        gray = np.clip(np.nan_to_num((values - self.low) / span), 0, 1)
        pixels = np.rint(255 * gray).astype(np.uint8).reshape(self.shape)
        first, last = self.pixel_columns[0], self.pixel_columns[-1]
        return ShownCell(f"{first} to {last}", "image", data_url(png_of(pixels)), pixels=pixels)


def cell_text(cell: Any) -> str:
    """Return a cell as text; an empty one is ""."""
    if isinstance(cell, bytes):
        return counted(len(cell), "byte")
    if isinstance(cell, np.ndarray | list | tuple | dict):
        return str(cell)
    plain = plain_cell(cell)
    return "" if plain is None else str(plain)


def _is_link(cell: Any) -> bool:
    return isinstance(cell, str) and bool(LINK.fullmatch(cell.strip()))


def _length(cell: Any) -> int:
    if _is_link(cell):
        return 0
    text = cell_text(cell)
    return max(len(text), LONG_TEXT) if "\n" in text.strip() else len(text)


def _number(cell: Any) -> float:
    """Return a cell as a number, NaN where it is none."""
    if isinstance(cell, str):
        number = parse_number(cell.strip())
        return np.nan if number is None else number
    return float(cell) if isinstance(cell, int | float | np.number) else np.nan


def _read_image_size(
    image: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> tuple[tuple[int, ...], list[str]]:
    """Return the shape of a picture (height, width, colors) and the columns it is made of."""
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})(x3)?(?::(.+))?", image.strip())
    if match is None:
        raise ValueError(
            f"`image` must be a size such as '8x8' (width x height) or '32x32x3', got {image!r}."
        )
    width, height = int(match[1]), int(match[2])
    shape = (height, width, 3) if match[3] else (height, width)
    size = int(np.prod(shape))
    prefix = match[4] or ""
    columns = [
        name
        for name in names
        if name.startswith(prefix) and any(np.isfinite(_number(row.get(name))) for row in rows)
    ]
    if not size or len(columns) != size:
        which = f"whose name begins with {prefix!r}" if prefix else "in the table"
        raise ValueError(
            f"An image of {image} needs {size:,} columns of numbers, but there are"
            f" {len(columns):,} {which}. Pass the prefix of the names of the columns of pixels,"
            f" for example {match[1]}x{match[2]}{match[3] or ''}:pixel."
        )
    return shape, columns


# ---- pictures ----


def is_image(cell: Any) -> bool:
    """Whether a cell looks like a picture; only reading it shows whether there is one."""
    if isinstance(cell, str):
        text = cell.strip()
        if text.startswith(("data:image/", *BASE64_STARTS)):
            return True
        is_address = text.startswith(("http://", "https://"))
        return not is_address and "\n" not in text and bool(IMAGE_NAMES.search(text))
    if isinstance(cell, bytes):
        return image_type(cell) is not None
    return isinstance(cell, Path) or hasattr(cell, DRAWS_ITSELF)


def image_url(cell: Any, folder: Path) -> str:
    """Return a picture as a `data:` URL; ValueError or OSError where there is none."""
    if isinstance(cell, bytes):
        return data_url(cell)
    if hasattr(cell, DRAWS_ITSELF):
        return data_url(getattr(cell, DRAWS_ITSELF)())
    text = str(cell).strip()
    if text.startswith("data:image/"):
        text = text.partition(",")[2]
    elif not text.startswith(BASE64_STARTS) or IMAGE_NAMES.search(text):
        return data_url(_read_image_file(text, folder))
    try:
        return data_url(base64.b64decode(text, validate=True))
    except binascii.Error:
        raise ValueError("it is not base64 text") from None


def _read_image_file(text: str, folder: Path) -> bytes:
    path = folder / text
    if not path.is_file():
        raise ValueError("there is no such file")
    if path.stat().st_size > LARGEST_IMAGE:
        raise ValueError(f"the file has more than {LARGEST_IMAGE:,} bytes")
    with path.open("rb") as stream:
        start = stream.read(16)
        if image_type(start) is None:
            raise ValueError("the file is not a PNG, JPEG, GIF or WebP image")
        return start + stream.read()


def image_type(content: bytes) -> str | None:
    """Return the type of an image by its first bytes; None where it is none."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


def data_url(content: bytes) -> str:
    """Return an image as text that a page can hold; ValueError where it is no image."""
    kind = image_type(content)
    if kind is None:
        raise ValueError("it is not a PNG, JPEG, GIF or WebP image")
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def png_of(pixels: NDArray[np.uint8]) -> bytes:
    """Return gray values (height, width) or colors (height, width, 3) as a PNG file."""
    height, width = pixels.shape[:2]
    color_type = 2 if pixels.ndim == 3 else 0
    lines = pixels.reshape(height, -1)
    raw = np.hstack([np.zeros((height, 1), np.uint8), lines]).tobytes()  # filter 0 for each line

    def chunk(kind: bytes, content: bytes) -> bytes:
        checked = kind + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(raw)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
