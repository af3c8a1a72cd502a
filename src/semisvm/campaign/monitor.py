"""Monitor a promise while the model is in use, with a few labels of each batch of new rows.

**The claim.** If new rows keep coming from a source where the promise holds, the chance that the
monitor *ever* raises an alarm is at most `risk`. No alarm is no proof that the promise holds: a
campaign proves that.

Rows of a batch are drawn at random: for a precision among the accepted rows only, for other targets
from accepted and rejected rows alike, each weighted by the inverse of its probability.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from semisvm import html
from semisvm.campaign.answers import AnswerLog, answers_by_row, as_number
from semisvm.campaign.draws import make_seed, read_seed, uniform_numbers
from semisvm.campaign.file import (
    MONITOR_KIND,
    read_checked,
    refuse_to_replace,
    write_checked,
)
from semisvm.campaign.plan import find_pos_label
from semisvm.campaign.state import limits_of, require_point
from semisvm.decision import Target
from semisvm.decision.alarms import alarm_log_evidence
from semisvm.decision.betting import log_evidence_needed
from semisvm.decision.binomial import binomial_interval
from semisvm.decision.checks import check_scores
from semisvm.decision.linear_claims import LinearForm, linear_forms
from semisvm.disk import locked
from semisvm.errors import counted

MONITOR_VERSION = 1
LARGEST_LOG = 700.0  # whose exponential is still a number
SMALLEST_GAIN = 1e-9  # in place of 0: one negative refutes a precision of 1
# Where nearly all rows are of one kind: the least chance that one of them is labeled, and how many
# of them at least can be labeled on average: all where a batch has no more.
LEAST_CHANCE, FEWEST_OF_COMMON = 0.05, 20
MOST_REFERENCE = 2_000  # scores of the reference that are kept: evenly spaced quantiles


@dataclass(frozen=True)
class MonitoredBatch:
    """A batch of new rows, and those of them to label.

    Attributes
    ----------
    n_rows, n_accepted : int
        Number of rows, and number of rows with a score above the threshold.
    drawn : list of int
        Row numbers (indices into the scores of the batch), in the order in which they were drawn.
    accepted : list of bool
        Whether each of them is accepted.
    p_value : float or None
        P-value of the Kolmogorov-Smirnov test that the scores have the same distribution as the
        reference; None for a first batch that is the reference.
    about : dict
        Notes of the caller, as plain JSON values.
    """

    n_rows: int
    n_accepted: int
    drawn: list[int]
    accepted: list[bool]
    p_value: float | None = None
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def share_accepted(self) -> float:
        """The share of the rows that is accepted."""
        return self.n_accepted / self.n_rows


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
    precision : (float, float, float) or None
        Precision of the accepted rows of the last batch, from its answers: estimate and 90%
        interval.
    share_accepted : float
        Of the last batch.
    reference_share : float or None
        Of the reference; None for a first batch that is the reference.
    scores_moved : bool
        Whether the scores of the last batch have another distribution than those of the reference.
    reason : str
        A description in a few sentences.
    """

    alarm: bool
    evidence: float
    evidence_needed: float
    n_labels: int
    n_batches: int
    precision: tuple[float, float, float] | None
    share_accepted: float
    reference_share: float | None
    scores_moved: bool
    reason: str

    def __str__(self) -> str:
        return self.reason

    def _repr_html_(self) -> str:
        return html.reason_card(self.reason, tone="bad" if self.alarm else "")

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


class KnownLabels(NamedTuple):
    """The batch of each label, whether its row is accepted, and its code."""

    batches: np.ndarray
    are_accepted: np.ndarray
    codes: np.ndarray


class Monitor:
    """Monitor a certified model on new rows, and raise an alarm if it breaks its promise.

    Parameters
    ----------
    threshold : float
        Rows with a higher score are accepted.
    min_precision, min_recall, min_f : float, optional
        The promised targets; at least one of these or `max_cost`.
    max_cost : float, optional
        Maximum expected cost per row; it needs `costs`.
    beta : float, default=1.0
        Beta of the F-score; above 1 recall counts more.
    costs : (float, float), optional
        Cost of a missed positive and of an accepted negative.
    risk : float, default=0.05
        Upper bound of the probability of ever raising an alarm while the promise holds.
    reference : array-like of shape (n_rows,), optional
        Scores of rows that were not used in training, not even as unlabeled rows. Each batch is
        compared with them; by default, each later batch is compared with the first one.
    dont_know : {"bad", "leave out"}, default="bad"
        Meaning of the answer None: the row counts as an error of the model, or not at all.
    classes, pos_label : optional
        The class labels that are used as answers: `pos_label` is positive, the others are negative.
        By default answers are 1 and 0.
    seed : str, optional
        Hexadecimal digits, for tests; by default from the operating system.

    Attributes
    ----------
    target : Target
        The promised target.
    batches : list of MonitoredBatch
        The batches so far.
    answers : dict
        The answer of each (batch, row): 1 positive, 0 negative, NaN "don't know".
    about : dict
        Notes of the caller, as plain JSON values; saved in the file.

    See Also
    --------
    Campaign : Certifies a target, at first or again after an alarm.

    Notes
    -----
    An alarm says that the promise was broken in some batch. If it is only just broken (a precision
    of 0.89 instead of 0.9), an alarm takes thousands of labels. A recall of rare positives takes
    many, too, since most of the rows drawn are negative.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import Monitor
    >>> rng = np.random.default_rng(0)
    >>> monitor = Monitor(0.0, min_precision=0.95, seed="00")
    >>> for month, precision in enumerate([0.97, 0.97, 0.75, 0.75]):
    ...     scores = rng.normal(size=1000)
    ...     truth = (rng.random(1000) < precision).astype(int)  # of accepted rows
    ...     rows = monitor.draw(scores, 30)
    ...     monitor.tell(rows, truth[rows])
    ...     print(month, monitor.verdict().alarm)
    0 False
    1 False
    2 True
    3 True
    """

    def __init__(
        self,
        threshold: float,
        *,
        min_precision: float | None = None,
        min_recall: float | None = None,
        min_f: float | None = None,
        max_cost: float | None = None,
        beta: float = 1.0,
        costs: tuple[float, float] | None = None,
        risk: float = 0.05,
        reference: ArrayLike | None = None,
        dont_know: Literal["bad", "leave out"] = "bad",
        classes: Sequence[Any] | None = None,
        pos_label: Any = None,
        seed: str | None = None,
    ):
        self.target = Target(
            min_precision=min_precision,
            min_recall=min_recall,
            beta=beta,
            costs=costs,
            min_f=min_f,
            max_cost=max_cost,
        )
        if not self.target.is_constrained:
            raise ValueError("Say what was promised: min_precision, min_recall, min_f or max_cost.")
        if not 0 < risk < 1:
            raise ValueError(f"risk must be between 0 and 1, got {risk}.")
        if math.isnan(threshold):
            raise ValueError("threshold must be a number, got nan.")
        if dont_know not in ("bad", "leave out"):
            raise ValueError(f'dont_know must be "bad" or "leave out", got {dont_know!r}.')
        self.threshold = float(threshold)
        self.risk = float(risk)
        self.dont_know = dont_know
        self.batches: list[MonitoredBatch] = []
        self.answers: dict[tuple[int, int], float] = {}
        self.about: dict[str, Any] = {}
        # Translates labels into 1, 0 and NaN.
        self._log = AnswerLog(1, classes, find_pos_label(classes, pos_label))
        self._seed = make_seed() if seed is None else read_seed(seed)
        self._synced: tuple[Path, str] | None = None  # the file read or written last, its digest
        self._reference = (
            np.empty(0) if reference is None else _quantiles(check_scores(reference, "reference"))
        )

    @classmethod
    def for_point(cls, point: Any, **options: Any) -> Monitor:
        """Return a monitor for the promise of a certified operating point.

        Parameters
        ----------
        point : OperatingPoint
            A certified operating point, for example `campaign.verdict().operating_point`.
        **options
            Parameters of `Monitor` other than the target.

        Returns
        -------
        Monitor
            A monitor without batches.
        """
        require_point(point)
        return cls(point.threshold, **limits_of(point.target), **options)

    @property
    def classes(self) -> list[Any] | None:
        """The class labels that answers are given in; None where answers are 1 and 0."""
        return self._log.classes

    @property
    def pos_label(self) -> Any:
        """The class that the promise is about; None where answers are 1 and 0."""
        return self._log.pos_label

    # ---- labels ----

    def draw(self, scores: ArrayLike, n: int = 20) -> list[int]:
        """Start a batch of new rows, and return the rows to label.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            Scores of the new rows by the certified model.
        n : int, default=20
            Number of rows to label.

        Returns
        -------
        list of int
            Row numbers, indices into `scores`; fewer than `n` if the batch is small.
        """
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}.")
        vector = check_scores(scores)
        is_accepted = vector > self.threshold
        key = hashlib.blake2b(
            hashlib.sha256(vector.tobytes()).digest() + struct.pack("<Q", len(self.batches)),
            digest_size=32,
            key=self._seed,
        ).digest()
        n_rows = len(vector)
        numbers = uniform_numbers(key, 2 * n_rows)
        order = np.argsort(numbers[:n_rows], kind="stable")
        chances = self._chances([*(batch.n_rows for batch in self.batches), n_rows])[-1]
        is_kept = numbers[n_rows:] < np.where(is_accepted, chances[1], chances[0])
        drawn = order[is_kept[order]][:n].tolist()
        self.batches.append(
            MonitoredBatch(
                n_rows=n_rows,
                n_accepted=int(is_accepted.sum()),
                drawn=drawn,
                accepted=is_accepted[drawn].tolist(),
                p_value=self._compare(vector),
            )
        )
        return drawn

    def _chances(self, sizes: Sequence[int]) -> np.ndarray:
        """The probabilities that a rejected and an accepted row of each batch is labeled, (k, 2);
        `sizes` are the numbers of rows of the batches, to which the next one may belong.

        For a precision, only accepted rows are. For other targets about as many of each kind are,
        judged by earlier batches: a batch's own share of accepted rows must not matter, because
        given that share, its rows are no random sample of their source. Its size may.
        """
        if all(form.measure == "precision" for form in linear_forms(self.target)):
            return np.tile([0.0, 1.0], (len(sizes), 1))
        counts = [(batch.n_rows - batch.n_accepted, batch.n_accepted) for batch in self.batches]
        before = np.cumsum([(1, 1), *counts], axis=0)[: len(sizes)]
        least = np.clip(FEWEST_OF_COMMON / np.asarray(sizes, dtype=float), LEAST_CHANCE, 1.0)
        return np.clip(before[:, ::-1] / before, least[:, None], 1.0)

    def _compare(self, scores: np.ndarray) -> float | None:
        """The p-value of the test that scores come from where the reference comes from; a first
        batch becomes the reference where there is none.
        """
        if not len(self._reference):
            self._reference = _quantiles(scores)
            return None
        from scipy.stats import ks_2samp  # takes its time to import

        return float(ks_2samp(self._reference, scores, method="asymp").pvalue)

    def tell(self, rows: Iterable[int] | int, answers: Any, batch: int = -1) -> None:
        """Record answers for rows that were drawn; an earlier answer is corrected.

        Parameters
        ----------
        rows : int or sequence of int
            Row numbers of a batch, among those that `draw` returned.
        answers : label or sequence of labels
            One answer per row: class labels if the monitor has classes, else 1 or 0; None (or NaN)
            for "don't know".
        batch : int, default=-1
            The number of the batch, from 0; by default the last one.
        """
        labels = answers_by_row(rows, answers)
        batch = self._number_of(batch)
        drawn = set(self.batches[batch].drawn)
        strangers = [row for row, _ in labels if row not in drawn]
        if strangers:
            raise ValueError(
                f"Row {strangers[0]} of batch {batch} was not drawn: only rows that were drawn"
                " at random count. Answer the rows that `draw` returned."
            )
        self.answers |= {
            (batch, int(row)): as_number(self._log.code(row, label)) for row, label in labels
        }

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
        return [row for row in self.batches[number].drawn if (number, row) not in self.answers]

    def _number_of(self, batch: int) -> int:
        """The number of a batch from 0, where negative ones count from the last."""
        n_batches = len(self.batches)
        if not n_batches:
            raise ValueError("There is no batch yet: `draw` begins one.")
        if not -n_batches <= batch < n_batches:
            raise ValueError(f"There is no batch {batch}: they are numbered 0 to {n_batches - 1}.")
        return batch % n_batches

    # ---- what they say ----

    def verdict(self) -> MonitorVerdict:
        """Return what the labels so far say; it may be called at any time and does not change the
        monitor.

        Returns
        -------
        MonitorVerdict
            Whether the promise is broken, and whether the scores have changed.
        """
        known = self._known_labels()
        evidence = max(0.0, float(self._log_evidence(known).max(initial=0.0)))
        needed = log_evidence_needed(self.risk)
        last = self.batches[-1] if self.batches else None
        reference = None
        if last is not None and last.p_value is not None:
            reference = float((self._reference > self.threshold).mean())
        level = self.risk / (len(self.batches) * (len(self.batches) + 1)) if last else 0.0
        moved = last is not None and last.p_value is not None and last.p_value <= level
        verdict = MonitorVerdict(
            alarm=evidence >= needed,
            evidence=math.exp(min(evidence, LARGEST_LOG)),
            evidence_needed=math.exp(needed),
            n_labels=len(known.codes),
            n_batches=len(self.batches),
            precision=self._last_precision(known),
            share_accepted=math.nan if last is None else last.share_accepted,
            reference_share=reference,
            scores_moved=moved,
            reason="",
        )
        return replace(verdict, reason=self._in_words(verdict))

    def _known_labels(self) -> KnownLabels:
        """The labels in the order in which they became known. A batch is read up to its first row
        without an answer: which rows are answered first must not matter.
        """
        place = {key: i for i, key in enumerate(self.answers)}
        labels = []
        for number, batch in enumerate(self.batches):
            known_at = -1
            for row, is_accepted in zip(batch.drawn, batch.accepted, strict=True):
                if (number, row) not in place:
                    break
                known_at = max(known_at, place[number, row])
                code = self.answers[number, row]
                labels.append((known_at, (number, is_accepted, code)))
        ordered = [label for _, label in sorted(labels, key=lambda entry: entry[0])]
        batches, are_accepted, codes = np.array(ordered, dtype=float).reshape(-1, 3).T
        return KnownLabels(batches.astype(np.intp), are_accepted.astype(bool), codes)

    def evidence_path(self) -> np.ndarray:
        """Return the evidence that the promise is broken, after each label that counts.

        Returns
        -------
        ndarray of shape (n_labels,)
            The evidence in the order in which the labels became known. It starts at 1, and an alarm
            is raised at 1 / `risk`.
        """
        return np.exp(np.minimum(self._log_evidence(self._known_labels()), LARGEST_LOG))

    def _log_evidence(self, known: KnownLabels) -> np.ndarray:
        """The evidence against all promises together: the mean of several bets is a bet."""
        paths = [self._log_evidence_against(form, known) for form in linear_forms(self.target)]
        return np.logaddexp.reduce(paths, axis=0) - math.log(len(paths))

    def _log_evidence_against(self, form: LinearForm, known: KnownLabels) -> np.ndarray:
        """The evidence against one promise, after each label."""
        batch, is_accepted, code = known
        # Columns: rejected, accepted.
        chances = self._chances([entry.n_rows for entry in self.batches])
        weights = np.divide(1.0, chances, out=np.zeros_like(chances), where=chances > 0)
        sides = np.array([False, True])
        best = np.maximum(form.values(sides), 0.0) - form.dues(sides)
        largest = np.maximum((weights * best).max(axis=1), SMALLEST_GAIN)
        is_good = code == is_accepted  # "don't know" is NaN: not good
        gains = form.values(is_accepted) * is_good - form.dues(is_accepted)
        if self.dont_know == "leave out":
            gains[np.isnan(code)] = 0.0
        scaled = gains * weights[batch, is_accepted.astype(np.intp)] / largest[batch]
        return alarm_log_evidence(scaled, batch, len(self.batches))

    def _last_precision(self, known: KnownLabels) -> tuple[float, float, float] | None:
        """The precision of the last batch, with its 90% interval."""
        codes = known.codes[(known.batches == len(self.batches) - 1) & known.are_accepted]
        if self.dont_know == "leave out":
            codes = codes[~np.isnan(codes)]
        if not len(codes):
            return None
        positives = int((codes == 1).sum())
        return (positives / len(codes), *binomial_interval(positives, len(codes), 0.9))

    def _in_words(self, verdict: MonitorVerdict) -> str:
        if not self.batches:
            return f"Watching {self.target}: no rows yet."
        sentences = []
        if verdict.alarm:
            sentences.append(
                f"Alarm: the promise ({self.target}) no longer holds. At most {self.risk:.0%} of"
                " monitors like this one ever raise a false alarm. Label more of the new rows, fit"
                " again, and certify again."
            )
        else:
            sentences.append(
                f"No alarm: {counted(verdict.n_labels, 'label')} of"
                f" {counted(verdict.n_batches, 'batch')} do not contradict the promise"
                f" ({self.target}). This is no proof that it holds."
            )
        n_waiting = len(self.answers) - verdict.n_labels
        if n_waiting:
            sentences.append(
                f"{counted(n_waiting, 'more answer')} will count once the rows that were drawn"
                " before them are answered."
            )
        if verdict.precision is not None:
            value, low, high = verdict.precision
            sentences.append(
                f"Precision in the last batch: {value:.2f} (90% interval {low:.2f} to {high:.2f})."
            )
        share = f"The model accepts {verdict.share_accepted:.1%} of the last batch"
        if verdict.reference_share is not None:
            share += f", and {verdict.reference_share:.1%} of the rows that it is compared with"
        sentences.append(f"{share}.")
        if verdict.scores_moved:
            sentences.append("The scores have changed: the last batch differs from those rows.")
        return " ".join(sentences)

    # ---- the file ----

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Save the monitor to a JSON file, from which it can be continued.

        Parameters
        ----------
        path : str or path
            The file. It is written completely or not at all.
        force : bool, default=False
            Whether to replace another file, such as another monitor.

        Returns
        -------
        path
            The file that was written.

        Raises
        ------
        ValueError
            If another program has saved there since this monitor was read from the file or saved to
            it, or if the file is another one. Nothing is written then.
        """
        content = {
            "kind": MONITOR_KIND,
            "version": MONITOR_VERSION,
            "threshold": self.threshold,
            "target": self.target.as_dict(),
            "risk": self.risk,
            "dont_know": self.dont_know,
            "seed": self._seed.hex(),
            "classes": self._log.classes,
            "pos_label": self._log.pos_label,
            "reference": self._reference.tolist(),
            "batches": [asdict(batch) for batch in self.batches],
            "answers": [
                [number, row, None if math.isnan(code) else int(code)]
                for (number, row), code in self.answers.items()
            ],
            "about": self.about,
        }
        real = Path(path).resolve()
        known, digest = self._synced or (None, "")
        with locked(real):
            if real != known and real.is_file() and not force:
                refuse_to_replace(Path(path))
            if real == known and _digest_of(real) not in ("", digest):
                raise ValueError(
                    f"{path}: another program has saved this monitor meanwhile, and its answers"
                    " would be lost. Nothing was saved: read the file again, and give the new"
                    " answers once more."
                )
            write_checked(Path(path), content)
            self._synced = real, _digest_of(real)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Monitor:
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
        real = Path(path).resolve()
        synced = real, _digest_of(real)
        content = read_checked(path, MONITOR_KIND, MONITOR_VERSION)
        options = ("threshold", "risk", "dont_know", "classes", "pos_label", "seed")
        monitor = cls(
            **limits_of(Target.from_dict(content["target"])),
            **{name: content[name] for name in options},
        )
        monitor._reference = np.array(content["reference"], dtype=np.float64)
        monitor.batches = [MonitoredBatch(**batch) for batch in content["batches"]]
        monitor.answers = {
            (number, row): as_number(code) for number, row, code in content["answers"]
        }
        monitor.about = content["about"]
        monitor._synced = synced
        return monitor

    def __repr__(self) -> str:
        batches = counted(len(self.batches), "batch")
        return f"<Monitor: {self.target}, {counted(len(self.answers), 'label')} of {batches}>"


def _digest_of(path: Path) -> str:
    """The digest of a file; "" where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _quantiles(scores: np.ndarray) -> np.ndarray:
    """Scores in ascending order; of very many, evenly spaced ones."""
    ordered = np.sort(scores)
    if len(ordered) <= MOST_REFERENCE:
        return ordered
    return ordered[np.linspace(0, len(ordered) - 1, MOST_REFERENCE).round().astype(np.intp)]
