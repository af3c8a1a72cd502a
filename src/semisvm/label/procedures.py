"""Which row is asked next, and what is proved: a campaign, or rows in an order fixed before.

A procedure knows rows as places in the pool. What it does is decided by the job, the seed and the
answers alone, so that a session can be replayed.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from semisvm.errors import DataError
from semisvm.evidence import Campaign
from semisvm.evidence.job import unpack
from semisvm.label.job import LabelingJob
from semisvm.label.pool import Pool

Label = str | None


class Standing(NamedTuple):
    """How many rows no person has to look at, what more labels would bring, and why no more rows
    are asked ("" while there are rows to ask).
    """

    n_free: int
    next_labels: int | None
    next_free: int | None
    stop: str


class Procedure(Protocol):
    """What a session needs of a procedure."""

    def draw(self, n: int) -> list[int]:
        """The rows to ask next."""

    def tell(self, row: int, label: Label) -> None:
        """Take an answer; None is "don't know"."""

    def take_back(self, row: int) -> None:
        """Forget an answer."""

    def standing(self) -> Standing:
        """What is known now."""

    def machine_labels(self) -> dict[int, str]:
        """The labels of the rows that no person has to look at."""


class InOrder:
    """Rows in an order that was fixed at the start; nothing is promised."""

    def __init__(self, order: list[int]):
        self.order = order
        self.answered: set[int] = set()

    def draw(self, n: int) -> list[int]:
        """The first rows of the order without an answer."""
        return [row for row in self.order if row not in self.answered][:n]

    def tell(self, row: int, label: Label) -> None:
        """Take note that the row is answered."""
        self.answered.add(row)

    def take_back(self, row: int) -> None:
        """Ask the row again."""
        self.answered.discard(row)

    def standing(self) -> Standing:
        """Nothing is promised of any row."""
        return Standing(0, None, None, "")

    def machine_labels(self) -> dict[int, str]:
        """No row gets a label by a machine."""
        return {}


class Campaigned:
    """Rows drawn by a campaign; `labels` are the classes that its answers 0 and 1 stand for, or
    None where its answers are labels.
    """

    def __init__(self, campaign: Campaign, labels: list[str] | None):
        self.campaign, self.labels = campaign, labels

    def draw(self, n: int) -> list[int]:
        """The rows from which most is learned."""
        return self.campaign.draw(n)

    def tell(self, row: int, label: Label) -> None:
        """Hand an answer to the campaign."""
        if self.labels is None or label is None:
            self.campaign.tell(row, label)
        else:
            self.campaign.tell(row, self.labels.index(label))

    def take_back(self, row: int) -> None:
        """Take an answer back."""
        self.campaign.take_back(row)

    def standing(self) -> Standing:
        """What the campaign proves and expects."""
        verdict = self.campaign.verdict()
        then = verdict.forecast
        if then is None:
            return Standing(verdict.n_unseen, None, None, verdict.stop)
        return Standing(verdict.n_unseen, then.n_labels, then.n_rows, verdict.stop)

    def machine_labels(self) -> dict[int, str]:
        """The labels that the campaign covers."""
        completed = self.campaign.completed()
        rows = np.flatnonzero(completed.source == "machine").tolist()
        labels = completed.labels[rows]
        return dict(
            zip(rows, [self.labels[c] for c in labels] if self.labels else labels, strict=True)
        )


def make_procedure(pool: Pool, job: LabelingJob, header: dict[str, Any]) -> Procedure:
    """The procedure of a session, from what its first line holds."""
    if job.promise == "none":
        return InOrder(header["order"])
    scores = unpack(header["scores"])
    probabilities = header["probabilities"]
    wanted: dict[str, Any] = {
        job.name: job.level,
        "confidence": job.confidence,
        "budget": job.budget,
        "random_state": header["seed"],
    }
    try:
        if job.given is not None:
            return Campaigned(Campaign.for_labels(pool.words(job.given), scores, **wanted), None)
        if probabilities is not None:
            wanted["probabilities"] = unpack(probabilities)
        return Campaigned(Campaign(scores, **wanted), job.classes)
    except ValueError as error:
        raise DataError(f"{pool.path}: {error}") from None
