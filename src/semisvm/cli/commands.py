"""The commands together, `semisvm info`, and how each of their endings becomes a sentence and an exit code."""

import platform
from collections.abc import Sequence
from importlib import import_module

import click

from semisvm.cli import EXIT_CODES, NO_MEMORY, lacks_memory
from semisvm.cli.options import json_option, list_examples, with_flags

DEBUG = "--debug"
EXAMPLES = (
    "semisvm demo",
    "semisvm fit mails.csv --target spam --min-precision 0.9 --out spam.skops --report spam.html",
    "semisvm predict spam.skops new.csv --out labels.csv",
)

REPORTED = "semisvm numpy scipy scikit-learn numba pandas pyarrow skops matplotlib torch triton"
MODULES = {
    "demo": "demo",
    "fit": "learn",
    "predict": "apply",
    "evaluate": "apply",
    "compare": "learn",
    "suggest": "apply",
    "certify": "certify",
    "label": "label",
    "report": "apply",
}


class Commands(click.Group):
    """Commands whose modules are imported when they are run, or their help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*MODULES, *self.commands])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None where there is none of this name."""
        if cmd_name in MODULES:
            self.add_command(getattr(import_module(f"semisvm.cli.{MODULES[cmd_name]}"), f"{cmd_name}_command"))
        return self.commands.get(cmd_name)


@click.group(
    cls=Commands,
    epilog=f"{EXIT_CODES}\n\n{list_examples(*EXAMPLES)}",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="semisvm")
@click.option(DEBUG, is_flag=True, help="Show the traceback of an error; may be given anywhere.")
def commands(debug: bool) -> None:
    """Semi-supervised support vector machines: few labels, many unlabeled rows."""


@commands.command("info", epilog=list_examples("semisvm info", "semisvm info --json", "semisvm info --warm"))
@click.option("--warm", is_flag=True, help="Also compile all that fits need, so that the first one starts at once.")
@json_option
def info_command(as_json: bool, warm: bool) -> None:
    """Print versions, threads, memory and GPU, for a bug report."""
    from semisvm.cli.screen import Screen
    from semisvm.device import free_bytes
    from semisvm.kernels.threads import n_threads

    found = {"python": platform.python_version(), "system": platform.platform()}
    found |= {name: _version(name) for name in REPORTED.split()}
    found |= {"threads": str(n_threads()), "free memory": f"{free_bytes() / 1e9:.1f} GB", "GPU": _gpu()}
    if warm:
        from semisvm.dual.warm import compile_all

        took = compile_all()
        found["compiled"] = f"{len(took)} parts in {sum(took.values()):.1f} s, kept on disk"
        found |= {f"  {name}": f"{seconds:.2f} s" for name, seconds in took.items()}
    if as_json:
        Screen(as_json).show_json(found)
        return
    width = max(14, *(len(name) + 2 for name in found))
    for name, value in found.items():
        click.echo(f"{name:<{width}}{value}")


def _version(name: str) -> str:
    import importlib.metadata

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _gpu() -> str:
    from semisvm.device import resolve

    try:
        return f"{resolve('cuda')}, in use for large problems"
    except ValueError as error:
        return f"none in use ({error})"


def run(arguments: Sequence[str]) -> int:
    """Run a command with these words and return its exit code; what went wrong is printed as a sentence."""
    debug = DEBUG in arguments
    try:
        return commands.main([word for word in arguments if word != DEBUG], standalone_mode=False) or 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        error.show()
        return 2
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except SystemExit as ending:
        return int(ending.code or 0)
    except Exception as error:
        if debug:
            raise
        message, code = _told(error)
        click.echo(f"Error: {message}", err=True)
        return code


def _told(error: Exception) -> tuple[str, int]:
    """The sentence and the exit code for an error."""
    if lacks_memory(error):
        known = f" ({error})" if isinstance(error, MemoryError) and str(error) else ""
        return f"{NO_MEMORY}{known}. Use fewer rows, another method, or a larger machine.", 3
    if isinstance(error, ValueError | OSError):
        remedy = "" if isinstance(error, ValueError) else ". Check the disk, and whether its folders can be written to."
        return f"{with_flags(str(error), commands)}{remedy}", 2
    known = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"this is a bug in semisvm, not in your data ({known}). Add {DEBUG} for details.", 2
