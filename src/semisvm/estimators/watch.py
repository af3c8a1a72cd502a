"""Watching a fit: scikit-learn's callbacks, `verbose`, and the wish to stop.

The tasks of a fit form a tree that scikit-learn's callbacks walk: the fit, its binary problems, and in each the looks
that the solver (or the rounds of a method) takes at its progress, several a second.
"""

import time
from typing import Any

SECONDS_BETWEEN_LINES = 1.0


class Watch:
    """One binary problem being solved, as seen by callbacks and by the user at the terminal."""

    def __init__(self, estimator, context, name: str):
        self.estimator, self.context, self.name = estimator, context, name
        self.began = self.spoke = time.perf_counter()

    def look(self, n_iter: int, gap: float) -> bool:
        """Tell of progress within a solve; a callback of `semisvm.dual.solve`: true ends the solve."""
        now = time.perf_counter()
        if self.estimator.verbose and now - self.spoke >= SECONDS_BETWEEN_LINES:
            self.spoke = now
            print(f"[{self.name}] {n_iter} steps, gap {gap:.2e}, {now - self.began:.1f} s", flush=True)
        return self._task_done("look")

    def round_done(self, record: dict[str, Any]) -> bool:
        """Tell that a round of a method is complete; true when the fit is to stop there."""
        if self.estimator.verbose:
            print_record(self.name, record)
        return self._task_done("round")

    def _task_done(self, name: str) -> bool:
        step = self.context.subcontext(task_name=name)
        step.call_on_fit_task_begin(estimator=self.estimator)
        return step.call_on_fit_task_end(estimator=self.estimator)


def print_record(name: str, record: dict[str, Any]) -> None:
    """One line for people."""
    facts = ", ".join(f"{key} {_short(value)}" for key, value in record.items())
    print(f"[{name}] {facts}", flush=True)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
