"""What a campaign consists of, and how it is kept: JSON with all that was frozen at the start, and every answer.

Evidence is not stored: it is computed again from the answers when a file is read. The band of each row is stored,
packed, so that a campaign can go on without the model and without scoring the pool again; where the scores are given
they must put every row in the same place.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.campaign.draws import AnswerLog, DrawOrder, plan_as_dict, plan_from_dict, unpack_bands
from semisvm.campaign.sequence import ClaimSequence, Standing
from semisvm.decision import Target
from semisvm.decision.betting import SamplingClaim
from semisvm.decision.checks import check_scores
from semisvm.decision.sampling_plan import SamplingPlan
from semisvm.disk import whole_file
from semisvm.errors import counted

CAMPAIGN_KIND = "semisvm campaign"
CAMPAIGN_VERSION = 1


class StoredCampaign:
    """The parts of a campaign: target, plan, random order, answers, ledger; see `Campaign`."""

    target: Target
    confidence: float
    claim: SamplingClaim
    dont_know: str
    seed_given: bool
    ledger: list[dict[str, Any]]
    about: dict[str, Any]
    _seed: bytes
    _plan: SamplingPlan
    _kept: tuple[Any, ...] = ()  # the file that was read or written last, as it was then

    def _begin(self, log: AnswerLog, experts: list[Any]) -> None:
        """Set up the claims; `experts` are those of a file, or none."""
        self._log = log
        self._digests = {"scores": digest_of_bands(self._plan.bands)}
        self.about = {}
        self._order = DrawOrder(self._plan, self._seed)
        self._order.answer(log.codes)
        leaves_out = self.dont_know == "leave out"
        self._tests = ClaimSequence(self._plan, self.target, self.confidence, self.claim, leaves_out=leaves_out)
        self._tests.bet_as(experts)

    def _standing(self) -> Standing:
        return self._tests.standing(self._order, self.answers)

    @property
    def answers(self) -> dict[int, float]:
        """The answer of each row: 1 positive, 0 negative, NaN "don't know"."""
        return self._log.codes

    @property
    def classes(self) -> list[Any] | None:
        """The class labels that answers are given in; None where answers are 1 and 0."""
        return self._log.classes

    @property
    def pos_label(self) -> Any:
        """The class that the target is about; None where answers are 1 and 0."""
        return self._log.pos_label

    @property
    def labels(self) -> dict[int, Any]:
        """What was answered for each row: a class label (or 1 and 0), None for "don't know"."""
        return self._log.labels

    @property
    def n_labels(self) -> int:
        """The number of rows with an answer, "don't know" included."""
        return len(self.answers)

    @property
    def n_rows(self) -> int:
        """The number of rows in the pool."""
        return len(self._plan.bands)

    @property
    def n_in_play(self) -> int:
        """The number of rows that the promise rests on: all, or those that did not set the thresholds."""
        return int((self._plan.bands <= len(self._plan.sizes)).sum())

    @property
    def corrections(self) -> list[dict[str, Any]]:
        """Answers that were changed: row, from, to, time."""
        return [dict(one) for one in self._log.corrections]

    @property
    def total_risk(self) -> float:
        """The chance, at most, that any campaign of the ledger is wrong: the sum of their risks."""
        return min(1.0, sum(entry["risk"] for entry in self.ledger))

    def save(self, path: str | Path) -> Path:
        """Write the campaign to a JSON file, from which it can go on.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced. It is complete or stays as it was. A ValueError if another program
            has saved the campaign there since it was read or saved here: its answers would be lost.

        Returns
        -------
        path
            The file that was written.
        """
        path = Path(path)
        if (now := _version_of(path)) and self._kept[:1] == now[:1] and self._kept != now:
            raise ValueError(
                f"{path}: another program has saved this campaign meanwhile, and its answers would be lost. Nothing "
                "was saved here: read the file again, and tell the answers again."
            )
        self._kept = path.resolve(), write_campaign(self.as_dict(), path)
        return path

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values.

        Returns
        -------
        content : dict
            What `save` writes.
        """
        return {
            "kind": CAMPAIGN_KIND,
            "version": CAMPAIGN_VERSION,
            "semisvm": import_module("semisvm").__version__,
            "target": self.target.as_dict(),
            "confidence": self.confidence,
            "claim": self.claim,
            "dont_know": self.dont_know,
            "seed": self._seed.hex(),
            "seed_given": self.seed_given,
            "classes": self._log.classes,
            "pos_label": self._log.pos_label,
            "ledger": self.ledger,
            "digests": self._digests,
            "about": self.about,
            "plan": plan_as_dict(self._plan),
            "experts": self._tests.experts(),
            "answers": self._log.as_lists(),
            "corrections": self._log.corrections,
        }

    @classmethod
    def load(cls, path: str | Path, scores: ArrayLike | None = None) -> Self:
        """Read a campaign; its evidence is computed again from the answers.

        Parameters
        ----------
        path : str or path
            What `save` wrote.
        scores : array-like of shape (n_rows,), optional
            The scores of the pool by the model as it is now. If they are not those that the campaign began with, it is
            refused: a promise about a model that has changed has no meaning.

        Returns
        -------
        campaign : Campaign
            Ready to go on.

        Raises
        ------
        ValueError
            If the file is not that of a campaign, is damaged or newer, or if the scores have changed.
        """
        version = _version_of(Path(path))
        content = read_campaign(path)
        try:
            found = cls.from_dict(content)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, zlib.error):
            raise ValueError(_damaged(path)) from None
        if scores is not None:
            found.check_scores(scores)
        found._kept = version
        return found

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Return the campaign that `as_dict` wrote.

        Parameters
        ----------
        content : dict
            What `as_dict` returned.

        Returns
        -------
        campaign : Campaign
            Ready to go on.
        """
        found = cls.__new__(cls)
        found.target = Target.from_dict(content["target"])
        found.confidence, found.claim = content["confidence"], content["claim"]
        found.dont_know, found.seed_given = content["dont_know"], content["seed_given"]
        found._seed = bytes.fromhex(content["seed"])
        found.ledger = content["ledger"]
        found._plan = plan_from_dict(content["plan"])
        log = AnswerLog(len(found._plan.bands), content["classes"], content["pos_label"])
        log.read_lists(content["answers"], content["corrections"])
        found._begin(log, content["experts"])
        found._digests = content["digests"]
        found.about = content["about"]
        return found

    def check_scores(self, scores: ArrayLike) -> None:
        """Refuse to go on if the model's scores of the pool are not those that the campaign began with.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            The scores of the pool by the model as it is now.
        """
        vector = pool_scores(scores)
        plan = self._plan
        is_same = len(vector) == len(plan.bands)
        for one in plan.thresholds if is_same else ():
            in_play = plan.bands <= len(plan.sizes)
            is_same &= np.array_equal(vector[in_play] > one.threshold, plan.bands[in_play] < one.n_bands)
        if not is_same:
            raise ValueError(
                "The scores of the pool are not those that the campaign began with: the model or the rows have "
                "changed. A promise holds for the frozen model only. Go on with that model, or start a new campaign."
            )

    def __repr__(self) -> str:
        told = f"{counted(self.n_labels, 'label')} of {counted(self.n_rows, 'row')}"
        return f"<Campaign {len(self.ledger)}: {self.target}, {told}>"


def pool_scores(scores: ArrayLike) -> np.ndarray:
    """Return the scores of a pool: finite numbers, one per row."""
    vector = np.asarray(scores, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"scores must have one number per row of the pool, got an array of shape {vector.shape}.")
    if not len(vector):
        raise ValueError("The pool is empty: there is nothing to certify. Give rows without labels.")
    return check_scores(vector)


# ---- the file ----


def _version_of(path: Path) -> tuple[Any, ...]:
    """The file and a digest of what is in it; () where there is none. Times and inodes change on network drives."""
    return (path.resolve(), hashlib.sha256(path.read_bytes()).digest()) if path.is_file() else ()


def write_campaign(content: dict[str, Any], path: Path) -> bytes:
    """Write a campaign; the file is complete or stays as it was. Return a digest of what was written."""
    plain = json.loads(json.dumps(content, allow_nan=False))  # as it will be read
    written = json.dumps(plain | {"sha256": digest_of_content(plain)}).encode()
    with whole_file(path, force=True) as unfinished:
        unfinished.write_bytes(written)
    return hashlib.sha256(written).digest()


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
    told = content.pop("sha256", None)  # files of earlier versions have none
    try:
        is_whole = digest_of_bands(unpack_bands(content["plan"])) == content["digests"]["scores"]
    except (KeyError, TypeError, ValueError, zlib.error):
        is_whole = False
    if not is_whole or told not in (None, digest_of_content(content)):
        raise ValueError(_damaged(path))
    return content


def _damaged(path: str | Path) -> str:
    return f"{path}: the file was damaged or edited: its digest is wrong. Copy it again."


def digest_of_content(content: dict[str, Any]) -> str:
    """Return the digest of all that a campaign's file holds."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def join_ledgers(earlier: Iterable[StoredCampaign | dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of earlier campaigns (or of their ledgers), each once, numbered from 1."""
    entries: list[dict[str, Any]] = []
    for one in earlier:
        for entry in one.ledger if isinstance(one, StoredCampaign) else [one]:
            if all(known | {"campaign": 0} != entry | {"campaign": 0} for known in entries):
                entries.append(dict(entry))
    return [entry | {"campaign": number} for number, entry in enumerate(entries, 1)]


def digest_of_bands(bands: np.ndarray) -> str:
    """Return a digest of all that the scores decide in a campaign: which rows are in which band.

    The last digits of scores differ between machines; the bands do not, since their edges lie between scores.
    """
    return hashlib.sha256(bands.tobytes()).hexdigest()
