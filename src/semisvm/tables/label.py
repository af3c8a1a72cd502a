"""Answer the rows of a campaign one at a time: what the terminal and the local page of `semisvm label` share.

A session shows one row after the other, in the random order of the campaign, with its cells and nothing else: no score
and no prediction, so that the person is not led. Every answer is saved at once, so a session may end at any moment and
go on later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from semisvm.campaign import Campaign
from semisvm.errors import fault
from semisvm.tables.certify import (
    file_rows,
    find_positive,
    keep_campaign,
    load_campaign,
    load_model,
    read_cells,
    require_data,
    require_digest,
    start_campaign,
)
from semisvm.tables.columns import plain_cell
from semisvm.tables.files import model_digest
from semisvm.tables.methods import Tell, say_nothing

READ_AHEAD = 50  # rows whose cells are read from the file at once
KEYS = "123456789abcdefghijkmnoprstvwxyz"  # of the classes; l, q and u are later, quit and undo


@dataclass(frozen=True)
class RowToLabel:
    """A row to ask about: its place in the pool, its number in the file (from 1), and its cells."""

    place: int
    number: int
    cells: dict[str, Any]


@dataclass(frozen=True)
class LabelProgress:
    """How far a session is: answers in all, how many of them "don't know", and what is proved, in a sentence."""

    n_labels: int
    n_unknown: int
    n_corrections: int
    is_certified: bool
    can_undo: bool
    sentence: str
    reason: str


class StaleRowError(ValueError):
    """An answer for a row that is not the one being asked about, such as a second click on a button."""


class LabelSession:
    """A campaign on files, answered one row at a time.

    `state` is its file, which is written after every answer; `data` is where the data file is now, by default where it
    was when the campaign began.
    """

    def __init__(self, campaign: Campaign, state: str | Path, *, data: str | Path | None = None):
        self.campaign, self.state = campaign, Path(state)
        self.data = Path(campaign.about["data"] if data is None else data)
        require_data(campaign, self.data)
        self._model = load_model(campaign.about["model"])
        self._numbers = file_rows(campaign)
        self._cells: dict[int, dict[str, Any]] = {}
        self._postponed: list[int] = []

    @property
    def classes(self) -> list[str]:
        """The class names that may be answered."""
        return list(self.campaign.classes or [])

    @property
    def keys(self) -> dict[str, str]:
        """The key of each class, {key: class}; classes beyond the keys have none."""
        return dict(zip(KEYS, self.classes, strict=False))

    def row(self) -> RowToLabel | None:
        """Return the row to ask about; None when there is nothing left to ask."""
        drawn = self.campaign.draw(len(self._postponed) + 1)
        if not drawn:
            return None
        place = next((one for one in drawn if one not in self._postponed), None)
        if place is None:  # every row left was postponed: they come round again
            self._postponed = []
            place = drawn[0]
        if place not in self._cells:
            ahead = list(dict.fromkeys([place, *self.campaign.draw(READ_AHEAD)]))
            cells = read_cells(self._model, self.data, self._numbers[ahead])
            self._cells = {
                one: {name: plain_cell(cell) for name, cell in own.items()}
                for one, own in zip(ahead, cells, strict=True)
            }
        return RowToLabel(place, int(self._numbers[place]) + 1, self._cells[place])

    def answer(self, place: int, label: str | None) -> None:
        """Answer the row that is asked about, and save; `label` is a class name, or None for "don't know".

        An answer for another `place` than that row's is refused.
        """
        self._require_asked(place)
        self.campaign.tell(place, label)
        self.campaign.save(self.state)

    def postpone(self, place: int) -> None:
        """Ask about another row first. The row stays in its place of the random order and comes back."""
        self._require_asked(place)
        self._postponed.append(place)

    def undo(self) -> bool:
        """Withdraw the last answer, of this session or of one before, and ask again; False if there is none."""
        if not self.campaign.answers:
            return False
        self.campaign.withdraw(next(reversed(self.campaign.answers)))
        self.campaign.save(self.state)
        self._postponed = []
        return True

    def progress(self) -> LabelProgress:
        """Return how far the campaign is."""
        verdict = self.campaign.verdict()
        n = verdict.n_labels
        told = f"{n} label{'' if n == 1 else 's'}."
        more = "" if verdict.forecast is None else f"bout {verdict.forecast:,} more"
        if verdict.certified:
            n_accepted = verdict.operating_point.sampling.n_accepted  # type: ignore[union-attr]
            accepted = f"{n_accepted:,} of {self.campaign.n_in_play:,} rows"
            told += f" Certified: {self.campaign.target} for {accepted}."
            told += f" A{more} for the next step." if more else ""
        else:
            told += f" A{more} for the first certificate." if more else " No certificate is in sight."
        unknown = sum(label is None for label in self.campaign.labels.values())
        return LabelProgress(
            n, unknown, verdict.n_corrections, verdict.certified, bool(self.campaign.answers), told, verdict.reason
        )

    def _require_asked(self, place: int) -> None:
        asked = self.row()
        if asked is None or asked.place != place:
            raise StaleRowError("This row is not the one that is asked about now.")


def open_session(
    model_path: str | Path,
    data: str | Path,
    state: str | Path,
    *,
    positive: str | None = None,
    unlabeled: str | None = None,
    tell: Tell = say_nothing,
    **options: Any,
) -> LabelSession:
    """Go on with the campaign in the file `state`, or begin one where that does not exist.

    The other parameters are those of `start_campaign`; without a target, the model's own is certified. It is a
    ValueError if there is no target, or if the campaign is about another model, other rows or another target.
    """
    asked = {name: value for name, value in options.items() if value is not None}
    if Path(state).exists():
        campaign = load_campaign(state)
        _require_same(campaign, state, asked | ({} if positive is None else {"pos_label": positive}))
        require_digest(Path(model_path), model_digest(model_path), campaign.about["model_digest"], "the model")
        campaign.about["model"] = str(Path(model_path).resolve())
        return LabelSession(campaign, state, data=data)
    asked = own_target(model_path, positive, asked)
    campaign = start_campaign(model_path, data, positive=positive, unlabeled=unlabeled, tell=tell, **asked)
    keep_campaign(campaign, state)
    return LabelSession(campaign, state, data=data)


def _require_same(campaign: Campaign, state: str | Path, asked: dict[str, Any]) -> None:
    """Refuse to go on with a campaign that was begun for something else than what is asked for now."""
    target = campaign.target.as_dict()
    for name, value in asked.items():
        known = target[name] if name in target else getattr(campaign, name, value)
        if name != "after" and value != (tuple(known) if isinstance(known, list) else known):
            reason = f"this campaign was begun with another {name} ({known}; {campaign.target})"
            raise fault(state, reason, "Leave it out to go on, or name another `state` for a new campaign")


def own_target(model_path: str | Path, positive: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a campaign, with the target of the model's own fit where they have none."""
    if any(name in options for name in ("min_precision", "min_recall", "min_f", "max_cost")):
        return options
    model = load_model(model_path)
    point = model.summary.operating_points.get(find_positive(model, positive))
    target = None if point is None else replace(point.target, accept=None)
    if target is None or not target.is_constrained:
        raise ValueError(
            "Say what to certify, `min_precision` or `min_recall`: the model was fitted without a target of its own."
        )
    asked = {name: getattr(target, name) for name in ("min_precision", "min_recall", "min_f", "max_cost", "costs")}
    return options | {name: value for name, value in asked.items() if value is not None}
