"""Tables as people have them become rows to learn from: columns, classes, encodings, rows worth
labeling.
"""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.svm import SVC

from files import read_as_numbers
from folder_tables import write_parts
from semisvm.columns.cells import CellError, Cells, Column, text_type
from semisvm.columns.cells import typed_column as typed_cells
from semisvm.columns.encoder import TableEncoder
from semisvm.columns.kinds import Unused, decide, remark_on
from semisvm.columns.table import read_table
from semisvm.errors import DataError
from semisvm.tables import rows_on_disk
from semisvm.tables.classes import Classes, parse_costs, read_cost_matrix
from semisvm.tables.fit import fit_model
from semisvm.tables.fit_folder import read_folder
from semisvm.tables.label import suggest_rows
from semisvm.tables.methods import Settings
from semisvm.tables.predict import predict_file
from semisvm.tables.read import open_rows
from semisvm.tables.read_training import read_training


def typed_column(column, cells):
    return typed_cells(column, Cells(cells))


def settle(*cells, name="c", wanted=None):
    return decide(name, Cells(pd.Series(list(cells), dtype="str")), wanted)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("1", " 2.5", None, "-3e2"), Column("c", "number")),
        (("1", "2", "3", "n.a."), Column("c", "number", strays=("n.a.",))),
        (("2024-01-31", "2023-12-01", None), Column("c", "date", "ISO8601")),
        (("2024-01-31T10:00:00", "2023-12-01T08:30:00"), Column("c", "date", "ISO8601")),
        (("31/12/2024", "01/02/2024"), Column("c", "date", "%d/%m/%Y")),
        (("12/31/2024", "01/02/2024"), Column("c", "date", "%m/%d/%Y")),
        (("31.12.2024", "1.2.2024"), Column("c", "date", "%d.%m.%Y")),
        (("3 Mar 2024", "14 Dec 2023"), Column("c", "date", "%d %b %Y")),
        (("03-Mar-24", "14-Dec-23"), Column("c", "date", "%d-%b-%y")),
        (("31.12.2024 10:05:59", "01.02.2024 23:00:00"), Column("c", "date", "%d.%m.%Y %H:%M:%S")),
        (("12/31/2024 9:05 PM", "1/2/2024 11:00 AM"), Column("c", "date", "%m/%d/%Y %I:%M %p")),
        (("31/12/24", "01/02/24"), Column("c", "date", "%d/%m/%y")),
        (("31.12.24", "01.02.24"), Column("c", "date", "%d.%m.%y")),
        (
            ("Mon, 15 Jan 2024 10:00:00 +0100", "Tue, 16 Jan 2024 11:00:00 +0000"),
            Column("c", "date", "%a, %d %b %Y %H:%M:%S %z"),
        ),
        (("2024-03", "2023-12", None), Column("c", "date", "ISO8601")),
        (
            ("-", "2024-01-31", "2023-12-01", "unknown"),
            Column("c", "date", "ISO8601", ("-", "unknown")),
        ),
        (
            ("2024-01-31", "0000-00-00", "2023-12-01"),
            Column("c", "date", "ISO8601", ("0000-00-00",)),
        ),
        (("never", "2024-01-31", "never"), Column("c", "category")),
        (("今天天氣很好我們去公園", "垃圾郵件中獎免費"), Column("c", "text")),
        (("台北", "台中", "台北"), Column("c", "category")),
        (("red", "blue", "red"), Column("c", "category")),
        (("win a prize now", "the minutes of the meeting"), Column("c", "text")),
        (("01234", "5678", "x9", "x8", "01234"), Column("c", "category")),
        ((None, None), Unused("c", "holds no value")),
        (("same", "same", None), Unused("c", "holds 'same' in every row")),
        (("k1", "k2", "k3"), Unused("c", "is different in every row")),
        (tuple(map(str, range(1, 40))), Unused("c", "numbers the rows")),
    ],
)
def test_a_column_is_taken_for_what_it_is(cells, expected):
    assert settle(*cells) == expected


def test_a_cell_that_keeps_a_column_from_being_one_of_numbers_is_pointed_at():
    cells = [f"{k}.5" for k in range(30)]
    why = "is different in every row, and holds numbers except for '1_5'"
    assert settle(*cells, "1_5") == Unused("c", why)
    words = pd.Series([*cells, *cells, "1_5"], dtype="str")
    assert "holds numbers except for '1_5': correct these cells" in remark_on(
        decide("c", Cells(words)), Cells(words)
    )


def test_a_type_that_is_said_overrules_and_one_that_can_not_be_is_refused():
    assert settle("1", "2", "1", wanted="category") == Column("c", "category")
    assert settle("k1", "k2", "k3", wanted="category") == Column("c", "category")
    with pytest.raises(ValueError, match="can't be read as dates, for example 'red'"):
        settle("red", "blue", wanted="date")


def test_numbers_are_scaled_and_an_empty_cell_is_the_median_and_says_so():
    frame = pd.DataFrame({"a": pd.Series(["1", "2", None, "9"], dtype="str")})
    X = TableEncoder([Column("a", "number")]).fit(frame).transform(frame)
    assert X.shape == (4, 2)
    assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    assert_allclose(X.std(axis=0), 1)
    assert X[2, 0] == pytest.approx(X[1, 0])  # the median of 1, 2, 9
    assert X[2, 1] > X[1, 1]


def test_dates_repeat_by_the_year_and_the_week_and_categories_forget_what_they_never_saw():
    days = pd.DataFrame(
        {"d": pd.Series(["2024-01-01", "2024-01-08", "2024-07-01", "2024-07-02"], dtype="str")}
    )
    X = TableEncoder([Column("d", "date", "ISO8601")]).fit(days).transform(days)
    week = X[:, 3:5]
    assert_allclose(week[0], week[1], atol=1e-9)
    assert_allclose(week[0], week[2], atol=1e-9)
    assert not np.allclose(week[0], week[3])
    colors = pd.DataFrame({"c": pd.Series(["red", "blue", "red"], dtype="str")})
    encoder = TableEncoder([Column("c", "category")]).fit(colors)
    new = encoder.transform(pd.DataFrame({"c": pd.Series(["green", "red"], dtype="str")}))
    assert np.asarray(new.todense() if sparse.issparse(new) else new).tolist() == [[0, 0], [0, 1]]


def test_text_stays_sparse_and_a_cell_of_the_wrong_kind_is_named():
    rng = np.random.default_rng(0)
    words = pd.Series(
        [" ".join(f"w{k}" for k in rng.integers(0, 200, 5)) for _ in range(300)], dtype="str"
    )
    frame = pd.DataFrame({"t": words, "n": pd.Series(map(str, range(300)), dtype="str")})
    encoder = TableEncoder([Column("t", "text"), Column("n", "number")]).fit(frame)
    assert sparse.issparse(encoder.transform(frame))
    frame.loc[7, "n"] = "seven"
    with pytest.raises(
        CellError, match="column 'n' holds 'seven' where a finite number is expected"
    ) as caught:
        encoder.transform(frame)
    assert caught.value.row == 7


# ---- classes ----


def test_labels_for_a_fit_keep_the_order_of_the_classes_and_are_missing_where_there_is_none():
    classes = Classes(("10", "2"), True)  # the positive class comes last, whatever its size
    labels = classes.categorical(classes.codes_of(["2.0", "", "10"]))
    assert list(labels.categories) == ["10", "2"]
    assert labels.tolist() == ["2", np.nan, "10"]


def test_labels_are_texts_that_come_out_as_they_went_in(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "a,y\n"
        + "".join(
            f"{i % 3}.5,{label}\n" for i, label in enumerate(["10", "2.0", "2", "", "NA"] * 6)
        )
    )
    rows = read_training([path], "y")
    assert rows.classes == Classes(("2", "10"), True)
    assert rows.n_unlabeled == 12
    alone = read_training([path], "y", unlabeled="2.00", positive="10")
    assert alone.classes.names == ("not 10", "10")
    assert alone.has_positives_only
    path.write_text("a,y\n" + "1.5,10\n" * 6)
    with pytest.raises(DataError, match="one class only, '10'"):
        read_training([path], "y")


def test_a_marker_and_a_second_file_make_unlabeled_rows(tmp_path):
    first = tmp_path / "a.csv"
    second = tmp_path / "b.csv"
    first.write_text("x,c,y\n" + "1.5,red,yes\n2.5,blue,no\n3.5,red,?\n" * 4)
    second.write_text("c,x\nblue,7.25\nred,8.25\n")
    rows = read_training([first], "y", unlabeled="?", unlabeled_data=[second])
    assert (len(rows.codes), rows.n_labeled, rows.n_unlabeled) == (14, 8, 6)
    assert rows.rows["x"].tolist()[-2:] == [7.25, 8.25]
    assert rows.classes.names == ("no", "yes")
    assert read_training([first], "y", unlabeled="?", positive="no").classes.names == ("yes", "no")


def test_files_of_different_formats_make_one_table(tmp_path):
    """Text in one file, numbers and dates in another; columns that are empty in one of two
    Parquet files.
    """
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "day": pd.date_range("2024-01-01", periods=60),
            "store": rng.choice([1234567.0, 1234568.0], 60),
            "y": ["yes", "no"] * 30,
        }
    )
    labeled = tmp_path / "labeled.csv"
    pool = tmp_path / "pool.parquet"
    empty = tmp_path / "empty.parquet"
    frame[:30].astype({"store": int}).to_csv(labeled, index=False)
    frame[30:].to_parquet(pool)
    rows = read_training([labeled], "y", unlabeled_data=[pool], types={"store": "category"})
    assert [column.type for column in rows.columns] == ["number", "date", "category"]
    known = TableEncoder(rows.columns).fit(rows.rows)
    assert_allclose(known.transform(rows.rows), known.transform(frame))
    frame[:30].assign(size=None, day=None).to_parquet(empty)
    for files in ([pool, empty], [empty, pool]):
        types = [
            column.type for column in read_training(files, "y", types={"store": "category"}).columns
        ]
        assert types == ["number", "date", "category"]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_of_parquet_files_may_have_nanoseconds(tmp_path, zone):
    times = pd.date_range("2024-01-01 00:00:00.123456789", periods=4, freq="h", tz=zone, unit="ns")
    path = tmp_path / "t.parquet"
    pd.DataFrame({"day": times, "y": ["x", "z", "x", "z"]}).to_parquet(path)
    (chunk,) = open_rows(path).chunks()
    assert chunk.frame["day"].tolist() == times.tz_localize(None).floor("us").tolist()


def test_truth_values_are_the_same_in_every_format_and_in_python(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"flag": rng.random(80) < 0.5, "size": rng.normal(size=80)})
    paths = [tmp_path / "t.csv", tmp_path / "t.parquet"]
    table = frame.assign(y=np.where(frame["flag"], "yes", "no"))
    table.to_csv(paths[0], index=False)
    table.to_parquet(paths[1])
    for path in paths:
        rows = read_training([path], "y")
        encoder = TableEncoder(rows.columns).fit(rows.rows)
        expected = encoder.transform(rows.rows)
        for other in (frame, *(read_training([one], "y").rows for one in paths)):
            assert_allclose(encoder.transform(other), expected)
            assert encoder.schema_.read(other)["flag"].tolist() == rows.rows["flag"].tolist()


def test_a_table_is_the_same_in_every_format(tmp_path):
    rng = np.random.default_rng(0)
    n = 120
    is_spam = rng.random(n) < 0.5
    frame = pd.DataFrame(
        {
            "urgent": np.where(rng.random(n) < 0.2, None, is_spam ^ (rng.random(n) < 0.2)),
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(is_spam).round(3)),
            "count": rng.integers(0, 5, n),
            "sent": (
                pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D")
            ),
            "state": rng.choice(["NA", "None", "red", " ", "blue "], n),
            "code": rng.choice(["1", "2", "x", "y"], n),
        }
    )
    table = frame.assign(y=np.where(rng.random(n) < 0.7, np.where(is_spam, "spam", "ham"), None))
    paths = [tmp_path / f"t.{suffix}" for suffix in ("csv", "parquet", "xlsx", "ods")]
    table.to_csv(paths[0], index=False)
    table.to_parquet(paths[1])
    table.to_excel(paths[2], index=False, engine="openpyxl")
    table.to_excel(paths[3], index=False, engine="odf")
    expected = read_training(paths[:1], "y")
    encoder = TableEncoder(expected.columns).fit(expected.rows)
    model = fit_model(expected, Settings(), method="supervised")
    labels = model.predict(expected.rows)
    X = encoder.transform(expected.rows)
    for path in paths[1:]:
        found = read_training([path], "y")
        assert [(one.name, one.type) for one in found.columns] == [
            (one.name, one.type) for one in expected.columns
        ]
        assert found.codes.tolist() == expected.codes.tolist()
        assert_allclose(
            TableEncoder(found.columns).fit(found.rows).transform(expected.rows), X, atol=1e-12
        )
        assert_allclose(encoder.transform(found.rows), X, atol=1e-12)
        predict_file(model, path, tmp_path / "labels.csv", force=True)
        assert pd.read_csv(tmp_path / "labels.csv")["label"].tolist() == labels.tolist()


def test_a_column_that_can_not_be_read_can_be_dropped(tmp_path):
    table = pd.DataFrame(
        {"size": [1.5, 2, 3, 4], "photo": [b"\xff\xd8"] * 4, "y": ["a", "b", "a", "b"]}
    )
    path = tmp_path / "t.parquet"
    table.to_parquet(path)
    with pytest.raises(DataError, match="column 'photo' holds binary"):
        read_training([path], "y")
    found = read_training([path], "y", drop=["photo"])
    assert [column.name for column in found.columns] == ["size"]
    assert found.left_out == {"photo": "was dropped by request"}


def test_truth_values_of_files_of_different_formats_are_the_same(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"flag": rng.random(80) < 0.5, "size": rng.normal(size=80), "y": ["yes", "no"] * 40}
    )
    labeled = tmp_path / "labeled.csv"
    pool = tmp_path / "pool.parquet"
    frame[:60].to_csv(labeled, index=False)
    frame[40:].to_parquet(pool)
    rows = read_training([labeled], "y", unlabeled_data=[pool])
    assert sorted(set(rows.rows["flag"])) == ["false", "true"]
    assert rows.notes == ["Used once: 20 unlabeled rows that occur again with a label."]
    encoder = TableEncoder(rows.columns).fit(rows.rows)
    assert_allclose(encoder.transform(rows.rows), encoder.transform(frame))


def test_numbers_that_are_categories_keep_all_their_digits():
    cells = pd.Series([1234567.0, 1234568.0, 0.5, np.nan, np.inf])
    assert typed_column(Column("c", "category"), cells).tolist() == [
        "1234567",
        "1234568",
        "0.5",
        "",
        "inf",
    ]
    narrow = pd.Series([0.1, 2.0, np.nan], dtype="float32", index=[7, 7, 8])
    assert typed_column(Column("c", "category"), narrow).tolist() == ["0.1", "2", ""]


def test_costs_are_read_by_class_and_by_matrix(tmp_path):
    classes = Classes(("ham", "spam"), False)
    assert parse_costs("spam=10, ham=1", classes) == {"spam": 10.0, "ham": 1.0}
    with pytest.raises(DataError, match="'spam' is not a class, or has two costs"):
        parse_costs("spam=10,ham=1,spam=2", classes)
    path = tmp_path / "costs.csv"
    path.write_text("true,spam,ham\nham,3,0\nspam,0,7\n")
    assert read_cost_matrix(path, classes).tolist() == [[0, 3], [7, 0]]
    path.write_text("true,spam,ham\nham,3,1\nspam,0,7\n")
    with pytest.raises(
        DataError, match="line 2: costs must be numbers from 0 up, and 0 where the predicted"
    ):
        read_cost_matrix(path, classes)


# ---- reading in parts ----


def test_a_column_of_empty_cells_is_text_in_every_format(tmp_path):
    frame = pd.DataFrame({"n": [1.0, 2.0], "empty": pd.Series([None, None], dtype="str")})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    csv = open_rows(tmp_path / "t.csv")
    parquet = open_rows(tmp_path / "t.parquet")
    for rows in (csv, parquet):
        for frame, _ in rows.parts(["n", "empty"]):
            assert frame["empty"].dtype == text_type()
            assert frame["empty"].isna().all()


def test_arrow_and_the_strict_reader_read_the_same_cells(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(
        b'\xef\xbb\xbfname,"n",text\r\n"a, b",1.5,"two\r\nlines"\r\n"say'
        b' ""hi""",NA,\r\n\r\nplain,-2e3, x \r\n'
    )
    rows = open_rows(path)
    assert rows.names == ("name", "n", "text")
    names = list(rows.names)
    fast = pd.concat([frame for frame, _ in rows.parts(names)])
    parts = rows._parts_by_lines(rows._blocks(), rows.first_line, names, ())
    slow = pd.concat([frame for frame, _ in parts])
    assert (fast.dtypes == slow.dtypes).all()
    assert (fast[["name", "text"]].dtypes == text_type()).all()
    assert fast["n"].tolist()[::2] == slow["n"].tolist()[::2] == ["1.5", "-2e3"]
    assert fast["n"].isna().tolist() == slow["n"].isna().tolist()
    for name in ("name", "text"):
        one, other = (
            frame[name].fillna("").str.strip().str.replace("\r\n", "\n").tolist()
            for frame in (fast, slow)
        )
        assert one == other


@pytest.mark.parametrize(
    "opening", ["a,b", " a, b"]
)  # Arrow reads the first as it is; a space may precede the second
def test_a_row_longer_than_arrows_block_and_rows_after_it_are_read(tmp_path, monkeypatch, opening):
    monkeypatch.setattr("semisvm.tables.delimited.BYTES_AT_A_TIME", 1000)
    path = tmp_path / "t.csv"
    path.write_text(f'{opening}\n1,x\n2,"{"w " * 5000}"\n3,y\n' + "4,z\n" * 1000)
    frames = [chunk.frame for chunk in open_rows(path).chunks()]
    assert [len(text) for text in pd.concat(frames)["b"][:3]] == [1, 10_000, 1]
    assert sum(map(len, frames)) == 1003


@pytest.mark.parametrize("opening", ["a,b", " a, b"])
def test_how_many_rows_there_are_is_guessed_from_the_first(tmp_path, opening):
    path = tmp_path / "t.csv"
    for n in (10, 100_000):
        path.write_text(
            f"{opening}\n" + "".join(f"{k},w{k % 7}\n" for k in range(1_000, 1_000 + n))
        )
        rows = open_rows(path)
        assert rows.guess_rows(next(rows.chunks())) == pytest.approx(n, rel=0.2 if n > 10 else 0)


@pytest.mark.parametrize("cell", ["1_5", "1e999", "inf", "0x10", "1,5"])
def test_what_only_looks_like_a_number_is_refused_with_its_line(tmp_path, cell):
    path = tmp_path / "t.csv"
    path.write_text(f'a,b\n1,x\n\n"{cell}",y\n')
    with pytest.raises(
        DataError, match=f"line 4: column 'a' holds '{cell}' where a finite number is expected"
    ):
        read_as_numbers(open_rows(path), ["a"])
    if cell not in ("1e999", "inf", "1,5"):
        assert settle("1", "2", cell, "1") == Column("c", "category")


# ---- rows worth labeling ----


def test_suggested_rows_are_in_doubt_and_far_from_each_other(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 2)) + 3 * y[:, None]
    X[40:80] = [1.5, 1.5] + 1e-4 * rng.normal(size=(40, 2))  # forty copies of one doubtful row
    path = tmp_path / "t.csv"
    labels = [("yes" if code else "no") if i < 40 else "" for i, code in enumerate(y)]
    path.write_text(
        "\n".join(
            [
                "a,b,y",
                *(f"{a:.6f},{b:.6f},{label}" for (a, b), label in zip(X, labels, strict=True)),
                "",
            ]
        )
    )
    model = fit_model(read_training([path], "y"), Settings(), method="supervised")
    found = suggest_rows(model, path, 6)
    assert len({one.row for one in found}) == 6
    assert all(one.row > 40 for one in found)  # never one that has a label
    assert sum(41 <= one.row <= 80 for one in found) <= 2
    doubt = np.abs(model.decision_function(read_training([path], "y").rows))
    assert np.mean([abs(one.score) for one in found]) < np.median(doubt[80:])


def test_a_file_without_unlabeled_rows_has_nothing_to_suggest(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "1.5,yes\n-1.5,no\n2.5,yes\n-2,no\n" * 5)
    model = fit_model(read_training([path], "y"), Settings(), method="supervised")
    assert suggest_rows(model, path, 3) == []


@pytest.mark.parametrize("mark", ["?", "unknown", "Unlabeled"])
def test_a_word_that_seems_to_mark_unlabeled_rows_is_not_taken_for_a_class_in_silence(
    tmp_path, mark
):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{k}.5,{('no', 'yes', mark)[k % 3]}\n" for k in range(30)))
    with pytest.raises(
        DataError,
        match=f"'{re.escape(mark)}' in 10 of 30. Set `unlabeled` to '{re.escape(mark)}' if",
    ):
        read_training([path], "y")
    assert read_training([path], "y", unlabeled=mark).n_unlabeled == 10
    assert read_training([path], "y", unlabeled="").classes.names == tuple(
        sorted(["no", "yes", mark])
    )


@pytest.mark.parametrize("mark", ["?", "-", ".", "\\N"])
def test_a_mark_beside_empty_cells_is_not_taken_for_a_class_in_silence(tmp_path, mark):
    labels = ["yes", "no", mark, ""] * 10
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{k % 7},{label}\n" for k, label in enumerate(labels)))
    said = re.escape(
        f"has 10 empty cells, and {mark!r} in 10 of 40. Set `unlabeled` to {mark!r} if"
    )
    with pytest.raises(DataError, match=said):
        read_training([path], "y")
    assert read_training([path], "y", unlabeled=mark).n_unlabeled == 20
    assert len(read_training([path], "y", unlabeled="").classes.names) == 3


def test_rows_without_any_value_are_left_out_with_a_note(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,x,yes\n2,,no\n,x,\n,,\n3,z,yes\n , ,NA\n5,x,no\n,,yes\n")
    found = read_training([path], "y")
    assert found.notes[0] == "Left out: 2 rows without any value."
    assert (len(found.codes), len(found.rows), found.n_labeled) == (6, 6, 5)


def test_long_numbers_that_are_labels_of_a_parquet_file_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1.0, 2, 3, 4], "y": [10**17, 10**17 + 1, 10**17, 10**17 + 1]}).to_parquet(
        path
    )
    for read in (rows_on_disk, lambda path, target: read_training([path], target)):
        with pytest.raises(
            DataError, match=r"more than 15 digits, which are not exact\. Write them as text"
        ):
            read(path, target="y")


@pytest.mark.parametrize("form", ["csv", "parquet", "folder"])
def test_whole_numbers_that_a_float_rounds_are_pointed_at_and_long_keys_are_left_out(
    tmp_path, form
):
    n = 60
    path = tmp_path / ("t" if form == "folder" else f"t.{form}")
    shops = np.array([0, 1, 64, 65])  # two, where they are floats
    cells = {
        "shop": 10**17 + shops[np.arange(n) % 4],
        "user_id": 10**17 + np.arange(n) // 2,
        "x": np.arange(n) % 7 / 10,
    }
    frame = pd.DataFrame(
        cells | {"y": np.where(np.arange(n) % 3, np.where(np.arange(n) % 2, "a", "b"), None)}
    )
    if form == "folder":
        write_parts(frame, path, 3)
    elif form == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    read = (
        read_folder
        if form == "folder"
        else lambda path, *rest, **more: read_training([path], *rest, **more)
    )
    found = read(path, "y")
    rounded = (
        "holds whole numbers of more than 15 digits, of which different ones may be rounded to one"
    )
    assert found.remarks == {"shop": f"{rounded}: leave it out (`drop`) if it is an identifier"}
    assert found.left_out == {"user_id": "is an identifier: whole numbers of more than 15 digits"}
    found = read(path, "y", types={"shop": "category"})
    assert found.remarks == ({} if form == "csv" else {"shop": f"{rounded}: write them as text"})
    assert len(set(found.rows["shop"])) == (4 if form == "csv" else 2)


def test_long_integers_of_a_frame_are_different_categories():
    frame = pd.DataFrame({"shop": 10**17 + np.arange(40) % 4})
    assert TableEncoder([Column("shop", "category")]).fit_transform(frame).shape == (40, 4)
    assert TableEncoder().fit(frame).columns_ == [Column("shop", "number")]


def test_labels_that_are_long_numbers_keep_all_their_digits(tmp_path):
    first = 10**17
    second = 10**17 + 1
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{k % 7},{[first, second, ''][k % 3]}\n" for k in range(40)))
    found = read_training([path], "y")
    assert found.classes.names == (str(first), str(second))
    assert np.bincount(found.codes + 1).tolist() == [13, 14, 13]
    assert found.classes.codes_of([f"+{first}", f"{second}"]).tolist() == [0, 1]


# ---- tables as people have them ----


@pytest.mark.parametrize(
    ("cells", "decimal", "values"),
    [
        (("1.234,56", "12,5", "-7"), ",", [1234.56, 12.5, -7.0]),
        (("NT$ 3,913", "NT$ 12", "NT$ 1,000,000"), ".", [3913, 12, 1e6]),
        (("€ 1.000,50", "€ 2,25", "€ 3"), ",", [1000.5, 2.25, 3]),
        (("12%", "7.5%", "-3%"), ".", [12, 7.5, -3]),
        (("1 234 kg", "56 kg", "7 kg"), ".", [1234, 56, 7]),
        (("1'234.5", "56.25", "2'000"), ".", [1234.5, 56.25, 2000]),
        (("1\u00a0234", "56", "2\u202f000"), ".", [1234, 56, 2000]),
        (("(1,234.50)", "7.25", "3.00-", "−2.5"), ".", [-1234.5, 7.25, -3, -2.5]),
    ],
)
def test_numbers_are_read_as_people_write_them_once_the_decimal_mark_is_said(
    cells, decimal, values
):
    words = pd.Series(list(cells), dtype="str")
    column = decide("c", Cells(words), None, decimal)
    assert column == Column("c", "number", format=decimal)
    assert typed_column(column, words).tolist() == values


@pytest.mark.parametrize(
    ("cell", "decimal"),
    [
        ("379.40", ","),
        ("0.813", ","),
        ("1,234.56", ","),
        ("1.23.456", ","),
        ("379,40", "."),
        ("0,813", "."),
        ("1.234,56", "."),
        ("12 34", "."),
    ],
)
def test_marks_that_separate_no_thousands_make_no_number(cell, decimal):
    column = Column("c", "number", decimal)
    words = pd.Series(["7", cell], dtype="str")
    mark = {",": "comma", ".": "point"}[decimal]
    with pytest.raises(CellError, match=f"where a number with a decimal {mark} is") as refused:
        typed_column(column, words)
    assert refused.value.row == 1


def test_plain_numbers_stay_what_they_are_beside_marked_ones():
    rng = np.random.default_rng(0)
    amounts = rng.gamma(2, 700, 200)
    shares = np.column_stack([rng.random(200).round(places) for places in (1, 2, 3, 4, 8)])
    european = [f"{x:,.2f} €".translate(str.maketrans(",.", ".,")) for x in amounts]
    american = [f"€ {x:,.2f}" for x in amounts]
    for decimal, marked in ((",", european), (".", american)):
        frame = pd.DataFrame(shares.astype(str)).set_axis([*"abcde"], axis=1)
        reading = read_table(frame.assign(amount=marked), decimal=decimal)
        assert reading.columns.numbers.tolist() == np.c_[shares, amounts.round(2)].tolist()
        assert reading.remarks == {}


def test_numbers_with_the_other_mark_than_was_said_are_pointed_at():
    for cells in (["1.234,56", "12,50", "7", "0,25", "3,5"], ["0,5 €", "12,50 €", "7 €"]):
        words = Cells(pd.Series(cells * 9, dtype="str"))
        column = decide("c", words, None, ".")
        assert column == Column("c", "category")
        assert remark_on(column, words, ".") == (
            f"looks like numbers, but {cells[0]!r} is none where '.' ends the whole part: correct"
            " `decimal`, or write all in the same way"
        )
    words = Cells(pd.Series(["0,5", "0,25", "12,5", "3,75"] * 9, dtype="str"))
    with pytest.raises(ValueError, match=r"'0,5', and `decimal` is '\.': correct it, or write"):
        decide("c", words, None, ".")
    few = pd.Series(["1.234,56", "12,5"] * 20 + ["379.40"], dtype="str")
    column = decide("c", Cells(few), None, ",")
    assert remark_on(column, Cells(few), ",") == "'379.40' counts as an empty cell"
    assert np.array_equal(
        typed_column(column, few), [1234.56, 12.5] * 20 + [np.nan], equal_nan=True
    )


def test_units_that_differ_are_pointed_at_as_numbers_are_read_without_them():
    for cells, said in (
        (["5.5 kg", "500 g", "7 kg", "7"], "for example '5.5 kg' and '500 g'"),
        (["$ 5.50", "($ 1,500.00)", "€ 7.00"], "for example '$ 5.50' and '€ 7.00'"),
        (["5.5 kg", "1,500 kg", "7"], ""),
        (["5.50", "(1,500.00)", "−7.00", "7.00-"], ""),
    ):
        words = Cells(pd.Series(cells * 9, dtype="str"))
        column = decide("c", words, None, ".")
        assert (column.type, column.format) == ("number", ".")
        told = f"holds numbers in different units, {said}, which are read without them"
        assert remark_on(column, words, ".") == (
            f"{told}: write all in the same unit" if said else ""
        )


def test_what_looks_like_numbers_is_said_to_and_codes_do_not():
    for cells in (
        ["NT$ 3,913", "NT$ 5", "NT$ 3,913"],
        ["1.234,56", "12,5", "1.234,56", "x"] + ["1,5"] * 30,
    ):
        words = pd.Series(cells, dtype="str")
        assert "looks like numbers" in remark_on(decide("c", Cells(words)), Cells(words))
    for cells in (
        ["A1", "B2", "A1"],
        ["01234", "5678", "01234"],
        ["red", "blue", "red"],
        ["1-2", "3-4", "1-2"],
        ["4A", "5B", "7C", "9D"],
    ):
        words = pd.Series(cells, dtype="str")
        assert remark_on(Column("c", "category"), Cells(words)) == ""
    some = pd.Series(["7", "1.234,5", "8", "1.234,5", "2,5", "9,25"], dtype="str")
    assert remark_on(decide("c", Cells(some)), Cells(some)).startswith(
        "looks like numbers, for example '1.234,5'"
    )
    for cells in (
        ["10.0.0.1", "10.0.0.7", "10.0.0.1"],
        ["1.2.24", "1.2.25", "1.2.24"],
        ["1.2.3", "1.2.10", "1.2.3"],
    ):
        words = pd.Series(cells, dtype="str")
        assert remark_on(decide("c", Cells(words)), Cells(words)) == ""
        assert decide("c", Cells(words), None, ",") == Column("c", "category")
    with pytest.raises(
        ValueError, match=r"set `decimal` to ',' if it is a decimal comma, to '.' if it separates"
    ):
        settle("1,5", "2,5")


def test_amounts_that_are_all_different_are_not_left_out_without_a_hint(tmp_path):
    amounts = [f"{k % 9 + 1}.{100 + k},{10 + k}" for k in range(40)]
    rows = [
        f'{k % 7},"{amount}",{"xz"[k % 2] if k < 20 else ""}\n' for k, amount in enumerate(amounts)
    ]
    path = tmp_path / "t.csv"
    path.write_text("a,price,y\n" + "".join(rows))
    found = read_training([path], "y")
    assert found.left_out == {
        "price": f"is different in every row, and looks like numbers, for example {amounts[0]!r}"
    }
    assert found.notes == [
        "Column 'price' is different in every row, and looks like numbers, for example '1.100,10':"
        " it is left out; set the decimal mark (`decimal`)."
    ]
    with pytest.raises(
        DataError,
        match=r"'price' can't be read as numbers, .* \(set the decimal mark",
    ):
        read_training([path], "y", types={"price": "number"})
    assert read_training([path], "y", decimal=",").left_out == {}


def test_dates_with_gaps_and_spaces_around_them_are_dates_when_a_model_is_applied():
    words = pd.Series([" 2024-01-31", "-", "2024-02-01 ", None], dtype="str")
    column = decide("c", Cells(words))
    assert remark_on(column, Cells(words)) == "'-' counts as an empty cell"
    days = typed_column(column, words)
    assert days[[0, 2]].astype("datetime64[D]").astype(str).tolist() == ["2024-01-31", "2024-02-01"]
    assert np.isnat(days[[1, 3]]).all()
    with pytest.raises(CellError, match="'yesterday' where a date is expected"):
        typed_column(column, pd.Series(["yesterday"], dtype="str"))


def test_dates_in_two_styles_are_pointed_at():
    words = pd.Series(
        [f"2024-01-{k:02d}" if k % 2 else f"{k:02d}/01/2024" for k in range(1, 28)], dtype="str"
    )
    said = "holds dates in different styles, for example '2024-01-01' and '02/01/2024'"
    assert decide("c", Cells(words)) == Unused("c", f"is different in every row, and {said}")
    again = pd.concat([words, words], ignore_index=True)
    assert (
        remark_on(decide("c", Cells(again)), Cells(again)) == f"{said}: write all in the same way"
    )


def test_text_without_spaces_is_learned_by_its_characters():
    rng = np.random.default_rng(0)
    is_spam = rng.random(300) < 0.5
    own = [list("會議報告午餐專案預算團隊筆記"), list("免費中獎領取現金優惠貸款點擊")]
    common = list("我們今天請的是在了有不這")
    cells = [
        "".join(rng.choice(own[int(one)] if rng.random() < 0.3 else common) for _ in range(20))
        for one in is_spam
    ]
    frame = pd.DataFrame({"size": rng.normal(size=300), "mail": cells})
    encoder = TableEncoder().fit(frame)
    assert encoder.left_out_ == {}
    X = encoder.transform(frame)
    score = SVC(kernel="linear").fit(X[:60], is_spam[:60]).score(X[60:], is_spam[60:])
    assert score > 0.95


def test_identifiers_are_left_out_by_name_and_else_pointed_at():
    rng = np.random.default_rng(0)
    keys = [str(key) for key in rng.permutation(np.arange(10_000, 10_100))]
    for name in ("customer_id", "ID", "orderId", "invoice no"):
        assert isinstance(settle(*keys, name=name), Unused)
    for name in ("amount", "humid", "casino"):
        assert settle(*keys, name=name) == Column(name, "number")
    rising = pd.Series(sorted(keys), dtype="str")
    assert "a different whole number in every row" in remark_on(
        Column("account", "number"), Cells(rising)
    )
    assert settle(*keys, name="customer_id", wanted="number") == Column("customer_id", "number")


def test_labels_that_differ_by_case_or_spaces_are_asked_about(tmp_path):
    path = tmp_path / "t.csv"
    labels = ["Yes", "yes", "No", "no ", "YES", "Yes"]
    path.write_text("a,y\n" + "".join(f"{i % 7}.5,{labels[i % 6]}\n" for i in range(60)))
    with pytest.raises(
        DataError, match=r"differ only by case or spaces: 'Yes' \(20 rows\) and 'yes' \(10 rows\)"
    ):
        read_training([path], "y")
    assert read_training([path], "y", spelling="same").classes.names == (
        "Yes",
        "No",
    )  # the rarer one is positive
    exact = read_training([path], "y", spelling="exact").classes
    assert len(exact.names) == 5
    spelled = Classes(
        ("no", "Yes"), False
    )  # a model knows its classes in any spelling that is not another class's
    assert spelled.codes_of(["YES", " no", "yes  ", "Yes", "", "maybe"]).tolist() == [
        1,
        0,
        1,
        1,
        -1,
        -2,
    ]
    assert Classes(("yes", "Yes"), False).codes_of(["yes", "Yes", "YES"]).tolist() == [0, 1, -2]


def test_the_rarer_class_is_positive_unless_another_is_named_or_both_are_about_as_frequent(
    tmp_path,
):
    path = tmp_path / "t.csv"
    for n_a, expected in ((10, ("b", "a")), (40, ("a", "b")), (28, ("a", "b"))):
        path.write_text(
            "x,y\n" + "".join(f"{i % 7}.5,{'a' if i < n_a else 'b'}\n" for i in range(60))
        )
        assert read_training([path], "y").classes.names == expected
        assert read_training([path], "y", positive="b").classes.names == ("a", "b")


@pytest.mark.parametrize("view", ["standard", "quantiles", "letters", "latent"])
def test_every_view_learns_from_all_rows_and_encodes_new_ones(view):
    rng = np.random.default_rng(0)
    words = [
        "one two three four",
        "two three four five",
        "uno dos tres quatro",
        "dos tres quatro cinco",
    ]
    frame = pd.DataFrame(
        {
            "n": np.exp(3 * rng.normal(size=80)),
            "t": pd.Series(rng.choice(words, 80), dtype="str"),
            "c": pd.Series(rng.choice(["x", "y"], 80), dtype="str"),
        }
    )
    encoder = TableEncoder(view=view).fit(frame)
    X = encoder.transform(frame)
    assert X.shape[0] == 80
    part = encoder.transform(frame[:5])
    dense = [one.toarray() if sparse.issparse(one) else one for one in (X, part)]
    assert_allclose(dense[0][:5], dense[1], atol=1e-12)
    if view == "quantiles":
        assert abs(dense[0][:, 0]).max() < 6
    assert [(column.name, column.type) for column in encoder.columns_] == [
        ("n", "number"),
        ("t", "text"),
        ("c", "category"),
    ]
    assert len(encoder.get_feature_names_out()) == X.shape[1]
    with pytest.raises(ValueError, match="There is no view 'other'"):
        TableEncoder(view="other").fit(frame)
