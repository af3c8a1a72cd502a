"""All commands together, with `semisvm fit`, `compare` and `info`; each ending as a sentence and
an exit code.
"""

from __future__ import annotations

import platform
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli import EXIT_CODES, NO_MEMORY, OF_NO_USE, apply, errors_behind, lacks_memory
from semisvm.cli import options as shared
from semisvm.cli.certify import certify_command
from semisvm.cli.demo import demo_command
from semisvm.cli.label import label_command
from semisvm.cli.monitor import monitor_command
from semisvm.cli.screen import Screen, screen_option
from semisvm.errors import MissingExtraError

if TYPE_CHECKING:
    from semisvm.tables.summary import FitSummary

DEBUG = "--debug"
EXAMPLES = (
    "semisvm demo",
    "semisvm fit mails.csv --target spam --min-precision 0.9 --out spam.skops --report spam.html",
    "semisvm predict spam.skops new.csv --out labels.csv",
)
REPORTED = "semisvm numpy scipy scikit-learn numba pandas pyarrow skops matplotlib torch triton"


class Commands(click.Group):
    """A group that knows names which are nearly those of its commands."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return what is to be run; a name much like that of a command gets a hint."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not close:
                raise
            raise click.UsageError(f"{error.message} Perhaps '{close[0]}' is meant.", ctx) from None


@click.group(
    cls=Commands,
    epilog=f"{EXIT_CODES}\n\n{shared.list_examples(*EXAMPLES)}",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(package_name="semisvm")
@click.option(DEBUG, is_flag=True, help="Show the traceback of an error; may be given anywhere.")
def commands(debug: bool) -> None:
    """Semi-supervised support vector machines: few labels, many unlabeled rows."""


for each in (
    apply.predict_command,
    apply.evaluate_command,
    apply.suggest_command,
    apply.report_command,
    certify_command,
    demo_command,
    label_command,
    monitor_command,
):
    commands.add_command(each)


@shared.command(
    "fit",
    "Learn from a table in which few rows have labels.",
    "semisvm fit mails.csv --target spam --out spam.skops",
    "semisvm fit mails.csv --target spam --min-precision 0.9 --out spam.skops --report spam.html",
    "semisvm fit patients.parquet --target ill --positive yes --costs yes=10,no=1 --out ill.skops",
    "semisvm fit labeled.csv --unlabeled-data pool.csv --target topic --method transductive --out"
    " topic.skops",
    "semisvm fit folder/ --target y --out y.skops --workers 4",
    of=commands,
)
@shared.training_options
@click.option(
    "--method",
    metavar="NAME",
    help=(
        f"The method: auto, {shared.METHODS}. By default preference with --confidence, else auto,"
        " which takes the average of many models (autosvc) unless a supervised model is clearly"
        " better."
    ),
)
@click.option(
    "--out",
    required=True,
    type=shared.FILE,
    metavar="MODEL",
    help="The model file to write (.skops).",
)
@click.option("--report", type=shared.FILE, help="Write a report of the fit, one HTML file.")
@click.option("--details", is_flag=True, help="Also print columns, steps, intervals and notes.")
@shared.cluster_options
@shared.force_option
@screen_option
def fit_command(
    method: str | None,
    out: Path,
    report: Path | None,
    details: bool,
    dask: str | None,
    workers: int | None,
    force: bool,
    screen: Screen,
    **options: Any,
) -> int:
    """Learn from the rows of DATA and write a model file.

    DATA is CSV or TSV (also .gz, .bz2, .xz), Parquet, or a spreadsheet (.xlsx, .ods); several files
    make one table. A folder of .csv or .parquet files with the same columns is read file by file,
    in bounded memory, here or by the workers of a cluster (--workers, --dask).

    A row whose target cell is empty is unlabeled. Columns may hold numbers, categories, dates, free
    text and empty cells; the type of each is detected, and can be set by --type.

    Among the thresholds that reach the target, the one with the highest recall is taken with
    --min-precision, the highest precision with --min-recall, and the best F1 with both or with
    --best-f1. Without a target the best F1 is taken. The positive class is the rarer of two, unless
    --positive names one.

    Ctrl-C keeps the best so far: the model is written, and the exit code is 130. The exit code is 1
    if the target is not reached on the labels, and 4 if the model is of no use: it accepts every
    row or nearly every row, or the labels do not show that it is better than guessing. The model is
    written in these cases too.
    """
    from semisvm.cli.screen import is_compiled
    from semisvm.disk import check_can_write
    from semisvm.tables import save
    from semisvm.tables.files import check_model_name
    from semisvm.tables.fit import fit_model

    inputs = [*options["data"], *options["unlabeled_data"], *filter(None, [options["cost_matrix"]])]
    check_can_write(out, force=force, inputs=inputs)
    check_model_name(out)
    if report is not None:
        check_can_write(report, force=force, inputs=[*inputs, out])
    if len(options["data"]) > 1 and any(path.is_dir() for path in options["data"]):
        raise click.UsageError("A folder is a table of its own: give one folder, or only files.")
    with screen.working(), shared.open_cluster(options["data"][0], dask, workers) as readers:
        screen.tell("Reading the rows")
        training, settings = shared.read_training_options(options, readers, screen.tell)
        if not is_compiled():
            screen.warn(
                "Compiling once (about 10 seconds; semisvm info --warm does it beforehand)."
            )
        if readers is not None:
            screen.say(training.describe())
        fitted = fit_model(
            training,
            settings,
            method=method,
            tune=shared.wants_tuning(options),
            most_unlabeled=options["max_unlabeled"],
            tell=screen.tell,
        )
        save(fitted, out, force=force)
        if report is not None:
            from semisvm.report import write_page

            write_page(
                fitted.summary, report, force=force, model=out.name, reword=shared.with_flags
            )
    pool = options["unlabeled_data"] or options["data"]
    return _show_fitted(screen, fitted.summary, out, report, pool[0], details)


def _show_fitted(
    screen: Screen, summary: FitSummary, out: Path, report: Path | None, pool: Path, details: bool
) -> int:
    """Print the result of a fit, and return the exit code."""
    from semisvm.cli.screen import show_details, show_first
    from semisvm.tables.sentences import first_screen

    first = first_screen(summary, shared.quoted(out), shared.quoted(pool))
    code = 0 if summary.reached else 1
    if first.is_useless:
        code = OF_NO_USE
    if summary.was_stopped:
        code = 130
    if screen.as_json:
        values = {
            "model": str(out),
            "report": None if report is None else str(report),
            "reached": summary.reached,
            "useless": first.is_useless,
            "stopped": summary.was_stopped,
            "exit_code": code,
            "summary": summary.as_dict(),
        }
        screen.show(values)
        return code
    show_first(screen.console, first)
    if details:
        show_details(screen.console, summary)
    if summary.was_stopped:
        screen.warn("Stopped by Ctrl-C: this is the best so far.")
    more = "" if details else "   (--details shows more)"
    screen.say(f"Model: {out}" + (f"   Report: {report}" if report is not None else more))
    return code


@shared.command(
    "compare",
    "Compare all methods: do the unlabeled rows help?",
    "semisvm compare mails.csv --target spam",
    "semisvm compare mails.csv --target spam --method transductive --method cluster",
    "semisvm compare mails.csv --target spam --costs spam=1,ham=20 --json",
    of=commands,
)
@shared.training_options
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help=f"Only this method, one of {shared.METHODS}; may be given more than once.",
)
@screen_option
def compare_command(methods: tuple[str, ...], screen: Screen, **options: Any) -> int:
    """Compare methods on the labeled rows of DATA by cross-validation.

    Two classes are compared by the area under the ROC curve: how often a row of the positive class
    has a higher score than another. It does not depend on thresholds, so no method gains by its
    threshold alone. More classes are compared by balanced accuracy (the mean of the classes'
    recalls), and with --costs by the expected cost per row. Intervals have a confidence of 90%.
    "chosen" is the simplest method within one standard error of the best.

    Ctrl-C shows the methods that are done (exit code 130).
    """
    from semisvm.cli.screen import show_comparison
    from semisvm.plain import to_plain
    from semisvm.tables.compare import compare_on

    with screen.working():
        screen.tell("Reading the rows")
        training, settings = shared.read_training_options(options)
        comparison = compare_on(
            training,
            settings,
            methods,
            most_unlabeled=options["max_unlabeled"],
            tune=shared.wants_tuning(options),
            tell=screen.tell,
        )
    if not screen.as_json:
        show_comparison(screen.console, comparison)
    notes = (f"- {shared.with_flags(note)}" for note in training.notes)
    screen.show(to_plain(comparison) | {"notes": training.notes}, *notes)
    return 130 if comparison.was_stopped else 0


@shared.command(
    "info", None, "semisvm info", "semisvm info --json", "semisvm info --warm", of=commands
)
@click.option(
    "--warm",
    is_flag=True,
    help="Also compile all that fits need, so that the first fit starts at once.",
)
@screen_option
def info_command(screen: Screen, warm: bool) -> None:
    """Print versions, threads, memory and GPU, for a bug report."""
    from semisvm.kernels.threads import n_threads
    from semisvm.memory import free_bytes
    from semisvm.tables.summary import installed_versions

    values = {"python": platform.python_version(), "system": platform.platform()}
    packages = REPORTED.split()
    values |= dict.fromkeys(packages, "not installed") | installed_versions(packages)
    values |= {
        "threads": str(n_threads()),
        "free memory": f"{free_bytes() / 1e9:.1f} GB",
        "GPU": _gpu(),
    }
    if warm:
        from semisvm.estimators.compilation import compile_all

        took = compile_all()
        values["compiled"] = f"{len(took)} parts in {sum(took.values()):.1f} s, kept on disk"
        values |= {f"  {name}": f"{seconds:.2f} s" for name, seconds in took.items()}
    width = max(14, *(len(name) + 2 for name in values))
    screen.show(values, *(f"{name:<{width}}{value}" for name, value in values.items()))


def _gpu() -> str:
    from semisvm.device import resolve

    try:
        return f"{resolve('cuda')}, in use for large problems"
    except ValueError as error:
        return f"none in use ({error})"


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; what went wrong is printed as a sentence."""
    words = [word for word in arguments if word != DEBUG]
    formatwarning = warnings.formatwarning
    try:
        if DEBUG not in arguments:
            warnings.formatwarning = _warning_in_words
        return commands.main(words, standalone_mode=False) or 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        raise KeyboardInterrupt from None
    except BrokenPipeError:
        raise
    except click.ClickException as error:
        error.show()
        return 2
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except SystemExit as ending:
        return int(ending.code or 0)
    except Exception as error:
        if any(isinstance(cause, KeyboardInterrupt) for cause in errors_behind(error)):
            # an extension that was being loaded made an ImportError of it
            raise KeyboardInterrupt from None
        if DEBUG in arguments:
            raise
        message, code = _explain(error)
        click.echo(f"Error: {message}", err=True)
        return code
    finally:
        warnings.formatwarning = formatwarning


def _warning_in_words(message: Warning | str, *place: Any, **line: Any) -> str:
    """A warning of the library as a sentence, without the line of code that gave it."""
    return f"Warning: {shared.with_flags(str(message), commands)}\n"


def _explain(error: Exception) -> tuple[str, int]:
    """The sentence and the exit code for an error."""
    if lacks_memory(error):
        known = f" ({error})" if isinstance(error, MemoryError) and str(error) else ""
        return f"{NO_MEMORY}{known}. Use fewer rows, another method, or a larger machine.", 3
    if isinstance(error, ValueError | OSError | MissingExtraError):
        reason = shared.with_flags(str(error), commands)
        if isinstance(error, OSError):
            reason += ". Check the disk, and whether its folders can be written to."
        return reason, 2
    if isinstance(error, ImportError) and not (error.name or "").startswith("semisvm"):
        return f"a package can't be loaded ({error}). Install it again.", 2
    known = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"this is a bug in semisvm, not in your data ({known}). Add {DEBUG} for details.", 2
