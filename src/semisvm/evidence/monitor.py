"""Does a promised precision still hold? A few labels of each batch of new rows, and an alarm.

**The claim.** If new rows keep coming from a source where the promise holds, the chance that the
monitor *ever* raises an alarm is at most `risk`. No alarm is no proof that the promise holds: a
campaign proves that.

**Why.** The gain of a labeled row is (y - p) / (1 - p), y = 1 for a positive row: at most 1, and at
least 0 in the mean while the promise holds, whatever came before. A wealth that is multiplied by
1 - s gain, for a stake s, never grows in the mean then, and the chance that it ever reaches
1 / risk is at most `risk` (Ville 1939).

A promise that held for years would have cost a single bet all its wealth by the time it is broken.
So a bet begins with every batch: bet k has the share 1 / (k (k + 1)) of the first wealth, which it
keeps until its batch begins. The shares sum to 1, and the sum of all bets is again a bet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import kolmogorov, logsumexp

from semisvm.evidence import file
from semisvm.evidence.answers import pairs_of, plain_label
from semisvm.evidence.job import check_share, count_of, vector_of
from semisvm.evidence.order import Floats, Scan, digest, state_of

# Stakes as parts of the largest that can't lose everything. With a precision of p, the part s is
# the best where the precision has fallen to p (1 - s): here, by 2% to 64%.
STAKES = np.array([0.02, 0.04, 0.08, 0.16, 0.32, 0.64])
MOST_REFERENCE = 2_000  # scores of the reference that are kept: evenly spaced quantiles
LARGEST_LOG = 700.0  # whose exponential is still a number


@dataclass(frozen=True)
class MonitorVerdict:
    """What the labels so far say about a promise; print it for a description.

    Attributes
    ----------
    alarm : bool
        Whether the promise is broken.
    evidence, evidence_needed : float
        The highest evidence so far that it is broken, and the evidence that raises an alarm.
    n_labels, n_batches : int
        Number of answers that count, and of batches.
    n_waiting : int
        Answers that will count when the rows drawn before them are answered.
    last_precision : float or None
        Of the rows of the last batch that count.
    share_accepted : float or None
        Of the last batch.
    scores_moved : bool
        Whether the scores of the last batch are distributed otherwise than the reference.
    min_precision, risk : float
        As in `Monitor`.
    """

    alarm: bool
    evidence: float
    evidence_needed: float
    n_labels: int
    n_batches: int
    n_waiting: int
    last_precision: float | None
    share_accepted: float | None
    scores_moved: bool
    min_precision: float
    risk: float

    def __str__(self) -> str:
        promise = f"a precision of at least {self.min_precision:.4g}"
        if self.alarm:
            words = [
                f"Alarm: the promise ({promise}) no longer holds. At most {self.risk:.0%} of"
                " monitors ever raise a false alarm. Label new rows, fit again, and begin another"
                " campaign."
            ]
        else:
            words = [
                f"No alarm: {self.n_labels:,} labels in {self.n_batches:,} batches do not"
                f" contradict the promise ({promise}). This is no proof that it holds."
            ]
        if self.n_waiting:
            words.append(
                f"{self.n_waiting:,} more answers count when the rows drawn before them are"
                " answered."
            )
        if self.scores_moved:
            words.append("The scores have changed: the last batch differs from earlier rows.")
        return " ".join(words)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values, with the description as `text`."""
        return {**asdict(self), "text": str(self)}


@dataclass(frozen=True)
class MonitoredBatch:
    """A batch of new rows: its size, the accepted rows, those drawn of them, and a test.

    `p_value` is that of the Kolmogorov-Smirnov test that the scores are distributed as the
    reference; None for a first batch that is the reference.
    """

    n_rows: int
    n_accepted: int
    drawn: list[int]
    p_value: float | None


class Monitor:
    """Watch a promised precision on new rows, and raise an alarm if it is broken.

    Parameters
    ----------
    threshold : float
        Rows whose score reaches it are accepted: the `threshold` of a verdict.
    min_precision : float
        The promise: at least this share of the accepted rows is positive.
    risk : float, default=0.05
        Upper bound of the chance of ever raising an alarm while the promise holds.
    reference : array-like of shape (n_rows,), optional
        Scores to compare each batch with; by default those of the first batch.
    pos_label : label, default=1
        The answer that means positive.
    random_state : int, optional
        Determines the draws; by default from the operating system.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.evidence import Monitor
    >>> rng = np.random.default_rng(0)
    >>> monitor = Monitor(0.0, min_precision=0.95, random_state=0)
    >>> for precision in [0.97, 0.97, 0.75, 0.75]:
    ...     scores = rng.normal(size=1000)
    ...     truth = (rng.random(1000) < precision).astype(int)  # of accepted rows
    ...     rows = monitor.draw(scores, 30)
    ...     monitor.tell(rows, truth[rows])
    ...     print(monitor.verdict().alarm)
    False
    False
    True
    True
    """

    def __init__(
        self,
        threshold: float,
        *,
        min_precision: float,
        risk: float = 0.05,
        reference: ArrayLike | None = None,
        pos_label: Any = 1,
        random_state: int | None = None,
    ):
        if not np.isfinite(threshold):
            raise ValueError(f"threshold must be a number, got {threshold}.")
        check_share(min_precision, "min_precision")
        check_share(risk, "risk")
        self.threshold = float(threshold)
        self.min_precision = float(min_precision)
        self.risk = float(risk)
        self.pos_label = plain_label(pos_label)
        self.random_state = state_of(random_state)
        self.batches: list[MonitoredBatch] = []
        self.labels: dict[tuple[int, int], Any] = {}  # by batch and row, in order of answers
        self._reference = (
            np.empty(0) if reference is None else _quantiles(vector_of(reference, "reference"))
        )
        self._synced: str | None = None

    def draw(self, scores: ArrayLike, n: int = 20) -> list[int]:
        """Start a batch of new rows, and return accepted rows to label.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            Scores of the new rows.
        n : int, default=20
            How many rows to label at most.

        Returns
        -------
        list of int
            Row numbers, indices into `scores`, drawn at random from the accepted rows.
        """
        n = count_of(n, "n")
        vector = vector_of(scores, "scores")
        if not len(vector):
            raise ValueError("The batch is empty: give at least one row.")
        accepted = np.flatnonzero(vector >= self.threshold)
        plan = {"promise": "monitor", "batch": len(self.batches), "scores": digest(vector)}
        scan = Scan(accepted, self.random_state, plan)
        drawn = accepted[np.argsort(scan.clock, kind="stable")][:n].tolist()
        p_value = self._compare(vector)
        self.batches.append(MonitoredBatch(len(vector), len(accepted), drawn, p_value))
        return drawn

    def _compare(self, scores: Floats) -> float | None:
        """Return the p-value that scores are distributed as the reference."""
        if not len(self._reference):
            self._reference = _quantiles(scores)
            return None
        reference, new = self._reference, np.sort(scores)
        values = np.concatenate([reference, new])
        at = [np.searchsorted(one, values, side="right") / len(one) for one in (reference, new)]
        size = len(reference) * len(new) / (len(reference) + len(new))
        return float(kolmogorov(np.abs(at[0] - at[1]).max() * size**0.5))

    def tell(self, rows: Any, answers: Any, batch: int = -1) -> None:
        """Record answers for rows that were drawn; a row that is answered again is corrected.

        Parameters
        ----------
        rows : int or sequence of int
            Row numbers of a batch, among those that `draw` returned.
        answers : label or sequence of labels
            One answer per row: `pos_label` is positive, everything else is not, None
            ("don't know") included.
        batch : int, default=-1
            The number of the batch, from 0; by default the last one.
        """
        number = self._number_of(batch)
        drawn = set(self.batches[number].drawn)
        told = [(row, plain_label(label)) for row, label in pairs_of(rows, answers)]
        for row, _ in told:
            if row not in drawn:
                raise ValueError(
                    f"Row {row} of batch {number} was not drawn: only rows that were drawn at"
                    " random count. Answer the rows that `draw` returned."
                )
        self.labels |= {(number, int(row)): label for row, label in told}

    def open_rows(self, batch: int = -1) -> list[int]:
        """Return the rows of a batch that were drawn and have no answer yet.

        Parameters
        ----------
        batch : int, default=-1
            The number of the batch, from 0; by default the last one.

        Returns
        -------
        list of int
            Row numbers.
        """
        number = self._number_of(batch)
        return [row for row in self.batches[number].drawn if (number, row) not in self.labels]

    def _number_of(self, batch: int) -> int:
        n = len(self.batches)
        if not n:
            raise ValueError("There is no batch yet: `draw` begins one.")
        if not -n <= batch < n:
            raise ValueError(f"There is no batch {batch}: they are numbered 0 to {n - 1}.")
        return batch % n

    def verdict(self) -> MonitorVerdict:
        """Return what the labels so far say, at any time; it does not change the monitor.

        Returns
        -------
        MonitorVerdict
            Whether the promise is broken, and whether the scores have changed.
        """
        batch, is_positive = self._known()
        evidence = max(0.0, float(self._log_evidence(batch, is_positive).max(initial=0.0)))
        n = len(self.batches)
        last = self.batches[-1] if n else None
        of_last = is_positive[batch == n - 1]
        p_value = None if last is None else last.p_value
        return MonitorVerdict(
            alarm=evidence >= -np.log(self.risk),
            evidence=float(np.exp(min(evidence, LARGEST_LOG))),
            evidence_needed=1 / self.risk,
            n_labels=len(batch),
            n_batches=n,
            n_waiting=len(self.labels) - len(batch),
            last_precision=float(of_last.mean()) if len(of_last) else None,
            share_accepted=None if last is None else last.n_accepted / last.n_rows,
            scores_moved=p_value is not None and p_value <= self.risk / (n * (n + 1)),
            min_precision=self.min_precision,
            risk=self.risk,
        )

    def _known(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the batch of each label that counts, and whether it is positive.

        They are in the order in which they became known. A batch is read up to its first row
        without an answer: which rows are answered first must not matter.
        """
        place = {key: i for i, key in enumerate(self.labels)}
        known: list[tuple[int, int, bool]] = []
        for number, batch in enumerate(self.batches):
            known_at = -1
            for row in batch.drawn:
                if (number, row) not in place:
                    break
                known_at = max(known_at, place[number, row])
                label = self.labels[number, row]
                known.append((known_at, number, label is not None and label == self.pos_label))
        known.sort(key=lambda entry: entry[0])
        batches = np.array([number for _, number, _ in known], dtype=int)
        return batches, np.array([is_positive for _, _, is_positive in known], dtype=bool)

    def _log_evidence(self, batch: np.ndarray, is_positive: np.ndarray) -> Floats:
        """Return the log evidence that the promise is broken, after each label."""
        p, n = self.min_precision, len(self.batches)
        gain = (is_positive - p) / (1 - p)
        factors = np.log1p(-STAKES * gain[:, None])
        total = np.full(len(gain), -np.log(n + 1))  # bets on batches that are still to come
        for k in range(n):
            wealth = np.cumsum(np.where(batch[:, None] >= k, factors, 0.0), axis=0)
            share = -np.log((k + 1) * (k + 2) * len(STAKES))
            total = np.logaddexp(total, logsumexp(wealth, axis=1) + share)
        return total

    # ---- files ----

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Save the monitor to a JSON file, from which `load` continues it.

        Parameters
        ----------
        path : str or path
            The file; it is written whole or not at all.
        force : bool, default=False
            Whether to replace a file that this monitor was not loaded from or saved to.

        Returns
        -------
        path
            The file.
        """
        self._synced = file.save(path, self.as_dict(), self._synced, force)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a monitor that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Monitor
            Ready to go on.
        """
        content, synced = file.load(path, file.MONITOR)
        with file.refusing_damaged(path):
            monitor = cls.from_dict(content)
        monitor._synced = synced
        return monitor

    def as_dict(self) -> dict[str, Any]:
        """Return the monitor as plain JSON values."""
        return {
            **file.heading(file.MONITOR),
            "threshold": self.threshold,
            "min_precision": self.min_precision,
            "risk": self.risk,
            "pos_label": self.pos_label,
            "random_state": str(self.random_state),
            "reference": self._reference.tolist(),
            "batches": [asdict(batch) for batch in self.batches],
            "labels": [[number, row, label] for (number, row), label in self.labels.items()],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the monitor that `as_dict` wrote."""
        monitor = cls(
            content["threshold"],
            min_precision=content["min_precision"],
            risk=content["risk"],
            pos_label=content["pos_label"],
            random_state=int(content["random_state"]),
        )
        monitor._reference = np.array(content["reference"], dtype=np.float64)
        monitor.batches = [MonitoredBatch(**batch) for batch in content["batches"]]
        monitor.labels = {(number, row): label for number, row, label in content["labels"]}
        return monitor

    def __repr__(self) -> str:
        return (
            f"<Monitor: precision at least {self.min_precision:.4g}, {len(self.labels):,} labels of"
            f" {len(self.batches):,} batches>"
        )


def _quantiles(scores: Floats) -> Floats:
    """Return scores in ascending order; of very many, evenly spaced ones."""
    ordered = np.sort(scores)
    if len(ordered) <= MOST_REFERENCE:
        return ordered
    return ordered[np.linspace(0, len(ordered) - 1, MOST_REFERENCE).round().astype(int)]
