"""What every procedure of a campaign does: rows to ask for, where it stands, the rows accepted.

A procedure reads the answers of a campaign's state and keeps nothing that can't be computed from
them again, except what its `frozen` part says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from semisvm.campaign.answers import POSITIVE, UNKNOWN, UNLABELED
from semisvm.campaign.state import CampaignState
from semisvm.plain import to_plain

CampaignStatus = Literal["certified", "known", "open", "refuted"]
ABOVE = "above the threshold"
FOUND = "found positive"


@dataclass(frozen=True)
class ThresholdEvidence:
    """The evidence for one threshold of a campaign.

    Attributes
    ----------
    threshold : float
        Rows with a higher score are accepted.
    n_accepted : int
        Number of rows of the pool that it accepts.
    predicted : dict of {str: float}
        What the model's scores predict for each target measure: a guess, not a measurement.
    evidence : float
        The highest evidence so far; with several targets, the lowest of theirs.
    evidence_needed : float
        The evidence that certifies it; infinite while the tests before it have not passed.
    evidence_hoped : float
        The same, if the tests before it pass.
    n_read : int
        Number of answers that count for it.
    positives : int
        Number of positive answers among them.
    is_certified : bool
        Whether it is certified.
    is_known : bool or None
        Whether the answers show for certain that it reaches the target (True) or misses it (False).
    forecast : int or None
        The approximate number of further labels that it takes: 0 if its rows are accepted already,
        None if no certificate is in sight.
    """

    threshold: float
    n_accepted: int
    predicted: dict[str, float]
    evidence: float
    evidence_needed: float
    evidence_hoped: float
    n_read: int
    positives: int
    is_certified: bool
    is_known: bool | None
    forecast: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values: infinite numbers are the text "inf"."""
        return to_plain(vars(self))


@dataclass(frozen=True)
class Standing:
    """The state of a campaign.

    status      as in `CampaignVerdict`
    table       one line per threshold, in the order of the tests
    best        the line of the threshold that is reported; None while there is none
    estimates   the target measures, estimated at that threshold
    n_accepted  rows in the set that is certified
    forecast    about how many labels the next certificate takes; None where none is in sight
    next_accepted  rows of the set that `forecast` is about, where it is about one
    holds_for_set_only  whether the promise holds for that set only, and not for all rows above
                the reported threshold
    """

    status: CampaignStatus
    table: tuple[ThresholdEvidence, ...]
    best: int | None
    estimates: dict[str, float]
    n_accepted: int
    forecast: int | None
    next_accepted: int | None = None
    holds_for_set_only: bool = False

    @property
    def is_certified(self) -> bool:
        """Whether a set of rows is certified (or known to be good)."""
        return self.status in ("certified", "known")


class AcceptedRows(NamedTuple):
    """The rows that a campaign accepts, and the reason for each.

    rows     (n,) row numbers, ascending
    reasons  (n,) "above the threshold" or "found positive"
    """

    rows: np.ndarray
    reasons: np.ndarray


class Procedure:
    """What a campaign asks of its tests, and what they share: the answers by row.

    `_may_be_positive` are the answers of rows that have to be labeled before all is known.
    """

    _may_be_positive: tuple[int, ...] = (UNLABELED, UNKNOWN)

    def __init__(self, state: CampaignState):
        self._state = state
        self._plan = state.plan

    def read(self) -> None:
        """Read the answers, of which some may be new, changed or taken back."""
        self._answers = self._state.log.by_row()

    def next_rows(self, n: int) -> list[int]:
        """Return up to n rows to label; none where there is nothing left to ask."""
        raise NotImplementedError

    def standing(self, *, with_forecasts: bool = True) -> Standing:
        """Return where the campaign stands; forecasts take most of the time."""
        raise NotImplementedError

    def fewest_labels(self) -> tuple[int, ...]:
        """Return per line of the table how many labels it takes if every answer is as hoped."""
        raise NotImplementedError

    def accepted(self) -> AcceptedRows:
        """Return the rows that are certified now, and why each is."""
        rows = np.flatnonzero(self._is_accepted())
        return AcceptedRows(rows, np.where(self._answers[rows] == POSITIVE, FOUND, ABOVE))

    def _is_accepted(self) -> np.ndarray:
        raise NotImplementedError

    def _per_band(self, rows: np.ndarray) -> np.ndarray:
        """Count rows, given by number or by a mask, per band."""
        n_bands = len(self._plan.sizes)
        return np.bincount(self._plan.bands[rows], minlength=n_bands).astype(float)

    def _status_of_set(self, best: int | None) -> CampaignStatus:
        """The status of a campaign for a set, of which line `best` of the table is proved."""
        if not np.isin(self._answers, self._may_be_positive).any():
            return "known" if (self._answers == POSITIVE).any() else "refuted"
        return "open" if best is None else "certified"
