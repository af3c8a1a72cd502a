"""What a fit reports: one record per round, scikit-learn's callbacks, `verbose`, requests to stop,
and warnings.

scikit-learn's callbacks walk a tree of tasks: the fit, its binary problems, and the looks that the
solver takes at its progress.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from sklearn.exceptions import ConvergenceWarning

from semisvm.columns.arrays import very_different_ranges
from semisvm.dual import Status
from semisvm.sklearn_private import start_callbacks

if TYPE_CHECKING:
    from semisvm.estimators.binary import MethodFit
    from semisvm.estimators.problem import TrainingProblem
    from semisvm.estimators.streams import StreamProblem

# Every value that `termination_condition_` can have. The first six are those of the solver
# (`dual.Status`).
TerminationCondition = Literal[
    "converged",  # the tolerance is met, and the labels that the method gave stay as they are
    "max_iter",  # the limit of solver steps
    "time_limit",  # the limit of seconds
    "interrupted",  # Ctrl-C
    "stopped_by_callback",
    "stalled",  # more steps hardly help, often because of rounding
    "max_rounds",  # the method's limit of rounds
    "cycle",  # an earlier labeling came back
    "margin_empty",  # no unlabeled row is left inside the margin: how PTSVM should end
]


@dataclass(frozen=True)
class RoundRecord:
    """One round of a fit.

    Attributes
    ----------
    problem : str
        The binary problem, for people: "spam vs rest".
    round : int
        The number of the round within its problem, from 0.
    n_iter : int
        Solver steps of the problem so far.
    gap : float
        The gap of the round's solution.
    seconds : float
        Seconds since the problem began.
    objective : float or None
        The value of the method's objective, where it has one.
    details : dict
        What only this method reports, such as the number of labels that changed.
    """

    problem: str
    round: int = 0
    n_iter: int = 0
    gap: float = 0.0
    seconds: float = 0.0
    objective: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the record as one flat dictionary, `details` merged in."""
        own = {name: value for name, value in vars(self).items() if name != "details"}
        return own | self.details

    def with_details(self, **more: Any) -> RoundRecord:
        """Return a copy with more details."""
        return replace(self, details=self.details | more)


SECONDS_BETWEEN_LINES = 1.0
SECONDS_TO_INSIST = 1.0  # two Ctrl-C within this time mean: end everything
_interrupted_at = -math.inf  # when Ctrl-C last ended a fit of this process


class Watch:
    """One binary problem, or one whole fit, as callbacks and the user at the terminal see it."""

    def __init__(self, estimator: Any, context: Any, name: str, verbose: bool):
        self.estimator = estimator
        self.context = context
        self.name = name
        self.verbose = verbose
        self.began = self.last_line = time.perf_counter()
        # Set once the task has ended: whether a callback asked the fit to end here.
        self.was_stopped = False

    def record(self, **numbers: Any) -> RoundRecord:
        """The record of a round that ends now."""
        return RoundRecord(problem=self.name, seconds=time.perf_counter() - self.began, **numbers)

    def look(self, n_iter: int, gap: float | None = None) -> bool:
        """Report progress within a solve, or a round of trainings; true ends it."""
        now = time.perf_counter()
        if self.verbose and now - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = now
            what = f"{n_iter} trainings" if gap is None else f"{n_iter} steps, gap {gap:.2e}"
            print(f"[{self.name}] {what}, {now - self.began:.1f} s", flush=True)
        return self._report("look")

    def round_done(self, record: RoundRecord) -> bool:
        """Report that a round is complete; true when the fit has to stop there."""
        if self.verbose:
            print_record(record)
        return self._report("round")

    def _report(self, name: str) -> bool:
        if self.context is None:
            return False
        step = self.context.subcontext(task_name=name)
        step.call_on_fit_task_begin(estimator=self.estimator)
        return step.call_on_fit_task_end(estimator=self.estimator)


@dataclass
class Progress:
    """The callbacks and the terminal of one fit; without an estimator, silent."""

    estimator: Any = None
    _root: Any = field(default=None, repr=False)
    _said: set[str] = field(default_factory=set, repr=False)

    def say_once(self, line: str) -> None:
        """Print a line, unless this fit has printed it."""
        if line not in self._said:
            self._said.add(line)
            print(line, flush=True)

    @contextmanager
    def whole_fit(self, name: str, max_subtasks: int | None = None) -> Iterator[Watch]:
        """The whole fit as one task."""
        if self.estimator is not None:
            self._root = start_callbacks(self.estimator, max_subtasks)
        yield from self._task(self._root, name)

    @contextmanager
    def one_problem(self, name: str) -> Iterator[Watch]:
        """One binary problem as a part of the fit that is under way."""
        context = (
            None if self._root is None else self._root.subcontext(task_name=name, max_subtasks=None)
        )
        yield from self._task(context, name)

    def _task(self, context: Any, name: str) -> Iterator[Watch]:
        watch = Watch(
            self.estimator, context, name, verbose=getattr(self.estimator, "verbose", False)
        )
        if context is not None:
            context.call_on_fit_task_begin(estimator=self.estimator)
        yield watch
        if context is not None:
            watch.was_stopped = bool(context.call_on_fit_task_end(estimator=self.estimator))


def warn_caller(warning: Warning) -> None:
    """Warn, and point at the line outside of semisvm and scikit-learn that called."""
    level = 1
    frame = sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(("semisvm", "sklearn")):
        level += 1
        frame = frame.f_back
    warnings.warn(warning, stacklevel=level)


def warn_of_scales(estimator: Any, X: Any) -> None:
    """Warn if a few columns of wide range dominate the distances: kernels do not scale columns."""
    ranges = very_different_ranges(X)
    if ranges is None:
        return
    narrow, wide, ratio = ranges
    name = type(estimator).__name__
    names = getattr(estimator, "feature_names_in_", None)
    of_narrow, of_wide = (
        f"column {j}" if names is None else repr(names[j]) for j in (narrow, wide)
    )
    warn_caller(
        UserWarning(
            f"The columns of X have very different scales: the range of {of_wide} is {ratio:,.0f}"
            f" times that of {of_narrow}, so {name} hardly uses the narrow ones. Scale them:"
            f" make_pipeline(StandardScaler(), {name}())."
        )
    )


def pass_interrupt_on(estimator: Any) -> None:
    """Raise KeyboardInterrupt after a fit that Ctrl-C ended, if it is of a clone: a grid search or
    an ensemble would else begin the next one. A second Ctrl-C within a second is always passed on.
    """
    global _interrupted_at
    before = _interrupted_at
    _interrupted_at = time.monotonic()
    if _interrupted_at - before < SECONDS_TO_INSIST or getattr(estimator, "_is_clone", False):
        raise KeyboardInterrupt


# Details that are only in `history_`: parts of a candidate's name and of its result.
_NOT_PRINTED = {"is_half", "n_rounds", "share", "trainings", "value"}


def print_record(record: RoundRecord) -> None:
    """Print one line for people: what is known of the round, without what it does not have."""
    numbers = {"steps": record.n_iter, "gap": record.gap, "objective": record.objective}
    words = ", ".join(
        f"{name.replace('_', ' ')} {_short(value)}"
        for name, value in (numbers | record.details).items()
        if name not in _NOT_PRINTED and value is not None
    )
    print(f"[{record.problem}] round {record.round}, {record.seconds:.1f} s: {words}", flush=True)


def _short(value: Any) -> str:
    if isinstance(value, tuple | list):
        return " to ".join(map(_short, value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def ended_early(problem: TrainingProblem | StreamProblem, found: MethodFit) -> list[Warning]:
    """The warning that the solver ended early; empty if it converged."""
    worst = found.worst
    if worst.status is Status.CONVERGED:
        return []
    n_open = sum(fit.status is not Status.CONVERGED for fit in found.fits)
    return [
        ConvergenceWarning(
            f"{problem.name} ended early ({worst.status}) in {n_open} of {len(found.fits)} binary"
            f" problems after {sum(fit.n_iter for fit in found.fits)} steps, with a gap of"
            f" {worst.gap:.2g}, above tol={problem.limits.tol:g}."
            f" {_USABLE if worst.gap < 0.5 else _UNRELIABLE} {_remedy(problem, found)}"
        )
    ]


def _remedy(problem: TrainingProblem | StreamProblem, found: MethodFit) -> str:
    """What to do about a fit that ended early."""
    has_primal_form = (
        not found.is_primal
        and found.formula.name == "linear"
        and hasattr(problem.progress.estimator, "solver")
    )
    if found.worst.status is Status.STALLED and has_primal_form:
        return "More steps hardly help: pass solver='primal', or scale the features."
    return _REMEDY[found.worst.status]


_USABLE = "The model is usable but not optimal."
_UNRELIABLE = "A gap above 0.5 is large: do not rely on the model."

_REMEDY = {
    Status.MAX_ITER: "Raise max_iter, or leave it at None.",
    Status.TIME_LIMIT: "Raise time_limit, or leave it at None.",
    Status.INTERRUPTED: "Fit again without interrupting to finish it.",
    Status.STOPPED: "A callback asked to stop.",
    Status.STALLED: "More steps hardly help: scale the features, lower C, or raise tol.",
}
