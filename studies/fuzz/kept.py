"""Kept columns of every Arrow type: what `predict --keep` copies from a Parquet file is what was in
it, type by type and value by value, in Parquet exactly and in CSV letter by letter where text has
one spelling.
"""

from __future__ import annotations

import csv
import decimal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from studies.fuzz.command import run_words
from studies.fuzz.models import model_bytes
from studies.fuzz.verdict import Verdict, try_in_folder

Recipe = dict[str, Any]
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
TIMES = tuple(f"timestamp {unit}" for unit in ("s", "ms", "us", "ns"))
ZONES = ("", "UTC", "Europe/Berlin", "+05:30", "America/St_Johns")
TYPES = (
    *WHOLE, "float16", "float32", "float64", "decimal128", "decimal256", "bool", "string", "large_string", "binary",
    "large_binary", "fixed", "dictionary", "dictionary of ints", "date32", "date64", *TIMES, "time32", "time64",
    "duration", "list", "large_list", "fixed list", "struct", "map", "list of structs", "null",
)  # fmt: skip
# What text can't hold: nested values, and bytes that are no text.
NO_TEXT = (
    "list", "large_list", "fixed list", "struct", "map", "list of structs", "binary", "large_binary", "fixed",
)  # fmt: skip
LETTERS = ["a", "é", "\U0001f600", ",", '"', "\n", " ", "NA", "007", "1e5", "\t", "=1", ""]


def make(random: np.random.Generator) -> Recipe:
    """Draw types, rows and how the file is written."""
    return {
        "types": [str(name) for name in random.choice(TYPES, int(random.integers(1, 6)))],
        "n": int(random.choice([1, 3, 40, 200])),
        "missing": float(random.choice([0, 0.3, 1])),
        "out": str(random.choice(["parquet", "parquet", "csv"])),
        "group": int(random.choice([1, 7, 1000])),
        "compression": str(random.choice(["none", "snappy", "zstd"])),
        "seed": int(random.integers(1_000_000)),
    }


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """Fewer columns, fewer rows."""
    for place in range(len(recipe["types"]) if len(recipe["types"]) > 1 else 0):
        yield {**recipe, "types": recipe["types"][:place] + recipe["types"][place + 1 :]}
    for name, value in (("n", 1), ("n", 3), ("missing", 0.0), ("group", 1000)):
        if recipe[name] != value:
            yield {**recipe, name: value}


def column_of(name: str, n: int, missing: float, random: np.random.Generator) -> Any:
    """Return a random array of a type, with its extreme values among the others."""
    import pyarrow as pa

    units = {"time32": pa.time32("ms"), "time64": pa.time64("ns"), "duration": pa.duration("ns")}
    day = 86_400_000
    plain: dict[str, tuple[Any, Any]] = {
        "float16": (pa.float16(), lambda: np.float16(random.normal())),
        "float32": (pa.float32(), lambda: float(np.float32(random.normal() * 10.0 ** random.integers(-30, 30)))),
        "float64": (pa.float64(), lambda: random.choice([random.normal(), 5e-324, 1e308, float("inf"), float("nan")])),
        "decimal128": (pa.decimal128(38, 6), lambda: decimal.Decimal(int(random.integers(-(2**62), 2**62))) / 10**6),
        "decimal256": (pa.decimal256(60, 4), lambda: decimal.Decimal(int(random.integers(-(2**62), 2**62))) / 10**4),
        "bool": (pa.bool_(), lambda: bool(random.integers(2))),
        "string": (pa.string(), lambda: _text(random)),
        "large_string": (pa.large_string(), lambda: _text(random)),
        "binary": (pa.binary(), lambda: random.bytes(int(random.integers(5)))),
        "large_binary": (pa.large_binary(), lambda: random.bytes(3)),
        "fixed": (pa.binary(4), lambda: random.bytes(4)),
        "dictionary": (pa.dictionary(pa.int32(), pa.string()), lambda: _text(random)),
        "dictionary of ints": (pa.dictionary(pa.int8(), pa.int64()), lambda: int(random.integers(2**53, 2**53 + 9))),
        "date32": (pa.date32(), lambda: int(random.integers(-100_000, 100_000))),
        "date64": (pa.date64(), lambda: int(random.integers(-50_000, 50_000)) * day),
        "list": (pa.list_(pa.int64()), lambda: [2**53 + 1, None][: int(random.integers(3))]),
        "large_list": (pa.large_list(pa.string()), lambda: [_text(random)]),
        "fixed list": (pa.list_(pa.float32(), 2), lambda: [1.5, None]),
        "struct": (pa.struct([("p", pa.int64()), ("q", pa.string())]), lambda: {"p": 2**60 + 1, "q": _text(random)}),
        "map": (pa.map_(pa.string(), pa.int64()), lambda: [("k", int(random.integers(2**60)))]),
        "list of structs": (pa.list_(pa.struct([("p", pa.date32())])), lambda: [{"p": 3}]),
        "null": (pa.null(), lambda: None),
    }  # fmt: skip
    if name in WHOLE:
        edges = np.iinfo(name)
        ends = [edges.min, edges.max, 0, min(edges.max, 2**53 + 1)]
        plain[name] = (getattr(pa, name)(), lambda: ends[int(random.integers(4))])
    elif name.startswith("timestamp"):
        unit = name.split()[1]
        zone = str(random.choice(ZONES))
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        most = 4 * 10**9 * per_second
        kind = pa.timestamp(unit, zone or None)
        plain[name] = (kind, lambda: int(random.integers(-most, most)))
    elif name in units:
        plain[name] = (units[name], lambda: int(random.integers(day)))
    type_, draw = plain[name]
    values = [None if random.random() < missing else draw() for _ in range(n)]
    if pa.types.is_dictionary(type_):
        return pa.array(values, type_.value_type).dictionary_encode().cast(type_)
    if pa.types.is_temporal(type_) and not pa.types.is_date32(type_):
        return pa.array(values, pa.int64() if name != "time32" else pa.int32()).cast(type_)
    return pa.array(values, type_)


def _text(random: np.random.Generator) -> str:
    return "".join(random.choice(LETTERS, int(random.integers(4))))


def check(recipe: Recipe) -> Verdict:
    """Predict, and compare the kept columns."""
    return try_in_folder(
        lambda folder, content: _compare(recipe, content), lambda: model_bytes("supervised")
    )


def _compare(recipe: Recipe, content: bytes) -> Verdict:
    import pyarrow as pa
    from pyarrow import parquet

    random = np.random.default_rng(recipe["seed"])
    n = recipe["n"]
    Path("m.skops").write_bytes(content)
    kept = {
        f"k{place}": column_of(name, n, recipe["missing"], random)
        for place, name in enumerate(recipe["types"])
    }
    own = {"a": random.normal(size=n), "b": random.normal(size=n), "c": ["red"] * n}
    try:
        parquet.write_table(
            pa.table(own | kept),
            "t.parquet",
            row_group_size=recipe["group"],
            compression=recipe["compression"],
        )
        before = parquet.read_table("t.parquet")
    except pa.ArrowException as error:  # fixed lists with gaps, before PyArrow 21
        return Verdict("skipped", f"this release of PyArrow can't keep the table: {error}")
    out = f"p.{recipe['out']}"
    keep = [word for name in kept for word in ("--keep", name)]
    code, _, told = run_words(["predict", "m.skops", "t.parquet", "--out", out, *keep])
    may_refuse = recipe["out"] == "csv" and set(recipe["types"]) & set(NO_TEXT)
    if code == 2 and may_refuse and "Write to a .parquet file" in told:
        return Verdict("refused", told)
    if code == 2 and recipe["out"] == "csv" and "Cannot locate timezone" in told:
        return Verdict("refused", told)  # PyArrow spells no offset of a zone without a name
    if code != 0:
        return Verdict("exit code", f"{code} {told[-300:]}")
    if recipe["out"] == "csv":
        return _compare_text(recipe, before)
    after = parquet.read_table(out)
    for name, kind in zip(kept, recipe["types"], strict=True):
        old, new = before.column(name).combine_chunks(), after.column(name).combine_chunks()
        if old.type != new.type:
            return Verdict("wrong", f"{kind}: {old.type} became {new.type}")
        is_same = old.equals(new) or repr(old.to_pylist()) == repr(new.to_pylist())  # NaN
        if not is_same:
            return Verdict("wrong", f"{kind}: {old.to_pylist()[:3]} became {new.to_pylist()[:3]}")
    return Verdict("done")


def _compare_text(recipe: Recipe, before: Any) -> Verdict:
    """Whole numbers, decimals, booleans and texts have one spelling."""
    with open("p.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    if len(rows) != recipe["n"]:
        return Verdict("lost", f"{len(rows)} rows of {recipe['n']}")
    spellings = {"bool": {True: "true", False: "false"}.get}
    for place, kind in enumerate(recipe["types"]):
        if kind not in (*WHOLE, "decimal128", "decimal256", "bool", "string", "large_string",
                        "dictionary", "dictionary of ints"):  # fmt: skip
            continue
        spell = spellings.get(kind, str)
        expected = [
            "" if value is None else spell(value)
            for value in before.column(f"k{place}").to_pylist()
        ]
        found = [row[f"k{place}"] for row in rows]
        if found != expected:
            pair = next(two for two in zip(expected, found, strict=True) if two[0] != two[1])
            return Verdict("wrong", f"{kind}: {pair[0]!r} became {pair[1]!r}")
    return Verdict("done")
