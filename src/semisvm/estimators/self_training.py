"""Self-training, Algorithm 1 of the cluster-SVM paper (after Yarowsky 1995): train, relabel every
row, train again.

    f_1 = SVM of the labeled rows
    for k = 1, 2, ...
        guess_k = the class f_k gives each unlabeled row
        f_k+1   = SVM of the labeled rows and all the others with guess_k
        stop once the share of unlabeled rows with guess_k+1 != guess_k is at most delta

A row is given one of *all* the classes, that of its largest score, and then every binary problem is
trained on that one labeling, as in the paper: solved apart, two binary problems could claim the
same row. Each training starts from the solution before it, and the scores of all rows come with the
solution, so that relabeling computes no kernel value. The user's labels are never overwritten.

The labelings need not converge, because no objective decreases. The fit ends when a labeling comes
back.
"""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from semisvm.dual import Status
from semisvm.errors import counted
from semisvm.estimators.base import FORM_CONSTRAINTS, BaseSVC, Kernel, MultiClass
from semisvm.estimators.binary import MethodFit
from semisvm.estimators.problem import Loss, TrainingProblem
from semisvm.estimators.progress import RoundRecord
from semisvm.estimators.rounds import Labeler
from semisvm.machines import Solver
from semisvm.sklearn_private import Interval


class SelfTrainingSVC(BaseSVC):
    """Support vector classifier that is retrained on its own predictions until they stop changing.

    Self-training, Algorithm 1 of [1]_. On the paper's designs it is about one percentage point
    better than the supervised SVM if the classes are Gaussian clusters, and one or two points worse
    otherwise: where the first classifier is poor, self-training reinforces its mistakes.
    `ClusterSVC` and `MixtureClassifier` gain more on the same data.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a row on the wrong side of its margin, with its own or a guessed label. A
        `sample_weight` below 1 on unlabeled rows gives the guesses less weight.
    delta : float, default=0.0
        Stop once at most this share of the unlabeled rows change their label in a round.
    max_rounds : int, default=50
        Maximum number of trainings after the first. Nearly all fits converge in fewer than ten.
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
    sklearn.semi_supervised.SelfTrainingClassifier : Self-training with any classifier, the most
        confident predictions first.
    ClusterSVC : Labels the unlabeled rows by their clusters instead.
    SupervisedSVC : The first training alone.

    Notes
    -----
    `history_` has one record per training, numbered from 1: how many labels it changed
    (``n_changed``) and the sum of the objectives of its binary problems. `termination_condition_`
    is "converged" if the labels stopped changing, "cycle" if an earlier labeling came back,
    "max_rounds", or the reason why the solver ended.

    References
    ----------
    .. [1] H. Bae, H. Kim and S. J. Shin, "The use of support vector machines in semi-supervised
       classification", Communications for Statistical Applications and Methods 29, 2022.
       :doi:`10.29220/CSAM.2022.29.2.193`
    .. [2] D. Yarowsky, "Unsupervised word sense disambiguation rivaling supervised methods", ACL
       1995. :doi:`10.3115/981658.981684`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import SelfTrainingSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[57:] = -1  # nine labels in ten are hidden
    >>> model = SelfTrainingSVC(kernel="linear", C=0.01).fit(scale(X), y)
    >>> model.termination_condition_, len(model.transduction_)
    ('converged', 569)
    """

    _keeps_tensors = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        **FORM_CONSTRAINTS,
        "delta": [Interval(Real, 0, 1, closed="left")],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
    }

    delta: float
    max_rounds: int

    def __init__(
        self,
        C: float = 1.0,
        *,
        delta: float = 0.0,
        max_rounds: int = 50,
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
        problem, formula = problem.with_auto_scheme("ovo").settle_form(), problem.formula()
        labeled_in = np.where(problem.labels.is_labeled, 0, -1)
        history = list[RoundRecord]()
        with problem.progress.whole_fit("self-training") as watch:
            labeler = Labeler(problem, problem.machine_rows(formula), watch)
            ended = self._self_train(labeler, labeled_in, history)
        fits = labeler.fits(history, labeled_in, ended)
        return MethodFit(fits, formula, labeler.scheme, warnings=self._warn(ended, history))

    def _self_train(
        self, labeler: Labeler, labeled_in: np.ndarray, history: list[RoundRecord]
    ) -> str | None:
        """Algorithm 1; return why it ended, None where the solver did not converge."""
        labels = labeler.problem.labels
        weight = labeler.problem.weight
        costs = labeler.problem.costs
        guess = labels.codes
        is_open = ~labels.is_labeled
        seen = set[bytes]()
        for number in range(1, self.max_rounds + 2):
            labeler.solve(guess, self.C * weight * costs.price(guess))
            before = guess
            guess = np.where(is_open, labeler.codes, labels.codes)
            changed = guess != before
            labeled_in[changed] = number
            record = labeler.watch.record(
                round=number,
                n_iter=labeler.n_iter,
                gap=max(solution.gap for solution in labeler.found),
                objective=sum(solution.objective for solution in labeler.found),
                details={"n_changed": int(changed.sum())},
            )
            history.append(record)
            if labeler.watch.round_done(record):
                labeler.end(Status.STOPPED)
            if labeler.status is not Status.CONVERGED:
                return None
            is_first = number == 1  # no row had a guess before
            if not is_open.any() or (
                not is_first and weight[changed].sum() / weight[is_open].sum() <= self.delta
            ):
                return str(Status.CONVERGED)
            if guess.tobytes() in seen:
                return "cycle"
            seen.add(guess.tobytes())
        return "max_rounds"

    def _warn(self, ended: str | None, history: list[RoundRecord]) -> tuple[Warning, ...]:
        if ended != "max_rounds":
            return ()
        return (
            ConvergenceWarning(
                f"{type(self).__name__} ended after max_rounds={self.max_rounds} with"
                f" {counted(history[-1].details['n_changed'], 'label')} still changing. Raise"
                " max_rounds or delta."
            ),
        )
