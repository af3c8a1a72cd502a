"""The command line: what it prints, and how it ends."""

import io
import json
import re
import signal
import subprocess
import sys

import click
import numpy as np
import pandas as pd
import pytest

from command_line import run_command
from command_line import write_rows as write_table
from semisvm import load
from semisvm.cli.options import SHARE
from semisvm.cli.screen import Screen
from semisvm.tables.sentences import SEEN


def test_info_with_warm_says_what_was_compiled(capsys, monkeypatch):
    monkeypatch.setattr(
        "semisvm.estimators.compilation.compile_all", lambda: {"working sets": 1.25, "scores": 0.5}
    )
    done = run_command(capsys, "info", "--warm")
    assert "2 parts in 1.8 s, kept on disk" in done.out
    assert "working sets" in done.out


def test_the_command_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "semisvm", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"python -m semisvm, version \S+\n", done.stdout)
    done = subprocess.run(
        [sys.executable, "-m", "semisvm", "nonsense"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Error: No such command 'nonsense'" in done.stderr


def test_info_names_versions_memory_and_gpu(capsys):
    done = run_command(capsys, "info")
    assert done.code == 0
    for words in ("scikit-learn", "free memory", "GPU"):
        assert words in done.out


@pytest.mark.parametrize(
    ("module", "said"), [("pyarrow.lib", "Install it again"), ("semisvm.cli", "a bug in semisvm")]
)
def test_a_package_that_cannot_be_loaded_is_no_bug_of_semisvm(capsys, monkeypatch, module, said):
    def fail():
        raise ImportError("libarrow.so: cannot open shared object file", name=module)

    monkeypatch.setattr("semisvm.kernels.threads.n_threads", fail)
    done = run_command(capsys, "info")
    assert done.code == 2
    assert "libarrow.so" in done.err
    assert said in done.err


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("demo", "--seed", "x"), ("--nonsense",), ("fit",)]
)
def test_bad_arguments_end_with_a_sentence_and_code_2(capsys, arguments):
    done = run_command(capsys, *arguments)
    assert done.code == 2
    assert "Error" in done.err
    assert "Traceback" not in done.err


def test_a_command_that_is_misspelled_gets_a_hint(capsys):
    assert (
        "No such command 'pedict'. Perhaps 'predict' is meant."
        in run_command(capsys, "pedict", "a", "b").err
    )


def test_help_lists_every_command(capsys):
    done = run_command(capsys, "--help")
    assert done.code == 0
    for command in ("demo", "fit", "predict", "evaluate", "compare", "suggest", "report", "info"):
        assert command in done.out


def test_help_does_not_import_the_numerical_libraries():
    code = "import sys; sys.argv = ['semisvm', '--help']; from semisvm.cli import main"
    code += "\ntry: main()\nexcept SystemExit: pass"
    code += (
        "\nprint([name for name in ('numpy', 'sklearn', 'pandas', 'rich') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_target_reached_on_few_labels_is_not_called_proven(tmp_path, capsys):
    data = write_rows(tmp_path / "t.csv", overlap=0.3)
    out = tmp_path / "m.skops"
    words = ("--min-recall", "90%", "--method", "preference", "--details")
    done = run_command(capsys, "fit", data, "--target", "y", "--out", out, *words)
    told = " ".join(done.out.split())
    assert done.code == 0
    assert "On your labels: met (100% of what it accepts is yes" in told
    assert "On new rows:" in told
    assert "Reached on the labeled rows, not proven: recall at least 0.9." in told
    assert "can't rule out a miss" in told
    assert "at least 22" in told  # labels that prove a recall of 0.9: 0.9^22 < 0.1 < 0.9^21
    assert "The unlabeled rows were tried and are not used" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--confidence", "0.9"), "set it by --min-precision or --min-recall"),
        (
            ("--confidence", "90", "--min-recall", "0.9"),
            "is more than 1. Write a share such as 0.9 or 90%",
        ),
    ],
)
def test_a_certificate_needs_a_target_and_a_probability(tmp_path, capsys, words, said):
    data = write_rows(tmp_path / "t.csv")
    done = run_command(capsys, "fit", data, "--target", "y", "--out", tmp_path / "m.skops", *words)
    assert done.code == 2
    assert said in " ".join(done.err.split())


def test_evaluate_shows_the_cost_per_row(tmp_path, capsys):
    data = write_rows(tmp_path / "t.csv")
    out = tmp_path / "m.skops"
    costs = ("--costs", "yes=5,no=1", "--method", "supervised")
    assert run_command(capsys, "fit", data, "--target", "y", "--out", out, *costs).code == 0
    assert "cost per row" in run_command(capsys, "evaluate", out, data).out


def write_rows(path, n_rows=60, overlap=1.0):
    """Two classes in a plane, every third row labeled."""
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    X = rng.normal(scale=overlap, size=(n_rows, 2)) + 2.0 * y[:, None]
    labels = ["yes" if code else "no" for code in y]
    lines = [f"{a:.3f},{b:.3f},{labels[i] if i % 3 == 0 else ''}" for i, (a, b) in enumerate(X)]
    path.write_text("\n".join(["a,b,y", *lines, ""]))
    return path


def test_a_target_that_is_not_reached_ends_with_code_1_and_a_model(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = write_rows(tmp_path / "t.csv", overlap=2.0)
    out = tmp_path / "m.skops"
    words = (
        "fit",
        data,
        "--target",
        "y",
        "--min-precision",
        "1",
        "--min-recall",
        "1",
        "--out",
        out,
    )
    done = run_command(capsys, *words)
    assert done.code == 1
    told = " ".join(done.out.split())
    assert "at least 100% of what it accepts is yes and it finds at least 100% of all yes" in told
    assert "NOT MET" in told
    assert out.exists()
    assert re.search(r"Next: semisvm suggest \S+ \S+ \(rows to label next\)", told)
    assert run_command(capsys, "suggest", out, data).code == 0  # as it is told, without an option
    assert (tmp_path / "to-label.csv").exists()
    assert run_command(capsys, "evaluate", out, data).code == 1


def test_stdout_holds_nothing_but_json(tmp_path, capsys):
    data = write_rows(tmp_path / "t.csv")
    out = tmp_path / "m.skops"
    for words in (
        ("fit", data, "--target", "y", "--method", "supervised", "--out", out),
        ("predict", out, data, "--out", tmp_path / "p.csv"),
        ("evaluate", out, data),
        ("compare", data, "--target", "y", "--method", "supervised", "--method", "transductive"),
        ("suggest", out, data, "--out", tmp_path / "s.csv"),
        ("report", out, "--out", tmp_path / "r.html"),
        ("info",),
    ):
        done = run_command(capsys, *words, "--json")
        assert done.code == 0, done.err
        json.loads(done.out)


def test_figures_on_the_file_of_the_fit_are_warned_of_beside_json_as_well(tmp_path, capsys):
    data = write_rows(tmp_path / "t.csv")
    out = tmp_path / "m.skops"
    assert run_command(capsys, "fit", data, "--target", "y", "--out", out).code == 0
    other = write_rows(tmp_path / "other.csv")
    for rows, is_seen in ((data, True), (other, False)):
        for words in ((), ("--json",)):
            done = run_command(capsys, "evaluate", out, rows, *words)
            assert (SEEN in done.err) == is_seen


def test_a_report_on_data_says_which_rows_it_measures(tmp_path, capsys):
    data = write_rows(tmp_path / "t.csv")
    out = tmp_path / "m.skops"
    assert run_command(capsys, "fit", data, "--target", "y", "--out", out).code == 0
    bare = tmp_path / "bare.csv"
    pd.read_csv(data).drop(columns="y").to_csv(bare, index=False)
    other = write_rows(tmp_path / "other.csv")
    for rows, said in (
        (bare, "The operating point is that of the fit, not of bare.csv: "),
        (other, "The operating point and the scores are measured on the "),
        (data, SEEN),
    ):
        command = ["report", out, rows, "--out", tmp_path / "r.html", "--force"]
        assert said in run_command(capsys, *command).out
        done = run_command(capsys, *command, "--json")
        assert said in done.err
        assert json.loads(done.out) == {"report": str(tmp_path / "r.html")}
    words = ["report", out, "--out", tmp_path / "r.html", "--force"]
    assert run_command(capsys, *words).out == f"Report: {tmp_path / 'r.html'}\n"


def test_a_model_of_no_use_ends_with_its_own_code(tmp_path, capsys):
    """Labels that have nothing to do with the rows: the model is written, and code 4 says it."""
    rng = np.random.default_rng(0)
    lines = [f"{x:.3f},{rng.choice(['yes', 'no'])}" for x in rng.normal(size=80)]
    data = tmp_path / "t.csv"
    data.write_text("x,y\n" + "\n".join([*lines, *(f"{x:.3f}," for x in rng.normal(size=40))]))
    out = tmp_path / "m.skops"
    fit = ("fit", data, "--target", "y", "--method", "supervised", "--no-tune", "--out", out)
    done = run_command(capsys, *fit)
    assert done.code == 4
    assert done.out.startswith("This model is of no use: ")
    assert out.exists()
    done = run_command(capsys, *fit, "--force", "--json")
    told = json.loads(done.out)
    assert (done.code, told["exit_code"], told["useless"]) == (4, 4, True)
    assert "4 the model is of no use" in " ".join(run_command(capsys, "--help").out.split())


@pytest.mark.parametrize("words", [("--positive", "no"), ("--positive", "yes")])
def test_the_positive_class_can_be_chosen(tmp_path, capsys, words):
    data = write_rows(tmp_path / "t.csv")
    out = tmp_path / "m.skops"
    fit = ("fit", data, "--target", "y", "--method", "supervised", "--out", out, *words)
    done = run_command(capsys, *fit, "--json")
    assert json.loads(done.out)["summary"]["positive"] == words[1]
    run_command(capsys, "predict", out, data, "--out", tmp_path / "p.csv")
    rows = [line.split(",") for line in (tmp_path / "p.csv").read_text().splitlines()[1:]]
    assert all((label == f'"{words[1]}"') == (above == "true") for label, _, above, _ in rows)


def test_ctrl_c_writes_the_best_so_far_and_ends_with_130(tmp_path, capsys, monkeypatch):
    """It comes when three rounds are done and others are still to do."""
    data = write_rows(tmp_path / "t.csv", n_rows=600, overlap=3.0)
    out = tmp_path / "m.skops"

    rounds = []

    def press(self, what, done=None, total=None, unit=""):
        if "Fitting progressive" in what and unit == "rounds":
            rounds.append(done)
            if len(rounds) == 3:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Screen, "tell", press)
    words = ["fit", data, "--target", "y", "--method", "progressive", "--C", "10", "--out", out]
    done = run_command(capsys, *words)
    assert done.code == 130, done.err
    assert "best so far" in done.err
    assert load(out).method == "progressive"
    assert "Model:" in done.out


def test_progress_is_shown_after_a_second(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr("semisvm.cli.screen.time.monotonic", lambda: clock[0])
    screen = Screen()
    for clock[0] in (0.5, 2.0, 3.0, 8.0):
        screen.tell("Predicting", int(clock[0] * 1000), 10_000, "rows")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "Predicting: 2,000 of 10,000 rows (2 s)",
        "Predicting: 8,000 of 10,000 rows (8 s)",
    ]
    clock[0] = 14.0
    screen.tell("Tuning", 0, 30, "settings")  # nothing is done yet: no count, and no colon
    assert capsys.readouterr().err == "Tuning (14 s)\n"


def test_an_error_in_rows_from_stdin_names_no_temporary_file(tmp_path, capsys, monkeypatch):
    data = write_rows(tmp_path / "t.csv")
    out = tmp_path / "m.skops"
    fit = ("fit", data, "--target", "y", "--method", "supervised", "--out", out)
    assert run_command(capsys, *fit).code == 0
    header, first, *_ = data.read_text().splitlines()
    text = f"{header}\n{first}\nbad,{first.partition(',')[2]}\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    done = run_command(capsys, "predict", out, "-", "--out", tmp_path / "p.csv")
    assert done.code == 2
    assert done.err.startswith(f"Error: standard input, line 3: column {header.split(',')[0]!r} ")


def test_predict_reads_rows_from_stdin(tmp_path, capsys, monkeypatch):
    data = write_rows(tmp_path / "t.csv")
    out = tmp_path / "m.skops"
    words = ("fit", data, "--target", "y", "--method", "supervised", "--no-tune", "--out", out)
    assert run_command(capsys, *words).code == 0
    assert run_command(capsys, "predict", out, data, "--out", tmp_path / "a.csv").code == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data.read_bytes())))
    assert run_command(capsys, "predict", out, "-", "--out", tmp_path / "b.csv").code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(("word", "number"), [("80%", 0.8), ("0.8", 0.8), (" 95 %", 0.95)])
def test_a_share_may_be_a_percentage(word, number):
    assert SHARE.convert(word, None, None) == pytest.approx(number)
    with pytest.raises(click.UsageError, match="is not a number"):
        SHARE.convert("many%", None, None)


def test_fit_says_when_it_has_to_compile(tmp_path, capsys, monkeypatch):
    data = write_rows(tmp_path / "t.csv")
    words = (
        "fit",
        data,
        "--target",
        "y",
        "--method",
        "supervised",
        "--no-tune",
        "--force",
        "--out",
    )
    assert "Compiling once" not in run_command(capsys, *words, tmp_path / "m.skops").err
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    assert "Compiling once" in run_command(capsys, *words, tmp_path / "m.skops").err


def test_a_held_out_certificate_says_everywhere_that_the_best_of_several_is_not_covered(
    tmp_path, capsys
):
    data = write_table(tmp_path / "t.csv", n=600, share_labeled=0.9)
    asked = ["--min-precision", "0.7", "--confidence", "0.9", "--details"]
    out = ["--out", tmp_path / "m.skops", "--report", tmp_path / "r.html"]
    words = ["fit", data, "--target", "y", "--method", "preference", *asked, *out]
    done = run_command(capsys, *words)
    assert done.code == 0, done.err
    first, _, details = done.out.partition("Columns")
    assert "This is a promise" in first
    assert "the best of several fits is not covered" in " ".join(first.split())
    assert "for a single certificate. The best of several" in " ".join(details.split())
    page = (tmp_path / "r.html").read_text()
    assert "the best of several fits is not covered" in page
    assert "for a single certificate. The best of several" in page
    model = load(tmp_path / "m.skops")
    assert "the best of several fits is not covered" in model._repr_html_()
    [point] = model.summary.operating_points.values()
    assert "does not cover the best of several" in repr(point)
    for shown in (str(point), point._repr_html_()):
        assert "for a single certificate. The best of several" in shown.replace("&#x27;", "'")
