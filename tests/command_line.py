"""The command as a person runs it, without the wait for a new process; and tables as people have
them.
"""

import csv
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from files import write
from semisvm.cli import main

COMMAND = [sys.executable, "-c", "from semisvm.cli import main; main()"]  # in a new process


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def run_command(capsys, *arguments) -> Done:
    """Run `semisvm` with these words in this process."""
    before = sys.argv
    sys.argv = ["semisvm", *map(str, arguments)]
    capsys.readouterr()
    try:
        with pytest.raises(SystemExit) as ending:
            main()
    finally:
        sys.argv = before
    printed = capsys.readouterr()
    return Done(int(ending.value.code or 0), printed.out, printed.err)


SPAM = ["win", "prize", "money", "free", "offer", "click", "cash", "now", "urgent"]
HAM = ["meeting", "report", "lunch", "project", "minutes", "agenda", "notes", "budget", "team"]
COMMON = ["the", "a", "to", "of", "and", "please", "today"]


def write_messy(path, n_rows=240, share_labeled=0.3, seed=0) -> list[str]:
    """Write mails with a byte order mark, quoted newlines, dates, categories, text, empty cells;
    return all labels.
    """
    rng = np.random.default_rng(seed)
    truth = []
    with open(path, "w", encoding="utf-8-sig", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["id", "sent", "country", "size", "subject", "urgent", "label"])
        for number in range(n_rows):
            is_spam = rng.random() < 0.4
            truth.append("spam" if is_spam else "ham")
            words = [
                *rng.choice(SPAM if is_spam else HAM, 4),
                *rng.choice(COMMON, 3),
                *rng.choice(SPAM + HAM, 2),
            ]
            rng.shuffle(words)
            subject = f'{" ".join(words[:4])}\n"{", ".join(words[4:])}"'
            sent = (
                f"{rng.integers(1, 28)}.{rng.integers(1, 13)}.2024" if rng.random() > 0.05 else ""
            )
            country = str(rng.choice(["US", "NG", "RU"] if is_spam else ["DE", "FR", "US"]))
            size = (
                f"{rng.normal(3 if is_spam else 1, 1.5):.3f}" if rng.random() > 0.1 else "unknown"
            )
            label = truth[-1] if rng.random() < share_labeled else ""
            table.writerow(
                [
                    f"m{number:05d}",
                    sent,
                    country if rng.random() > 0.05 else "",
                    size,
                    subject,
                    "no",
                    label,
                ]
            )
    return truth


def write_rows(path, n=80, share_labeled=0.5, names=("ham", "spam")):
    """Write two columns of numbers, one of colors, and the target y; return the path."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2
    X = rng.normal(size=(n, 2)) + 2 * truth[:, None]
    cells = [names[code] if i < share_labeled * n else "" for i, code in enumerate(truth)]
    colors = rng.choice(["red", "blue"], n)
    rows = (
        f"{a:.3f},{b:.3f},{color},{y}\n" for (a, b), color, y in zip(X, colors, cells, strict=True)
    )
    return write(path.parent, path.name, "a,b,c,y\n" + "".join(rows))


def copy_fitted_mails(capsys, folder, own):
    """Copy mails.csv of a folder into a test's own, with a model of it that is fitted once."""
    model = folder / "spam.skops"
    if not model.exists():
        words = (
            "--target",
            "label",
            "--positive",
            "spam",
            "--method",
            "supervised",
            "--out",
            model,
        )
        assert run_command(capsys, "fit", folder / "mails.csv", *words).code == 0
    for name in ("mails.csv", "spam.skops"):
        (own / name).write_bytes((folder / name).read_bytes())
