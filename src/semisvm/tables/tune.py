"""C and gamma of the kernel by cross-validation of the supervised machine, for `--tune`.

The labels alone decide, which is fast and favors no semi-supervised method; what is found serves them all. Among
equally good values the smaller C and gamma are taken: the smoother machine.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from semisvm.estimators.registry import find_method
from semisvm.kernels import make_formula
from semisvm.tables.compare import try_method
from semisvm.tables.cross import Bench, StoppedError
from semisvm.tables.methods import Settings
from semisvm.tables.progress import Tell, say_nothing

FACTORS_OF_GAMMA = (0.1, 1.0, 10.0)
VALUES_OF_C = (0.1, 1.0, 10.0, 100.0)


def tune(bench: Bench, settings: Settings, tell: Tell = say_nothing) -> Settings:
    """Return the settings with the C (and gamma) that predict held-out labels best; Ctrl-C takes the best so far."""
    candidates = [replace(settings, C=C, gamma=gamma) for gamma in _gammas(bench.X, settings) for C in VALUES_OF_C]
    supervised = find_method("supervised")
    best, found = -np.inf, settings
    for number, candidate in enumerate(candidates):
        tell("Tuning C and the kernel", number, len(candidates), "settings")
        try:
            merit = try_method(supervised, candidate, bench).merit.mean
        except (StoppedError, KeyboardInterrupt):
            break
        if merit > best + 1e-12:
            best, found = merit, candidate
    return found


def _gammas(X: Any, settings: Settings) -> list[Any]:
    if settings.kernel == "linear":
        return [settings.gamma]
    scale = make_formula(settings.kernel, X, gamma="scale").gamma
    return [factor * scale for factor in FACTORS_OF_GAMMA]
