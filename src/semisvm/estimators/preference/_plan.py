"""The draws of a fit by the preference methods, and what comes of one binary problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from semisvm.decision import Counts, OperatingPoint
from semisvm.decision.audit import Audit
from semisvm.decision.counts import f_score, precision, recall
from semisvm.estimators.progress import RoundRecord
from semisvm.model_selection.cross_fit import assign_folds

N_CALIBRATION_FOLDS = 5
N_DRAWS = 3  # with few labels much of the noise comes from the draw of the folds
ENOUGH_LABELS = 300  # from here on there is one draw of folds: three take three times as long
POOL_SIZE = 10_000  # most unlabeled rows that are considered for training: a bound on the time


def draw_pool(n_unlabeled: int, random_state: Any) -> np.ndarray | None:
    """Which of so many unlabeled rows are considered for training, ascending; None: all of them.

    The draw depends on their number alone, so that it is the same where the rows are not in memory.
    """
    if n_unlabeled <= POOL_SIZE:
        return None
    own = np.random.default_rng(check_random_state(random_state).randint(2**31))
    return np.sort(own.choice(n_unlabeled, POOL_SIZE, replace=False))


def draw_folds(sign: np.ndarray, *, n_draws: int | None = None, seed: int = 0) -> np.ndarray:
    """Deal the labeled rows out to folds several times: (draws, n), -1 for unlabeled rows.

    n_draws None: three draws with fewer than ENOUGH_LABELS labels, else one. A class with fewer
    rows than folds makes the folds fewer.
    """
    sign = np.asarray(sign)
    codes = np.where(sign > 0, 0, np.where(sign < 0, 1, -1))
    if n_draws is None:
        n_draws = N_DRAWS if np.count_nonzero(sign) < ENOUGH_LABELS else 1
    rng = np.random.default_rng(seed)
    return assign_folds(
        codes, N_CALIBRATION_FOLDS, rng=rng, n_draws=n_draws, every_class_in_every_fold=True
    )


@dataclass(frozen=True)
class Outcome:
    """What a method learned about one class against the rest.

    model                the trained classifier, as its learner keeps it
    values               (n,) its decision values of all rows, without the threshold
    point                the operating point, with the threshold
    audit                the steps that led to it (`semisvm.decision.audit`)
    calibration_scores   (m,) the scores that the threshold was chosen on
    calibration_sign     (m,) the true signs of these rows
    is_held_out          whether those scores come from machines that were not trained on these rows
    labeled_in           (n,) the round that gave each row its last soft label; 0 for the user's
                         labels, -1 for none
    fair_scores          (n,) scores for the fair-sample check, of labeled and unlabeled rows by
                         machines that were not trained on them; NaN for other rows. None where
                         there are none
    ended                "cycle" or "max_rounds"; None where the method converged
    """

    model: Any
    values: np.ndarray
    point: OperatingPoint
    audit: Audit
    calibration_scores: np.ndarray
    calibration_sign: np.ndarray
    is_held_out: bool
    labeled_in: np.ndarray
    fair_scores: np.ndarray | None = None
    ended: str | None = None


class Run(Protocol):
    """The work on one binary problem: `CrossFitted`, or the rounds of the paper."""

    def run(self) -> None: ...

    def outcome(self, unfinished: tuple[Any, np.ndarray] | None = None) -> Outcome: ...

    def mark_chosen(self, history: list[RoundRecord]) -> list[RoundRecord]: ...


def measures_at(counts: Counts, prefix: str = "") -> dict[str, float]:
    """Precision, recall and F1, for the record of a round."""
    found = {"precision": precision(counts), "recall": recall(counts), "f_score": f_score(counts)}
    return {prefix + name: float(value) for name, value in found.items()}
