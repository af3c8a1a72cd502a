"""What is learned of a folder, file by file, from a sample of its rows."""

import numpy as np
import pandas as pd
import pytest

from folder_tables import mixed_table, write_parts
from semisvm.errors import DataError
from semisvm.tables import folders
from semisvm.tables.fit_folder import read_folder
from semisvm.tables.folders import SurveyPlan, survey_file
from semisvm.tables.read_training import read_training


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("drop", [[], ["subject"], ["subject", "shop", "country"]])
def test_a_folder_within_the_sample_is_the_table_of_its_files(tmp_path, form, drop):
    frame = mixed_table()[0].drop(columns=drop)
    folder = write_parts(frame, tmp_path / "t", 4, form)
    whole = read_training(sorted(folder.iterdir()), "kind")
    training = read_folder(folder, "kind")
    assert training.columns == whole.columns
    assert training.left_out == whole.left_out
    assert training.n_rows == 1_200
    assert training.class_counts == whole.class_counts
    assert training.codes.tolist() == whole.codes.tolist()
    assert training.rows.schema.names == whole.rows.schema.names
    for read, expected in zip(training.rows.values, whole.rows.values, strict=True):
        pd.testing.assert_series_equal(pd.Series(read), pd.Series(expected))
    difference = training.form() - whole.form()
    assert abs(difference).max() == 0


def test_a_sample_of_a_large_folder_gives_its_columns_and_nearly_its_encoder(tmp_path, monkeypatch):
    monkeypatch.setattr("semisvm.tables.fit_folder.MOST_LABELED_KEPT", 300)
    monkeypatch.setattr("semisvm.tables.fit_folder.MOST_UNLABELED_KEPT", 600)
    frame = mixed_table(4_000)[0].drop(columns=["subject", "shop"])
    folder = write_parts(frame, tmp_path / "t", 4)
    whole = read_training(sorted(folder.iterdir()), "kind")
    training = read_folder(folder, "kind")
    assert len(training.rows) == 900
    assert training.n_rows == 4_000
    assert training.class_counts == whole.class_counts
    assert training.columns == whole.columns
    exact = whole.form()
    estimate = training.encoder().transform(whole.rows)
    for k in np.flatnonzero(exact.std(axis=0)):  # a scale of 900 rows: five standard errors
        scale, offset = np.polyfit(exact[:, k], estimate[:, k], 1)
        assert abs(scale - 1) < 5 / np.sqrt(900)
        assert abs(offset) < 5 / np.sqrt(900)


def test_a_sample_is_random_and_depends_on_the_rows_alone(tmp_path):
    frame = pd.DataFrame({"a": np.arange(30_000) * 1.0, "kind": None})
    few, many = (write_parts(frame, tmp_path / str(n), n) for n in (1, 1))
    plan = SurveyPlan("kind", None, ("a",), 10, 500)
    survey = survey_file(few / "part-000.parquet", plan)
    drawn = survey.sample["a"]
    assert (survey.n_rows.total(), survey.n_labeled, len(drawn)) == (30_000, 0, 500)
    assert drawn.tolist() == survey_file(many / "part-000.parquet", plan).sample["a"].tolist()
    # The mean of 500 draws without replacement; four standard errors.
    assert abs(drawn.mean() - 15_000) < 4 * 30_000 / np.sqrt(12 * 500)


def test_a_target_with_too_many_different_labels_is_counted_in_bounded_memory(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(folders, "MOST_LABELS_COUNTED", 10)
    frame = pd.DataFrame({"a": 1.0, "kind": np.repeat([f"w{k}" for k in range(8)], range(1, 9))})
    one, other = (
        survey_file(path, SurveyPlan("kind", None, ("a",), 100, 100))
        for path in sorted(write_parts(frame, tmp_path / "t", 2).iterdir())
    )
    other.labels.update({f"v{k}": 1 for k in range(9)})
    assert one.merged(other).labels.most_common(1) == [("w7", 8)]
    assert len(one.merged(other).labels) == 5


def test_a_cell_that_the_sample_did_not_have_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("semisvm.tables.fit_folder.MOST_LABELED_KEPT", 100)
    monkeypatch.setattr("semisvm.tables.fit_folder.MOST_UNLABELED_KEPT", 50)
    frame = mixed_table(2_000)[0][["age", "size", "kind"]]
    frame["age"] = frame["age"].astype(str)
    folder = write_parts(frame, tmp_path / "t", 2, "csv")
    training = read_folder(folder, "kind")
    frame.loc[1_500, "age"] = "old"
    write_parts(frame, tmp_path / "t", 2, "csv")
    with pytest.raises(DataError, match=r"part-001.csv, line 502: column 'age' holds 'old'"):
        training.pool.rows(training.encoder())


@pytest.mark.parametrize(
    ("change", "where", "words"),
    [
        (
            lambda part: part.drop(columns="size"),
            "part-002",
            "no column 'size', which part-000.parquet has",
        ),
        (
            lambda part: part.assign(age="old"),
            "part-002",
            "column 'age' holds text here and numbers in part-000.parquet",
        ),
        (lambda part: part.assign(size=1e200), "row 201", "number up to 1e+150"),
    ],
)
def test_files_that_do_not_fit_together_are_named(tmp_path, change, where, words):
    frame = mixed_table(400)[0]
    files = sorted(write_parts(frame, tmp_path / "t").iterdir())
    change(frame[200:300]).to_parquet(files[2])
    with pytest.raises(DataError, match=where) as error:
        read_folder(tmp_path / "t", "kind")
    assert words in str(error.value)


def test_a_decimal_mark_that_is_none_is_refused_as_for_files(tmp_path):
    folder = write_parts(mixed_table(100)[0], tmp_path / "t")
    for read, data in ((read_folder, folder), (read_training, sorted(folder.iterdir()))):
        with pytest.raises(DataError, match="`decimal` is the decimal mark"):
            read(data, "kind", decimal="comma")
