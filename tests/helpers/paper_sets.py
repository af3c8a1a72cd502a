"""The papers' sets, each read once by a process: reading the largest takes seconds."""

from functools import cache

from studies.data import load

LARGE = ("mnist",)  # 190 MB: read again where it is used again


def paper_set(name, folder):
    """Load a set that tests leave as it is."""
    return load(name, folder) if name in LARGE else _kept(name, folder)


_kept = cache(load)
