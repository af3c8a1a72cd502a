"""Links and permissions: outputs, inputs, models and campaigns behind links of every kind, with any
mode, and beside files that somebody has prepared.

A link stays a link, and what it points to is written, with its mode; a private file stays private;
a file of another name is never touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from studies.fuzz.command import run_words, table_of
from studies.fuzz.models import model_bytes
from studies.fuzz.verdict import Verdict, try_in_folder

Recipe = dict[str, Any]
COMMANDS = ("predict", "suggest", "report", "fit", "certify", "tell")
OUTPUTS = ("new", "file", "link", "dangling link", "link in a circle", "hard link", "linked folder")
INPUTS = ("file", "link", "link to a link", "link in a circle")
MODES = (0o600, 0o640, 0o644, 0o400, 0o666)
SECRET = b"of somebody else"


def make(random: np.random.Generator) -> Recipe:
    """Draw a command, where it writes, what it reads, and modes."""
    return {
        "command": str(random.choice(COMMANDS)),
        "output": str(random.choice(OUTPUTS)),
        "input": str(random.choice(INPUTS, p=[0.5, 0.2, 0.2, 0.1])),
        "mode": int(random.choice(MODES)),
        "model_mode": int(random.choice(MODES[:3])),
        "force": bool(random.random() < 0.7),
        "prepared": bool(random.random() < 0.3),
        "seed": int(random.integers(1000)),
    }


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """Plain files."""
    plain = {"input": "file", "output": "new", "mode": 0o644, "prepared": False, "force": True}
    for name, value in plain.items():
        if recipe[name] != value:
            yield {**recipe, name: value}


def check(recipe: Recipe) -> Verdict:
    """Run the command, and look at links, modes and other files."""
    return try_in_folder(
        lambda folder, content: _run(recipe, content), lambda: model_bytes("supervised")
    )


def _run(recipe: Recipe, content: bytes) -> Verdict:
    Path("m.skops").write_bytes(content)
    Path("m.skops").chmod(recipe["model_mode"])
    table_of({"seed": recipe["seed"], "n": 60}).to_csv("t.csv", index=False)
    if recipe["command"] == "tell":
        start = ["certify", "start", "m.skops", "t.csv", "--min-precision", "0.6"]
        run_words([*start, "--state", "c.json", "--out", "l.csv"])
        Path("c.json").chmod(recipe["model_mode"])
    data = _linked_input(recipe["input"])
    out, real = _place_output(recipe)
    if recipe["prepared"]:  # as somebody would who guesses names
        Path("victim").write_bytes(SECRET)
        for name in (f".{out.name}.unfinished", f".{real.name}.1.unfinished", f".{out.name}.lock"):
            if not os.path.lexists(name):
                os.symlink("victim", name)
    force = ["--force"] if recipe["force"] else []
    words = {
        "predict": ["predict", "m.skops", data],
        "suggest": ["suggest", "m.skops", data],
        "report": ["report", "m.skops"],
        "fit": ["fit", data, "--target", "y", "--method", "supervised"],
        "certify": ["certify", "start", "m.skops", data, "--min-precision", "0.6", "--state", "s.json"],
        "tell": ["certify", "tell", "c.json", "l.csv"],
    }[recipe["command"]]  # fmt: skip
    is_old = real.is_file()
    code, _, told = run_words([*words, "--out", str(out), *force])
    if "this is a bug" in told or "Traceback" in told or code not in (0, 1, 2, 4):
        return Verdict("traceback", told[-300:])
    found = _judge(recipe, out, real, code, is_old)
    if found is not None:
        return found
    if Path("m.skops").read_bytes() != content:
        return Verdict("lost file", "the model has changed")
    return Verdict("refused" if code == 2 else "done", told)


def _linked_input(kind: str) -> str:
    if kind == "file":
        return "t.csv"
    os.symlink("t.csv" if kind == "link" else "second.csv", "first.csv")
    if kind == "link to a link":
        os.symlink("t.csv", "second.csv")
    elif kind == "link in a circle":
        os.symlink("first.csv", "second.csv")
    return "first.csv"


def _place_output(recipe: Recipe) -> tuple[Path, Path]:
    """Where the command is told to write, and the file that it is to write."""
    suffix = {"report": ".html", "fit": ".skops"}.get(recipe["command"], ".csv")
    out = Path(f"out{suffix}")
    real = Path(f"real{suffix}")
    kind = recipe["output"]
    if kind in ("file", "link", "hard link"):
        old = out if kind == "file" else real
        old.write_bytes(b"old")
        old.chmod(recipe["mode"])
        if kind == "link":
            os.symlink(real, out)
        elif kind == "hard link":
            os.link(real, out)
        return out, (real if kind == "link" else out)
    if kind == "dangling link":
        os.symlink(real, out)
        return out, real
    if kind == "link in a circle":
        os.symlink(real, out)
        os.symlink(out, real)
        return out, Path("nothing")
    if kind == "linked folder":
        Path("folder").mkdir()
        os.symlink("folder", "shortcut")
        return Path("shortcut") / out, Path("folder") / out
    return out, out


def _judge(recipe: Recipe, out: Path, real: Path, code: int, is_old: bool) -> Verdict | None:
    kind = recipe["output"]
    mode = real.stat().st_mode & 0o777 if real.exists() else 0
    if kind in ("link", "dangling link", "link in a circle") and not out.is_symlink():
        return Verdict("lost file", f"the link is gone: {kind}, code {code}")
    if is_old and mode != recipe["mode"]:
        return Verdict("mode", f"{recipe['mode']:o} became {mode:o}: {kind}, code {code}")
    if is_old and not recipe["force"] and real.read_bytes() != b"old":
        return Verdict("lost file", f"replaced without --force: {kind}")
    may_be_empty = recipe["command"] == "tell" and code == 0  # nothing left to ask
    if code == 0 and not may_be_empty and (not real.exists() or real.read_bytes() == b"old"):
        return Verdict("lost file", f"nothing was written: {kind}")
    if kind == "hard link" and Path(f"real{out.suffix}").read_bytes() != b"old":
        return Verdict("lost file", "another name of the old file has changed")
    if recipe["prepared"] and Path("victim").read_bytes() != SECRET:
        return Verdict("lost file", "a prepared link was followed")
    for name in ("m.skops", "m.skops.ledger", "c.json"):
        own = Path(name)
        if own.exists() and own.stat().st_mode & 0o777 & ~recipe["model_mode"]:
            return Verdict("mode", f"{name} became {own.stat().st_mode & 0o777:o}")
    left = [path.name for path in Path().iterdir() if "unfinished" in path.name]
    if [name for name in left if not Path(name).is_symlink()]:
        return Verdict("left behind", left[0])
    return None
