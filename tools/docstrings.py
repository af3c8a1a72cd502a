"""Write the shared entries of docstrings into the source, or check that they are current.

Parameters and attributes that mean the same in several estimators are described once, in
`shared_docstrings.toml`: entries (`name : type, default=...` with an indented text), and the
classes and methods that have them. Each entry of that name in their docstrings is replaced, so
that editors and code browsers show what `help()` shows.

    python tools/docstrings.py           # write
    python tools/docstrings.py --check   # list what is not current, and fail if there is anything
"""

import ast
import re
import sys
import textwrap
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src" / "semisvm" / "estimators"
WIDTH = 100
ENTRY = re.compile(r"( *)([\w*]+) : ")


def shared_entries() -> dict[str, dict[str, tuple[str, str]]]:
    """The header and the text of each shared entry, by class or method and by name."""
    parts = tomllib.loads((HERE / "shared_docstrings.toml").read_text(encoding="utf-8"))["part"]
    entries: dict[str, dict[str, tuple[str, str]]] = {}
    for part in parts:
        for block in re.split(r"\n(?=\S)", part["text"].strip()):
            header, *text = block.splitlines()
            name = header.split(" : ")[0]
            for owner in part["classes"]:
                words = " ".join(line.strip() for line in text)
                entries.setdefault(owner, {})[name] = (header, words)
    return entries


def docstrings(tree: ast.Module):
    """The name of each class and method, with the first and the last line of its docstring."""
    for class_ in tree.body:
        if not isinstance(class_, ast.ClassDef):
            continue
        for node in [class_, *class_.body]:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                name = class_.name if node is class_ else f"{class_.name}.{node.name}"
                constant = node.body[0].value
                yield name, constant.lineno - 1, constant.end_lineno


def rewritten(lines: list[str], entries: dict[str, tuple[str, str]]) -> list[str]:
    """The lines of a docstring, with the shared text in place of the entries of those names."""
    written: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        match = ENTRY.match(line)
        if match is None or match[2] not in entries:
            written.append(line)
            continue
        margin = match[1] + "    "
        while lines[position].startswith(margin):
            position += 1
        header, text = entries[match[2]]
        written.append(match[1] + header)
        written += textwrap.wrap(
            text,
            WIDTH,
            initial_indent=margin,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return written


def main(check: bool) -> int:
    """Rewrite the files that are not current, or name them."""
    entries = shared_entries()
    outdated = []
    for path in sorted(SOURCE.rglob("*.py")):
        before = path.read_text(encoding="utf-8")
        lines = before.split("\n")
        for name, first, last in sorted(docstrings(ast.parse(before)), key=lambda found: -found[1]):
            if name in entries:
                lines[first:last] = rewritten(lines[first:last], entries[name])
        after = "\n".join(lines)
        if after != before:
            outdated.append(path.relative_to(HERE.parent))
            if not check:
                path.write_text(after, encoding="utf-8")
    for path in outdated:
        print(f"{path} is not current: make docstrings" if check else f"{path} written")
    return int(check and bool(outdated))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
