"""Options that several verbs have, and checks that come before the work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

FILE = click.Path(dir_okay=True)
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
CHANCE = click.FloatRange(0.5, 1, max_open=True)

NOT_WRITTEN = (".parquet", ".pq", ".xlsx", ".xls", ".ods", ".gz", ".bz2", ".xz", ".zip", ".zst")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def option(declaration: str, help: str, **how: Any) -> Decorator:
    """An option: its name with what it takes ("--seed N"), and what it is for."""
    name, _, metavar = declaration.partition(" ")
    has_default = how.get("default") not in (None, "")
    return click.option(name, metavar=metavar or None, help=help, show_default=has_default, **how)


force = option("--force", "Replace files that exist.", is_flag=True)
as_json = option("--json", "Print the record as JSON.", is_flag=True)
report = option("--report FILE", "Also write a page (.html).")


def pairs(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    """Read COL=TYPE and CLASS=COST; a name may hold '='."""
    found = {}
    for value in values:
        name, equals, given = value.rpartition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r}: write {parameter.metavar}.")
        found[name] = given
    return found


PAIRS: dict[str, Any] = {"multiple": True, "callback": pairs}


def at_most_one(**given: Any) -> None:
    """Refuse options that can't be given together; None and False are not given."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if len(named) > 1:
        every = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise click.UsageError(f"Choose one of {every}; there are {' and '.join(named)}.")


def check_outputs(force: bool, *paths: str | None) -> None:
    """Before the work, not after it: each file to write is new, and each only once."""
    from semisvm.errors import DataError
    from semisvm.files import check_can_write

    named = [Path(path) for path in paths if path]
    for path in named:
        if named.count(path) > 1:
            raise DataError(f"{path}: is named for two files to write.")
        if path.suffix.lower() in NOT_WRITTEN:
            raise DataError(f"{path}: no file of that kind is written. Name it .skops or .csv.")
        if path.is_file() and not force:
            raise DataError(f"{path}: exists. Choose another name, or add --force to replace it.")
        check_can_write(path, force=True)


def check_not_replaced(inputs: tuple[str | None, ...], outputs: tuple[str | None, ...]) -> None:
    """Refuse to write over a file that is read, even with --force."""
    from semisvm.errors import DataError

    read = {Path(path).resolve() for path in inputs if path}
    for path in filter(None, outputs):
        if Path(path).resolve() in read:
            raise DataError(f"{path}: is read by this command. Choose another name to write to.")


def with_options(*options: Decorator) -> Decorator:
    """Several options as one decorator, in their order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
