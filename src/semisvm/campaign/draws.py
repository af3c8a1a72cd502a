"""One random order of the pool, in which every claim reads its own rows up to the first one without an answer.

Row i gets the clock -log(u_i) / speed, where u_i is made from the seed and the row's number by BLAKE2b. Rows by clock
are drawn without replacement with chances in proportion to their speeds, *and the same holds inside every subset*. So
it does not matter which rows were labeled, when and why: a claim looks at the prefix of its own sequence only.

Rows of a band have one speed, so each band is sorted once. The bands of a claim are merged when they are read: that
takes time in proportion to the answers, not to the pool.

`AnswerLog` has what was said about which row, when, and what was changed afterward. The last functions write and read
the plan that the order follows.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import math
import secrets
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from semisvm.decision.sampling_plan import PlannedThreshold, SamplingPlan
from semisvm.errors import counted

SEED_BYTES = 16
NO_ANSWER = "no answer"


def make_seed() -> bytes:
    """Return a seed from the operating system."""
    return secrets.token_bytes(SEED_BYTES)


def read_seed(seed: str) -> bytes:
    """Return a seed that was given as hexadecimal digits."""
    try:
        return bytes.fromhex(seed).rjust(SEED_BYTES, b"\0")[:64]
    except (ValueError, TypeError):
        raise ValueError(f"seed must be hexadecimal digits such as '00ff', got {seed!r}.") from None


def hash_rows(seed: bytes, rows: np.ndarray) -> np.ndarray:
    """Return (BLAKE2b(seed, row) as a 64-bit integer + 0.5) / 2^64 per row number: the same on every platform."""
    blake2b = hashlib.blake2b
    content = np.ascontiguousarray(rows, dtype="<u8").tobytes()
    digests = b"".join(
        [blake2b(content[i : i + 8], digest_size=8, key=seed).digest() for i in range(0, len(content), 8)]
    )
    return (np.frombuffer(digests, dtype="<u8") + 0.5) / 2.0**64


class DrawOrder:
    """The rows of each band by clock, and how far each band is answered without a gap."""

    def __init__(self, plan: SamplingPlan, seed: bytes):
        self._rows: list[np.ndarray] = []
        self._clocks: list[np.ndarray] = []
        for band, speed in enumerate(plan.speeds):
            rows = np.flatnonzero(plan.bands == band) if speed > 0 else np.empty(0, dtype=np.intp)
            clocks = -np.log(hash_rows(seed, rows)) / speed if len(rows) else np.empty(0)
            order = np.argsort(clocks, kind="stable")
            self._rows.append(rows[order])
            self._clocks.append(clocks[order])
        self._bands = plan.bands
        self.forget()

    def forget(self) -> None:
        """Go back to the state without answers."""
        self._is_answered = np.zeros(len(self._bands), dtype=bool)
        self._reached = [0] * len(self._rows)
        self._n_answered = [0] * len(self._rows)

    def answer(self, rows: Iterable[int]) -> None:
        """Mark rows as answered."""
        for row in rows:
            band = int(self._bands[row])
            if self._is_answered[row]:
                continue
            self._is_answered[row] = True
            if band >= len(self._rows):
                continue
            self._n_answered[band] += 1
            mine, place = self._rows[band], self._reached[band]
            while place < len(mine) and self._is_answered[mine[place]]:
                place += 1
            self._reached[band] = place

    def prefix(self, bands: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return the rows of some bands, in the order of their clocks, up to the first without an answer.

        The second value says whether these are all rows of the bands.
        """
        open_clocks = [
            self._clocks[band][self._reached[band]] for band in bands if self._reached[band] < len(self._rows[band])
        ]
        frontier = min(open_clocks, default=np.inf)
        ends = [int(np.searchsorted(self._clocks[band], frontier)) for band in bands]
        rows = np.concatenate(
            [np.empty(0, dtype=np.intp), *(self._rows[b][:e] for b, e in zip(bands, ends, strict=True))]
        )
        clocks = np.concatenate([np.empty(0), *(self._clocks[b][:e] for b, e in zip(bands, ends, strict=True))])
        return rows[np.argsort(clocks, kind="stable")], not open_clocks

    def next_rows(self, bands: np.ndarray, n: int) -> list[int]:
        """Return the first n rows of some bands without an answer, in the order of their clocks."""
        rows, clocks = [np.empty(0, dtype=np.intp)], [np.empty(0)]
        for band in bands:
            start = self._reached[band]
            part = slice(start, start + n + self._n_answered[band] - start)
            is_open = ~self._is_answered[self._rows[band][part]]
            rows.append(self._rows[band][part][is_open][:n])
            clocks.append(self._clocks[band][part][is_open][:n])
        order = np.argsort(np.concatenate(clocks), kind="stable")[:n]
        return [int(row) for row in np.concatenate(rows)[order]]


class AnswerLog:
    """Answers by row: 1 positive, 0 negative, NaN "don't know"; each with its time, and a log of corrections.

    With `classes`, people answer with class labels, of which `pos_label` is the positive one; without, with 1 and 0.
    """

    def __init__(self, n_rows: int, classes: Sequence[Any] | None, pos_label: Any):
        self.n_rows = n_rows
        self.classes = None if classes is None else [plain_label(one) for one in classes]
        self.pos_label = plain_label(pos_label)
        self.codes: dict[int, float] = {}
        self.labels: dict[int, Any] = {}  # as they were given: of several negative classes, which
        self.times: dict[int, str] = {}
        self.corrections: list[dict[str, Any]] = []

    def add(self, rows: Sequence[Any], answers: Sequence[Any]) -> None:
        """Take answers, all of them or, if one is refused, none."""
        if len(rows) != len(answers):
            raise ValueError(
                f"Got {counted(len(rows), 'row')} and {counted(len(answers), 'answer')}: give one answer per row."
            )
        coded = [(self._number(row), self._code(row, answer)) for row, answer in zip(rows, answers, strict=True)]
        now = time_now()
        for (row, code), answer in zip(coded, answers, strict=True):
            before = self.codes.get(row)
            self.labels[row] = None if math.isnan(code) else plain_label(answer)
            if before is not None and _same(before, code):
                continue
            if before is not None:
                self.corrections.append({"row": row, "from": _to_json(before), "to": _to_json(code), "time": now})
            self.codes.pop(row, None)  # the last answer given is the last in order
            self.codes[row], self.times[row] = code, now

    def remove(self, rows: Sequence[Any]) -> None:
        """Take answers back; each is a correction to "no answer"."""
        numbers = [self._number(row) for row in rows]
        for row in (number for number in numbers if number in self.codes):
            before = _to_json(self.codes.pop(row))
            self.corrections.append({"row": row, "from": before, "to": NO_ANSWER, "time": time_now()})
            del self.times[row], self.labels[row]

    def as_lists(self) -> list[list[Any]]:
        """Return [row, answer, time] per answer, with more than two classes also the label, as plain JSON values."""
        has_labels = len(self.classes or ()) > 2
        return [
            [row, _to_json(code), self.times[row], *([self.labels[row]] if has_labels else [])]
            for row, code in self.codes.items()
        ]

    def read_lists(self, lists: list[list[Any]], corrections: list[dict[str, Any]]) -> None:
        """Take what `as_lists` wrote, and the log of corrections."""
        others = [one for one in self.classes or [1, 0] if one != self.pos_label]
        for row, code, time, *label in lists:
            self.codes[self._number(row)] = math.nan if code is None else float(code)
            self.times[row] = time
            positive, negative = (1, 0) if self.classes is None else (self.pos_label, others[0])
            self.labels[row] = label[0] if label else {1: positive, 0: negative}.get(code)
        self.corrections = corrections

    def _number(self, row: Any) -> int:
        is_number = isinstance(row, int | np.integer) and not isinstance(row, bool)
        if not is_number or not 0 <= row < self.n_rows:
            raise ValueError(f"There is no row {row!r} in the pool: row numbers are from 0 to {self.n_rows - 1}.")
        return int(row)

    def _code(self, row: Any, answer: Any) -> float:
        plain = plain_label(answer)
        if plain is None or (isinstance(plain, float) and math.isnan(plain)):
            return math.nan
        if self.classes is not None:
            if plain not in self.classes:
                raise ValueError(f"Row {row}: {plain!r} is not a class; there are {self.classes}, and None if unknown.")
            return float(plain == self.pos_label)
        if plain not in (0, 1):
            raise ValueError(f"Row {row}: an answer is 1 (positive), 0 (negative) or None (don't know), got {plain!r}.")
        return float(plain)


def plain_label(label: Any) -> Any:
    """Return a label as a Python value."""
    return label.item() if isinstance(label, np.generic) else label


def time_now() -> str:
    """Return the time as text, with its zone."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _to_json(code: float) -> int | None:
    return None if math.isnan(code) else int(code)


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
