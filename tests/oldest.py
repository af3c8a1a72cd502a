"""The oldest versions of the dependencies that pyproject.toml allows, one per line: `make test-oldest` installs them.

python tests/oldest.py            constraints for pip: numpy==2.0, ...
python tests/oldest.py --check    fail unless exactly these are installed
"""

import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=(?P<oldest>[0-9.]+)")


def oldest_versions() -> dict[str, str]:
    """The oldest version of each dependency of a plain install."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    found = [REQUIREMENT.match(requirement) for requirement in project["dependencies"]]
    return {match["name"]: match["oldest"] for match in found}


def is_of(installed: str, oldest: str) -> bool:
    """Whether a version belongs to the oldest one: 2.0.2 to 2.0."""
    return (installed + ".").startswith(oldest + ".")


if __name__ == "__main__":
    if "--check" in sys.argv:
        wrong = [
            f"{name} {version(name)}, not {v}" for name, v in oldest_versions().items() if not is_of(version(name), v)
        ]
        sys.exit("; ".join(wrong) or 0)
    for name, oldest in oldest_versions().items():
        print(f"{name}=={oldest}.*")
