"""One front end for columns: cells are read once, by the command and by `AutoSVC` alike."""

import datetime
import functools
import subprocess
import sys
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import semisvm
from semisvm import AutoSVC, SupervisedSVC, TableEncoder
from semisvm.columns import cells, table
from semisvm.columns.cells import CellError, without_missing
from semisvm.columns.characters import HashedCharacters
from semisvm.columns.table import Columns, read_table
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.read_training import read_training


def mixed_table(n: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with gaps, dates, truth values, categories and text, and a class that all of them
    tell a little about.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    words = np.array([["rain", "wind", "storm", "cold"], ["sun", "warm", "beach", "light"]])
    frame = pd.DataFrame(
        {
            "amount": np.where(rng.random(n) < 0.1, np.nan, rng.normal(2.0 * y).round(3)),
            "visits": rng.integers(0, 9, n),
            "sent": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
            "urgent": rng.random(n) < 0.3 + 0.4 * y,
            "city": rng.choice(["Oslo", "Rome", "Kyiv"], n),
            "note": [" ".join(rng.choice(words[k], 5)) for k in y],
            "row_id": np.arange(5_000, 5_000 + n),
        }
    )
    return frame, y


def parts_of(value, kind):
    """All objects of a type that a fitted model holds."""
    found, pending, seen = [], [value], set()
    while pending:
        value = pending.pop()
        if id(value) in seen or isinstance(value, str | bytes | np.ndarray):
            continue
        seen.add(id(value))
        if isinstance(value, kind):
            found.append(value)
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list | tuple):
            pending += value
        elif hasattr(value, "__dict__"):
            pending += vars(value).values()
    return found


def test_a_fit_of_a_file_reads_each_cell_once_and_has_one_encoder(tmp_path, monkeypatch):
    frame, y = mixed_table()
    frame["class"] = np.where(np.arange(120) < 60, np.array(["no", "yes"])[y], None)
    frame.to_csv(tmp_path / "t.csv", index=False)
    parsed: Counter[str] = Counter()
    typed: Counter[str] = Counter()
    for name in ("to_numeric", "to_datetime"):
        whole = getattr(pd, name)

        def count(words, *rest, whole=whole, name=name, **more):
            result = whole(words, *rest, **more)  # one that raises has read nothing
            if len(words) > 90:
                parsed[f"{name} {words.name}"] += 1
            return result

        monkeypatch.setattr(pd, name, count)
    read = cells.typed_column
    monkeypatch.setattr(
        table,
        "typed_column",
        lambda column, given: typed.update({column.name: 1}) or read(column, given),
    )
    training = read_training([tmp_path / "t.csv"], "class")
    fitted = fit_model(training, Settings(), tune=True)
    assert fitted.summary.data.rows == len(training.codes)
    used = ["amount", "visits", "sent", "urgent", "city", "note"]
    assert typed == dict.fromkeys(used, 1)
    assert set(parsed.values()) == {1}
    assert parsed["to_datetime sent"] == 1
    assert fitted.method == "autosvc"
    assert fitted.encoder is None
    assert len(parts_of(fitted, OneHotEncoder)) == 1
    assert len(parts_of(fitted, TfidfVectorizer)) == 1  # of words
    assert len(parts_of(fitted, HashedCharacters)) == 1
    supervised = fit_model(training, Settings(), method="supervised")
    assert len(parts_of(supervised, TfidfVectorizer)) == 1


def test_a_frame_gives_the_model_that_the_command_gives(tmp_path):
    frame, y = mixed_table()
    labels = np.where(np.arange(120) < 40, np.array(["no", "yes"])[y], None)
    frame.assign(y=labels).to_csv(tmp_path / "t.csv", index=False)
    frame.assign(y=labels).to_parquet(tmp_path / "t.parquet")
    given = pd.Categorical(labels, categories=["no", "yes"])
    model = AutoSVC(random_state=0, unlabeled="", threshold="score").fit(frame, given)
    scores = model.decision_function(frame)
    for name in ("t.csv", "t.parquet"):
        training = read_training([tmp_path / name], "y", positive="yes")
        of_command = fit_model(training, Settings(), method="autosvc")
        assert of_command.estimator.weights_ == model.weights_
        assert_array_equal(of_command.estimator.decision_function(training.rows), scores)
        assert_allclose(of_command.decision_function(frame) + of_command.threshold, scores)
    assert model._input == read_table(frame).columns.schema


# ---- dates ----


def test_dates_are_numbers_however_they_are_stored():
    days = pd.date_range("2024-01-01", periods=200).to_series(index=range(200))
    days = days.sample(frac=1, random_state=0, ignore_index=True)
    y = (days > "2024-04-10").astype(int).to_numpy()
    hidden = np.where(np.arange(200) < 60, y, -1)
    model = AutoSVC().fit(pd.DataFrame({"day": days}), hidden)
    assert model.score(pd.DataFrame({"day": days}), y) > 0.95
    expected = model.decision_function(pd.DataFrame({"day": days}))
    stored = {
        "text": days.dt.strftime("%Y-%m-%d"),
        "objects": days.dt.date,
        "zoned": days.dt.tz_localize("UTC"),
        "periods": days.dt.to_period("D"),
        "Arrow": days.astype(pd.ArrowDtype(pyarrow.date32())),
        "of Python": days.map(lambda day: datetime.datetime(day.year, day.month, day.day)),
    }
    for other in stored.values():
        assert_allclose(model.decision_function(pd.DataFrame({"day": other})), expected)
    with pytest.raises(CellError, match="row 0: column 'day' holds 'soon' where a date is exp"):
        model.predict(pd.DataFrame({"day": ["soon"]}))
    with pytest.raises(CellError, match="column 'day' holds '7' where a date is expected"):
        model.predict(pd.DataFrame({"day": [7.0]}))
    assert np.isfinite(model.decision_function(pd.DataFrame({"day": [None]}))).all()


@pytest.mark.parametrize("hours", [0, 14.3])
def test_a_time_of_day_that_no_row_of_the_fit_has_is_no_extreme_value(hours):
    rng = np.random.default_rng(0)
    days = pd.Series(np.datetime64("2024-01-01") + rng.integers(0, 300, 120))
    frame = pd.DataFrame({"sent": days + pd.Timedelta(hours=hours)})
    encoder = TableEncoder().fit(frame)
    expected = [*[5**-0.5] * 5, 0, 0]  # the time of day does not vary
    assert_allclose(encoder.transform(frame).std(axis=0), expected, atol=1e-12)
    later = frame.assign(sent=frame["sent"] + pd.Timedelta(hours=6))
    assert np.abs(encoder.transform(later)).max() < 3
    found = pd.DataFrame(encoder.transform(frame), columns=encoder.get_feature_names_out())
    angle = 2 * np.pi * (days.dt.day_of_week + 2 + hours / 24) / 7  # 2000 began on a Saturday
    for side, of_week in ((np.sin, "sent (week sin)"), (np.cos, "sent (week cos)")):
        assert_allclose(np.corrcoef(side(angle), found[of_week])[0, 1], 1)


# ---- categories ----


@functools.cache
def model_of_categories():
    """Codes of shops, their table, its target, and a model of it."""
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 5, 160)
    y = (codes % 2).astype(int)
    frame = pd.DataFrame({"shop": pd.Categorical(codes), "size": rng.normal(size=160)})
    hidden = np.where(np.arange(160) < 60, y, -1)
    model = AutoSVC().fit(frame, hidden)
    assert model.score(frame, y) > 0.95
    return codes, frame, hidden, model


@pytest.mark.parametrize("stored", ["category", "float", "int", "text", "float text", "object"])
def test_categories_of_numbers_are_their_values_however_they_are_stored(stored):
    codes, frame, hidden, model = model_of_categories()
    others = {
        "category": pd.Categorical(codes.astype(float)),
        "float": codes.astype(float),
        "int": codes,
        "text": codes.astype(str),
        "float text": codes.astype(float).astype(str),
        "object": codes.astype(object),
    }
    other = frame.assign(shop=others[stored])
    assert_array_equal(model.decision_function(other), model.decision_function(frame))
    named = AutoSVC(columns={"category": ["shop"], "number": ["size"]}).fit(other, hidden)
    assert_array_equal(named.decision_function(frame), model.decision_function(frame))


# ---- names ----


def test_columns_are_told_by_their_names_and_wrong_ones_are_named():
    frame, y = mixed_table()
    hidden = np.where(np.arange(120) < 40, y, -1)
    for model in (AutoSVC(), make_pipeline(TableEncoder(), SupervisedSVC())):
        model.fit(frame, hidden)
        turned = frame[frame.columns[::-1]]
        assert_array_equal(model.decision_function(turned), model.decision_function(frame))
        with pytest.raises(ValueError, match="yet now missing:\n- note"):
            model.predict(frame.drop(columns="note"))
        with pytest.raises(ValueError, match="unseen at fit time:\n- more"):
            model.predict(frame.assign(more=1))
        with pytest.raises(ValueError, match=r"at fit time:\n- town\n.*missing:\n- city"):
            model.predict(frame.rename(columns={"city": "town"}))


def test_other_columns_are_ignored_where_the_user_names_those_in_use():
    frame, y = mixed_table()
    hidden = np.where(np.arange(120) < 40, y, -1)
    model = AutoSVC(columns={"date": ["sent"], "number": ["amount"]}).fit(frame, hidden)
    few = frame[["sent", "amount"]]
    assert_array_equal(model.decision_function(few), model.decision_function(frame))
    with pytest.raises(ValueError, match="there is no column 'amount'"):
        model.predict(frame[["sent"]])


@pytest.mark.parametrize("named", [False, True])
def test_columns_without_names_are_told_by_their_places(named):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) * [1, 100, 1, 1]
    X[:, 2] = 7  # left out
    y = np.where(np.arange(80) < 30, (X[:, 3] > 0).astype(int), -1)
    frame = pd.DataFrame(X, columns=list("abcd") if named else None)
    auto = AutoSVC(columns="table", members=[("linear", LogisticRegression())])
    for model in (auto, make_pipeline(TableEncoder(), SupervisedSVC())):
        expected = model.fit(X, y).decision_function(X)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X has feature names, but")  # scikit-learn's
            assert_allclose(model.decision_function(frame), expected, rtol=1e-9)
            if not named:
                of_frame = model.fit(frame, y)
                assert_allclose(of_frame.decision_function(X), expected, rtol=1e-9)
                turned = frame[frame.columns[::-1]]
                assert_allclose(of_frame.decision_function(turned), expected, rtol=1e-9)
                with pytest.raises(ValueError, match="there is no column '0'"):
                    of_frame.predict(frame.set_axis([1, 2, 3, 4], axis=1))


# ---- scikit-learn ----


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_the_output_that_scikit_learn_is_told_to_give_breaks_nothing(tmp_path, container):
    frame, y = mixed_table()
    hidden = np.where(np.arange(120) < 40, y, -1)
    texts = frame["note"].tolist()
    expected = AutoSVC().fit(frame, hidden).decision_function(frame)
    of_texts = AutoSVC().fit(texts, hidden).decision_function(texts)
    matrix = TableEncoder().fit_transform(frame)
    matrix = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    frame.assign(y=np.where(hidden >= 0, y.astype(str), "")).to_csv(tmp_path / "t.csv", index=False)
    with sklearn.config_context(transform_output=container):
        model = AutoSVC().fit(frame, hidden)
        assert_array_equal(model.decision_function(frame), expected)
        assert_array_equal(AutoSVC().fit(texts, hidden).decision_function(texts), of_texts)
        loaded = semisvm.load(semisvm.save(model, tmp_path / "m.skops"))
        assert_array_equal(loaded.decision_function(frame), expected)
        encoded = TableEncoder().fit_transform(frame)
        assert type(encoded).__module__.startswith(container)
        assert_array_equal(encoded.to_numpy(), matrix)
        training = read_training([tmp_path / "t.csv"], "y")
        of_file = fit_model(training, Settings(), method="supervised")
        assert np.isfinite(of_file.decision_function(frame)).all()


def test_the_encoder_is_a_transformer_among_transformers():
    frame, _ = mixed_table()
    encoder = TableEncoder().set_output(transform="pandas").fit(frame)
    encoded = encoder.transform(frame)
    assert list(encoded.columns) == encoder.get_feature_names_out().tolist()
    assert {"amount", "amount is empty", "sent (day)", "city_Oslo", "note: rain"} < set(
        encoded.columns
    )
    assert encoder.left_out_ == {
        "row_id": "is an identifier: a different whole number in every row"
    }
    for view in ("quantiles", "letters", "latent"):
        other = TableEncoder(view=view).fit(frame)
        assert len(other.get_feature_names_out()) == other.transform(frame).shape[1]
    expected = TableEncoder().fit(frame).transform(frame)
    for other in (polars.from_pandas(frame), pyarrow.Table.from_pandas(frame)):
        assert_allclose(TableEncoder().fit(other).transform(other), expected)


@parametrize_with_checks([TableEncoder()])
def test_the_encoder_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_an_array_is_encoded_as_a_table_of_its_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    X[::7, 1] = np.nan
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x1 is empty"]
    named = encoder.get_feature_names_out(input_features=["x0", "x1", "x2"])
    assert named.tolist() == encoder.get_feature_names_out().tolist()
    of_frame = TableEncoder().fit_transform(pd.DataFrame(X, columns=["x0", "x1", "x2"]))
    assert_array_equal(encoder.transform(X), of_frame)
    words = np.array([["red", 1.5], ["blue", 2.5], ["red", 4.0]], dtype=object)
    assert TableEncoder().fit_transform(words).shape == (3, 3)
    with pytest.raises(ValueError, match="X has 2 features, but TableEncoder is expecting 3"):
        encoder.transform(X[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array"):
        TableEncoder().fit(X[:, 0])


def test_columns_are_sliced_like_an_array():
    frame, _ = mixed_table()
    rows = read_table(frame).columns
    part = rows[np.array([3, 5])]
    assert isinstance(part, Columns)
    assert part.shape == (2, 6)
    assert part["city"].tolist() == frame["city"].iloc[[3, 5]].tolist()
    with pytest.raises(ValueError, match="no column is left to learn from in 120 samples"):
        read_table(frame[["row_id"]])


def test_arrays_need_no_pandas():
    code = (
        "import sys, importlib.abc\n"
        "class Without(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.partition('.')[0] == 'pandas': raise ImportError(name)\n"
        "sys.meta_path.insert(0, Without())\n"
        "import numpy as np, semisvm\n"
        "X = np.random.default_rng(0).normal(size=(40, 2)); y = np.where(X[:, 0] > 0, 1, 0);"
        "y[20:] = -1; print(semisvm.AutoSVC().fit(X, y).predict(X)[:2].shape)\n"
        "print(semisvm.AutoSVC(columns='table').fit(X, y).predict(X)[:2].shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["(2,)", "(2,)"]


def test_an_array_of_numbers_is_read_as_the_frame_of_its_columns_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)).astype(np.float32)
    X[:, 1] = np.arange(60)  # numbers the rows
    X[:, 2] = 7
    X[:, 3] = np.nan
    X[::5, 4] = np.nan
    X[:, 5] = rng.integers(0, 3, 60)
    y = np.where(np.arange(60) < 30, (X[:, 0] > 0).astype(int), -1)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(6)])
    of_array = AutoSVC(columns="table").fit(X, y)
    of_frame = AutoSVC(columns="table").fit(frame, y)
    assert of_array._input == of_frame._input
    assert of_array._input.names == ("x0", "x4", "x5")
    assert_array_equal(of_array.decision_function(X), of_frame.decision_function(frame))
    huge = X.astype(np.float64)
    huge[3, 0] = 1e200
    for rows, model in ((huge, of_array), (pd.DataFrame(huge, columns=frame.columns), of_frame)):
        with pytest.raises(ValueError, match=r"row 3: column 'x0' holds '1e\+200' where a number"):
            model.predict(rows)


def test_infinities_of_both_signs_are_refused_without_a_warning():
    X = np.random.default_rng(0).normal(size=(12, 2))
    X[:2, 0] = np.inf, -np.inf
    with pytest.raises(ValueError, match="contains infinity"):
        AutoSVC(columns="table").fit(X, np.tile([0, 1, -1], 4))


def test_a_slice_of_an_arrow_column_keeps_its_texts():
    column = pyarrow.array(["other", "red", " NA ", "blue", None], pyarrow.large_string())
    texts = without_missing(column[1:])
    assert texts.isna().tolist() == [False, True, False, True]
    assert texts[~texts.isna()].tolist() == ["red", "blue"]
