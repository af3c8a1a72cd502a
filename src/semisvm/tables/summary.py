"""What a fit found: the one record that the screen, the report and --json are made from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from semisvm.threshold.binomial import estimate_rate


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval at 95%."""

    value: float
    low: float
    high: float

    @classmethod
    def of_share(cls, hits: int, n: int) -> Interval | None:
        """A share of n rows, with the exact interval; None where there is no row."""
        if not n:
            return None
        return cls(*estimate_rate(hits, n, 0.95))

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Summary:
    """What a fit found.

    Attributes
    ----------
    data, target : str
        The file, and its column of labels.
    classes : list of str
        The classes; with two of them the positive one is the last.
    positive : str or None
        The class that is accepted; None with more than two classes.
    labels : dict of {str: int}
        How many rows have each label.
    n_unlabeled : int
        How many rows have none.
    columns : dict of {str: str}
        What each column in use was read as: number, date, category, text.
    left_out : dict of {str: str}
        The other columns, each with the reason.
    remarks : dict of {str: str}
        What a person should know about how the cells of a column were read.
    method, wants : str
        The method, and what the threshold was chosen for: "precision at least 0.8".
    is_reached : bool
        Whether left-out labels reach it at any threshold.
    figures : dict of {str: Interval}
        Precision and recall, or the share of rows that are right, on labels left out of the fit.
    gain : Interval or None
        The ROC AUC minus that of a supervised SVM of the same labels; None if it can't be measured.
    scores : list of float
        Scores of some rows without a label.
    weights : dict of {str: float}
        The weights of the parts of an average; empty for other methods.
    seconds : float
        How long the fit took.
    unlabeled : str
        What marks rows without a label, besides empty cells.
    """

    data: str
    target: str
    classes: list[str]
    positive: str | None
    labels: dict[str, int]
    n_unlabeled: int
    columns: dict[str, str]
    left_out: dict[str, str]
    remarks: dict[str, str]
    method: str
    wants: str
    is_reached: bool
    figures: dict[str, Interval]
    gain: Interval | None = None
    scores: list[float] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    unlabeled: str = ""

    def n_columns(self) -> dict[str, int]:
        """How many columns there are of each type."""
        types = list(self.columns.values())
        return {type_: types.count(type_) for type_ in dict.fromkeys(types)}

    def as_dict(self) -> dict[str, Any]:
        """The record as JSON takes it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Summary:
        """The record that `as_dict` gave."""
        figures = {name: Interval(**value) for name, value in content["figures"].items()}
        gain = Interval(**content["gain"]) if content["gain"] else None
        return cls(**{**content, "figures": figures, "gain": gain})
