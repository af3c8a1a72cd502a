"""PSVM as in its paper (Wen, Zhang and Ramamohanarao, CIKM 2014): unlabeled rows are added round by
round while the threshold is found. Algorithm 1:

    L        labels that train
    B        labels that calibrate. L and B are two halves of the labels ("part"), or both are all
             labels ("full").
    S        unlabeled rows with a soft label, none at first

    1  Train on L and S; v are the decision values of all rows.
    2  Find the adjusted threshold d+ on B (below), and d-, the mean of v over the negatives of B.
    3  Measure precision, recall and F1 on B at the thresholds 0 and d+: both are candidates for the
       answer.
    4  Unlabeled rows with v > d+ become +1, and of the others those with v < d- become -1:
           "grow"      only rows that are not in S yet; S never shrinks (INC)
           "rebuild"   S is made again from all unlabeled rows (REC)
    5  Go on with 1 until S does not change, S was there before ("rebuild"), or max_rounds is
       reached. The answer is the candidate with the best F1 among those that meet the preference on
       B; if none meets it, the nearest one.

Without adjusting, d+ = d- = 0, and all unlabeled rows get a label at once.

**The adjusting step** (Section 4.4). If the preference is not met at threshold 0, the threshold
moves just far enough that the calibration rows meet it: up for precision, down for recall. If it is
met, or if there is none:

    "best"    take the threshold with the best F1 among those that meet the preference
    "paper"   raise the smaller of precision and recall to the current value of the larger, moving
              in the same way

The paper's rule overshoots where the curve is steep: precision .95 and recall .39 become recall .95
and precision .42 on IJCNN1. It is kept for the paper's tables; "best" reproduces all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from semisvm.engine import Formula, Solution
from semisvm.sklearn_private import Interval, StrOptions

from ._base import PrimalSVC
from ._binary import BinaryFit, BinaryProblem
from ._estimator import estimator
from ._rounds import Rounds


@estimator
class PaperPreferenceSVC(PrimalSVC):
    """The preference SVM of the paper (PSVM), with its variants; `PreferenceSVC` is better with the
    same labels.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a labeled row on the wrong side of its margin.
    C_unlabeled : float, default=None
        Penalty for a row with a soft label. None: C.
    min_precision, min_recall : float, default=None
        The preference: the least precision or recall of the second class. None: the best F1.
    calibration : {"part", "full"}, default="part"
        Rows on which the threshold is chosen. "part": half of the labels, and the rest train.
        "full": all labels do both, so that estimates are too optimistic.
    pool : {"grow", "rebuild"}, default="grow"
        Whether soft labels are kept once they are assigned (INC in the paper), or assigned again in
        each round (REC).
    adjust : {"best", "paper"} or None, default="best"
        Rule for the threshold above which unlabeled rows are labeled as positive in each round.
        None leaves it at 0 and labels all unlabeled rows at once.
    max_rounds : int, default=20
        Maximum number of trainings.
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws of the fit. Pass an int for reproducible results.

    Attributes
    ----------
    threshold_ : ndarray of shape (n_problems,)
        What is subtracted from the scores; infinite where no row is accepted, or every row.

    References
    ----------
    .. [1] Z. Wen, R. Zhang and K. Ramamohanarao, "Enabling precision/recall preferences for
       semi-supervised SVM training", CIKM 2014. :doi:`10.1145/2661829.2661977`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[np.random.default_rng(0).permutation(len(y))[200:]] = -1  # 200 labels are kept
    >>> model = PaperPreferenceSVC(min_precision=0.95, random_state=0).fit(scale(X), y)
    >>> len(model.threshold_)
    1
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PrimalSVC._parameter_constraints,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), None],
        "min_precision": [Interval(Real, 0, 1, closed="right"), None],
        "min_recall": [Interval(Real, 0, 1, closed="right"), None],
        "calibration": [StrOptions({"part", "full"})],
        "pool": [StrOptions({"grow", "rebuild"})],
        "adjust": [StrOptions({"best", "paper"}), None],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    C_unlabeled: float | None = None
    min_precision: float | None = None
    min_recall: float | None = None
    calibration: Literal["part", "full"] = "part"
    pool: Literal["grow", "rebuild"] = "grow"
    adjust: Literal["best", "paper"] | None = "best"
    max_rounds: int = 20
    random_state: Any = None

    def _fit_binary(self, problem: BinaryProblem) -> BinaryFit:
        rounds = Rounds(problem)
        trains = calibrates = problem.is_labeled
        if self.calibration == "part":
            trains, calibrates = split_labels(problem.sign, self.random_state)
        sign_B = problem.sign[calibrates]
        soft = np.where(trains, problem.sign, 0.0)  # the signs of L and S
        C_unlabeled = self.C if self.C_unlabeled is None else self.C_unlabeled
        seen = {soft.tobytes()}
        candidates: list[Candidate] = []
        ended = "max_rounds"
        for _ in range(self.max_rounds):
            found = rounds.solve(problem.svm(soft, problem.box(soft, self.C, C_unlabeled)))  # 1
            v = rounds.decision_values
            d_plus, d_minus = self._thresholds(v[calibrates], sign_B)  # 2
            for threshold in (0.0, d_plus):  # 3
                goodness = self._preference.goodness(Rates.at(threshold, v[calibrates], sign_B))
                candidates.append(Candidate(goodness, found, threshold))
            candidates = [max(candidates, key=lambda candidate: candidate.goodness)]
            guess = np.where(v > d_plus, 1.0, np.where(v < d_minus, -1.0, 0.0))  # 4
            is_open = ~problem.is_labeled & ((soft == 0) | (self.pool == "rebuild"))
            before, soft = soft, np.where(is_open, guess, soft)
            changed = soft != before
            rounds.label(changed)
            rounds.done(threshold=d_plus, threshold_negative=d_minus, changed=int(changed.sum()))
            if not changed.any() or soft.tobytes() in seen:  # 5
                ended = "cycle" if changed.any() else "converged"
                break
            seen.add(soft.tobytes())
        (answer,) = candidates
        rounds.solution = answer.solution
        scores = answer.solution.decision_values - answer.threshold
        return rounds.fit(scores=scores, facts={"threshold": answer.threshold, "ended": ended})

    def _set_model(self, formula: Formula, fits: list[BinaryFit]) -> None:
        super()._set_model(formula, fits)
        self.threshold_ = np.array([fit.facts["threshold"] for fit in fits])

    def _scores(self, X: Any) -> np.ndarray:
        return super()._scores(X) - self.threshold_

    def _thresholds(self, scores: np.ndarray, sign: np.ndarray) -> tuple[float, float]:
        """d+ and d-, by the calibration rows."""
        if self.adjust is None:
            return 0.0, 0.0
        d_plus = adjusted_threshold(scores, sign, self._preference, self.adjust)
        return d_plus, float(scores[sign < 0].mean())

    @property
    def _preference(self) -> Preference:
        return Preference(self.min_precision or 0.0, self.min_recall or 0.0)


@dataclass(frozen=True)
class Candidate:
    """A model with a threshold, and how good it is on the calibration rows."""

    goodness: tuple[float, float]
    solution: Solution
    threshold: float


@dataclass(frozen=True)
class Rates:
    """What thresholds make of the calibration rows: one number each, or an array for each of many.

    accepted   how many rows have a score above the threshold
    """

    accepted: Any
    precision: Any
    recall: Any
    f1: Any

    @classmethod
    def at(cls, thresholds: Any, scores: np.ndarray, sign: np.ndarray) -> Rates:
        """Of rows with these scores and signs; a precision of no row is NaN."""
        thresholds = np.asarray(thresholds, dtype=np.float64)

        def above(values: np.ndarray) -> np.ndarray:
            return len(values) - np.searchsorted(np.sort(values), thresholds, side="right")

        n_positive = np.count_nonzero(sign > 0)
        true, accepted = above(scores[sign > 0]), above(scores)
        precision = np.where(accepted > 0, true / np.maximum(accepted, 1), np.nan)
        return cls(accepted, precision, true / n_positive, 2 * true / (accepted + n_positive))


@dataclass(frozen=True)
class Preference:
    """The least precision and the least recall that are asked for; 0 where none is."""

    min_precision: float
    min_recall: float

    def shortfall(self, rates: Rates) -> Any:
        """By how much the rates miss the preference, 0 where they meet it."""
        precision = np.nan_to_num(rates.precision, nan=0.0)
        missing = np.maximum(0, self.min_precision - precision)
        return missing + np.maximum(0, self.min_recall - rates.recall)

    def goodness(self, rates: Rates) -> tuple[float, float]:
        """What is compared: the preference first, then F1."""
        return -float(self.shortfall(rates)), float(rates.f1)

    def best(self, rates: Rates) -> int:
        """Which of many is best, the first of equals."""
        shortfall = self.shortfall(rates)
        return int(np.argmax(np.where(shortfall == shortfall.min(), rates.f1, -np.inf)))


def adjusted_threshold(
    scores: np.ndarray, sign: np.ndarray, preference: Preference, rule: str
) -> float:
    """d+ of the paper; 0 if no change is needed."""
    thresholds = cuts_between(scores)
    rates, now = Rates.at(thresholds, scores, sign), Rates.at(0.0, scores, sign)
    if preference.shortfall(now) > 0:
        return _move(thresholds, rates, now, preference)
    if rule == "paper" and now.recall > 0:
        if now.precision < now.recall:
            return _move(thresholds, rates, now, Preference(float(now.recall), 0.0))
        if now.precision > now.recall:
            return _move(thresholds, rates, now, Preference(0.0, float(now.precision)))
        return 0.0
    # With no positive accepted neither rate is the smaller, and the paper's rule does not apply.
    return float(thresholds[preference.best(rates)])


def cuts_between(scores: np.ndarray) -> np.ndarray:
    """The thresholds that make a difference, from +inf to -inf: the middles of neighbors."""
    distinct = np.unique(scores)
    lower, upper = distinct[:-1], distinct[1:]
    middle = lower / 2 + upper / 2
    middle = np.where(middle < upper, middle, lower)  # between neighboring floats there is none
    return np.concatenate([[np.inf], middle[::-1], [-np.inf]])


def _move(thresholds: np.ndarray, rates: Rates, now: Rates, preference: Preference) -> float:
    """The nearest threshold that meets the preference, or else the one that misses it least.

    Near means that few rows change sides. Precision is sought upward, recall downward, and both
    together, or a precision where nothing is accepted, anywhere.
    """
    ahead = np.ones(len(thresholds), dtype=bool)
    if preference.min_recall == 0 and now.accepted > 0:
        ahead = rates.accepted <= now.accepted
    elif preference.min_precision == 0:
        ahead = rates.accepted >= now.accepted
    meets = ahead & (preference.shortfall(rates) == 0)
    if meets.any():
        rows_moved = np.abs(rates.accepted - now.accepted)
        return float(thresholds[np.argmin(np.where(meets, rows_moved, np.inf))])
    some = Rates(*(values[ahead] for values in vars(rates).values()))
    return float(thresholds[ahead][preference.best(some)])


def split_labels(sign: np.ndarray, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labeled rows that train, and the half of each sign that calibrates: two masks, (n,)."""
    random = check_random_state(random_state)
    calibrates = np.zeros(len(sign), dtype=bool)
    for value in (-1, +1):
        rows = np.flatnonzero(sign == value)
        if len(rows) < 2:
            raise ValueError("calibration='part' needs at least two labeled rows of each class.")
        calibrates[random.permutation(rows)[: len(rows) // 2]] = True
    return (sign != 0) & ~calibrates, calibrates
