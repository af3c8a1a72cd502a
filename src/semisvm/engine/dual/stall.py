"""When nothing more is to be expected of a solve; one rule for the CPU and for devices."""

from __future__ import annotations

import math

# From so many steps on (for each variable, if that is more), each doubling of the number of steps
# must bring the least gap below LEAST_GAIN of what it was.
STEPS_BEFORE_STALL, STEPS_PER_VARIABLE, LEAST_GAIN = 100_000, 100, 0.9
ROUNDING = 4 * 2.0**-52  # of the largest gradient: a smaller gap is none


class Stall:
    """Ends a solve whose gap is rounding, or whose gap twice as many steps have hardly reduced."""

    def __init__(self, n_variables: int):
        self.least, self.before = math.inf, math.inf
        self.compare_at: float = max(STEPS_BEFORE_STALL, STEPS_PER_VARIABLE * n_variables)

    def has_come(self, n_iter: float, gap: float, largest_gradient: float) -> bool:
        """Whether to end the solve, asked every now and then."""
        if gap <= ROUNDING * largest_gradient:
            return True
        self.least = min(self.least, gap)
        if n_iter >= self.compare_at:
            if not self.least < LEAST_GAIN * self.before:
                return True
            self.before, self.least = self.least, math.inf
            self.compare_at = 2 * n_iter
        return False
