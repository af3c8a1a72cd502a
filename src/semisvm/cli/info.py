"""`semisvm info`: what is installed and what the machine offers."""

import importlib.metadata
import platform

import click

PACKAGES = ("semisvm", "numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow", "torch", "triton")


@click.command()
def info() -> None:
    """Versions, cores and memory, for a bug report."""
    from semisvm.kernels.memory import free_bytes
    from semisvm.kernels.threads import n_threads

    rows = [("python", platform.python_version()), ("system", platform.platform())]
    rows += [(name, _version(name)) for name in PACKAGES]
    rows += [("threads", str(n_threads())), ("free memory", f"{free_bytes() / 1e9:.1f} GB")]
    for name, value in rows:
        click.echo(f"{name:<14}{value}")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
