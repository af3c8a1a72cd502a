"""`semisvm demo`: the main job, start to end, on data that comes with scikit-learn.

Breast-cancer samples with 90% of the labels hidden, and a target: find at least 97% of the malignant samples. The same
functions as in `semisvm fit` are called, and write into a new folder. The hidden labels, which do not exist in a real
case, then show what the chosen threshold gives.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen

if TYPE_CHECKING:
    from semisvm.decision import Estimate

SHARE_LABELED = 0.1
MIN_RECALL = 0.97
TARGET, POSITIVE, NEGATIVE = "diagnosis", "malignant", "benign"
FOLDER = "semisvm-demo"


@click.command("demo", short_help="The main job on bundled data, in seconds.")
@click.option("--seed", type=shared.SEED, default=0, show_default=True, help="Draws the rows that keep their labels.")
@click.option("--out", type=shared.FILE, metavar="DIR", help=f"A new folder; by default {FOLDER}, or {FOLDER}-2 ...")
def demo_command(seed: int, out: Path | None) -> None:
    """Fit breast-cancer data with few labels and a recall to reach, in seconds.

    Writes the table, the model and the report into a new folder; existing files are not changed.
    """
    from semisvm.report import write_report
    from semisvm.tables import save
    from semisvm.tables.fit import fit_model
    from semisvm.tables.methods import Settings
    from semisvm.tables.read_training import read_training
    from semisvm.tables.suggest import N_SUGGESTED, suggest_training_rows

    screen = Screen()
    folder = _make_folder(out)
    table, hidden = _write_tables(folder, seed)
    model_file, report = folder / "cancer.skops", folder / "report.html"
    screen.console.print(
        f"The same as: [bold]semisvm fit {table} --target {TARGET} --positive {POSITIVE} --min-recall {MIN_RECALL} "
        f"--out {model_file} --report {report}[/]\n"
    )
    with screen.working():
        training = read_training([table], TARGET, positive=POSITIVE)
        fitted = fit_model(training, Settings(min_recall=MIN_RECALL, seed=seed), tune=True, tell=screen.tell)
        baseline = fit_model(training, Settings(seed=seed), method="supervised", tell=screen.tell)
        save(fitted.model, model_file)
        suggestions = tuple(suggest_training_rows(fitted.model, training, N_SUGGESTED))
        write_report(replace(fitted.model.summary, suggestions=suggestions), report)
    _show_demo(screen, fitted.model, baseline.model, hidden, model_file, table)
    n_positive = fitted.model.summary.operating_points[POSITIVE].counts.positives
    screen.console.print(
        f"\n[bold]What to take from it[/]\nRead the interval, not the point: {n_positive} malignant rows among the "
        f"labels can't tell a recall of {MIN_RECALL} from one somewhat below.\nWhere it matters:\n"
        f"1. For a promise, certify by sampling: rows are drawn at random, you label them until the target is proved, "
        f"and the price is shown first:\n"
        f"   semisvm certify start {model_file} {table} --min-recall {MIN_RECALL} --state cancer.campaign "
        f"--out to-label.csv\n"
        f"2. To improve the model, label the rows that it is least sure of, and fit both files together:\n"
        f"   semisvm suggest {model_file} {table} -n 50 --out to-improve.csv\n"
        f"3. Ask for more than you need: a higher --min-recall leaves room for chance, and costs precision.\n",
        soft_wrap=True,
    )
    screen.say(f"Model:   {model_file}\nReport:  {report}   (open it in a browser; it needs no network)")


def _show_demo(screen: Screen, model: Any, baseline: Any, hidden: Path, model_file: Path, table: Path) -> None:
    """Print what the labels say, and what the hidden labels say about it."""
    from rich.table import Table

    from semisvm.cli.screen import format_estimate, show_first
    from semisvm.tables.evaluate import evaluate_file

    console = screen.console
    show_first(console, model.summary, str(model_file), str(table))
    console.print("\n[bold]What the hidden labels say[/] (never used above)")
    grid = Table("", "precision", "recall", "F1", box=None, padding=(0, 2, 0, 0))
    for name, one in (("an ordinary SVM", baseline), ("this model", model)):
        point = evaluate_file(one, hidden).points[POSITIVE]
        grid.add_row(name, *map(format_estimate, (point.precision, point.recall, point.f_score)))
    console.print(grid)
    console.print(_say_truth(model.summary.operating_points[POSITIVE].recall, point.recall.value))


def _say_truth(promised: Estimate, found: float) -> str:
    """Say whether the recall that was asked for is kept, and whether it is in the interval."""
    told = f"{'inside' if promised.low <= found <= promised.high else 'outside'} the interval that the labels gave"
    kept = "kept" if found >= MIN_RECALL else "missed"
    return f"Asked {MIN_RECALL}, found {found:.3f}: {kept}, {told} ({promised.low:.2f} to {promised.high:.2f})."


def _make_folder(out: Path | None) -> Path:
    """Create a new folder: the one asked for, or the first default name that is not taken."""
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise click.UsageError(f"{out} exists and is not an empty folder: choose another --out.")
        out.mkdir(parents=True, exist_ok=True)
        return out
    number = 1
    while True:
        folder = Path(FOLDER if number == 1 else f"{FOLDER}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder


def _write_tables(folder: Path, seed: int) -> tuple[Path, Path]:
    """Write the table with 90% of the labels left empty, and a table of those rows with their labels."""
    from sklearn.datasets import load_breast_cancer

    from semisvm.datasets import split

    samples = load_breast_cancer()
    is_malignant = (samples.target == 0).astype(int)
    rows = split(is_malignant, labeled=SHARE_LABELED, test=0, random_state=seed)
    names = [NEGATIVE, POSITIVE]
    header = [*map(str, samples.feature_names), TARGET]
    known = set(rows.labeled.tolist())
    labels = [names[code] for code in is_malignant]
    shown = [label if i in known else "" for i, label in enumerate(labels)]
    files = {
        folder / "samples.csv": range(len(labels)),
        folder / "hidden-labels.csv": rows.unlabeled.tolist(),
    }
    for (path, kept), column in zip(files.items(), (shown, labels), strict=True):
        with open(path, "x", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows([*(f"{value:g}" for value in samples.data[i]), column[i]] for i in kept)
    return tuple(files)  # type: ignore[return-value]
