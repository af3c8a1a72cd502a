"""In words: what a promise rests on, why a target could not be certified, and how many labels would be needed.

There are two numbers for each measure: the shortest perfect record (a record without an error) that certifies it, and
the length needed if the rate stays as it was seen. Precision counts accepted rows and recall counts positives, so each
number is also converted into labels, at the share seen here.

A threshold that reaches its target on fewer rows than the shortest perfect record proves nothing: among many
thresholds, one with seven accepted rows and no error is easily found by chance.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from semisvm.decision.binomial import estimate_rate, labels_needed
from semisvm.decision.counts import Counts
from semisvm.decision.target import Target, capital

SamplingClaim = Literal["pool", "new rows"]


@dataclass(frozen=True)
class SamplingEvidence:
    """What a promise that was certified by sampling is about, and what it rests on.

    Parameters
    ----------
    claim : {"pool", "new rows"}
        About these rows of the pool, or about new rows from the same source.
    n_labels : int
        Labels that were given in the campaign.
    n_rows : int
        Rows of the pool.
    n_accepted : int
        Rows of the pool that the threshold accepts.
    campaign : int
        The number of the campaign; the risks of all campaigns add up.
    total_risk : float
        The chance, at most, that any of the campaigns so far is wrong.
    is_known : bool
        Whether so many rows were labeled that the claim is known to be true, not only proved with some confidence.
    """

    claim: SamplingClaim
    n_labels: int
    n_rows: int
    n_accepted: int
    campaign: int = 1
    total_risk: float = 0.1
    is_known: bool = False

    def caution(self, confidence: float) -> str:
        """Say what the promise is about and how sure it is.

        Parameters
        ----------
        confidence : float
            The probability of the promise.

        Returns
        -------
        words : str
            A sentence or two.
        """
        about = f"these {self.n_rows:,} rows" if self.claim == "pool" else "new rows from the source of this pool"
        if self.is_known:
            return f"Known for {about}: so many of them were labeled that nothing is left to chance."
        told = f"Holds for {about} with probability {confidence:.0%} over the tool's own random draws."
        if self.campaign > 1:
            told += (
                f" This is campaign {self.campaign}: the chance that any of the {self.campaign} is wrong is at most "
                f"{self.total_risk:.0%}."
            )
        return told


# With fewer labels, useful targets usually can't be certified (see the numbers in certify.py).
FEW_LABELS = 100


class _Record(NamedTuple):
    """One measure at the empirical choice: `counts.tp` successes in `trials`."""

    name: str
    unit: str
    trials: int
    target: float


def explain_shortage(counts: Counts, target: Target, confidence: float, stop: Counts | None = None) -> str:
    """Explain why nothing is certified.

    `counts` are those of the empirical choice, `stop` those at which the tests of precision stopped.
    """
    each = 1 - target.share_of_risk(1 - confidence)
    records = _records(counts, target)
    asked = " with ".join(f"{record.name} {record.target:.3g}" for record in records)
    told = [f"{capital(asked)} can't be certified at {confidence:.0%} confidence from {counts.rows} labels."]
    if stop is not None:
        tested = f"{stop.tp} of {stop.accepted} accepted rows"
        told.append(f"The tests of precision, in an order fixed beforehand, stopped at {tested}.")
    told.append(f"The best threshold gives {' and '.join(_seen(record, counts.tp, each) for record in records)}.")
    told += [_needed(record, counts, each) for record in records]
    if target.min_precision is None:
        told.append("Only accepting every row guarantees that recall.")
    if counts.rows < FEW_LABELS:
        told.append(f"With under about {FEW_LABELS} labels this is the usual outcome of any honest method.")
    return " ".join(told)


def explain_thin_evidence(counts: Counts, target: Target, confidence: float) -> str:
    """Return one sentence per target that is reached on too few rows to prove it; "" if there is none."""
    each = 1 - target.share_of_risk(1 - confidence)
    return " ".join(filter(None, (_thin(record, each) for record in _records(counts, target))))


def _records(counts: Counts, target: Target) -> list[_Record]:
    records = []
    if target.min_precision is not None:
        records.append(_Record("precision", "accepted rows", counts.accepted, target.min_precision))
    if target.min_recall is not None:
        records.append(_Record("recall", "positives", counts.positives, target.min_recall))
    return records


def _seen(record: _Record, successes: int, confidence: float) -> str:
    value, low, high = estimate_rate(successes, record.trials, confidence)
    interval = f"{confidence:.0%} interval {low:.2f} to {high:.2f}"
    return f"{record.name} {successes} of {record.trials} {record.unit} ({value:.2f}, {interval})"


def _needed(record: _Record, counts: Counts, confidence: float) -> str:
    """Say how long a perfect record has to be, and how long one at the rate seen."""
    perfect = labels_needed(record.target, confidence=confidence)
    if perfect is None:
        return f"No number of labels certifies a {record.name} of 1."
    share = record.trials / counts.rows
    told = f"For {record.name} a perfect record needs {perfect} {record.unit}"
    told += f", about {_labels(perfect, share)} labels"
    if counts.tp == record.trials:
        return f"{told}."
    needed = labels_needed(record.target, rate=counts.tp / record.trials, confidence=confidence)
    if needed is None:
        return f"{told}; at the rate seen, which is not above {record.target:.3g}, no number is enough."
    if needed <= record.trials:
        return f"{told}; the rate seen would be enough if this threshold had been the only one tested."
    return f"{told}; the rate seen needs about {needed} {record.unit}, {_labels(needed, share)} labels."


def _thin(record: _Record, confidence: float) -> str:
    """Say that even a perfect record of this length would prove nothing, where that is so."""
    perfect = labels_needed(record.target, confidence=confidence)
    if perfect is not None and record.trials >= perfect:
        return ""
    kind = {"precision": "accepted", "recall": "positive"}[record.name]
    told = f"This rests on {record.trials} {kind} label{'s' if record.trials != 1 else ''}; "
    aim = f"a {record.name} of {record.target:.3g}"
    if perfect is None:
        return f"{told}no number of labels can prove {aim}: don't rely on it."
    told += f"to prove {aim} at {100 * confidence:.3g}% confidence takes at least {perfect}, all of them right"
    return f"{told}: don't rely on it."


def _labels(trials: int, share: float) -> int:
    return math.ceil(trials / share)
