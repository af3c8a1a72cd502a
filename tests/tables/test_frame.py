"""Files of rows: read as they were written, or refused in words."""

import gzip
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semisvm.errors import DataError
from semisvm.tables.frame import chunks, read, row_ids
from semisvm.tables.output import output_file

LATE = "".join(f"{k},2,3\n" for k in range(1_900))
REFUSED = {
    "a quote that is not closed": (b'a,b\n1,2\n3,"4\n5,6\n', "line 3: a quote that opens here"),
    "the same, late": (b"a,b,c\n" + LATE.encode() + b'x,"y,z\n', "line 1,902: a quote"),
    "a cell of a thousand lines": (b'a,b\n1,"' + b"x\n" * 1100 + b'"\n', "line 2: a quote"),
    "a cell too few": (b"a,b,c\n" + LATE.encode() + b"1,2\n", "line 1,902 has 2 cells, the header has 3: too few"),
    "a cell too many": (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 cells, the header has 2: too many"),
    "text behind a quote": (b'a,b\n"x"y,2\n', "line 2: text after a closing quote. Double"),
    "a zero byte": (b"a,b\n1,\x002\n", "line 2: holds a zero byte"),
    "a separator at every end": (b"a,b,\n1,2,\n3,4,\n", "every line ends with ','. Remove the last"),
    "two columns of one name": (b"b,a,b\n1,2,3\n", "two columns are called 'b'. Rename one."),
    "no name": (b"a,,b\n1,2,3\n", "column 2 has no name."),
    "nothing": (b"", "is empty, or its first line is."),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), "is UTF-16 (Excel's \"Unicode text\")"),
    "Latin-1": ("a,b\ncafé,2\n".encode("latin-1"), "byte 7 (0xe9) is not UTF-8"),
    "a zip file": (b"PK\x03\x04rest", "is a zip archive or a spreadsheet. Name it"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, tmp_path):
    content, words = REFUSED[case]
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


def test_what_is_no_file(tmp_path):
    with pytest.raises(DataError, match=r"there is no such file"):
        read(tmp_path / "none.csv")
    with pytest.raises(DataError, match=r"is a folder. Name its files: .*\*\.csv"):
        read(tmp_path)


TAKEN = {
    "comma": ("t.csv", b"a,b\n1,2\n"),
    "byte order mark": ("t.csv", b"\xef\xbb\xbfa,b\r\n1,2\r\n"),
    "semicolon": ("t.csv", b"a;b\n1;2\n"),
    "tabs": ("t.tsv", b"a\tb\n1\t2\n"),
    "gzip": ("t.csv.gz", gzip.compress(b"a,b\n1,2\n")),
    "no last line end": ("t.csv", b"a,b\n1,2"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_taken(case, tmp_path):
    name, content = TAKEN[case]
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path / name).to_dict("list") == {"a": ["1"], "b": ["2"]}


cells = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@given(
    rows=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=8), seed=st.integers(0, 99)
)
def test_cells_stay_as_they_were_written(rows, seed, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    frame = pd.DataFrame(rows, columns=["a", "b c", "d"]).map(lambda cell: cell.replace("\r", ""))
    frame.to_csv(path, index=False, lineterminator="\n")
    found = read(path)
    assert found.to_numpy().tolist() == frame.to_numpy().tolist()
    # Rows are what they hold: another order gives the same rows.
    order = np.random.default_rng(seed).permutation(len(frame))
    assert sorted(row_ids(found)) == sorted(row_ids(found.iloc[order]))
    assert len(set(row_ids(found))) == len(found)


def test_chunks_are_the_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f'{k},"x, {k % 7}"\n' for k in range(250)))
    parts = list(chunks(path, 100))
    assert [len(part) for part in parts] == [100, 100, 50]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), read(path))


def test_parquet_holds_decimals_exactly(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    amounts = [Decimal("0.10"), Decimal("1234567.89"), None]
    table = pa.table({"a": pa.array(amounts, pa.decimal128(12, 2)), "b": pa.array([1, None, 3])})
    pq.write_table(table, tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet")
    assert found["a"].tolist()[:2] == amounts[:2]
    pq.write_table(pa.table({"a": [[1]], "b": [2]}), tmp_path / "nested.parquet")
    with pytest.raises(DataError, match=r"column 'a' holds lists or records"):
        read(tmp_path / "nested.parquet")


def test_spreadsheets_are_read_as_text(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"a": ["007", "x"], "b": ["", "1,5"]}).to_excel(tmp_path / "t.xlsx", index=False)
    assert read(tmp_path / "t.xlsx").to_dict("list") == {"a": ["007", "x"], "b": ["", "1,5"]}


@pytest.mark.parametrize("force", [False, True])
def test_a_file_of_another_program_stays(force, tmp_path):
    path = tmp_path / "out.csv"

    def write():
        with output_file(path, force=force) as file:
            file.write("ours")
            path.write_text("theirs")

    with pytest.raises(DataError, match=r"was written by another program meanwhile"):
        write()
    assert path.read_text() == "theirs"
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]
