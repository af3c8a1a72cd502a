"""The code of every page runs as it stands, from the first block to the last, and prints what the
page shows below it.

A block of ```python is run, unless it begins with "# not run"; the block of ```text after it is what
it prints, where "..." stands for anything. `python tests/test_pages.py` writes what is printed now.
"""

import contextlib
import doctest
import io
import os
import re
import sys
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n^```text\n(?P<shown>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)


def run_page(text):
    """Yield (code, what the page shows, what is printed) of each block, in an empty folder."""
    names = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in BLOCK.finditer(text):
            stream = io.StringIO()
            if not block["code"].startswith("# not run"):
                with contextlib.redirect_stdout(stream):
                    exec(compile(block["code"], "page", "exec"), names)
            yield block["code"], block["shown"] or "", stream.getvalue()


@pytest.mark.nightly
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page(page):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for code, shown, printed in run_page(page.read_text(encoding="utf-8")):
        is_shown = doctest.OutputChecker().check_output(shown, printed, flags)
        assert is_shown, f"{code}\nprints\n\n{printed}"


def write_what_is_printed(page):
    """Put what the code of a page prints below it."""
    text = page.read_text(encoding="utf-8")
    blocks = [
        f"```python\n{code}```\n" + (f"\n```text\n{printed}```\n" if printed else "")
        for code, _, printed in run_page(text)
    ]
    page.write_text(BLOCK.sub(lambda _: blocks.pop(0), text), encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in sys.argv[1:] or PAGES:
        write_what_is_printed(Path(name))
