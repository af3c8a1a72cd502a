"""Sessions of labeling: every answer is kept, on the right row, and replayed to the same verdict."""

import json
import os
import random
import signal
import time

import numpy as np
import pytest

from helpers.sessions import answer, begin, truth_of, write_notes
from semisvm.errors import DataError
from semisvm.label import LabelingJob, LabelSession, Pool
from semisvm.label.finish import finish
from semisvm.tables.frame import read

PROMISES = ("precision", "recall", "error", "none")


@pytest.mark.parametrize("promise", PROMISES)
def test_a_session_is_replayed_to_the_same_verdict_and_rows(promise, tmp_path):
    session, truth = begin(tmp_path, promise)
    with session:
        for _ in range(2):
            answer(session, truth, 15)
        session.undo()
        verdict, rows, answers = session.verdict(), session.ask(5), session.answers
    with LabelSession.open(session.state) as again:
        assert again.verdict() == verdict
        assert again.ask(5) == rows
        assert list(again.answers.items()) == list(answers.items())


@pytest.mark.parametrize("promise", PROMISES[:3])
def test_a_promise_holds_of_the_rows_that_nobody_looked_at(promise, tmp_path):
    session, truth = begin(tmp_path, promise, n=800, budget=150)
    with session:
        while answer(session, truth):
            pass
        verdict = session.verdict()
        counts = finish(session, tmp_path / "done.csv")
    assert verdict.n_labels <= 150
    assert verdict.stop
    done = read(tmp_path / "done.csv")
    source, label = done["labeled_by"], done["label"]
    assert counts == {who: int((source == who).sum()) for who in counts}
    assert counts["machine"] == verdict.n_free > 0
    kept = (source == "machine").to_numpy()
    if promise == "precision":
        assert (truth[kept] == "yes").mean() >= 0.7
        assert (label[kept] == "yes").all()
    elif promise == "recall":
        assert (truth[kept] == "yes").sum() <= 0.2 * (truth == "yes").sum()
        assert (label[kept] == "no").all()
    else:
        assert (truth[kept] != label[kept]).sum() <= 0.1 * 800
        assert (label[kept] == done["given"][kept]).all()
    by_person = (source == "person").to_numpy()
    assert (label[by_person] == truth[by_person]).all()
    assert (label[source == "nobody"] == "").all()
    before = read(tmp_path / "notes.csv")
    assert done[before.columns].equals(before)


def test_sorting_the_file_changes_nothing(tmp_path):
    session, truth = begin(tmp_path)
    path = tmp_path / "notes.csv"
    with session:
        answer(session, truth)
        lines = path.read_text().splitlines()
        path.write_text("\n".join([lines[0], *sorted(lines[1:], reverse=True)]) + "\n")
        answer(session, truth)  # in mid-session
    with LabelSession.open(session.state) as again:
        answer(again, truth)
        assert 40 < len(again.answers) <= 60
        for row, label in again.answers.items():
            assert label == truth_of(again, truth, row)
        finish(again, tmp_path / "done.csv")
    done = read(tmp_path / "done.csv")
    by_person = (done["labeled_by"] == "person").to_numpy()
    assert (done["label"] == truth[done["note"].astype(int)])[by_person].all()


CHANGES = [
    (lambda lines: [lines[0], "999,2024-01-01,new,0.5,no", *lines[1:]], "(400 rows to label then, 401 now)"),
    (lambda lines: lines[:-1], "(400 rows to label then, 399 now)"),
    (lambda lines: [*lines[:-1], lines[-1].replace("note", "Note")], "(400 rows to label as before, but other cells)"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_a_changed_file_ends_the_session(change, words, tmp_path):
    session, truth = begin(tmp_path)
    path = tmp_path / "notes.csv"
    with session:
        answer(session, truth)
        before = session.state.read_bytes()
        path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
        with pytest.raises(DataError) as caught:
            answer(session, truth)
        assert f"has changed since the session began {words}" in str(caught.value)
        assert session.state.read_bytes() == before
    with pytest.raises(DataError, match="bring that file back"):
        LabelSession.open(session.state)
    path.unlink()
    with pytest.raises(DataError, match=r"there is no such file. Name the data"):
        LabelSession.open(session.state)


def test_labels_that_are_filled_in_change_no_row(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{k},{'yes' if k % 3 == 0 else ''}" for k in range(30)]
    path.write_text("\n".join(["a,y", *lines]) + "\n")
    digests = {Pool(path, "y").digest}
    path.write_text("\n".join(["y,a", *(",".join(line.split(",")[::-1]) for line in lines)]) + "\n")
    digests.add(Pool(path, "y").digest)
    assert len(digests) == 1
    assert len(Pool(path, "y").ids) == 20
    assert len(Pool(path, "y", unlabeled="yes").ids) == 30
    path.write_text("a,y\n1,yes\n")
    with pytest.raises(DataError, match="every row has a label in 'y': nothing to ask"):
        Pool(path, "y")


def test_don_t_know_later_and_undo(tmp_path):
    session, _ = begin(tmp_path)
    with session:
        first = session.ask()[0]
        session.postpone(first)
        second = session.ask()[0]
        assert second != first
        session.answer(second, None)
        assert session.answers == {second: None}
        assert session.verdict().n_left == 400  # somebody still has to label it
        assert session.undo() == second
        assert session.undo() is None
        assert session.ask(2)[0] == second
        for bad, label in (("zzz", "yes"), (first, "maybe")):
            with pytest.raises(DataError, match=r"is no row of|none of the classes no, yes"):
                session.answer(bad, label)
        assert session.answers == {}


def test_people_know_classes_that_a_machine_never_says(tmp_path):
    session, _ = begin(tmp_path, "error")
    with session:
        row = session.ask()[0]
        session.answer(row, "perhaps")
        assert session.classes == ["no", "yes", "perhaps"]
        finish(session, tmp_path / "done.csv")
    assert (read(tmp_path / "done.csv")["label"] == "perhaps").sum() == 1


# ---- what may happen to the state ----


def test_a_second_program_is_told_so(tmp_path):
    session, _ = begin(tmp_path)
    with session, pytest.raises(DataError, match=r"another program is labeling with it. Stop that"):
        LabelSession.open(session.state)
    LabelSession.open(session.state).close()
    with pytest.raises(DataError, match="exists"):
        begin(tmp_path)


def test_a_state_that_is_replaced_or_changed_is_left_alone(tmp_path):
    for change in ("replace", "append", "remove"):
        session, truth = begin(tmp_path, name=change)
        with session:
            answer(session, truth, 2)
            theirs = session.state.read_bytes()
            if change == "replace":
                other = tmp_path / "other"
                other.write_bytes(theirs)
                os.replace(other, session.state)
            elif change == "append":
                theirs += b'{"id": "x", "undo": true}\n'
                session.state.write_bytes(theirs)
            else:
                session.state.unlink()
            with pytest.raises(DataError, match="was replaced or changed by another program"):
                answer(session, truth, 2)
            assert not session.state.exists() or session.state.read_bytes() == theirs


BROKEN = {
    "deep JSON": b"[" * 100_000 + b"\n",
    "no JSON": b"hello\n",
    "nothing": b"",
    "a list": b"[]\n",
    "another program's": b'{"semisvm": "campaign", "format": 1}\n',
    "an answer that is none": b'{"semisvm": "label", "format": 1}\n{"id": 5}\n',
    "no job": b'{"semisvm": "label", "format": 1}\n',
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_state_is_refused_in_words(case, tmp_path):
    path = tmp_path / "x.label"
    path.write_bytes(BROKEN[case])
    with pytest.raises(DataError, match="is no state of semisvm label, or is damaged"):
        LabelSession.open(path)
    session, _ = begin(tmp_path)
    session.close()
    with open(session.state, "ab") as file:
        file.write(b'{"id": "ffff", "label": "yes"}\n')
    with pytest.raises(DataError, match="is no state of semisvm label, or is damaged"):
        LabelSession.open(session.state)
    path.write_bytes(b'{"semisvm": "label", "format": 99}\n')
    with pytest.raises(DataError, match="was written by a newer semisvm"):
        LabelSession.open(path)


def test_a_line_that_a_crash_cut_is_dropped(tmp_path):
    session, truth = begin(tmp_path, "none")
    with session:
        answer(session, truth, 10)
    content = session.state.read_bytes()
    header = content.index(b"\n") + 1
    for size in range(header, len(content), 37):
        session.state.write_bytes(content[:size])
        with LabelSession.open(session.state) as again:
            n_whole = content[header:size].count(b"\n")
            assert len(again.answers) == n_whole
            answer(again, truth, 1)
        lines = session.state.read_bytes().splitlines()[1:]
        assert len([json.loads(line) for line in lines]) == n_whole + 1


def answer_until_killed(state, truth, acknowledged):
    """In a child: answer row by row, and say so after each."""
    with LabelSession.open(state) as session:
        os.write(acknowledged, b"begun\n")
        while rows := session.ask():
            session.answer(rows[0], truth_of(session, truth, rows[0]))
            os.write(acknowledged, rows[0].encode() + b"\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("n_kills", [25, pytest.param(200, marks=pytest.mark.nightly)])
def test_a_kill_at_any_moment_loses_no_answer(n_kills, tmp_path):
    draw = random.Random(0)
    session, truth = begin(tmp_path, "none", n=3_000)
    session.close()
    acknowledged: list[str] = []
    for _ in range(n_kills):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                answer_until_killed(session.state, truth, writer)
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as stream:
            assert stream.readline() == "begun\n"
            time.sleep(draw.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
            acknowledged += [line.strip() for line in stream]
        os.waitpid(child, 0)
        if draw.random() < 0.3:
            with open(session.state, "ab") as file:
                file.write(b'{"id": "12345')  # a line that was cut
    with LabelSession.open(session.state) as again:
        assert set(acknowledged) <= set(again.answers)
        assert len(again.answers) <= len(acknowledged) + n_kills
        for row, label in again.answers.items():
            assert label == truth_of(again, truth, row)
    assert len(acknowledged) > n_kills


# ---- jobs ----

JOBS = [
    ({"level": 1.0}, "min_precision must be between 0 and 1, for example 0.9; got 1."),
    (
        {"promise": "error", "level": 0.0},
        "max_error must be between 0 and 1, for example 0.05; got 0.",
    ),
    ({"confidence": 1.0}, "confidence must be from 0.5 to below 1; got 1."),
    ({"budget": 10**20}, "budget must be from 1 to 10,000,000 labels; got 1e+20."),
    ({"budget": 0}, "budget must be from 1 to 10,000,000 labels; got 0."),
]


@pytest.mark.parametrize(("given", "words"), JOBS)
def test_a_job_that_can_t_be(given, words):
    plain = {"promise": "precision", "level": 0.9, "confidence": 0.9, "budget": 10}
    with pytest.raises(DataError) as caught:
        LabelingJob(**{**plain, **given}, classes=["no", "yes"], positive="yes")
    assert str(caught.value) == words


def test_columns_of_scores_and_labels_are_checked(tmp_path):
    write_notes(tmp_path / "notes.csv", 5)
    pool = Pool(tmp_path / "notes.csv")
    np.testing.assert_array_equal(
        np.sort(pool.numbers("score")), np.sort(read(pool.path)["score"].astype(float))
    )
    with pytest.raises(DataError, match=r"row \d: 'a note.*' in 'text' is no number"):
        pool.numbers("text")
    with pytest.raises(DataError, match=r"there is no column 'scor'. Did you mean 'score'?"):
        pool.numbers("scor")
    (tmp_path / "notes.csv").write_text("a,given\n1,x\n2,\n")
    with pytest.raises(DataError, match="row 2 has no label in 'given'"):
        Pool(tmp_path / "notes.csv").words("given")
