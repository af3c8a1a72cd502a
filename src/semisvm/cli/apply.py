"""Commands that use a model file: `semisvm predict`, `evaluate`, `suggest` and `report`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen, screen_option
from semisvm.errors import counted, fault

model_argument = click.argument("model", type=shared.FILE)
data_argument = click.argument("data", type=shared.FILE)


@shared.command(
    "predict",
    "Predict the labels of the rows of a file.",
    "semisvm predict spam.skops new.csv --out labels.csv",
    "semisvm predict spam.skops new.parquet --out labels.parquet --keep id",
    "zcat new.csv.gz | semisvm predict spam.skops - --out - | gzip > labels.csv.gz",
    "semisvm predict spam.skops folder/ --out labels/ --workers 4",
)
@model_argument
@data_argument
@click.option(
    "--out",
    default="labeled.csv",
    type=shared.FILE,
    help="Where to write: .csv, .tsv or .parquet; - is CSV on stdout.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COL",
    help="Copy a column of DATA; may be given more than once.",
)
@click.option(
    "--neutralize",
    is_flag=True,
    help=(
        "Put ' before text cells of a .csv or .tsv that a spreadsheet would run as a formula (= +"
        " - @)."
    ),
)
@click.option(
    "--resume",
    is_flag=True,
    help="For a folder: keep existing files, and write only the others.",
)
@shared.cluster_options
@shared.force_option
@screen_option
def predict_command(
    model: Path,
    data: Path,
    out: Path,
    keep: tuple[str, ...],
    neutralize: bool,
    resume: bool,
    dask: str | None,
    workers: int | None,
    force: bool,
    screen: Screen,
) -> None:
    """Write a label, a score, whether it is accepted, and a probability for every row of DATA.

    DATA must have the columns that MODEL was fitted to, not encoded; other columns are ignored. It
    is read in parts, so a file of ten million rows needs no more memory than a few thousand rows.
    "-" reads CSV from stdin, and --out - writes CSV to stdout once it is complete. A folder of
    files gives a folder with one Parquet file for each, or one file if --out names one; a file
    appears when it is complete.

    Rows with a score above 0 are accepted. The probability is that of the positive class,
    calibrated on held-out labels; there is none if there were too few labels, or more than two
    classes.

    --keep copies cells unchanged: one that begins with =, +, - or @ is run as a formula when the
    output is opened in a spreadsheet, unless --neutralize is given.
    """
    from semisvm.disk import check_can_write
    from semisvm.tables.files import load_table_model, model_digest
    from semisvm.tables.model import OUTPUTS
    from semisvm.tables.predict import predict_file, predict_folder

    is_to_stdout = str(out) == "-"
    if is_to_stdout and screen.as_json:
        raise click.UsageError(
            "--json and --out - both write to stdout: give --out the name of a file."
        )
    is_one_file = is_to_stdout or (out.suffix.lower() in OUTPUTS and not out.is_dir())
    if is_one_file and data.is_dir() and (dask or workers or resume):
        raise click.UsageError(
            f"--workers, --dask and --resume write a folder of files, and {out} names one file."
        )
    with screen.working(), shared.open_cluster(data, dask, workers) as readers:
        if readers is not None and not is_one_file:
            predicted = predict_folder(
                load_table_model(model),
                model_digest(model),
                data,
                out,
                workers=readers,
                keep=keep,
                force=force,
                resume=resume,
                tell=screen.tell,
            )
        else:
            if not is_to_stdout:
                check_can_write(out, force=force, inputs=[model, data])
            with shared.piped(data, out) as (source, target):
                predicted = predict_file(
                    load_table_model(model),
                    source,
                    target,
                    keep=keep,
                    force=force,
                    neutralize=neutralize,
                    tell=screen.tell,
                )
    said = f"All predictions were there already: {out}"
    if predicted.rows:
        counts = ", ".join(f"{count:,} {name}" for name, count in predicted.by_class.items())
        speed = predicted.rows / max(predicted.seconds, 1e-9)
        place = "stdout." if is_to_stdout else out
        took = f"{predicted.seconds:.1f} s, {speed:,.0f} rows per second"
        said = f"{counted(predicted.rows, 'row')}: {counts}. {took}. Written to {place}"
    for note in predicted.notes:
        screen.warn(note)
    if is_to_stdout:
        screen.warn(said)
    else:
        screen.show(asdict(predicted) | {"out": str(out)}, said)


@shared.command(
    "evaluate",
    "Measure a model on labeled rows.",
    "semisvm evaluate spam.skops held-out.csv",
    "semisvm evaluate spam.skops held-out.csv --json",
)
@model_argument
@data_argument
@shared.unlabeled_option
@screen_option
def evaluate_command(model: Path, data: Path, unlabeled: str | None, screen: Screen) -> int:
    """Measure MODEL on the labeled rows of DATA, with intervals.

    Use rows that were not used in the fit: on training rows every model looks good. The exit code
    is 1 if MODEL has a target and DATA does not show that it is reached.
    """
    from semisvm.cli.screen import show_evaluation
    from semisvm.plain import to_plain
    from semisvm.tables.evaluate import evaluate_file
    from semisvm.tables.files import load_table_model
    from semisvm.tables.sentences import SEEN

    with screen.working():
        loaded = load_table_model(model)
        evaluation = evaluate_file(loaded, data, unlabeled=unlabeled, tell=screen.tell)
    if evaluation.was_seen:
        screen.warn(SEEN)
    screen.show(to_plain(evaluation))
    if not screen.as_json:
        show_evaluation(screen.console, evaluation)
    return 0 if evaluation.reached else 1


@shared.command(
    "suggest",
    "Which rows to label next, to improve a model.",
    "semisvm suggest spam.skops mails.csv -n 50 --out to-label.csv",
    "semisvm fit mails.csv to-label.csv --target spam --out spam-2.skops",
)
@model_argument
@data_argument
@click.option("-n", "n", type=click.IntRange(min=1), default=50, help="Number of rows.")
@click.option(
    "--out",
    default="to-label.csv",
    type=shared.FILE,
    help="The file to fill in: .csv, .tsv or .parquet.",
)
@shared.unlabeled_option
@shared.force_option
@screen_option
def suggest_command(
    model: Path, data: Path, n: int, out: Path, unlabeled: str | None, force: bool, screen: Screen
) -> None:
    """Write the rows of DATA that MODEL is least sure of, spread out so that no two of them are
    alike.

    This is for improving the model. The rows are not a random sample, so they prove nothing: for a
    promise about the model use certify, which draws rows at random.

    The file has the columns of DATA, an empty target, and a column that says how the rows were
    drawn ("by doubt"). Fill in the target and give the file to fit together with DATA: a row that
    occurs again with a label is used once. It is used for training, but not for thresholds and
    measurements.
    """
    from semisvm.disk import check_can_write
    from semisvm.plain import to_plain
    from semisvm.tables.files import load_table_model
    from semisvm.tables.label import suggest_rows, write_suggestions
    from semisvm.tables.predict import check_suffix

    check_can_write(check_suffix(out), force=force, inputs=[model, data])
    with screen.working():
        loaded = load_table_model(model)
        suggested = suggest_rows(loaded, data, n, unlabeled=unlabeled, tell=screen.tell)
        if not suggested:
            raise fault(data, "every row has a label", "Give a file with rows that have none")
        write_suggestions(loaded, suggested, out, force=force)
    screen.show(
        {"out": str(out), "rows": to_plain(suggested)},
        f"{counted(len(suggested), 'row')} to label: {out} (fill in the column {loaded.target!r})",
        "Their labels improve the model. For a promise, certify by sampling: semisvm certify start",
    )


@shared.command(
    "report",
    "Write the report of a model.",
    "semisvm report spam.skops",
    "semisvm report spam.skops held-out.csv --out held-out.html",
)
@model_argument
@click.argument("data", type=shared.FILE, required=False)
@click.option("--out", type=shared.FILE, help="By default MODEL with the suffix .html.")
@shared.unlabeled_option
@shared.force_option
@screen_option
def report_command(
    model: Path,
    data: Path | None,
    out: Path | None,
    unlabeled: str | None,
    force: bool,
    screen: Screen,
) -> None:
    """Write what is known about MODEL as one HTML file that works offline.

    With DATA, the operating point and the scores are measured on its labeled rows.
    """
    from semisvm.disk import check_can_write
    from semisvm.report import write_page
    from semisvm.tables.evaluate import ABOUT_THE_FIT, summary_on
    from semisvm.tables.files import load_table_model

    loaded = load_table_model(model)
    inputs = [model] if data is None else [model, data]
    out = check_can_write(
        model.with_suffix(".html") if out is None else out, force=force, inputs=inputs
    )
    with screen.working():
        summary = summary_on(loaded, data, unlabeled=unlabeled, tell=screen.tell)
        write_page(summary, out, force=force, model=model.name, reword=shared.with_flags)
    for note in summary.notes:
        if note not in loaded.summary.notes and not note.startswith(ABOUT_THE_FIT):
            screen.say(shared.with_flags(note))
    screen.show({"report": str(out)}, f"Report: {out}")
