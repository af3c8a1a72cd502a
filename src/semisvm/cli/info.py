"""`semisvm info`: what is installed and what the machine offers."""

import importlib.metadata
import platform

import click

from semisvm.cli.options import as_json, examples

PACKAGES = (
    "semisvm",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "pandas",
    "pyarrow",
    "skops",
    "matplotlib",
    "torch",
    "triton",
)


@click.command(epilog=examples("semisvm info", "semisvm info --json"))
@as_json
def info(as_json: bool) -> None:
    """Versions, threads, memory and GPU, for a bug report."""
    from semisvm.cli.screen import Screen
    from semisvm.kernels.resources import free_bytes, n_threads

    facts = {"python": platform.python_version(), "system": platform.platform()}
    facts |= {name: _version(name) for name in PACKAGES}
    facts |= {"threads": str(n_threads()), "free memory": f"{free_bytes() / 1e9:.1f} GB", "GPU": _gpu()}
    if as_json:
        Screen(as_json).show_json(facts)
        return
    for name, value in facts.items():
        click.echo(f"{name:<14}{value}")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _gpu() -> str:
    from semisvm.device import resolve

    try:
        return f"{resolve('cuda')}, in use for large problems"
    except ValueError as error:
        return f"none in use ({error})"
