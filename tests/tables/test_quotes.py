"""Quotes in delimited text: the rows are those of Python's csv module, or the file is refused."""

import csv
import io
import random

import pytest

from files import write
from semisvm.errors import DataError
from semisvm.tables import delimited
from semisvm.tables.delimited import open_delimited
from semisvm.tables.read import open_rows

PIECES = ["a", "b c", ",", ",", ",", "\n", "\n", "\n", "\r\n", '"', '"', '""', ' "', '",', "x,y\n", '"q"', '"q, r"', '"1\n2"', " ", "é"]  # fmt: skip


def rows_of_csv(text):
    """What Python's strict csv reader makes of a text: rows of stripped cells, or None."""
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    try:
        rows = [row for row in reader if len(row) > 1 or any(cell.strip() for cell in row)]
    except csv.Error:
        return None
    if not rows or any(len(row) != 2 for row in rows):
        return None
    return [[cell.strip() for cell in row] for row in rows]


def rows_of_reader(path):
    """What our reader makes of a file, or None where it refuses it."""
    try:
        frames = [chunk.frame for chunk in open_rows(path).chunks()]
    except DataError:
        return None
    return [[str(cell).strip() for cell in row] for frame in frames for row in frame.to_numpy()]


@pytest.mark.parametrize("size", [1_000_000, 7, 16, 50])
def test_random_misquoted_texts_are_read_as_csv_reads_them_or_refused(tmp_path, monkeypatch, size):
    """Blocks of a few bytes cut rows, quotes and line ends in two."""
    monkeypatch.setattr(delimited, "BYTES_AT_A_TIME", size)
    rng = random.Random(size)
    n_read = n_refused = n_quoted = 0
    for _ in range(500):
        text = "".join(rng.choices(PIECES, k=rng.randint(1, 25)))
        body = "u,v\n" + text
        path = write(tmp_path, "t.csv", body.encode())
        expected = rows_of_csv(text)
        if expected is not None:  # cells that say that they are empty are None in a frame
            expected = [[cell or "nan" for cell in row] for row in expected]
        assert rows_of_reader(path) == expected, body
        n_read += expected is not None
        n_refused += expected is None
        n_quoted += expected is not None and '"' in text
    assert n_read > 20
    assert n_refused > 200
    assert n_quoted > 5


@pytest.mark.parametrize("size", [1_000_000, 10])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('a,note\n1,x\n2,"y\n3,z\n4,w\n', "line 3: the row can't be split into cells"),
        ('a,note\n1,x\n2,"y"z\n', "line 3: the row can't be split into cells"),
        ('a,note\n1,x\n2,"y\n3,"z"\n4,w\n', "line 3: the row can't be split into cells"),
        ('a,note\n1,x\n2, "y\n3,z\n', "line 3: the row can't be split into cells"),
        ('a,note\n1,x\n5" pipe,y\n2,"y', "line 4: the row can't be split into cells"),
        ('a,note\n1,"x\n', "line 2: the row can't be split into cells"),
        ('"a,note\n1,x\n', "line 1: the row can't be split into cells"),
    ],
)
def test_a_quote_that_is_never_closed_is_named_by_its_line(
    tmp_path, monkeypatch, size, text, words
):
    path = write(tmp_path, "t.csv", text.encode())
    with pytest.raises(DataError, match=words):
        list(open_rows(path).chunks())
    monkeypatch.setattr(delimited, "BYTES_AT_A_TIME", size)
    with pytest.raises(DataError, match=r"line \d+: the row can't be split into cells"):
        list(open_rows(path).chunks())


@pytest.mark.parametrize("size", [1_000_000, 100])
@pytest.mark.parametrize("odd", ["", '5" pipe,y\n'], ids=["Arrow", "csv"])
def test_a_cell_that_has_swallowed_rows_is_an_error(tmp_path, monkeypatch, size, odd):
    monkeypatch.setattr(delimited, "BYTES_AT_A_TIME", size)
    rows = "".join(f"{k},w{k}\n" for k in range(30))
    swallowed = f'a,note\n1,x\n{odd}2,"y\n{rows}31,w"\n'  # an accidental quote closes the cell
    path = write(tmp_path, "t.csv", swallowed.replace('31,w"\n', '31,"\n').encode())
    with pytest.raises(DataError, match=r"line [34]: a quoted cell spans 32 lines, and each looks"):
        list(open_rows(path).chunks())
    verse = "".join(f"line {k} of a poem\n" for k in range(30))
    path = write(tmp_path, "t.csv", f'a,note\n{odd}2,"{verse}"\n3,z\n'.encode())
    notes = [note for chunk in open_rows(path).chunks() for note in chunk.frame["note"]]
    assert notes[-2:] == [verse, "z"]
    long = "word\n" * (delimited.MOST_LINES_IN_CELL + 1)
    path = write(tmp_path, "t.csv", f'a,note\n{odd}2,"{long}"\n3,z\n'.encode())
    with pytest.raises(DataError, match=r"line [23]: a quote opens a cell that goes on for more"):
        list(open_rows(path).chunks())


@pytest.mark.parametrize("first", ["", '5" pipe,y\n'], ids=["Arrow", "csv"])
def test_an_open_quote_in_a_large_file_is_refused_before_the_file_is_in_memory(
    tmp_path, monkeypatch, first
):
    monkeypatch.setattr(delimited, "BYTES_AT_A_TIME", 10_000)
    read = []
    count = delimited.read_block
    monkeypatch.setattr(delimited, "read_block", lambda *args: read.append(1) or count(*args))
    text = f'a,note\n{first}1,"x\n' + "2,some words of a row\n" * 100_000
    path = write(tmp_path, "t.csv", text.encode())
    with pytest.raises(DataError, match=r"line [23]: a quote opens a cell that goes on for more"):
        list(open_rows(path).chunks())
    assert len(read) < 20  # of 220 blocks


def test_a_text_is_opened_once_if_it_is_short_and_read_once_if_it_is_long(tmp_path, monkeypatch):
    opened = []
    read = []
    open_bytes = delimited.open_bytes
    read_block = delimited.read_block

    def open_and_count(path, **options):
        opened.append(options)
        return open_bytes(path, **options)

    def read_and_count(path, stream, n):
        read.append(len(block := read_block(path, stream, n)))
        return block

    monkeypatch.setattr(delimited, "open_bytes", open_and_count)
    monkeypatch.setattr(delimited, "read_block", read_and_count)
    short = write(tmp_path, "short.csv", b"a,b\n1,2\n")
    assert sum(map(len, open_rows(short).chunks())) == 1
    assert (len(opened), sum(read)) == (1, 8)
    opened.clear()
    read.clear()
    long = write(tmp_path, "long.csv", b"a,b\n" + b"1,2\n" * 1_600_000)
    assert sum(map(len, open_rows(long).chunks())) == 1_600_000
    assert (len(opened), sum(read)) == (2, 6_400_004)


def test_every_quoted_cell_comes_back(tmp_path):
    rng = random.Random(0)
    cells = ["".join(rng.choices('ab ,;"\n\r\té', k=rng.randint(0, 12))) for _ in range(3_000)]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
    writer.writerows([["n", "text"], *enumerate(cells)])
    path = write(tmp_path, "t.csv", stream.getvalue().encode())
    texts = [text for _, (_, text) in open_delimited(path).rows()]
    assert texts == cells
    frames = [chunk.frame["text"].fillna("") for chunk in open_rows(path).chunks()]
    found = [cell for frame in frames for cell in frame]
    assert found == [cell if cell.strip() else "" for cell in cells]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "not ended"])
@pytest.mark.parametrize("cell", ["d", '"d"'], ids=["plain", "quoted"])
def test_the_last_row_is_read_whatever_ends_the_lines(tmp_path, end, last, cell):
    (tmp_path / "t.csv").write_bytes(end.join(["u,v", f"{cell},1", "e,2" + end * last]).encode())
    frames = [chunk.frame for chunk in open_rows(tmp_path / "t.csv").chunks()]
    assert [row for frame in frames for row in frame.to_numpy().tolist()] == [
        ["d", "1"],
        ["e", "2"],
    ]
