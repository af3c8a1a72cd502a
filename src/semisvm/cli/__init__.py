"""The command line: parse, call one function, exit code.

Commands are small files of their own; this one only gathers them and sees to it that no traceback reaches a user.
Exit codes: 0 done, 1 a target that was asked for is not met, 2 bad input, 130 stopped by Ctrl-C.
"""

import click

from semisvm.cli.demo import demo
from semisvm.cli.info import info
from semisvm.cli.reproduce import reproduce


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="semisvm")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def commands(context: click.Context, debug: bool) -> None:
    """Semi-supervised support vector machines: few labels, many unlabelled rows."""
    context.obj = {"debug": debug}


for command in (demo, info, reproduce):
    commands.add_command(command)


def main() -> None:
    """The `semisvm` command."""
    import sys

    debug = "--debug" in sys.argv[1:]
    try:
        sys.exit(commands.main(standalone_mode=False) or 0)
    except click.exceptions.Abort:
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.exceptions.Exit as ending:
        sys.exit(ending.exit_code)
    except (ValueError, OSError) as error:
        if debug:
            raise
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
