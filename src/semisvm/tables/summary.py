"""The results of a fit, as typed values: everything that the report and the command show.

A summary is written to the model file as JSON with a version number, and read back from it. Scores
are those that `predict` writes: rows above 0 are accepted. Everything that belongs to a class is
stored under the name of the class. With two classes there is one entry, for the positive class;
with more there is one per class.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.campaign import CampaignSummary
from semisvm.decision import Estimate, OperatingPoint
from semisvm.plain import read_fields, to_plain
from semisvm.tables.operating import pair_of_costs

if TYPE_CHECKING:
    from semisvm.tables.training import Training

VERSION = 3
MOST_SCORES = 2_000  # of unlabeled rows, to show what is accepted of them (to about 1%)
PACKAGES = ("semisvm", "numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow", "skops")


@dataclass(frozen=True)
class FeatureSummary:
    """Name and type of a column that the model uses, and a remark on it."""

    name: str
    type: str
    remark: str = ""


@dataclass(frozen=True)
class ColumnProfile:
    """What a column held at the fit: the number of cells in each bin of numbers or dates (`edges`
    are their upper ends, dates as days) or of each frequent category (`levels`), of other values
    and of empty cells, in every other row.
    """

    counts: tuple[int, ...]
    edges: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()


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
    """The method that was fitted, its name in the literature, why, and its parameters."""

    name: str
    paper_name: str
    why: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoreSample:
    """Scores for one class."""

    labeled: tuple[float, ...] = ()  # of the labeled rows
    sign: tuple[int, ...] = ()  # for each labeled row +1 if it is of the class, -1 if not
    level: str = ""  # how the scores were obtained: "empirical", "cross-fitted" or "certified"
    unlabeled: tuple[float, ...] = ()  # sorted, of the unlabeled rows or of a random sample of them
    n_unlabeled: int = 0  # unlabeled rows that were scored

    @cached_property
    def judged(self) -> tuple[np.ndarray, np.ndarray]:
        """The scores of labeled rows that are finite, and the signs of these rows."""
        scores = np.array(self.labeled, dtype=np.float64)
        is_known = np.isfinite(scores)
        return scores[is_known], np.array(self.sign, dtype=np.int64)[is_known]

    @cached_property
    def pool(self) -> np.ndarray:
        """The scores of unlabeled rows that are finite."""
        scores = np.array(self.unlabeled, dtype=np.float64)
        return scores[np.isfinite(scores)]


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
        """Return the merit of a method as people read it: a cost with its own sign."""
        value, low, high = method.merit
        if self.measure != "cost":
            return method.merit
        return Estimate(0.0 - value, 0.0 - high, 0.0 - low)

    def __repr__(self) -> str:
        from semisvm.tables.sentences import comparison_text

        return comparison_text(self)

    def _repr_html_(self) -> str:
        from semisvm.tables.sentences import comparison_html

        return comparison_html(self)


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
        The probability that the target is reached on new rows, if it can be estimated.
    costs : ErrorCosts or None
        The costs of errors, with two classes and given costs.
    comparison : Comparison or None
        The methods that were compared before one was chosen.
    guard : dict or None
        The estimator's `guard_`: whether predicting one class for every row would cost less.
    is_fair_sample : bool or None
        Whether the labeled rows look like a random sample of all rows; None where that was not
        checked.
    notes : tuple of str
        Sentences for the reader.
    has_target, was_refused, was_stopped : bool
        Whether there is a minimum precision or recall, whether its certificate was refused because
        the labels do not look like a random sample, and whether Ctrl-C ended the fit early.
    campaigns : tuple of dict
        The campaigns (`semisvm.Campaign`) whose risks add up with that of the certificate, it
        included.
    campaign : CampaignSummary or None
        The outcome of the campaign that certified the threshold, or of one in progress.
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
    costs: ErrorCosts | None = None
    comparison: Comparison | None = None
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
    def positives_only(self) -> OperatingPoint | None:
        """The operating point where only positives are labeled; None elsewhere."""
        point = self.operating_points.get(self.positive or "")
        return None if point is None or point.positive_unlabeled is None else point

    @property
    def reached(self) -> bool:
        """Whether the target is reached on the labels."""
        if self.was_refused:
            return False
        is_known = bool(self.operating_points) or not self.has_target
        return is_known and all(point.reached for point in self.operating_points.values())

    def __repr__(self) -> str:
        rows = f"{self.data.labeled:,} of {self.data.rows:,} rows labeled"
        return f"<FitSummary of {self.title!r}, {self.created}: {self.method.name}, {rows}>"

    def _repr_html_(self) -> str:
        from semisvm.tables.sentences import summary_html

        return summary_html(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON values, with the version of this format."""
        return {"version": VERSION} | {
            part.name: to_plain(getattr(self, part.name)) for part in fields(self)
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
        return read_fields(cls, values, "summary")

    @classmethod
    def from_json(cls, text: str | bytes) -> FitSummary:
        """Return the summary that `to_json` wrote."""
        return cls.from_dict(json.loads(text))


# ---- made ----


def summarize(
    training: Training,
    method: MethodSummary,
    estimator: Any,
    costs: Any = None,
    profiles: dict[str, ColumnProfile] | None = None,
    **rest: Any,
) -> FitSummary:
    """Return the summary of a fit or an evaluation; `rest` are other fields."""
    classes = training.classes.names
    pair = pair_of_costs(costs, classes)
    return FitSummary(
        title=f"{training.target} in {training.name}",
        created=now(),
        data=DataSummary(
            name=training.name,
            rows=training.n_rows,
            labeled=training.n_labeled,
            unlabeled=training.n_unlabeled,
            target=training.target,
            features=tuple(FeatureSummary(*feature) for feature in training.features()),
            left_out=dict(training.left_out),
            class_counts=training.class_counts,
            profiles=profiles or {},
        ),
        classes=classes,
        positive=classes[1] if len(classes) == 2 else None,
        method=method,
        costs=None if pair is None else ErrorCosts(*pair),
        guard=to_plain(getattr(estimator, "guard_", None)),
        versions=installed_versions(),
        machine=describe_machine(),
        **rest,
    )


def sample_scores(
    labeled: np.ndarray,
    sign: np.ndarray,
    level: str,
    unlabeled: np.ndarray,
    n_unlabeled: int | None = None,
) -> ScoreSample:
    """Return scores of labeled rows with their signs, and of some unlabeled rows."""
    n_unlabeled = len(unlabeled) if n_unlabeled is None else n_unlabeled
    if len(unlabeled) > MOST_SCORES:
        unlabeled = np.random.default_rng(0).choice(unlabeled, MOST_SCORES, replace=False)
    signs = tuple(int(value) for value in sign)
    return ScoreSample(
        tuple(labeled.tolist()), signs, level, tuple(np.sort(unlabeled).tolist()), n_unlabeled
    )


def parameters_of(estimator: Any) -> dict[str, Any]:
    """Return parameters that differ from their defaults or that people ask about."""
    parameters = estimator.get_params(deep=False)
    defaults = type(estimator)().get_params(deep=False)
    shown = {"C", "kernel", "gamma", "C_unlabeled"}
    hidden = {"cache_size", "unlabeled", "columns"}
    chosen = {k: v for k, v in parameters.items() if k in shown or v is not defaults[k]}
    settled = {name: getattr(estimator, f"{name}_", None) for name in ("C", "gamma")}
    chosen |= {name: value for name, value in settled.items() if value is not None}
    return {name: value for name, value in chosen.items() if name not in hidden}


def now() -> str:
    """Return the time, for people."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def installed_versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    versions = {}
    for name in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def describe_machine() -> dict[str, Any]:
    """Return what the fit ran on."""
    from semisvm.kernels.threads import n_threads

    system = {"python": platform.python_version(), "system": platform.platform(terse=True)}
    return system | {
        "processor": platform.machine(),
        "cores": os.cpu_count() or 1,
        "threads": n_threads(),
    }
