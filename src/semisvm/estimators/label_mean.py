"""CS4VM, the cost-sensitive semi-supervised SVM of Li, Kwok and Zhou (AAAI 2010); with equal costs,
meanS3VM.

The unlabeled rows enter by the means of their two classes. With ten labels most single rows can't
be labeled reliably, but the means can be estimated: misplaced rows hardly move them. Three steps:

    the supervised SVM         of the labeled rows (`rounds`)
    which rows are positive        by sorting and solving by turns (`label_mean_search.LabelMeans`,
                                   Eq. 7)
    the SVM of those guesses   every mistake at its cost (`label_mean_search.GuessedMargins`,
                                   Eq. 6)

The answer to a cost matrix between more classes is one-sided regression of labeled and unlabeled
rows, without a search:

    1.  the SVMs of the labeled rows (`rounds.OneSided`): f_k(x) estimates what predicting class
        k costs
    2.  one class for every unlabeled row, u_k rows of class k:  maximize -sum_i f_{class of i}(x_i)
        (`assign`); u_k is the share of class k times the number of unlabeled rows
    3.  the SVMs of all rows, the guessed ones at C_unlabeled
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from semisvm.dual import Status
from semisvm.estimators.base import BaseSVC, Kernel, MultiClass
from semisvm.estimators.binary import ENDED_BY_USER, BinaryFit, BinaryTask, MethodFit, fit_pairs
from semisvm.estimators.class_shares import (
    POSITIVE_FRACTION,
    PositiveShare,
    assign,
    check_share_has_one_meaning,
    counts_of,
    report_shares,
    settle_share,
    settle_shares,
)
from semisvm.estimators.equal_rows import merge_unlabeled_copies
from semisvm.estimators.guarded import GuardedMixin
from semisvm.estimators.label_mean_search import GuessedMargins, LabelMeans
from semisvm.estimators.problem import TrainingProblem
from semisvm.estimators.rounds import Labeler, Rounds
from semisvm.kernels.formula import Formula
from semisvm.kernels.rows import KernelRows
from semisvm.machines import hinge_problem
from semisvm.sklearn_private import Interval

# Beyond it no solve goes beyond tol, and the kernel matrix is most of the work.
FEW_ROWS_FOR_LABEL_MEANS = 256
SHARE_OF_C = 0.1  # C_unlabeled=None: the authors' choice


class LabelMeanSVC(GuardedMixin, BaseSVC):
    """Cost-sensitive support vector classifier of labeled and unlabeled rows (CS4VM, meanS3VM).

    It uses the unlabeled rows only through the means of the classes, for as few as ten labels.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a labeled row on the wrong side of its margin.
    C_unlabeled : float, default=None
        Penalty for an unlabeled row on the wrong side of its margin, under its guessed label. None:
        C / 10, the authors' choice. It is multiplied by the cost of that label.
    positive_fraction : {"labeled", "estimated"} or float, default="labeled"
        Fraction of the unlabeled rows that are of the second class: as among the labeled rows; as
        predicted by the supervised SVM, within the confidence interval from the labels; or a number
        (two classes only). Pass a number if you know one: a wrong fraction is the main cause of
        failure of this method.
    guard : bool, default=True
        Whether to predict the same class for every row if that is expected to cost less than the
        SVM, as it nearly always is with ten labels and a cost ratio of ten. Needs `costs`, which
        are estimated by leave-one-out, or by 20 folds where there are more labels (see `guard_`).
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.svm.SVC`; a callable returns the kernel between two matrices of rows.
    degree : float, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        As in :class:`sklearn.svm.SVC`; the variance in "scale" is weighted by `sample_weight`.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    costs : dict {class: cost} or array-like of shape (n_classes, n_classes), default=None
        Costs of errors, as in `SupervisedSVC`. Without costs, or with equal costs, the method is
        meanS3VM. A matrix for more than two classes trains a one-sided regression, in which the
        unlabeled rows are assigned the classes of least estimated cost, with class shares set by
        `positive_fraction`.
    class_weight : dict or "balanced", default=None
        Multiplies C for the rows of each class, as in scikit-learn.
    multi_class : {"auto", "ovr", "ovo"}, default="auto"
        One-vs-rest or one-vs-one. "auto" is "ovo" for `SupervisedSVC`, `SVCCV`, `SelfTrainingSVC`
        and `ClusterSVC`, "ovr" for the others.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
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
    positive_fraction_ : ndarray of shape (n_problems,)
        The fraction that was used; NaN if a limit or Ctrl-C ended the fit before it was known.
    positive_fraction_interval_ : ndarray of shape (n_problems, 2)
        The 90% confidence interval of the fraction, from the labels.
    guard_ : dict or None
        As in `SupervisedSVC`.
    history_, n_iter_, termination_condition_ : list of RoundRecord, int, str
        One record per round, number of solver steps, and why the fit ended, such as "converged".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    SupervisedSVC : The SVM of the labeled rows only, with the same costs.
    TransductiveSVC : Labels single rows instead of using class means.

    Notes
    -----
    The first record in `history_` is for the supervised SVM, then there is one for each update of
    the label means, with the number of guesses that ``changed``; the last is for the final SVM,
    with the number of ``opposite`` pieces and of guesses that it ``contradicted``.

    Equal unlabeled rows are merged and their weights added, unless the kernel is precomputed or a
    callable or rows have costs of their own: then copies may get different labels.

    References
    ----------
    .. [1] Y.-F. Li, J. T. Kwok and Z.-H. Zhou, "Cost-sensitive semi-supervised support vector
       machine", AAAI 2010. :doi:`10.1609/aaai.v24i1.7661`
    .. [2] Y.-F. Li, J. T. Kwok and Z.-H. Zhou, "Semi-supervised learning using label mean", ICML
       2009. :doi:`10.1145/1553374.1553456`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import LabelMeanSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    >>> y[20:] = -1  # all but twenty labels are hidden
    >>> model = LabelMeanSVC(kernel="linear", costs={0: 5, 1: 1}, positive_fraction=0.6).fit(X, y)
    >>> model.predict(X[20:23])
    array([1, 1, 0])
    >>> model.guard_["constant"] is None  # the SVM is worth having
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), None],
        "positive_fraction": POSITIVE_FRACTION,
        "guard": ["boolean"],
    }

    C_unlabeled: float | None
    positive_fraction: str | float

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_unlabeled: float | None = None,
        positive_fraction: str | float = "labeled",
        guard: bool = True,
        kernel: Kernel = "rbf",
        degree: float = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        costs: Any = None,
        class_weight: Any = None,
        multi_class: MultiClass = "auto",
        unlabeled: Any = -1,
        tol: float = 1e-3,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float | None = None,
        device: str = "auto",
        verbose: bool = False,
    ):
        self._keep(locals())

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        check_share_has_one_meaning(self.positive_fraction, problem.labels.n_classes)
        problem, expand = merge_unlabeled_copies(problem.with_auto_scheme("ovr"))
        formula = problem.formula()
        kernel = problem.kernel_rows(formula, few_rows=FEW_ROWS_FOR_LABEL_MEANS)
        fits = self._trainer(problem, formula, kernel)(problem)
        self.positive_fraction_, self.positive_fraction_interval_ = report_shares(
            [fit.outcome for fit in fits]
        )
        # the share of positives; None where a limit came first
        share = fits[0].outcome if problem.labels.n_classes == 2 else None
        shares = None if share is None else np.array([1 - share.value, share.value])
        refit = self._trainer(problem, formula, kernel, known=fits)
        self._compare_with_constants(problem, fits, refit, shares)
        return MethodFit([expand(fit) for fit in fits], formula, problem.scheme)

    def _trainer(
        self,
        problem: TrainingProblem,
        formula: Formula,
        kernel: KernelRows,
        known: list[BinaryFit] | None = None,
    ) -> Callable[[TrainingProblem], list[BinaryFit]]:
        """What fits all binary problems; `known` are the fits of all labels while the guard hides
        some. It keeps their shares: a share without the hidden label would give it away.
        """
        if problem.costs.matrix is not None:
            return partial(self._fit_cost_matrix, kernel=kernel, known=known)
        return partial(
            fit_pairs,
            formula=formula,
            fit_binary=partial(self._fit_binary, known),
            kernel=kernel,
            few_rows=FEW_ROWS_FOR_LABEL_MEANS,
        )

    def _fit_binary(self, known_fits: list[BinaryFit] | None, task: BinaryTask) -> BinaryFit:
        rounds = Rounds(task)
        known = None if known_fits is None else known_fits[task.number]
        share: PositiveShare | None = None if known is None else known.outcome
        with rounds.until_stopped():
            supervised = rounds.solve(
                hinge_problem(task.kernel_rows, task.sign, self.C * task.weight)
            )
            if share is None:
                share = settle_share(
                    self.positive_fraction, task.sign, rounds.decision_values, task.counts
                )
            rounds.done(objective=-supervised.objective, **share.as_details())
            # One row alone has no two means, and a class whose errors are free has none that would
            # matter.
            if (task.sign == 0).sum() > 1 and all(np.all(cost) for cost in task.cost_of.values()):
                guess = LabelMeans(task, self.C, self._price()).search(rounds, share)
                start = (
                    known.row_beta
                    if known is not None and len(known.row_beta) == len(guess)
                    else None
                )
                GuessedMargins(task, guess, self.C, self._price()).solve(rounds, start)
        return rounds.fit(outcome=share)

    def _price(self) -> float:
        return SHARE_OF_C * self.C if self.C_unlabeled is None else self.C_unlabeled

    def _fit_cost_matrix(
        self, problem: TrainingProblem, kernel: KernelRows, known: list[BinaryFit] | None
    ) -> list[BinaryFit]:
        """Steps 1 to 3; the outcome of each fit is the share of its class."""
        labels = problem.labels
        weight = problem.weight
        costs = problem.costs
        with problem.progress.whole_fit("one-sided regression") as watch:
            labeler = Labeler(problem, kernel, watch)
            box = self.C * weight * costs.price(labels.codes)
            labeler.solve(labels.codes, box)  # step 1
            estimates = labeler.scores
            if known is None:
                shares = settle_shares(self.positive_fraction, labels, estimates, weight)
            else:
                shares = [fit.outcome for fit in known]
            unlabeled = np.flatnonzero(~labels.is_labeled)
            guess = labels.codes.copy()
            given_in = np.where(labels.is_labeled, 0, -1)
            values = [share.value for share in shares]
            stop = watch.round_done(watch.record(details={"shares": values}))
            if len(unlabeled) and not stop and labeler.status not in ENDED_BY_USER:
                # Step 2.
                guess[unlabeled] = assign(
                    -estimates[unlabeled], counts_of(np.array(values), len(unlabeled))
                )
                given_in[unlabeled] = 1
                box[unlabeled] = (self._price() * weight * costs.price(guess))[unlabeled]
                labeler.solve(guess, box)  # step 3
            if stop:
                labeler.end(Status.STOPPED)
        return [
            replace(fit, history=[replace(record, details=share.as_details())], outcome=share)
            for fit, record, share in zip(
                labeler.fits([], given_in), labeler.records(), shares, strict=True
            )
        ]
