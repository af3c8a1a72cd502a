"""Every malformed file is refused with a sentence, and no bytes whatever raise anything else."""

import bz2
import gzip
import lzma
import pickle
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from files import parquet_bytes, read_frame, read_numbers, write
from semisvm.errors import DataError

COMPRESSED = gzip.compress(b"a,b\n1,2\n", mtime=0)
WHOLE = gzip.compress(b"a,b\n" + bytes(range(48, 58)) * 50, mtime=0)
MALFORMED = [
    # any file
    ("t.csv", b"", {}, r"t\.csv: the file is empty\. Write the table again"),
    ("t.csv.gz", gzip.compress(b"", mtime=0), {}, "the file is empty"),
    ("t.csv.gz", WHOLE[:-12], {}, r"truncated or corrupt, or is no \.gz file .*\. Copy or download it again"),
    ("t.csv.gz", b"a,b\n1,2\n", {}, r"truncated or corrupt, or is no \.gz file"),
    ("t.csv.bz2", bz2.compress(b"a,b\n1,2\n")[:-5], {}, "truncated or corrupt"),
    ("t.csv.xz", lzma.compress(b"a,b\n1,2\n")[:-9], {}, "truncated or corrupt"),
    ("t.csv.xz", b"no xz", {}, "truncated or corrupt"),
    ("t.csv", "a,b\n1,2\n3,café\n".encode("latin-1"), {}, r"line 3: byte 0xe9 is not UTF-8 text\. Save"),
    ("t.csv", "a,b\n1,2\n".encode("utf-16"), {}, "encoded as UTF-16. Save it as UTF-8"),
    ("t.csv", "a,b\n1,2\n".encode("utf-32"), {}, "encoded as UTF-32"),
    ("t.csv", b"a,b\n1,\x002\n", {}, "line 2: a zero byte: this is not a text file"),
    ("t.doc", b"PK", {}, r"the suffix '\.doc' is not supported\. Rename it; known suffixes are \.csv, "),
    ("t.xlsx", b"PK", {}, r"can't be read as a spreadsheet \(.*\)\. Copy or write it again"),
    ("table", b"a,b\n1,2\n", {}, "the name has no suffix, so its format is not known"),
    ("t.zip", b"PK", {}, "the suffix '.zip' is not supported. Unpack it, and give the file that is in it"),
    ("t.txt", b"a,b\n1,2\n", {}, "Rename it to .csv if its first line names columns"),
    ("t.csv", COMPRESSED, {}, "this is a file compressed by gzip, not text. End its name with .gz"),
    ("t.csv", b"PK\x03\x04\xff", {}, "this is a spreadsheet or a ZIP archive, not text. End its name with .xlsx"),
    ("t.csv", parquet_bytes(a=[1, 2]), {}, "this is a Parquet file, not text. End its name with .parquet"),
    ("t.csv", b"\xd0\xcf\x11\xe0\xa1", {}, "old versions of Excel, not text. Save it as .xlsx or CSV"),
    # delimited text
    ("t.csv", b"\n \n", {}, "the file has only blank lines"),
    ("t.csv", b"a,b\n", {}, r"a header and no rows\. Add rows"),
    ("t.csv", b"a,b\n1,2\n3\n", {}, r"line 3: the row has 1 cell where the header has 2\. Add or remove"),
    ("t.csv", b"a,b\n1,2,3\n", {}, "line 2: the row has 3 cells where the header has 2"),
    ("t.csv", b'a,b\n1,2\n"3,4\n5,6\n', {}, "line 3: the row can't be split .*quote that is never closed"),
    ("t.csv", b'a,b\n1,"2\n', {}, "line 2: the row can't be split into cells .unexpected end of data"),
    ("t.csv", b'a,b\n1,"2"x\n', {}, "line 2: the row can't be split .* text right after"),
    ("t.csv", b'a,"b\n1,2\n', {}, "line 1: the row can't be split into cells"),
    ("t.csv", b"a,b\n1,2\n3,four\n", {}, r"line 3: column 'b' holds 'four' where a finite number is expected"),
    ("t.csv", b"a;b\n1;2,5\n", {}, "line 2: column 'b' holds '2,5' .* with a point, not a comma"),
    ("t.csv", b"a,b\n1,1_000\n", {}, "line 2: column 'b' holds '1_000' where a finite number is expected"),
    ("t.csv", b"a,b\n1,2\n3,-inf\n", {}, "line 3: column 'b' holds '-inf' where a finite number"),
    ("t.csv", b"a,b\n1,1e999\n", {}, "line 2: column 'b' holds '1e999' where a finite number is expected"),
    ("t.csv", b"a,a\n1,2\n", {}, "line 1: two columns are called 'a'. Rename one"),
    ("t.csv", b",a\n0,2\n", {}, "line 1: column 1 has no name.*index=False"),
    ("t.csv", b"1,2\n3,4\n", {}, "line 1: there are numbers in place of column names. Add a header"),
    ("t.csv", b"size,label\n1,2\n", {"target": "lable"}, "Perhaps 'label' is meant; there are 'size'"),
    ("t.csv", b"size,label\n1,2\n", {"target": "zz"}, "no column 'zz'. There are 'size', 'label'"),
    ("t.tsv", b"a,b\n1,2\n", {"target": "a"}, "no column 'a'. There are 'a,b'"),
    # LIBSVM text
    # arrays
    # Parquet
    ("t.parquet", b"PAR1 but no more", {}, "can't be read as a Parquet file"),
    ("t.parquet", parquet_bytes(a=[1, 2], y=[0, 1])[:-20], {}, "can't be read as a Parquet file"),
    ("t.parquet", parquet_bytes(a=["x", "z"], y=[0, 1]), {"target": "y"}, "row 1: column 'a' holds 'x' where a finite"),
    ("t.parquet", parquet_bytes(a=[1.0]), {"target": "y"}, "no column 'y'. There are 'a'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "message"), MALFORMED)
def test_a_malformed_file_says_where_what_and_what_to_do(tmp_path, name, content, options, message):
    path = write(tmp_path, name, content)
    with pytest.raises(DataError, match=message) as caught:
        read_numbers(path, **options)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith(".")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_missing_file_a_missing_folder_and_a_folder_are_told_apart(tmp_path):
    write(tmp_path, "mails.csv", "a\n1\n")
    with pytest.raises(
        DataError, match=r"no such file in its folder\. Perhaps 'mails\.csv' is meant"
    ):
        read_numbers(tmp_path / "mail.csv")
    with pytest.raises(
        DataError, match=r"mails\.cvs: no such file in its folder\. Perhaps 'mails\.csv' is meant"
    ):
        read_numbers(tmp_path / "mails.cvs")
    with pytest.raises(DataError, match="no such file, nor is there a folder"):
        read_numbers(tmp_path / "absent" / "mails.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="the folder holds no table"):
        read_numbers(tmp_path / "folder.csv")
    with pytest.raises(DataError, match="can't be opened"):
        read_numbers(tmp_path / "nul\0.csv")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "a,b\n1,2\n3\n", "line 3: the row has 1 cell"),
        ("t.csv", "a,b\n", "a header and no rows"),
    ],
)
def test_a_frame_is_as_strict_about_rows(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        read_frame(write(tmp_path, name, content))


def test_the_error_survives_pickling_and_is_a_value_error(tmp_path):
    with pytest.raises(ValueError, match="no such file") as caught:
        read_numbers(tmp_path / "absent.csv")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


# ---- no bytes whatever raise anything else ----

NAMES = [
    "f.csv", "f.tsv", "f.parquet", "f.csv.gz", "f.csv.bz2", "f.csv.xz",
]  # fmt: skip
TABLE_TEXT = st.text(alphabet="ab1-.:,;\t\n\r\"'?%{}_e# \ufeff\x1c", max_size=60)


@pytest.mark.parametrize("name", NAMES)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.one_of(st.binary(max_size=80), TABLE_TEXT.map(str.encode)))
@example(content=b"a\r\x01")  # the target is the only column
def test_any_bytes_give_a_dataset_or_a_data_error(tmp_path, name, content):
    path = write(tmp_path, name, content)
    for target in (None, "a"):
        try:
            table = read_numbers(path, target=target)
        except DataError:
            continue
        assert not np.isinf(table.X).any()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=TABLE_TEXT)
def test_any_text_gives_a_frame_or_a_data_error(tmp_path, content):
    path = write(tmp_path, "f.csv", content)
    with suppress(DataError):
        read_frame(path)
