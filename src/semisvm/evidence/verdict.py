"""The outcome of a campaign: what is promised, about which rows, and what more would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from semisvm.evidence.procedure import Forecast


@dataclass(frozen=True)
class Verdict:
    """What the answers so far prove. Print it for one line of text.

    Attributes
    ----------
    certified : bool
        Whether the promise is made for any row that nobody labeled.
    about : {"unseen", "returned", "new rows", "recall", "max_error"}
        The kind of promise.
    level, confidence : float
        The share that is promised, and the probability that the promise holds.
    n_rows : int
        Rows of the pool.
    n_labels : int
        Rows that people answered ("don't know" too).
    n_unseen : int
        Rows that are accepted without having been looked at. For a recall: rows that nobody needs
        to read.
    n_unseen_right : int
        How many of these are right at least; 0 where the promise does not say so.
    n_found : int
        Rows that people found positive (for machine labels: found right).
    n_open : int
        Rows that are left for people.
    threshold : float or None
        The lowest score among the accepted rows. For a recall: the highest score among the rows
        that nobody needs to read.
    forecast : Forecast or None
        What more labels are expected to bring: `n_labels` more, and `n_rows` covered then.
    stop : str
        Why no more rows are drawn; "" while there are rows to draw.
    classes : dict of {class: Verdict}
        The verdict of each class, for promises per class.
    outcome : {"positive", "right"}
        What is promised of rows: of machine labels, that they are right.
    """

    certified: bool
    about: str
    level: float
    confidence: float
    n_rows: int
    n_labels: int
    n_unseen: int
    n_unseen_right: int
    n_found: int
    n_open: int
    threshold: float | None
    forecast: Forecast | None
    stop: str
    classes: dict[Any, Verdict]
    outcome: str = "positive"

    def __str__(self) -> str:
        return " ".join(filter(None, [self.promise(), self.next_step()]))

    def promise(self) -> str:
        """Return what is promised, about which rows, in one sentence."""
        if self.classes:
            return " ".join(f"{name}: {one.promise()}" for name, one in self.classes.items())
        return (_CERTIFIED if self.certified else _NOT_YET)[self.about].format(**self._words())

    def next_step(self) -> str:
        """Return what more labels would bring, or why there are no more to ask for."""
        if self.stop:
            return self.stop
        if self.forecast is None:
            return ""
        unit = "rows that nobody needs to read" if self.about == "recall" else "unseen rows"
        return (
            f"Expected: {self.forecast.n_rows:,} {unit} after {_counted(self.forecast.n_labels)}"
            " more."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values, with the sentence as `text`."""
        values = asdict(self)
        values["classes"] = {str(name): one.as_dict() for name, one in self.classes.items()}
        return {**values, "text": str(self)}

    def _words(self) -> dict[str, str]:
        n_wrong = self.n_unseen - self.n_unseen_right
        return {
            "sure": f"{100 * self.confidence:.4g}%",
            "level": f"{100 * self.level:.4g}%",
            "rows": f"{self.n_rows:,}",
            "labels": _counted(self.n_labels),
            "unseen": f"{self.n_unseen:,}",
            "right": f"{self.n_unseen_right:,}",
            "wrong": f"{n_wrong:,}",
            "found": f"{self.n_found:,}",
            "open": f"{self.n_open:,}",
            "outcome": self.outcome,
            "both": f"{self.n_unseen + self.n_found:,}",
        }


_CERTIFIED = {
    "unseen": (
        "Certified with {sure} confidence after {labels}: of {unseen} rows that nobody looked at,"
        " at least {right} ({level}) are {outcome}. People found {found} more."
    ),
    "returned": (
        "Certified with {sure} confidence after {labels}: at least {level} of {both} rows are"
        " positive: {found} that people found, and {unseen} unseen, of which at least {right}."
    ),
    "new rows": (
        "Certified with {sure} confidence after {labels}: of new rows from the same source whose"
        " scores reach the threshold, at least {level} are positive. {unseen} open rows of the"
        " pool reach it."
    ),
    "recall": (
        "Certified with {sure} confidence after {labels}: {unseen} rows need not be read. The other"
        " {open} open rows and the {found} found hold at least {level} of all positives."
    ),
    "max_error": (
        "Certified with {sure} confidence after {labels}: {unseen} machine labels stay as they are,"
        " of which at most {wrong} are wrong. When people label the {open} open rows, at most"
        " {level} of all {rows} labels are wrong."
    ),
}
_NOT_YET = {
    "unseen": (
        "Nothing is certified after {labels} (wanted: {level} of the accepted unseen rows"
        " {outcome}). People found {found} {outcome}."
    ),
    "returned": (
        "Nothing unseen is certified after {labels} (wanted: {level} of the returned rows"
        " positive). People found {found} positive."
    ),
    "new rows": "Nothing is certified after {labels} (wanted: {level} of new rows positive).",
    "recall": (
        "Nothing is certified after {labels}: all rows have to be read (wanted: {level} of all"
        " positives). People found {found} positive."
    ),
    "max_error": (
        "Nothing is certified after {labels}: people have to label all {open} open rows (wanted:"
        " at most {level} of {rows} labels wrong)."
    ),
}


def _counted(n_labels: int) -> str:
    return f"{n_labels:,} label" + ("" if n_labels == 1 else "s")


def joined(parts: Sequence[tuple[Any, Verdict]], *, n_labels: int, n_open: int) -> Verdict:
    """Return the verdict of several classes together."""
    verdicts = [verdict for _, verdict in parts]
    first = verdicts[0]
    forecasts = [verdict.forecast for verdict in verdicts if verdict.forecast is not None]
    gain = Forecast(
        sum(forecast.n_labels for forecast in forecasts),
        sum(
            verdict.n_unseen if verdict.forecast is None else verdict.forecast.n_rows
            for verdict in verdicts
        ),
    )
    return Verdict(
        certified=any(verdict.certified for verdict in verdicts),
        about=first.about,
        level=first.level,
        confidence=first.confidence,
        n_rows=sum(verdict.n_rows for verdict in verdicts),
        n_labels=n_labels,
        n_unseen=sum(verdict.n_unseen for verdict in verdicts),
        n_unseen_right=sum(verdict.n_unseen_right for verdict in verdicts),
        n_found=sum(verdict.n_found for verdict in verdicts),
        n_open=n_open,
        threshold=None,
        forecast=gain if forecasts else None,
        stop=first.stop,
        classes=dict(parts),
        outcome=first.outcome,
    )
