"""Pairs of writers: two programs that save one campaign, tell it answers, or start campaigns on one
model and give each its first answer, at the same moment; one of them may be killed.

Every answer and every campaign of a program that ended well is kept, whatever the other one does.
Two different answers for one row are refused in words, and then nothing of that program is kept.
The model file stays as it is.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from studies.fuzz.command import run_words, table_of
from studies.fuzz.faults import wait_for
from studies.fuzz.models import model_bytes
from studies.fuzz.verdict import Verdict, try_in_folder

Recipe = dict[str, Any]
KINDS = ("save", "save", "tell", "tell", "start", "start", "save and tell")
N_ROWS = 60
STATE = Path("c.json")
LEDGER = Path("m.skops.ledger")


def make(random: np.random.Generator) -> Recipe:
    """Draw what the two programs do, how much they share, and whether one is killed."""
    return {
        "kind": str(random.choice(KINDS)),
        "n_answers": int(random.integers(1, 12)),
        "n_shared": int(random.choice([0, 0, 0, 1, 5])),
        "disagree": bool(random.random() < 0.5),
        "delay": round(float(random.random() ** 2) / 20, 4),
        "killed_after": float(random.random() / 10) if random.random() < 0.2 else None,
        "seed": int(random.integers(1000)),
    }


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """Nobody is killed, nothing is shared, one answer each."""
    plain = {"killed_after": None, "n_shared": 0, "n_answers": 1, "delay": 0.0}
    for name, value in plain.items():
        if recipe[name] != value:
            yield {**recipe, name: value}


def check(recipe: Recipe) -> Verdict:
    """Run the two programs in a folder of their own."""

    def run(folder: Path, content: bytes) -> Verdict:
        Path("m.skops").write_bytes(content)
        table_of({"seed": recipe["seed"], "n": 2 * N_ROWS}).to_csv("t.csv", index=False)
        found = _start_both(recipe) if recipe["kind"] == "start" else _answer_both(recipe)
        if Path("m.skops").read_bytes() != content:
            return Verdict("lost file", "the model has changed")
        left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
        if left and recipe["killed_after"] is None:
            return Verdict("left behind", left[0])
        return found

    return try_in_folder(run, lambda: model_bytes("supervised"), seconds=60)


def _run_both(recipe: Recipe, tasks: list[Callable[[], int]]) -> list[int | None]:
    """Fork both, let the second wait a little, kill the first if the recipe says so; return their
    exit codes.
    """
    children = []
    for number, task in enumerate(tasks):
        child = os.fork()
        if child == 0:
            code = 99
            try:
                time.sleep(recipe["delay"] * number)
                code = task()
            except BaseException as error:
                Path(f"err{number}").write_text(f"Traceback: {error!r}")
            finally:
                os._exit(code)
        children.append(child)
    if recipe["killed_after"] is not None:
        time.sleep(recipe["killed_after"])
        os.kill(children[0], signal.SIGKILL)
    return [wait_for(child) for child in children]


def _command(words: list[str], number: int) -> Callable[[], int]:
    def run() -> int:
        code, _, told = run_words(words)
        Path(f"err{number}").write_text(told)
        return code

    return run


def _judge_endings(recipe: Recipe, codes: list[int | None], may_refuse: bool) -> Verdict | None:
    told = "".join(path.read_text() for path in Path().glob("err[01]"))
    if None in codes:
        return Verdict("hang", f"{recipe['kind']}: {codes}")
    if "Traceback" in told or "this is a bug" in told:
        return Verdict("traceback", told[-300:])
    usual = {0, 2} if may_refuse else {0}
    allowed = usual | {-signal.SIGKILL} if recipe["killed_after"] is not None else usual
    if not set(codes) <= allowed or (0 not in codes and recipe["killed_after"] is None):
        return Verdict("exit code", f"{recipe['kind']}: {codes} {told[-200:]}")
    return None


def _start(name: str) -> list[str]:
    words = ["certify", "start", "m.skops", "t.csv", "--min-precision", "0.6", "-n", str(N_ROWS)]
    return [*words, "--state", f"{name}.json", "--out", f"{name}.csv"]


def _start_both(recipe: Recipe) -> Verdict:
    codes = _run_both(recipe, [_start_and_tell(name, k) for k, name in enumerate("ab")])
    found = _judge_endings(recipe, codes, may_refuse=False)
    if found is not None:
        return found
    entries = json.loads(LEDGER.read_text())["campaigns"] if LEDGER.exists() else []
    counted = {entry["id"] for entry in entries if entry["answered"]}
    for name, code in zip("ab", codes, strict=True):
        if (
            code == 0
            and json.loads(Path(f"{name}.json").read_text())["ledger"][-1]["id"] not in counted
        ):
            return Verdict("lost", f"campaign {name} is not in the ledger of {len(counted)}")
    return Verdict("done")


def _start_and_tell(name: str, number: int) -> Callable[[], int]:
    """Start a campaign, and give it the first answer, with which it counts."""
    from semisvm import Campaign

    def run() -> int:
        code = _command(_start(name), number)()
        if code == 0:
            campaign = Campaign.load(f"{name}.json")
            campaign.tell(campaign.draw(1), ["spam"])
            campaign.save(f"{name}.json")
        return code

    return run


def _answer_both(recipe: Recipe) -> Verdict:
    from semisvm import Campaign

    code, _, told = run_words(_start("c"))
    if code:
        return Verdict("refused", told)
    random = np.random.default_rng(recipe["seed"])
    campaign = Campaign.load(STATE)
    order = random.permutation(campaign.n_rows)
    n_shared = min(recipe["n_shared"], recipe["n_answers"])
    n = recipe["n_answers"]
    rows = [order[:n], np.r_[order[:n_shared], order[n : 2 * n - n_shared]]]
    first = random.choice(["ham", "spam"], n)
    second = random.choice(["ham", "spam"], n)
    second[:n_shared] = first[:n_shared]
    is_contradicted = recipe["disagree"] and n_shared > 0
    if is_contradicted:
        second[0] = "ham" if first[0] == "spam" else "spam"
    answers = [
        dict(zip(own.tolist(), map(str, labels), strict=True))
        for own, labels in zip(rows, (first, second), strict=True)
    ]
    by_command = {"save": (False, False), "tell": (True, True)}.get(recipe["kind"], (False, True))
    meet = recipe["kind"] == "save" and recipe["delay"] == 0
    tasks = [_answer(own, k, by_command[k], meet) for k, own in enumerate(answers)]
    codes = _run_both(recipe, tasks)
    found = _judge_endings(recipe, codes, may_refuse=is_contradicted)
    if found is not None:
        return found
    kept = Campaign.load(STATE).labels
    expected = [own for own, code in zip(answers, codes, strict=True) if code == 0]
    for own in expected:
        lost = [row for row, label in own.items() if row not in kept]
        if lost:
            return Verdict("lost", f"{len(lost)} of {len(own)} answers, {recipe['kind']} {codes}")
    known = {row for own in answers for row in own}
    if not set(kept) <= known or any(
        kept[row] not in {own.get(row) for own in answers} for row in kept
    ):
        return Verdict("wrong", "an answer that nobody gave")
    if kept and not json.loads(LEDGER.read_text())["campaigns"][0]["answered"]:
        return Verdict("wrong", "an answered campaign does not count")
    return Verdict("done" if 2 not in codes else "refused")


def _answer(
    answers: dict[int, str], number: int, by_command: bool, meet: bool
) -> Callable[[], int]:
    """Give the answers through the command and a CSV file, or in Python; with `meet`, both programs
    load the campaign before either saves it.
    """
    import pandas as pd

    from semisvm import Campaign
    from semisvm.tables.certify import file_rows

    if by_command:
        campaign = Campaign.load(STATE)
        places = file_rows(campaign)
        column = campaign.about["row_column"]
        lines = [{column: int(places[row]) + 1, "y": label} for row, label in answers.items()]
        pd.DataFrame(lines).to_csv(f"answers{number}.csv", index=False)
        return _command(["certify", "tell", str(STATE), f"answers{number}.csv"], number)

    def save() -> int:
        campaign = Campaign.load(STATE)
        time.sleep(0.002)
        if meet:
            Path(f"loaded{number}").touch()
            deadline = time.monotonic() + 10
            while not Path(f"loaded{1 - number}").exists() and time.monotonic() < deadline:
                time.sleep(0.001)
        campaign.tell(list(answers), list(answers.values()))
        try:
            campaign.save(STATE)
        except ValueError as error:
            Path(f"err{number}").write_text(str(error))
            return 2
        return 0

    return save
