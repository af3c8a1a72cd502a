"""`python -m studies.papers`: see `command`."""

from studies.papers.command import reproduce

reproduce(prog_name="python -m studies.papers")
