"""Campaigns on files: begin one or go on with it, keep it, and write the certified model.

The pool is every row of the data file without a label; `tables.batches` writes and reads the files
that a person fills in. Model and data file are frozen: if their digests change, the campaign does
not go on. The ledger of campaigns is a file beside the model (`campaign.ledger`).
"""

from __future__ import annotations

import base64
import hashlib
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from semisvm.campaign import Campaign, Monitor, summarize_campaign
from semisvm.campaign.ledger import counted_campaigns
from semisvm.campaign.model import certified_around, scores_for_class
from semisvm.campaign.state import limits_of
from semisvm.decision import Evidence
from semisvm.decision.operating_point import scores_beyond
from semisvm.errors import fault, suggest
from semisvm.tables.files import load_table_model, model_digest
from semisvm.tables.folders import folder_digest
from semisvm.tables.methods import Tell, say_nothing
from semisvm.tables.model import Model, is_unlabeled
from semisvm.tables.operating import at_the_line, undo_beyond

if TYPE_CHECKING:
    import pandas

Begun = TypeVar("Begun", Campaign, Monitor)
# the column of the rows' numbers: the first that the data do not have
ROW_COLUMNS = ("row", "row_number", "semisvm_row", "semisvm_row_number")


def start_campaign(
    model_path: str | Path,
    data: str | Path,
    *,
    positive: str | None = None,
    unlabeled: str | None = None,
    after: Sequence[str | Path] = (),
    tell: Tell = say_nothing,
    **options: Any,
) -> Campaign:
    """Score the unlabeled rows of a file and begin a campaign about them, which is not saved yet.

    positive    the class that the target is about; needed with more than two classes. The score of
                a row is then the lead of this class over the best other one, and the promise is
                about the rows that are given this label
    unlabeled   what marks an unlabeled row, besides an empty cell
    after       files of earlier campaigns on the same task, whose risks add up with this one's
    options     parameters of `Campaign`: the target (by default that of the model's fit),
                `confidence`, `claim` and others
    """
    model = load_table_model(model_path)
    counted = counted_campaigns(model_path)
    if not os.access(Path(model_path).resolve().parent, os.W_OK):
        reason = "its folder can't be written to, and the ledger of campaigns is kept beside it"
        raise fault(model_path, reason, "Copy the model to where it can be written")
    label = find_positive(model, positive)
    options = own_target(model_path, positive, options)
    scores, is_open = score_open_rows(model, label, data, unlabeled, tell)
    if not len(scores):
        reason = "every row has a label, so there is no pool"
        raise fault(data, reason, "Give a file with rows that have none")
    earlier = [entry for path in after for entry in Campaign.load(path).ledger]
    campaign = Campaign(
        scores,
        calibration=_calibration_in(model, label),
        classes=model.classes.names,
        pos_label=label,
        after=[*model.summary.campaigns, *counted, *earlier],
        **options,
    )
    names = {*model.open(data).names, model.target}
    campaign.about.update(
        {
            "model": str(Path(model_path).resolve()),
            "model_digest": model_digest(model_path),
            "data": str(Path(data).resolve()),
            "data_digest": file_digest(data),
            "target": model.target,
            "row_column": next(name for name in ROW_COLUMNS if name not in names),
            "rows": {
                "n": len(is_open),
                "open": base64.b64encode(zlib.compress(np.packbits(is_open).tobytes())).decode(),
            },
        }
    )
    return campaign


def load_campaign(state: str | Path) -> Campaign:
    """Read the file of a campaign that was begun on files."""
    return load_begun(Campaign, state)


def load_begun(kind: type[Begun], state: str | Path) -> Begun:
    """Read the file of a campaign or a monitor that was begun on files."""
    name = kind.__name__
    try:
        begun = kind.load(state)
    except OSError as error:
        reason = f"can't be read ({error.strerror})"
        raise fault(state, reason, f"Give the file of a {name.lower()}") from None
    if "model_digest" not in begun.about:
        reason = f"this {name.lower()} was not begun on files"
        raise fault(state, reason, f"Go on with it in Python: semisvm.{name}.load")
    return begun


def open_campaign(
    model_path: str | Path,
    data: str | Path,
    state: str | Path,
    *,
    positive: str | None = None,
    unlabeled: str | None = None,
    tell: Tell = say_nothing,
    **options: Any,
) -> Campaign:
    """Go on with the campaign in the file `state`, or begin one where that does not exist; it is
    not saved yet.

    The other parameters are those of `start_campaign`; without a target, the model's own is
    certified. It is a ValueError if there is no target, or if the campaign is about another model,
    other rows or another target.
    """
    asked = {name: value for name, value in options.items() if value is not None}
    if Path(state).exists():
        campaign = load_campaign(state)
        asked.pop("after", None)
        names = ("confidence", "claim", "dont_know", "error_rate", "one_look")
        known = {name: getattr(campaign, name) for name in names}
        known |= {"budget": campaign._state.budget, "positive": campaign.pos_label}
        require_same(
            campaign, state, known, asked | ({} if positive is None else {"positive": positive})
        )
        require_model(campaign, model_path)
        campaign.about["model"] = str(Path(model_path).resolve())
        return campaign
    return start_campaign(
        model_path, data, positive=positive, unlabeled=unlabeled, tell=tell, **asked
    )


def require_same(
    begun: Campaign | Monitor, state: str | Path, options: Mapping[str, Any], asked: dict[str, Any]
) -> None:
    """Refuse to go on with a campaign or a monitor that was begun for something else: with other
    limits than those asked for, or other options.
    """
    kind = type(begun).__name__.lower()
    limits = limits_of(begun.target)
    for name, value in asked.items():
        known = {**limits, **options}.get(name, value)
        if value != (tuple(known) if isinstance(known, list) else known):
            was = f"its target: {begun.target}" if name in limits else known
            raise fault(
                state,
                f"this {kind} was begun with another `{name}` ({was})",
                f"Leave it out to go on, or name another `state` for a new {kind}",
            )


def own_target(
    model_path: str | Path, positive: str | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the options of a campaign, by default with the target of the model's fit."""
    limits = ("min_precision", "min_recall", "min_f", "max_cost")
    if any(options.get(name) is not None for name in limits):
        return options
    model = load_table_model(model_path)
    point = model.summary.operating_points.get(find_positive(model, positive))
    target = None if point is None else replace(point.target, accept=None)
    if target is None or not target.is_constrained:
        raise ValueError(
            "A target is needed, `min_precision` or `min_recall`: the model was fitted without one"
            " of its own."
        )
    asked = {name: getattr(target, name) for name in (*limits, "costs")}
    return options | {name: value for name, value in asked.items() if value is not None}


def certified_model(campaign: Campaign, *, model_path: str | Path | None = None) -> Model:
    """Return the model with the certified threshold; `model_path` says where it is now."""
    path = Path(campaign.about["model"] if model_path is None else model_path)
    model = load_table_model(path)
    require_model(campaign, path)
    verdict = campaign.verdict()
    point = verdict.operating_point
    if point is None:
        raise ValueError(f"No threshold is certified, so there is none to apply. {verdict.reason}")
    positive = campaign.pos_label
    record = summarize_campaign(campaign)
    summary = replace(
        model.summary,
        chances={},
        campaigns=tuple(campaign.ledger),
        campaign=record,
        notes=(*model.summary.notes, verdict.reason),
    )
    if len(model.classes.names) > 2:
        points = model.summary.operating_points | {positive: point}
        around = certified_around(model.estimator, point, positive)
        return replace(model, estimator=around, summary=replace(summary, operating_points=points))
    # Everything in the summary is measured from the line that the new model draws.
    cut = point.threshold
    scores = {
        name: replace(
            sample,
            labeled=tuple(scores_beyond(np.array(sample.labeled), cut).tolist()),
            unlabeled=tuple(scores_beyond(np.array(sample.unlabeled), cut).tolist()),
        )
        for name, sample in model.summary.scores.items()
    }
    if np.isfinite(cut):
        lines = (line | {"threshold": line["threshold"] - cut} for line in record.thresholds)
        record = replace(record, thresholds=tuple(lines))
    summary = replace(
        summary, operating_points={positive: at_the_line(point)}, scores=scores, campaign=record
    )
    probability = model.probability
    if probability is not None:
        is_shift = np.isfinite(cut) and np.isfinite(model.threshold)
        offset = probability.offset + probability.slope * cut
        probability = replace(probability, offset=offset) if is_shift else None
    threshold = undo_beyond(cut, model.threshold)
    return replace(model, threshold=threshold, summary=summary, probability=probability)


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 digest of a file, read in parts, or of the files of a folder."""
    if Path(path).is_dir():
        return folder_digest(Path(path))
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise fault(path, f"can't be read ({error.strerror})", "Check where the file is") from None


def find_positive(model: Model, asked: str | None) -> str:
    """Return the class that a target is about: the positive one of two, or the user's."""
    names = model.classes.names
    if len(names) == 2:
        if asked not in (None, names[1]):
            raise ValueError(
                f"The positive class of this model is {names[1]!r}, not {asked!r}. Fit it again"
                " with `positive`."
            )
        return names[1]
    if asked is None:
        raise ValueError(
            f"The model has {len(names)} classes: say which one the target is about, by `positive`."
        )
    if asked not in names:
        raise ValueError(f"{asked!r} is not a class of the model. {suggest(asked, names)}.")
    return asked


def score_open_rows(
    model: Model, positive: str, data: str | Path, unlabeled: str | None, tell: Tell
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of rows without a label, and a mask of them over the file."""
    rows = model.open(data)
    scores = []
    masks = []
    n_rows = 0
    for chunk in model.chunks(rows, (model.target,)):
        mask = is_unlabeled(model, chunk, unlabeled)
        scores.append(model.score(chunk)[mask])
        masks.append(mask)
        n_rows += len(chunk)
        tell("Scoring", n_rows, None, "rows")
    pool = scores_for_class(np.concatenate(scores), np.array(model.classes.names), positive)
    return pool, np.concatenate(masks)


def _calibration_in(model: Model, positive: str) -> Any:
    """Held-out scores of the training labels in the model file; None where there are none."""
    if len(model.classes.names) > 2 and model.has_class_thresholds:
        return None  # each class has scores of its own, which are not leads
    sample = model.summary.scores.get(positive)
    if sample is None or sample.level == Evidence.EMPIRICAL or len(set(sample.sign)) < 2:
        return None
    return np.array(sample.labeled), np.array(sample.sign)


def file_rows(campaign: Campaign) -> np.ndarray:
    """Return the place in the data file of each row of the pool, from 0."""
    rows = campaign.about["rows"]
    packed = np.frombuffer(zlib.decompress(base64.b64decode(rows["open"])), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(packed, count=rows["n"]))


def read_cells(model: Model, data: str | Path, numbers: np.ndarray) -> pandas.DataFrame:
    """Return some rows of a file, by their places from 0, in any order, without the label."""
    import pandas

    rows = model.open(data)
    wanted = np.unique(numbers)
    parts: list[pandas.DataFrame] = []
    for chunk in rows.chunks():
        low, high = np.searchsorted(wanted, [chunk.start, chunk.start + len(chunk)])
        places = wanted[low:high]
        features = chunk.frame.drop(columns=model.target, errors="ignore")
        parts.append(features.iloc[places - chunk.start].set_axis(places))
        if high == len(wanted):
            break
    return pandas.concat(parts).loc[numbers]


def require_data(campaign: Campaign, path: str | Path) -> None:
    """Refuse to go on with a data file that is not what it was."""
    digest = campaign.about["data_digest"]
    _require_digest(campaign, path, file_digest(path), digest, "the data file")


def require_model(begun: Campaign | Monitor, path: str | Path) -> None:
    """Refuse to go on with a model that is not what it was."""
    _require_digest(begun, path, model_digest(path), begun.about["model_digest"], "the model")


def _require_digest(
    begun: Campaign | Monitor, path: str | Path, digest: str, expected: str, what: str
) -> None:
    if digest != expected:
        kind = type(begun).__name__.lower()
        reason = (
            f"{what} has changed since the {kind} began, and a promise holds for what was frozen"
            " then"
        )
        raise fault(path, reason, f"Give the file as it was, or start a new {kind}")
