"""What a session of labeling is for, and what is known at a moment."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from semisvm.errors import DataError

MOST_LABELS = 10_000_000
WORTH = 0.05  # of the rows that no person looks at, below which labels were for nothing
Promise = Literal["precision", "recall", "error", "none"]


@dataclass(frozen=True)
class LabelingJob:
    """What a session is for.

    Attributes
    ----------
    promise : {"precision", "recall", "error", "none"}
        What is to be proved; "none" asks for rows that would improve a model.
    level, confidence : float
        How large, and the probability that it holds.
    budget : int or None
        How many rows a person can label; the proof is planned for it.
    classes : list of str
        The labels that may be answered.
    positive : str or None
        The class that a precision or a recall is about.
    target : str or None
        The column of labels: rows that have one are not asked.
    given : str or None
        The column of labels by a machine.
    unlabeled : str
        What marks rows without a label, besides empty cells.
    """

    promise: Promise
    level: float
    confidence: float
    budget: int | None
    classes: list[str]
    positive: str | None = None
    target: str | None = None
    given: str | None = None
    unlabeled: str = ""

    def __post_init__(self) -> None:
        if self.promise != "none" and not 0 < self.level < 1:
            example = 0.05 if self.promise == "error" else 0.9
            raise DataError(
                f"{self.name} must be between 0 and 1, for example {example}; got {self.level:g}."
            )
        if not 0.5 <= self.confidence < 1:
            raise DataError(f"confidence must be from 0.5 to below 1; got {self.confidence:g}.")
        if self.budget is not None and not 1 <= self.budget <= MOST_LABELS:
            raise DataError(
                f"budget must be from 1 to {MOST_LABELS:,} labels; got {self.budget:g}."
            )

    @property
    def name(self) -> str:
        """The parameter that states the promise."""
        others = {"error": "max_error", "none": "to_improve"}
        return others.get(self.promise, f"min_{self.promise}")


@dataclass(frozen=True)
class LabelingStatus:
    """What is known now: the one record that the line, the page, the report and --json show.

    Attributes
    ----------
    n_pool, n_labels : int
        Rows without a label at the start, and those that a person has labeled.
    n_free : int
        Rows that no person has to look at: the promise holds for them.
    n_left : int
        Rows that still need a person.
    next_labels, next_free : int or None
        How many more labels are expected to lead to how many free rows.
    budget : int or None
        How many labels were planned.
    stop : str
        Why no more rows are asked; "" while there are rows to ask.
    """

    promise: Promise
    level: float
    confidence: float
    n_pool: int
    n_labels: int
    n_free: int
    n_left: int
    next_labels: int | None
    next_free: int | None
    budget: int | None
    stop: str

    @property
    def is_worth_it(self) -> bool:
        """Whether more rows are free than were labeled, and not nearly all are left to people."""
        nearly_all_left = self.promise == "error" and self.n_free < WORTH * self.n_pool
        return self.promise != "none" and self.n_free > self.n_labels and not nearly_all_left

    @property
    def is_useless(self) -> bool:
        """Whether no more labels are to come, and those given were not worth it."""
        return self.promise != "none" and bool(self.stop) and not self.is_worth_it

    def as_dict(self) -> dict[str, Any]:
        """The record as JSON takes it."""
        return asdict(self)
