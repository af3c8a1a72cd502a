"""How few errors may be found, so that no more than b others are left: one table of integers.

Rows stand in a fixed order and have clocks (`order.Scan`). Some of them are *errors*: wrong labels,
or positives among rows that nobody will read. An error is *found* at look t if its clock is up to
t. c(t) is a table that is made from b and the risk alone. The rule of `total_error` and `recall`:

    if the first k rows with clocks up to t are answered, and at most c(t) errors are found among
    them, then at most b errors are left among those of the first k that nobody has answered.

**Why.** Fix the truth. k*(t) is the place of the (b+1)-th unfound error, and Y(t) the number of
errors found before it. A false certificate has k >= k*(t): all errors without an answer have later
clocks. So Y(t) <= found(k, t) <= c(t). Y does not depend on where the errors are: along the order
each one is found with chance t, independently, and Y counts those before the (b+1)-th that is not.
It starts at 0, never falls, and has independent increments with the generating function

    ((1 - t) (1 - s z) / ((1 - s) (1 - t z))) ** (b + 1)      from look s to look t.

(Where errors run out there is no k*, and nothing can be false.) The table is such that the chance
that Y(t) <= c(t) at any look is at most the risk: exactly, for every truth, with no correction for
the number of sets or looks. Between looks Y does not fall and c does not rise. Which rows are
answered, in which order and why, does not matter: it may depend on all answers and on the clocks.
"""

from __future__ import annotations

import itertools

import numpy as np

from semisvm.evidence.order import Floats, Scan

LATER = 0.1  # of the risk is kept for looks after the planned one
LONGEST_STEP = 500.0  # (b + 1) times the step of the clock: beyond, exp(-step) nears zero
NEGLIGIBLE = 1e-13


def growth(m: int, s: float, t: float, most: int) -> Floats:
    """Return the chances that Y grows by 0, 1, ... `most` from look s to look t; m is b + 1.

    Examples
    --------
    >>> from semisvm.evidence.count_table import growth
    >>> growth(3, 0.0, 0.5, 4).round(6).tolist()
    [0.125, 0.1875, 0.1875, 0.15625, 0.117188]
    """
    n_steps = int(np.ceil(m * (t - s) / LONGEST_STEP))
    if n_steps > 1:
        law = np.ones(1)
        edges = np.linspace(s, t, n_steps + 1)
        for a, b in itertools.pairwise(edges):
            law = np.convolve(law, growth(m, a, b, most))[: most + 1]
        return law
    before, now = 0.0, float(np.exp(m * np.log((1 - t) / (1 - s))))
    law_list, reached = [now], now
    while len(law_list) <= most and reached < 1 - NEGLIGIBLE:
        j = len(law_list) - 1
        before, now = now, ((m * (t - s) + (s + t) * j) * now - s * t * (j - 1) * before) / (j + 1)
        law_list.append(now)
        reached += now
    return np.array(law_list)


def earliest_look(b: int, risk: float) -> float:
    """Return the look at which no error found is a certificate, if all risk is spent there."""
    return 1 - risk ** (1 / (b + 1))


def looks_around(b: int, risk: float, planned: float) -> Floats:
    """Return the looks of a table, 40 in each factor of e; the planned one is among them."""
    first = earliest_look(b, risk)
    last = min(max(6 * planned, 1.5 * first), max(0.8, 1 - 0.3 * (1 - first)))
    most = 200 if b < 10_000 else 80  # each takes time in proportion to b
    n_looks = int(np.clip(40 * np.log(last / first), 30, most))
    return rounded_looks(np.append(np.geomspace(first, last, n_looks), planned))


def rounded_looks(t: Floats) -> Floats:
    """Return looks in rising order, with ten decimals: the last digits differ between machines."""
    return np.unique(np.round(t, 10))


class CountTable:
    """The table c(t) for one b.

    Attributes
    ----------
    t, c : ndarray
        The looks, and the most errors that may be found at each; -1: no certificate.
    used : float
        The chance that Y(t) <= c(t) at any look: at most the risk.
    """

    def __init__(self, b: int, risk: float, planned: float, looks: Floats | None = None):
        self.b = b
        self.planned = planned
        self.t = looks_around(b, risk, planned) if looks is None else looks
        self.c = np.full(len(self.t), -1)
        self.used = 0.0
        m = b + 1
        # The law is kept up to the mean of Y at the last look: c stays below that, and paths that
        # are above c now may be below it later.
        most = int(m * self.t[-1] / (1 - self.t[-1])) + 1
        law, before = np.ones(1), 0.0
        for i, t in enumerate(self.t):
            law = np.convolve(law, growth(m, before, float(t), most))[: most + 1]
            before = float(t)
            reach = np.cumsum(law)
            allowed = risk * self._spent(before) - self.used
            c = int(np.searchsorted(reach, allowed, side="right")) - 1
            self.c[i] = max(c, self.c[i - 1] if i else -1)
            if c >= 0:
                self.used += float(reach[c])
                law[: c + 1] = 0.0  # these paths are spent

    def _spent(self, t: float) -> float:
        """Return the part of the risk that is spent up to look t."""
        within = (1 - LATER) * min(t / self.planned, 1.0) ** 2
        return within + LATER * max(0.0, (t - self.planned) / (1 - self.planned)) ** 0.5


def best_look(b: int, risk: float, elasticity: float = 0.35) -> float:
    """Return the look at which most rows are expected to stay without an answer.

    That is the largest (1 - t) (share of b that is used) ** elasticity; the optimum is flat.
    """
    t = np.geomspace(0.5 / (b + 1), 0.9, 200)
    mean, spread = (b + 1) * t / (1 - t), np.sqrt((b + 1) * t) / (1 - t)
    cautious = mean - 0.75 * (-2 * np.log(risk)) ** 0.5 * spread
    used = np.clip(cautious * (1 - t) / t / (b + 1), 1e-9, 1)
    first = earliest_look(b, risk)
    best = float(t[np.argmax((1 - t) * used**elasticity)])
    return min(max(best, 1.2 * first), (1 + first) / 2)


def certified_size(
    scan: Scan, is_open: np.ndarray, is_error: np.ndarray, t: Floats, c: np.ndarray
) -> int:
    """Return the largest k that the rule certifies at any look; masks are by place in the scan.

    The certified set ends before the (c + 1)-th error that is found, and before the first open row
    with a clock up to the look.
    """
    complete = scan.first_open(is_open, t)
    errors = np.flatnonzero(is_error)
    clocks = scan.clock[errors]
    size = 0
    for look, most, limit in zip(t, c, complete, strict=True):
        if most >= 0 and limit > size:
            found = errors[clocks <= look]
            size = max(size, int(min(limit, found[most] if len(found) > most else limit)))
    return size
