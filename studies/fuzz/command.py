"""Random tables and options for the command, run in this process; what must hold of its exit code,
words and files.

A recipe is a table with some mutations and a sequence of commands on it. Every command ends with 0,
1, 2 or 4, without a traceback and without blaming itself; 0 means that its output is there and
complete, 2 that nothing was written; no input changes; no score that is written is anything
but a finite number.
"""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
import warnings
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.fuzz.verdict import Verdict, try_in_folder

Recipe = dict[str, Any]
FORMATS = ("csv", "csv", "csv", "tsv", "parquet", "csv.gz", "folder")
CELLS = (
    "", " ", "nan", "NA", "inf", "-inf", "1e300", "1e308", "1e-320", "1_5", "0x10", "1,5", "−3", "١٢", "=1+1",
    "@cmd", "ham",
    "spam", "true", "2024-02-30", "2024-01-01", "31.12.1999", "99999999999999999999", "'", '"', "a\nb", "a;b", "\t",
    "\x00",
    "é", "\U0001f600", "\u202e", "x" * 5000, "None", "-1", "0", "1e5", "--out", "$(id)", "../../x", "NaN", "red",
    "1.7976931348623157e308",
)  # fmt: skip
TEXT_MUTATIONS = (
    "cell", "cell", "cell", "cell", "column", "target cell", "header", "same header", "empty header", "no header",
    "only header",
    "cut", "byte", "bytes", "quote", "bom", "utf-16", "latin-1", "crlf", "cr", "blank lines", "ragged", "no newline",
    "empty",
    "nul", "huge line", "semicolons", "one class", "all labeled", "none labeled", "same rows", "one row",
    "many classes",
)  # fmt: skip
OPTIONS: dict[str, tuple[Any, ...]] = {
    "--method": ("supervised", "mixture", "self-training", "cluster", "laplacian", "label-mean", "transductive",
        "progressive",
                 "autosvc", "preference", "positive-unlabeled", "auto", "no-such", ""),
    "--kernel": ("linear", "rbf", "poly", "sigmoid", "precomputed", ""),
    "--C": ("1", "1e-300", "1e300", "0", "-1", "nan", "1_5", "x", "1e9", ""),
    "--gamma": ("0.5", "1e-300", "1e300", "0", "inf", "scale"),
    "--min-precision": ("0.5", "0.9", "1", "0", "1.1", "nan", "-1"),
    "--min-recall": ("0.5", "0.99", "0", "2"),
    "--confidence": ("0.9", "0.999999", "0", "1", "nan"),
    "--costs": ("ham=1,spam=5", "ham=0,spam=0", "ham=1", "ham=1,ham=2", "=,=", "ham=-1,spam=1",
        "ham=1e300,spam=1e-300", ","),
    "--positive": ("ham", "spam", "no", ""),
    "--type": ("a=text", "a=category", "a=date", "b=number", "a=", "=number", "zz=number", "c=number", "y=text"),
    "--drop": ("a", "b", "c", "y", "zz", ""),
    "--unlabeled": ("?", "ham", "", "0", "-1"),
    "--drawn": ("c", "a", "zz", "y"),
    "--seed": ("0", "1", "4294967295", "-1", "x"),
    "--max-unlabeled": ("0", "1", "-1", "100000000"),
    "--decimal": (".", ",", "x"),
    "--spelling": ("ask", "same", "exact", "x"),
    "--details": (None,),
    "--device": ("cpu", "cuda", "tpu", ""),
    "--cost-matrix": ("missing.csv", "data", ""),
    "--unlabeled-data": ("data", "missing.csv", "new"),
    "--target": ("y", "c", "a", "zz", ""),
    "--tune": (None,), "--trust-labels": (None,), "--json": (None,), "--force": (None,), "--debugg": (None,),
    "--resume": (None,),
}  # fmt: skip
AFTER = ("predict", "predict", "evaluate", "suggest", "report", "certify", "compare")


def make(random: np.random.Generator) -> Recipe:
    """Draw a table, what is done to it, options, and what follows the fit."""
    mutations = [
        {"what": str(random.choice(TEXT_MUTATIONS)), "seed": int(random.integers(1_000_000))}
        for _ in range(random.choice([0, 0, 0, 0, 1, 1, 2]))
    ]
    options = []
    for name in random.choice(list(OPTIONS), random.choice([0, 1, 2, 4]), replace=False):
        value = OPTIONS[name][
            int(len(OPTIONS[name]) * random.random() ** 2)
        ]  # the first are the usual ones
        options.append([str(name)] if value is None else [str(name), value])
    if not any(option[0] == "--method" for option in options) and random.random() < 0.8:
        options.append(["--method", str(random.choice(OPTIONS["--method"][:6]))])
    return {
        "format": str(random.choice(FORMATS)),
        "n": int(random.choice([2, 5, *[30] * 8])),
        "mutations": mutations,
        "options": options,
        "after": [str(word) for word in random.choice(AFTER, random.choice([0, 1, 2]))],
        "new": (
            [{"what": str(random.choice(TEXT_MUTATIONS)), "seed": int(random.integers(1_000_000))}]
            if random.random() < 0.7
            else []
        ),
        "out": str(
            random.choice(
                [*["m.skops"] * 12, "m", "no/m.skops", ".", "data", "ü.skops", "-m.skops"]
            )
        ),
        "seed": int(random.integers(1000)),
    }


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """Leave out a mutation, an option or a command, or make the file plain."""
    for name in ("mutations", "options", "after", "new"):
        for place in range(len(recipe[name])):
            yield {**recipe, name: recipe[name][:place] + recipe[name][place + 1 :]}
    for name, value in (("format", "csv"), ("out", "m.skops"), ("n", 30), ("seed", 0)):
        if recipe[name] != value:
            yield {**recipe, name: value}


def table_of(recipe: Recipe) -> pd.DataFrame:
    """Two columns of numbers, one of colors, and labels for half of the rows."""
    random = np.random.default_rng(recipe["seed"])
    n = recipe["n"]
    truth = np.arange(n) % 2
    X = random.normal(size=(n, 2)) + 2 * truth[:, None]
    labels = np.where(np.arange(n) % 4 < 2, np.array(["ham", "spam"])[truth], "")
    return pd.DataFrame(
        {
            "a": X[:, 0].round(3),
            "b": X[:, 1].round(3),
            "c": random.choice(["red", "blue"], n),
            "y": labels,
        }
    )


def mutate(content: bytes, what: str, seed: int) -> bytes:
    """Do one thing to the bytes of a file."""
    random = np.random.default_rng(seed)
    if what in ("cut", "byte", "bytes", "empty", "nul"):
        at = int(random.integers(max(len(content), 1)))
        changed = bytearray(content)
        for place in random.integers(
            0, max(len(content), 1), {"byte": 1, "bytes": 20}.get(what, 0)
        ):
            changed[place : place + 1] = bytes([int(random.integers(256))])
        return {
            "cut": content[:at],
            "empty": b"",
            "nul": content[:at] + b"\0" * 3 + content[at:],
        }.get(what, bytes(changed))
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return content
    if what in ("utf-16", "latin-1"):
        return text.encode(what, errors="replace")
    lines = [line.split(",") for line in text.split("\n")]
    return _mutate_lines(lines, what, random).encode("utf-8", "surrogatepass")


def _mutate_lines(lines: list[list[str]], what: str, random: np.random.Generator) -> str:
    row = int(random.integers(len(lines)))
    body = slice(1, None)
    column = int(random.integers(max(len(lines[row]), 1)))
    cell = str(random.choice(CELLS))
    if what == "cell" and lines[row]:
        lines[row][column] = cell
    elif what in (
        "column",
        "one class",
        "all labeled",
        "none labeled",
        "many classes",
        "target cell",
    ):
        column = column if what == "column" else -1
        for number, line in enumerate(lines[body]):
            if len(line) > 1 and (what != "target cell" or number == row):
                values = {
                    "one class": "ham" if line[column] else "",
                    "all labeled": "ham" if number % 2 else "spam",
                }
                values |= {"none labeled": "", "many classes": f"k{number}"}
                line[column] = values.get(what, cell)
    elif what in ("header", "same header", "empty header"):
        lines[0] = {"header": [cell, *lines[0][1:]], "same header": ["a"] * len(lines[0])}.get(
            what, [""] * len(lines[0])
        )
    elif what == "no header":
        lines = lines[1:]
    elif what in ("only header", "one row"):
        lines = lines[: 1 + (what == "one row")]
    elif what == "ragged":
        lines[row] = lines[row] + ["1", "2"] if random.random() < 0.5 else lines[row][:1]
    elif what == "same rows":
        lines[body] = [lines[min(1, len(lines) - 1)]] * 20
    elif what == "blank lines":
        lines.insert(row, [""])
    elif what == "huge line":
        lines[row] = ["x" * 200_000, *lines[row][1:]]
    text = "\n".join((";" if what == "semicolons" else ",").join(line) for line in lines)
    if what == "quote":
        at = int(random.integers(len(text) + 1))
        text = text[:at] + '"' + text[at:]
    ends = {"crlf": "\r\n", "cr": "\r"}
    text = text.replace("\n", ends[what]) if what in ends else text
    return {"bom": "\ufeff" + text, "no newline": text.rstrip("\n")}.get(what, text)


def write_table(folder: Path, name: str, recipe: Recipe, mutations: list[dict[str, Any]]) -> Path:
    """Write the table in its format, mutated."""
    frame = table_of(recipe)
    format = recipe["format"]
    path = folder / (name if format == "folder" else f"{name}.{format}")
    buffer = io.BytesIO()
    if format == "parquet":
        frame.to_parquet(buffer)
    else:
        buffer.write(frame.to_csv(index=False).encode())
    content = buffer.getvalue()
    for one in mutations:
        content = mutate(content, **one)
    if format == "tsv":
        content = content.replace(b",", b"\t")
    if format == "csv.gz":
        import gzip

        content = gzip.compress(content)
    if format == "folder":
        path.mkdir()
        (path / "1.csv").write_bytes(frame.to_csv(index=False).encode())
        (path / "2.csv").write_bytes(content)
        return path
    path.write_bytes(content)
    return path


def run_words(words: list[str]) -> tuple[int, str, str]:
    """Run the command in this process; return its exit code and what it printed."""
    from semisvm.cli import main

    out = io.StringIO()
    err = io.StringIO()
    before = sys.argv
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    hook = sys.unraisablehook
    sys.argv = ["semisvm", *words]
    code: Any = 0
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error", RuntimeWarning)
            main()
    except SystemExit as ending:
        code = ending.code
    finally:
        sys.argv = before
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return int(code or 0), out.getvalue(), err.getvalue()


def check(recipe: Recipe) -> Verdict:
    """Run the sequence in a folder of its own."""
    return try_in_folder(lambda folder: _run_sequence(folder, recipe), seconds=60)


def _run_sequence(folder: Path, recipe: Recipe) -> Verdict:
    data = write_table(folder, "data", recipe, recipe["mutations"])
    new = write_table(folder, "new", {**recipe, "seed": recipe["seed"] + 1}, recipe["new"])
    names = {"data": data.name, "new": new.name}
    options = [names.get(word, word) for option in recipe["options"] for word in option]
    if "--target" not in options:
        options += ["--target", "y"]
    out = names.get(recipe["out"], recipe["out"])
    compared = [word for word in options if word not in ("--force", "--resume")]
    follow_ups = {
        "predict": ["predict", out, new.name, "--out", "p.csv"],
        "evaluate": ["evaluate", out, new.name],
        "suggest": ["suggest", out, new.name, "-n", "3", "--out", "s.csv"],
        "report": ["report", out, new.name, "--out", "r.html"],
        "certify": [
            "certify",
            "start",
            out,
            new.name,
            "--min-precision",
            "0.6",
            "--state",
            "c.json",
            "--out",
            "l.csv",
        ],
        "compare": ["compare", data.name, *compared],
    }
    kinds = set()
    for words in [
        ["fit", data.name, *options, "--out", out],
        *(follow_ups[name] for name in recipe["after"]),
    ]:
        inputs = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        code, told, complaint = run_words(words)
        found = judge(folder, words, code, told, complaint, inputs)
        if found is not None:
            return found
        kinds.add(code)
    return Verdict("refused" if kinds == {2} else "done")


def judge(
    folder: Path,
    words: list[str],
    code: int,
    told: str,
    complaint: str,
    inputs: dict[str, bytes],
    may_change: Collection[str] = (),
) -> Verdict | None:
    """What is wrong about an ending; None if nothing is. `may_change` names the inputs that the
    command keeps up.
    """
    shown = f"{words[0]}: {complaint.strip()[-300:]}"
    if code not in (0, 1, 2, 4):
        return Verdict("exit code", f"{code} {shown}")
    if "Traceback" in complaint or "this is a bug" in complaint or "Exception ignored" in complaint:
        return Verdict("traceback", shown)
    if code == 2 and len(complaint.strip()) < 20:
        return Verdict("unhelpful", shown)
    allowed = (
        {*may_change, words[words.index("--out") + 1]}
        if "--force" in words and "--out" in words
        else {*may_change}
    )
    if words[0] == "certify":
        allowed |= {name for name in inputs if name.endswith(".ledger")}
    changed = [name for name, content in inputs.items() if (folder / name).read_bytes() != content]
    if set(changed) - allowed or {name for name in changed if name.startswith(("data", "new"))}:
        return Verdict("lost file", f"{changed} changed by {words[0]}")
    left = [path.name for path in folder.iterdir() if "unfinished" in path.name]
    if left:
        return Verdict("left behind", left[0])
    is_new = "--out" in words and _is_output(folder / words[words.index("--out") + 1])
    may_be_empty = words[0] == "certify" and words[1] in (
        "start",
        "tell",
        "export",
    )  # nothing to ask, nothing answered
    if "--out" in words and code == 0 and not is_new and not may_be_empty:
        return Verdict("lost file", f"{words[0]} ended with 0 and wrote nothing")
    is_file = (
        is_new and (folder / words[words.index("--out") + 1]).is_file()
    )  # the parts of a folder stay: it goes on
    if code == 2 and is_file and words[words.index("--out") + 1] not in inputs:
        return Verdict("exit code", f"2 although the file was written: {shown}")
    if "--json" in words and code in (0, 1, 4):
        json.loads(told, parse_constant=_refuse_constant)
    if words[0] == "predict" and code == 0:
        return _judge_prediction(folder / "p.csv")
    return None


def _is_output(path: Path) -> bool:
    """Whether a file is there, or a folder of parts, which is what the rows of a folder become."""
    return path.is_file() or (path / "_semisvm.json").is_file()


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"JSON holds {name}")


def _judge_prediction(path: Path) -> Verdict | None:
    if path.is_dir():
        frame = pd.concat([pd.read_parquet(part) for part in sorted(path.glob("*.parquet"))])
    else:
        frame = pd.read_csv(path, dtype={"label": str}, keep_default_na=False)
    if not np.isfinite(frame.score.astype(float)).all():
        return Verdict("nan", "a score that was written is not finite")
    return Verdict("label", "an empty label was written") if (frame.label == "").any() else None
