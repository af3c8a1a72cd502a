"""Columns that `predict --keep` copies are written as they came, whatever their type."""

import csv
import decimal
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet

from semisvm.errors import DataError
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.predict import predict_file
from semisvm.tables.read_training import read_training

DAY = datetime(2024, 2, 29, 13, 30, 1, 123456)
NS = 1_700_000_000_123_456_789
COLUMNS = {
    "int8": pyarrow.array([-128, None, 127], pyarrow.int8()),
    "int64": pyarrow.array([2**53 + 1, None, -(2**63)], pyarrow.int64()),
    "uint64": pyarrow.array([2**64 - 1, None, 0], pyarrow.uint64()),
    "ten_billion": pyarrow.array([10**10, 10**15, 10**18]),
    "float16": pyarrow.array(np.array([1.5, 0.1, -2], dtype=np.float16)),
    "float32": pyarrow.array([0.1, None, 1e30], pyarrow.float32()),
    "float64": pyarrow.array([0.1, None, 5e-324]),
    "infinite": pyarrow.array([float("inf"), None, float("-inf")]),
    "decimal": pyarrow.array([decimal.Decimal("12345678901234567890.10"), None, None]),
    "decimal256": pyarrow.array([decimal.Decimal("1.10"), None, None], pyarrow.decimal256(60, 2)),
    "bool": pyarrow.array([True, None, False]),
    "string": pyarrow.array(["NA", None, " é, \"x\"\n"]),
    "large_string": pyarrow.array(["a", None, ""], pyarrow.large_string()),
    "binary": pyarrow.array([b"ab", None, b""]),
    "fixed": pyarrow.array([b"ab", None, b"cd"], pyarrow.binary(2)),
    "dictionary": pyarrow.array(["x", None, "y"]).dictionary_encode(),
    "date32": pyarrow.array([date(2024, 2, 29), None, date(1900, 1, 1)]),
    "date64": pyarrow.array([date(2024, 2, 29), None, None], pyarrow.date64()),
    "milliseconds": pyarrow.array([DAY, None, None], pyarrow.timestamp("ms"), safe=False),
    "nanoseconds": pyarrow.array([NS, None, 1], pyarrow.timestamp("ns")),
    "berlin": pyarrow.array([NS, None, 1], pyarrow.timestamp("ns", "Europe/Berlin")),
    "utc": pyarrow.array([DAY, None, None], pyarrow.timestamp("us", "UTC")),
    "time32": pyarrow.array([1, None, 2], pyarrow.time32("s")),
    "time64": pyarrow.array([1, None, 2], pyarrow.time64("ns")),
    "duration": pyarrow.array([timedelta(days=400), None, None], pyarrow.duration("us")),
    "list": pyarrow.array([[1, None], None, []]),
    "struct": pyarrow.array([{"a": 1}, None, {"a": None}]),
    "map": pyarrow.array([[("k", 1)], None, []], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
    "null": pyarrow.nulls(3),
}  # fmt: skip
NESTED = ("list", "struct", "map")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    frame = pd.DataFrame({"a": rng.normal(size=80) + y, "y": np.array(["no", "yes"])[y]})
    frame.to_csv(folder / "t.csv", index=False)
    training = read_training([folder / "t.csv"], "y")
    return fit_model(training, Settings("linear", C=1.0), method="supervised")


def predict(model, path, out, keep):
    predict_file(model, path, out, keep=keep, force=True)
    return parquet.read_table(out) if out.suffix == ".parquet" else out.read_bytes().decode()


@pytest.mark.parametrize("n_rows", [3, 300])
def test_every_type_of_arrow_comes_back_from_parquet_as_it_was(
    model, tmp_path, monkeypatch, n_rows
):
    monkeypatch.setattr("semisvm.tables.formats.ROWS_AT_A_TIME", 100)
    columns = {
        name: pyarrow.concat_arrays([column] * (n_rows // 3)) for name, column in COLUMNS.items()
    }
    table = pyarrow.table({"a": np.linspace(-1, 1, n_rows)} | columns)
    parquet.write_table(table, tmp_path / "t.parquet")
    before = parquet.read_table(tmp_path / "t.parquet")
    after = predict(model, tmp_path / "t.parquet", tmp_path / "p.parquet", list(COLUMNS))
    for name in COLUMNS:
        assert after.schema.field(name).type == before.schema.field(name).type, name
        assert after.column(name).to_pylist() == before.column(name).to_pylist(), name
        if pyarrow.types.is_temporal(before.schema.field(name).type):  # Python cuts nanoseconds
            assert after.column(name).equals(before.column(name)), name


def test_every_type_that_text_can_hold_is_spelled_out_exactly(model, tmp_path):
    plain = {name: column for name, column in COLUMNS.items() if name not in NESTED}
    table = pyarrow.table({"a": [0.0, 1.0, 2.0]} | plain)
    parquet.write_table(table, tmp_path / "t.parquet")
    text = predict(model, tmp_path / "t.parquet", tmp_path / "p.csv", list(plain))
    first = next(csv.DictReader(text.splitlines()))
    expected = {
        "int64": "9007199254740993",
        "uint64": "18446744073709551615",
        "ten_billion": "10000000000",
        "float64": "0.1",
        "decimal": "12345678901234567890.10",
        "bool": "true",
        "string": "NA",
        "dictionary": "x",
        "date32": "2024-02-29",
        "nanoseconds": "2023-11-14 22:13:20.123456789",
        "berlin": "2023-11-14 23:13:20.123456789+0100",
        "utc": "2024-02-29 13:30:01.123456Z",
        "time64": "00:00:00.000000001",
    }
    assert {name: first[name] for name in expected} == expected
    for name in NESTED:
        parquet.write_table(
            pyarrow.table({"a": [0.0] * 3, name: COLUMNS[name]}), tmp_path / "n.parquet"
        )
        with pytest.raises(DataError, match=rf"column '{name}' holds .*Write to a \.parquet file"):
            predict(model, tmp_path / "n.parquet", tmp_path / "n.csv", [name])
        assert not (tmp_path / "n.csv").exists()


@pytest.mark.parametrize("quoted", [(), ("two\nlines", 'a "b"')], ids=["Arrow", "csv"])
def test_cells_of_a_text_file_come_back_letter_by_letter(model, tmp_path, quoted):
    cells = ["007", "9007199254740993", "1.10", "NA", " padded ", "1e5", "", *quoted]
    with open(tmp_path / "t.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerows([["note", "a", "id", "n"], *([c, "0.50", c, "1"] for c in cells)])
    text = predict(model, tmp_path / "t.csv", tmp_path / "p.csv", ["note", "a", "id"])
    rows = list(csv.DictReader(text.splitlines(keepends=True)))
    # The csv reader, which reads what is quoted, passes over spaces before a cell.
    expected = [cell.lstrip(" ") if quoted else cell for cell in cells]
    assert [row["note"] for row in rows] == expected
    assert [row["id"] for row in rows] == expected
    assert {row["a"] for row in rows} == {"0.50"}


def test_identifiers_of_a_spreadsheet_keep_their_digits(model, tmp_path):
    ids = [10**15 + k for k in range(40)]  # a spreadsheet itself rounds what is longer
    frame = pd.DataFrame({"a": np.linspace(-1, 1, 40), "id": ids, "mixed": [1, "x"] * 20})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    found = predict(model, tmp_path / "t.xlsx", tmp_path / "p.parquet", ["id", "mixed"])
    assert found.column("id").to_pylist() == ids
    assert found.column("mixed").to_pylist() == ["1", "x"] * 20
    text = predict(model, tmp_path / "t.xlsx", tmp_path / "p.csv", ["id"])
    assert [int(row["id"]) for row in csv.DictReader(text.splitlines())] == ids


def test_files_of_a_folder_whose_kept_columns_differ_are_refused(model, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    for name, ids in (("one", [1, 2]), ("two", ["x", "y"])):
        parquet.write_table(pyarrow.table({"a": [0.0, 1.0], "id": ids}), folder / f"{name}.parquet")
    with pytest.raises(DataError, match=r"two\.parquet: column 'id' holds text here and numbers"):
        predict(model, folder, tmp_path / "p.parquet", ["id"])
