"""The order of rows and their clocks: the only randomness of a campaign.

A *scan* is a list of rows in an order that is fixed first. Then each row gets a clock, uniform on
(0, 1) and independent of everything. Clocks are the output of SHAKE-256 for a text that holds the
`random_state`, the order and all that is planned. So they are the same on every machine, other
programs can make them again, and nobody can choose an order or a plan after seeing its clocks.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np

Floats = np.ndarray
Rows = np.ndarray

MOST_STATE = 2**63


def state_of(random_state: Any) -> int:
    """Return the random state that was given, or one from the operating system."""
    if random_state is None:
        return secrets.randbelow(MOST_STATE)
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise ValueError(f"random_state must be an int or None, got {random_state!r}.")
    return int(random_state)


def uniform(text: str, n: int) -> Floats:
    """Return n numbers in (0, 1) for a text: number i has bytes 8i to 8i + 7 of SHAKE-256.

    Examples
    --------
    >>> from semisvm.evidence.order import uniform
    >>> uniform("a text", 3).round(6).tolist()
    [0.743872, 0.676444, 0.631484]
    """
    numbers = np.frombuffer(hashlib.shake_256(text.encode()).digest(8 * n), dtype="<u8")
    return ((numbers >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52


def digest(values: np.ndarray) -> str:
    """Return the SHA-256 of numbers as 8 little-endian bytes each."""
    kind = "<i8" if values.dtype.kind in "iu" else "<f8"
    return hashlib.sha256(np.ascontiguousarray(values, dtype=kind).tobytes()).hexdigest()


def highest_first(values: Floats, random_state: int, about: str) -> Rows:
    """Return the places of values from the highest to the lowest, equal ones in random order."""
    order = np.argsort(-values, kind="stable")
    if not (np.diff(values[order]) == 0).any():
        return order
    by_chance = np.argsort(uniform(f"{random_state} ties {about} {len(values)}", len(values)))
    return by_chance[np.argsort(-values[by_chance], kind="stable")]


def rounded(values: Any) -> Any:
    """Return JSON values with twelve digits: the last ones differ between machines."""
    if isinstance(values, Mapping):
        return {name: rounded(value) for name, value in values.items()}
    if isinstance(values, list):
        return [rounded(value) for value in values]
    return float(f"{values:.12g}") if isinstance(values, float) else values


class Scan:
    """Rows in a fixed order, their clocks, and what the answers say of them.

    Attributes
    ----------
    rows : ndarray of int
        The rows of the pool, in scan order.
    clock : ndarray of float
        The clock of each row, by place in the scan.
    plan : str
        What was fixed before the clocks were drawn, as JSON text.
    """

    def __init__(self, rows: Rows, random_state: int, plan: Mapping[str, Any]):
        self.rows = rows
        self.plan = json.dumps({**rounded(plan), "order": digest(rows)}, sort_keys=True)
        self.clock = uniform(f"{random_state} clocks {self.plan}", len(rows))

    def first_open(self, is_open: np.ndarray, looks: Floats) -> np.ndarray:
        """Return, for each look, the place of the first open row whose clock is up to the look.

        `is_open` is by place. All rows before that place with such a clock are answered.
        """
        earliest = np.minimum.accumulate(np.where(is_open, self.clock, np.inf))
        return np.searchsorted(-earliest, -looks, side="left")
