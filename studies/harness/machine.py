"""What a record was made on and with: machine, versions, source, memory.

Nothing here names a person, a host or a folder: records are published.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "semisvm"
PACKAGES = ("semisvm", "numpy", "scipy", "scikit-learn", "numba")


def describe_session() -> dict[str, Any]:
    """Return the part that all records of a run share."""
    return {
        "machine": describe_machine(),
        "versions": describe_versions(),
        "commit": describe_commit(),
        "source": source_digest(),
    }


def describe_machine() -> dict[str, Any]:
    """Return processor, usable cores, memory and system."""
    return {
        "cpu": _cpu_model(),
        "cores": usable_cores(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def describe_versions() -> dict[str, str | None]:
    """Return the version of Python and of each package that takes part."""
    return {"python": platform.python_version()} | {package: _version(package) for package in PACKAGES}


def describe_commit() -> str | None:
    """Return the commit of the checkout this package runs from, "+dirty" where its source differs, else None."""
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:  # installed, or inside someone else's repository
        return None
    commit = _git("rev-parse", "--short=12", "HEAD")
    dirty = _git("--no-optional-locks", "status", "--porcelain", "--", ".")
    return f"{commit}+dirty" if commit and dirty else commit


def source_digest() -> str:
    """Return a digest of every Python file of the library, names included."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def without_paths(text: str) -> str:
    """Return an error's text with every absolute path cut to its last part."""
    return re.sub(r"(?<![\w.])(?:[A-Za-z]:\\|/)(?:[^\s/\\'\"():,]+[/\\])+", "", text)


def usable_cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have none
        return os.cpu_count() or 1


def reset_peak() -> None:
    """Set the high-water mark of memory back to present use, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_rss_mib() -> float | None:
    """Return the most memory this process has held since the mark was reset, MiB; None where nobody tells."""
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        found = None
    if found:
        return round(int(found.group(1)) / 2**10, 1)
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def _cpu_model() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
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
    """Return what git answers about the package's folder, or None where there is no git or no repository."""
    try:
        answer = subprocess.run(["git", *arguments], cwd=PACKAGE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
