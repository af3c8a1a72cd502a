"""The campaign: rows to label, answers, and what these prove."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.evidence import file
from semisvm.evidence.answers import (
    OPEN,
    UNKNOWN,
    YES,
    Answers,
    Entry,
    plain_label,
    plain_labels,
)
from semisvm.evidence.job import Job, count_of, make_job
from semisvm.evidence.models import class_scores, scores_for_class
from semisvm.evidence.procedure import Forecast, Procedure, Proved
from semisvm.evidence.verdict import Verdict, joined

Target = float | Mapping[Any, float]


class Completed(NamedTuple):
    """A label for every row, and where it is from.

    Attributes
    ----------
    labels : ndarray of object
        The label of each row; None where it is open.
    source : ndarray of str
        "person", "machine" (covered by the promise) or "open".
    """

    labels: np.ndarray
    source: np.ndarray


class Campaign:
    """Label rows of a pool until a promise about the other rows is proved.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Scores of the rows, higher for rows that are more likely positive. Row numbers of the
        campaign are indices into this array.
    min_precision : float, optional
        Promise that at least this share of the accepted rows is positive.
    min_recall : float, optional
        Promise that at least this share of the positive rows is found when all rows but those that
        nobody needs to read are read.
    confidence : float, default=0.9
        The probability that the promise holds, whatever the scores are, and whenever one stops.
    budget : int, optional
        How many rows can be labeled. Draws are planned for it, and end with it.
    about : {"unseen", "returned"}, default="unseen"
        Which rows a precision is promised for: "unseen", the accepted rows that nobody labeled;
        "returned", these and the rows that people found positive, which suits rare positives.
    claim : {"pool", "new rows"}, default="pool"
        "new rows": the precision is promised for new rows from the source of the pool, whose scores
        reach a threshold. The pool must be a random sample of that source that was not used in
        training, not even as unlabeled rows.
    probabilities : array-like of shape (n_rows,), optional
        The probability that each row is positive. Good ones save labels; the promise does not
        depend on them. By default they are guessed from the scores.
    random_state : int, optional
        Determines all draws; by default from the operating system. A promise does not hold if
        several were tried until one passed.

    Attributes
    ----------
    job : Job
        All that is fixed before the first answer.
    labels : dict of {row: label}
        The answers, in the order in which they were given; None for "don't know".

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.evidence import Campaign
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(5000)
    >>> truth = (rng.random(5000) < scores).astype(int)  # what a person would say
    >>> campaign = Campaign(scores, min_precision=0.8, random_state=0)
    >>> for rows in campaign.batches(20, budget=200):
    ...     campaign.tell(rows, truth[rows])
    >>> verdict = campaign.verdict()
    >>> verdict.certified
    True
    >>> bool(truth[campaign.accepted()].mean() >= 0.8)
    True
    """

    def __init__(
        self,
        scores: ArrayLike,
        *,
        min_precision: float | None = None,
        min_recall: float | None = None,
        confidence: float = 0.9,
        budget: int | None = None,
        about: Literal["unseen", "returned"] = "unseen",
        claim: Literal["pool", "new rows"] = "pool",
        probabilities: ArrayLike | None = None,
        random_state: int | None = None,
    ):
        kind, level = _kind_of_promise(min_precision, min_recall, None, about, claim)
        if isinstance(level, Mapping):
            raise ValueError(
                "A precision for each class needs their labels: use Campaign.for_model or"
                " Campaign.for_labels."
            )
        job = make_job(
            scores,
            about=kind,
            level=level,
            confidence=confidence,
            budget=budget,
            random_state=random_state,
            probabilities=probabilities,
        )
        self._begin(job)

    @classmethod
    def for_model(
        cls,
        model: Any,
        X_pool: Any,
        *,
        pos_label: Any = None,
        min_precision: Target | None = None,
        min_recall: float | None = None,
        about: Literal["unseen", "returned"] = "unseen",
        claim: Literal["pool", "new rows"] = "pool",
        confidence: float = 0.9,
        budget: int | None = None,
        random_state: int | None = None,
    ) -> Self:
        """Start a campaign about the predictions of a fitted classifier.

        Parameters
        ----------
        model : classifier
            Fitted, with `decision_function` or `predict_proba`.
        X_pool : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows whose labels are not known. Leave the labeled rows of the training out: their
            labels are known, and the promise would be about them too.
        pos_label : label, optional
            The positive class; by default the second of two.
        min_precision : float or dict of {class: float}, optional
            As in `Campaign`. A dict promises a precision for the rows predicted as each class, all
            of them together with the confidence; rows of other predictions are left for people.
        min_recall, about, claim, confidence, budget, random_state
            As in `Campaign`.

        Returns
        -------
        Campaign
            The new campaign. Answers are class labels of the model.
        """
        kind, level = _kind_of_promise(min_precision, min_recall, None, about, claim)
        scores, classes = class_scores(model, X_pool)
        common = {
            "about": kind,
            "level": level,
            "confidence": confidence,
            "budget": budget,
            "random_state": random_state,
        }
        names = [plain_label(label) for label in classes.tolist()]
        if isinstance(level, Mapping):
            best = scores.argmax(axis=1)
            sure = scores[np.arange(len(scores)), best]
            machine = [names[place] for place in best]
            return cls._of(make_job(sure, machine=machine, **common))
        one, label = scores_for_class(scores, names, pos_label)
        return cls._of(make_job(one, classes=names, pos_label=label, **common))

    @classmethod
    def for_labels(
        cls,
        labels: ArrayLike,
        confidences: ArrayLike | None = None,
        *,
        max_error: float | None = None,
        min_precision: Target | None = None,
        per_class: bool = False,
        confidence: float = 0.9,
        budget: int | None = None,
        random_state: int | None = None,
    ) -> Self:
        """Start a campaign about labels by a machine, such as a language model, a rule or a vendor.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            The machine's label of each row.
        confidences : array-like of shape (n_rows,), optional
            How sure the machine is of each label: shares, percent, or any scores. The promise does
            not depend on them. By default all are equal.
        max_error : float, optional
            Promise that at most this share of all labels is wrong in the end, when people label
            the rows that are left for them.
        min_precision : float or dict of {class: float}, optional
            Promise instead that at least this share of the machine labels that are kept unseen is
            right; with a dict, for each class.
        per_class : bool, default=False
            Promise it for the rows of each machine label, all together with the confidence.
        confidence, budget, random_state
            As in `Campaign`.

        Returns
        -------
        Campaign
            The new campaign. Answers are what the row is, not whether the machine is right. A class
            that the machine never says is an ordinary answer.

        Examples
        --------
        >>> import numpy as np
        >>> from semisvm.evidence import Campaign
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.choice(["bug", "question"], 3000)
        >>> sure = rng.random(3000)
        >>> machine = np.where(rng.random(3000) < 0.6 + 0.4 * sure, truth, "question")
        >>> campaign = Campaign.for_labels(machine, sure, max_error=0.05, random_state=0)
        >>> for rows in campaign.batches(10):
        ...     campaign.tell(rows, truth[rows])
        >>> completed = campaign.completed()
        >>> kept = completed.source == "machine"
        >>> int((completed.labels[kept] != truth[kept]).sum()) <= 0.05 * 3000
        True
        """
        machine = plain_labels(labels, "labels")
        kind, level = _kind_of_promise(min_precision, None, max_error, "unseen", "pool")
        if per_class and not isinstance(level, Mapping):
            level = dict.fromkeys(sorted({*machine}, key=str), level)
        job = make_job(
            np.ones(len(machine)) if confidences is None else confidences,
            about=kind,
            level=level,
            confidence=confidence,
            budget=budget,
            random_state=random_state,
            machine=machine,
        )
        return cls._of(job)

    def _begin(self, job: Job) -> None:
        self.job = job
        self._answers = Answers(len(job.scores), job.code_of)
        self._synced: str | None = None

    @classmethod
    def _of(cls, job: Job, log: Sequence[Sequence[Any]] = ()) -> Self:
        """Begin a job and replay its log: [row, label], or [row] where an answer is taken back."""
        campaign = cls.__new__(cls)
        campaign._begin(job)
        for row, *label in log:
            if label:
                campaign.tell(row, label[0])
            else:
                campaign.take_back(row)
        return campaign

    @cached_property
    def _parts(self) -> list[tuple[Any, Procedure]]:
        return self.job.begin()

    @cached_property
    def _home(self) -> np.ndarray:
        """The number of the part that each row belongs to, and its place there; -1: none."""
        home = np.full((len(self.job.scores), 2), -1)
        for number, (_, part) in enumerate(self._parts):
            home[part.rows, 0] = number
            home[part.rows, 1] = np.arange(len(part.rows))
        return home

    # ---- rows and answers ----

    @property
    def labels(self) -> dict[int, Any]:
        """The answers by row, in the order in which they were given."""
        return dict(self._answers.labels)

    @property
    def n_rows(self) -> int:
        """The number of rows of the pool."""
        return len(self.job.scores)

    @property
    def n_labels(self) -> int:
        """The number of rows that are answered."""
        return len(self._answers.labels)

    @property
    def random_state(self) -> int:
        """The integer that determines all draws."""
        return self.job.random_state

    def draw(self, n: int = 10) -> list[int]:
        """Return the rows to label next; it does not change the campaign.

        Parameters
        ----------
        n : int, default=10
            How many rows at most.

        Returns
        -------
        list of int
            Row numbers. Empty if the budget is used, if all rows are labeled, or if more labels
            are not expected to be of use; `verdict().stop` says which.
        """
        n = count_of(n, "n")
        left = self._left()
        n = n if left is None else min(n, left)
        rows: list[int] = []
        for part in self._most_useful_first(left):
            if len(rows) >= n:
                break
            forecast = part.forecast(left) if len(self._parts) > 1 else None
            most = min(n - len(rows), forecast.n_labels if forecast else n)
            rows += part.rows[part.draw(most, left)].tolist()
        return rows

    def _left(self) -> int | None:
        budget = self.job.budget
        return None if budget is None else max(budget - self.n_labels, 0)

    def _most_useful_first(self, left: int | None) -> list[Procedure]:
        """Return the parts by the rows that a label is expected to gain."""
        parts = [part for _, part in self._parts]
        if len(parts) == 1:
            return parts

        def gain(part: Procedure) -> float:
            forecast = part.forecast(left)
            if forecast is None:
                return np.inf if part.is_starting else 0.0
            return (forecast.n_rows - len(part.proved().rows)) / max(forecast.n_labels, 1)

        return sorted(parts, key=gain, reverse=True)

    def tell(self, rows: Any, answers: Any) -> None:
        """Record answers; a row that is answered again is corrected.

        Parameters
        ----------
        rows : int or sequence of int
            Row numbers, whether they were drawn or not.
        answers : label or sequence of labels
            One answer per row: 1 (positive) or 0, or class labels where the campaign has them;
            None (or NaN) for "don't know", which counts against the promise.
        """
        self._keep(self._answers.read(rows, answers))

    def take_back(self, rows: Any) -> None:
        """Take answers back: the rows are open again.

        Parameters
        ----------
        rows : int or sequence of int
            Row numbers; those without an answer are passed over.
        """
        self._keep(self._answers.taken_back(rows))

    def _keep(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._answers.add(entry)
            number, place = self._home[entry.row]
            if number >= 0:
                self._parts[number][1].tell(int(place), entry.code)

    def batches(self, n: int = 10, *, budget: int | None = None) -> Iterator[list[int]]:
        """Give rows to label, batch by batch, until there are no more to ask for.

        Parameters
        ----------
        n : int, default=10
            Rows of a batch.
        budget : int, optional
            How many rows are labeled in all, where the campaign has no budget yet.

        Yields
        ------
        list of int
            Row numbers. Answer them by `tell` before the next batch.
        """
        if budget is not None:
            self._plan_for(budget)
        while rows := self.draw(n):
            before = self.n_labels
            yield rows
            if self.n_labels == before:
                raise RuntimeError(
                    "No answer was told since the last batch. Call tell(rows, answers) for each"
                    ' batch; None is "don\'t know".'
                )

    def _plan_for(self, budget: int) -> None:
        """Set the budget, before the first answer; later, an equal one is fine."""
        if budget == self.job.budget:
            return
        if self._answers.log:
            raise ValueError(
                f"The campaign was planned for a budget of {self.job.budget}, and has answers. Go"
                " on without `budget`, or begin another campaign."
            )
        self._begin(replace(self.job, budget=count_of(budget, "budget")))
        for name in ("_parts", "_home"):
            self.__dict__.pop(name, None)

    # ---- what is proved ----

    def verdict(self) -> Verdict:
        """Return what is proved so far, at any time; it does not change the campaign.

        Returns
        -------
        Verdict
            What is promised, about which rows, and what more labels would bring.
        """
        stop = self._why_no_rows()
        left = self._left()
        verdicts = [
            (name, self._verdict_of(part, level, stop, None if stop else part.forecast(left)))
            for (name, part), (_, level) in zip(self._parts, self.job.levels, strict=True)
        ]
        if not self.job.is_per_class:
            return verdicts[0][1]
        n_unseen = sum(verdict.n_unseen for _, verdict in verdicts)
        n_open = self.n_rows - self.n_labels - n_unseen
        return joined(verdicts, n_labels=self.n_labels, n_open=n_open)

    def _verdict_of(
        self, part: Procedure, level: float, stop: str, forecast: Forecast | None
    ) -> Verdict:
        proved = part.proved()
        scores = self.job.scores[part.rows[proved.rows]]
        is_recall = self.job.about == "recall"
        threshold = None
        if part.threshold is not None:
            threshold = part.threshold
        elif len(scores):
            threshold = float(scores.max() if is_recall else scores.min())
        return Verdict(
            certified=proved.is_certified,
            about=self.job.about,
            level=level,
            confidence=self.job.confidence,
            n_rows=len(part.rows),
            n_labels=part.n_labels,
            n_unseen=len(proved.rows),
            n_unseen_right=proved.n_right,
            n_found=int((part.codes == YES).sum()),
            n_open=len(part.rows) - part.n_labels - len(proved.rows),
            threshold=threshold,
            forecast=forecast,
            stop=stop,
            classes={},
            outcome="positive" if self.job.machine is None else "right",
        )

    def _why_no_rows(self) -> str:
        if self.n_labels == self.n_rows:
            return "All rows are labeled."
        if self._left() == 0:
            return f"The budget of {self.job.budget} labels is used."
        return "" if self.draw(1) else "More labels are not expected to be of use."

    def _proved(self) -> list[tuple[Any, Procedure, Proved]]:
        return [(name, part, part.proved()) for name, part in self._parts]

    def _covered(self) -> np.ndarray:
        """The rows that nobody labeled and that a promise covers."""
        rows = [part.rows[proved.rows] for _, part, proved in self._proved()]
        return np.sort(np.concatenate(rows))

    def accepted(self) -> np.ndarray:
        """Return the rows that are accepted without having been looked at.

        Returns
        -------
        ndarray of int
            Row numbers in ascending order. Of machine labels: the rows that keep them. For a
            recall: all open rows but those that nobody needs to read. For `claim="new rows"`: the
            open rows whose scores reach the threshold.
        """
        covered = self._covered()
        if self.job.about != "recall":
            return covered
        is_open = np.ones(self.n_rows, dtype=bool)
        is_open[covered] = False
        is_open[list(self._answers.labels)] = False
        return np.flatnonzero(is_open)

    def found(self) -> np.ndarray:
        """Return the rows that people found positive (of machine labels: found right).

        Returns
        -------
        ndarray of int
            Row numbers in ascending order.
        """
        codes = self.job.code_of
        rows = [row for row, label in self._answers.labels.items() if codes(row, label) == YES]
        return np.array(sorted(rows), dtype=np.intp)

    def completed(self) -> Completed:
        """Return a label for every row, and where it is from.

        Returns
        -------
        Completed
            `labels` and `source`: "person", "machine" where the promise covers the row, or "open":
            no label yet, a row for people.
        """
        labels = np.full(self.n_rows, None, dtype=object)
        source = np.full(self.n_rows, "open", dtype="<U7")
        covered = self._covered()
        machine = self._machine_label()
        if machine is not None:
            for row in covered.tolist():
                labels[row] = machine(row)
            source[covered] = "machine"
        for row, label in self._answers.labels.items():
            if self.job.code_of(row, label) != UNKNOWN:
                labels[row], source[row] = label, "person"
        return Completed(labels, source)

    def _machine_label(self) -> Callable[[int], Any] | None:
        """Return the label that a covered row gets; None where the other class is not known."""
        job = self.job
        if job.machine is not None:
            return job.machine.__getitem__
        if job.about != "recall":
            return lambda row: 1 if job.classes is None else job.pos_label
        if job.classes is None:
            return lambda row: 0
        others = [label for label in job.classes if label != job.pos_label]
        return (lambda row: others[0]) if len(others) == 1 else None

    # ---- files ----

    def certificate(self, path: str | Path, *, force: bool = False) -> Path:
        """Write all that another program needs to check the promise: one JSON file.

        Parameters
        ----------
        path : str or path
            The file. `semisvm.evidence.verify`, one file that needs NumPy alone, checks it: a
            precision of unseen rows, a total error, and a recall without a budget.
        force : bool, default=False
            Whether to replace an existing file.

        Returns
        -------
        path
            The file.
        """
        parts = [(name, part, part.proved()) for name, part in self._parts]
        return file.write_certificate(path, self.job, self._answers, parts, self.verdict(), force)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Save the campaign to a JSON file, from which `load` continues it.

        Parameters
        ----------
        path : str or path
            The file; it is written whole or not at all.
        force : bool, default=False
            Whether to replace a file that this campaign was not loaded from or saved to.

        Returns
        -------
        path
            The file.
        """
        self._synced = file.save(path, self.as_dict(), self._synced, force)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path, scores: ArrayLike | None = None) -> Self:
        """Load a campaign that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.
        scores : array-like of shape (n_rows,), optional
            The scores of now, which must be those that the campaign began with.

        Returns
        -------
        Campaign
            Ready to go on.
        """
        content, synced = file.load(path, file.CAMPAIGN)
        with file.refusing_damaged(path):
            campaign = cls.from_dict(content)
        campaign._synced = synced
        if scores is not None and not np.array_equal(np.asarray(scores), campaign.job.scores):
            raise ValueError(
                f"{path}: the campaign began with other scores. Score the same rows with the same"
                " model, or begin another campaign."
            )
        return campaign

    def as_dict(self) -> dict[str, Any]:
        """Return the campaign as plain JSON values."""
        log = [
            [entry.row] if entry.code == OPEN else [entry.row, entry.label]
            for entry in self._answers.log
        ]
        return {**file.heading(file.CAMPAIGN), "job": self.job.as_dict(), "log": log}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the campaign that `as_dict` wrote."""
        return cls._of(Job.from_dict(content["job"]), content["log"])

    def __repr__(self) -> str:
        return f"<Campaign: {self.job.about}, {self.n_labels:,} of {self.n_rows:,} rows labeled>"


def _kind_of_promise(
    min_precision: Target | None,
    min_recall: float | None,
    max_error: float | None,
    about: str,
    claim: str,
) -> tuple[str, Any]:
    """Return the kind of promise and its level; exactly one is asked for."""
    given = [
        (name, value)
        for name, value in zip(
            ("precision", "recall", "max_error"),
            (min_precision, min_recall, max_error),
            strict=True,
        )
        if value is not None
    ]
    if len(given) != 1:
        raise ValueError(
            "Ask for one promise: min_precision or min_recall (for machine labels: max_error or"
            " min_precision). For two, run two campaigns."
        )
    if about not in ("unseen", "returned"):
        raise ValueError(f'about must be "unseen" or "returned", got {about!r}.')
    if claim not in ("pool", "new rows"):
        raise ValueError(f'claim must be "pool" or "new rows", got {claim!r}.')
    kind, level = given[0]
    if kind != "precision" and (about != "unseen" or claim != "pool"):
        raise ValueError("`about` and `claim` are for min_precision only: leave them out.")
    if isinstance(level, Mapping) and kind == "recall":
        raise ValueError("min_recall is one number: a recall is promised for one class.")
    if kind == "precision":
        kind = claim if claim == "new rows" else about
    return kind, level
