"""PTSVM: the progressive transductive SVM of Chen, Wang and Dong (2003), which needs no fraction of
positives.

    1  Train on the labeled rows.
    2  Among the unlabeled rows inside the margin, |f(x_j)| < 1,
           (18)  the one with the largest f > 0 is labeled +1,
           (19)  the one with the most negative f < 0 is labeled -1.
    3  Train on the labels so far:
           minimize  1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                               + C_unlabeled sum_guessed weight_j max(0, 1 - guess_j f(x_j))
    4  A row whose guess now disagrees with the sign of f is unlabeled again.
    5  Go on with 2 until no unlabeled row is inside the margin; the rest get the sign of f.

If only one side has a candidate, only that side is labeled; a run of such rounds drives the
boundary away, which is how the method collapses when it does. Scores of all rows, in use or not,
come with each solution: choosing and resetting compute no kernel value.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from semisvm.engine import Problem
from semisvm.sklearn_private import Interval, StrOptions

from ._base import PrimalSVC
from ._binary import BinaryFit, BinaryProblem, TrainingSet
from ._classifier import WHOEVER_CALLED_FIT
from ._estimator import estimator
from ._rounds import Rounds

CANDIDATES_PER_PAIR = 50  # of pairs_per_round="auto"


@estimator
class ProgressiveSVC(PrimalSVC):
    """Progressive transductive support vector classifier (PTSVM): labels the most confident rows
    first, one pair per round.

    It needs no fraction of positives, but it can collapse: if one side runs out of candidates, one
    class may absorb the other. `fit` warns if more than half of the rounds were one-sided; compare
    with `TransductiveSVC`.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a labeled row on the wrong side of its margin.
    C_unlabeled : float, default=None
        Penalty for a row labeled during the fit. None: C. The method fails with a small value.
    pairs_per_round : "auto" or int, default=1
        Number of pairs to label before training again: 1 as in the paper; "auto" is one for every
        50 candidates, several times faster on large data.
    max_resets : int, default=5
        How often a row may be reset to unlabeled.
    max_rounds : int, default=None
        Maximum number of rounds. None: ten more than four times the number of unlabeled rows.
    tol : float, default=1e-6
        Tolerance of the stopping criterion (`gap_`). Which row joins next may depend on the last
        digits of the scores, and every later round on that row: with a larger tolerance the order
        of the rows, or how they are stored, can decide.

    Attributes
    ----------
    labeled_iter_ : ndarray of shape (n_samples,)
        The round in which each row was labeled: 0 if in y, -1 if predicted at the end.

    See Also
    --------
    TransductiveSVC : Keeps a given fraction of positives and does not collapse.
    SelfTrainingSVC : Labels all unlabeled rows in every round.

    Notes
    -----
    `history_` has one record per round: how many ``candidates`` there were, how many rows were
    ``labeled`` and ``reset``, and whether the round was ``one_sided``. `termination_condition_` is
    "margin_empty" if all went well, else "cycle" or "max_rounds".

    References
    ----------
    .. [1] Y. Chen, G. Wang and S. Dong, "A progressive transductive inference algorithm based on
       support vector machine", Journal of Software 14, 2003 (in Chinese).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> y[40:] = -1  # all but forty labels are hidden
    >>> model = ProgressiveSVC(kernel="linear").fit(X, y)
    >>> model.termination_condition_
    'margin_empty'
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PrimalSVC._parameter_constraints,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), None],
        "pairs_per_round": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_resets": [Interval(Integral, 0, None, closed="left")],
        "max_rounds": [Interval(Integral, 0, None, closed="left"), None],
    }

    C_unlabeled: float | None = None
    pairs_per_round: Literal["auto"] | int = 1
    max_resets: int = 5
    max_rounds: int | None = None
    tol: float = 1e-6

    def _fit_classes(self, data: TrainingSet) -> list[BinaryFit]:
        fits = super()._fit_classes(data)
        self.labeled_iter_ = data.spread(np.max([fit.rounds for fit in fits], axis=0), blank=-1)
        self._warn_of_collapse([record for fit in fits for record in fit.history])
        return fits

    def _fit_binary(self, problem: BinaryProblem) -> BinaryFit:
        rounds = Rounds(problem)
        guesses = Guesses(problem.sign, self.max_resets)
        n_unlabeled = int((problem.sign == 0).sum())
        most_rounds = 4 * n_unlabeled + 10 if self.max_rounds is None else self.max_rounds
        rounds.solve(self._svm(problem, guesses.sign))  # 1
        rounds.done(labeled=0)
        ended = "margin_empty"
        while len(candidates := guesses.inside_margin(rounds.decision_values)):  # 5
            if rounds.number > most_rounds:
                ended = "max_rounds"
                break
            positive, negative = self._choose(candidates, rounds.decision_values)  # 2
            guesses.sign[positive], guesses.sign[negative] = +1, -1
            rounds.solve(self._svm(problem, guesses.sign))  # 3
            rounds.label(np.append(positive, negative))
            reset = guesses.reset_wrong(rounds.decision_values)  # 4
            rounds.round_of[reset] = -1
            rounds.done(
                candidates=len(candidates),
                labeled=len(positive) + len(negative),
                reset=len(reset),
                one_sided=len(positive) == 0 or len(negative) == 0,
            )
            if guesses.came_back():
                ended = "cycle"
                break
        rounds.solve(self._svm(problem, guesses.sign))  # without the rows that were just reset
        rounds.done(end=ended)
        return rounds.fit(facts={"ended": ended})

    def _svm(self, problem: BinaryProblem, sign: np.ndarray) -> Problem:
        """The SVM of the labels so far."""
        C_unlabeled = self.C if self.C_unlabeled is None else self.C_unlabeled
        return problem.svm(sign, problem.box(sign, self.C, C_unlabeled))

    def _choose(
        self, candidates: np.ndarray, decision_values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows to call positive and negative (Eq. 18, 19)."""
        f = decision_values[candidates]
        n_pairs = max(1, len(f) // CANDIDATES_PER_PAIR)
        if self.pairs_per_round != "auto":
            n_pairs = self.pairs_per_round
        n_positive = int((f > 0).sum())
        positive = candidates[_largest(f, min(n_pairs, n_positive))]
        negative = candidates[_largest(-f, min(n_pairs, len(f) - n_positive))]
        return positive, negative

    def _warn_of_collapse(self, history: list[dict[str, Any]]) -> None:
        one_sided = [record["one_sided"] for record in history if "one_sided" in record]
        if 2 * sum(one_sided) > len(one_sided):
            warnings.warn(
                f"{sum(one_sided)} of {len(one_sided)} rounds of ProgressiveSVC had candidates on"
                " one side of the boundary only, which is what its collapse looks like. Compare the"
                " predicted class sizes with what you expect; try more labeled rows or"
                " TransductiveSVC.",
                UserWarning,
                stacklevel=WHOEVER_CALLED_FIT,
            )
        if any(record.get("end") in ("max_rounds", "cycle") for record in history):
            warnings.warn(
                "ProgressiveSVC ended with rows still inside the margin; they are labeled by the"
                " side they are on. Raise max_rounds, or lower max_resets.",
                ConvergenceWarning,
                stacklevel=WHOEVER_CALLED_FIT,
            )


class Guesses:
    """The labels given so far: `sign` is the user's, or a guess, or 0."""

    def __init__(self, given: np.ndarray, max_resets: int):
        self.is_given = given != 0
        self.sign = given.astype(np.float64)
        self.max_resets = max_resets
        self.n_resets_of = np.zeros(len(given), dtype=np.intp)
        self._seen = {hash(self.sign.tobytes())}

    def inside_margin(self, decision_values: np.ndarray) -> np.ndarray:
        """Rows without a label that are strictly inside the margin, and not on the boundary."""
        is_candidate = (self.sign == 0) & (np.abs(decision_values) < 1) & (decision_values != 0)
        return np.flatnonzero(is_candidate & (self.n_resets_of <= self.max_resets))

    def reset_wrong(self, decision_values: np.ndarray) -> np.ndarray:
        """Take back the labels that the sign of f now contradicts; return their rows."""
        wrong = np.flatnonzero((self.sign * decision_values < 0) & ~self.is_given)
        self.sign[wrong] = 0
        self.n_resets_of[wrong] += 1
        return wrong

    def came_back(self) -> bool:
        """Note these labels; return whether the same ones were there after an earlier round."""
        state = hash(self.sign.tobytes())
        is_known = state in self._seen
        self._seen.add(state)
        return is_known


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Where the `count` largest values are; of equal ones the first."""
    if count == 1:
        return np.array([np.argmax(values)])
    return np.argsort(-values, kind="stable")[:count]
