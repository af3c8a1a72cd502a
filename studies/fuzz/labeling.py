"""Random campaigns: `certify start`, `tell`, `show`, `apply`, `export` and `label`, with odd
answers, keys and states.

A recipe is a model, a pool, options of the target and a sequence of steps. What must hold is what
must hold of every command (`command`); moreover a certified model can predict, and a state file
that was damaged is refused in words.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from studies.fuzz.command import CELLS, TEXT_MUTATIONS, judge, mutate, run_words, table_of
from studies.fuzz.models import METHODS, model_bytes
from studies.fuzz.verdict import Verdict, try_in_folder

Recipe = dict[str, Any]
STEPS = ("tell", "tell", "tell", "show", "apply", "apply", "export", "label", "label", "start")
TARGETS = (
    ["--min-precision", "0.6"], ["--min-precision", "0.6"], ["--min-precision", "0.99"], ["--min-recall", "0.5"],
    ["--min-recall", "0.5", "--min-precision", "0.5"], ["--min-f", "0.5"], ["--min-f", "0.5", "--beta", "2"],
    ["--costs", "ham=1,spam=5", "--max-cost", "0.9"], ["--max-cost", "0.3"], [], ["--min-precision", "0"],
    ["--min-precision", "nan"], ["--min-f", "0.5", "--beta", "1e300"], ["--min-f", "0.5", "--beta", "0"],
    ["--costs", "ham=1e-300,spam=1e300", "--max-cost", "1"],
)  # fmt: skip
OPTIONS = (
    ["--confidence", "0.5"], ["--confidence", "0.999999"], ["--confidence", "1"], ["--claim", "new rows"],
    ["--dont-know", "leave out"], ["--after", "c.json"], ["--after", "missing"], ["--positive", "ham"],
    ["--positive", "no"], ["--unlabeled", "ham"], ["-n", "1"], ["-n", "1000000"],
    ["--json"], ["--force"],
)  # fmt: skip
KEYS = "1212121212?luq\x7f\x03 9é\x1b"


def make(random: np.random.Generator) -> Recipe:
    """Draw a model, a pool, a target and what follows."""
    n_steps = int(random.choice([1, 2, 4, 6]))
    options = [
        OPTIONS[int(place)]
        for place in random.integers(0, len(OPTIONS), random.choice([0, 0, 1, 2]))
    ]
    return {
        "method": str(random.choice(METHODS)),
        "n": int(random.choice([0, 1, 5, 40, 40, 200])),
        "target": TARGETS[int(len(TARGETS) * random.random() ** 2)],
        "options": options,
        "steps": [str(step) for step in random.choice(STEPS, n_steps)],
        "answers": str(
            random.choice(["right", "right", "right", "some", "unsure", "wrong", "odd", "none"])
        ),
        "pool": _mutations(random, 0.3),
        "told": _mutations(random, 0.3),
        "state": str(random.choice([*["whole"] * 12, "flip", "cut", "empty", "number", "missing"])),
        "keys": "".join(random.choice(list(KEYS), int(random.integers(0, 40)))),
        "seed": int(random.integers(1000)),
    }


def _mutations(random: np.random.Generator, share: float) -> list[dict[str, Any]]:
    if random.random() >= share:
        return []
    return [{"what": str(random.choice(TEXT_MUTATIONS)), "seed": int(random.integers(1_000_000))}]


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """Leave out a step, an option or a mutation, or make something plain."""
    for name in ("steps", "options", "pool", "told"):
        for place in range(len(recipe[name])):
            yield {**recipe, name: recipe[name][:place] + recipe[name][place + 1 :]}
    plain = {
        "method": "supervised",
        "n": 40,
        "target": TARGETS[0],
        "answers": "right",
        "state": "whole",
        "seed": 0,
    }
    for name, value in plain.items():
        if recipe[name] != value:
            yield {**recipe, name: value}
    if recipe["keys"]:
        yield {**recipe, "keys": recipe["keys"][: len(recipe["keys"]) // 2]}


def check(recipe: Recipe) -> Verdict:
    """Run the campaign in a folder of its own."""

    def run(folder: Path, content: bytes) -> Verdict:
        Path("m.skops").write_bytes(content)
        pool = table_of(recipe).assign(y="").to_csv(index=False).encode()
        for one in recipe["pool"]:
            pool = mutate(pool, **one)
        Path("pool.csv").write_bytes(pool)
        return _run_steps(folder, recipe)

    return try_in_folder(run, lambda: model_bytes(recipe["method"]), seconds=60)


def _run_steps(folder: Path, recipe: Recipe) -> Verdict:
    options = [word for option in recipe["options"] for word in option]
    alone = [
        word
        for option in recipe["options"]
        if option[0] in ("--json", "--force")
        for word in option
    ]
    start = [
        "certify",
        "start",
        "m.skops",
        "pool.csv",
        *recipe["target"],
        *options,
        "--state",
        "c.json",
    ]
    own = [word for option in recipe["options"] if option[0] not in ("-n", "--format", "--json", "--force")
           for word in option]  # fmt: skip
    codes = set()
    asked = "l0.csv"
    for number, step in enumerate(["start", *recipe["steps"]]):
        out = ["--out", f"l{number}.csv"]
        if step == "tell":
            _answer(Path(asked), recipe, number)
        words = {
            "start": [*start, *out],
            "tell": ["certify", "tell", "c.json", asked, *out, *alone],
            "show": ["certify", "show", "c.json", *alone],
            "apply": ["certify", "apply", "c.json", "--out", f"a{number}.skops", *alone],
            "export": ["certify", "export", "c.json", "--out", f"e{number}.csv", *alone],
            "label": ["label", "m.skops", "pool.csv", *recipe["target"], *own, "--state", "c.json"],
        }[step]
        found, code = _run(folder, words, recipe["keys"])
        if found is not None:
            return found
        codes.add(code)
        asked = out[1] if (folder / out[1]).exists() else asked
        if step == "apply" and code == 0:
            found, code = _run(
                folder, ["predict", words[4], "pool.csv", "--out", "p.csv", "--force"], ""
            )
            if found is not None or code != 0:
                return found or Verdict("lost file", "a certified model can't predict the pool")
        if step == "start" and number == 0:
            _damage(Path("c.json"), recipe)
    return Verdict("refused" if codes == {2} else "done")


def _run(folder: Path, words: list[str], keys: str) -> tuple[Verdict | None, int]:
    inputs = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    left = iter(keys)

    def read_key() -> str:
        return next(left, "")

    with patch("click.getchar", read_key), patch.object(sys, "stdin", _Terminal()):
        code, told, complaint = run_words(words)
    may_change = (
        {"m.skops.ledger", "c.json"}
        if words[:2] != ["certify", "show"] and words[0] != "predict"
        else set()
    )
    return judge(folder, words, code, told, complaint, inputs, may_change), code


class _Terminal:
    """A stdin that says that somebody sits before it."""

    def isatty(self) -> bool:
        return True


def _answer(path: Path, recipe: Recipe, number: int) -> None:
    """Fill in the rows that a campaign asks for, if it wrote any."""
    if not path.exists():
        return
    kind = recipe["answers"]
    random = np.random.default_rng(recipe["seed"] + number)
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError:
        return
    if kind != "none" and {"a", "y"} <= set(frame.columns):
        truth = np.array(["spam" if _number(cell) > 1 else "ham" for cell in frame.a], dtype=object)
        odd = random.choice(CELLS, len(frame))
        unsure = random.random(len(frame)) < 0.3
        frame["y"] = {
            "right": truth,
            "some": np.where(unsure, "", truth),
            "unsure": np.where(unsure, "?", truth),
            "wrong": np.where(truth == "ham", "spam", "ham"),
            "odd": np.where(unsure, odd, truth),
        }[kind]
    content = frame.to_csv(index=False).encode("utf-8", "surrogatepass")
    for one in recipe["told"]:
        content = mutate(content, **one)
    path.write_bytes(content)


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return 0.0


def _damage(path: Path, recipe: Recipe) -> None:
    """Do to the state file what the recipe says."""
    how = recipe["state"]
    random = np.random.default_rng(recipe["seed"])
    if how == "whole" or not path.exists():
        return
    content = bytearray(path.read_bytes())
    at = int(random.integers(max(len(content), 1)))
    if how == "missing":
        path.unlink()
        return
    if how == "flip":
        content[at] ^= 1 << int(random.integers(8))
    elif how == "number":
        digits = [place for place, byte in enumerate(content) if chr(byte).isdigit()]
        if digits:
            content[int(random.choice(digits))] = ord("7")
    path.write_bytes({"empty": b"", "cut": bytes(content[:at])}.get(how, bytes(content)))
