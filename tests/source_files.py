"""The source files of the package and the documents beside it, for tests that read them."""

import ast
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "src" / "semisvm"


def source_files() -> list[Path]:
    """Every Python file of the wheel."""
    return sorted(PACKAGE.rglob("*.py"))


def place(path: Path) -> str:
    """A file as it is named inside the package: "dual/host.py"."""
    return path.relative_to(PACKAGE).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    """The parsed source of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))
