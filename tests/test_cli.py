"""The command line as a person meets it: what it prints, and how it ends."""

import subprocess
import sys

import pytest


def semisvm(*arguments):
    code = "from semisvm.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)


def test_the_demo_runs_the_main_job_and_says_what_to_read():
    done = semisvm("demo")
    assert done.returncode == 0, done.stderr
    for words in ("569 rows, 57 labelled, 512 not", "Recall at least 0.97", "with the chosen threshold", "Read:"):
        assert words in " ".join(done.stdout.split())


def test_info_names_versions_and_memory():
    done = semisvm("info")
    assert done.returncode == 0
    assert "scikit-learn" in done.stdout
    assert "free memory" in done.stdout


@pytest.mark.parametrize("arguments", [("nonsense",), ("demo", "--seed", "x"), ("--nonsense",)])
def test_bad_words_end_with_a_sentence_and_code_2(arguments):
    done = semisvm(*arguments)
    assert done.returncode == 2
    assert "Error" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_words_it_shows_its_help():
    done = semisvm("--help")
    assert done.returncode == 0
    assert "demo" in done.stdout
