"""What a fitted model is known to give, written into its `FitSummary`.

A method that sets its own threshold brings its operating points, audit and scores
(`PreferenceSVC`). For any other method they are measured on out-of-fold scores of the method and of
the supervised baseline. All scores and operating points of the model are on the one scale that
people see (`scores_beyond`); those of the supervised baseline in an audit are on that of the
baseline.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from semisvm.campaign.record import first_price
from semisvm.decision import Evidence, OperatingPoint
from semisvm.decision.audit import changed_by_unlabeled
from semisvm.decision.operating_point import scores_beyond
from semisvm.estimators import Method, find_method
from semisvm.estimators.auto.families import explain_weights
from semisvm.machines import choose_solver
from semisvm.matrices import is_sparse_matrix
from semisvm.model_selection.thresholds import fit_probability
from semisvm.tables.held_out import BASELINE, MethodTrial
from semisvm.tables.methods import (
    FOR_POSITIVES,
    Settings,
    lead_per_class,
    score_rows,
    sets_thresholds,
    shape_for,
)
from semisvm.tables.model import Model
from semisvm.tables.operating import (
    at_the_line,
    audit_steps,
    chance_kept,
    pair_of_costs,
    scores_per_class,
)
from semisvm.tables.sentences import (
    ABOVE,
    CAMPAIGN_PRICE,
    NO_CERTIFICATE,
    SAID_OF_MANY_ROWS,
    UNUSED,
)
from semisvm.tables.summary import (
    ColumnProfile,
    DataSummary,
    ErrorCosts,
    FeatureSummary,
    FitSummary,
    MethodSummary,
    ScoreSample,
    plain_json,
)
from semisvm.tables.training import Training, take_rows

MOST_SCORES = 2_000  # of unlabeled rows, to show what is accepted of them (to about 1%)
PACKAGES = ("semisvm", "numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow", "skops")


def sets_own_threshold(method: Method, estimator: Any, settings: Settings) -> bool:
    """Whether a fitted estimator brings its own operating points and audit."""
    return sets_thresholds(method, settings) and hasattr(estimator, "audits_")


def measure_model(
    model: Model,
    held_out: tuple[MethodTrial, MethodTrial] | None,
    training: Training,
    X: Any,
    settings: Settings,
) -> Model:
    """Return a fitted model with its threshold, its probabilities, and a summary of what it gives.

    `held_out` has the method and the supervised baseline on the same folds; X are the rows as the
    estimator takes them.
    """
    method = find_method(model.method)
    pool = None
    if training.n_unlabeled:
        pool = score_rows(model.estimator, take_rows(X, rows_to_score(training, settings.seed)))
    notes: list[str] = []
    if sets_own_threshold(method, model.estimator, settings):
        model = _with_own_points(model, pool, training.n_unlabeled, settings.seed)
        audits = model.summary.audits.values()
        if training.n_unlabeled and not any(map(changed_by_unlabeled, audits)):
            notes.append(UNUSED)
    elif held_out is not None:
        notes += held_out[0].complaints
        model = _with_held_out_points(model, *held_out, training, pool, settings)
    summary = model.summary
    if len(summary.classes) > 2 and method.sets_threshold and settings.has_target:
        notes.append(ABOVE)
    notes += say_weights(model.estimator)
    notes += _say_form(method, model.estimator, training, X)
    notes += [
        point.reason
        for point in summary.operating_points.values()
        if not point.reached and point.reason
    ]
    # The scores of one of several classes that have thresholds of their own are no leads.
    if len(summary.classes) == 2 or not method.sets_threshold:
        notes += _advise_campaign(summary)
    return replace(model, summary=replace(summary, notes=summary.notes + tuple(notes)))


def measure_positives_only(model: Model, X: Any, training: Training, seed: int = 0) -> Model:
    """Return a model with what is known where only positives are labeled: no precision, and first
    what it all assumes.
    """
    point = model.estimator.operating_point_
    *known, assumption = (" ".join(line.split()) for line in str(point).splitlines())
    notes = [assumption, *(line[0].upper() + line[1:].removesuffix(".") + "." for line in known)]
    scores = model.estimator.out_of_fold_scores_
    of_positives = scores[(training.codes >= 0) & np.isfinite(scores)]
    pool = score_rows(model.estimator, shape_for(FOR_POSITIVES, X)[rows_to_score(training, seed)])
    sign = np.ones(len(of_positives))
    sample = sample_scores(of_positives, sign, point.level, pool, training.n_unlabeled)
    summary = replace(
        model.summary,
        notes=model.summary.notes + tuple(notes),
        positives_only=point,
        scores={training.classes.names[1]: sample},
    )
    return replace(model, summary=summary)


def say_weights(estimator: Any) -> list[str]:
    """Say what carried the weight of an average."""
    if not hasattr(estimator, "families_"):
        return []
    return [explain_weights(estimator.weights_, estimator.families_)]


def _say_form(method: Method, estimator: Any, training: Training, X: Any) -> list[str]:
    """Say it where a linear machine has so many rows that its primal form is solved."""
    if (
        getattr(estimator, "solver", None) != "auto"
        or getattr(estimator, "kernel", None) != "linear"
    ):
        return []
    n_rows = training.n_labeled if method.name == BASELINE else X.shape[0]
    form, why = choose_solver(n_rows, X.shape[1], is_sparse=is_sparse_matrix(X))
    return [f"{SAID_OF_MANY_ROWS} {why}"] if form == "primal" else []


def _advise_campaign(summary: FitSummary) -> list[str]:
    """Say what a promise would take, where a target was asked for and none is given."""
    sentences = []
    for name, point in summary.operating_points.items():
        sample = summary.scores.get(name)
        if sample is None or not point.target.is_constrained or point.status == "certified":
            continue
        if not sample.unlabeled or len(set(sample.sign)) < 2:
            continue
        n = first_price(
            sample.unlabeled, (sample.labeled, sample.sign), point.target, point.confidence
        )
        target = f"{point.target} for {name!r}"
        sentences.append(
            NO_CERTIFICATE.format(target) if n is None else CAMPAIGN_PRICE.format(target, f"{n:,}")
        )
    return sentences


def _with_own_points(model: Model, pool: np.ndarray | None, n_unlabeled: int, seed: int) -> Model:
    """The model of an estimator that sets its own threshold; classes that a stopped fit did not
    reach are left out.
    """
    estimator = model.estimator
    points = {}
    audits = {}
    samples = {}
    chances: dict[str, float] = {}
    probability = None
    for k, (name, point) in enumerate(estimator.operating_points_.items()):
        if point is None:
            continue
        points[name] = at_the_line(point)
        audits[name] = estimator.audits_[name]
        of_pool = np.empty(0) if pool is None else pool if pool.ndim == 1 else pool[:, k]
        shown = scores_beyond(estimator.calibration_scores_[name], point.threshold)
        sign = estimator.calibration_sign_[name]
        samples[name] = sample_scores(shown, sign, point.level, of_pool, n_unlabeled)
        if point.level == Evidence.CROSS_FITTED and len(estimator.classes_) == 2:
            probability = fit_probability(shown, sign)
            chances |= _chance(points[name], name, shown, sign, seed)
    summary = replace(
        model.summary, operating_points=points, audits=audits, scores=samples, chances=chances
    )
    return replace(model, summary=summary, probability=probability)


def _with_held_out_points(
    model: Model,
    trial: MethodTrial,
    baseline: MethodTrial,
    training: Training,
    pool: np.ndarray | None,
    settings: Settings,
) -> Model:
    """The model with thresholds that are set on out-of-fold scores."""
    classes = training.classes.names
    codes = training.codes[training.measures]
    points = {name: at_the_line(point) for name, point in trial.points.items()}
    threshold = trial.points[classes[1]].threshold if len(classes) == 2 else 0.0
    columns = None if pool is None else lead_per_class(pool)
    samples = {}
    chances = {}
    probability = None
    for k, (name, scores, sign) in enumerate(scores_per_class(trial.scores, codes, classes)):
        unlabeled = np.empty(0) if columns is None else columns[:, k]
        if len(classes) == 2:
            scores = scores_beyond(scores, threshold)
            unlabeled = scores_beyond(unlabeled, threshold)
            probability = fit_probability(scores, sign)
            chances = _chance(points[name], name, scores, sign, settings.seed)
        samples[name] = sample_scores(
            scores, sign, trial.points[name].level, unlabeled, training.n_unlabeled
        )
    audits = audit_steps(
        baseline.scores,
        codes,
        trial.points,
        settings,
        classes,
        uses_unlabeled=trial.name != BASELINE,
    )
    summary = replace(
        model.summary, operating_points=points, audits=audits, scores=samples, chances=chances
    )
    return replace(model, summary=summary, threshold=threshold, probability=probability)


def _chance(
    point: OperatingPoint, name: str, scores: np.ndarray, sign: np.ndarray, seed: int
) -> dict[str, float]:
    """How likely what a class was asked for is kept, where it is reached and that can be said."""
    chance = chance_kept(scores, sign, point.target, seed) if point.reached else None
    return {} if chance is None else {name: chance}


def rows_to_score(training: Training, seed: int) -> np.ndarray:
    """Return the unlabeled rows that are scored for the summary, a random sample of them where
    there are many.
    """
    rows = np.flatnonzero(training.codes < 0)
    if len(rows) > MOST_SCORES:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_SCORES, replace=False))
    return rows


def sample_scores(
    labeled: np.ndarray,
    sign: np.ndarray,
    level: str,
    unlabeled: np.ndarray,
    n_unlabeled: int | None = None,
) -> ScoreSample:
    """Return scores of labeled rows with their signs, and of unlabeled rows, at most MOST_SCORES
    drawn at random.

    `n_unlabeled` is how many unlabeled rows there are, where only some of them were scored.
    """
    n_unlabeled = len(unlabeled) if n_unlabeled is None else n_unlabeled
    if len(unlabeled) > MOST_SCORES:
        unlabeled = np.random.default_rng(0).choice(unlabeled, MOST_SCORES, replace=False)
    signs = tuple(int(one) for one in sign)
    return ScoreSample(
        tuple(labeled.tolist()), signs, level, tuple(np.sort(unlabeled).tolist()), n_unlabeled
    )


def say_gain(entry: MethodTrial, baseline: MethodTrial) -> list[str]:
    """Say what the unlabeled rows contributed, above all if the method is worse than the labels
    alone.
    """
    if entry.name == BASELINE:
        return []
    gap = entry.merit.minus(baseline.merit)
    seen = (
        f"{entry.merit.name} {abs(entry.merit.mean):.3f} with the unlabeled rows,"
        f" {abs(baseline.merit.mean):.3f} without (a gain of {gap.value:+.3f}, 90% interval"
        f" {gap.low:+.3f} to {gap.high:+.3f})"
    )
    if gap.value < 0:
        advice = "is the better choice here" if gap.high < 0 else "is simpler and seems no worse"
        return [f"The unlabeled rows did not help: {seen}. The supervised method {advice}."]
    return [f"Held-out labels: {seen}."]


def without_repeats(notes: Iterable[str]) -> tuple[str, ...]:
    """Drop a note that ends with another one, such as the warning "Class 'spam': ..." of a
    target not reached.
    """
    distinct = tuple(dict.fromkeys(notes))
    return tuple(
        note
        for note in distinct
        if not any(note != other and note.endswith(other) for other in distinct)
    )


# ---- the summary ----


def summarize(
    training: Training,
    method: MethodSummary,
    estimator: Any,
    costs: Any = None,
    profiles: dict[str, ColumnProfile] | None = None,
    **rest: Any,
) -> FitSummary:
    """Return the summary of a fit, or of an evaluation; `costs` as in `Settings`, `rest` are
    other fields (comparison, notes, scores).
    """
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
            profiles=profiles or {},
        ),
        classes=classes,
        positive=classes[1] if len(classes) == 2 else None,
        method=method,
        costs=None if pair is None else ErrorCosts(*pair),
        rounds=tuple(getattr(estimator, "history_", ())),
        guard=plain_json(getattr(estimator, "guard_", None)),
        versions=installed_versions(),
        machine=describe_machine(),
        **rest,
    )


def parameters_of(estimator: Any) -> dict[str, Any]:
    """Return the constructor's parameters that differ from their defaults or that people ask
    about.
    """
    parameters = estimator.get_params(deep=False)
    defaults = type(estimator)().get_params(deep=False)
    told = {"C", "kernel", "gamma", "C_unlabeled"}
    untold = {"cache_size", "unlabeled", "columns"}
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
    return system | {
        "processor": platform.machine(),
        "cores": os.cpu_count() or 1,
        "threads": n_threads(),
    }
