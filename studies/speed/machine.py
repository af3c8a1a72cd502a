"""What a measurement was made on: the machine, the versions, and the state of the source.

Nothing here names a person, a host or a folder: records are published.
"""

import hashlib
import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("semisvm", "numpy", "scipy", "scikit-learn", "numba", "scikit-learn-intelex")


def describe_machine():
    """Return processor, cores this process may use, memory and system."""
    return {
        "cpu": _cpu_model(),
        "cores": _usable_cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
    }


def describe_versions():
    """Return the version of Python and of each package that takes part; None where it is not installed."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return versions


def describe_source():
    """Return the commit, with "+dirty" where the tree differs from it, and a digest of the library's source.

    The digest tells one dirty tree from the next, which the commit alone cannot.
    """
    commit = _git("rev-parse", "--short=12", "HEAD") or "no commit"
    # Writing results must not make the tree that produced them dirty.
    watched = ("src", "studies", "pyproject.toml", ":(exclude)studies/speed/results")
    dirty = _git("--no-optional-locks", "status", "--porcelain", "--", *watched)
    return {"commit": commit + ("+dirty" if dirty else ""), "source": source_digest()}


def source_digest():
    """Return a digest of every Python file of the library, names included."""
    digest = hashlib.sha256()
    package = ROOT / "src" / "semisvm"
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def without_paths(text):
    """Return an error's text with every absolute path cut to its last part."""
    return re.sub(r"(?<![\w.])/(?:[^\s/'\"():,]+/)+", "", text)


def _usable_cores():
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS has none
        return os.cpu_count()


def _cpu_model():
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.processor() or "unknown"


def _git(*arguments):
    """Return what git answers, or "" where there is no git or no repository."""
    try:
        answer = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()
