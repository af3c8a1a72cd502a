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

The sequence of labelings need not settle: it has no objective that falls. It is ended when a
labeling comes back.
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
    """Support vector classifier that is retrained on its own predictions until they stay the same.

    Self-training, Algorithm 1 of [1]_. On the paper's designs it gains about a point over the
    supervised SVM where classes are Gaussian clusters, and loses a point or two elsewhere; where
    the first classifier is poor it reinforces its mistakes. `ClusterSVC` and `MixtureClassifier`
    gain more where it gains.

    Parameters
    ----------
    C : float, default=1.0
        The penalty of a row on the wrong side of its margin, with its own or a guessed label. A
        `sample_weight` below 1 on unlabeled rows makes guesses count for less.
    delta : float, default=0.0
        Stop once at most this share of the unlabeled rows changed its label in a round.
    max_rounds : int, default=50
        Most trainings after the first. Nearly all fits settle in fewer than ten.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of rows inside the margin. The squared hinge needs ``kernel="linear"``.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.svm.SVC`; a callable returns the kernel between two matrices of rows.
    degree : float, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        As in :class:`sklearn.svm.SVC`; for "scale" the variance counts rows by their weights.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    costs : dict {class: cost} or array-like of shape (n_classes, n_classes), default=None
        Costs of errors, which multiply C: of each class, or of [true class, predicted class].
    class_weight : dict or "balanced", default=None
        Multiplies C for the rows of each class, as in scikit-learn.
    multi_class : {"auto", "ovr", "ovo"}, default="auto"
        Class against rest, or pairs. "auto": pairs, unless all binary problems have unlabeled rows.
    unlabeled : int, float, str or None, default=-1
        The marker of rows without a label in y. Missing values and empty strings always mark them.
    solver : {"auto", "dual", "primal"}, default="auto"
        The form of linear SVMs: "primal", for many rows, gives `coef_` and no support vectors.
    tol : float, default=1e-3
        The gap (`gap_`) at which a solution counts as optimal; below 1e-5 kernels are float64.
    max_iter : int, default=None
        Maximum number of solver steps for each binary problem, over all its rounds. None: no limit.
    time_limit : float, default=None
        Maximum number of seconds; the best model so far is then kept. None: no limit.
    cache_size : float, default=None
        Megabytes for kernel rows. None: half of the free memory. A smaller cache is slower.
    device : {"auto", "cpu", "cuda"}, default="auto"
        "cuda", "cuda:1" need an NVIDIA GPU and ``semisvm[gpu]``; "auto": where the rows are many.
    verbose : bool, default=False
        Print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_, n_support_, support_vectors_ : ndarray or sparse matrix
        Training rows with a nonzero coefficient: indices, numbers by class, and the rows.
    dual_coef_, intercept_, coef_ : ndarray or sparse matrix
        Of each problem: coefficients of support vectors, constant, and weights of a linear kernel.
    gap_ : ndarray of shape (n_problems,)
        The largest violation of optimality; in the primal form the relative duality gap.
    transduction_, labeled_iter_ : ndarray of shape (n_samples,)
        A label for every row, and the round that gave it: 0 if in y, -1 if predicted.
    history_, n_iter_, termination_condition_ : list of RoundRecord, int, str
        One record per round, number of solver steps, and why the fit ended, such as "converged".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names where X has names.

    See Also
    --------
    sklearn.semi_supervised.SelfTrainingClassifier : Self-training around any classifier, the surest
        rows first.
    ClusterSVC : Labels the unlabeled rows by their clusters instead.
    SupervisedSVC : The first of its trainings.

    Notes
    -----
    `history_` has one record per training, numbered from 1: how many labels it changed
    (``n_changed``) and the sum of the objectives of its binary problems. `termination_condition_`
    is "converged" where the labels stay as they are, "cycle" where an earlier labeling came back,
    "max_rounds", or what ended the solver.

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
