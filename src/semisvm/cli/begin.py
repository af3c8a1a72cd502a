"""How a session of labeling is begun: by a model, by scores, or by labels that a machine gave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
import numpy as np

from semisvm.cli import options
from semisvm.errors import DataError
from semisvm.files import digest_of
from semisvm.label import LabelingJob, LabelSession, Pool
from semisvm.label.page import BudgetPage
from semisvm.label.server import LabelServer

MOST_CLASSES = 50
DEFAULT_CONFIDENCE = 0.95
PROMISES = {
    "min_precision": "precision",
    "min_recall": "recall",
    "max_error": "error",
    "to_improve": "none",
}


def begin(
    models: list[str], data: str, state: str, wanted: dict[str, Any], server: LabelServer | None
) -> LabelSession:
    """Begin a session as the options say; the page asks for a budget that is not named."""
    asked = _asked(models, wanted)
    if not asked["budget"] and asked["promise"] != "none" and not server:
        raise click.UsageError("How many rows can you label? Add --budget N.")
    if models:
        pool, job, known = _for_model(models[0], data, wanted["positive"], asked)
    elif wanted["given"]:
        pool, job, known = _for_given(data, wanted["given"], wanted["confidence_column"], asked)
    else:
        pool, job, known = _for_scores(data, wanted["scores"], wanted["positive"], asked)
    if server and job.budget is None and job.promise != "none":
        question = BudgetPage(job)
        server.show(question)
        job = replace(job, budget=question.budget)
    return LabelSession.begin(pool, job, known.pop("scores"), state, **known)


def _asked(models: list[str], wanted: dict[str, Any]) -> dict[str, Any]:
    """What the options promise; options that do not belong together are refused."""
    given, scores = wanted["given"], wanted["scores"]
    if bool(models) + bool(scores) + bool(given) != 1:
        raise click.UsageError("Name a MODEL and DATA; or only DATA, with --scores or --given.")
    promises = {name: wanted[name] for name in PROMISES}
    options.at_most_one(**promises)
    if not any(promises.values()):
        raise click.UsageError(
            "Say what to promise: --min-precision, --min-recall or --max-error (or --to-improve)."
        )
    for name, is_there, needs in (
        ("max_error", given, "--given: the column of labels"),
        ("confidence_column", given, "--given: the column of labels"),
        ("to_improve", models, "a MODEL"),
        ("min_recall", models or scores, "a MODEL or --scores"),
        ("positive", models or scores, "a MODEL or --scores"),
    ):
        if wanted[name] and not is_there:
            raise click.UsageError(f"--{name.replace('_', '-')} needs {needs}.")
    name = next(name for name, level in promises.items() if level)
    return {
        "promise": PROMISES[name],
        "level": float(promises[name]),
        "confidence": wanted["confidence"] or DEFAULT_CONFIDENCE,
        "budget": wanted["budget"],
    }


def _for_model(
    path: str, data: str, positive: str | None, asked: dict[str, Any]
) -> tuple[Pool, LabelingJob, dict[str, Any]]:
    """The rows of a file by the scores of a model."""
    from semisvm.label.improve import rows_to_improve
    from semisvm.tables.model import TableModel

    model = TableModel.load(path)
    digest = digest_of(path)
    about = model.summary
    if len(about.classes) != 2 and asked["promise"] != "none":
        raise DataError(
            f"{path}: has {len(about.classes)} classes; a promise is about one of two. Use semisvm"
            " predict, then semisvm label --given predicted --max-error."
        )
    if positive not in (None, about.positive):
        raise DataError(
            f"{path}: accepts {about.positive!r}, not {positive!r}. Fit again with --positive"
            f" {positive}."
        )
    pool = Pool(data, about.target, about.unlabeled)
    job = LabelingJob(
        **asked,
        classes=about.classes,
        positive=about.positive,
        target=about.target,
        unlabeled=about.unlabeled,
    )
    scores = model.scores(pool.cells, data)
    if job.promise == "none":
        order = rows_to_improve(model, pool.cells, scores)
        best = scores if scores.ndim == 1 else scores.max(axis=1)
        return pool, job, {"scores": best, "order": order, "model": digest}
    probabilities = model.probabilities(pool.cells, data)
    return pool, job, {"scores": scores, "probabilities": probabilities, "model": digest}


def _for_given(
    data: str, given: str, confidence_column: str | None, asked: dict[str, Any]
) -> tuple[Pool, LabelingJob, dict[str, Any]]:
    """The rows of a file by the confidences of labels that a machine gave."""
    pool = Pool(data)
    classes = sorted(set(pool.words(given)))
    if len(classes) > MOST_CLASSES:
        raise DataError(
            f"{data}: {given!r} holds {len(classes):,} different labels: is it the right column?"
        )
    sure = pool.numbers(confidence_column) if confidence_column else np.zeros(len(pool.ids))
    return pool, LabelingJob(**asked, classes=classes, given=given), {"scores": sure}


def _for_scores(
    data: str, column: str, positive: str | None, asked: dict[str, Any]
) -> tuple[Pool, LabelingJob, dict[str, Any]]:
    """The rows of a file by a column of scores."""
    pool = Pool(data)
    classes = [f"not {positive}", positive] if positive else ["no", "yes"]
    return (
        pool,
        LabelingJob(**asked, classes=classes, positive=classes[1]),
        {"scores": pool.numbers(column)},
    )
