"""The ledger of a model's campaigns: `MODEL.ledger`, a JSON file beside the model file, which stays
as it is.

A campaign is entered before its first answer is saved: without one it can't have erred. The ledger
stays when the model is fitted again under the same name, because the risks of campaigns on one task
add up. A copy of the model without its ledger knows of no campaign; the file of a campaign names
those before it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from semisvm.disk import locked, whole_file
from semisvm.errors import fault

LEDGER_KIND = "semisvm ledger"
LEDGER_VERSION = 1
SUFFIX = ".ledger"
PLACE = {"campaign": 0, "answered": True}  # what may differ between two copies of one entry

Entry = dict[str, Any]


def ledger_path(model: str | Path) -> Path:
    """Return where the ledger of a model file is kept: beside the file, links followed."""
    real = Path(model).resolve()
    return real.with_name(real.name + SUFFIX)


def counted_campaigns(model: str | Path) -> list[Entry]:
    """Return the campaigns with an answer that the ledger of a model has; none where there is no
    ledger.
    """
    return [entry for entry in _read(ledger_path(model)) if entry["answered"]]


def _enter(ledger: list[Entry], model: str | Path) -> None:
    """Write all campaigns of `ledger` beside a model."""
    path = ledger_path(model)
    with locked(path):
        counted = [entry | {"answered": True} for entry in ledger]
        entries = join_ledgers([counted_campaigns(model), counted])
        content = {"kind": LEDGER_KIND, "version": LEDGER_VERSION, "campaigns": entries}
        is_new = not path.exists()
        with whole_file(path, force=True) as unfinished:
            if is_new:  # no more people may read it than the model
                unfinished.chmod(Path(model).stat().st_mode & 0o666)
            unfinished.write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")


def count_campaign(ledger: list[Entry], about: dict[str, Any]) -> None:
    """Let the last campaign of `ledger` count, if it was begun on a model file; nothing is done
    the second time.

    Where the ledger can't be written the answers are not lost: a warning says what to do.
    """
    if "model_digest" not in about or ledger[-1].get("answered"):
        return
    ledger[-1]["answered"] = True
    reason = "the model is not there"
    try:
        if Path(about["model"]).is_file():
            _enter(ledger, about["model"])
            return
    except (OSError, ValueError) as error:
        reason = str(error)
    warnings.warn(
        f"The ledger {ledger_path(about['model'])} can't be written ({reason}). Later campaigns of"
        " this model do not know of this one: name its file by `after` when you start one.",
        stacklevel=4,
    )


def with_later_campaigns(ledger: list[Entry], about: dict[str, Any]) -> list[Entry]:
    """Return a ledger with the campaigns that were counted beside its model meanwhile; the last
    entry stays the last, with its number.
    """
    if "model_digest" not in about:
        return ledger
    earlier = join_ledgers([ledger[:-1], counted_campaigns(about["model"])])
    return [entry for entry in earlier if not is_same_entry(entry, ledger[-1])] + ledger[-1:]


def join_ledgers(ledgers: Iterable[list[Entry]]) -> list[Entry]:
    """Return the entries of several ledgers, each once, numbered from 1."""
    entries: list[Entry] = []
    for ledger in ledgers:
        for entry in ledger:
            if not any(is_same_entry(known, entry) for known in entries):
                entries.append(dict(entry))
    return [entry | {"campaign": number} for number, entry in enumerate(entries, 1)]


def is_same_entry(entry: Entry, other: Entry) -> bool:
    """Whether two entries are about one campaign."""
    return entry | PLACE == other | PLACE


def _read(path: Path) -> list[Entry]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        entries: list[Entry] = content["campaigns"]
        is_ours = content["kind"] == LEDGER_KIND and content["version"] == LEDGER_VERSION
        if is_ours and all(_is_entry(entry) for entry in entries):
            return entries
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise fault(
        path,
        "the ledger of campaigns can't be read",
        "Copy it again; or remove it, and name the earlier campaigns by `after`",
    )


def _is_entry(entry: Entry) -> bool:
    return 0 < float(entry["risk"]) < 1 and isinstance(entry["answered"], bool)
