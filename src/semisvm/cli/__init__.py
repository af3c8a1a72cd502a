"""The command line: parse, call one function, exit code.

Commands are small files of their own; this one only gathers them and sees to it that no traceback reaches a user.
Exit codes: 0 done, 1 a target that was asked for is not met, 2 bad input, 130 stopped by Ctrl-C.
"""

import sys

import click

from semisvm.cli.compare import compare
from semisvm.cli.demo import demo
from semisvm.cli.evaluate import evaluate
from semisvm.cli.fit import fit
from semisvm.cli.info import info
from semisvm.cli.options import examples
from semisvm.cli.predict import predict
from semisvm.cli.report import report
from semisvm.cli.suggest import suggest

DEBUG = "--debug"
EXAMPLES = (
    "semisvm demo",
    "semisvm fit mails.csv --target spam --min-precision 0.9 --out spam.skops --report spam.html",
    "semisvm predict spam.skops new.csv --out labels.csv",
)


@click.group(
    epilog=examples(*EXAMPLES), context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="semisvm")
@click.option(DEBUG, is_flag=True, help="Show the traceback of an error; may stand anywhere.")
def commands(debug: bool) -> None:
    """Semi-supervised support vector machines: few labels, many unlabeled rows.

    Exit codes: 0 done, 1 a target that was asked for is not met, 2 bad input, 130 stopped by Ctrl-C.
    """


for command in (demo, fit, predict, evaluate, compare, suggest, report, info):
    commands.add_command(command)


def main() -> None:
    """The `semisvm` command."""
    arguments = sys.argv[1:]
    debug = DEBUG in arguments
    try:
        sys.exit(commands.main([word for word in arguments if word != DEBUG], standalone_mode=False) or 0)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.exceptions.Exit as ending:
        sys.exit(ending.exit_code)
    except BrokenPipeError:  # whoever read our output has enough
        sys.exit(0)
    except (ValueError, OSError) as error:
        if debug:
            raise
        remedy = "" if isinstance(error, ValueError) else ". Check the disk, and whether its folders can be written to."
        click.echo(f"Error: {error}{remedy}", err=True)
        sys.exit(2)
    except Exception as error:
        if debug:
            raise
        told = f"{type(error).__name__}: {error}".rstrip(": ")
        click.echo(f"Error: something went wrong here, not in your data ({told}). Add {DEBUG} for details.", err=True)
        sys.exit(2)
