"""Faults of the machine while a command runs: signals, full disks, closed streams, little memory,
two writers.

A command runs in a child that is forked from a process that has imported and compiled everything,
so that the fault meets the work and not the imports. Afterward a file is the old one, the complete
new one, or not there; the exit code is a documented one; stderr holds no traceback.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from studies.fuzz.command import run_words, table_of
from studies.fuzz.models import model_bytes
from studies.fuzz.verdict import Verdict, of_error

Recipe = dict[str, Any]
FAULTS = (
    "SIGKILL", "SIGKILL", "SIGTERM", "SIGTERM", "SIGINT", "SIGINT", "file size", "file size", "full disk",
    "read-only folder",
    "reader gone", "stdout closed", "stderr closed", "stdout full", "stderr full", "memory", "memory", "two writers",
    "folder gone", "few files", "no processes",
)  # fmt: skip
COMMANDS = ("fit", "fit", "predict", "suggest", "report", "certify", "compare", "evaluate")
OUTPUTS = {
    "fit": "m.skops",
    "predict": "p.csv",
    "suggest": "s.csv",
    "report": "r.html",
    "certify": "l.csv",
}
ENDINGS = (signal.SIGINT, signal.SIGTERM)
SECONDS = 60
NOBODY = 65534


def make(random: np.random.Generator) -> Recipe:
    """Draw a fault, a command, and when or how strong it is."""
    return {
        "fault": str(random.choice(FAULTS)),
        "command": str(random.choice(COMMANDS)),
        "method": str(
            random.choice(["auto", "supervised", "transductive", "cluster", "preference"])
        ),
        "moment": round(float(random.random() ** 2), 3),
        "has_old": bool(random.random() < 0.5),
        "seed": int(random.integers(1000)),
    }


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """The simplest command and method."""
    for name, value in (("command", "fit"), ("method", "supervised"), ("has_old", False)):
        if recipe[name] != value:
            yield {**recipe, name: value}


def words_of(recipe: Recipe) -> list[str]:
    """The words of the command."""
    output = OUTPUTS.get(recipe["command"])
    out = ["--out", output] if output else []
    out += ["--force"] if output and recipe["has_old"] else []
    fit = ["t.csv", "--target", "y", "--method", recipe["method"]]
    fit += ["--min-precision", "0.6"] if recipe["method"] == "preference" else []
    return {
        "fit": [
            "fit",
            *fit,
            *out,
        ],
        "compare": ["compare", *fit[:3], "--method", "supervised", "--method", "cluster"],
        "predict": ["predict", "model.skops", "t.csv", *out],
        "evaluate": ["evaluate", "model.skops", "t.csv"],
        "suggest": ["suggest", "model.skops", "t.csv", *out],
        "report": ["report", "model.skops", "t.csv", *out],
        "certify": [
            "certify",
            "start",
            "model.skops",
            "t.csv",
            "--min-precision",
            "0.6",
            "--state",
            "c.json",
            *out,
        ],
    }[recipe["command"]]


def fork(words: list[str], prepare: Callable[[], None], log: str = "err") -> int:
    """Run the command in a child whose output goes to files; return its process."""
    Path(log).touch()  # a child may be ended before it can
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
        return child
    code = 99
    try:
        for number in ENDINGS:  # as the command does before it imports anything
            signal.signal(number, lambda *_: os._exit(130))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
        for stream, name in ((1, "out"), (2, log)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        gc.callbacks.clear()  # hypothesis has one, which the command of a user has not
        prepare()
        sys.argv = ["semisvm", *words]
        from semisvm.cli import main

        main()
    except SystemExit as ending:
        code = int(ending.code or 0)  # type: ignore[arg-type]
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(2, f"Traceback: {type(error).__name__}: {error}".encode())
    finally:
        os._exit(code)


def wait_for(child: int, seconds: float = SECONDS) -> int | None:
    """The exit code of a child, negative for a signal; None, and it is killed, if it takes too
    long.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def limit_of(recipe: Recipe) -> Callable[[], None]:
    """What the child does to itself before it runs the command."""
    fault = recipe["fault"]
    strength = recipe["moment"]

    def prepare() -> None:
        if fault == "file size":
            size = int(strength * 30_000)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        elif fault == "memory":
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            size = used + int(strength * 200e6)
            resource.setrlimit(resource.RLIMIT_AS, (size, size))
        elif fault == "few files":
            resource.setrlimit(resource.RLIMIT_NOFILE, (int(4 + 12 * strength),) * 2)
        elif fault == "no processes":
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        elif fault == "read-only folder" and os.getuid() == 0:
            os.setuid(NOBODY)
        elif fault == "stdout closed":
            os.close(1)
            sys.stdout = None  # type: ignore[assignment]
        elif fault == "stderr closed":
            os.close(2)
            sys.stderr = None  # type: ignore[assignment]
        elif fault in ("stdout full", "stderr full"):
            os.dup2(os.open("/dev/full", os.O_WRONLY), 1 if fault == "stdout full" else 2)
        elif fault == "reader gone":
            reader, writer = os.pipe()
            os.close(reader)
            os.dup2(writer, 1)

    return prepare


def check(recipe: Recipe) -> Verdict:
    """Prepare a folder, run the command under the fault, and look at what is left."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    before = os.getcwd()
    mounted = False
    try:
        content = model_bytes("supervised")
        if recipe["fault"] == "full disk":
            mounted = os.system(f"mount -t tmpfs -o size=64k none {folder} 2>/dev/null") == 0
            if not mounted:
                return Verdict("skipped", "no file system can be mounted here")
        os.chdir(folder)
        Path("model.skops").write_bytes(content)
        table_of({"seed": recipe["seed"], "n": 60}).to_csv("t.csv", index=False)
        if (
            recipe["has_old"]
            and recipe["command"] in OUTPUTS
            and not recipe["fault"].startswith("two")
        ):
            Path(OUTPUTS[recipe["command"]]).write_bytes(b"old")
        if mounted:
            _fill(recipe["moment"])
        return _run(recipe, folder)
    except Exception as error:
        found = of_error(error)
        return Verdict("traceback", found.told, found.where)
    finally:
        os.chdir(before)
        if mounted:
            os.system(f"umount -l {folder}")
        with contextlib.suppress(OSError):
            folder.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)


def _fill(share: float) -> None:
    """Leave that share of a small disk free."""
    free = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize
    with contextlib.suppress(OSError):
        Path("ballast").write_bytes(b"x" * int(free * (1 - share)))


def _run(recipe: Recipe, folder: Path) -> Verdict:
    fault = recipe["fault"]
    words = words_of(recipe)
    if fault == "two writers":
        return _run_two(recipe, folder)
    if fault == "read-only folder":
        for name in ("out", "err"):
            Path(name).touch()
            Path(name).chmod(0o666)
        folder.chmod(0o555)
    child = fork(words, limit_of(recipe))
    if fault.startswith("SIG"):
        time.sleep(recipe["moment"] * 1.5)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, getattr(signal, fault))
    elif fault == "folder gone":
        time.sleep(recipe["moment"] * 0.5)
        with contextlib.suppress(OSError):
            os.rename(folder, f"{folder}-moved")
            os.rename(f"{folder}-moved", folder)
    return _judge(recipe, wait_for(child), Path("err").read_text(errors="replace"))


ALLOWED = {
    "SIGKILL": (0, 1, 4, -signal.SIGKILL), "SIGTERM": (0, 1, 4, 130), "SIGINT": (0, 1, 4, 130), "memory": (0, 1, 2, 3, 4),
    "file size": (0, 1, 2, 4), "full disk": (0, 1, 2, 4), "read-only folder": (0, 1, 2, 4), "stdout full": (2,),
    "few files": (0, 1, 2, 3, 4), "no processes": (0, 1, 2, 3, 4),
}  # fmt: skip


def _judge(recipe: Recipe, code: int | None, told: str) -> Verdict:
    fault = recipe["fault"]
    if code is None:
        return Verdict("hang", f"{recipe['command']} under {fault}")
    if "Traceback" in told or "this is a bug" in told or "Exception ignored" in told:
        return Verdict("traceback", f"{fault}: {told.strip()[-300:]}")
    if code not in ALLOWED.get(fault, (0, 1)):
        return Verdict("exit code", f"{code} under {fault}: {told.strip()[-200:]}")
    output = OUTPUTS.get(recipe["command"])
    left = [path.name for path in Path().iterdir() if "unfinished" in path.name]
    if left and fault != "SIGKILL":
        return Verdict("left behind", f"{left[0]} under {fault}")
    if output is not None:
        found = _judge_output(Path(output), code, recipe)
        if found is not None:
            return found
    if code == 2:
        return Verdict("refused")
    return Verdict("done")


def _judge_output(path: Path, code: int, recipe: Recipe) -> Verdict | None:
    """The file is the old one, none, or complete; with exit code 0 it is complete."""
    if not path.exists():
        is_lost = recipe["has_old"] or (code == 0 and recipe["fault"] != "stdout full")
        return (
            Verdict("lost file", f"{path} after {recipe['fault']}, code {code}")
            if is_lost
            else None
        )
    content = path.read_bytes()
    if content == b"old":
        return Verdict("lost file", f"{path} was not written, code 0") if code == 0 else None
    if path.suffix == ".skops":
        is_whole = (
            run_words(["predict", str(path), "t.csv", "--out", "again.csv", "--force"])[0] == 0
        )
        Path("again.csv").unlink(missing_ok=True)
    elif path.suffix == ".html":
        is_whole = content.rstrip().endswith(b"</html>")
    else:
        is_whole = content.endswith(b"\n") and len(content.splitlines()) > 1
    if not is_whole and os.statvfs(".").f_bavail > 4:
        return Verdict("half a file", f"{path} after {recipe['fault']}, code {code}")
    return None


def _run_two(recipe: Recipe, folder: Path) -> Verdict:
    """Two fits at once: every result is in a file, or its command said no."""
    recipe = {**recipe, "command": "fit", "has_old": False}
    words = words_of(recipe)
    other = [
        word if word != "m.skops" or recipe["fault"] == "two writers" else "n.skops"
        for word in words
    ]
    one = fork(words, lambda: None, "err")
    two = fork(other, lambda: None, "err2")
    codes = [wait_for(one), wait_for(two)]
    told = Path("err").read_text() + Path("err2").read_text()
    if None in codes:
        return Verdict("hang", "two fits at once")
    if "Traceback" in told or "this is a bug" in told:
        return Verdict("traceback", told.strip()[-300:])
    if not set(codes) <= {0, 1, 2} or (2 in codes and 0 not in codes and 1 not in codes):
        return Verdict("exit code", f"{codes}: {told.strip()[-200:]}")
    models = [path for path in folder.glob("*.skops") if path.name != "model.skops"]
    n_kept = told.count("the result is in")
    if len(models) != sum(code != 2 for code in codes) + n_kept:
        return Verdict(
            "lost file", f"{codes}, {[path.name for path in models]}: {told.strip()[-200:]}"
        )
    return Verdict("done")
