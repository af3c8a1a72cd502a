"""Facts -> one HTML file that needs nothing else: no network, no other file.

Jinja2 lays out the page, since it escapes every value unless told otherwise, and is told otherwise for the files of
this package alone. What the charts draw goes in as JSON with <, > and & written as escapes, so no value can end its
element. A Content-Security-Policy lets run the package's own three scripts, known by their hashes, and forbids every
request; text that got through as markup all the same could do nothing.

The charts are Observable Plot's (with D3, on which it stands), as published on npm: SVG, so that they print, follow the
page's colors in the dark, and hold text that can be read.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from semisvm.report.page import read_page
from semisvm.tables.writing import whole_file

SCRIPTS = ("d3.min.js", "plot.umd.min.js", "page.js")
# Control characters and what is no character: HTML forbids them, and UTF-8 has no half of a surrogate pair.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def write_report(facts: Mapping[str, Any], path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write the page to `path`, whole or not at all, over an existing file only by `force`; return the path."""
    path = Path(path)
    with whole_file(path, force=force) as unfinished:
        unfinished.write_text(render(facts), encoding="utf-8", newline="\n")
    return path


def render(facts: Mapping[str, Any]) -> str:
    """Return the page as text; the facts are read as they are, and what is missing is said to be."""
    page = read_page(facts)
    drawn = {
        "answers": [answer["drawn"] | {"key": answer["key"]} for answer in page["answers"]],
        "rounds": page["rounds"]["drawn"],
        "problems": page["rounds"]["problems"],
        "comparison": page["comparison"]["drawn"],
    }
    scripts = [_asset(name) for name in SCRIPTS]
    return _template().render(
        page=page,
        drawn=_embed(drawn),
        style=_asset("page.css"),
        scripts=scripts,
        policy=_policy(scripts),
        licenses=_asset("LICENSES.txt"),
    )


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value,
    )
    return environment.from_string(_asset("page.html.jinja"))


@cache
def _asset(name: str) -> str:
    return resources.files("semisvm.report").joinpath("assets", name).read_text(encoding="utf-8").strip()


def _policy(scripts: list[str]) -> str:
    """Only these scripts may run, and nothing may be fetched."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def _embed(value: Any) -> str:
    """JSON that may stand inside a script element."""
    plain = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return plain.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
