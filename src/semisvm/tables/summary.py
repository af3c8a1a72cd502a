"""What came of a fit, as typed values: everything that the report and the command show.

A summary is written to the model file as JSON with a version number, and read back from it. Scores
are those that `predict` writes: rows above 0 are accepted. Everything that belongs to a class is
stored under the name of the class. With two classes there is one entry, for the positive class;
with more there is one per class.

JSON has neither NaN nor infinity: NaN is written as null, and an infinite threshold as "inf" or
"-inf".
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Real
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from semisvm.campaign import CampaignSummary
from semisvm.decision import Estimate, OperatingPoint
from semisvm.errors import shorten
from semisvm.estimators.progress import RoundRecord

VERSION = 3


@dataclass(frozen=True)
class FeatureSummary:
    """Name and type (number, category, date, text) of one column that the model uses, and a
    remark on it.
    """

    name: str
    type: str
    remark: str = ""


@dataclass(frozen=True)
class ColumnProfile:
    """What a column held at the fit: the share of empty cells, of numbers the 5% and 95%
    quantiles, of categories the shares of the most frequent ones.
    """

    missing: float
    low: float = math.nan
    high: float = math.nan
    common: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DataSummary:
    """The training rows: file name, number of rows, label column, columns in use and left out,
    labels per class, and what the columns held.

    Where only some of the labeled rows were drawn at random, `class_counts` are those of these
    rows.
    """

    name: str
    rows: int
    labeled: int
    unlabeled: int
    target: str
    features: tuple[FeatureSummary, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    class_counts: dict[str, int] = field(default_factory=dict)
    profiles: dict[str, ColumnProfile] = field(default_factory=dict)


@dataclass(frozen=True)
class MethodSummary:
    """The method that was fitted, its name in the literature, why it was chosen, and its
    parameters.
    """

    name: str
    paper_name: str
    why: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoreSample:
    """Scores for one class."""

    labeled: tuple[float, ...]  # of the labeled rows
    sign: tuple[int, ...]  # for each labeled row +1 if it is of the class, -1 if not
    level: str  # how the scores were obtained: "empirical", "cross-fitted" or "certified"
    unlabeled: tuple[float, ...] = ()  # sorted, of the unlabeled rows or of a random sample of them
    n_unlabeled: int = 0  # unlabeled rows that were scored


@dataclass(frozen=True)
class ErrorCosts:
    """The cost of one missed positive row and of one accepted negative row."""

    missed: float
    accepted: float


@dataclass(frozen=True)
class MethodResult:
    """One method in a comparison; `difference` is its merit minus that of the supervised method."""

    name: str
    merit: Estimate
    standard_error: float
    difference: Estimate
    reaches_target: bool
    seconds: float
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Comparison:
    """Methods on the same folds, and which one was chosen and why; `left_out` is {method: reason},
    `baseline` the one that differences are taken from.

    With the measure "cost", merit is minus the cost.
    """

    measure: str
    methods: tuple[MethodResult, ...]
    left_out: dict[str, str]
    chosen: str
    verdict: str
    why: str = ""
    was_stopped: bool = False
    baseline: str = "supervised"

    def shown(self, method: MethodResult) -> Estimate:
        """Return the merit of a method as people read it: a cost with its own sign, never
        "-0.000".
        """
        value, low, high = method.merit
        return (
            Estimate(0.0 - value, 0.0 - high, 0.0 - low) if self.measure == "cost" else method.merit
        )

    def __repr__(self) -> str:
        lines = [f"{'method':<20}{self.measure:>18}   gain over {self.baseline} (90%)"]
        for one in self.methods:
            gap = one.difference
            gain = (
                ""
                if one.name == self.baseline
                else f"{gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
            )
            mark = "   chosen" if one.name == self.chosen else ""
            lines.append(f"{one.name:<20}{self.shown(one).value:>18.3f}   {gain}{mark}".rstrip())
        return "\n".join(
            [
                *lines,
                *(f"{name} was left out: {why}" for name, why in self.left_out.items()),
                self.verdict,
            ]
        )

    def _repr_html_(self) -> str:
        from semisvm.tables.notebook import comparison_html

        return comparison_html(self)


@dataclass(frozen=True)
class Suggestion:
    """A row worth labeling: its number in the file (from 1), its score, its predicted label, its
    cells.
    """

    row: int
    score: float
    label: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class FitSummary:
    """What is known about a fit.

    Attributes
    ----------
    title, created : str
        A title for people, and the time of the fit.
    data : DataSummary
        The training rows.
    classes : tuple of str
        The class names; of two, the second is the positive class.
    positive : str or None
        The positive class; None with more than two classes.
    method : MethodSummary
        The method and its parameters.
    operating_points : dict of {str: OperatingPoint}
        The operating point per class.
    audits : dict of {str: dict of {str: OperatingPoint}}
        Per class, the operating point after each step: supervised, + threshold, + unlabeled rows.
    scores : dict of {str: ScoreSample}
        The scores that the operating points were measured on.
    chances : dict of {str: float}
        How likely what was asked for holds on new rows, where that can be said.
    positives_only : OperatingPoint or None
        What is known where only positives are labeled; there are no operating points then.
    costs : ErrorCosts or None
        What errors cost, where there are two classes and costs were given.
    rounds : tuple of RoundRecord
        The estimator's `history_`.
    comparison : Comparison or None
        The methods that were compared before one was chosen.
    suggestions : tuple of Suggestion
        Rows worth labeling next.
    guard : dict or None
        The estimator's `guard_`: whether predicting one class for every row would cost less.
    is_fair_sample : bool or None
        Whether the labeled rows look like a random sample of all rows; None where that was not
        checked.
    notes : tuple of str
        Sentences for the reader.
    has_target, was_refused, was_stopped : bool
        Whether a precision or recall was asked for, whether its certificate was refused because the
        labels do not look like a random sample, and whether Ctrl-C ended the fit early.
    campaigns : tuple of dict
        The campaigns (`semisvm.Campaign`) whose risks add up with that of the certificate, it
        included.
    campaign : CampaignSummary or None
        What came of the campaign that certified the threshold, or of one that is under way.
    seconds : float
        Duration of the fit.
    versions, machine : dict
        Installed packages and the machine.
    """

    title: str
    created: str
    data: DataSummary
    classes: tuple[str, ...]
    positive: str | None
    method: MethodSummary
    operating_points: dict[str, OperatingPoint] = field(default_factory=dict)
    audits: dict[str, dict[str, OperatingPoint]] = field(default_factory=dict)
    scores: dict[str, ScoreSample] = field(default_factory=dict)
    chances: dict[str, float] = field(default_factory=dict)
    positives_only: OperatingPoint | None = None
    costs: ErrorCosts | None = None
    rounds: tuple[RoundRecord, ...] = ()
    comparison: Comparison | None = None
    suggestions: tuple[Suggestion, ...] = ()
    guard: dict[str, Any] | None = None
    is_fair_sample: bool | None = None
    notes: tuple[str, ...] = ()
    has_target: bool = False
    was_refused: bool = False
    was_stopped: bool = False
    campaigns: tuple[dict[str, Any], ...] = ()
    campaign: CampaignSummary | None = None
    seconds: float = math.nan
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        """Whether the target is reached as far as the labels can tell; a target that was not
        measured is not.
        """
        if self.was_refused:
            return False
        if self.positives_only is not None:
            return self.positives_only.reached
        is_known = bool(self.operating_points) or not self.has_target
        return is_known and all(point.reached for point in self.operating_points.values())

    def __repr__(self) -> str:
        rows = f"{self.data.labeled:,} of {self.data.rows:,} rows labeled"
        return f"<FitSummary of {self.title!r}, {self.created}: {self.method.name}, {rows}>"

    def _repr_html_(self) -> str:
        from semisvm.tables.notebook import summary_html

        return summary_html(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON values, with the version of this format."""
        return {"version": VERSION} | {
            one.name: plain_json(getattr(self, one.name)) for one in fields(self)
        }

    def to_json(self) -> str:
        """Return the summary as JSON text."""
        return json.dumps(self.as_dict(), allow_nan=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FitSummary:
        """Return the summary that `as_dict` wrote.

        Raises
        ------
        ValueError
            If the values were written in another version of the format.
        """
        version = values.get("version")
        if version != VERSION:
            raise ValueError(
                f"The summary has version {version}, and this semisvm reads version {VERSION}."
            )
        return _read_fields(cls, values, "summary")

    @classmethod
    def from_json(cls, text: str | bytes) -> FitSummary:
        """Return the summary that `to_json` wrote."""
        return cls.from_dict(json.loads(text))


def plain_json(value: Any) -> Any:
    """Return a value as JSON can hold it: dataclasses become dictionaries, NaN and infinities
    become None.
    """
    if hasattr(value, "as_dict"):
        return plain_json(value.as_dict())
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return {one.name: plain_json(getattr(value, one.name)) for one in fields(value)}
    if hasattr(value, "_asdict"):
        return plain_json(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): plain_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_json(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int | str | None) else str(value)


def _read_fields(kind: Any, values: Mapping[str, Any], where: str) -> Any:
    """Make a dataclass or named tuple of plain JSON values; entries that are no fields of it are
    left out.
    """
    hints = get_type_hints(kind)
    return kind(
        **{
            name: _read_as(hints[name], one, f"{where}.{name}")
            for name, one in values.items()
            if name in hints
        }
    )


def _read_as(hint: Any, value: Any, where: str) -> Any:
    """Return a plain JSON value as its type hint says, null for a number as NaN; ValueError
    where it can't be that.
    """
    outer = get_origin(hint) or hint
    inner = get_args(hint)
    if outer is Any:
        return value
    if outer is UnionType:  # something, or None
        return None if value is None else _read_as(inner[0], value, where)
    if outer is tuple and isinstance(value, list | tuple):
        return tuple(_read_as(inner[0], one, where) for one in value)
    if isinstance(value, dict) and (is_dataclass(outer) or hasattr(outer, "_fields")):
        return (
            outer.from_dict(value)
            if hasattr(outer, "from_dict")
            else _read_fields(outer, value, where)
        )
    if outer is dict and isinstance(value, dict):
        return {name: _read_as(inner[1], one, where) for name, one in value.items()}
    if outer is float and (
        value is None or (isinstance(value, Real) and not isinstance(value, bool))
    ):
        return math.nan if value is None else float(value)
    if outer in (str, bool) and isinstance(value, outer):
        return value
    if (
        outer is int
        and isinstance(value, int)
        and not isinstance(value, bool)
        and abs(value) < 2**62
    ):
        return value
    raise ValueError(f"{where} is {shorten(str(value))}, which is not of its type")
