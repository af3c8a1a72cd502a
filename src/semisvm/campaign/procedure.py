"""What every procedure of a campaign does: rows to ask for, where it stands, the rows accepted.

A procedure reads the answers of a campaign's state and keeps nothing that can't be computed from
them again, except what its `frozen` part says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from semisvm.campaign.state import CampaignState
from semisvm.decision import Counts
from semisvm.plain import to_plain

ABOVE = "above the threshold"
FOUND = "found positive"

# Answers by row, as procedures keep them.
UNLABELED = -1
NEGATIVE = 0
POSITIVE = 1
UNKNOWN = 2  # "don't know"


@dataclass(frozen=True)
class ThresholdEvidence:
    """Where one threshold stands.

    Attributes
    ----------
    threshold : float
        Rows with a higher score are accepted.
    n_accepted : int
        Rows of the pool that it accepts.
    predicted : dict of {str: float}
        What the model's scores predict for each measure that was asked for: a guess, not a
        measurement.
    evidence : float
        The highest evidence so far; of several targets, that of the weakest.
    evidence_needed : float
        What certifies it; infinite while the tests before it have not passed.
    evidence_hoped : float
        The same, if the tests before it pass.
    n_read : int
        Answers that count for it.
    positives : int
        How many of them are positive.
    is_certified : bool
        Whether it is certified.
    is_known : bool or None
        Whether the answers leave no doubt that it keeps the target (True) or misses it (False).
    forecast : int or None
        About how many more labels it takes; None where none is in sight.
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
    """Where a campaign stands.

    table       one line per threshold, in the order of the tests
    best        the line of the threshold that is reported; None while there is none
    is_certified  whether a set of rows is certified
    is_set      whether that set is more than the rows above a threshold: rows found positive
                belong to it, and rows found negative do not
    holds_for_set_only  whether the promise holds for that set only, and not for all rows above
                the reported threshold
    forecast    about how many labels the next certificate takes; None where none is in sight
    is_known    whether so many rows are labeled that nothing is left to chance
    is_refuted  whether the answers show that nothing can be certified
    n_accepted  rows in the set that is certified
    n_found     rows of it that were found positive
    counts      what the certified threshold does to the answered rows
    estimates   the measures asked for, estimated at the certified threshold
    next_accepted  rows of the set that `forecast` is about, where it is about one
    """

    table: tuple[ThresholdEvidence, ...]
    best: int | None
    is_certified: bool
    is_set: bool
    holds_for_set_only: bool
    forecast: int | None
    is_known: bool
    is_refuted: bool
    n_accepted: int
    n_found: int
    counts: Counts
    estimates: dict[str, float]
    next_accepted: int | None = None


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
        given = self._state.log.answers
        self._answers = np.full(len(self._plan.bands), UNLABELED, dtype=np.int8)
        self._answers[list(given)] = [
            UNKNOWN if answer.code is None else answer.code for answer in given.values()
        ]

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

    def _standing_of_set(
        self,
        table: tuple[ThresholdEvidence, ...],
        best: int | None,
        n_bands: int,
        **others: Any,
    ) -> Standing:
        """Return where a campaign for a set stands; the reported threshold accepts the first
        `n_bands` bands.
        """
        n_found = int((self._answers == POSITIVE).sum())
        is_complete = not np.isin(self._answers, self._may_be_positive).any()
        return Standing(
            table=table,
            best=best,
            is_certified=best is not None or (is_complete and n_found > 0),
            is_set=True,
            is_known=is_complete and n_found > 0,
            is_refuted=is_complete and n_found == 0,
            n_found=n_found,
            counts=Counts(0, 0, 0, 0) if best is None else self._count_answers(n_bands),
            **others,
        )

    def _count_answers(self, n_bands: int) -> Counts:
        """What a threshold does to the answered rows; "don't know" is an error on both sides."""
        is_above = self._plan.bands < n_bands
        is_good = self._answers == np.where(is_above, POSITIVE, NEGATIVE)
        is_bad = (self._answers != UNLABELED) & ~is_good
        return Counts(
            tp=int((is_above & is_good).sum()),
            fp=int((is_above & is_bad).sum()),
            fn=int((~is_above & is_bad).sum()),
            tn=int((~is_above & is_good).sum()),
        )
