"""Every method beside the supervised baseline, on the same folds; and the choice that `--method auto` makes of it.

The choice is Breiman's one-standard-error rule: of the methods within one standard error of the best, the simplest,
where the supervised machine is the simplest of all. So a semi-supervised method is only chosen where one of them is
better than the labels alone by more than a standard error. That is a hint, no proof: the verdict has the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from semisvm.decision import Estimate, OperatingPoint
from semisvm.estimators.registry import NAMES, Method, find_method
from semisvm.tables.cross import Bench, CrossFit, StoppedError, cross_fit
from semisvm.tables.merit import ACCURACY, CONFIDENCE, COST, Merit, judge
from semisvm.tables.methods import Settings, why_not
from semisvm.tables.operating import decide, place
from semisvm.tables.progress import Tell, say_nothing

BASELINE = "supervised"


@dataclass(frozen=True)
class Entry:
    """One method on the bench."""

    method: Method
    cross: CrossFit
    merit: Merit
    points: dict[int, OperatingPoint]

    @property
    def reaches(self) -> bool:
        return all(point.reached for point in self.points.values())


@dataclass
class Comparison:
    """What came of it: `entries` in the order of the methods, `left_out` {name: why}, `chosen` by the rule above."""

    measure: str
    entries: list[Entry] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    was_stopped: bool = False

    @property
    def baseline(self) -> Entry:
        return next(entry for entry in self.entries if entry.method.name == BASELINE)

    @property
    def best(self) -> Entry:
        """The one with the largest merit; where a target is asked for, among those that reach it."""
        reaching = [entry for entry in self.entries if entry.reaches] or self.entries
        return max(reaching, key=lambda entry: entry.merit.mean)

    @property
    def best_other(self) -> Entry | None:
        """The best method that uses the unlabeled rows."""
        others = [entry for entry in self.entries if entry.method.name != BASELINE]
        return max(others, key=lambda entry: entry.merit.mean, default=None)

    @property
    def chosen(self) -> Entry:
        best = self.best
        good = [e for e in self.entries if self._is_near(e, best) and (e.reaches or not best.reaches)]
        return min(good, key=lambda entry: NAMES.index(entry.method.name))

    def _is_near(self, entry: Entry, best: Entry) -> bool:
        """Whether it is within one standard error, of the best or of their difference: a best without a fault has
        hardly any of its own.
        """
        error = max(best.merit.error, best.merit.error_of_gap(entry.merit))
        return entry.merit.mean >= best.merit.mean - error

    def difference(self, entry: Entry) -> Estimate:
        """How much better than the supervised machine, on the same rows."""
        return entry.merit.minus(self.baseline.merit)

    def verdict(self) -> str:
        """Whether the unlabeled rows help, in a sentence or two."""
        best = self.best_other
        if best is None:
            return "Only the supervised machine was fitted: nothing can be said about the unlabeled rows."
        gap, n_others = self.difference(best), len(self.entries) - 1
        seen = (
            f"the best method that uses them, {best.method.name}, has a {self.measure} of {self._show(best)} against "
            f"{self._show(self.baseline)} supervised (a gain of {gap.value:+.3f}, {CONFIDENCE:.0%} interval "
            f"{gap.low:+.3f} to {gap.high:+.3f})"
        )
        if gap.low > 0:
            told = f"The unlabeled rows help: {seen}."
            return told + (f" It is the best of {n_others}, which flatters it." if n_others > 1 else "")
        if gap.high < 0:
            return f"The unlabeled rows harm here: {seen}."
        return f"The labels can't tell whether the unlabeled rows help: {seen}."

    def why(self) -> str:
        """Why the chosen method was chosen."""
        best, chosen = self.best, self.chosen
        if best is chosen:
            return f"It has the best {self.measure} of {len(self.entries)} methods compared ({self._show(best)})."
        return (
            f"It is the simplest method within one standard error of the best ({best.method.name}: {self.measure} "
            f"{self._show(best)}, standard error {best.merit.error:.3f}; this one {self._show(chosen)}"
            + ("" if chosen is self.baseline else f", supervised {self._show(self.baseline)}")
            + ")."
        )

    def _show(self, entry: Entry) -> str:
        return f"{abs(entry.merit.mean):.3f}"

    def as_dict(self) -> dict[str, Any]:
        """The whole as plain JSON values."""
        return {
            "measure": self.measure,
            "methods": [
                {
                    "name": entry.method.name,
                    "merit": _plain(entry.merit.estimate()),
                    "standard_error": entry.merit.error,
                    "difference": _plain(self.difference(entry)),
                    "reaches_target": entry.reaches,
                    "seconds": entry.cross.seconds,
                    "complaints": list(entry.cross.complaints),
                }
                for entry in self.entries
            ],
            "left_out": self.left_out,
            "chosen": self.chosen.method.name,
            "verdict": self.verdict(),
            "was_stopped": self.was_stopped,
        }


def compare_methods(bench: Bench, settings: Settings, methods: Sequence[str], tell: Tell = say_nothing) -> Comparison:
    """Compare the methods of these names, the supervised baseline first whether named or not."""
    comparison = Comparison(ACCURACY if settings.costs is None else COST)
    names = [BASELINE, *(name for name in methods if name != BASELINE)]
    for number, method in enumerate(map(find_method, names)):
        tell_of_it = partial(_tell_with, tell, f" (method {number + 1} of {len(names)})")
        reason = why_not(method, bench.X, settings)
        if reason:
            comparison.left_out[method.name] = reason
            continue
        try:
            comparison.entries.append(try_method(method, settings, bench, tell_of_it))
        except (StoppedError, KeyboardInterrupt):
            if not comparison.entries:
                raise KeyboardInterrupt from None
            comparison.was_stopped = True
            break
        except (ValueError, np.linalg.LinAlgError, MemoryError) as error:
            if method.name == BASELINE:
                raise
            comparison.left_out[method.name] = str(error).split("\n")[0]
    return comparison


def try_method(method: Method, settings: Settings, bench: Bench, tell: Tell = say_nothing) -> Entry:
    """Cross-fit one method and judge its predictions."""
    cross = cross_fit(method, settings, bench, tell)
    codes = bench.codes[cross.rows]
    points = place(cross.scores, codes, settings, bench.n_classes, may_move=not method.sets_threshold)
    merit = judge(decide(cross.scores, points), codes, bench.n_classes, settings.costs)
    return Entry(method, cross, merit, points)


def _tell_with(tell: Tell, more: str, what: str, *progress: Any) -> None:
    tell(what + more, *progress)


def _plain(estimate: Estimate) -> dict[str, float]:
    return {name: float(value) for name, value in estimate._asdict().items()}
