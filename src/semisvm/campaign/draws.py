"""One random order of the pool, in which every claim reads its own rows up to the first one without
an answer.

Row i gets the clock -log(u_i) / speed, where u_i is made by BLAKE2b from the row's number and a
key: the seed, the bands of all rows, and the number of the campaign. Rows by clock are drawn
without replacement with chances in proportion to their speeds, *and the same holds inside every
subset*. So it does not matter which rows were labeled, when and why: a claim depends on the prefix
of its own sequence only.

Rows of a band have one speed, so each band is sorted once. The bands of a claim are merged when
they are read: that takes time in proportion to the answers, not to the pool.

The last functions write and read the plan that the order follows.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from semisvm.decision.sampling_plan import MOST_RANKED, PlannedThreshold, SamplingPlan

SEED_BYTES = 16


def make_seed() -> bytes:
    """Return a seed from the operating system."""
    return secrets.token_bytes(SEED_BYTES)


def read_seed(seed: str) -> bytes:
    """Return a seed that was given as hexadecimal digits."""
    try:
        return bytes.fromhex(seed).rjust(SEED_BYTES, b"\0")[:64]
    except (ValueError, TypeError):
        raise ValueError(f"seed must be hexadecimal digits such as '00ff', got {seed!r}.") from None


def clock_key(seed: bytes, bands: np.ndarray, campaign: int, phase: int) -> bytes:
    """Return the key of the clocks: another pool, another model, another campaign or another phase
    has other clocks, even with the same seed.
    """
    about = hashlib.sha256(bands.tobytes()).digest() + struct.pack("<QQ", campaign, phase)
    return hashlib.blake2b(about, digest_size=32, key=seed).digest()


def uniform_numbers(key: bytes, n: int) -> np.ndarray:
    """Return n numbers in (0, 1), one per row: the same on every platform.

    BLAKE2b gives 64 bytes for every eight rows; row i has the integer at place i % 8 of block
    i // 8, plus 0.5, divided by 2^64.
    """
    blake2b = hashlib.blake2b
    blocks = np.arange(-(-n // 8), dtype="<u8").tobytes()
    digests = b"".join(
        [blake2b(blocks[i : i + 8], key=key).digest() for i in range(0, len(blocks), 8)]
    )
    return (np.frombuffer(digests, dtype="<u8")[:n] + 0.5) / 2.0**64


def exponential_clocks(key: bytes, speeds: np.ndarray) -> np.ndarray:
    """Return the clock of each row; speeds are above 0."""
    return -np.log(uniform_numbers(key, len(speeds))) / speeds


class DrawOrder:
    """The rows of each band by clock; `read` says which of them are answered."""

    def __init__(self, plan: SamplingPlan, key: bytes):
        self._rows: list[np.ndarray] = []
        self._clocks: list[np.ndarray] = []
        numbers = -np.log(uniform_numbers(key, len(plan.bands)))
        for band, speed in enumerate(plan.speeds):
            rows = np.flatnonzero(plan.bands == band) if speed > 0 else np.empty(0, dtype=np.intp)
            clocks = numbers[rows] / speed
            order = np.argsort(clocks, kind="stable")
            self._rows.append(rows[order])
            self._clocks.append(clocks[order])

    def read(self, is_answered: np.ndarray) -> None:
        """Take note of which rows are answered, (n_rows,)."""
        self._is_answered = is_answered
        self._n_answered = int(is_answered.sum())
        bands = range(len(self._rows))
        self._frontiers = np.array([self._open_clocks(k, 1).min(initial=np.inf) for k in bands])

    def prefix(self, bands: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return the rows of some bands, in the order of their clocks, up to the first without an
        answer.

        The second value says whether these are all rows of the bands.
        """
        frontier = self._frontiers[bands].min(initial=np.inf)
        ends = [slice(np.searchsorted(self._clocks[band], frontier)) for band in bands]
        return self._by_clock(bands, ends), frontier == np.inf

    def next_rows(self, bands: np.ndarray, n: int) -> list[int]:
        """Return the first n rows of some bands without an answer, in the order of their clocks."""
        places = [self._open_places(band, n) for band in bands]
        return self._by_clock(bands, places)[:n].tolist()

    def _by_clock(self, bands: np.ndarray, places: Sequence[Any]) -> np.ndarray:
        """The rows at some places of some bands, in the order of their clocks."""
        chosen = list(zip(bands, places, strict=True))
        rows = np.concatenate(
            [np.empty(0, dtype=np.intp), *(self._rows[k][at] for k, at in chosen)]
        )
        clocks = np.concatenate([np.empty(0), *(self._clocks[k][at] for k, at in chosen)])
        return rows[np.argsort(clocks, kind="stable")]

    def prefix_lengths(self, n_sets: int, labels: np.ndarray) -> np.ndarray:
        """Return how far each of the nested sets of bands 0, 0-1, 0-2, ... is read once so many of
        its rows more are answered in the order of their clocks: (len(labels), n_sets).
        """
        most = int(labels.max()) + 1
        lengths = np.empty((len(labels), n_sets))
        open_clocks = np.empty(0)
        for k in range(n_sets):
            open_clocks = np.sort(np.append(open_clocks, self._open_clocks(k, most)))[:most]
            ends = np.append(open_clocks, np.full(most + 1, np.inf))[labels]
            lengths[:, k] = sum(np.searchsorted(self._clocks[band], ends) for band in range(k + 1))
        return lengths

    def _open_places(self, band: int, n: int) -> np.ndarray:
        """The places of the first n rows of a band without an answer."""
        first = self._rows[band][: n + self._n_answered]
        return np.flatnonzero(~self._is_answered[first])[:n]

    def _open_clocks(self, band: int, n: int) -> np.ndarray:
        return self._clocks[band][self._open_places(band, n)]


def plan_as_dict(plan: SamplingPlan) -> dict[str, Any]:
    """Return a plan as plain JSON values."""
    return {
        "bands": _pack(plan.bands.tobytes()),
        "sizes": plan.sizes.tolist(),
        "speeds": plan.speeds.tolist(),
        "beliefs": plan.beliefs.tolist(),
        "thresholds": [vars(planned) for planned in plan.thresholds],
        "kind": plan.kind,
        "ranks": _pack(_ranked_rows(plan)),
    }


def plan_from_dict(values: dict[str, Any]) -> SamplingPlan:
    """Return the plan that `plan_as_dict` wrote."""
    bands = np.frombuffer(_unpack(values["bands"]), dtype=np.uint8)
    ranks = np.empty(0, dtype=np.int32)
    if values["kind"] == "precision sets":
        packed = np.frombuffer(_unpack(values["ranks"]), dtype="<i4")
        rows, ranks_of_rows = packed.reshape(2, -1)
        ranks = np.full(len(bands), MOST_RANKED, dtype=np.int32)
        ranks[rows] = ranks_of_rows
    return SamplingPlan(
        bands=bands,
        sizes=np.array(values["sizes"]),
        speeds=np.array(values["speeds"]),
        beliefs=np.array(values["beliefs"]),
        thresholds=tuple(PlannedThreshold(**planned) for planned in values["thresholds"]),
        kind=values["kind"],
        ranks=ranks,
    )


def _ranked_rows(plan: SamplingPlan) -> bytes:
    """The rows whose order is kept, and their ranks."""
    rows = plan.top_rows()
    ranks = plan.ranks[rows] if len(rows) else rows
    return np.stack([rows, ranks]).astype("<i4").tobytes()


def _pack(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 6)).decode("ascii")


def _unpack(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))
