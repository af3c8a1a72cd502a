"""How a command ends: exit codes, streams that are closed or full, signals, and too little
memory.
"""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time

import pytest

from command_line import COMMAND, run_command, write_rows
from semisvm.cli import LEAST_ADDRESS_SPACE, lacks_memory
from semisvm.cli.commands import run
from semisvm.tables import files


def test_a_reader_that_leaves_ends_the_command_without_a_word():
    with subprocess.Popen(
        [*COMMAND, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as done:
        done.stdout.close()
        told = done.stderr.read()
    assert done.returncode == 1
    assert told == b""


@contextlib.contextmanager
def stdout_without_a_reader(monkeypatch):
    """A pipe as stdout of this process, whose other end is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    stream = open(writing, "w")  # noqa: SIM115
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        yield
    with contextlib.suppress(BrokenPipeError):
        stream.close()


def test_predictions_go_to_stdout_when_they_are_complete(tmp_path, fitted, capsys, monkeypatch):
    data, model = fitted
    assert run_command(capsys, "predict", model, data, "--out", tmp_path / "p.csv").code == 0
    words = [*COMMAND, "predict", model, "-", "--out", "-"]
    done = subprocess.run(words, input=data.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stdout == (tmp_path / "p.csv").read_bytes()
    assert b"Written to stdout." in done.stderr
    with stdout_without_a_reader(monkeypatch):
        assert run_command(capsys, "predict", model, data, "--out", "-").code == 1
    refused = run_command(capsys, "predict", model, data, "--out", "-", "--json")
    assert refused.code == 2
    assert "--json and --out - both write to stdout" in refused.err
    damaged = tmp_path / "bad.csv"
    damaged.write_bytes(data.read_bytes() + b"1,2,3,4,5,6,7,8,9\n")
    refused = run_command(capsys, "predict", model, damaged, "--out", "-")
    assert (refused.code, refused.out) == (2, "")


@pytest.mark.posix
def test_closed_output_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -c '{COMMAND[2]}' --help >&-",
        shell=True,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr == b""


@pytest.mark.parametrize(
    "words", [("--seed", "-1"), ("--seed", "4294967296"), ("--C", "one"), ("--gamma", "nan")]
)
def test_numbers_that_are_none_end_with_code_2(tmp_path, capsys, words):
    out = tmp_path / "m.skops"
    done = run_command(
        capsys, "fit", write_rows(tmp_path / "t.csv"), "--target", "y", "--out", out, *words
    )
    assert done.code == 2
    assert words[0] in done.err
    assert not out.exists()


def test_too_little_memory_has_a_code_of_its_own(capsys, monkeypatch, fitted):
    def fail(*_):
        raise MemoryError("2 GB")

    monkeypatch.setattr(files, "load", fail)
    done = run_command(capsys, "evaluate", fitted[1], fitted[0])
    assert done.code == 3
    assert "not enough memory (2 GB)" in done.err


def test_an_interrupt_that_an_extension_made_an_import_error_of_is_no_bug(
    capsys, monkeypatch, fitted
):
    def fail(*_):
        raise ImportError("initialization failed") from KeyboardInterrupt()

    monkeypatch.setattr(files, "load", fail)
    done = run_command(capsys, "evaluate", fitted[1], fitted[0])
    assert (done.code, done.err) == (130, "Stopped.\n")


def test_an_ascii_terminal_shows_unicode_classes_escaped(tmp_path, capsys, monkeypatch):
    data = write_rows(tmp_path / "t.csv", names=("naïve", "→"))
    words = ["fit", data, "--target", "y", "--method", "supervised", "--out", tmp_path / "m.skops"]
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        assert run_command(capsys, *words).code == 0
    assert b"\\u2192" in terminal.buffer.getvalue()


def test_a_file_name_that_is_not_utf8_can_be_fitted_and_reported(tmp_path, capsys):
    data = write_rows(tmp_path / "t.csv").rename(
        os.path.join(os.fsencode(tmp_path), b"caf\xe9.csv").decode("utf-8", "surrogateescape")
    )
    done = run_command(capsys, "fit", data, "--target", "y", "--method", "supervised", *("--out", tmp_path / "m.skops"),
                       *("--report", tmp_path / "r.html"))  # fmt: skip
    assert done.code == 0
    for suffix in ("csv", "parquet"):
        out = data.with_name(f"p{data.stem}.{suffix}")
        assert run_command(capsys, "predict", tmp_path / "m.skops", data, "--out", out).code == 0
        assert run_command(capsys, "evaluate", tmp_path / "m.skops", data).code == 0
        assert out.exists()
        out = data.with_name(f"s{data.stem}.{suffix}")
        assert run_command(capsys, "suggest", tmp_path / "m.skops", data, "--out", out).code == 0
        assert (
            run_command(
                capsys, "predict", tmp_path / "m.skops", out, "--out", tmp_path / f"{suffix}.csv"
            ).code
            == 0
        )
    assert "caf\N{REPLACEMENT CHARACTER}.csv" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_reader_that_leaves_does_not_turn_a_missed_target_into_success(
    tmp_path, capsys, monkeypatch
):
    data = write_rows(tmp_path / "t.csv", names=("ham", "spam"))
    words = (
        "--target",
        "y",
        "--method",
        "preference",
        "--min-precision",
        "0.9",
        "--out",
        tmp_path / "m.skops",
    )
    assert run_command(capsys, "fit", data, *words).code == 0
    swapped = write_rows(tmp_path / "s.csv", names=("spam", "ham"))
    with stdout_without_a_reader(monkeypatch):
        done = run_command(capsys, "evaluate", tmp_path / "m.skops", swapped)
    assert done.code == 1
    assert "Error" not in done.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_ends_with_code_2_and_a_full_stderr_with_the_same_code():
    with open("/dev/full", "w") as full:
        words = [*COMMAND, "--help"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 2
        assert b"No space left" in done.stderr
        assert subprocess.run([*COMMAND, "fit"], stderr=full, check=False).returncode == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_progress_that_can_not_be_printed_stops_no_fit(tmp_path, monkeypatch):
    monkeypatch.setattr("semisvm.cli.screen.PATIENCE", 0)
    write_rows(tmp_path / "t.csv")
    words = ["fit", tmp_path / "t.csv", "--target", "y", "--method", "supervised"]
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        code = run([str(word) for word in [*words, "--out", tmp_path / "m.skops"]])
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()
    assert code == 0
    assert (tmp_path / "m.skops").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to such a limit")
def test_an_address_space_that_loading_does_not_fit_in_ends_with_code_3():
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (LEAST_ADDRESS_SPACE // 4, LEAST_ADDRESS_SPACE // 4))

    done = subprocess.run(
        [*COMMAND, "info"], preexec_fn=limit, capture_output=True, check=False, timeout=30
    )
    assert done.returncode == 3
    assert done.stderr.startswith(b"Error: not enough memory")


def test_libraries_that_cannot_be_loaded_for_lack_of_memory_are_no_bug():
    behind = ImportError("libgomp.so: failed to map segment from shared object")
    assert lacks_memory(behind)
    outer = OSError("could not load")
    outer.__cause__ = behind
    assert lacks_memory(outer)
    assert lacks_memory(OSError(12, "Cannot allocate memory"))
    assert not lacks_memory(ValueError("negative"))


@pytest.mark.posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("wait", [0.02, 0.15, 0.4, 1.0])
def test_a_signal_at_any_time_ends_without_a_traceback(tmp_path, number, wait):
    rows = write_rows(tmp_path / "t.csv")
    words = ["fit", rows, "--target", "y", "--out", tmp_path / "m.skops"]
    code = "from semisvm import cli; print(flush=True); cli.main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as done:
        done.stdout.readline()
        time.sleep(wait)
        done.send_signal(number)
        _, err = done.communicate(timeout=60)
    assert "Traceback" not in err
    assert done.returncode in (0, 130), err


@pytest.mark.posix
def test_a_closed_input_is_told_as_what_it_is(fitted, tmp_path):
    _, model = fitted
    words = " ".join(map(str, [model, "-", "--out", tmp_path / "p.csv"]))
    done = subprocess.run(
        f"{sys.executable} -c '{COMMAND[2]}' predict {words} <&-",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "standard input, which is closed" in done.stderr
