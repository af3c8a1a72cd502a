"""The command: six verbs and a demo. A verb reads options, calls one method, prints one record.

    verbs       the group of verbs, and how a command ends
    options     options that several verbs have
    fit         fit
    labeling    label, finish; begin: how a session is begun
    use         predict, evaluate, monitor
    demo        demo
    screen      what is printed: sentences, JSON, progress

Only click is imported before a verb runs, so that --help does not wait.
"""

import sys

from semisvm.errors import MissingExtraError, require_extra


def main() -> None:
    """Run the command."""
    try:
        require_extra("The command")
    except MissingExtraError as error:
        print(f"semisvm: {error}", file=sys.stderr)
        sys.exit(2)
    from semisvm.cli.verbs import semisvm

    semisvm(prog_name="semisvm")
