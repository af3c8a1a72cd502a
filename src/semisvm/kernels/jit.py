"""How this library compiles: one place for the flags, and nothing compiled until it is called.

Importing this module imports Numba; only modules of compiled functions do so, and they in turn are imported
inside the functions that call them, so that ``import semisvm`` stays as light as scikit-learn.
"""

from collections.abc import Callable
from typing import Any

from numba import njit

# Infinite bounds are legitimate here, so "ninf" is not among the liberties; NaN never enters a solver.
FAST_MATH = {"nnan", "nsz", "arcp", "contract", "reassoc"}


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call, without the interpreter lock, and keep the machine code on disk."""
    options = {"nogil": True, "fastmath": FAST_MATH, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no folder that can be written: compile anew in each process
        return njit(**options)(function)
