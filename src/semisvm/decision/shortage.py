"""Why a target could not be certified, or is reached on thin evidence, and how many labels it would take.

Two numbers for each measure: the shortest perfect record that certifies, and the record needed if the rate
stays as seen. Precision counts accepted rows and recall counts positives, so each is also turned into labels,
at the share seen here.

A threshold that reaches its target on fewer rows than a perfect record takes proves nothing, whatever it shows:
among many thresholds one with seven accepted rows and no error is soon found.
"""

import math
from typing import NamedTuple

from semisvm.decision.binomial import estimate, labels_needed
from semisvm.decision.counts import Counts
from semisvm.decision.target import Target, capital

# Below this, failing is the common outcome for targets worth asking (see the numbers in certify.py).
FEW_LABELS = 100


class _Record(NamedTuple):
    """One measure at the empirical choice: `counts.tp` successes in `trials`."""

    name: str
    unit: str
    trials: int
    target: float


def explain_shortage(counts: Counts, target: Target, confidence: float, stop: Counts | None = None) -> str:
    """Return the sentences, for counts at the empirical choice and where the tests of precision stopped."""
    each = 1 - target.share_of_risk(1 - confidence)
    records = _records(counts, target)
    asked = " with ".join(f"{record.name} {record.target:.3g}" for record in records)
    told = [f"{capital(asked)} can't be certified at {confidence:.0%} confidence from {counts.rows} labels."]
    if stop is not None:
        tested = f"{stop.tp} of {stop.accepted} accepted rows"
        told.append(f"Tested in an order fixed beforehand, precision stopped at {tested}.")
    told.append(f"The best there is: {' and '.join(_seen(record, counts.tp, each) for record in records)}.")
    told += [_needed(record, counts, each) for record in records]
    if target.min_precision is None:
        told.append("Only accepting every row keeps that recall for certain.")
    if counts.rows < FEW_LABELS:
        told.append(f"With under about {FEW_LABELS} labels that is the common outcome of any honest method.")
    return " ".join(told)


def explain_thin_evidence(counts: Counts, target: Target, confidence: float) -> str:
    """Return a sentence for each target that is reached on rows too few to prove it; "" where there is none."""
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
    value, low, high = estimate(successes, record.trials, confidence)
    interval = f"{confidence:.0%} interval {low:.2f} to {high:.2f}"
    return f"{record.name} {successes} of {record.trials} {record.unit} ({value:.2f}, {interval})"


def _needed(record: _Record, counts: Counts, confidence: float) -> str:
    """Tell what a perfect record takes, and what the rate seen takes."""
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
        return f"{told}; at the rate seen, not above {record.target:.3g}, no number would do."
    if needed <= record.trials:
        return f"{told}; the rate seen would have done, had this threshold alone been tested."
    return f"{told}; the rate seen needs about {needed} {record.unit}, {_labels(needed, share)} labels."


def _thin(record: _Record, confidence: float) -> str:
    """Tell that even a perfect record of this length would not do, where it would not."""
    perfect = labels_needed(record.target, confidence=confidence)
    if perfect is not None and record.trials >= perfect:
        return ""
    kind = {"precision": "accepted", "recall": "positive"}[record.name]
    told = f"This rests on {record.trials} {kind} label{'s' if record.trials != 1 else ''}; "
    aim = f"a {record.name} of {record.target:.3g}"
    if perfect is None:
        return f"{told}no number of labels can make sure of {aim}: don't rely on it."
    told += f"even without one error it takes {perfect} to be sure of {aim} at {100 * confidence:.3g}%"
    return f"{told}: don't rely on it."


def _labels(trials: int, share: float) -> int:
    return math.ceil(trials / share)
