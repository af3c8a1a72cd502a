"""Predicting files: streamed as in one piece, fast as exact, whole or not there."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from semisvm.errors import DataError
from semisvm.kernels import scores_of_new_rows
from semisvm.kernels.formula import Formula
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.predict import predict_file
from semisvm.tables.read_training import read_training


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_outputs"), [(5000, 7, 1), (4001, 1, 3), (3000, 64, 2)]
)
def test_scores_in_one_compiled_pass_are_those_of_the_kernel_matrix(n_rows, n_features, n_outputs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    Z = 3 * rng.normal(size=(400, n_features))
    coefficients = rng.normal(size=(n_outputs, 400))
    scores = scores_of_new_rows(X, Z, coefficients, Formula("rbf", gamma=0.3))
    np.testing.assert_allclose(
        scores, rbf_kernel(X, Z, gamma=0.3) @ coefficients.T, rtol=0, atol=1e-11
    )


def test_rows_far_apart_have_a_kernel_value_of_zero_and_not_of_anything_else():
    X = np.arange(2000.0)[:, None] * 1e6
    scores = scores_of_new_rows(X, X[:1000], np.ones((1, 1000)), Formula("rbf", gamma=1.0))
    assert (scores[:1000] == 1).all()
    assert (scores[1000:] < 1e-300).all()


def write_table(path, n_rows, seed=0, target=True):
    """Numbers, a category and a date, some cells empty."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame(
        {
            "a": (rng.normal(size=n_rows) + y).round(3),
            "b": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows).round(3)),
            "c": rng.choice(["red", "blue, green", 'the "odd"\none'], n_rows),
            "d": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n_rows), "D"),
        }
    )
    if target:
        frame["y"] = np.where(rng.random(n_rows) < 0.5, np.array(["no", "yes"])[y], "")
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return frame


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "t.csv"
    write_table(path, 200)
    return fit_model(
        read_training([path], "y", positive="yes"), Settings(min_recall=0.8), method="supervised"
    )


@pytest.mark.parametrize("name", ["r.csv", "r.tsv", "r.csv.gz", "r.csv.xz", "r.parquet"])
def test_rows_in_parts_are_predicted_as_rows_in_one_piece(tmp_path, monkeypatch, model, name):
    monkeypatch.setattr("semisvm.tables.delimited.BYTES_AT_A_TIME", 2000)
    monkeypatch.setattr("semisvm.tables.delimited.ROWS_AT_A_TIME", 37)
    monkeypatch.setattr("semisvm.tables.formats.ROWS_AT_A_TIME", 37)
    path = tmp_path / name
    told = []
    frame = write_table(path, 500, seed=1, target=False)
    found = predict_file(
        model, path, tmp_path / "o.parquet", tell=lambda what, done, *more: told.append(done)
    )
    written = pd.read_parquet(tmp_path / "o.parquet")
    in_one_piece = frame.assign(d=frame["d"].astype(str)) if name != "r.parquet" else frame
    np.testing.assert_allclose(
        written["score"], model.decision_function(in_one_piece), rtol=1e-6, atol=1e-7
    )
    assert list(written["label"]) == list(model.predict(in_one_piece))
    assert found.rows == told[-1] == 500
    assert len(told) > 8
    assert found.n_above == int(written["above"].sum()) == found.by_class["yes"]


def test_a_file_that_arrow_is_too_strict_for_is_read_all_the_same(tmp_path, model):
    plain = tmp_path / "plain.csv"
    odd = tmp_path / "odd.csv"
    plain.write_text('a,b,c,d\n1,2,"blue, green",2024-01-05\n3,,red,2024-02-05\n')
    odd.write_text(
        'a, b, c, d\r\n1, 2, "blue, green", 2024-01-05\r\n\r\n  \r\n3, NA, red, 2024-02-05\r\n'
    )
    for path in (plain, odd):
        predict_file(model, path, path.with_suffix(".parquet"))
    first, second = (pd.read_parquet(path.with_suffix(".parquet")) for path in (plain, odd))
    pd.testing.assert_frame_equal(first, second)


def test_a_fault_far_down_the_file_names_its_line_and_leaves_no_output(
    tmp_path, monkeypatch, model
):
    monkeypatch.setattr("semisvm.tables.delimited.BYTES_AT_A_TIME", 2000)
    path = tmp_path / "r.csv"
    write_table(path, 400, target=False)
    n_lines = path.read_text().count("\n")
    with path.open("a") as stream:
        stream.write("1,two,red,2024-01-05\n")
    with pytest.raises(
        DataError, match=f"line {n_lines + 1}: column 'b' holds 'two' where a finite number"
    ):
        predict_file(model, path, tmp_path / "o.csv")
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.csv"]


def test_a_frame_in_python_may_have_any_dtypes(tmp_path):
    path = tmp_path / "t.csv"
    lines = [
        f"{i % 7},{i % 2 == 0},2024-01-{i % 28 + 1:02d},{'no' if i % 2 else 'yes'}"
        for i in range(60)
    ]
    path.write_text("\n".join(["n,b,d,y", *lines, ""]))
    model = fit_model(read_training([path], "y"), Settings(), method="supervised")
    texts = pd.read_csv(path, dtype=str)
    expected = model.decision_function(texts)
    typed = pd.read_csv(path, parse_dates=["d"])
    assert [kind.kind for kind in typed.dtypes[:3]] == ["i", "b", "M"]
    extension = typed.astype({"n": "Int64", "b": "category"}).assign(
        d=typed["d"].dt.tz_localize("UTC")
    )
    for frame in (typed, extension, texts.astype(object)):
        np.testing.assert_allclose(model.decision_function(frame), expected, atol=1e-12)
    with pytest.raises(ValueError, match="there is no column 'd'"):
        model.predict(typed.drop(columns="d"))
