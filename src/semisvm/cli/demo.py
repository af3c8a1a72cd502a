"""`semisvm demo`: label until certified, start to end, on data that comes with scikit-learn.

Images of digits, 40 of 600 with a label: is the digit odd? The target: nine of ten rows that are
called odd are odd. The labels that are hidden from the model play the person who answers, and show
at the end what the unlabeled rows were worth. The same functions as in `semisvm fit`, `certify` and
`predict` are called, and write into a new folder.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen

if TYPE_CHECKING:
    import numpy as np

    from semisvm.campaign import Campaign

N_ROWS = 600
N_LABELED = 40
MIN_PRECISION = 0.9
AT_ONCE = 10  # rows that the person labels before the next look
LABEL_BUDGET = 100
FOLDER = "semisvm-demo"


@click.command("demo", short_help="Show the whole workflow on bundled data, in seconds.")
@click.option("--seed", type=shared.SEED, default=0, help="Draws the labels.")
@click.option(
    "--out",
    type=shared.FILE,
    metavar="DIR",
    help=f"A new folder; by default {FOLDER}, or {FOLDER}-2 ...",
)
def demo_command(seed: int, out: Path | None) -> None:
    """Show the whole workflow on images of digits: few labels, a target, labels until it is proved,
    predictions.

    Writes the tables, the models, the predictions and the report into a new folder; existing files
    are not changed.
    """
    from semisvm.report import write_page
    from semisvm.tables import save
    from semisvm.tables.certify import certified_model, file_rows, start_campaign
    from semisvm.tables.fit import fit_model
    from semisvm.tables.methods import Settings
    from semisvm.tables.predict import predict_file
    from semisvm.tables.read_training import read_training

    screen = Screen()
    folder = _new_folder(out)
    table = folder / "digits.csv"
    model_file = folder / "model.skops"
    state = folder / "odd.campaign"
    certified = folder / "certified.skops"
    predictions = folder / "predicted.csv"
    frame, truth = _write_table(table, seed)
    is_hidden = (frame["digit"] == "").to_numpy()
    files = " ".join(shared.quoted(path) for path in (model_file, table))
    label = f"semisvm label {files} --state {shared.quoted(state)} --image 8x8 --web"
    screen.say(
        f"1. Few labels, many rows\n{table} has {N_ROWS:,} images of digits. {N_LABELED} of them"
        " have a label, odd or even;\nthe others have none. The target: of the rows that are called"
        f" odd, at least {MIN_PRECISION:.0%} are odd.\n\n2. A model of all rows\n"
        f"$ semisvm fit {table} --target digit --positive odd --min-precision {MIN_PRECISION}"
        f" --out {model_file}"
    )
    with screen.working():
        training = read_training([table], "digit", positive="odd")
        settings = Settings(min_precision=MIN_PRECISION, seed=seed)
        model = fit_model(training, settings, tell=screen.tell)
        alone = fit_model(training, settings, method="supervised", tell=screen.tell)
        save(model, model_file)
        recall, recall_alone = (
            _recall(each.decision_function(frame)[is_hidden], truth[is_hidden] == "odd")
            for each in (model, alone)
        )
    point = model.summary.operating_points["odd"]
    screen.say(
        f"The hidden labels say: at a precision of {MIN_PRECISION:.0%} it can find {recall:.0%} of"
        f" the odd digits. A model of the\n{N_LABELED} labels alone, without the unlabeled rows,"
        f" can find {recall_alone:.0%}. But in practice nobody has the hidden labels,\nand the"
        f" {N_LABELED} labels prove little: the precision is between {point.precision.low:.2f} and"
        f" {point.precision.high:.2f}.\n\n3. Label until it is proved\n$ {label}\n"
        "It draws rows at random, shows each digit as a picture, and asks what it is. Here the"
        " hidden labels answer:"
    )
    campaign = start_campaign(
        model_file, table, min_precision=MIN_PRECISION, seed=f"{seed % 256:02x}"
    )
    _answer(campaign, truth[file_rows(campaign)], screen)
    campaign.save(state)
    if not campaign.verdict().certified:
        screen.say("Nothing was proved with this seed. Try: semisvm demo --seed 1")
        return
    final = certified_model(campaign)
    save(final, certified)
    n_odd = predict_file(final, table, predictions).by_class["odd"]
    write_page(final.summary, folder / "report.html", model=str(certified))
    is_called_odd = final.decision_function(frame) > 0
    precision = (truth[is_called_odd & is_hidden] == "odd").mean()
    screen.say(
        f"The promise: of these rows at least {MIN_PRECISION:.0%} are odd. At most"
        f" {1 - campaign.confidence:.0%} of campaigns like this one are wrong.\n"
        f"\n4. Use it\n$ semisvm certify apply {state} --out {certified}\n"
        f"$ semisvm predict {certified} {table} --out {predictions}\n"
        f"Of all {N_ROWS} rows {n_odd} are called odd. The hidden labels say: precision"
        f" {precision:.2f}.\n"
        f"The report, for a browser: {folder / 'report.html'}\n"
        f"Go on yourself, with pictures: {label}\n\n"
        "On your own file (leave the cells of unknown labels empty)\n"
        "$ semisvm fit YOUR.csv --target COLUMN --out model.skops --report report.html\n"
        "$ semisvm label model.skops YOUR.csv --min-precision 0.9 --state my.campaign     (it asks,"
        " you answer)\n$ semisvm certify apply my.campaign --out certified.skops"
    )


def _answer(campaign: Campaign, truth: np.ndarray, screen: Screen) -> None:
    """Answer until the first certificate, then use up the labels to widen it."""
    was_certified = False
    while campaign.n_labels < LABEL_BUDGET and (rows := campaign.draw(AT_ONCE)):
        campaign.tell(rows, truth[rows].tolist())
        verdict = campaign.verdict()
        if not verdict.certified:
            screen.say(f"  {campaign.n_labels} labels: not proved yet")
        elif not was_certified or campaign.n_labels >= LABEL_BUDGET:
            screen.say(f"  {campaign.n_labels} labels: certified for {verdict.n_accepted} rows")
        was_certified = verdict.certified


def _recall(scores: np.ndarray, is_odd: np.ndarray) -> float:
    """Return the highest recall at the demo's precision."""
    from sklearn.metrics import precision_recall_curve

    precision, recall, _ = precision_recall_curve(is_odd, scores)
    return float(recall[precision >= MIN_PRECISION].max())


def _new_folder(out: Path | None) -> Path:
    """Create a new folder: the one asked for, or the first default name that is not taken."""
    if out is None:
        names = (Path(FOLDER if n == 1 else f"{FOLDER}-{n}") for n in count(1))
        out = next(name for name in names if not name.exists())
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise click.UsageError(f"{out} exists and is not an empty folder: choose another --out.")
    out.mkdir(parents=True, exist_ok=True)
    return out


def _write_table(table: Path, seed: int) -> tuple[Any, np.ndarray]:
    """Write the table with few labels; return its rows and all labels."""
    import numpy as np
    from sklearn.datasets import load_digits

    images = load_digits(as_frame=True)
    truth = np.where(images.target[:N_ROWS] % 2 == 1, "odd", "even")
    labels = np.full(N_ROWS, "", dtype=object)
    known = np.random.default_rng(seed).choice(N_ROWS, N_LABELED, replace=False)
    labels[known] = truth[known]
    frame = images.data[:N_ROWS].astype(int).assign(digit=labels)
    frame.to_csv(table, mode="x", index=False)
    return frame, truth
