"""The options that several commands share, and what they mean for `semisvm.tables`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from semisvm.estimators import NAMES


class _Share(click.ParamType):
    """A share, or a percentage: "80%" is 0.8."""

    name = "share"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number, or fail with a sentence."""
        words = str(value).strip()
        try:
            share = float(words.removesuffix("%"))
        except ValueError:
            self.fail(f"{value!r} is not a number.", param, ctx)
        if words.endswith("%"):
            return share / 100
        if not share <= 1:
            self.fail(f"{value!r} is more than 1. Write a share such as 0.9 or 90%.", param, ctx)
        return share


FILE = click.Path(path_type=Path)
NUMBER = click.FLOAT
SHARE = _Share()
SEED = click.IntRange(min=0, max=2**32 - 1)  # what NumPy's generators take
KERNELS = ("linear", "rbf", "poly", "sigmoid")
METHODS = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"

force_option = click.option("--force", is_flag=True, help="Replace files that exist.")
min_precision_option = click.option(
    "--min-precision", type=SHARE, help="Minimum precision: 0.9 or 90%."
)
min_recall_option = click.option("--min-recall", type=SHARE, help="Minimum recall: 0.9 or 90%.")
costs_option = click.option(
    "--costs",
    metavar="CLASS=COST,...",
    help="Cost of misclassifying a row of each class.",
)
state_argument = click.argument("state", type=FILE)
state_option = click.option(
    "--state", required=True, type=FILE, help="File that keeps the state between commands."
)
out_option = click.option("--out", required=True, type=FILE, help="The file to write.")
batch_size_option = click.option(
    "-n", "n", type=click.IntRange(min=1), default=20, help="Number of rows to label."
)
unlabeled_option = click.option(
    "--unlabeled",
    metavar="MARK",
    help="Value that marks unlabeled rows, besides empty cells.",
)


@contextmanager
def piped(data: Path, out: Path) -> Iterator[tuple[Path, Path]]:
    """Give the files to read and to write; for "-" temporary ones, of stdin and for stdout."""
    import shutil
    import sys
    import tempfile

    from semisvm.errors import DataError

    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "stdin.csv")
        source = copied if str(data) == "-" else data
        target = Path(folder, "stdout.csv") if str(out) == "-" else out
        if source != data:
            if sys.stdin is None:
                raise click.UsageError("- reads standard input, which is closed: name a file.")
            with open(source, "wb") as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
        try:
            yield source, target
        except DataError as error:
            raise DataError(str(error).replace(str(copied), "standard input")) from error
        if target != out:
            with open(target, "rb") as complete:
                shutil.copyfileobj(complete, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def command(
    name: str, short_help: str | None, *examples: str, of: Any = click
) -> Callable[..., Any]:
    """Return the decorator of a command of a group, whose help ends with example lines."""
    return of.command(name, short_help=short_help, epilog=list_examples(*examples))


def list_examples(*lines: str) -> str:
    """Return the end of a help text: example command lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def quoted(path: Path) -> str:
    """Write a path as a word of a command line."""
    return f'"{path}"' if any(letter.isspace() for letter in str(path)) else str(path)


def with_flags(words: str, group: click.Group | None = None) -> str:
    """Write parameters that the library names, such as `min_recall`, as options: --min-recall."""
    root: Any = click.get_current_context().find_root().command if group is None else group
    commands = [root.get_command(None, name) for name in root.list_commands(None)]
    inner = [each for command in commands for each in getattr(command, "commands", {}).values()]
    options = [each for command in (*inner, *commands) for each in command.params]
    flags = {each.name: each.opts[0] for each in options if isinstance(each, click.Option)}
    return re.sub("`([a-z_]+)`", lambda name: flags.get(name[1], name[0]), words)


def several(*decorators: Callable[..., Any]) -> Callable[..., Any]:
    """Return one decorator that adds several options."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


training_options = several(
    click.argument("data", nargs=-1, required=True, type=FILE, metavar="DATA..."),
    click.option("--target", metavar="COL", help="Column of the labels."),
    unlabeled_option,
    click.option(
        "--unlabeled-data", multiple=True, type=FILE, help="File with more rows, all unlabeled."
    ),
    click.option(
        "--positive", metavar="CLASS", help="Positive class; by default the rarer of two."
    ),
    click.option(
        "--drawn",
        metavar="COL",
        help='Column that says how labels were drawn: "at random", "by doubt", "by campaign".',
    ),
    click.option(
        "--drop", multiple=True, metavar="COL", help="Leave a column out; may be repeated."
    ),
    click.option(
        "--type",
        "types",
        multiple=True,
        metavar="COL=TYPE",
        help="Set the type of a column: number, category, date, text.",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help='Decimal mark of numbers such as "1.234,56" or "NT$ 3,913".',
    ),
    click.option(
        "--spelling",
        type=click.Choice(["ask", "same", "exact"]),
        default="ask",
        help='Labels that differ only by case or spaces ("Yes", "yes"): the same class, exact'
        " (different classes), or ask (an error).",
    ),
    min_precision_option,
    min_recall_option,
    click.option("--best-f1", is_flag=True, help="Take the best F1 that reaches the target."),
    click.option(
        "--confidence",
        type=SHARE,
        help="Certify the target with this probability, on half of the labels.",
    ),
    click.option(
        "--trust-labels",
        is_flag=True,
        help="Certify even if the labeled rows do not look like a random sample.",
    ),
    costs_option,
    click.option(
        "--cost-matrix",
        type=FILE,
        help="CSV of costs: one row per true class, one column per predicted class.",
    ),
    click.option(
        "--kernel",
        type=click.Choice(KERNELS),
        help="Kernel; by default linear for texts, else rbf.",
    ),
    click.option(
        "--C", "C", type=NUMBER, help="Penalty for errors on labeled rows; by default tuned."
    ),
    click.option("--gamma", type=NUMBER, help="Coefficient of the rbf kernel; by default tuned."),
    click.option(
        "--tune/--no-tune",
        default=True,
        help="Choose how columns are prepared, the kernel, C and gamma on the labels (seconds).",
    ),
    click.option("--device", default="auto", help="Where to compute: auto, cpu or cuda."),
    click.option("--seed", type=SEED, default=0, help="Seed of all random choices."),
    click.option(
        "--max-unlabeled",
        type=click.IntRange(min=0),
        default=5000,
        help="Unlabeled rows used to compare methods; the model itself uses all.",
    ),
)
cluster_options = several(
    click.option(
        "--dask",
        metavar="ADDRESS",
        help="For a folder: read it by the workers of the Dask cluster at tcp://HOST:8786.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        help="For a folder: read it by N processes on this machine.",
    ),
)


@contextmanager
def open_cluster(data: Path, dask: str | None, workers: int | None) -> Iterator[Any]:
    """Give who reads the files of a folder; None where DATA is no folder."""
    if dask is not None and workers is not None:
        raise click.UsageError("--dask and --workers exclude each other: give one of them.")
    if not data.is_dir():
        if dask is not None or workers is not None:
            raise click.UsageError(
                "--dask and --workers need a folder of files: give a folder as DATA."
            )
        yield None
        return
    from semisvm.tables.partition_rows import open_workers

    with open_workers(dask, workers) as readers:
        yield readers


def read_training_options(
    options: dict[str, Any], workers: Any = None, tell: Any = None
) -> tuple[Any, Any]:
    """Return the training rows and the settings; `workers` read the files of a folder."""
    from dataclasses import fields

    from semisvm.decision import Target
    from semisvm.tables.classes import parse_costs, read_cost_matrix
    from semisvm.tables.methods import Settings
    from semisvm.tables.read_training import read_training

    _check_together(options)
    Target(options["min_precision"], options["min_recall"])  # refuses before anything is read
    names = ("unlabeled", "positive", "drop", "drawn", "decimal", "spelling")
    reading: dict[str, Any] = {name: options[name] for name in names}
    reading["types"] = dict(_column_and_type(words) for words in options["types"])
    training: Any
    if workers is not None:
        from semisvm.tables.fit_folder import read_folder

        if options["unlabeled_data"]:
            raise click.UsageError(
                "--unlabeled-data can't be combined with a folder: put these files into the folder,"
                " without the target."
            )
        folder = options["data"][0]
        training = read_folder(folder, options["target"], workers=workers, tell=tell, **reading)
    else:
        reading["unlabeled_data"] = options["unlabeled_data"]
        training = read_training(options["data"], options["target"], **reading)
    costs: Any = None
    if options["costs"]:
        costs = parse_costs(options["costs"], training.classes)
    elif options["cost_matrix"]:
        costs = read_cost_matrix(options["cost_matrix"], training.classes)
    given = {field.name: options[field.name] for field in fields(Settings) if field.name in options}
    given["C"] = 1.0 if options["C"] is None else options["C"]
    return training, Settings(**given | {"costs": costs})


def wants_tuning(options: dict[str, Any]) -> bool:
    """Whether C and gamma are tuned: unless the user says no, or sets one of them."""
    return bool(options["tune"]) and options["C"] is None and options["gamma"] is None


def _check_together(options: dict[str, Any]) -> None:
    """Refuse options that do not go together, before anything is read."""
    confidence = options["confidence"]
    if confidence is not None and not 0 < confidence < 1:
        raise click.UsageError(
            f"--confidence is a probability between 0 and 1, such as 0.9; got {confidence:g}."
        )
    if confidence is not None and options["min_precision"] is options["min_recall"] is None:
        raise click.UsageError(
            "--confidence certifies a target: set it by --min-precision or --min-recall."
        )
    if options["costs"] and options["cost_matrix"]:
        raise click.UsageError("--costs and --cost-matrix both set the costs: give one of them.")
    for name in ("C", "gamma"):
        if options[name] is not None and not options[name] > 0:
            raise click.UsageError(f"--{name} must be a positive number, got {options[name]:g}.")


def _column_and_type(words: str) -> tuple[str, str]:
    name, equals, type = words.rpartition("=")
    if not equals:
        raise click.UsageError(f"--type {words!r} is not COLUMN=TYPE, as in --type zip=category.")
    return name, type
