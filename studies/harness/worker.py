"""A process that runs cells: `python -m studies.harness.worker`.

A cell comes in as a line of JSON on standard input, its record goes out as a line on standard output. Whatever else
prints goes to standard error. The end of the input is the end of the process, so none outlives its parent for
longer than the cell it is at.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from studies.harness.execute import execute
from studies.harness.tasks import Cell, Task


def main() -> None:
    """Run cells until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        asked = json.loads(line)
        record = execute(Cell(Task(**asked["task"]), asked["seed"]))
        answers.write(json.dumps(record) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
