"""semisvm demo: the main job on a table that is made up here, and answers by its truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from semisvm.cli import options

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

N_ROWS, N_LABELS, BUDGET, AT_ONCE = 3_000, 40, 100, 20
FIRST_ORDER = 10_000


@click.command(short_help="Three commands on a table made up here.")
@options.option("--folder", "Where to write.", default="semisvm-demo")
@options.force
@click.pass_context
def demo(context: click.Context, folder: str, force: bool) -> None:
    """Three commands on a table made up here, with the answers filled in."""
    import pandas as pd

    from semisvm.cli import screen
    from semisvm.errors import DataError
    from semisvm.label import LabelSession, words

    place = Path(folder)
    if place.exists() and not force:
        raise DataError(f"{place}: exists. Choose another --folder, or add --force.")
    place.mkdir(parents=True, exist_ok=True)
    names = ("orders.csv", "orders.skops", "orders.label", "ask.csv", "finished.csv", "report.html")
    data, model, state, ask, finished, report = files = [str(place / name) for name in names]
    for name in files:
        Path(name).unlink(missing_ok=True)
    table, truth = make_table()
    table.assign(arrived=some_of(truth)).to_csv(data, index=False, lineterminator="\n")

    def run(*line: str) -> None:
        click.echo(f"\n$ {screen.command(*line)}")
        verb = context.parent.command.commands[line[0]]  # type: ignore[union-attr, attr-defined]
        with verb.make_context(line[0], list(line[1:]), parent=context) as call:
            verb.invoke(call)

    click.echo(f"{data}: {N_ROWS:,} orders, {N_LABELS} of them labeled. Which others are late?")
    run("fit", data, "--target", "arrived", "--positive", "late", "--out", model)
    promise = ("--min-precision", "0.8", "--budget", str(BUDGET))
    run("label", model, data, *promise, "--out", ask)
    asked = pd.read_csv(ask, dtype=str, keep_default_na=False)
    asked["your_label"] = truth[asked["order_id"].astype(int) - FIRST_ORDER]
    asked.to_csv(ask, index=False)
    click.echo("\nThe truth plays the person who fills in your_label, now and from now on:")
    run("label", data, "--answers", ask)
    with LabelSession.open(state) as session:
        while rows := session.ask(AT_ONCE):
            places = [session.pool.rows[session.pool.place[row]] for row in rows]
            session.answer_all(dict(zip(rows, truth[places].tolist(), strict=True)))
            click.echo(words.verdict_line(session.verdict()))
    run("finish", state, "--out", finished, "--report", report)
    done = pd.read_csv(finished, dtype=str, keep_default_na=False)
    is_kept = (done["labeled_by"] == "machine").to_numpy()
    if is_kept.any():
        share = (truth[is_kept] == "late").mean()
        click.echo(f"\nThe truth, which only a demo knows: {share:.0%} of these are late.")
    click.echo(
        f"On your own table: {screen.command('fit', 'TABLE.csv')} --target COLUMN --out MODEL"
    )


def make_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Orders, and whether each arrived late."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    is_late = rng.random(N_ROWS) < 0.25
    columns = {
        "order_id": FIRST_ORDER + np.arange(N_ROWS),
        "amount": [f"${value:,.2f}" for value in rng.lognormal(4 + 0.9 * is_late, 0.7)],
        "country": np.where(rng.random(N_ROWS) < 0.35 + 0.4 * is_late, "abroad", "home"),
        "items": rng.poisson(2 + 3 * is_late),
        "days": np.round(rng.gamma(2 + 3 * is_late, 1.2), 1),
    }
    return pd.DataFrame(columns), np.where(is_late, "late", "on time")


def some_of(truth: np.ndarray) -> np.ndarray:
    """The labels of some rows; "" for the others."""
    import numpy as np

    known = np.random.default_rng(1).permutation(N_ROWS)[:N_LABELS]
    labels = np.full(N_ROWS, "", dtype=object)
    labels[known] = truth[known]
    return labels
