"""Put what a benchmark printed into its place on the page of benchmarks.

    python -m studies.speed.cores --table --out FILE | python -m studies.speed.page cores

replaces what stands between the lines `<!-- cores -->` and `<!-- /cores -->` of
`docs/measured/benchmarks.md`.
"""

from __future__ import annotations

import sys

from studies.harness.machine import REPOSITORY

PAGE = REPOSITORY / "docs" / "measured" / "benchmarks.md"


def put(page: str, name: str, text: str) -> str:
    """Return the page with a text in the place of that name; raise ValueError if there is no
    such place.
    """
    first = f"<!-- {name} -->\n"
    last = f"<!-- /{name} -->\n"
    start = page.find(first)
    end = page.find(last)
    if not 0 <= start < end:
        raise ValueError(f"The page has no place {name!r}.")
    return f"{page[: start + len(first)]}\n{text.strip()}\n\n{page[end:]}"


def main() -> int:
    """Read the text from the standard input; return the exit status."""
    (name,) = sys.argv[1:]
    text = sys.stdin.read()
    if not text.strip():
        print("Nothing was printed: the page stays as it is.", file=sys.stderr)
        return 1
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
