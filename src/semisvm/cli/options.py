"""The options that several commands share, and what they mean to `semisvm.tables`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

FILE = click.Path(path_type=Path)
KERNELS = ("linear", "rbf", "poly", "sigmoid")

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object to stdout, for machines.")
force = click.option("--force", is_flag=True, help="Replace files that exist.")
unlabeled = click.option(
    "--unlabeled", metavar="MARK", help="What marks a row without a label, beside an empty cell; in LIBSVM text 0."
)


def examples(*lines: str) -> str:
    """Return the end of a help text: command lines, each on its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _several(*decorators: Callable[..., Any]) -> Callable[..., Any]:
    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


training = _several(
    click.argument("data", nargs=-1, required=True, type=FILE, metavar="DATA..."),
    click.option("--target", metavar="COL", help="The column of the labels. LIBSVM and npz files need none."),
    unlabeled,
    click.option("--unlabeled-data", multiple=True, type=FILE, metavar="FILE", help="More rows, none of them labeled."),
    click.option("--positive", metavar="CLASS", help="Of two classes, the one that precision and recall are of."),
    click.option("--drop", multiple=True, metavar="COL", help="Leave a column out; may be given again."),
    click.option(
        "--type", "types", multiple=True, metavar="COL=TYPE", help="Say what a column is: number, category, date, text."
    ),
    click.option("--min-precision", type=float, metavar="P", help="The precision to reach, above 0, at most 1."),
    click.option("--min-recall", type=float, metavar="R", help="The recall to reach, above 0, at most 1."),
    click.option(
        "--certify",
        type=float,
        metavar="RISK",
        help="Promise that target: 0.1 for 90% certainty. Half of the labels are kept apart for the proof.",
    ),
    click.option("--costs", metavar="CLASS=COST,...", help="What taking a row of each class for another costs."),
    click.option(
        "--cost-matrix", type=FILE, metavar="FILE", help="CSV of costs: a row a true class, a column a predicted one."
    ),
    click.option(
        "--kernel", type=click.Choice(KERNELS), help="By default linear for sparse rows (text), rbf otherwise."
    ),
    click.option("--C", "C", type=float, default=1.0, show_default=True, help="The price of an error on a label."),
    click.option("--gamma", type=float, help="Width of the rbf kernel; by default from the rows' variance."),
    click.option("--tune", is_flag=True, help="Choose C and gamma by cross-validation on the labels."),
    click.option("--device", default="auto", show_default=True, help="Where to solve: auto, cpu or cuda."),
    click.option("--seed", type=int, default=0, show_default=True, help="Makes every random choice repeatable."),
    click.option(
        "--max-unlabeled",
        type=click.IntRange(min=0),
        default=5000,
        show_default=True,
        help="Unlabeled rows used to compare methods; the model itself uses all.",
    ),
)


def read_training(options: dict[str, Any]) -> tuple[Any, Any]:
    """Return the training rows and the settings that the options ask for."""
    from semisvm.decision import Target
    from semisvm.tables import training as rows
    from semisvm.tables.classes import parse_costs, read_cost_matrix
    from semisvm.tables.methods import Settings

    Target(options["min_precision"], options["min_recall"])  # refuses before anything is read
    if options["certify"] is not None and not 0 < options["certify"] < 1:
        raise click.UsageError(f"--certify is a risk between 0 and 1, such as 0.1; got {options['certify']:g}.")
    if options["certify"] is not None and options["min_precision"] is options["min_recall"] is None:
        raise click.UsageError("--certify promises a target: say which by --min-precision or --min-recall.")
    if options["costs"] and options["cost_matrix"]:
        raise click.UsageError("--costs and --cost-matrix say the same thing twice: give one of them.")
    found = rows.read_training(
        options["data"],
        options["target"],
        unlabeled=options["unlabeled"],
        unlabeled_data=options["unlabeled_data"],
        positive=options["positive"],
        drop=options["drop"],
        types=dict(_pair(words) for words in options["types"]),
    )
    costs: Any = None
    if options["costs"]:
        costs = parse_costs(options["costs"], found.classes)
    elif options["cost_matrix"]:
        costs = read_cost_matrix(options["cost_matrix"], found.classes)
    settings = Settings(
        kernel=options["kernel"],
        C=_positive(options["C"], "--C"),
        gamma=None if options["gamma"] is None else _positive(options["gamma"], "--gamma"),
        costs=costs,
        min_precision=options["min_precision"],
        min_recall=options["min_recall"],
        certify=options["certify"],
        seed=options["seed"],
        device=options["device"],
    )
    return found, settings


def _positive(value: float, name: str) -> float:
    if not 0 < value < float("inf"):
        raise click.UsageError(f"{name} must be a positive number, got {value:g}.")
    return value


def _pair(words: str) -> tuple[str, str]:
    name, equals, type = words.rpartition("=")
    if not equals:
        raise click.UsageError(f"--type {words!r} is not COLUMN=TYPE, as in --type zip=category.")
    return name, type
