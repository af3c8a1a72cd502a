"""What each round did: a small chart for each figure of `history_` that changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from semisvm.report.displays.canvas import BLUE, pyplot
from semisvm.report.displays.fitted import last_step
from semisvm.report.rounds import changing_columns, is_candidates


class RoundsDisplay:
    """The records of a fit's rounds as small charts; made by `from_estimator`.

    Parameters
    ----------
    rounds : a record a round, as in `history_`.

    Attributes
    ----------
    columns : {name: {problem: [(round, value), ...]}} of the figures that change from round to round.
    axes_, figure_ : the matplotlib axes, one a column, and their figure, after `plot`.
    """

    def __init__(self, rounds: Sequence[Mapping[str, Any]]) -> None:
        self.rounds = list(rounds)
        self.columns = changing_columns(self.rounds)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, columns: Sequence[str] | None = None, axes: Any = None, **line: Any
    ) -> RoundsDisplay:
        """Draw the rounds of a fitted estimator, or of the last step of a Pipeline.

        Parameters
        ----------
        estimator : estimator
            Fitted, with a `history_`.
        columns : list of str, optional
            Which figures to draw; by default all that change.
        axes : matplotlib axes, optional
            As many as columns; by default new ones.
        **line : dict
            Passed to matplotlib's `plot`.
        """
        check_is_fitted(estimator)
        final = last_step(estimator)
        if not hasattr(final, "history_"):
            raise ValueError(f"{type(final).__name__} keeps no record of its rounds (history_).")
        return cls(final.history_).plot(columns=columns, axes=axes, **line)

    def plot(self, *, columns: Sequence[str] | None = None, axes: Any = None, **line: Any) -> RoundsDisplay:
        """Draw on `axes`, or on new ones."""
        names = list(self.columns) if columns is None else list(columns)
        unknown = [name for name in names if name not in self.columns]
        if unknown or not names:
            told = f"no figure called {unknown[0]!r} changes" if unknown else "no figure changes"
            raise ValueError(f"{told} over these {len(self.rounds)} rounds; those that do: {list(self.columns)}.")
        if axes is None:
            wide = min(3, len(names))
            rows = -(-len(names) // wide)
            grid = pyplot().subplots(rows, wide, squeeze=False, figsize=(3.4 * wide, 2.4 * rows), layout="constrained")
            axes = grid[1].ravel()
            for spare in axes[len(names) :]:
                spare.remove()
            axes = axes[: len(names)]
        self.axes_ = np.atleast_1d(axes)
        if self.axes_.size != len(names):
            raise ValueError(f"axes must be {len(names)} axes, one a figure, got {self.axes_.size}.")
        for ax, name in zip(self.axes_, names, strict=True):
            lines = self.columns[name]
            for problem, points in lines.items():
                look = {"marker": "."} | ({"color": BLUE} if len(lines) == 1 else {"label": problem})
                ax.plot(*zip(*points, strict=True), **(look | line))
            ax.set(title=name.replace("_", " "), xlabel="candidate" if is_candidates(self.rounds) else "round")
        if len(self.columns[names[0]]) > 1:
            self.axes_[0].legend()
        self.figure_ = self.axes_[0].figure
        return self
