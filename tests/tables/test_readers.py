"""Every format gives the same X and y as an independent reader does."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow
import pytest
from numpy.testing import assert_array_equal
from pyarrow import parquet

from files import parquet_bytes, read_as_numbers, read_frame, read_numbers, write
from semisvm.disk import open_for_arrow
from semisvm.errors import DataError
from semisvm.tables.read import open_rows

LEAVE_EARLY = """
import sys
from pathlib import Path
from semisvm.tables.delimited import open_delimited

next(open_delimited(Path(sys.argv[1])).parts(["a"]))
"""
COMPRESS = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        rng.normal(size=(40, 4)) * 10.0 ** rng.integers(-9, 9, (40, 4)), columns=list("abcd")
    )
    frame.insert(2, "kind", rng.choice(["spam", "ham"], 40))
    return frame


# ---- the same numbers as independent readers ----


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize(
    ("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t"), (".csv", ";"), (".csv", "\t")]
)
def test_delimited_text_is_read_as_pandas_reads_it(tmp_path, frame, suffix, delimiter, ending):
    text = frame.to_csv(index=False, sep=delimiter)
    path = write(tmp_path, "mails" + suffix + ending, COMPRESS[ending](text.encode()))
    table = read_numbers(path, target="kind")
    theirs = pd.read_csv(io.StringIO(text), sep=delimiter, dtype=str)
    their_numbers = theirs[list("abcd")].map(
        float
    )  # versions of pandas differ in the last digit; Python is exact
    assert_array_equal(
        table.X, frame[list("abcd")].to_numpy()
    )  # what was written, to the last digit
    assert_array_equal(table.X, their_numbers.to_numpy())
    assert_array_equal(table.y, theirs["kind"].to_numpy())
    assert table.names == ("a", "b", "c", "d")


@pytest.mark.parametrize("name", ["t.parquet", "caf\udce9.parquet"])
def test_arrow_opens_files_itself(tmp_path, name):
    """Its threads read ahead: in a Python stream they would hang or abort the process if Python
    ended meanwhile.
    """
    path = tmp_path / name
    path.write_bytes(b"bytes")
    stream = open_for_arrow(path)
    assert isinstance(stream, pyarrow.NativeFile)
    assert not isinstance(stream, pyarrow.PythonFile)
    assert stream.read() == b"bytes"


def test_python_may_end_in_the_middle_of_a_file(tmp_path):
    path = tmp_path / "t.csv.xz"
    digits = (
        b"%.12f" % number for number in np.random.default_rng(0).random(300_000)
    )  # hard to compress: it takes time
    path.write_bytes(lzma.compress(b"a\n" + b"\n".join(digits), preset=0))
    for _ in range(2):
        assert (
            subprocess.run(
                [sys.executable, "-c", LEAVE_EARLY, path], check=False, timeout=60
            ).returncode
            == 0
        )


def test_members_of_one_compressed_file_are_read_one_after_the_other(tmp_path):
    for ending, compress in COMPRESS.items():
        path = write(tmp_path, "t.csv" + ending, compress(b"a,y\n1,no\n") + compress(b"2,yes\n"))
        assert_array_equal(read_numbers(path, target="y").y, ["no", "yes"])


def test_parquet_is_read_as_pandas_reads_it(tmp_path, frame):
    path = tmp_path / "mails.parquet"
    frame.assign(whole=range(40), yes=frame["a"] > 0).to_parquet(path)
    table = read_numbers(path, target="kind")
    assert_array_equal(table.X[:, :4], frame[list("abcd")].to_numpy())
    assert_array_equal(table.X[:, 4], range(40))
    assert_array_equal(table.X[:, 5], frame["a"] > 0)
    assert_array_equal(table.y, frame["kind"].to_numpy())


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pd.array([1, None, 0], dtype="Int64"), [1.0, np.nan, 0.0]),
        (pd.Series(["a", None, "b"]), ["a", "", "b"]),
        (pd.Categorical(["a", None, "b"]), ["a", "", "b"]),
        (pd.array([True, None, False], dtype="boolean"), ["true", "", "false"]),
    ],
)
def test_parquet_labels_that_are_missing_stay_missing(tmp_path, labels, expected):
    path = write(tmp_path, "rows.parquet", parquet_bytes(a=[1.0, 2.0, 3.0], y=labels))
    assert_array_equal(read_numbers(path, target="y").y, expected)


def test_columns_of_a_parquet_file_are_read_however_they_are_stored(tmp_path):
    words = ["red", None, "blue", " NA "]
    day = datetime(2024, 5, 1, 13, 30)
    columns = {
        "large": pyarrow.array(words, pyarrow.large_string()),
        "codes": pyarrow.array(words).dictionary_encode(),
        "bytes": pyarrow.array([None if word is None else word.encode() for word in words]),
        "time": pyarrow.array([day.time(), None, day.time(), None]),
        "lasted": pyarrow.array(
            [timedelta(seconds=90), None, timedelta(0), timedelta(days=1)], "duration[ns]"
        ),
    }
    path = tmp_path / "t.parquet"
    if int(pyarrow.__version__.split(".")[0]) >= 20:  # before it such files can't be written
        columns["view"] = pyarrow.array(words, pyarrow.string_view())
    parquet.write_table(pyarrow.table(columns), path)
    (chunk,) = open_rows(path).chunks()
    cells = {
        name: [None if pd.isna(cell) else cell for cell in chunk.frame[name]]
        for name in chunk.frame
    }
    assert cells.pop("lasted") == [90.0, None, 0.0, 86_400.0]
    assert cells.pop("time") == ["13:30:00", None, "13:30:00", None]
    assert set(map(tuple, cells.values())) == {("red", None, "blue", None)}


def test_numbers_that_a_parquet_file_holds_as_text_are_read_as_numbers(tmp_path):
    path = write(tmp_path, "t.parquet", parquet_bytes(a=["1.5", "", "-2"], b=["1", "2", "x"]))
    assert_array_equal(read_as_numbers(open_rows(path), ["a"])[:, 0], [1.5, np.nan, -2])
    with pytest.raises(
        DataError,
        match=r"t\.parquet: row 3: column 'b' holds 'x' where a finite number is expected",
    ):
        read_as_numbers(open_rows(path), ["b"])


# ---- labels, header and line ends ----


@pytest.mark.parametrize(
    ("cells", "expected", "kind"),
    [
        (["1", "-1", "+1"], [1, -1, 1], "i"),
        (["1.0", "0", "2e0"], [1, 0, 2], "i"),
        (["0.5", "1", "2"], [0.5, 1.0, 2.0], "f"),
        (["1", "", "0"], [1, np.nan, 0], "f"),
        (["1", "NA", "nan"], [1, np.nan, np.nan], "f"),
        (["spam", "", " ham "], ["spam", "", "ham"], "U"),
        (["1", "two", ""], ["1", "two", ""], "U"),
        (["None", "null", "x"], ["None", "", "x"], "U"),
        (["inf", "1", "2"], ["inf", "1", "2"], "U"),
        (["1_0", "1", "2"], ["1_0", "1", "2"], "U"),
        (["12345678901234567", "1", "2"], ["12345678901234567", "1", "2"], "U"),
        (["", "", ""], [np.nan] * 3, "f"),
    ],
)
def test_labels_keep_the_users_values(tmp_path, cells, expected, kind):
    text = "a,y\n" + "".join(f'{i},"{cell}"\n' for i, cell in enumerate(cells))
    y = read_numbers(write(tmp_path, "t.csv", text), target="y").y
    assert y.dtype.kind == kind
    assert_array_equal(y, expected)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_byte_order_marks_and_quoted_line_breaks_are_handled(tmp_path, newline):
    text = '\ufeff\n"first\nname",b,y\n1,"2","two\nlines"\n\n3, 4 ,plain'
    table = read_numbers(write(tmp_path, "t.csv", text.replace("\n", newline)), target="y")
    assert table.names == (f"first{newline}name", "b")
    assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.y.tolist() == [f"two{newline}lines", "plain"]


def test_the_line_of_a_fault_counts_blank_and_quoted_lines(tmp_path):
    path = write(tmp_path, "t.csv", 'a,y\n\n1,"x\ny"\n\ntwo,z\n')
    with pytest.raises(DataError, match="line 6: column 'a' holds 'two'"):
        read_numbers(path, target="y")


@pytest.mark.parametrize(
    ("text", "names", "cells"),
    [
        ("a|b\n1|2\n", ("a", "b"), ["1", "2"]),
        ("a;price, EUR;y\n1;2,5;x\n", ("a", "price, EUR", "y"), ["1", "2,5", "x"]),
        ('"a;b;c",d\n1,2\n', ("a;b;c", "d"), ["1", "2"]),
        ("a,b|c;d\n1,2\n", ("a", "b|c;d"), ["1", "2"]),
        ("yes|no\nyes\n", ("yes|no",), ["yes"]),
        ("sep=;\na;b\n1;2,5\n", ("a", "b"), ["1", "2,5"]),
        ("\ufeffSEP=|\r\na|b\r\n1|2\r\n", ("a", "b"), ["1", "2"]),
    ],
)
def test_the_delimiter_is_the_mark_that_header_and_first_row_have_in_common(
    tmp_path, text, names, cells
):
    rows = open_rows(write(tmp_path, "t.csv", text))
    (chunk,) = rows.chunks()
    assert rows.names == names
    assert chunk.frame.iloc[0].tolist() == cells


def test_a_table_of_any_kind_comes_as_a_frame(tmp_path):
    path = write(tmp_path, "t.csv", "city;size;when\nRome;3;2020-01-01\n;NA;None\n")
    frame = read_frame(path)
    assert list(frame.columns) == ["city", "size", "when"]
    assert frame["size"].tolist()[0] == "3"
    assert frame.isna().to_numpy().tolist() == [[False] * 3, [True, True, False]]
    long = read_frame(write(tmp_path, "mails.csv", "mail,y\n" + "w" * 200_000 + ",1\n"))
    assert len(long["mail"][0]) == 200_000
    frame.to_parquet(tmp_path / "t.parquet")
    again = read_frame(tmp_path / "t.parquet")
    assert list(again.columns) == list(frame.columns)
    # Cells, not types: texts are objects with old versions of pyarrow.
    cells, expected = (
        one.astype(object).fillna("empty").to_numpy().tolist() for one in (again, frame)
    )
    assert cells == expected


@pytest.mark.posix
@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.xlsx", "t.csv.gz"])
def test_a_named_pipe_is_refused_and_nobody_waits_for_it(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(
        DataError, match=r"this is a pipe or a device.* Write its content to a file"
    ):
        list(open_rows(tmp_path / name).chunks())


# ---- what is imported when ----


def test_importing_the_readers_imports_neither_pandas_nor_pyarrow():
    # scikit-learn imports pandas for itself where there is one: let it be loaded before we look
    program = (
        "import sys; sys.modules['pandas'] = sys.modules['pyarrow'] = None\n"
        "import sklearn.utils.multiclass\n"
        "del sys.modules['pandas'], sys.modules['pyarrow']\n"
        "import semisvm.tables.read\n"
        "assert not {'pandas', 'pyarrow'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# ---- spreadsheets ----


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_the_first_sheet_of_a_spreadsheet_is_a_table(tmp_path, suffix):
    frame = pd.DataFrame(
        {
            "size": [1.5, None, 3.0],
            "count": [1, 2, 3],
            "when": pd.to_datetime(["2024-01-05", "2024-02-05", None]),
            "word": ["red", None, "blue"],
            "flag": [True, False, True],
        }
    )
    path = tmp_path / f"t{suffix}"
    frame.to_excel(path, index=False, engine={".xlsx": "openpyxl", ".ods": "odf"}[suffix])
    rows = open_rows(path)
    assert rows.names == ("size", "count", "when", "word", "flag")
    (chunk,) = rows.chunks(frozenset({"size", "count", "when", "word"}))
    assert [chunk.frame[name].dtype.kind for name in ("size", "count", "when")] == ["f", "f", "M"]
    assert chunk.frame["word"].isna().tolist() == [False, True, False]
    with pytest.raises(
        DataError, match="row 1: column 'word' holds 'red' where a finite number is expected"
    ):
        read_as_numbers(rows, ["word"])


def test_a_spreadsheet_that_is_none_or_has_no_engine_is_refused_with_a_sentence(
    tmp_path, monkeypatch
):
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK nothing")
    with pytest.raises(DataError, match="can't be read as a spreadsheet"):
        open_rows(path)
    monkeypatch.setattr("semisvm.tables.formats.find_spec", lambda name: None)
    with pytest.raises(
        DataError, match=r"needs the package openpyxl, which is not installed\. Install it \(pip"
    ):
        open_rows(path)


def test_cells_of_a_spreadsheet_are_what_they_are_in_a_text_file(tmp_path):
    rows = [
        ("flag", " size ", "word", 2024),
        (True, 1, "None", 7),
        (None, None, " NA", None),
        (False, 2.5, "x", "n/a"),
    ]
    path = tmp_path / "t.xlsx"
    pd.DataFrame(rows, dtype=object).to_excel(path, index=False, header=False)
    (chunk,) = open_rows(path).chunks()
    cells = {
        name: [None if pd.isna(cell) else cell for cell in chunk.frame[name]]
        for name in chunk.frame
    }
    assert cells == {
        "flag": ["True", None, "False"],
        "size": [1.0, None, 2.5],
        "word": ["None", None, "x"],
        "2024": [7.0, None, None],
    }
    flag = read_as_numbers(open_rows(path), ["flag"])[:, 0]
    np.testing.assert_array_equal(flag, [1, np.nan, 0])


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("a", "a"), "two columns are called 'a'"),
        (("a", None), "column 2 has no name"),
        ((1, 2.5), "there are numbers in place of column names"),
    ],
)
def test_the_header_of_a_spreadsheet_is_held_to_the_rules_of_text_files(tmp_path, names, reason):
    path = tmp_path / "t.xlsx"
    pd.DataFrame([names, (1, 2), (3, 4)], dtype=object).to_excel(path, index=False, header=False)
    with pytest.raises(DataError, match=reason):
        open_rows(path)
