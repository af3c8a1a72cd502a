"""What a campaign asks of every procedure, whatever it promises.

A procedure knows rows as places in its own list `rows`, and answers as codes. It says which rows
its promise covers now (`proved`), and which rows to label next (`draw`). Its proof is in the
file of the promise; what is drawn, and what is expected, is in a file of the plan. A plan that is
wrong costs labels and never the promise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semisvm.evidence.answers import OPEN
from semisvm.evidence.order import Scan

ROUNDING = 1e-9  # of shares such as .1 * 30, before they become whole numbers


@dataclass(frozen=True)
class Forecast:
    """What more labels are expected to bring; no promise.

    Attributes
    ----------
    n_labels : int
        How many labels more.
    n_rows : int
        How many rows the promise is then expected to cover.
    """

    n_labels: int
    n_rows: int


@dataclass(frozen=True)
class Proved:
    """What is proved now.

    Attributes
    ----------
    rows : ndarray of int
        Places of the rows that the promise covers and that nobody has labeled.
    n_right : int
        How many of them are right at least.
    is_certified : bool
        Whether the promise is made.
    """

    rows: np.ndarray
    n_right: int
    is_certified: bool


class Procedure:
    """One promise about some rows of a pool.

    Attributes
    ----------
    rows : ndarray of int
        Their numbers in the pool.
    codes : ndarray of int
        The answer to each of them.
    scan : Scan or None
        The rows and clocks that the promise rests on; None where there is not one scan.
    threshold : float or None
        The threshold that the promise names, where it names one.
    is_starting : bool
        Whether the first answers are still needed before anything can be forecast.
    """

    scan: Scan | None = None
    threshold: float | None = None
    is_starting = False

    def __init__(self, rows: np.ndarray):
        self.rows = rows
        self.codes = np.full(len(rows), OPEN, dtype=np.int8)

    @property
    def n_labels(self) -> int:
        """How many of the rows are answered."""
        return int((self.codes != OPEN).sum())

    def tell(self, place: int, code: int) -> None:
        """Take note of one answer."""
        self.codes[place] = code

    def proved(self) -> Proved:
        """Return what is proved by the answers so far."""
        raise NotImplementedError

    def draw(self, n: int, left: int | None) -> list[int]:
        """Return up to n places to label next; `left` are the labels left in the budget.

        An empty list says that more labels are not expected to be of use.
        """
        raise NotImplementedError

    def forecast(self, left: int | None) -> Forecast | None:
        """Return what more labels are expected to bring; None if nothing."""
        raise NotImplementedError
