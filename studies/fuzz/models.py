"""Model files with something changed: bytes, sizes, types, numbers; with the digest made right
again, or not.

A file is refused by a sentence that names it, or it is a model: then its predictions are classes
and finite scores. Neither may take more than a gigabyte of memory.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from studies.fuzz.command import judge, run_words, table_of
from studies.fuzz.verdict import Verdict, peak_megabytes, try_in_folder

Recipe = dict[str, Any]
METHODS = (
    "supervised",
    "mixture",
    "cluster",
    "transductive",
    "preference",
    "autosvc",
    "self-training",
)
RAW = ("flip", "flip", "cut", "append", "zeros", "swap")
ENTRY = (
    "flip", "cut", "empty", "missing", "renamed", "twice", "bomb", "path", "nested bomb", "deep", "header",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    float("nan"),
    2**63,
    "x",
    "",
    [],
    {},
    [[]],
    "builtins.eval",
    "os.system",
    -0.5,
)
ARRAYS = (
    "nan",
    "inf",
    "huge",
    "zeros",
    "short",
    "long",
    "transposed",
    "float32",
    "object",
    "text",
    "empty",
    "int",
)
LARGEST_GROWTH_MB = 1000
ZEROS = bytes(300_000_000)  # which nothing is written to: the system gives no memory for them


def make(random: np.random.Generator) -> Recipe:
    """Draw a model and what is done to its file."""
    kind = str(random.choice(["raw", "entry", "json", "json", "array", "array"]))
    what = {"raw": RAW, "entry": ENTRY, "array": ARRAYS}.get(kind, VALUES)
    return {
        "method": str(random.choice(METHODS)),
        "kind": kind,
        "what": what[int(random.integers(len(what)))],
        "times": int(random.choice([1, 1, 1, 2, 5])),
        "is_signed": bool(random.random() < 0.85),
        "seed": int(random.integers(1_000_000)),
    }


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """One change instead of several, to the simplest model."""
    for name, value in (("times", 1), ("method", "supervised"), ("is_signed", True)):
        if recipe[name] != value:
            yield {**recipe, name: value}


@cache
def model_bytes(method: str) -> bytes:
    """A model of a small table."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    before = os.getcwd()
    try:
        os.chdir(folder)
        table_of({"seed": 0, "n": 40}).to_csv("t.csv", index=False)
        asked = ["--min-precision", "0.7"] if method == "preference" else []
        code, _, told = run_words(
            ["fit", "t.csv", "--target", "y", "--method", method, *asked, "--out", "m.skops"]
        )
        if code > 1:
            raise RuntimeError(told)
        return Path("m.skops").read_bytes()
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def tampered(recipe: Recipe) -> bytes:
    """The bytes of the file with the changes."""
    random = np.random.default_rng(recipe["seed"])
    content = model_bytes(recipe["method"])
    if recipe["kind"] == "raw":
        return _change_bytes(content, recipe["what"], recipe["times"], random)
    from semisvm.tables import files

    with zipfile.ZipFile(io.BytesIO(content)) as old:
        entries = [[name, old.read(name)] for name in old.namelist()]
    digest = next(entry for entry in entries if entry[0] == files.DIGEST)
    entries.remove(digest)
    for _ in range(recipe["times"]):
        _change_entries(entries, recipe, random)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an entry that is there twice
            for name, part in entries:
                new.writestr(name, part)
        with contextlib.suppress(KeyError):
            new.writestr(files.DIGEST, files._digest(new) if recipe["is_signed"] else digest[1])
    return buffer.getvalue()


def _change_bytes(content: bytes, what: str, times: int, random: np.random.Generator) -> bytes:
    changed = bytearray(content)
    if what == "append":
        return content + bytes(random.integers(0, 256, 100, dtype=np.uint8))
    if not changed:
        return content
    for place in random.integers(0, len(changed), times):
        if what == "flip":
            changed[place] ^= 1 << int(random.integers(8))
        elif what == "zeros":
            changed[place : place + 50] = bytes(len(changed[place : place + 50]))
        elif what == "swap":
            changed[place:], changed[:place] = changed[:place], changed[place:]
        else:
            del changed[place:]
            break
    return bytes(changed)


def _change_entries(entries: list[list[Any]], recipe: Recipe, random: np.random.Generator) -> None:
    kind = recipe["kind"]
    what = recipe["what"]
    wanted = {"json": ".json", "array": ".npy"}.get(kind, "")
    among = [number for number, (name, _) in enumerate(entries) if name.endswith(wanted)]
    if not among:
        return
    number = int(random.choice(among))
    name, part = entries[number]
    if kind == "json":
        entries[number][1] = _change_json(part, what, random)
    elif kind == "array":
        entries[number][1] = _change_array(part, what)
    elif what in ("flip", "cut", "empty"):
        changes = {"empty": b"", "cut": part[: len(part) // 2]}
        entries[number][1] = (
            changes.get(what) if what != "flip" else _change_bytes(part, "flip", 3, random)
        )
    elif what == "missing":
        del entries[number]
    elif what == "nested bomb":
        entries[number][1] = _nested(ZEROS, int(random.integers(1, 4)))
    elif what == "deep":
        entries[number][1] = _nested(part, int(random.integers(2, 40)))
    elif what == "header":
        entries[number][1] = _array_of(int(10.0 ** random.integers(4, 18)))
    elif what == "bomb":
        entries.append(["more.npy", b"\0" * 300_000_000])
    else:
        entries.append(
            [{"renamed": "other.npy", "twice": name, "path": "../../evil.npy"}[what], part]
        )
        if what == "renamed":
            del entries[number]


@cache
def _nested(content: bytes, depth: int) -> bytes:
    """An archive in an archive, and so on, with the content in the innermost one."""
    for _ in range(depth):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.npy", content)
        content = buffer.getvalue()
    return content


def _array_of(claimed: int) -> bytes:
    """An array of ten numbers that says that it has more."""
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (claimed,)}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + bytes(80)


def _change_json(part: bytes, value: Any, random: np.random.Generator) -> bytes:
    try:
        content = json.loads(part)
    except ValueError:
        return part
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(child, dict | list):
                walk(child)

    if isinstance(content, dict | list):
        walk(content)
    if places:
        node, key = places[int(random.integers(len(places)))]
        if value == {} and isinstance(node, dict):
            del node[key]
        else:
            node[key] = value
    return json.dumps(content).encode()


def _change_array(part: bytes, what: str) -> bytes:
    array = np.load(io.BytesIO(part), allow_pickle=False)
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64) if array.dtype.kind in "fiub" else array
    flat = wide.copy().reshape(-1)
    if what in ("nan", "inf", "huge") and flat.size and flat.dtype.kind == "f":
        flat[0] = {"nan": np.nan, "inf": np.inf, "huge": 1e300}[what]
        array = flat.reshape(array.shape)
    changed = {
        "zeros": lambda: np.zeros_like(array),
        "short": lambda: array[:-1] if array.ndim else array,
        "long": lambda: np.concatenate([array, array]) if array.ndim else np.stack([array, array]),
        "transposed": lambda: array.T,
        "float32": lambda: wide.astype(np.float32) if wide.dtype.kind == "f" else array,
        "text": lambda: np.full(array.shape, "x"),
        "object": lambda: array.astype("S"),
        "empty": lambda: array[:0] if array.ndim else array,
        "int": lambda: np.nan_to_num(wide).astype(np.int64) if wide.dtype.kind == "f" else array,
    }.get(what, lambda: array)()
    buffer = io.BytesIO()
    np.save(buffer, changed, allow_pickle=False)
    return buffer.getvalue()


def check(recipe: Recipe) -> Verdict:
    """Predict, evaluate and report with the file."""
    return try_in_folder(_use, lambda: tampered(recipe))


def _use(folder: Path, content: bytes) -> Verdict:
    Path("m.skops").write_bytes(content)
    table_of({"seed": 1, "n": 12}).to_csv("t.csv", index=False)
    peak = peak_megabytes()
    codes = []
    for words in (["predict", "m.skops", "t.csv", "--out", "p.csv"], ["evaluate", "m.skops", "t.csv", "--json"],
                  ["report", "m.skops", "--out", "r.html"]):  # fmt: skip
        inputs = {path.name: path.read_bytes() for path in folder.iterdir()}
        code, told, complaint = run_words(words)
        found = judge(folder, words, code, told, complaint, inputs)
        if found is not None:
            return found
        codes.append(code)
    if peak_megabytes() - peak > LARGEST_GROWTH_MB:
        return Verdict("memory", f"{peak_megabytes() - peak:.0f} MB to look at a file")
    return Verdict("refused" if set(codes) == {2} else "done")
