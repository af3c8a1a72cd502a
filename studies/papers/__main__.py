"""`python -m studies.papers`: see `command`."""

from studies.papers.command import reproduce

if __name__ == "__main__":
    reproduce(prog_name="python -m studies.papers")
