"""TableModel: what a fit refuses, what its file holds, and what it says of other files."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score, roc_auc_score

import semisvm
from helpers.command import loans
from semisvm.errors import DataError
from semisvm.tables import fitting
from semisvm.tables.frame import read, row_ids
from semisvm.tables.model import TableModel
from semisvm.tables.summary import Interval

X = np.random.default_rng(0).normal(size=(40, 2)).round(3)
TABLE = pd.DataFrame(
    {
        "a": X[:, 0].astype(str),
        "b": X[:, 1].astype(str),
        "y": np.where(X[:, 0] > 0, "yes", "no"),
        "Yes": np.where(X[:, 0] > 0, "yes", "Yes"),
        "one": "yes",
        "few": ["x", *["z"] * 39],
        "none": "",
        "three": (["p", "q", "r"] * 14)[:40],
    }
)
MORE = pd.concat([TABLE] * 2, ignore_index=True).assign(many=[f"v{k}" for k in range(80)])
REFUSED = [
    ("Y", {}, "there is no column 'Y'. Did you mean 'y'?"),
    ("none", {}, "column 'none' holds no label: labels of two classes are needed."),
    ("one", {}, "column 'one' holds only 'yes'"),
    ("Yes", {}, "are two classes. Write them in one way."),
    ("few", {}, "'x' has 2 of the labels in 'few': label at least three rows of each class."),
    ("many", {}, "holds 80 different labels, for example"),
    ("y", {"positive": "maybe"}, "'maybe' (positive) is none of the classes no, yes."),
    ("y", {"drop": ["q"]}, "there is no column 'q'."),
    ("y", {"types": {"q": "number"}}, "there is no column 'q'."),
    ("y", {"types": {"Yes": "number"}}, "column 'Yes' can't be read as numbers"),
    ("y", {"costs": {"yes": 2.0}}, "costs must name each class once: no, yes."),
    ("y", {"method": "svm"}, "there is no method 'svm': autosvc, "),
    ("three", {"min_precision": 0.9}, "'three' has 3 classes; a positive class, a precision and a recall are for two."),
    ("y", {"min_precision": 2.0}, "min_precision"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "how", "words"), REFUSED)
def test_refused(target, how, words):
    with pytest.raises((DataError, ValueError)) as caught:
        TableModel.fit(MORE, target, source="t.csv", **{"method": "supervised", **how})
    assert words in str(caught.value)


def test_an_ambiguous_mark_names_the_options():
    table = TABLE[["y"]].assign(sum=[f"{k + 10},{k + 100}" for k in range(40)])
    with pytest.raises(DataError) as caught:
        TableModel.fit(table, "y", source="t.csv")
    assert "--decimal .     the comma separates thousands\n" in str(caught.value)
    for decimal, factor in ((".", 1000), (",", 1)):
        columns = fitting.decide_columns(table[["sum"]], {}, decimal, "t.csv")
        values, _ = fitting.read_values(columns, table, "t.csv")
        assert values["sum"][0] == pytest.approx(10.1 * factor)


@pytest.fixture(scope="module")
def model(fitted):
    return TableModel.load(fitted / "loans.skops")


def test_the_record_of_a_fit(model):
    s = model.summary
    assert s.classes == ["no", "yes"]
    assert s.positive == "yes"
    assert sum(s.labels.values()) == 60
    assert s.n_unlabeled == 180
    assert s.columns == {
        "amount": "number",
        "zip": "category",
        "opened": "date",
        "late": "number",
        "kind": "category",
    }
    assert s.left_out == {"id": "is an identifier: a different whole number in every row"}
    assert "is read as" in s.remarks["amount"]
    scores, codes = model.left_out_scores, model.left_out_codes
    assert s.figures["precision"].value == precision_score(codes, scores > 0)
    assert s.figures["recall"].value == recall_score(codes, scores > 0)
    assert s.gain.low < s.gain.value < s.gain.high
    assert type(s).from_dict(json.loads(json.dumps(s.as_dict()))) == s


def test_rows_of_the_fit_leave_no_trace_but_their_digest(fitted, model):
    assert not hasattr(model.estimator, "transduction_")
    assert not hasattr(model.estimator, "out_of_fold_scores_")
    table = read(fitted / "loans.csv")
    labeled = table[table["default"] != ""]
    assert row_ids(labeled[model.columns.names]) == model.trained_on


def test_csv_and_parquet_are_one_table(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, _ = loans(120, 40)
    amounts = pd.Series(np.round(np.exp(np.random.default_rng(1).normal(7, 1, 120)), 2))
    table = table.assign(amount=[f"{amount:.2f}" for amount in amounts])
    table.to_csv(tmp_path / "t.csv", index=False)
    exact = pa.array(table["amount"]).cast(pa.decimal128(12, 2))
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    place = arrow.schema.get_field_index("amount")
    pq.write_table(arrow.set_column(place, "amount", exact), tmp_path / "t.parquet")
    scores = []
    for name in ("t.csv", "t.parquet"):
        rows = read(tmp_path / name)
        scores.append(TableModel.fit(rows, "default", method="supervised").scores(rows))
    np.testing.assert_array_equal(scores[0], scores[1])


# ---- the file ----


def test_a_file_gives_the_same_model(fitted, model, tmp_path):
    rows = read(fitted / "loans.csv")
    path = semisvm.save(model, tmp_path / "again.skops")
    again = semisvm.load(path)
    np.testing.assert_array_equal(again.scores(rows), model.scores(rows))
    assert again.summary == model.summary
    with pytest.raises(DataError, match="exists"):
        semisvm.save(model, path)
    assert semisvm.save(model, path, force=True) == path


def test_a_file_that_another_program_wrote_since_stays(model, tmp_path):
    path = semisvm.save(model, tmp_path / "m.skops")
    path.write_text("theirs")
    with pytest.raises(DataError, match="exists"):
        model.save(path)
    assert path.read_text() == "theirs"


def with_bad_places(model, path):
    """Write a model whose sparse matrix has places out of range."""
    bad = sparse.csr_matrix(np.eye(3))
    bad.indices = np.array([0, 1, 10**6], dtype=bad.indices.dtype)
    fitted = LogisticRegression().fit(X, X[:, 0] > 0)
    fitted.hidden_ = [{"matrix": bad}]
    semisvm.save(fitted, path)


def of_the_future(model, path):
    """Write a model of a later format."""
    semisvm.save(model, path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = parts["schema.json"].decode()
    parts["schema.json"] = schema.replace(
        '\\\\\\"format\\\\\\": 1', '\\\\\\"format\\\\\\": 99'
    ).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def of_another_type(model, path):
    from fractions import Fraction

    import skops.io

    path.write_bytes(skops.io.dumps({"semisvm": "{}", "estimator": Fraction(1, 2)}))


def cut(model, path):
    semisvm.save(model, path)
    path.write_bytes(path.read_bytes()[:-200])


def another_archive(model, path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "no model")


DAMAGED = [
    (with_bad_places, "is damaged (ValueError: "),
    (of_the_future, "a newer one"),
    (of_another_type, "which no model is made of"),
    (cut, "is damaged (BadZipFile"),
    (another_archive, "is no model"),
    (lambda model, path: path.write_text("a,b\n"), "is no model (semisvm fit writes one)."),
    (lambda model, path: None, "can't be read (No such file"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGED)
def test_a_file_that_is_refused(damage, words, model, tmp_path):
    path = tmp_path / "m.skops"
    damage(model, path)
    with pytest.raises(DataError) as caught:
        semisvm.load(path)
    assert words in str(caught.value)


def test_an_estimator_is_no_table_model(tmp_path):
    path = semisvm.save(LogisticRegression().fit(X, X[:, 0] > 0), tmp_path / "m.skops")
    assert semisvm.load(path).score(X, X[:, 0] > 0) > 0.9
    with pytest.raises(DataError, match="holds a LogisticRegression without the columns"):
        TableModel.load(path)
    with pytest.raises(DataError, match=r"which can't be in a model file|can't be saved"):
        semisvm.save({"estimator": lambda x: x}, tmp_path / "f.skops")


# ---- use ----


def test_predictions_keep_all_cells(place, model):
    result = model.predict_file("loans.csv", "out.csv")
    before, after = read("loans.csv"), read("out.csv")
    pd.testing.assert_frame_equal(after[before.columns], before)
    scores = model.scores(before)
    np.testing.assert_allclose(after["score"].astype(float), scores, atol=1e-6)
    assert (after["predicted"] == np.where(scores > 0, "yes", "no")).all()
    assert result["rows"] == sum(result["predicted"].values()) == len(before)
    model.predict_file("loans.csv", "some.csv", ["id"])
    assert list(read("some.csv").columns) == ["id", "predicted", "score"]


def test_chunks_of_a_file_are_predicted_alike(place, model):
    table = pd.concat([read("loans.csv")] * 25, ignore_index=True)
    table.to_csv("long.csv", index=False)
    seen = []
    assert model.predict_file("long.csv", "out.csv", ["id"], progress=seen.append)["rows"] == 6_000
    assert seen == [5_000, 1_000]
    np.testing.assert_allclose(
        read("out.csv")["score"].astype(float), model.scores(table), atol=2e-6
    )


def test_files_that_do_not_fit(place, model):
    table = read("loans.csv")
    cases = [
        (table.drop(columns="zip"), (), "there is no column 'zip'"),
        (table.assign(predicted=""), (), "has a column 'predicted' already. Name the columns to keep"),
        (table, ("Id",), "there is no column 'Id'. Did you mean 'id'?"),
        (table.assign(late="many"), (), "row 1: 'many' in 'late' is no number"),
    ]  # fmt: skip
    for frame, keep, words in cases:
        frame.to_csv("new.csv", index=False)
        with pytest.raises(DataError) as caught:
            model.predict_file("new.csv", "out.csv", keep)
        assert words in str(caught.value)
        assert str(caught.value).startswith("new.csv: ")
        assert not (place / "out.csv").exists()


def test_codes_that_lost_their_zeros_are_noticed(place, model):
    table = read("loans.csv")
    table.assign(zip=table["zip"].str.lstrip("0")).to_csv("new.csv", index=False)
    result = model.predict_file("new.csv", "out.csv")
    assert "codes of 'zip' without their zeros" in result["remarks"][0]
    np.testing.assert_array_equal(
        read("out.csv")["score"].astype(float), np.round(model.scores(table), 6)
    )


def test_an_empty_table_is_predicted(place, model):
    (place / "none.csv").write_text((place / "loans.csv").read_text().splitlines()[0] + "\n")
    assert model.predict_file("none.csv", "out.csv")["rows"] == 0
    assert list(read("out.csv").columns)[-2:] == ["predicted", "score"]


def test_evaluation_leaves_rows_of_the_fit_out(place, model):
    found = model.evaluate(read("truth.csv"))
    assert found["used in the fit"] == 60
    assert found["rows"] == 180
    table = read("truth.csv")
    new = table[(read("loans.csv")["default"] == "").to_numpy()]
    is_yes = (new["default"] == "yes").to_numpy()
    accepted = model.scores(new) > 0
    assert found["figures"]["right"].value == (is_yes == accepted).mean()
    assert found["figures"]["precision"].value == precision_score(is_yes, accepted)
    with pytest.raises(DataError, match="no row has a label that the fit did not use"):
        model.evaluate(read("loans.csv"))
    with pytest.raises(DataError, match="'perhaps' in 'default': the classes are no, yes"):
        model.evaluate(table.assign(default="perhaps"))


def test_a_target_moves_only_the_threshold():
    table, _ = loans(160, 80)
    free = TableModel.fit(table, "default", method="supervised")
    for how in ({"min_precision": 0.8}, {"min_recall": 0.9}):
        aimed = TableModel.fit(table, "default", method="supervised", **how)
        shift = free.scores(table) - aimed.scores(table)
        np.testing.assert_allclose(shift, aimed.threshold)
        ((name, level),) = how.items()
        reached = aimed.summary.figures[name.removeprefix("min_")].value
        assert (reached >= level) == aimed.summary.is_reached


def test_more_than_two_classes(tmp_path):
    table, _ = loans(150, 90)
    table["default"] = np.where(table["default"] == "yes", "bad", table["default"])
    table.loc[::5, "default"] = "open"
    model = TableModel.fit(table, "default", method="supervised")
    assert model.summary.classes == ["bad", "no", "open"]
    assert model.scores(table).shape == (150, 3)
    assert set(model.predict(table)["predicted"]) <= {"bad", "no", "open"}
    assert set(model.summary.figures) == {"right"}
    assert model.summary.gain is None


# ---- figures ----


def test_shares_have_exact_intervals():
    each = Interval.of_share(9, 12)
    assert each.low == pytest.approx(beta.ppf(0.025, 9, 4))
    assert each.high == pytest.approx(beta.ppf(0.975, 10, 3))
    assert Interval.of_share(0, 0) is None


def test_the_gain_is_a_difference_of_areas():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 30)
    values = pd.DataFrame({"a": rng.normal(size=60) + codes})
    scores = codes + rng.normal(size=60)
    gain = fitting.gain_of(values, {"number": ["a"]}, codes, scores, seed=0)
    same = fitting.gain_of(values, {"number": ["a"]}, codes, 3 * scores + 1, seed=0)
    assert gain == same  # ranks alone count
    best = fitting.gain_of(values, {"number": ["a"]}, codes, codes.astype(float), seed=0)
    assert best.value - gain.value == pytest.approx(1 - roc_auc_score(codes, scores))
    assert fitting.gain_of(values[:34], {"number": ["a"]}, codes[:34], scores[:34], 0) is None
