"""Weka's ARFF text -> X, y: a header that declares the columns, then rows of separated cells.

    @relation weather
    @attribute temperature numeric
    @attribute play {yes, no}
    @data
    21.5, yes
    18.0, ?

Only the header is particular to ARFF; its rows go to the reader of delimited text. A "?" is a missing
value, which as target means a row without a label. What a declared type promises is not checked: a
nominal column of numbers is as good as a numeric one.
"""

from __future__ import annotations

import re
from pathlib import Path

from semisvm.data.content import read_text
from semisvm.data.dataset import Dataset
from semisvm.data.delimited import read_columns
from semisvm.data.errors import fault
from semisvm.data.table import Table, require_different
from semisvm.data.target import MISSING_SPELLINGS

# a name may stand in quotes, and then holds spaces
ATTRIBUTE = re.compile(r"""@attribute\s+(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|([^\s{]+))\s*(\S.*)""", re.I)
ESCAPED = re.compile(r"\\(.)")


def read_arff(path: str | Path, *, target: str | None = None) -> Dataset:
    """Read an ARFF file, plain or compressed; `target` names the attribute that holds the labels."""
    return read_columns(open_arff(path), target)


def open_arff(path: str | Path) -> Table:
    """Read the declarations of an ARFF file, and the text of the rows below them."""
    path = Path(path)
    lines = read_text(path).split("\n")
    names: list[str] = []
    for number, line in enumerate(map(str.strip, lines), start=1):
        keyword = line.split(maxsplit=1)[0].lower() if line else ""
        if keyword == "@data":
            break
        if keyword == "@attribute":
            names.append(_declared_name(path, line, number))
        elif line and not line.startswith("%") and keyword != "@relation":
            reason = "neither @relation, @attribute, @data nor a comment (%) in the header"
            raise fault(path, reason, "Check that this is an ARFF file", line=number)
    else:
        raise fault(path, "there is no @data line", "Check that this is a whole ARFF file")
    if not names:
        raise fault(path, "no @attribute is declared before @data", "Declare one for each column", line=number)
    require_different(path, names)
    body = _body(path, lines[number:], number + 1)
    # ARFF allows both quotes and Weka writes the single one: that, if there is any
    quote = "'" if "'" in body else '"'
    return Table(path, tuple(names), body, number + 1, ",", quote, "\\", MISSING_SPELLINGS | {"?"})


def _declared_name(path: Path, line: str, number: int) -> str:
    declaration = ATTRIBUTE.fullmatch(line)
    if declaration is None:
        reason = "an @attribute without a name or a type"
        raise fault(path, reason, "Write it as: @attribute name numeric", line=number)
    single, double, bare = declaration.group(1, 2, 3)
    return bare if bare is not None else ESCAPED.sub(r"\1", single if single is not None else double)


def _body(path: Path, lines: list[str], first_line: int) -> str:
    """Return the rows as delimited text, line for line: comments made blank."""
    for i, line in enumerate(lines):
        if line.lstrip().startswith("{"):
            reason = "a sparse row ({index value, ...})"
            raise fault(path, reason, "Save the file as dense ARFF, CSV or LIBSVM text", line=first_line + i)
        if line.lstrip().startswith("%"):
            lines[i] = ""
    return "\n".join(lines)
