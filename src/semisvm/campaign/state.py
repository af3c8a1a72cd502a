"""The file of a campaign: JSON with everything that was frozen at the start, and every answer with its time.

Evidence is not stored: it is computed again from the answers when a file is read. The band of each row is stored,
packed, so that a campaign can go on without the model and without scoring the pool again; where the scores are given
they must put every row in the same place.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.decision.sampling_plan import PlannedThreshold, SamplingPlan

CAMPAIGN_KIND = "semisvm campaign"
CAMPAIGN_VERSION = 1


def installed_version() -> str:
    """Return the version of semisvm that is installed, for the record."""
    try:
        return metadata.version("semisvm")
    except metadata.PackageNotFoundError:
        return "unknown"


def write_campaign(content: dict[str, Any], path: str | Path) -> Path:
    """Write a campaign; the file is complete or stays as it was."""
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def read_campaign(path: str | Path) -> dict[str, Any]:
    """Return the content of a campaign's file; ValueError if it is none, or was written by a newer version."""
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        is_ours = content["kind"] == CAMPAIGN_KIND
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file. Start a campaign first.") from None
    except (ValueError, KeyError, TypeError):
        is_ours = False
    if not is_ours:
        raise ValueError(
            f"{path}: this is not the file of a campaign, or it is damaged. Give one that a campaign wrote."
        )
    if content.get("version") != CAMPAIGN_VERSION:
        raise ValueError(
            f"{path}: written in version {content.get('version')} of the format, and this semisvm reads version "
            f"{CAMPAIGN_VERSION}. Upgrade semisvm."
        )
    if digest_of_bands(unpack_bands(content["plan"])) != content["digests"]["scores"]:
        raise ValueError(f"{path}: the file was damaged or edited: its digest is wrong. Copy it again.")
    return content


def plan_as_dict(plan: SamplingPlan) -> dict[str, Any]:
    """Return a plan as plain JSON values."""
    return {
        "bands": base64.b64encode(zlib.compress(plan.bands.tobytes(), 6)).decode("ascii"),
        "sizes": plan.sizes.tolist(),
        "speeds": plan.speeds.tolist(),
        "beliefs": plan.beliefs.tolist(),
        "thresholds": [vars(one) for one in plan.thresholds],
    }


def plan_from_dict(values: dict[str, Any]) -> SamplingPlan:
    """Return the plan that `plan_as_dict` wrote."""
    return SamplingPlan(
        unpack_bands(values),
        np.array(values["sizes"]),
        np.array(values["speeds"]),
        np.array(values["beliefs"]),
        tuple(PlannedThreshold(**one) for one in values["thresholds"]),
    )


def unpack_bands(plan: dict[str, Any]) -> np.ndarray:
    """Return the band of each row."""
    return np.frombuffer(zlib.decompress(base64.b64decode(plan["bands"])), dtype=np.uint8)


def join_ledgers(ledgers: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the entries of several ledgers, each once, numbered from 1."""
    entries: list[dict[str, Any]] = []
    for entry in (one for ledger in ledgers for one in ledger):
        if all(known | {"campaign": 0} != entry | {"campaign": 0} for known in entries):
            entries.append(dict(entry))
    return [entry | {"campaign": number} for number, entry in enumerate(entries, 1)]


def digest_of_bands(bands: np.ndarray) -> str:
    """Return a digest of all that the scores decide in a campaign: which rows are in which band.

    The last digits of scores differ between machines; the bands do not, since their edges lie between scores.
    """
    return hashlib.sha256(bands.tobytes()).hexdigest()
