"""How many wrong rows may be found, for every number that may be left: a table for many sets.

Rows stand in a fixed order and have clocks (`order.Scan`). A wrong row is *found* at look t if its
clock is up to t, else *unfound*. found(k, t) and unfound(k, t) count those of the first k rows. The
table c(t, b), for a few looks and all b, never falls with b, and is made before the first answer:

    with probability 1 - risk, for all looks t and all k together,
    found(k, t) > c(t, unfound(k, t) - 1)                                        (the envelope)

**Why.** Whatever the truth, along the order each wrong row is found with chance t, independently of
its place. F(u, t, .) is the law of the wrong rows found before the u-th unfound one: negative
binomial. With weights w and f(u, t) the number so found,

    S = min over t and u of  F(u, t, f(u, t)) / w(t, u)

has a law that does not depend on the data (where wrong rows run out, S only gets larger). Worlds in
which all rows are wrong are simulated; the level is just below the K-th smallest of their S, with
K = floor(risk (worlds + 1)). Then the true S is at most the level with chance K / (worlds + 1) or
less: a Monte Carlo rank test, exact for any number of worlds. And

    c(t, u - 1) = max {c: F(u, t, c) <= level w(t, u)},   then the maximum over smaller u.

If the envelope is broken at (t, k), found(k, t) <= c(t, u - 1) for a u <= unfound(k, t). The u-th
unfound row comes no later than k, so f(u, t) <= found(k, t), and S is at most the level.
The weights only say where the evidence is expected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from semisvm.evidence.order import Floats

FEWEST_WORLDS, MOST_WORLDS, MOST_CLOCKS = 299, 3999, 4.5e6
LIMIT_OF_WORLDS = 1_000_000
CLOSE = 0.12  # numbers of unfound rows beyond 12 are this far apart


def look_at(t: Floats | float) -> Any:
    """Return looks as whole multiples of 2^-20."""
    return np.maximum(np.round(np.asarray(t, dtype=float) * 2.0**20), 1) / 2.0**20


def found_law(u: int, t: float, most: int) -> Floats:
    """Return F(u, t, j), j = 0 ... most: chances of up to j wrong rows before the u-th unfound.

    Examples
    --------
    >>> from semisvm.evidence.envelope import found_law
    >>> found_law(3, 0.2, 3).round(6).tolist()
    [0.512, 0.8192, 0.94208, 0.98304]
    """
    j = np.arange(most)
    steps = np.concatenate([[0.0], np.cumsum(np.log(t * (u + j) / (j + 1)))])
    return np.minimum(np.cumsum(np.exp(u * np.log1p(-t) + steps)), 1.0)


def unfound_grid(low: float, high: float) -> np.ndarray:
    """Return the numbers of unfound rows of one look: all up to 12, then 12% apart."""
    n_steps = max(2, int(np.log(max(high, 13) / 12) / np.log(1 + CLOSE)))
    apart = np.geomspace(12, max(high, 13), n_steps)
    grid = np.unique(np.round(np.concatenate([np.arange(1, 13), apart])).astype(int))
    return grid[(grid <= max(high, 6)) & (grid >= min(low, 6))]


def world_clocks(text: str, n_worlds: int, n_columns: int) -> Iterator[np.ndarray]:
    """Give clocks of simulated wrong rows, some worlds at a time: integers below 2^32, the bits of
    PCG64.
    """
    bits = np.random.PCG64(int.from_bytes(hashlib.sha256(text.encode()).digest(), "little"))
    most = 2 * max(1, int(MOST_CLOCKS / n_columns))  # even: two clocks are 64 bits
    for begin in range(0, n_worlds, most):
        n = min(most, n_worlds - begin)
        clocks = bits.random_raw(-(-n * n_columns // 2)).view(np.uint32)
        yield clocks[: n * n_columns].reshape(n, n_columns)


class Envelope:
    """The table c(t, b) of one campaign.

    Parameters
    ----------
    looks : ndarray
        The looks t, in rising order: whole multiples of 2^-20 (`look_at`), so that a simulated
        clock of 32 bits is up to a look with exactly that chance.
    planned : (t, b)
        Where the plan expects its certificate: most of the risk goes there.
    risk : float
        The chance that the envelope is broken.
    text : str
        Names the simulated worlds: other texts have other worlds.
    along, across : float
        How fast the weights fall with the distance from the plan: from look to look, and from one
        number of unfound rows to another.
    """

    def __init__(
        self,
        looks: Floats,
        planned: tuple[float, float],
        risk: float,
        text: str,
        *,
        along: float = 0.5,
        across: float = 2.0,
    ):
        self.looks = np.asarray(looks, dtype=float)
        t, b = planned
        ridge = b * (1 / self.looks - 1) / (1 / t - 1)  # the same number of labels at other looks
        self.unfound = [unfound_grid(r / 16, 2 * r) for r in ridge]
        weights = [
            2.0 ** (-along * abs(np.log2(look / t)) - across * abs(np.log2(u / (r + 1))))
            for look, r, u in zip(self.looks, ridge, self.unfound, strict=True)
        ]
        columns = [
            int((u[-1] + 4 * u[-1] ** 0.5) / (1 - look)) + 6
            for look, u in zip(self.looks, self.unfound, strict=True)
        ]
        fewest = max(FEWEST_WORLDS, int(np.ceil(20 / risk)))
        n_worlds = max(fewest, min(int(MOST_CLOCKS / max(columns)), MOST_WORLDS))
        if n_worlds > LIMIT_OF_WORLDS:
            raise ValueError(
                f"A risk of {risk:.2g} for each promise is too small to simulate: lower the"
                " confidence, or promise for fewer classes."
            )
        laws = [
            [
                found_law(int(m), look, int(m * look / (1 - look)) + 2) / weight
                for m, weight in zip(u, w, strict=True)
            ]
            for look, u, w in zip(self.looks, self.unfound, weights, strict=True)
        ]
        worlds = world_clocks(text, n_worlds, max(columns))
        least = np.sort(np.concatenate([self._least(laws, columns, clocks) for clocks in worlds]))
        self.level = float(least[int(risk * (n_worlds + 1)) - 1] * (1 - 1e-12))
        self.most_found = [
            np.maximum.accumulate(
                [int(np.searchsorted(law, self.level, side="right")) - 1 for law in look_laws]
            )
            for look_laws in laws
        ]
        self.settings: dict[str, Any] = {
            "looks": self.looks.tolist(),
            "planned": [float(t), float(b)],
            "risk": risk,
            "worlds": text,
            "along": along,
            "across": across,
        }

    def _least(
        self, laws: list[list[Floats]], columns: list[int], clocks: np.ndarray
    ) -> np.ndarray:
        """Return S of each simulated world."""
        least = np.full(len(clocks), np.inf)
        for look, u, look_laws, width in zip(self.looks, self.unfound, laws, columns, strict=True):
            found_before = _found_before(clocks[:, :width], look)
            for m, law in zip(u, look_laws, strict=True):
                value = np.append(law, np.inf)[np.minimum(found_before(int(m)), len(law))]
                np.minimum(least, value, out=least)
        return least

    def at(self, look: int, b: np.ndarray) -> np.ndarray:
        """Return c(t, b) of one look for many b; -1: no certificate."""
        place = np.searchsorted(self.unfound[look] - 1, b, side="right") - 1
        return np.where(place >= 0, self.most_found[look][np.maximum(place, 0)], -1)

    def most_left(self, look: int, found: int) -> float:
        """Return the most unfound wrong rows that so many found ones allow: min {b: c >= found}."""
        enough = np.flatnonzero(self.most_found[look] >= found)
        return float(self.unfound[look][enough[0]] - 1) if len(enough) else np.inf


def _found_before(clocks: np.ndarray, look: float) -> Any:
    """Return a function: how many wrong rows of each world are found before the u-th unfound."""
    n_worlds, width = clocks.shape
    unfound = clocks >= np.uint32(look * 2.0**32)
    count = unfound.sum(axis=1)
    place = np.flatnonzero(unfound)
    start, row = np.cumsum(count) - count, np.arange(n_worlds) * width

    def before(u: int) -> np.ndarray:
        found = place[np.minimum(start + u - 1, len(place) - 1)] - row - (u - 1)
        return np.where(count >= u, found, width)  # no such row: as many as there is no law for

    return before
