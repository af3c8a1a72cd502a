"""The file of a campaign: JSON with all that was frozen at the start, and every answer.

Evidence is not stored: it is computed again from the answers when a file is read. The band of each
row is stored, packed, so that a campaign can go on without the model and without scoring the pool
again.

Several programs may save one campaign. Each holds a lock while it reads what the others have saved,
adds its own answers and writes; only two different new answers for one row are refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

from semisvm.campaign.answers import NO_ANSWER, Answer, AnswerLog
from semisvm.campaign.draws import plan_from_dict
from semisvm.campaign.ledger import count_campaign, is_same_entry, with_later_campaigns
from semisvm.campaign.state import CampaignState
from semisvm.decision import Target
from semisvm.disk import locked, whole_file
from semisvm.errors import counted

CAMPAIGN_KIND = "semisvm campaign"
CAMPAIGN_VERSION = 2
MONITOR_KIND = "semisvm monitor"
BEGUN_BY = {
    CAMPAIGN_KIND: "`semisvm certify start`, or by Campaign.save in Python",
    MONITOR_KIND: "`semisvm monitor draw`, or by Monitor.save in Python",
}
# Fields of a state that JSON holds as they are.
PLAIN = [
    part.name
    for part in fields(CampaignState)
    if part.name not in ("target", "seed", "plan", "log")
]
MOST_ROWS_NAMED = 5


# ---- content ----


def content_of(state: CampaignState) -> dict[str, Any]:
    """Return a campaign as plain JSON values."""
    return {
        "kind": CAMPAIGN_KIND,
        "version": CAMPAIGN_VERSION,
        "semisvm": import_module("semisvm").__version__,
        "target": state.target.as_dict(),
        "seed": state.seed.hex(),
        "plan": state.packed_plan,
        **{name: getattr(state, name) for name in PLAIN},
        **state.log.as_dict(),
    }


def state_from(content: dict[str, Any]) -> CampaignState:
    """Return the campaign that `content_of` wrote."""
    plan = plan_from_dict(content["plan"])
    return CampaignState(
        target=Target.from_dict(content["target"]),
        seed=bytes.fromhex(content["seed"]),
        plan=plan,
        log=AnswerLog.from_dict(content, len(plan.bands)),
        **{name: content[name] for name in PLAIN},
    )


# ---- reading and writing ----


@dataclass(frozen=True)
class Synced:
    """The file that was read or written last, and the answers that it held then."""

    path: Path
    answers: dict[int, Answer]
    n_corrections: int

    @classmethod
    def of(cls, path: Path, log: AnswerLog) -> Synced:
        """Remember what a file holds now."""
        return cls(path.resolve(), dict(log.answers), len(log.corrections))


def load_state(path: str | Path) -> CampaignState:
    """Read a campaign; ValueError where the file is not that of a campaign, damaged or newer."""
    state = state_from(read_checked(path, CAMPAIGN_KIND, CAMPAIGN_VERSION))
    state.ledger = with_later_campaigns(state.ledger, state.about)
    return state


def save_state(
    state: CampaignState, path: str | Path, synced: Synced | None, force: bool = False
) -> Synced:
    """Write a campaign; the file is complete or stays as it was, and keeps its mode.

    Answers that another program has saved there since `synced` are added to the state. Before the
    first answers are written, the campaign is counted in the ledger of its model. Another file is
    replaced only with `force`, or if it is a campaign without answers.
    """
    path = Path(path)
    real = path.resolve()
    base = synced if synced is not None and synced.path == real else None
    with locked(real):
        if real.is_file():
            _merge(state, path, base, force)
        if state.log.answers or state.log.corrections:
            count_campaign(state.ledger, state.about)
        write_checked(path, content_of(state))
    return Synced.of(path, state.log)


def write_checked(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file with a digest of its content; the file is complete or stays as it was, and
    keeps its mode.
    """
    plain = json.loads(json.dumps(content))  # as it will be read
    real = path.resolve()
    with whole_file(path, force=True) as unfinished:
        unfinished.write_text(json.dumps(plain | {"sha256": _digest(plain)}), encoding="utf-8")
        if real.is_file():
            unfinished.chmod(real.stat().st_mode & 0o777)


def read_checked(path: str | Path, kind: str, version: int) -> dict[str, Any]:
    """Return what `write_checked` wrote; ValueError if it is of another kind, another version, or
    changed.
    """
    name = kind.removeprefix("semisvm ")
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        is_ours = content["kind"] == kind
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file. Begin it by {BEGUN_BY[kind]}.") from None
    except (ValueError, KeyError, TypeError):
        is_ours = False
    if not is_ours:
        raise ValueError(
            f"{path}: this is not the file of a {name}, or it is damaged. Give one that a {name}"
            " wrote."
        )
    if content.get("version") != version:
        raise ValueError(
            f"{path}: written in version {content.get('version')} of the format, and this semisvm"
            f" reads version {version}. Use the semisvm that it was written with."
        )
    if content.pop("sha256", None) != _digest(content):
        raise ValueError(
            f"{path}: the file was damaged or edited: its digest is wrong. Copy it again."
        )
    return content


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def refuse_to_replace(path: Path, lost: str = "") -> None:
    """Raise ValueError where something would be lost: a file that is not empty."""
    if path.stat().st_size:
        holds = f" and holds {lost}" if lost else ""
        raise ValueError(
            f"{path}: this file exists{holds}. Choose another name, or pass force=True to `save`,"
            " which replaces it."
        )


# ---- several writers ----


def _merge(state: CampaignState, path: Path, base: Synced | None, force: bool) -> None:
    """Add the answers that another program has saved at `path` since `base`."""
    try:
        content = read_checked(path, CAMPAIGN_KIND, CAMPAIGN_VERSION)
    except ValueError:
        if base is None and not force:
            refuse_to_replace(path)
        return  # damaged since it was read
    theirs = state_from(content)
    if not is_same_entry(theirs.ledger[-1], state.ledger[-1]):
        if base is None:
            if theirs.log.answers and not force:
                refuse_to_replace(path, counted(len(theirs.log.answers), "answer"))
            return  # the caller replaces one campaign by another
        raise ValueError(
            f"{path}: another campaign was saved here meanwhile, and its answers would be lost."
            " Nothing was saved: save under another name."
        )
    log = state.log
    saved = theirs.log.answers
    before, now, here = (
        {row: answer.code for row, answer in answers.items()}
        for answers in ({} if base is None else base.answers, saved, log.answers)
    )

    def differs(one: dict[int, Any], other: dict[int, Any], row: int) -> bool:
        return one.get(row, NO_ANSWER) != other.get(row, NO_ANSWER)

    changed = [row for row in before | now if differs(before, now, row)]
    contradictions = [
        row for row in changed if differs(before, here, row) and differs(now, here, row)
    ]
    if contradictions:
        rows = ", ".join(map(str, sorted(contradictions)[:MOST_ROWS_NAMED]))
        raise ValueError(
            f"{path}: another program has saved other answers for the same rows meanwhile"
            f" ({len(contradictions)} of them: {rows}). Nothing was saved: read the file again, and"
            " give one answer per row."
        )
    # A phase begins when all draws before it are answered, so that both began the same ones.
    if len(theirs.phases) > len(state.phases):
        state.phases = theirs.phases
    n_known = 0 if base is None else base.n_corrections
    log.corrections = theirs.log.corrections + log.corrections[n_known:]
    # What was answered here last stays last: it is what `undo` takes back.
    taken_over = {row: saved[row] for row in changed if row in saved}
    unchanged = {row: log.answers[row] for row in log.answers if row not in set(changed)}
    log.answers = taken_over | unchanged
    log.second_answers = theirs.log.second_answers | log.second_answers
