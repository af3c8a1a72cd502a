"""What is learned of a table file by file is what is learned of it in memory."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from folder_tables import mixed_table, write_parts
from semisvm.errors import DataError
from semisvm.tables import folders
from semisvm.tables.column_facts import facts_of
from semisvm.tables.columns import decide, settle_columns
from semisvm.tables.encode import TableEncoder
from semisvm.tables.fit_folder import read_folder
from semisvm.tables.folders import SurveyPlan, survey_file
from semisvm.tables.methods import say_nothing
from semisvm.tables.partition_encoder import blank_encoder, count_file, make_encoder, spans_around_medians
from semisvm.tables.partition_rows import Here
from semisvm.tables.read_training import read_training

WORDS = ["red", "a b c d", "unknown", "12%", "1,5", "1.234,56", "NT$ 3,913", "007", "inf", "2024-01-05", "31/12/2024"]


def some_column(rng):
    """Cells as people write them: counted, measured, dated, mixed."""
    n = int(rng.integers(1, 60))
    make = [
        lambda: [str(number) for number in range(n)],
        lambda: [f"{x:.2f}" if rng.random() > 0.2 else "unknown" for x in rng.normal(size=n)],
        lambda: rng.choice(WORDS, n).tolist(),
        lambda: [f"{rng.integers(1, 28):02d}/{rng.integers(1, 13):02d}/2024" for _ in range(n)],
        lambda: [f"w{number}" for number in range(n)],
        lambda: [" ".join(rng.choice(WORDS, 3)) for _ in range(n)],
        lambda: [f"{a},{b}" for a, b in rng.integers(0, 99, (n, 2))],
        lambda: [f"NT$ {x:,}" for x in rng.integers(1000, 99999, n)],
    ]
    if (kind := rng.integers(len(make) + 2)) >= len(make):
        return pd.Series(rng.permutation(n).astype(float) if kind == len(make) else np.arange(n) + 1.0)
    cells = make[kind]()
    return pd.Series([None if rng.random() < 0.1 else cell for cell in cells], dtype="str")


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(3))
def test_a_column_in_parts_is_what_the_column_is(seed):
    rng = np.random.default_rng(seed)
    for _ in range(150):
        cells, name = some_column(rng), str(rng.choice(["x", "user_id"]))
        wanted = rng.choice(np.array([None, None, "number", "category", "date", "text"], dtype=object))
        decimal = rng.choice(np.array([None, ".", ","], dtype=object))
        cuts = np.sort(rng.integers(0, len(cells) + 1, 3))
        facts = facts_of(cells[: cuts[0]], decimal)
        for first, last in zip(cuts, [*cuts[1:], len(cells)], strict=True):
            facts = facts.merged(facts_of(cells[first:last], decimal))
        whole = outcome(decide, name, facts_of(cells, decimal), wanted, decimal)
        assert outcome(decide, name, facts, wanted, decimal) == whole, cells.tolist()


def test_a_value_that_repeats_far_apart_is_found():
    once = pd.Series([f"w{number}" for number in range(200_000)], dtype="str")
    parts = [facts_of(once[first : first + 50_000]) for first in range(0, 200_000, 50_000)]
    facts = parts[0].merged(parts[1]).merged(parts[2].merged(parts[3]))
    assert len(facts.repeats.hashes) <= 1 << 16
    assert decide("w", facts).why == "is different in every row"
    assert facts.merged(facts_of(once[:50_000])).repeats.found


def learn(files, names, most=2_000):
    plan = SurveyPlan("kind", None, names, files[0], None, most, most)
    survey = Here().gather(survey_file, files, plan, tell=say_nothing, what="")
    columns, _ = settle_columns(survey.facts)
    typed, groups = blank_encoder(columns).typed(survey.unlabeled.frame)
    X = typed[groups["number"]].to_numpy()
    spans = spans_around_medians(X, np.ones(len(X)))
    counts = Here().gather(count_file, files, columns, spans, survey.blank, tell=say_nothing, what="")
    return survey, columns, make_encoder(columns, counts, counts.medians(spans))


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("drop", [[], ["subject"], ["subject", "shop", "country"]])
def test_the_encoder_of_a_folder_is_that_of_the_table(tmp_path, form, drop):
    frame = mixed_table()[0].drop(columns=drop)
    files = sorted(write_parts(frame, tmp_path / "t", 4, form).iterdir())
    whole = read_training(files, "kind")
    survey, columns, found = learn(files, tuple(frame.columns.drop("kind")))
    assert columns == whole.columns
    assert survey.n_rows == 1_200
    assert survey.labels == {name: int((frame["kind"] == name).sum()) for name in ("ham", "spam")}
    peer = TableEncoder(whole.columns).fit(whole.rows)
    ours, theirs = found.transform(whole.rows), peer.transform(whole.rows)
    assert sparse.issparse(ours) == sparse.issparse(theirs)
    assert abs(ours - theirs).max() < 1e-12
    assert found.transformer_.output_indices_ == peer.transformer_.output_indices_
    names = found.transformer_.named_transformers_
    assert (
        names["number"][0].statistics_.tolist()
        == peer.transformer_.named_transformers_["number"][0].statistics_.tolist()
    )


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_rows_without_any_value_are_left_out_of_a_folder_as_of_a_file(tmp_path, form):
    frame = mixed_table(400)[0].drop(columns="constant")
    nothing = pd.DataFrame(None, index=range(3), columns=frame.columns).astype(frame.dtypes)
    only_dropped = nothing[:1].assign(customer_id=7.0)
    frame = pd.concat([frame[:50], nothing, frame[50:270], only_dropped, frame[270:]], ignore_index=True)
    folder = write_parts(frame, tmp_path / "t", 3, form)
    write_parts(nothing, tmp_path / "empty", 1, form).joinpath(f"part-000.{form}").rename(folder / f"b.{form}")
    whole = read_training([folder / f"part-{number:03d}.{form}" for number in range(3)], "kind", drop=["customer_id"])
    found = read_folder(folder, "kind", drop=["customer_id"])
    assert (found.n_rows, found.notes[0]) == (400, "Left out: 7 rows without any value.")
    assert (len(whole.codes), whole.notes[0]) == (400, "Left out: 4 rows without any value.")
    expected = TableEncoder(whole.columns).fit(whole.rows).transform(whole.rows)
    rows = found.pool.rows()
    assert rows.codes.tolist() == whole.codes.tolist()
    assert (
        abs(expected - np.vstack([X for file in found.pool.files for X, _ in found.pool.coder.parts(file)])).max()
        < 1e-5
    )
    there = [found.pool.coder.codes(*file) for file in zip(found.pool.files, found.pool.heights, strict=True)]
    assert np.concatenate(there).tolist() == whole.codes.tolist()


def test_a_folder_of_rows_without_any_value_is_refused(tmp_path):
    folder = write_parts(pd.DataFrame({"a": [None] * 5, "kind": None}), tmp_path / "t", 2, "csv")
    with pytest.raises(DataError, match="none of its rows has a label or a feature"):
        read_folder(folder, "kind")


def test_medians_of_many_rows_are_close(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.lognormal(size=60_000), "b": rng.integers(0, 5, 60_000) * 1.0, "kind": None})
    files = sorted(write_parts(frame, tmp_path / "t", 3).iterdir())
    _, _, found = learn(files, ("a", "b"))
    medians = found.transformer_.named_transformers_["number"][0].statistics_
    assert medians[0] == pytest.approx(frame["a"].median(), rel=1e-4)
    assert medians[1] == frame["b"].median()


@pytest.mark.parametrize("n_values", [2, 3, 40])
def test_a_column_that_the_sample_hardly_knows_gets_its_median_from_all_rows(tmp_path, monkeypatch, n_values):
    monkeypatch.setattr("semisvm.tables.fit_folder.MOST_LABELED_KEPT", 10)
    monkeypatch.setattr("semisvm.tables.fit_folder.MOST_UNLABELED_KEPT", 10)
    rng = np.random.default_rng(n_values)
    frame = mixed_table(1_200)[0][["age", "kind"]].assign(noise=rng.normal(size=1_200))
    filled = rng.choice(len(frame), n_values, replace=False)
    frame.loc[filled, "fee"] = rng.normal(500.0, 50.0, n_values).round(2)
    frame.loc[filled, "paid"] = pd.to_datetime("2024-03-01") + pd.to_timedelta(rng.integers(0, 60, n_values), unit="D")
    folder = write_parts(frame, tmp_path / "t", 3)
    found = read_folder(folder, "kind")
    assert found.rows["fee"].notna().sum() <= 3
    whole = read_training(sorted(folder.iterdir()), "kind")
    peer = TableEncoder(whole.columns).fit(whole.rows)
    assert found.columns == whole.columns
    difference = found.encoder.transform(whole.rows) - peer.transform(whole.rows)
    assert abs(difference).max() < (1e-9 if n_values <= 3 else 1e-2)


def test_a_sample_is_random_and_depends_on_the_rows_alone(tmp_path):
    frame = pd.DataFrame({"a": np.arange(30_000) * 1.0, "kind": None})
    few, many = (write_parts(frame, tmp_path / str(n), n) for n in (1, 1))
    plan = SurveyPlan("kind", None, ("a",), few / "part-000.parquet", None, 10, 500)
    drawn = survey_file(few / "part-000.parquet", plan).unlabeled
    assert (drawn.n, len(drawn.frame)) == (30_000, 500)
    assert drawn.frame["a"].tolist() == survey_file(many / "part-000.parquet", plan).unlabeled.frame["a"].tolist()
    # The mean of 500 draws without replacement; four standard errors.
    assert abs(drawn.frame["a"].mean() - 15_000) < 4 * 30_000 / np.sqrt(12 * 500)


def test_rare_words_are_forgotten_and_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(folders, "MOST_COUNTED", 10)
    counts = folders.most_frequent(folders.Counter({f"w{k}": k for k in range(30)}))
    assert sorted(counts.values()) == [25, 26, 27, 28, 29]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda part: part.drop(columns="size"), "no column 'size', which part-000.parquet has"),
        (lambda part: part.assign(age="old"), "column 'age' holds text here and numbers in part-000.parquet"),
        (lambda part: part.assign(size=1e200), "beyond 1e+150"),
    ],
)
def test_files_that_do_not_fit_together_are_named(tmp_path, change, words):
    frame = mixed_table(400)[0]
    files = sorted(write_parts(frame, tmp_path / "t").iterdir())
    change(frame[200:300]).to_parquet(files[2])
    with pytest.raises(DataError, match="part-002") as error:
        learn(files, tuple(frame.columns.drop("kind")))
    assert words in str(error.value)


def test_a_decimal_mark_that_is_none_is_refused_as_for_files(tmp_path):
    folder = write_parts(mixed_table(100)[0], tmp_path / "t")
    for read, data in ((read_folder, folder), (read_training, sorted(folder.iterdir()))):
        with pytest.raises(DataError, match="`decimal` is the mark"):
            read(data, "kind", decimal="comma")
