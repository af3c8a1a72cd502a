"""The command: what each verb prints, how it ends, and what it refuses."""

import json
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest

from helpers.command import COMMAND, fill_in, run
from helpers.sessions import write_notes
from semisvm.cli import screen
from semisvm.cli.verbs import VERBS, semisvm
from semisvm.tables.frame import read


@pytest.fixture(autouse=True)
def the_same_draws(monkeypatch):
    """Sessions draw the same rows in each run of the tests."""
    monkeypatch.setattr("semisvm.label.session.secrets.randbits", lambda n: 7)


def test_six_verbs_and_a_demo_with_few_options():
    assert [verb.name for verb in VERBS] == [
        "demo", "fit", "label", "finish", "predict", "evaluate", "monitor",
    ]  # fmt: skip
    options = [p for verb in VERBS for p in verb.params if isinstance(p, click.Option)]
    assert len(options) <= 60
    assert all(option.help for option in options)


def test_help_shows_each_example_on_a_line(capsys):
    for verb in VERBS:
        for words in re.findall(r"^ *(semisvm .*)$", verb.help, re.MULTILINE):
            assert f"\n  {words}\n" in run(capsys, verb.name, "--help").out
    assert "\n  semisvm finish loans.label --out finished.csv\n" in run(capsys, "-h").out


# ---- examples of --help ----


def examples():
    """The commands that the help texts show, in the order of a person's work."""
    found = []
    for verb in VERBS:
        found += re.findall(r"^ *(semisvm .*)$", verb.help, re.MULTILINE)
    found += re.findall(r"^ *(semisvm .*)$", semisvm.help, re.MULTILINE)
    return [line.split()[1:] for line in dict.fromkeys(found)]


class Person:
    """Somebody who opens the page in a browser: says a budget, answers three rows, and stops."""

    def __call__(self, address):
        threading.Thread(target=self.label, args=(address,), daemon=True).start()

    def send(self, address, request=None):
        data = None if request is None else json.dumps(request).encode()
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(
            urllib.request.Request(address + "state", data, headers)
        ) as got:
            return json.loads(got.read())

    def label(self, address):
        state = self.send(address)
        if "question" in state:
            self.send(address, {"number": "40"})
            while "question" in (state := self.send(address)):
                time.sleep(0.02)
        for _ in range(3):
            if state["row"]:
                row = state["row"]["id"]
                state = self.send(
                    address, {"do": "answer", "row": row, "label": state["classes"][0]}
                )
        self.send(address, {"do": "stop"})


def test_every_example_runs(place, capsys, monkeypatch):
    monkeypatch.setattr("webbrowser.open", Person())
    monkeypatch.setenv("DISPLAY", ":0")
    table, truth = read("loans.csv"), read("truth.csv")["default"].to_numpy()
    table[:120].to_csv("loans.csv", index=False)
    table[120:].to_csv("labeled.csv", index=False)
    held_out = read("truth.csv")[150:]
    held_out.to_csv("held-out.csv", index=False)
    held_out.drop(columns="default").to_csv("june.csv", index=False)
    write_notes("tweets.csv", 200)
    read("tweets.csv").rename(columns={"given": "ai", "score": "sure"}).to_csv(
        "tweets.csv", index=False
    )
    lines = examples()
    assert len(lines) == 11
    for words in lines:
        if "--out" in words:  # each example by itself, as on another day
            Path(words[words.index("--out") + 1]).unlink(missing_ok=True)
        if words[0] == "label" and "--answers" not in words:
            Path("loans.label").unlink(missing_ok=True)
        done = run(capsys, *words)
        assert (done.code, done.err) == (0, ""), words
        assert done.out
        if "ask.csv" in words and "--out" in words:
            fill_in("ask.csv", truth)
    finished = read("finished.csv")
    assert set(finished["labeled_by"]) <= {"person", "machine", "file", "nobody"}
    assert finished["labeled_by"].eq("person").sum() <= 20


def test_the_main_job(place, capsys):
    done = run(
        capsys,
        "fit",
        "loans.csv",
        "--target",
        "default",
        "--out",
        "m.skops",
        "--report",
        "fit.html",
        "--min-precision",
        0.6,
    )
    lines = done.out.splitlines()
    assert done.code == 0
    assert len(lines) <= 8
    assert lines[0].startswith("loans.csv: 60 labels (")
    assert "Threshold for precision at least 0.6" in done.out
    assert lines[-1].startswith("Next: semisvm label m.skops loans.csv --min-precision 0.9")
    truth = read("truth.csv")["default"].to_numpy()
    words = [
        "label",
        "m.skops",
        "loans.csv",
        "--min-precision",
        0.7,
        "--confidence",
        0.9,
        "--budget",
        60,
    ]
    done = run(capsys, *words, "--out", "ask.csv")
    assert re.match(
        r"ask.csv: \d+ rows to label. Fill in the column your_label \(no or yes; \? for", done.out
    )
    for _ in range(8):
        if len(fill_in("ask.csv", truth)) == 0:
            break
        done = run(
            capsys, "label", "loans.csv", "--answers", "ask.csv", "--out", "ask.csv", "--force"
        )
        assert done.code == 0
    line = next(line for line in done.out.splitlines() if re.match(r"\d+ labels: ", line))
    n_labels, n_free = (
        int(n) for n in re.match(r"(\d+) labels: (?:not worth it.*for )?(\d+) row", line).groups()
    )
    done = run(capsys, "finish", "loans.label", "--out", "finished.csv", "--report", "done.html")
    assert done.code == 0
    finished = read("finished.csv")
    counts = finished["labeled_by"].value_counts().to_dict()
    assert counts.get("machine", 0) == n_free
    assert counts["person"] == n_labels
    assert counts["file"] == 60
    before = read("loans.csv")
    assert finished[before.columns].equals(before)
    assert (place / "done.html").stat().st_size < 20_000


def test_what_the_options_of_a_fit_do(place, capsys):
    table = read("loans.csv")
    table["default"] = table["default"].replace("", "later")
    table["share"] = [f"{k % 7 + 1},{k % 900 + 100}" for k in range(len(table))]
    table[:200].to_csv("some.csv", index=False)
    table[200:].drop(columns="default").to_csv("others.csv", index=False)
    line = (
        "fit some.csv --target default --out m.skops --unlabeled later --unlabeled-data others.csv"
        " --drop late --type zip=number --decimal , --costs yes=5 --costs no=1 --positive no --seed 3"
        " --json"
    )
    done = run(capsys, *shlex.split(line))
    record = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert record["n_unlabeled"] + sum(record["labels"].values()) == 240
    assert record["classes"] == ["yes", "no"]
    assert "late" not in record["columns"]
    assert record["columns"]["zip"] == record["columns"]["share"] == "number"
    assert (
        run(capsys, "predict", "m.skops", "others.csv", "--out", "p.csv", "--keep", "id").code == 0
    )
    plain = run(capsys, *FIT, "--details", "--force")
    assert re.search(r"^date: +opened$", plain.out, re.MULTILINE)
    assert re.search(r"^left out: +'id' is an identifier", plain.out, re.MULTILINE)


def test_an_encoder_that_is_not_installed(place, capsys):
    if find_spec("wordllama"):
        pytest.skip("wordllama is installed")
    table = read("loans.csv")
    table["note"] = [f"the note of loan {k} is about money" for k in range(len(table))]
    table.to_csv("notes.csv", index=False)
    done = run(capsys, "fit", "notes.csv", *FIT[2:], "--text-encoder", "wordllama")
    assert "needs the package wordllama. Run: pip install 'semisvm[text]'" in done.err
    assert done.code == 2
    done = run(
        capsys, "fit", "notes.csv", *FIT[2:], "--text-encoder", "x", "--method", "supervised"
    )
    assert "text_encoder is for the method autosvc" in done.err


def test_data_that_was_moved(place, capsys):
    assert run(capsys, *LABEL, "--budget", 40, "--out", "ask.csv").code == 0
    Path("loans.csv").rename("moved.csv")
    done = run(capsys, "finish", "loans.label", "--out", "f.csv")
    assert (
        "loans.csv: there is no such file. Name the data of loans.label: --data FILE." in done.err
    )
    assert run(capsys, "finish", "loans.label", "--data", "moved.csv", "--out", "f.csv").code == 0
    assert run(capsys, "label", "moved.csv", "--state", "loans.label", "--out", "b.csv").code == 0
    done = run(
        capsys, "finish", "loans.label", "--data", "moved.csv", "--out", "moved.csv", "--force"
    )
    assert "moved.csv: is read by this command." in done.err


def test_labels_by_a_machine(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth = write_notes("notes.csv", 1_500)
    words = [
        "label",
        "notes.csv",
        "--given",
        "given",
        "--confidence-column",
        "score",
        "--max-error",
        0.1,
        "--budget",
        200,
    ]
    done = run(capsys, *words, "--rows", 40, "--out", "ask.csv")
    while done.code == 0 and len(fill_in("ask.csv", truth, 0, "note")):
        done = run(
            capsys,
            "label",
            "notes.csv",
            "--answers",
            "ask.csv",
            "--rows",
            40,
            "--out",
            "ask.csv",
            "--force",
        )
    assert (
        "With probability 95%, at most 150 of all 1,500 labels (10%) are wrong once people"
        in done.out
    )
    done = run(capsys, "finish", "notes.label", "--out", "finished.csv")
    finished = read("finished.csv")
    kept = (finished["labeled_by"] == "machine").to_numpy()
    assert kept.sum() > 200
    assert (finished["label"] != truth)[kept].sum() <= 150


def test_scores_of_a_colleague(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_notes("notes.csv", 300)
    done = run(
        capsys,
        "label",
        "notes.csv",
        "--scores",
        "score",
        "--min-recall",
        0.8,
        "--budget",
        50,
        "--positive",
        "urgent",
        "--out",
        "ask.csv",
    )
    assert "(not urgent or urgent; ? for" in done.out
    done = run(capsys, "label", "notes.csv", "--json", "--out", "b.csv")
    assert json.loads(done.out)["promise"] == "recall"


def test_rows_that_would_teach_the_model(place, capsys):
    done = run(capsys, "label", "loans.skops", "loans.csv", "--to-improve", "--out", "ask.csv")
    assert "20 rows to label" in done.out
    scores = pd.Series(run_scores("loans.skops", "ask.csv"))
    assert scores.abs().median() < pd.Series(run_scores("loans.skops", "loans.csv")).abs().median()
    fill_in("ask.csv", read("truth.csv")["default"].to_numpy())
    done = run(capsys, "label", "loans.csv", "--answers", "ask.csv")
    assert "20 labels. Add them to the data (semisvm finish) and fit again." in done.out
    assert run(capsys, "finish", "loans.label", "--out", "f.csv").out.endswith(
        "improve the model.\n"
    )


def run_scores(model, path):
    from semisvm.tables.model import TableModel

    return TableModel.load(model).scores(read(path))


def test_a_promise_that_no_longer_holds_ends_with_1(place, capsys):
    words = ["monitor", "loans.skops", "loans.csv", "--state", "watch", "--min-precision", 0.9]
    done = run(capsys, *words, "--rows", 30, "--out", "ask.csv")
    assert done.code == 0
    frame = read("ask.csv").assign(your_label="yes")
    frame.to_csv("ask.csv", index=False)
    done = run(capsys, *words, "--answers", "ask.csv")
    assert (done.code, done.out.splitlines()[1][:8]) == (0, "No alarm")
    frame.assign(your_label="no").to_csv("ask.csv", index=False)
    done = run(capsys, *words, "--answers", "ask.csv", "--json")
    assert done.code == 1
    assert json.loads(done.out)["alarm"] is True
    other = [*words[:-1], 0.8]
    assert "watches a precision of 0.9, not 0.8" in run(capsys, *other).err
    read("loans.csv")[:50].to_csv("july.csv", index=False)
    done = run(
        capsys, *["july.csv" if w == "loans.csv" else w for w in words], "--answers", "ask.csv"
    )
    assert "no row of it was drawn with watch" in done.err
    (place / "watch").write_text("[" * 100_000)
    assert "is no state of semisvm monitor, or is damaged" in run(capsys, *words).err


def test_the_demo(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(capsys, "demo", "--folder", "here")
    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n$ semisvm ") == 4
    assert "The budget of 100 labels is used." in done.out or "not expected" in done.out
    finished = read("here/finished.csv")
    assert finished["labeled_by"].value_counts()["file"] == 40
    assert run(capsys, "demo", "--folder", "here").code == 2


# ---- what is refused ----

FIT = ("fit", "loans.csv", "--target", "default", "--out", "m.skops")
LABEL = ("label", "loans.skops", "loans.csv", "--min-precision", "0.9")
REFUSED = [
    (("fly",), "No such command 'fly'"),
    (("fit", "loans.csv", "--out", "m.skops"), "Missing option '--target'"),
    (("fit", "none.csv", *FIT[2:]), "semisvm: none.csv: there is no such file."),
    (("fit", "loans.csv", "--target", "defalt", *FIT[4:]), "there is no column 'defalt'. Did you mean 'default'?"),
    ((*FIT, "--min-precision", "0.9", "--min-recall", "0.9"), "Choose one of --min-precision, --min-recall"),
    ((*FIT, "--min-precision", "90"), "Invalid value for '--min-precision'"),
    ((*FIT, "--costs", "yes"), "'yes': write CLASS=COST."),
    ((*FIT, "--costs", "yes=much"), "--costs: write CLASS=NUMBER"),
    ((*FIT, "--type", "zip=code"), "column 'zip' can't be a 'code': choose one of number"),
    ((*FIT, "--seed", "-1"), "semisvm: seed must be from 0 to 4294967295; got -1."),
    ((*FIT, "--method", "forest"), "there is no method 'forest': autosvc, "),
    ((*FIT[:-1], "loans.skops"), "loans.skops: exists. Choose another name, or add --force"),
    ((*FIT[:-1], "loans.csv", "--force"), "loans.csv: is read by this command."),
    ((*FIT[:-1], "m.parquet"), "m.parquet: no file of that kind is written. Name it .skops or .csv."),
    (("finish", "loans.label", "--out", "f.xlsx"), "f.xlsx: no file of that kind is written."),
    ((*FIT, "--report", "m.skops"), "m.skops: is named for two files to write."),
    ((*FIT[:-1], "none/m.skops"), "there is no folder none to write to"),
    ((*FIT, "--unlabeled-data", "notes.csv"), "notes.csv: there is no column 'id', which loans.csv has."),
    (("predict", "loans.csv", "loans.csv", "--out", "p.csv"), "loans.csv: is no model (semisvm fit writes one)."),
    (("predict", "loans.skops", "notes.csv", "--out", "p.csv", "--keep", "text"), "notes.csv: there is no column 'amount' and"),
    (("evaluate", "loans.skops", "loans.csv"), "no row has a label that the fit did not use"),
    ((*LABEL, "--rows", "5"), "--rows needs --out"),
    ((*LABEL, "--out", "ask.csv"), "How many rows can you label? Add --budget N."),
    ((*LABEL, "--budget", "0", "--out", "ask.csv"), "How many rows can you label?"),
    ((*LABEL, "--budget", "100000000000000000000", "--out", "ask.csv"), "budget must be from 1 to 10,000,000 labels; got 1e+20."),
    ((*LABEL, "--max-error", "0.1"), "Choose one of"),
    ((*LABEL, "--positive", "no", "--budget", "9", "--out", "a.csv"), "accepts 'yes', not 'no'. Fit again with --positive no."),
    ((*LABEL[:3], "--to-improve", "--confidence-column", "zip"), "--confidence-column needs --given"),
    (LABEL[:3], "Say what to promise"),
    (("label", "loans.csv", "--min-precision", "0.9"), "Name a MODEL and DATA; or only DATA"),
    (("label", "notes.csv", "--scores", "score", "--max-error", ".1"), "--max-error needs --given"),
    (("label", "notes.csv", "--scores", "text", "--min-recall", ".9", "--budget", "9", "--out", "a.csv"), "in 'text' is no number"),
    (("label", "notes.csv", "--given", "text", "--max-error", ".1", "--budget", "9", "--out", "a.csv"), "'text' holds 60 different labels: is it the right column?"),
    (("label", "notes.csv", "--given", "given", "--min-recall", ".1"), "--min-recall needs a MODEL or --scores."),
    ((*LABEL, "--budget", "9", "--out", "a.csv", "--show", "zipp"), "there is no column 'zipp'. Did you mean 'zip'?"),
    (("label", "loans.csv", "--answers", "a.csv"), "Name a MODEL and DATA"),
    (("finish", "loans.label", "--out", "f.csv"), "loans.label: there is no such file."),
    (("finish", "loans.csv", "--out", "f.csv"), "loans.csv: is no state of semisvm label, or is damaged."),
    (("monitor", "loans.skops", "loans.csv", "--state", "w", "--min-precision", ".8", "--rows", "5"), "--rows needs --out"),
    (("monitor", "loans.skops", "loans.csv", "--state", "w", "--min-precision", ".8", "--answers", "a.csv"), "no row of it was drawn with w."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    REFUSED,
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_refused(words, message, place, capsys):
    write_notes("notes.csv", 60)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    done = run(capsys, *words)
    assert message in done.err
    assert done.code == 2
    assert done.out == ""
    after = {path.name: path.read_bytes() for path in place.iterdir() if path.suffix != ".lock"}
    after = {
        name: content
        for name, content in after.items()
        if name in before or name.endswith((".csv", ".skops"))
    }
    assert after == before


def test_a_state_goes_on_with_its_own_job(place, capsys):
    begin = (*LABEL, "--budget", "40", "--out", "a.csv")
    assert run(capsys, *begin).code == 0
    for more, words in [
        (("--min-precision", "0.8"), "was begun with: precision at least 0.9, with probability 95%, budget 40. Leave --min-precision out"),
        (("--min-recall", "0.9"), "Leave --min-recall out"),
        (("--budget", "50"), "Leave --budget out"),
        (("--confidence", "0.8"), "Leave --confidence out"),
        (("--to-improve",), "Leave --to-improve out"),
    ]:  # fmt: skip
        done = run(capsys, "label", "loans.csv", *more, "--out", "b.csv")
        assert words in done.err, done.err
        assert "begin again with another --state" in done.err
    assert run(capsys, *begin[:-1], "c.csv").code == 0


def test_a_state_goes_on_with_the_scores_that_it_began_with(place, capsys):
    pd.DataFrame({"a": range(60), "b": range(60, 0, -1)}).to_csv("s.csv", index=False)
    begin = ("label", "s.csv", "--scores", "a", "--min-recall", "0.9", "--budget", "20", "--out")
    assert run(capsys, *begin, "1.csv").code == 0
    assert run(capsys, *begin, "2.csv").code == 0
    done = run(capsys, "label", "s.csv", "--scores", "b", "--out", "3.csv")
    assert "Leave --scores out" in done.err


def test_a_state_goes_on_with_the_model_that_it_began_with(place, capsys):
    begin = (*LABEL, "--budget", "20", "--out")
    assert run(capsys, *begin, "1.csv").code == 0
    assert run(capsys, *begin, "2.csv").code == 0
    assert run(capsys, *FIT, "--seed", "1", "--method", "supervised").code == 0
    done = run(capsys, "label", "m.skops", *begin[2:], "3.csv")
    assert "loans.label: was not begun with the model m.skops. Leave it out to go on" in done.err
    assert run(capsys, "label", "loans.csv", "--out", "3.csv").code == 0


def test_a_class_of_three_has_no_promise(place, capsys):
    table = read("loans.csv")
    table.loc[:20, "default"] = "open"
    table.to_csv("three.csv", index=False)
    assert (
        run(
            capsys,
            "fit",
            "three.csv",
            "--target",
            "default",
            "--method",
            "supervised",
            "--out",
            "3.skops",
        ).code
        == 0
    )
    done = run(
        capsys,
        "label",
        "3.skops",
        "three.csv",
        "--min-precision",
        0.9,
        "--budget",
        9,
        "--out",
        "a.csv",
    )
    assert "has 3 classes; a promise is about one of two" in done.err


# ---- JSON, and endings ----


@pytest.mark.parametrize(
    "words",
    [
        (*FIT, "--method", "supervised"),
        ("predict", "loans.skops", "loans.csv", "--out", "p.csv"),
        ("evaluate", "loans.skops", "truth.csv"),
        (*LABEL, "--budget", "40", "--out", "a.csv"),
        (
            "monitor",
            "loans.skops",
            "loans.csv",
            "--state",
            "w",
            "--min-precision",
            ".5",
            "--out",
            "a.csv",
        ),
        ("finish", "none.label", "--out", "f.csv"),
    ],
    ids=lambda words: words[0],
)
def test_json_is_all_that_is_printed(words, place, capsys):
    done = run(capsys, *words, "--json")
    record = json.loads(done.out)
    assert ("error" in record) == (done.code == 2)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MemoryError(), 3, "not enough memory"),
        (KeyboardInterrupt(), 130, "stopped"),
        (PermissionError(13, "Permission denied", "x.csv"), 2, "x.csv: Permission denied."),
        (BrokenPipeError(), 0, ""),
    ],
)
def test_endings(error, code, words, place, capsys, monkeypatch):
    def fail(*args):
        raise error

    monkeypatch.setattr("semisvm.tables.model.TableModel.load", fail)
    before = sys.stdout
    done = run(capsys, "evaluate", "loans.skops", "truth.csv")
    sys.stdout = before
    assert (done.code, words in done.err) == (code, True)


def test_ctrl_c_leaves_no_half_of_a_file(place):
    table = pd.concat([read("loans.csv")] * 100, ignore_index=True)
    table.to_csv("long.csv", index=False)
    words = ["predict", "loans.skops", "long.csv", "--out", "p.csv"]
    process = subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not list(place.glob(".p.csv.*")) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err[-300:]) == (130, "\nsemisvm: stopped.\n")
    assert not list(place.glob("*p.csv*"))


def test_help_waits_for_no_library():
    code = "import semisvm.cli.verbs, sys; print(sorted({'numpy', 'pandas', 'sklearn', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_progress_is_shown_to_a_person_only(capsys, monkeypatch):
    for is_person in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_person=is_person: is_person)
        with screen.counting("a[b].csv") as progress:
            progress(5_000)
        with screen.working() as say:
            say("fitting")
        printed = capsys.readouterr()
        assert bool(printed.err) == is_person
        assert printed.out == ""
        assert ("a[b].csv: 5,000 rows" in printed.err) == is_person


def test_versions(capsys):
    assert re.fullmatch(r"semisvm \S+\n", run(capsys, "--version").out)
    lines = run(capsys, "--version", "--verbose").out.splitlines()
    assert f"numpy {np.__version__}" in lines
