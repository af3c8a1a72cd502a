"""The group of verbs, and how a command ends: 0, 1 alarm, 2 input, 3 memory, 130 Ctrl-C."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

import click

from semisvm.cli.demo import demo
from semisvm.cli.fit import fit
from semisvm.cli.labeling import finish, label
from semisvm.cli.use import evaluate, monitor, predict
from semisvm.errors import DataError

VERBS = (demo, fit, label, finish, predict, evaluate, monitor)
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow", "skops")
ALARM, BAD_INPUT, NO_MEMORY, STOPPED = 1, 2, 3, 130  # exit codes


class Verbs(click.Group):
    """Ends with one line, and with one of the exit codes."""

    def list_commands(self, context: click.Context) -> list[str]:
        """In the order in which they are used."""
        return [str(verb.name) for verb in VERBS]

    def main(self, *args: Any, **options: Any) -> Any:
        """Run one verb."""
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
            sys.exit(code if isinstance(code, int) else 0)
        except click.ClickException as error:
            error.show()
            sys.exit(BAD_INPUT)
        except (DataError, ImportError) as error:
            _end(str(error), BAD_INPUT)
        except BrokenPipeError:  # the reader of the output, as `head`, has seen enough
            sys.stdout = None  # type: ignore[assignment]
            sys.exit(0)
        except OSError as error:
            _end(f"{error.filename or 'a file'}: {error.strerror or error}.", BAD_INPUT)
        except MemoryError:
            _end("not enough memory.", NO_MEMORY)
        except (KeyboardInterrupt, click.exceptions.Abort):
            _end("stopped.", STOPPED)


def _end(message: str, code: int) -> None:
    """Say why on standard error; with --json also as JSON."""
    click.echo(f"semisvm: {message}", err=True)
    if "--json" in sys.argv:
        click.echo(json.dumps({"error": message}))
    sys.exit(code)


def _print_versions(context: click.Context, parameter: click.Parameter, is_asked: bool) -> None:
    if not is_asked:
        return
    click.echo(f"semisvm {version('semisvm')}")
    if "--verbose" in sys.argv:
        for name in ("python", *LIBRARIES):
            is_python = name == "python"
            click.echo(f"{name} {sys.version.split()[0] if is_python else version(name)}")
    context.exit()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_versions,
    help="Print the version; with --verbose those of libraries too.",
)
@click.option("--verbose", is_flag=True, is_eager=True, expose_value=False, hidden=True)
def semisvm() -> None:
    """Label little, know how much is right.

    \b
    semisvm fit loans.csv --target default --out loans.skops
    semisvm label loans.skops loans.csv --min-precision 0.9
    semisvm finish loans.label --out finished.csv
    """  # noqa: D301


for verb in VERBS:
    semisvm.add_command(verb)
