"""The job of a campaign: everything that is fixed before the first answer.

Whoever begins a campaign with the same job and gives the same answers has the same campaign.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from semisvm.evidence.answers import NO, UNKNOWN, YES, plain_label
from semisvm.evidence.new_rows import NewRows
from semisvm.evidence.order import Floats, state_of
from semisvm.evidence.procedure import Procedure
from semisvm.evidence.rates import rows_as_probabilities
from semisvm.evidence.recall import Recall
from semisvm.evidence.recall_sets import RecallSets
from semisvm.evidence.returned import Returned
from semisvm.evidence.total_error import TotalError
from semisvm.evidence.total_error_plan import as_shares
from semisvm.evidence.unseen import Unseen

USUAL_BUDGET = 200  # labels that a precision is planned for where no budget is given
LEAST_RISK = 1e-6  # tables for less would take hours
PRECISIONS: dict[str, Any] = {"unseen": Unseen, "returned": Returned, "new rows": NewRows}


@dataclass(frozen=True)
class Job:
    """What a campaign is about.

    Attributes
    ----------
    about : {"unseen", "returned", "new rows", "recall", "max_error"}
        The kind of promise.
    levels : list of (class or None, float)
        The share promised; one per class where promises are made per class.
    confidence, budget, random_state
        As in `Campaign`.
    scores : ndarray of shape (n_rows,)
        Scores, or confidences of machine labels.
    probabilities : ndarray of shape (n_rows,) or None
        The probability that each row is positive.
    machine : list or None
        The machine label of each row.
    classes : list or None
        The labels that answers may have, where they are known.
    pos_label : label
        The positive class, where there are classes.
    """

    about: str
    levels: list[tuple[Any, float]]
    confidence: float
    budget: int | None
    random_state: int
    scores: Floats
    probabilities: Floats | None = None
    machine: list[Any] | None = None
    classes: list[Any] | None = None
    pos_label: Any = None

    @property
    def is_per_class(self) -> bool:
        """Whether there is one promise per class."""
        return self.levels[0][0] is not None

    def code_of(self, row: int, label: Any) -> int:
        """Return what a label means for a row."""
        if label is None:
            return UNKNOWN
        if self.machine is not None:
            self._refuse_other_spelling(row, label)
            return YES if label == self.machine[row] else NO
        if self.classes is not None:
            if label not in self.classes:
                raise ValueError(
                    f"Row {row}: {label!r} is not a class of the model. Answer with one of"
                    f' {self.classes}, or None for "don\'t know".'
                )
            return YES if label == self.pos_label else NO
        if label not in (0, 1):
            raise ValueError(
                f"Row {row}: an answer is 1 (positive), 0 (negative) or None (don't know), got"
                f" {label!r}."
            )
        return YES if label == 1 else NO

    def _refuse_other_spelling(self, row: int, label: Any) -> None:
        """Refuse "3" where the machine says 3: the answer would count as an error."""
        assert self.machine is not None
        assert self.classes is not None
        if label in self.classes:
            return
        spelled = [known for known in self.classes if str(known).strip() == str(label).strip()]
        if spelled:
            raise ValueError(
                f"Row {row}: the answer {label!r} is not the machine's label {spelled[0]!r}, but is"
                " written like it. Answer with labels as the machine writes them."
            )

    def begin(self) -> list[tuple[Any, Procedure]]:
        """Return the procedure of each promise, with its class."""
        risk = 1 - self.confidence
        each = 1 - self.confidence ** (1 / len(self.levels))  # clocks are independent
        if not self.is_per_class:
            level = self.levels[0][1]
            return [(None, self._procedure(np.arange(len(self.scores)), level, risk, ""))]
        assert self.classes is not None
        return [
            (name, self._procedure(self._rows_of(name), level, each, repr(name)))
            for name, level in self.levels
        ]

    @cached_property
    def _machine_codes(self) -> np.ndarray:
        """The place of each row's machine label among the classes."""
        assert self.machine is not None
        assert self.classes is not None
        places = {label: place for place, label in enumerate(self.classes)}
        return np.array(list(map(places.__getitem__, self.machine)), dtype=np.intp)

    def _rows_of(self, name: Any) -> np.ndarray:
        assert self.classes is not None
        return np.flatnonzero(self._machine_codes == self.classes.index(name))

    def _procedure(self, rows: np.ndarray, level: float, risk: float, name: str) -> Procedure:
        budget = self.budget
        if budget is not None:  # of a class, its share of the rows
            budget = max(1, round(budget * len(rows) / self._n_promised()))
        common: dict[str, Any] = {
            "risk": risk,
            "budget": budget,
            "random_state": self.random_state,
            "name": name,
        }
        scores = self.scores[rows]
        if self.about == "max_error":
            labels = self._machine_codes[rows]
            return TotalError(rows, as_shares(scores), labels, max_error=level, **common)
        if self.probabilities is not None:
            probabilities = self.probabilities[rows]
        else:
            probabilities = rows_as_probabilities(as_shares(scores))
        if self.about == "recall":
            promise: Any = Recall if self.budget is None else RecallSets
            return promise(rows, scores, probabilities, min_recall=level, **common)
        return PRECISIONS[self.about](rows, scores, probabilities, min_precision=level, **common)

    def _n_promised(self) -> int:
        if not self.is_per_class:
            return len(self.scores)
        return sum(len(self._rows_of(name)) for name, _ in self.levels)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        values = {name: value for name, value in asdict(self).items() if value is not None}
        for name in ("scores", "probabilities"):
            if name in values:
                values[name] = pack(values[name])
        return {**values, "random_state": str(self.random_state)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Job:
        """Return the job that `as_dict` wrote."""
        given = dict(values, random_state=int(values["random_state"]))
        given["levels"] = [(name, level) for name, level in given["levels"]]
        given.setdefault("budget", None)
        for name in ("scores", "probabilities"):
            if name in given:
                given[name] = unpack(given[name])
        return cls(**given)


def make_job(
    scores: Any,
    *,
    about: str,
    level: Any,
    confidence: float,
    budget: int | None,
    random_state: int | None,
    probabilities: Any = None,
    machine: Sequence[Any] | None = None,
    classes: Iterable[Any] | None = None,
    pos_label: Any = None,
) -> Job:
    """Check all that a campaign is given; `level` is a share, or one per class."""
    vector = vector_of(scores, "scores" if machine is None else "confidences")
    if not len(vector):
        raise ValueError("The pool is empty: give at least one row.")
    if machine is not None and len(machine) != len(vector):
        raise ValueError(
            f"There are {len(machine)} labels and {len(vector)} confidences: give one for each row."
        )
    check_share(confidence, "confidence")
    if 1 - confidence < LEAST_RISK:
        raise ValueError(f"confidence must be at most {1 - LEAST_RISK}, got {confidence}.")
    if budget is not None:
        budget = count_of(budget, "budget")
    levels = list(level.items()) if isinstance(level, Mapping) else [(None, level)]
    name = "max_error" if about == "max_error" else f"min_{_MEASURE[about]}"
    for _, share in levels:
        check_share(share, name, may_be_0=about == "max_error")
    if budget is None and about in PRECISIONS:
        budget = min(USUAL_BUDGET, len(vector))
    if probabilities is not None:
        probabilities = probabilities_of(probabilities, len(vector))
    if machine is not None:
        classes = sorted({*machine}, key=lambda label: (str(type(label)), label))
        unknown = [c for c, _ in levels if c is not None and plain_label(c) not in classes]
        if unknown:
            raise ValueError(f"No row has the label {unknown[0]!r}; the labels are {classes}.")
    return Job(
        about=about,
        levels=[(plain_label(c), float(share)) for c, share in levels],
        confidence=float(confidence),
        budget=budget,
        random_state=state_of(random_state),
        scores=vector,
        probabilities=probabilities,
        machine=None if machine is None else list(machine),
        classes=None if classes is None else list(classes),
        pos_label=pos_label,
    )


_MEASURE = {
    "unseen": "precision",
    "returned": "precision",
    "new rows": "precision",
    "recall": "recall",
}


def check_share(value: Any, name: str, *, may_be_0: bool = False) -> None:
    """Refuse all but a number between 0 and 1."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not (0 < value < 1 or (may_be_0 and value == 0)):
        raise ValueError(f"{name} must be between 0 and 1, got {value}.")


def count_of(value: Any, name: str) -> int:
    """Return a whole number of at least 1."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not (1 <= value < 2**53 and float(value).is_integer()):
        raise ValueError(f"{name} must be a whole number, at least 1, got {value}.")
    return int(value)


def vector_of(values: Any, name: str) -> Floats:
    """Return finite numbers, one per row."""
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, one for each row.") from None
    if vector.ndim != 1:
        raise ValueError(
            f"{name} must have one number for each row, got an array of shape {vector.shape}. For"
            " a model of several classes, use Campaign.for_model."
        )
    bad = np.flatnonzero(~np.isfinite(vector))
    if len(bad):
        raise ValueError(
            f"{name}: row {bad[0]} has {vector[bad[0]]}, not a finite number. Score all rows, or"
            " leave those without a score out."
        )
    return vector


def probabilities_of(values: Any, n_rows: int) -> Floats:
    """Return numbers from 0 to 1, one per row."""
    vector = vector_of(values, "probabilities")
    if len(vector) != n_rows:
        raise ValueError(f"There are {len(vector)} probabilities for {n_rows} rows.")
    if vector.min() < 0 or vector.max() > 1:
        raise ValueError("probabilities must be from 0 to 1.")
    return vector


def pack(values: Any) -> str:
    """Return numbers as text, exactly."""
    content = np.ascontiguousarray(values, dtype="<f8").tobytes()
    return base64.b64encode(zlib.compress(content, 1)).decode("ascii")


def unpack(text: str) -> Floats:
    """Return the numbers that `pack` wrote."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<f8").astype(np.float64)
