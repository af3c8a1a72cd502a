"""Files of rows: an answer counts for the row whose cells are beside it, or not at all."""

import pandas as pd
import pytest

from helpers.sessions import begin, truth_of
from semisvm.errors import DataError
from semisvm.label.rows_file import is_alike


@pytest.fixture
def written(tmp_path):
    """A session, a file of 20 rows with all answers, and the answers by row."""
    session, truth = begin(tmp_path)
    path = tmp_path / "ask.csv"
    rows = session.ask(20)
    assert session.write_rows(path, 20) == 20
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert list(frame.columns) == ["row_id", "your_label", "note", "day", "text", "score", "given"]
    assert (frame["your_label"] == "").all()
    expected = {row: truth_of(session, truth, row) for row in rows}
    frame["your_label"] = [expected[name.split("-", 1)[1]] for name in frame["row_id"]]
    yield session, path, frame, expected
    session.close()


TAKEN = {
    "as it is": lambda f: f,
    "shuffled": lambda f: f.sample(frac=1, random_state=0),
    "columns in another order, or gone": lambda f: f[["your_label", "text", "row_id"]],
    "spaces around cells": lambda f: f.assign(text=" " + f["text"] + " ", your_label=f["your_label"] + " "),
    "capitals": lambda f: f.assign(your_label=f["your_label"].str.upper()),
    "dates written anew": lambda f: f.assign(day=pd.to_datetime(f["day"]).dt.strftime("%d/%m/%Y")),
    "numbers written anew": lambda f: f.assign(score=f["score"].map(lambda s: f"{float(s):.6f}")),
    "a column written anew": lambda f: f.assign(score=[f"{k}*" for k in range(len(f))]),
}  # fmt: skip
REFUSED = {
    "row ids sorted apart": (lambda f: f.assign(row_id=sorted(f["row_id"], reverse=True)), "were sorted apart, or cells were edited. Nothing was read."),
    "a column sorted apart": (lambda f: f.assign(text=sorted(f["text"])), "were sorted apart"),
    "a cell edited": (lambda f: f.assign(text=["edited", *f["text"][1:]]), "row 1: 'text' is 'edited', but 'a note"),
    "another session": (lambda f: f.assign(row_id="0000" + f["row_id"].str[4:]), "row 1: is of another session than notes.label"),
    "a row of nowhere": (lambda f: f.assign(row_id=f["row_id"].str[:5] + "123456789abc"), "is no row of"),
    "no row ids": (lambda f: f.drop(columns="row_id"), "no column 'row_id': is it a file that semisvm wrote with --out?"),
    "no answers": (lambda f: f.drop(columns="your_label"), "no column 'your_label'"),
    "no class": (lambda f: f.assign(your_label="maybe"), "row 1: 'maybe' is none of the classes no, yes (or ? for \"don't know\")."),
    "two answers": (lambda f: pd.concat([f, f.assign(your_label="?")]), "row 21: has two answers"),
}  # fmt: skip


@pytest.mark.parametrize("case", TAKEN)
def test_taken(case, written):
    session, path, frame, expected = written
    TAKEN[case](frame).to_csv(path, index=False)
    n_new, n_blank, remarks = session.read_answers(path)
    assert (n_new, n_blank) == (20, 0)
    assert session.answers == expected
    is_remark = case == "a column written anew"
    assert [("'score' was rewritten by another program" in each) for each in remarks] == [
        True
    ] * is_remark
    assert session.read_answers(path)[:2] == (0, 0)  # a second time


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, written):
    session, path, frame, _ = written
    change, words = REFUSED[case]
    change(frame).to_csv(path, index=False)
    with pytest.raises(DataError) as caught:
        session.read_answers(path)
    assert words in str(caught.value)
    assert not session.answers


def test_blanks_and_don_t_know(written):
    session, path, frame, _ = written
    frame["your_label"] = ["", "?", *frame["your_label"][2:]]
    frame.to_csv(path, index=False)
    assert session.read_answers(path)[:2] == (19, 1)
    assert list(session.answers.values()).count(None) == 1


def test_an_answer_that_contradicts_an_earlier_one(written):
    session, path, frame, _ = written
    row = frame["row_id"][0].split("-", 1)[1]
    session.answer(row, None)
    frame.to_csv(path, index=False)
    with pytest.raises(DataError, match="was answered None before, and"):
        session.read_answers(path)


def test_columns_to_show_and_those_that_lead(tmp_path):
    session, _ = begin(tmp_path, "error")
    with session:
        session.write_rows(tmp_path / "all.csv", 3)
        assert "given" not in pd.read_csv(tmp_path / "all.csv")  # a person is not led
        session.write_rows(tmp_path / "one.csv", 3, ("text",))
        assert list(pd.read_csv(tmp_path / "one.csv")) == ["row_id", "your_label", "text"]
        with pytest.raises(DataError, match="there is no column 'txt'"):
            session.write_rows(tmp_path / "no.csv", 3, ("txt",))
        with pytest.raises(DataError, match="exists"):
            session.write_rows(tmp_path / "all.csv", 3)
        frame = pd.read_csv(tmp_path / "one.csv", dtype=str).assign(your_label="perhaps")
        frame.to_csv(tmp_path / "one.csv", index=False)
        _, _, remarks = session.read_answers(tmp_path / "one.csv")
        assert "'perhaps' is a label that 'given' never has" in remarks[0]


ALIKE = [
    ("a  b ", "a b", True), ("00501", "501", True), ("1.50", "1.5", True), ("a", "b", False),
    ("17/08/2021", "2021-08-17", True), ("17.8.2021 10:00", "2021-08-17 10:00:00", True), ("2021-09-17 10:00", "2021-08-17 10:00", False), ("10.0.0.1", "10.0.1.0", False), ("1/2/2021", "1/3/2021", False),
    ("", "0", False), ("nan", "nan", True), ("1e3", "1000", True), ("12", "1/2", False),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "answer"), ALIKE)
def test_cells_that_are_the_same_to_a_person(a, b, answer):
    assert is_alike(a, b) == is_alike(b, a) == answer
