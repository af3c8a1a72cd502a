"""How good are these predictions? Intervals that hold at any time, from rows drawn at random.

    audit = Audit(model.predict(X), pos_label=1)
    audit.tell(rows := audit.draw(50), ask(rows))
    print(audit.report())

A plain interval from a sample holds at one look that was fixed beforehand; who looks four times at
Clopper-Pearson intervals misses up to 25% instead of 10%. The intervals here hold for every look
together (each figure by itself), at the price of 1.2 to 1.9 times the width of one look. `shares`
has the evidence and why it is valid.

    error, prevalence   rows of the whole pool, by clock
    precision           rows predicted positive, by clock
    recall              M_A / (M_A + M_R): totals of the rows predicted positive and of the others,
                        each with half the risk, so that it does not matter in which order, or with
                        what knowledge of the others, the rows of the two are answered
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from semisvm.evidence.answers import NO, OPEN, UNKNOWN, YES, Answers, plain_label, plain_labels
from semisvm.evidence.job import check_share, count_of, probabilities_of
from semisvm.evidence.order import Floats, Rows, Scan, state_of
from semisvm.evidence.shares import log_evidence

Figure = Literal["error", "prevalence", "precision", "recall"]


@dataclass(frozen=True)
class Interval:
    """An estimate, and an interval that holds at any time.

    Attributes
    ----------
    estimate, low, high : float
        The estimate from the answers that count, and the ends of the interval.
    n_labels : int
        How many answers count.
    """

    estimate: float
    low: float
    high: float
    n_labels: int

    def __str__(self) -> str:
        return f"{self.estimate:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class AuditReport:
    """What the answers say of the predictions; print it for a line per figure.

    Attributes
    ----------
    confidence : float
        The probability that an interval holds, at all looks together.
    n_rows, n_labels : int
        Rows of the pool, and rows answered.
    error : Interval
        The share of wrong predictions.
    prevalence, precision, recall : Interval or None
        The share of positive rows, of positive rows among those predicted positive, and of positive
        rows that are predicted positive; None without `pos_label`.
    """

    confidence: float
    n_rows: int
    n_labels: int
    error: Interval
    prevalence: Interval | None = None
    precision: Interval | None = None
    recall: Interval | None = None

    def __str__(self) -> str:
        lines = [
            f"{self.n_labels:,} of {self.n_rows:,} rows labeled; each interval holds at any time"
            f" with {100 * self.confidence:.4g}% confidence."
        ]
        for name in ("error", "prevalence", "precision", "recall"):
            interval = getattr(self, name)
            if interval is not None:
                lines.append(f"{name}: {interval}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


class Audit:
    """Estimate how good predictions are, with intervals that hold at any time.

    Parameters
    ----------
    predictions : array-like of shape (n_rows,)
        The predicted label of each row.
    probabilities : array-like of shape (n_rows,), optional
        With `pos_label` the predicted probability that each row is positive, else that its
        prediction is right. Good ones make intervals shorter; their validity does not depend on it.
    pos_label : label, optional
        The positive class. With it, precision, recall and prevalence are reported too.
    confidence : float, default=0.9
        The probability that an interval holds.
    random_state : int, optional
        Determines the draws; by default from the operating system.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.evidence import Audit
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 4000)
    >>> predicted = np.where(rng.random(4000) < 0.9, truth, 1 - truth)
    >>> audit = Audit(predicted, pos_label=1, random_state=0)
    >>> rows = audit.draw(200)
    >>> audit.tell(rows, truth[rows])
    >>> report = audit.report()
    >>> bool(report.error.low <= 0.1 <= report.error.high)
    True
    """

    def __init__(
        self,
        predictions: ArrayLike,
        probabilities: ArrayLike | None = None,
        *,
        pos_label: Any = None,
        confidence: float = 0.9,
        random_state: int | None = None,
    ):
        self._predicted = plain_labels(predictions, "predictions")
        n = len(self._predicted)
        if not n:
            raise ValueError("There are no predictions: give one for each row.")
        check_share(confidence, "confidence")
        self.confidence = confidence
        self.random_state = state_of(random_state)
        self.pos_label = plain_label(pos_label)
        self._is_accepted = np.array([p == self.pos_label for p in self._predicted])
        if self.pos_label is not None and not self._is_accepted.any():
            raise ValueError(f"No row is predicted {pos_label!r}: check pos_label.")
        self._probabilities: Floats | None = None
        if probabilities is not None:
            self._probabilities = probabilities_of(probabilities, n)
        scan = Scan(np.arange(n), self.random_state, {"promise": "audit"})
        self._by_clock = np.argsort(scan.clock, kind="stable")
        self._answers = Answers(n, self._code_of)
        self._is_wrong = np.full(n, OPEN, dtype=np.int8)
        self._is_positive = np.full(n, OPEN, dtype=np.int8)

    def _code_of(self, row: int, label: Any) -> int:
        if label is None:
            return UNKNOWN
        return YES if label == self._predicted[row] else NO

    def draw(self, n: int = 20, figure: Figure = "error") -> list[int]:
        """Return rows to label next; it does not change the audit.

        Parameters
        ----------
        n : int, default=20
            How many rows at most.
        figure : {"error", "prevalence", "precision", "recall"}, default="error"
            The figure that these labels are for: "precision" draws rows predicted positive only,
            "recall" half of these and half of the others.

        Returns
        -------
        list of int
            Row numbers.
        """
        n = count_of(n, "n")
        if figure not in ("error", "prevalence", "precision", "recall"):
            raise ValueError(
                f'figure must be "error", "prevalence", "precision" or "recall", got {figure!r}.'
            )
        if figure in ("error", "prevalence"):
            return self._open(self._by_clock, n)
        self._require_positive_class()
        accepted, rejected = self._sides()
        if figure == "precision":
            return self._open(accepted, n)
        first = self._open(accepted, n - n // 2)
        second = self._open(rejected, n - len(first))
        return first + second + self._open(accepted, n)[len(first) : n - len(second)]

    def _open(self, rows: Rows, n: int) -> list[int]:
        return rows[self._is_wrong[rows] == OPEN][:n].tolist()

    def _sides(self) -> tuple[Rows, Rows]:
        """The rows that are predicted positive, and the others, by clock."""
        is_accepted = self._is_accepted[self._by_clock]
        return self._by_clock[is_accepted], self._by_clock[~is_accepted]

    def _require_positive_class(self) -> None:
        if self.pos_label is None:
            raise ValueError("Precision and recall need a positive class: give pos_label.")

    def tell(self, rows: Any, answers: Any) -> None:
        """Record what rows are; a row that is answered again is corrected.

        Parameters
        ----------
        rows : int or sequence of int
            Row numbers.
        answers : label or sequence of labels
            The true label of each row; None for "don't know", which counts as a wrong prediction,
            and as not positive.
        """
        for entry in self._answers.read(rows, answers):
            self._answers.add(entry)
            self._is_wrong[entry.row] = entry.code != YES
            is_positive = entry.label is not None and entry.label == self.pos_label
            self._is_positive[entry.row] = is_positive

    def report(self) -> AuditReport:
        """Return all figures, at any time; it does not change the audit.

        Returns
        -------
        AuditReport
            An interval for each figure.
        """
        wrong = None
        q = self._probabilities
        if q is not None:
            wrong = 1 - q if self.pos_label is None else np.where(self._is_accepted, 1 - q, q)
        figures: dict[str, Interval] = {"error": self._share(self._is_wrong, self._by_clock, wrong)}
        if self.pos_label is not None:
            accepted, rejected = self._sides()
            figures["prevalence"] = self._share(self._is_positive, self._by_clock, q)
            figures["precision"] = self._share(self._is_positive, accepted, q)
            figures["recall"] = self._recall(accepted, rejected)
        n_labels = len(self._answers.labels)
        return AuditReport(self.confidence, len(self._predicted), n_labels, **figures)

    def _read(self, outcome: np.ndarray, rows: Rows) -> np.ndarray:
        """Return the outcomes of rows by clock, up to the first open one."""
        answers = outcome[rows]
        opened = np.flatnonzero(answers == OPEN)
        return answers[: opened[0] if len(opened) else None]

    def _evidence(
        self, outcome: np.ndarray, rows: Rows, predicted: Floats | None
    ) -> tuple[Floats, Floats, np.ndarray]:
        """Return ends of cells of totals, the evidence against each, and the outcomes read."""
        seen = self._read(outcome, rows)
        q = None if predicted is None else predicted[rows]
        ends, evidence = log_evidence(len(rows), seen, np.arange(len(seen)), q)
        return ends, evidence, seen

    def _share(self, outcome: np.ndarray, rows: Rows, predicted: Floats | None) -> Interval:
        """Return the interval of the share of an outcome among rows."""
        ends, evidence, seen = self._evidence(outcome, rows, predicted)
        low, high = self._kept(ends, evidence, 1 - self.confidence)
        estimate = float(seen.mean()) if len(seen) else np.nan
        return Interval(estimate, float(low / len(rows)), float(high / len(rows)), len(seen))

    def _is_kept(self, evidence: Floats, risk: float) -> np.ndarray:
        """Whether totals are not contradicted; the best one stays where all are."""
        return (evidence < -np.log(risk)) | (evidence == evidence.min())

    def _kept(self, ends: Floats, evidence: Floats, risk: float) -> tuple[float, float]:
        """Return the least and the largest total that is not contradicted."""
        kept = np.flatnonzero(self._is_kept(evidence, risk))
        return float(ends[kept[0]]), float(ends[kept[-1] + 1])

    def _recall(self, accepted: Rows, rejected: Rows) -> Interval:
        """Return the interval of the recall, from the totals of both sides at half the risk."""
        q = self._probabilities
        if not len(rejected):
            return Interval(1.0, 1.0, 1.0, 0)
        half = (1 - self.confidence) / 2
        ends_A, against_A, seen_A = self._evidence(self._is_positive, accepted, q)
        ends_R, against_R, seen_R = self._evidence(self._is_positive, rejected, q)
        A_low, A_high = self._kept(ends_A, against_A, half)
        R_low, R_high = self._kept(ends_R, against_R, half)
        low = A_low / max(A_low + R_high, 1e-300)
        high = A_high / max(A_high + R_low, 1e-300)
        estimate = np.nan
        if len(seen_A) and len(seen_R):
            found, missed = seen_A.mean() * len(accepted), seen_R.mean() * len(rejected)
            estimate = float(found / (found + missed)) if found + missed else np.nan
        n_labels = len(seen_A) + len(seen_R)
        return Interval(estimate, low, high, n_labels)
