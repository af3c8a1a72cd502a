"""Tables of numbers on disk: the rows and classes of the table, from a file or a folder, with
errors that say where.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from files import read_as_numbers
from folder_tables import write_parts
from semisvm import SupervisedSVC, TransductiveSVC
from semisvm.errors import DataError
from semisvm.tables import rows_on_disk
from semisvm.tables.folders import folder_digest
from semisvm.tables.read import open_rows


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 600)
    X = rng.standard_normal((600, 4)) + 2 * np.eye(3, 4)[kind]
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["kind"] = np.where(rng.random(600) < 0.3, None, np.array(["ham", "offer", "spam"])[kind])
    return frame


def write(frame, folder, form):
    if form == "parquet folder":
        for number in range(3):
            frame[200 * number : 200 * (number + 1)].to_parquet(folder / f"part-{number}.parquet")
        return folder
    if form == "parquet":
        frame.to_parquet(folder / "all.parquet")
        return folder / "all.parquet"
    frame.to_csv(folder / "all.csv", index=False)
    return folder / "all.csv"


@pytest.mark.parametrize("form", ["csv", "parquet", "parquet folder"])
def test_rows_classes_and_fits_are_those_of_the_table(frame, tmp_path, form):
    rows = rows_on_disk(write(frame, tmp_path, form), target="kind")
    assert rows.classes.tolist() == ["ham", "offer", "spam"]
    assert rows.feature_names.tolist() == ["a", "b", "c", "d"]
    assert rows.codes.dtype == np.int8
    expected = frame["kind"].map({"ham": 0, "offer": 1, "spam": 2}).fillna(-1).to_numpy(dtype=int)
    assert_array_equal(rows.codes, expected)
    assert_allclose(np.load(rows.path), frame[list("abcd")].to_numpy(), rtol=1e-6)
    model = SupervisedSVC(kernel="linear", tol=1e-6).fit(rows, None)
    y = frame["kind"].fillna("").to_numpy(dtype=str)
    peer = SupervisedSVC(kernel="linear", tol=1e-6, solver="primal").fit(frame[list("abcd")], y)
    assert_allclose(model.coef_, peer.coef_, atol=1e-2)
    assert (model.predict(frame[list("abcd")]) == peer.predict(frame[list("abcd")])).mean() >= 0.995
    assert TransductiveSVC(kernel="linear", C_unlabeled=0.1).fit(rows, None).coef_.shape == (3, 4)


def test_columns_can_be_chosen_and_need_no_target(frame, tmp_path):
    rows = rows_on_disk(write(frame, tmp_path, "csv"), features=["d", "a"], scratch_folder=tmp_path)
    assert rows.path.parent == tmp_path
    assert rows.classes is None
    assert_allclose(np.load(rows.path), frame[["d", "a"]].to_numpy(), rtol=1e-6)


def test_targets_that_are_numbers_stay_numbers(frame, tmp_path):
    frame["kind"] = np.where(frame["kind"].isna(), None, frame["a"] > 1)
    frame["kind"] = frame["kind"].map({True: 1, False: 0})
    assert rows_on_disk(write(frame, tmp_path, "csv"), target="kind").classes.tolist() == [0, 1]


def test_what_can_not_be_used_is_named(frame, tmp_path):
    frame.loc[7, "b"] = np.nan
    path = write(frame, tmp_path, "csv")
    with pytest.raises(DataError, match=r"all\.csv, line 9: column 'b' holds 'nan' where a number"):
        rows_on_disk(path, target="kind")
    with pytest.raises(DataError, match="there is no column 'sort'"):
        rows_on_disk(path, target="sort")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="the folder holds no table"):
        rows_on_disk(tmp_path / "empty")


# ---- folders as tables ----


def table_of(reader, **wanted):
    return pd.concat([chunk.frame for chunk in reader.chunks(**wanted)], ignore_index=True)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_folder_is_the_table_of_its_files(frame, tmp_path, form):
    folder = write_parts(frame, tmp_path / "t", 3, form)
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.csv").write_text("nothing of ours")
    (folder / "part-empty.csv").write_text("a,b,c,d,kind\n")
    (folder / "nothing.csv").touch()
    reader = open_rows(folder)
    found = table_of(reader)
    assert_array_equal(read_as_numbers(reader, "abcd"), frame[list("abcd")])
    assert found["kind"].isna().tolist() == frame["kind"].isna().tolist()
    starts = [chunk.start for chunk in reader.chunks(only=frozenset("a"))]
    assert starts == [0, 200, 400]
    place = {"csv": ", line 201: r", "parquet": ": row 200: r"}[form]
    assert f"part-001.{form}{place}" in str(reader.fault_at(399, "r", "s"))
    place = {"csv": ", line 2: r", "parquet": ": row 1: r"}[form]
    assert f"part-002.{form}{place}" in str(reader.fault_at(400, "r", "s"))


def test_a_column_that_is_empty_in_one_file_keeps_its_kind(frame, tmp_path):
    folder = write_parts(frame.assign(when=pd.Timestamp("2024-01-01")), tmp_path / "t", 3)
    frame[200:400].assign(a=None, when=None).to_parquet(folder / "part-001.parquet")
    found = table_of(open_rows(folder))
    assert found["a"].dtype == float
    assert found["when"].dtype.kind == "M"
    assert found["a"].isna().sum() == 200


def test_a_folder_of_files_that_differ_is_refused_by_name(frame, tmp_path):
    folder = write_parts(frame, tmp_path / "t", 3)
    frame[200:400].assign(a="high").to_parquet(folder / "part-001.parquet")
    with pytest.raises(
        DataError, match=r"part-001.*column 'a' holds text here and numbers in part-000"
    ):
        table_of(open_rows(folder))
    frame[200:400].to_csv(folder / "part-003.csv", index=False)
    frame[200:400].to_parquet(folder / "part-001.parquet")
    with pytest.raises(
        DataError, match=r"part-003.*holds text here and numbers .* Write all files in one format"
    ):
        table_of(open_rows(folder))
    (folder / "part-003.csv").unlink()
    frame[200:400].drop(columns="b").to_parquet(folder / "part-001.parquet")
    with pytest.raises(DataError, match=r"part-001.*no column 'b', which part-000.parquet has"):
        table_of(open_rows(folder))
    np.savez(folder / "part-001.npz", X=np.eye(2))
    assert len(open_rows(folder).files) == 3
    (tmp_path / "void").mkdir()
    with pytest.raises(DataError, match="holds no table"):
        open_rows(tmp_path / "void")
    (tmp_path / "void" / "a.csv").write_text("a,b\n")
    with pytest.raises(DataError, match=r"none of its files has a row \(1 file\)"):
        open_rows(tmp_path / "void")


def test_the_digest_of_a_folder_is_of_names_and_contents(frame, tmp_path):
    one, other = (write_parts(frame, tmp_path / name, 2, "csv") for name in ("one", "other"))
    assert folder_digest(one) == folder_digest(other)
    (other / "part-001.csv").rename(other / "part-002.csv")
    assert folder_digest(one) != folder_digest(other)
