"""The machine, the versions and the source that a record was made with.

Nothing here names a person, a host or a folder: summaries of records are published.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "semisvm"
PACKAGES = ("semisvm", "numpy", "scipy", "scikit-learn", "numba", "scikit-learn-intelex")


def describe_session() -> dict[str, Any]:
    """Return the part that all records of a run share."""
    return {
        "machine": describe_machine(),
        "versions": describe_versions(),
        "commit": describe_commit(),
        "source": source_digest(),
    }


def describe_today() -> str:
    """Return date, machine and commit in one line, for means that are kept."""
    session = describe_session()
    return f"{date.today()}: {name_session(session)}"


def describe_machine() -> dict[str, Any]:
    """Return processor, usable cores, memory and operating system."""
    return {
        "cpu": _cpu_model(),
        "cores": usable_cores(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def describe_versions() -> dict[str, str | None]:
    """Return the version of Python and of each package that takes part; None where it is not
    installed.
    """
    return {"python": platform.python_version()} | {
        package: _version(package) for package in PACKAGES
    }


def describe_commit() -> str | None:
    """Return the commit of the checkout, with "+dirty" if its code differs; None outside a
    checkout.
    """
    if _git("ls-files", "--error-unmatch", "src/semisvm/__init__.py") is None:
        return None
    commit = _git("rev-parse", "--short=12", "HEAD")
    # a benchmark that writes its results must not make the tree that produced them dirty
    watched = ("src", "studies", "pyproject.toml", ":(exclude)studies/speed/results")
    dirty = _git("--no-optional-locks", "status", "--porcelain", "--", *watched)
    return f"{commit}+dirty" if commit and dirty else commit


def source_digest() -> str:
    """Return a digest of every Python file of the library, names included; it tells two dirty
    trees apart.
    """
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def name_session(session: dict[str, Any]) -> str:
    """Return the session in one line, for people."""
    machine = session.get("machine") or {}
    versions = session.get("versions") or {}
    packages = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
    where = f"{machine.get('cpu')}, {machine.get('cores')} cores, {machine.get('memory_gib')} GiB"
    return (
        f"{where}, {machine.get('system')}; {packages}; commit {session.get('commit')}, source"
        f" {session.get('source')}"
    )


def is_same_session(record: dict[str, Any], session: dict[str, Any]) -> bool:
    """Return whether a record was made from the same source on the same machine."""
    return all(record.get(key) == session[key] for key in ("commit", "source", "machine"))


def without_paths(text: str) -> str:
    """Return an error's text with every absolute path cut to its last part."""
    return re.sub(r"(?<![\w.])(?:[A-Za-z]:\\|/)(?:[^\s/\\'\"():,]+[/\\])+", "", text)


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def _cpu_model() -> str:
    try:
        found = re.search(
            r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE
        )
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.processor() or "unknown"


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    """Return what git answers in the repository; None where there is no git or no repository."""
    try:
        answer = subprocess.run(
            ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
