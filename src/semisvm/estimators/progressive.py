"""PTSVM: the progressive transductive SVM of Chen, Wang and Dong (2003), which needs no fraction of
positives.

Train on the labeled rows. Then, round by round, among the unlabeled rows inside the margin,
|f(x_j)| < 1,

    (18)  the one with the largest f > 0 is labeled +1,
    (19)  the one with the most negative f < 0 is labeled -1;

both join the training rows with the penalty C_unlabeled, and the SVM is trained again:

    minimize  1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                        + C_unlabeled sum_guessed weight_j max(0, 1 - guess_j f(x_j))

A row whose label has come to disagree with the sign of f is reset to unlabeled. When no unlabeled
row is inside the margin the rest get the sign of f. If only one side has a candidate, only that
side is labeled; a run of such rounds drives the boundary away, which is how the method collapses
when it does.

Scores of all rows, in use or not, come with each solution: choosing and resetting compute no kernel
value.
"""

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from semisvm.errors import counted
from semisvm.estimators.base import FORM_CONSTRAINTS, BaseSVC, Kernel, MultiClass
from semisvm.estimators.binary import BinaryFit, BinaryTask, MethodFit, fit_pairs
from semisvm.estimators.equal_rows import arrange_repeated
from semisvm.estimators.problem import Loss, TrainingProblem
from semisvm.estimators.rounds import Rounds
from semisvm.machines import LinearRows, Problem, Solver, hinge_problem
from semisvm.sklearn_private import Interval, StrOptions

# While rows are still joining, the tolerance is ten times that of the last solve, up to this one:
# three times faster, and no worse in the end. A user who asks for more digits gets more in every
# round, so that the rows that join do not depend on the path of the solver.
JOINING_TOL = 1e-2
CANDIDATES_PER_PAIR = 50  # of pairs_per_round="auto"
# Grow_from: the price doubles whenever one more twentieth of the unlabeled rows is labeled.
DOUBLINGS = 20


class ProgressiveSVC(BaseSVC):
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
    one_sided : {"single", "pair"}, default="single"
        What to label if all candidates are on one side of the boundary: the most confident one, as
        in the paper, or the highest and the lowest, which collapses less often on small data.
    pairs_per_round : "auto" or int, default=1
        Number of pairs to label before training again: 1 as in the paper; "auto" is one for every
        50 candidates, several times faster on large data.
    grow_from : float, default=None
        Share of C_unlabeled to begin with; it doubles with every twentieth of the unlabeled rows
        that is labeled, up to 1. None: 1, as in the paper. On 1,500 and 2,000 Reuters documents
        0.03 halved the number of collapses.
    max_resets : int, default=5
        How often a row may be reset to unlabeled.
    max_rounds : int, default=None
        Maximum number of rounds. None: ten more than four times the number of unlabeled rows.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss function. The squared hinge needs ``kernel="linear"``.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.svm.SVC`; a callable returns the kernel between two matrices of rows.
    degree : float, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        As in :class:`sklearn.svm.SVC`; the variance in "scale" is weighted by `sample_weight`.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    costs : dict {class: cost} or array-like of shape (n_classes, n_classes), default=None
        Costs of errors, which multiply C: {class: cost}, or a matrix of [true class, predicted
        class].
    class_weight : dict or "balanced", default=None
        Multiplies C for the rows of each class, as in scikit-learn.
    multi_class : {"auto", "ovr", "ovo"}, default="auto"
        One-vs-rest or one-vs-one. "auto" is "ovo" for `SupervisedSVC`, `SVCCV`, `SelfTrainingSVC`
        and `ClusterSVC`, "ovr" for the others.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
    solver : {"auto", "dual", "primal"}, default="auto"
        The form of linear SVMs: "primal", for many rows, gives `coef_` and no support vectors.
    tol : float, default=1e-3
        Tolerance of the stopping criterion (`gap_`). Below 1e-5, kernels are computed in float64.
        With more than 1,000 rows and a C of 1,000 or more, this may be needed for an accurate gap.
    max_iter : int, default=None
        Maximum number of solver steps for each binary problem, over all its rounds. None: no limit.
    time_limit : float, default=None
        Time limit in seconds, after which the best model so far is kept. None: no limit.
    cache_size : float, default=None
        Size of the kernel cache in MB. None: half of the free memory. A smaller cache is slower.
    device : {"auto", "cpu", "cuda"}, default="auto"
        "cuda" or "cuda:1" needs an NVIDIA GPU and ``semisvm[gpu]``; "auto" uses it for many rows.
    verbose : bool, default=False
        Print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_, n_support_, support_vectors_ : ndarray or sparse matrix
        Support vectors: their indices, their number per class, and the rows themselves.
    dual_coef_, intercept_, coef_ : ndarray or sparse matrix
        Dual coefficients, intercepts and (linear kernel) feature weights of the binary problems.
    gap_ : ndarray of shape (n_problems,)
        The largest violation of the optimality conditions, up to the rounding of kernel values (see
        `tol`); in primal form the relative duality gap.
    transduction_, labeled_iter_ : ndarray of shape (n_samples,)
        Label of each training row, and the round that assigned it: 0 if in y, -1 if predicted.
    history_, n_iter_, termination_condition_ : list of RoundRecord, int, str
        One record per round, number of solver steps, and why the fit ended, such as "converged".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    TransductiveSVC : Keeps a given fraction of positives and does not collapse.
    SelfTrainingSVC : Labels all unlabeled rows in every round.

    Notes
    -----
    `history_` has one record per round: how many ``candidates`` there were, how many rows were
    ``labeled`` and ``reset``, and whether the round was ``one_sided``; the last record of a binary
    problem has the totals. `termination_condition_` is "margin_empty" if all went well, else
    "cycle", "max_rounds", or a reason of the solver.

    References
    ----------
    .. [1] Y. Chen, G. Wang and S. Dong, "A progressive transductive inference algorithm based on
       support vector machine", Journal of Software 14, 2003 (in Chinese).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import ProgressiveSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> y[40:] = -1  # all but forty labels are hidden
    >>> model = ProgressiveSVC(kernel="linear").fit(X, y)
    >>> model.termination_condition_
    'margin_empty'
    """

    _keeps_tensors = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        **FORM_CONSTRAINTS,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), None],
        "one_sided": [StrOptions({"single", "pair"})],
        "pairs_per_round": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "grow_from": [Interval(Real, 0, 1, closed="right"), None],
        "max_resets": [Interval(Integral, 0, None, closed="left")],
        "max_rounds": [Interval(Integral, 0, None, closed="left"), None],
    }

    C_unlabeled: float | None
    one_sided: Literal["single", "pair"]
    pairs_per_round: Literal["auto"] | int
    grow_from: float | None
    max_resets: int
    max_rounds: int | None

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_unlabeled: float | None = None,
        one_sided: Literal["single", "pair"] = "single",
        pairs_per_round: Literal["auto"] | int = 1,
        grow_from: float | None = None,
        max_resets: int = 5,
        max_rounds: int | None = None,
        loss: Loss = "hinge",
        kernel: Kernel = "rbf",
        degree: float = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        costs: Any = None,
        class_weight: Any = None,
        multi_class: MultiClass = "auto",
        unlabeled: Any = -1,
        solver: Solver = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float | None = None,
        device: str = "auto",
        verbose: bool = False,
    ):
        self._keep(locals())

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        formula = problem.formula()
        # Rounds count rows, and which of two equal ones is labeled first must not matter.
        rows, problem = arrange_repeated(problem.with_auto_scheme("ovr").settle_form())
        fits = fit_pairs(problem, formula, self._fit_binary)
        found = MethodFit(fits, formula, problem.multi_class, rows=rows)
        return replace(found, warnings=tuple(self._warn(found)))

    def _fit_binary(self, task: BinaryTask) -> BinaryFit:
        rounds = Rounds(task)
        guesses = Guesses(task.sign)
        end = None
        n_unlabeled = int((task.sign == 0).sum())
        most_rounds = 4 * n_unlabeled + 10 if self.max_rounds is None else self.max_rounds
        loose = max(min(10 * rounds.tol, JOINING_TOL), rounds.tol)
        with rounds.until_stopped():
            rounds.solve(self._problem(task, guesses.sign), tol=loose)
            rounds.done(labeled=0)
            _make_rows(task.kernel, guesses.inside_margin(rounds.decision_values, self.max_resets))
            end = "margin_empty"
            while len(candidates := guesses.inside_margin(rounds.decision_values, self.max_resets)):
                if rounds.number > most_rounds:
                    end = "max_rounds"
                    break
                positive, negative, one_sided = self._choose(candidates, rounds.decision_values)
                guesses.sign[positive], guesses.sign[negative] = +1, -1
                share = self._share(guesses.n_labeled, n_unlabeled)
                rounds.solve(self._problem(task, guesses.sign, share), tol=loose)
                rounds.label(np.concatenate([positive, negative]))
                reset = guesses.reset_wrong(rounds.decision_values)
                rounds.labeled_in[reset] = -1
                n_labeled = len(positive) + len(negative)
                rounds.done(
                    candidates=len(candidates),
                    labeled=n_labeled,
                    reset=len(reset),
                    one_sided=one_sided,
                )
                if guesses.came_back():
                    end = "cycle"
                    break
            rounds.solve(self._problem(task, guesses.sign))
            rounds.done(end=end, labeled=guesses.n_labeled, reset=int(guesses.n_resets_of.sum()))
        return rounds.fit(ended=end)

    def _problem(self, task: BinaryTask, sign: np.ndarray, share: float = 1.0) -> Problem:
        """The SVM of the labels so far, guessed ones at this share of their price."""
        C_unlabeled = self.C if self.C_unlabeled is None else self.C_unlabeled
        guessed = share * C_unlabeled * np.where(sign > 0, task.cost_of[+1], task.cost_of[-1])
        return hinge_problem(
            task.kernel, sign, task.weight * np.where(task.sign != 0, self.C, guessed)
        )

    def _share(self, n_labeled: int, n_unlabeled: int) -> float:
        """How much of C_unlabeled is charged when so many of the unlabeled rows have a label."""
        if self.grow_from is None:
            return 1.0
        return min(1.0, self.grow_from * 2.0 ** (DOUBLINGS * n_labeled // n_unlabeled))

    def _choose(
        self, candidates: np.ndarray, decision_values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Rows to call positive and negative (Eq. 18, 19), and whether one side had none."""
        f = decision_values[candidates]
        n_pairs = (
            max(1, len(f) // CANDIDATES_PER_PAIR)
            if self.pairs_per_round == "auto"
            else self.pairs_per_round
        )
        n_positive = int((f > 0).sum())
        n_negative = len(f) - n_positive
        one_sided = n_positive == 0 or n_negative == 0
        if one_sided and self.one_sided == "pair" and len(f) > 1:
            n_positive = n_negative = len(f) // 2
        positive = candidates[_largest(f, min(n_pairs, n_positive))]
        negative = candidates[_largest(-f, min(n_pairs, n_negative))]
        return positive, negative, one_sided

    def _warn(self, found: MethodFit) -> Iterator[Warning]:
        details = [record.details for fit in found.fits for record in fit.history]
        one_sided = [own["one_sided"] for own in details if "one_sided" in own]
        n_rounds = len(one_sided)
        n_one_sided = sum(one_sided)
        if 2 * n_one_sided > n_rounds:
            yield UserWarning(
                f"{n_one_sided} of {counted(n_rounds, 'round')} of {type(self).__name__} had"
                " candidates on one side of the boundary only, which is what its collapse looks"
                " like: one class may have swallowed the other. Compare the predicted class sizes"
                " with what you expect; try one_sided='pair', more labeled rows, or"
                " TransductiveSVC."
            )
        if (end := found.termination_condition) in ("max_rounds", "cycle"):
            yield ConvergenceWarning(
                f"{type(self).__name__} ended after {counted(n_rounds, 'round')} ({end}) with rows"
                " still inside the margin; they are labeled by the side they are on. Raise"
                " max_rounds, or lower max_resets where rows are reset again and again."
            )


class Guesses:
    """The labels given so far: `sign` is the user's, or a guess, or 0."""

    def __init__(self, given: np.ndarray):
        self.is_given = given != 0
        self.sign = given.astype(np.float64)
        self.n_resets_of = np.zeros(len(given), dtype=np.intp)
        self._seen = {hash(self.sign.tobytes())}

    @property
    def n_labeled(self) -> int:
        return int(((self.sign != 0) & ~self.is_given).sum())

    def inside_margin(self, decision_values: np.ndarray, max_resets: int) -> np.ndarray:
        """Rows without a label that are strictly inside the margin, and not on the boundary."""
        is_candidate = (self.sign == 0) & (np.abs(decision_values) < 1) & (decision_values != 0)
        return np.flatnonzero(is_candidate & (self.n_resets_of <= max_resets))

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


def _make_rows(kernel: Any, candidates: np.ndarray) -> None:
    """Compute kernel rows of rows that will join at once, which is cheaper than two at a time."""
    if not isinstance(kernel, LinearRows):
        kernel.require(
            candidates[: kernel.capacity // 2 if len(candidates) > kernel.capacity else None]
        )


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Where the `count` largest values are; of equal ones the first."""
    if count == 1:
        return np.array([np.argmax(values)])
    return np.argsort(-values, kind="stable")[:count]
