"""`semisvm info`: installed versions and the machine."""

import importlib.metadata
import platform

import click

from semisvm.cli.options import json_option, list_examples

REPORTED_PACKAGES = (
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


@click.command("info", epilog=list_examples("semisvm info", "semisvm info --json"))
@json_option
def info_command(as_json: bool) -> None:
    """Print versions, threads, memory and GPU, for a bug report."""
    from semisvm.cli.screen import Screen
    from semisvm.kernels.resources import free_bytes, n_threads

    found = {"python": platform.python_version(), "system": platform.platform()}
    found |= {name: _version(name) for name in REPORTED_PACKAGES}
    found |= {"threads": str(n_threads()), "free memory": f"{free_bytes() / 1e9:.1f} GB", "GPU": _gpu()}
    if as_json:
        Screen(as_json).show_json(found)
        return
    for name, value in found.items():
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
