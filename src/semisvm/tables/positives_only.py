"""Tables in which only positives are labeled: what is known of a fit, and how methods compare.

Without labels of a second class no error can be counted. What can be had is how well a method ranks: the AUC of labeled
positives against unlabeled rows, out of fold. It is prior / 2 + (1 - prior) * (the AUC against negatives), so it orders
methods as the AUC against negatives does, whatever the prior.

    placement of a positive         the share of the unlabeled rows of its fold with a lower score (ties: one half)
    placement of an unlabeled row   the share of the positives of its fold with a higher score

The AUC is the mean of either; its variance, and that of a difference of two methods on the same rows, are those of
DeLong, DeLong and Clarke-Pearson (1988): the variances of both kinds of placements over their numbers, added up.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from semisvm.decision import Estimate
from semisvm.errors import DataError, fault
from semisvm.estimators import METHODS
from semisvm.model_selection import PositiveUnlabeledKFold, cross_fit_scores
from semisvm.tables.findings import Findings, rows_to_score, sample_scores
from semisvm.tables.held_out import (
    MOST_UNLABELED,
    N_COMPARISON_FOLDS,
    Merit,
    merit_of_placements,
    place_among_others,
)
from semisvm.tables.methods import Settings, Tell, make_estimator, say_nothing, score_rows, shape_for
from semisvm.tables.summary import ComparisonSummary, MethodResult
from semisvm.tables.training import Training

PU_MEASURE = "AUC of positives against unlabeled rows"
FOR_POSITIVES = next(method for method in METHODS if method.for_one_class)
SAME_AUC = 1e-12
LOGISTIC, MACHINE = "balanced logistic regression", "balanced SVC"


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


def check_positives_only(training: Training, settings: Settings, method: str | None) -> tuple[str, str]:
    """Return the method for labels of one class and why, or refuse what can't be had from them."""
    only = f"All labels of {training.target!r} are {training.classes.names[1]!r}"
    if method not in (None, "auto", FOR_POSITIVES.name):
        raise DataError(
            f"{only}, and the method {method!r} needs labels of two classes. Label some other rows, or leave `method` "
            f"out: {FOR_POSITIVES.name} is then used."
        )
    if settings.min_precision is not None:
        raise DataError(
            f"{only}: without labels of other rows no precision can be measured. Ask for a recall, or label some rows "
            "that a first model accepts."
        )
    return FOR_POSITIVES.name, f"{only}, and the other rows are unlabeled: it learns from positives and unlabeled rows."


def compare_positives(
    training: Training,
    X: Any,
    settings: Settings,
    methods: Sequence[str] = (),
    *,
    most_unlabeled: int = MOST_UNLABELED,
    tell: Tell = say_nothing,
) -> ComparisonSummary:
    """Rank labeled positives against unlabeled rows by our method and by the two that most people would try first.

    These take unlabeled rows for negatives. At most `most_unlabeled` unlabeled rows, drawn at random, take part.
    """
    if others := [name for name in methods if name != FOR_POSITIVES.name]:
        reason = f"all labels of {training.target!r} are {training.classes.names[1]!r}, and {others[0]!r} needs others"
        raise fault(training.name, reason, "Leave `method` out, or label some other rows")
    rng = np.random.default_rng(settings.seed)
    unlabeled = np.flatnonzero(training.codes < 0)
    if len(unlabeled) > most_unlabeled:
        unlabeled = np.sort(rng.choice(unlabeled, most_unlabeled, replace=False))
    positives = np.flatnonzero(training.codes >= 0)
    rows = np.concatenate([positives, unlabeled])
    y = np.where(np.arange(len(rows)) < len(positives), 1, -1)
    n_folds = min(N_COMPARISON_FOLDS, len(positives), len(unlabeled))
    if n_folds < 2:
        raise fault(training.name, "comparing takes two labeled positives and two unlabeled rows", "Label more rows")
    cv = PositiveUnlabeledKFold(n_folds, shuffle=True, random_state=settings.seed)
    part = shape_for(FOR_POSITIVES, X)[rows]
    merits: dict[str, Merit] = {}
    results: list[MethodResult] = []
    left_out: dict[str, str] = {}
    was_stopped = False
    for name, estimator in _contestants(settings).items():
        tell(f"Comparing: {name}", len(merits), 3, "methods")
        began = time.perf_counter()
        try:
            scores = cross_fit_scores(estimator, part, y, cv=cv)
        except KeyboardInterrupt:
            if not merits:
                raise KeyboardInterrupt from None
            was_stopped = True
            break
        except (ValueError, MemoryError) as error:
            left_out[name] = str(error).split("\n")[0]
            continue
        merit = merits[name] = rank_in_folds(scores, y, [test for _, test in cv.split(part, y)])
        gap = merit.minus(next(iter(merits.values())))
        value = gap.value if abs(gap.value) > SAME_AUC else 0.0
        difference = Estimate(value, max(gap.low, -1.0), min(gap.high, 1.0))
        seconds = time.perf_counter() - began
        results.append(MethodResult(name, merit.estimate(), merit.error, difference, True, seconds))
    if not merits:
        told = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise fault(training.name, f"no method could be fitted ({told})", "Correct the table")
    return ComparisonSummary(
        measure=PU_MEASURE,
        methods=tuple(results),
        left_out=left_out,
        chosen=FOR_POSITIVES.name,
        verdict=_verdict(merits),
        was_stopped=was_stopped,
        baseline=results[0].name,
    )


def rank_in_folds(scores: np.ndarray, y: np.ndarray, folds: Sequence[np.ndarray]) -> Merit:
    """Return the AUC of positives, y = 1, against the unlabeled rows of their fold."""
    is_positive = (y == 1).astype(np.intp)
    placement = np.empty(len(y))
    for test in folds:
        placement[test] = place_among_others(scores[test], is_positive[test])
    return merit_of_placements(placement, is_positive, span=0.0, n_added=-1)


def _verdict(merits: dict[str, Merit]) -> str:
    """Say which method ranks best, and what ranking leaves open."""
    told = ", ".join(f"{name} {merit.mean:.3f}" for name, merit in merits.items())
    best = max(merits, key=lambda name: merits[name].mean)
    ours = FOR_POSITIVES.name
    seen = f"Out of fold, the AUC of positives against unlabeled rows is: {told}."
    if ours in merits and best != ours and merits[best].minus(merits[ours]).low > 0:
        seen += f" The {best} ranks better than {ours} by more than chance."
    return (
        f"{seen} This is how well each ranks. Errors can't be counted where only positives are labeled: no method "
        "here has a precision."
    )


def _contestants(settings: Settings) -> dict[str, Any]:
    """The estimators by name; the simplest first, which the others are compared with."""
    ours = make_estimator(FOR_POSITIVES, settings).set_params(unlabeled=-1, min_recall=None, confidence=None)
    machine = SVC(
        C=settings.C,
        kernel=settings.kernel or "rbf",
        gamma="scale" if settings.gamma is None else settings.gamma,
        class_weight="balanced",
    )
    logistic = LogisticRegression(C=settings.C, class_weight="balanced", max_iter=1000)
    return {LOGISTIC: logistic, MACHINE: machine, FOR_POSITIVES.name: ours}
