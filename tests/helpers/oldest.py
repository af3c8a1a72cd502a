"""The oldest versions of the dependencies that pyproject.toml allows, one per line:
`make test-oldest` installs them.

python tests/helpers/oldest.py                        constraints for pip: numpy==1.26.*, ...
python tests/helpers/oldest.py --check                fail unless exactly these are installed
python tests/helpers/oldest.py scikit-learn==1.7 ...  constraints for these versions, the rest newest
"""

import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(?:\[[^]]*\])?[>=]=(?P<version>[0-9.]+)")


def oldest_requirements() -> list[str]:
    """What the library and its command ask for."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["cli"]]


def versions_in(requirements: list[str]) -> dict[str, str]:
    """The version that each requirement names."""
    matches = [REQUIREMENT.match(requirement) for requirement in requirements]
    return {match["name"]: match["version"] for match in matches}


def belongs_to(installed: str, wanted: str) -> bool:
    """Whether a version belongs to the wanted one: 1.26.4 to 1.26."""
    return (installed + ".").startswith(wanted + ".")


if __name__ == "__main__":
    named = [word for word in sys.argv[1:] if word != "--check"]
    wanted = versions_in(named or oldest_requirements())
    if "--check" in sys.argv:
        wrong = [
            f"{name} {version(name)}, not {wanted[name]}"
            for name in wanted
            if not belongs_to(version(name), wanted[name])
        ]
        sys.exit("; ".join(wrong) or 0)
    for name in wanted:
        print(f"{name}=={wanted[name]}.*")
