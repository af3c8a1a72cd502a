"""What a fitted model is known to give: its operating points, the audit, and the scores they were found on.

A method that sets its own threshold brings all of it (`PreferenceSVC`). For any other it is measured on the
out-of-fold scores of the method and of the supervised baseline, and the threshold that a target asks for is set here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semisvm.decision import SUPERVISED_THRESHOLD, WITH_UNLABELED, OperatingPoint
from semisvm.estimators.registry import Method
from semisvm.tables.compare import BASELINE, Entry
from semisvm.tables.facts import (
    audit_lines,
    by_class,
    describe_data,
    describe_machine,
    describe_rounds,
    describe_scores,
    now,
    versions,
)
from semisvm.tables.methods import Settings, margins, score_rows, shape_for
from semisvm.tables.operating import audit, pair_of_costs
from semisvm.tables.training import Training

UNUSED = (
    "The unlabeled rows were tried and are not used: the held-out labels do not say that they help. What the model "
    "gives comes from the labels and the threshold."
)
ABOVE = (
    "What was asked is of the rows above the operating point of a class. A row that is above none still has the label "
    "of the nearest class: the column 'above' of predict tells them apart."
)


@dataclass
class Findings:
    """All by class code; for two classes there is the positive one alone, 1."""

    points: dict[int, OperatingPoint] = field(default_factory=dict)
    audit: dict[int, dict[str, OperatingPoint]] = field(default_factory=dict)
    scores: dict[int, dict[str, Any]] = field(default_factory=dict)
    threshold: float = 0.0
    guard: Any = None
    notes: list[str] = field(default_factory=list)

    def facts(self, training: Training, method: Method, why: str, estimator: Any, settings: Settings) -> dict[str, Any]:
        """The facts, but for the notes and the time."""
        names = training.classes.names
        costs = pair_of_costs(settings.costs, len(names))
        return {
            "title": f"{training.target} in {training.name}",
            "created": now(),
            "data": describe_data(training),
            "classes": list(names),
            "positive": names[1] if len(names) == 2 else None,
            "method": {
                "name": method.name,
                "paper_name": method.paper_name,
                "why": why,
                "parameters": _parameters(estimator),
            },
            "operating_point": by_class(self.points, names) or None,
            "audit": by_class({code: audit_lines(steps) for code, steps in self.audit.items()}, names) or [],
            "scores": by_class(self.scores, names) or {},
            "costs": None if costs is None else {"missed": costs[0], "accepted": costs[1]},
            "rounds": describe_rounds(estimator, names),
            "suggest": [],
            "guard": self.guard,
            "versions": versions(),
            "machine": describe_machine(),
        }


def findings_of(
    method: Method,
    estimator: Any,
    held_out: tuple[Entry, Entry] | None,
    training: Training,
    X: Any,
    settings: Settings,
) -> Findings:
    """Gather what is known: `held_out` has the method and the supervised machine as the bench saw them."""
    n_classes = len(training.classes.names)
    found = Findings(guard=_guard(estimator))
    unlabeled = score_rows(estimator, shape_for(method, X)[training.codes < 0]) if training.n_unlabeled else None
    if tells_itself(method, estimator):
        found.points = _coded(estimator.operating_point_, n_classes)
        found.audit = _coded(estimator.audit_, n_classes)
        scores, sign = (_coded(getattr(estimator, f"calibration_{name}_"), n_classes) for name in ("scores", "sign"))
        for code, point in found.points.items():
            own = None if unlabeled is None else (unlabeled if unlabeled.ndim == 1 else unlabeled[:, code])
            pool = np.empty(0) if own is None else _with_threshold(own, point.threshold)
            found.scores[code] = describe_scores(scores[code], sign[code], point.level, pool, settings.seed)
        if training.n_unlabeled and not any(map(_gains, found.audit.values())):
            found.notes.append(UNUSED)
    elif held_out is not None:
        entry, baseline = held_out
        codes = training.codes[training.codes >= 0]
        found.points = entry.points
        uses_unlabeled = method.name != BASELINE
        found.audit = audit(
            baseline.cross.scores, codes, entry.points, settings, n_classes, uses_unlabeled=uses_unlabeled
        )
        pool = np.empty((0, n_classes)) if unlabeled is None else margins(unlabeled)
        for column, (code, point) in enumerate(found.points.items()):
            own_scores, own_sign = margins(entry.cross.scores)[:, column], np.where(codes == code, 1, -1)
            found.scores[code] = describe_scores(own_scores, own_sign, point.level, pool[:, column], settings.seed)
        if n_classes == 2:
            found.threshold = entry.points[1].threshold
        found.notes += entry.cross.complaints
    if n_classes > 2 and method.sets_threshold and settings.has_target:
        found.notes.append(ABOVE)
    found.notes += [point.reason for point in found.points.values() if not point.reached and point.reason]
    return found


def _gains(steps: dict[str, OperatingPoint]) -> bool:
    """Whether the unlabeled rows change anything beside the threshold."""
    before, after = (steps[name] for name in (SUPERVISED_THRESHOLD, WITH_UNLABELED))
    return (before.threshold, before.counts) != (after.threshold, after.counts)


def tells_itself(method: Method, estimator: Any) -> bool:
    """Whether a fitted estimator brings its own operating point and audit."""
    return method.sets_threshold and getattr(estimator, "audit_", None) is not None


def compared(entry: Entry, baseline: Entry) -> list[str]:
    """Say what the unlabeled rows brought, and above all where the method is worse than the labels alone."""
    if entry.method.name == BASELINE:
        return []
    gap = entry.merit.minus(baseline.merit)
    seen = (
        f"{entry.merit.name} {abs(entry.merit.mean):.3f} with the unlabeled rows, {abs(baseline.merit.mean):.3f} "
        f"without (a gain of {gap.value:+.3f}, 90% interval {gap.low:+.3f} to {gap.high:+.3f})"
    )
    if gap.value < 0:
        advice = "is the better choice here" if gap.high < 0 else "is simpler and seems no worse"
        return [f"The unlabeled rows did not help: {seen}. The supervised method {advice}."]
    return [f"Held-out labels: {seen}."]


def _coded(values: Any, n_classes: int) -> dict[int, Any]:
    """What an estimator keeps for two classes, or by class for more, by code; classes not reached are left out."""
    if n_classes == 2:
        return {} if values is None else {1: values}
    assert isinstance(values, Mapping)
    return {int(code): value for code, value in values.items() if value is not None}


def _with_threshold(beyond: np.ndarray, threshold: float) -> np.ndarray:
    """Scores before the threshold was taken off; an infinite one had squeezed them to one side of 0."""
    if np.isfinite(threshold):
        return beyond + threshold
    squeezed = beyond + np.sign(threshold)
    return squeezed / np.maximum(1 - np.abs(squeezed), 1e-12)


def _guard(estimator: Any) -> Any:
    guard = getattr(estimator, "guard_", None)
    return vars(guard) if hasattr(guard, "__dict__") else guard


def _parameters(estimator: Any) -> dict[str, Any]:
    """The constructor's parameters that differ from their defaults or that people ask about."""
    parameters = estimator.get_params(deep=False)
    defaults = type(estimator)().get_params(deep=False)
    told = {"C", "kernel", "gamma", "C_unlabeled"}
    chosen = {k: v for k, v in parameters.items() if k in told or v is not defaults[k]}
    settled = {name: getattr(estimator, f"{name}_", None) for name in ("C", "gamma")}
    chosen.pop("cache_size", None)
    return chosen | {name: value for name, value in settled.items() if value is not None}
