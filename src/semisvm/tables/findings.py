"""What a fitted model is known to give, gathered into a `FitSummary`.

A method that sets its own threshold brings its operating points, audit and scores (`PreferenceSVC`). For any other
method they are measured on out-of-fold scores of the method and of the supervised baseline. All scores and operating
points of the model are on the one scale that people see (`scores_beyond`); those of the supervised baseline in
an audit are on that of the baseline.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from semisvm.campaign import first_price
from semisvm.decision import Audit, OperatingPoint, PositiveUnlabeledPoint, changed_by_unlabeled
from semisvm.decision.operating_point import scores_beyond
from semisvm.estimators import Method
from semisvm.estimators.auto.families import explain_weights
from semisvm.matrices import is_sparse_matrix
from semisvm.primal import choose_solver
from semisvm.tables.first_screen import SAID_OF_MANY_ROWS
from semisvm.tables.held_out import BASELINE, MethodTrial
from semisvm.tables.methods import FOR_POSITIVES, Settings, lead_per_class, score_rows, sets_thresholds, shape_for
from semisvm.tables.operating import (
    Probability,
    at_the_line,
    audit_steps,
    chance_kept,
    fit_probability,
    pair_of_costs,
    scores_per_class,
)
from semisvm.tables.summary import (
    DataSummary,
    ErrorCosts,
    FeatureSummary,
    FitSummary,
    MethodSummary,
    ScoreSample,
    plain_json,
)
from semisvm.tables.training import Training, take_rows

MOST_SCORES = 5_000  # of unlabeled rows, to show what is accepted of them
PACKAGES = ("semisvm", "numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow", "skops")
UNUSED = (
    "The unlabeled rows were tried and are not used: the held-out labels do not show that they help. The result comes "
    "from the labels and the threshold alone."
)
ABOVE = (
    "The target applies to the rows above the operating point of a class. A row that is above none still gets the "
    "label of the nearest class: the column 'above' of the predictions tells them apart."
)


CAMPAIGN_PRICE = (
    "A promise instead of an estimate, {}: label about {} rows that are drawn at random, until it is proved (semisvm "
    "label, or campaign() in Python)."
)
NO_CERTIFICATE = (
    "These labels give no hope of a promise, {}: improve the model first. Label the rows that semisvm suggest lists, "
    "and fit again."
)


@dataclass
class Findings:
    """Operating points, audits and scores by class name; for two classes there is the positive class only."""

    points: dict[str, OperatingPoint] = field(default_factory=dict)
    audits: dict[str, Audit] = field(default_factory=dict)
    scores: dict[str, ScoreSample] = field(default_factory=dict)
    positives_only: PositiveUnlabeledPoint | None = None
    threshold: float = 0.0
    probability: Probability | None = None
    chances: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def sets_own_threshold(method: Method, estimator: Any, settings: Settings) -> bool:
    """Whether a fitted estimator brings its own operating points and audit."""
    return sets_thresholds(method, settings) and hasattr(estimator, "audits_")


def find_out(
    method: Method,
    estimator: Any,
    held_out: tuple[MethodTrial, MethodTrial] | None,
    training: Training,
    X: Any,
    settings: Settings,
) -> Findings:
    """Gather what is known; `held_out` has the method and the supervised baseline on the same folds."""
    pool = None
    if training.n_unlabeled:
        pool = score_rows(estimator, take_rows(X, rows_to_score(training, settings.seed)))
    if sets_own_threshold(method, estimator, settings):
        found = _own_findings(estimator, pool, training.n_unlabeled, settings.seed)
        if training.n_unlabeled and not any(map(changed_by_unlabeled, found.audits.values())):
            found.notes.append(UNUSED)
    elif held_out is not None:
        found = _held_out_findings(*held_out, training, pool, settings)
    else:
        found = Findings()
    if len(training.classes.names) > 2 and method.sets_threshold and settings.has_target:
        found.notes.append(ABOVE)
    found.notes += say_weights(estimator)
    found.notes += _say_form(method, estimator, training, X)
    found.notes += [point.reason for point in found.points.values() if not point.reached and point.reason]
    if len(training.classes.names) == 2 or not method.sets_threshold:  # else the scores of a class are no leads
        found.notes += _advise_campaign(found)
    return found


def describe_positives_only(estimator: Any, X: Any, training: Training, seed: int = 0) -> Findings:
    """What is known where only positives are labeled: no precision, and first what it all assumes."""
    point = estimator.operating_point_
    lines = [" ".join(line.split()) for line in str(point).splitlines()]
    *known, assumption = lines
    notes = [assumption, *(line[0].upper() + line[1:].removesuffix(".") + "." for line in known)]
    scores = estimator.out_of_fold_scores_
    own = scores[(training.codes >= 0) & np.isfinite(scores)]
    pool = score_rows(estimator, shape_for(FOR_POSITIVES, X)[rows_to_score(training, seed)])
    sample = sample_scores(own, np.ones(len(own)), point.level, pool, training.n_unlabeled)
    return Findings(notes=notes, positives_only=point, scores={training.classes.names[1]: sample})


def say_weights(estimator: Any) -> list[str]:
    """Say what carried the weight of an average."""
    if not hasattr(estimator, "families_"):
        return []
    return [explain_weights(estimator.weights_, estimator.families_)]


def _say_form(method: Method, estimator: Any, training: Training, X: Any) -> list[str]:
    """Say it where a linear machine has so many rows that its primal form is solved."""
    if getattr(estimator, "solver", None) != "auto" or getattr(estimator, "kernel", None) != "linear":
        return []
    n_rows = training.n_labeled if method.name == BASELINE else X.shape[0]
    form, why = choose_solver(n_rows, X.shape[1], is_sparse=is_sparse_matrix(X))
    return [f"{SAID_OF_MANY_ROWS} {why}"] if form == "primal" else []


def _advise_campaign(found: Findings) -> list[str]:
    """Say what a promise would take, where a target was asked for and none is given."""
    told = []
    for name, point in found.points.items():
        sample = found.scores.get(name)
        if sample is None or not point.target.is_constrained or point.status == "certified":
            continue
        if not sample.unlabeled or len(set(sample.sign)) < 2:
            continue
        n = first_price(sample.unlabeled, (sample.labeled, sample.sign), point.target, point.confidence)
        asked = f"{point.target} for {name!r}"
        told.append(NO_CERTIFICATE.format(asked) if n is None else CAMPAIGN_PRICE.format(asked, f"{n:,}"))
    return told


def _own_findings(estimator: Any, pool: np.ndarray | None, n_unlabeled: int, seed: int) -> Findings:
    """What an estimator that sets its own threshold found; classes that a stopped fit did not reach are left out."""
    found = Findings()
    scores, signs = estimator.calibration_scores_, estimator.calibration_sign_
    for k, (name, point) in enumerate(estimator.operating_points_.items()):
        if point is None:
            continue
        found.points[name], found.audits[name] = at_the_line(point), estimator.audits_[name]
        own = np.empty(0) if pool is None else pool if pool.ndim == 1 else pool[:, k]
        shown = scores_beyond(scores[name], point.threshold)
        found.scores[name] = sample_scores(shown, signs[name], point.level, own, n_unlabeled)
        if point.level == "cross-fitted" and len(estimator.classes_) == 2:
            found.probability = fit_probability(shown, signs[name])
            _keep_chance(found, name, shown, signs[name], seed)
    return found


def _held_out_findings(
    entry: MethodTrial, baseline: MethodTrial, training: Training, pool: np.ndarray | None, settings: Settings
) -> Findings:
    classes, codes = training.classes.names, training.codes[training.measures]
    uses_unlabeled = entry.name != BASELINE
    supervised = baseline.scores
    found = Findings(
        points={name: at_the_line(point) for name, point in entry.points.items()},
        audits=audit_steps(supervised, codes, entry.points, settings, classes, uses_unlabeled=uses_unlabeled),
        threshold=entry.points[classes[1]].threshold if len(classes) == 2 else 0.0,
        notes=list(entry.complaints),
    )
    columns = None if pool is None else lead_per_class(pool)
    for k, (name, own, sign) in enumerate(scores_per_class(entry.scores, codes, classes)):
        shown, unlabeled = own, np.empty(0) if columns is None else columns[:, k]
        if len(classes) == 2:
            shown, unlabeled = (scores_beyond(one, found.threshold) for one in (own, unlabeled))
            found.probability = fit_probability(shown, sign)
            _keep_chance(found, name, shown, sign, settings.seed)
        found.scores[name] = sample_scores(shown, sign, entry.points[name].level, unlabeled, training.n_unlabeled)
    return found


def _keep_chance(found: Findings, name: str, shown: np.ndarray, sign: np.ndarray, seed: int) -> None:
    point = found.points[name]
    chance = chance_kept(shown, sign, point.target, seed) if point.reached else None
    if chance is not None:
        found.chances[name] = chance


def rows_to_score(training: Training, seed: int) -> np.ndarray:
    """Return the unlabeled rows that are scored for the summary, a random sample of them where there are many."""
    rows = np.flatnonzero(training.codes < 0)
    if len(rows) > MOST_SCORES:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_SCORES, replace=False))
    return rows


def sample_scores(
    labeled: np.ndarray, sign: np.ndarray, level: str, unlabeled: np.ndarray, n_unlabeled: int | None = None
) -> ScoreSample:
    """Return scores of labeled rows with their signs, and of unlabeled rows, at most MOST_SCORES drawn at random.

    `n_unlabeled` is how many unlabeled rows there are, where only some of them were scored.
    """
    n_unlabeled = len(unlabeled) if n_unlabeled is None else n_unlabeled
    if len(unlabeled) > MOST_SCORES:
        unlabeled = np.random.default_rng(0).choice(unlabeled, MOST_SCORES, replace=False)
    signs = tuple(int(one) for one in sign)
    return ScoreSample(tuple(labeled.tolist()), signs, level, tuple(np.sort(unlabeled).tolist()), n_unlabeled)


def say_gain(entry: MethodTrial, baseline: MethodTrial) -> list[str]:
    """Say what the unlabeled rows contributed, above all if the method is worse than the labels alone."""
    if entry.name == BASELINE:
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


def without_repeats(notes: list[str]) -> tuple[str, ...]:
    """Drop a note that ends with another one, such as the warning "Class 'spam': ..." of a target not reached."""
    distinct = tuple(dict.fromkeys(notes))
    return tuple(note for note in distinct if not any(note != other and note.endswith(other) for other in distinct))


# ---- the summary ----


def summarize(
    training: Training, method: MethodSummary, estimator: Any, found: Findings, costs: Any = None, **rest: Any
) -> FitSummary:
    """Return the summary of a fit; `costs` as in `Settings`, `rest` are other fields (comparison, notes, seconds)."""
    classes = training.classes.names
    pair = pair_of_costs(costs, classes)
    return FitSummary(
        title=f"{training.target} in {training.name}",
        created=now(),
        data=DataSummary(
            name=training.name,
            rows=len(training.codes),
            labeled=training.n_labeled,
            unlabeled=training.n_unlabeled,
            target=training.target,
            features=tuple(FeatureSummary(*one) for one in training.features()),
            left_out=dict(training.left_out),
            class_counts=training.class_counts,
        ),
        classes=classes,
        positive=classes[1] if len(classes) == 2 else None,
        method=method,
        operating_points=found.points,
        audits=found.audits,
        scores=found.scores,
        chances=found.chances,
        positives_only=found.positives_only,
        costs=None if pair is None else ErrorCosts(*pair),
        rounds=tuple(getattr(estimator, "history_", ())),
        guard=plain_json(getattr(estimator, "guard_", None)),
        versions=installed_versions(),
        machine=describe_machine(),
        **rest,
    )


def parameters_of(estimator: Any) -> dict[str, Any]:
    """Return the constructor's parameters that differ from their defaults or that people ask about."""
    parameters = estimator.get_params(deep=False)
    defaults = type(estimator)().get_params(deep=False)
    told, untold = {"C", "kernel", "gamma", "C_unlabeled"}, {"cache_size", "unlabeled", "columns"}
    chosen = {k: v for k, v in parameters.items() if k in told or v is not defaults[k]}
    settled = {name: getattr(estimator, f"{name}_", None) for name in ("C", "gamma")}
    chosen |= {name: value for name, value in settled.items() if value is not None}
    return {name: value for name, value in chosen.items() if name not in untold}


def now() -> str:
    """Return the time, for people."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def installed_versions() -> dict[str, str]:
    """Return the versions of the installed packages that a fit depends on."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def describe_machine() -> dict[str, Any]:
    """Return what the fit ran on."""
    from semisvm.kernels.threads import n_threads

    system = {"python": platform.python_version(), "system": platform.platform(terse=True)}
    return system | {"processor": platform.machine(), "cores": os.cpu_count() or 1, "threads": n_threads()}
