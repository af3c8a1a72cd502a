"""`semisvm demo`: label until certified, start to end, on data that comes with scikit-learn.

Images of digits, 80 of 1,797 with a label: is it a six? The target: nine of ten rows that are called a six are one. The
labels that are hidden from the model play the person who answers. The same functions as in `semisvm fit`, `certify` and
`predict` are called, and write into a new folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen

if TYPE_CHECKING:
    import numpy as np

    from semisvm.campaign import Campaign

N_LABELED = 80
METHOD = "preference"  # the default compares methods first, which takes longer than a demo may
MIN_PRECISION = 0.9
AT_ONCE = 10  # rows that the person labels before the next look
LABEL_BUDGET = 100
N_RANDOM_DRAWS = 25  # of random labels, for the comparison
TARGET, POSITIVE, NEGATIVE = "digit", "six", "other"
FOLDER = "semisvm-demo"


@click.command("demo", short_help="Label until certified, on bundled data, in seconds.")
@click.option("--seed", type=shared.SEED, default=0, show_default=True, help="Draws the rows that keep their labels.")
@click.option("--out", type=shared.FILE, metavar="DIR", help=f"A new folder; by default {FOLDER}, or {FOLDER}-2 ...")
def demo_command(seed: int, out: Path | None) -> None:
    """Show the whole job on images of digits: few labels, a target, labels until it is proved, predictions.

    Writes the tables, the models, the predictions and the report into a new folder; existing files are not changed.
    """
    from semisvm.report import write_page
    from semisvm.tables import save
    from semisvm.tables.certify import certified_model, keep_campaign, start_campaign
    from semisvm.tables.fit import fit_model
    from semisvm.tables.methods import Settings
    from semisvm.tables.predict import predict_file
    from semisvm.tables.read_training import read_training

    screen = Screen()
    say = _printer(screen)
    folder = _make_folder(out)
    table, truth = _write_table(folder, seed)
    first, certified = folder / "first.skops", folder / "certified.skops"
    state, predictions, report = folder / "six.campaign", folder / "predicted.csv", folder / "report.html"
    n_six = (_column(table, TARGET) == POSITIVE).sum()
    say(
        "[bold]1. Few labels, many rows[/]",
        f"{table} has {len(truth):,} images of digits, 64 pixels each. {N_LABELED} of them have a label",
        f"({n_six} times '{POSITIVE}'), all others are empty. The question: which rows show a six?",
        f"The target: of the rows that are called six, at least {MIN_PRECISION:.0%} are sixes.",
        "",
        "[bold]2. The first model[/]",
        f"$ semisvm fit {table} --target {TARGET} --positive {POSITIVE} --min-precision {MIN_PRECISION} "
        f"--method {METHOD} --out {first}",
    )
    with screen.working():
        training = read_training([table], TARGET, positive=POSITIVE)
        settings = Settings(min_precision=MIN_PRECISION, seed=seed)
        model = fit_model(training, settings, method=METHOD, tell=screen.tell).model
        save(model, first)
    point = model.summary.operating_points[POSITIVE]
    say(
        f"On its labels {point.counts.tp} of {point.counts.accepted} accepted rows are sixes. That proves little: the "
        f"precision is between {point.precision.low:.2f} and {point.precision.high:.2f}.",
        "",
        "[bold]3. Label until it is proved[/]",
        f"$ semisvm certify start {first} {table} --min-precision {MIN_PRECISION} --state {state} --out to-label.csv",
        f"It draws rows at random and asks for their labels, {AT_ONCE} at a time. Here the hidden labels answer:",
    )
    campaign = start_campaign(first, table, min_precision=MIN_PRECISION, seed=f"{seed % 256:02x}")
    keep_campaign(campaign, state)
    say(*_label(campaign, truth))
    campaign.save(state)
    say(_compare_with_random(model, campaign, truth, table))
    if not campaign.verdict().certified:
        say("Nothing was proved with this seed, so there is nothing to apply. Try: semisvm demo --seed 1")
        return
    final = certified_model(campaign)
    save(final, certified)
    n_six_said = predict_file(final, table, predictions).by_class[POSITIVE]
    write_page(final.summary, report)
    say(
        "",
        "[bold]4. Use it[/]",
        f"$ semisvm certify apply {state} --out {certified}",
        f"$ semisvm predict {certified} {table} --out {predictions}",
        _say_truth(campaign, predictions, truth, n_six_said),
        f"The report, for a browser: {report}",
        "",
        "[bold]On your own file[/] (leave the cells of unknown labels empty)",
        "$ semisvm fit YOUR.csv --target COLUMN --out model.skops --report report.html",
        "$ semisvm label model.skops YOUR.csv --min-precision 0.9 --state my.campaign     (it asks, you answer)",
        "$ semisvm certify apply my.campaign --out certified.skops",
    )


def _printer(screen: Screen) -> Any:
    def say(*lines: str) -> None:
        for line in lines:  # those with a path hold no markup
            screen.console.print(line, soft_wrap=True, markup=line.lstrip().startswith(("[bold]", "[green]")))

    return say


def _label(campaign: Campaign, truth: np.ndarray) -> list[str]:
    """Answer until the first certificate, then use up the labels to widen it; return what there is to say."""
    from semisvm.tables.certify import file_rows

    places, lines, was_certified = file_rows(campaign), [], False
    while campaign.n_labels < LABEL_BUDGET:
        rows = campaign.draw(AT_ONCE)
        if not rows:
            break
        campaign.tell(rows, truth[places[rows]].tolist())
        verdict = campaign.verdict()
        if verdict.certified and not was_certified:
            lines.append(f"  [green]{campaign.n_labels} labels: certified[/] for {_accepted(verdict)} rows")
        elif not verdict.certified:
            more = "" if verdict.forecast is None else f", about {verdict.forecast} more are needed"
            lines.append(f"  {campaign.n_labels} labels: not proved yet{more}")
        was_certified = verdict.certified
    if was_certified:
        lines.append(f"  {campaign.n_labels} labels: certified for {_accepted(verdict)} rows. More labels widen it.")
        lines.append(
            f"The promise: of these {_accepted(verdict)} rows at least {MIN_PRECISION:.0%} are sixes. "
            f"The chance that this is wrong is at most {1 - campaign.confidence:.0%}."
        )
    return lines


def _accepted(verdict: Any) -> int:
    return int(verdict.operating_point.sampling.n_accepted)


def _compare_with_random(model: Any, campaign: Campaign, truth: np.ndarray, table: Path) -> str:
    """Say how many labels it takes if rows are drawn from the whole pool, and the threshold is certified once."""
    import numpy as np
    import pandas as pd

    from semisvm.decision import Target, certify
    from semisvm.tables.certify import file_rows

    places = file_rows(campaign)
    scores = model.decision_function(pd.read_csv(table, dtype=str, keep_default_na=False))[places]
    sign = np.where(truth[places] == POSITIVE, 1, -1)

    def needed(rng: np.random.Generator) -> float:
        order = rng.permutation(len(scores))
        for n in range(50, len(order), 50):
            found = certify(scores[order[:n]], sign[order[:n]], Target(min_precision=MIN_PRECISION))
            if found.reached:
                return n
        return len(order)

    typical = int(np.median([needed(np.random.default_rng(number)) for number in range(N_RANDOM_DRAWS)]))
    return f"Labels drawn at random from all rows: the first certificate takes about {typical} of them."


def _say_truth(campaign: Campaign, predictions: Path, truth: np.ndarray, n_said: int) -> str:
    """Say what the hidden labels say about the rows of the pool."""
    from semisvm.tables.certify import file_rows

    places = file_rows(campaign)
    is_called, is_real = (labels[places] == POSITIVE for labels in (_column(predictions, "label"), truth))
    right, n_called, n_real = (is_called & is_real).sum(), is_called.sum(), is_real.sum()
    return (
        f"{n_said} rows are called six. The hidden labels say: precision {right / n_called:.2f}, and {right} of the "
        f"{n_real} sixes in the pool are found."
    )


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


def _write_table(folder: Path, seed: int) -> tuple[Path, np.ndarray]:
    """Write the table with few labels, and return all labels."""
    import numpy as np
    from sklearn.datasets import load_digits

    images = load_digits(as_frame=True)
    truth = np.where(images.target == 6, POSITIVE, NEGATIVE)
    known = np.random.default_rng(seed).choice(len(truth), N_LABELED, replace=False)
    table = folder / "digits.csv"
    shown = np.where(np.isin(np.arange(len(truth)), known), truth, "")
    images.data.astype(int).assign(**{TARGET: shown}).to_csv(table, mode="x", index=False)
    return table, truth


def _column(path: Path, name: str) -> np.ndarray:
    import pandas as pd

    return pd.read_csv(path, usecols=[name], dtype=str, keep_default_na=False)[name].to_numpy()
