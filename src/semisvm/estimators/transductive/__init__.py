"""TSVM: the transductive support vector machine, by three algorithms for the same kind of
objective.

    minimize over f and the unknown labels y_j, j unlabeled

        1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                  + C_unlabeled sum_unlabeled weight_j max(0, 1 - y_j f(x_j))

    with a given fraction of the y_j positive

The best y_j for a given f is its sign, so the last sum charges for every unlabeled row inside the
margin: the boundary is pushed to where rows are few. The problem has many local minima, and the
algorithms differ in how they find their way: see `switching` (the default) and `relaxed` (CCCP and
annealing).
"""

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from semisvm.estimators.base import FORM_CONSTRAINTS, BaseSVC, Kernel, MultiClass
from semisvm.estimators.binary import BinaryFit, BinaryTask, MethodFit, Pair, fit_pairs
from semisvm.estimators.class_shares import (
    POSITIVE_FRACTION,
    check_share_has_one_meaning,
    report_shares,
    settle_share,
)
from semisvm.estimators.equal_rows import arrange_by_content, merge_unlabeled_copies
from semisvm.estimators.problem import Loss, TrainingProblem
from semisvm.estimators.rounds import Rounds
from semisvm.estimators.streams import StreamProblem, StreamRounds
from semisvm.estimators.transductive.relaxed import RampMachine, SoftMachine, StreamedAnnealing
from semisvm.estimators.transductive.switching import StreamedSwitching, SwitchMachine
from semisvm.machines import Solver
from semisvm.sklearn_private import Interval, StrOptions

__all__ = ["TransductiveSVC"]

# among more rows, ties decide nothing that could be noticed, and another order takes a copy
MOST_ARRANGED = 100_000
SHARE_WITH_MANY = 0.1  # of C, the penalty of unlabeled rows with more than two classes


class TransductiveSVC(BaseSVC):
    """Transductive support vector classifier (TSVM, S3VM) of labeled and unlabeled rows.

    It puts the boundary where there are few rows, which helps if the classes are clusters.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a labeled row on the wrong side of its margin.
    C_unlabeled : float, default=None
        Penalty for an unlabeled row on the wrong side of its margin, under its assigned label.
        None: C with two classes; C / 10 with more, because class shares estimated from few labels
        are uncertain. It is multiplied by the cost of that label.
    algorithm : {"switch", "cccp", "anneal"}, default="switch"
        "switch": assign labels by rank, and switch pairs of them while the objective decreases, for
        increasing C_unlabeled [1]_. "cccp": minimize a ramp loss by a sequence of convex problems,
        with the classes balanced on average [2]_. "anneal": soft labels that harden as a
        temperature falls [3]_; works best with a C_unlabeled below C.
    positive_fraction : {"labeled", "estimated"} or float, default="labeled"
        Fraction of the unlabeled rows that are of the second class: as among the labeled rows; as
        predicted by the supervised SVM, within the confidence interval from the labels; or a number
        (two classes only). A wrong fraction forces as many wrong labels.
    pairs_per_round : "auto" or int, default="auto"
        For "switch": number of pairs of labels to switch before training again. "auto" switches all
        disjoint pairs that lower the objective; 1, as in Joachims' paper, is slower and about as
        good.
    ramp : float, default=0.0
        For "cccp": the margin below which the loss is constant, in (-1, 0].
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
    positive_fraction_ : ndarray of shape (n_problems,)
        The fraction that was used; NaN if a limit or Ctrl-C ended the fit before it was known.
    positive_fraction_interval_ : ndarray of shape (n_problems, 2)
        The 90% confidence interval of the fraction, from the labels.
    history_, n_iter_, termination_condition_ : list of RoundRecord, int, str
        One record per round, number of solver steps, and why the fit ended, such as "converged".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    ProgressiveSVC : Needs no fraction of positives.
    LabelMeanSVC : Uses the class means of the unlabeled rows; more robust with few labels.
    sklearn.semi_supervised.SelfTrainingClassifier : Self-training with any classifier.

    Notes
    -----
    Equal unlabeled rows are merged and their weights added, unless the kernel is precomputed or a
    callable, rows have costs of their own, or the form is primal: then copies may get different
    labels.

    References
    ----------
    .. [1] T. Joachims, "Transductive inference for text classification using support vector
       machines", ICML 1999.
    .. [2] R. Collobert, F. Sinz, J. Weston and L. Bottou, "Large scale transductive SVMs", Journal
       of Machine Learning Research 7, 2006.
    .. [3] V. Sindhwani, S. S. Keerthi and O. Chapelle, "Deterministic annealing for semi-supervised
       kernel machines", ICML 2006. :doi:`10.1145/1143844.1143950`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import TransductiveSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> y[20:] = -1  # all but twenty labels are hidden
    >>> TransductiveSVC(kernel="linear", positive_fraction=0.6).fit(X, y).predict(X[20:23])
    array([1, 1, 0])
    """

    _keeps_tensors = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        **FORM_CONSTRAINTS,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), None],
        "algorithm": [StrOptions({"switch", "cccp", "anneal"})],
        "positive_fraction": POSITIVE_FRACTION,
        "pairs_per_round": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "ramp": [Interval(Real, -1, 0, closed="right")],
    }

    C_unlabeled: float | None
    algorithm: Literal["switch", "cccp", "anneal"]
    positive_fraction: str | float
    pairs_per_round: Literal["auto"] | int
    ramp: float

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_unlabeled: float | None = None,
        algorithm: Literal["switch", "cccp", "anneal"] = "switch",
        positive_fraction: str | float = "labeled",
        pairs_per_round: Literal["auto"] | int = "auto",
        ramp: float = 0.0,
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
        check_share_has_one_meaning(self.positive_fraction, problem.labels.n_classes)
        rows = None
        if problem.n_rows <= MOST_ARRANGED:
            rows, problem = arrange_by_content(problem)
        against = (
            "has no form for algorithm='cccp'; use 'switch' or 'anneal'"
            if self.algorithm == "cccp"
            else None
        )
        problem = problem.with_auto_scheme("ovr").settle_form(against)
        distinct, expand = merge_unlabeled_copies(problem)
        formula = distinct.formula()
        fits = [expand(fit) for fit in fit_pairs(distinct, formula, self._fit_binary)]
        self.positive_fraction_, self.positive_fraction_interval_ = report_shares(
            [fit.outcome for fit in fits]
        )
        guess = fits[0].guess if len(fits) == 1 else None
        codes = None if guess is None else np.where(guess != 0, guess > 0, -1)
        return MethodFit(fits, formula, problem.multi_class, codes, rows)

    def _fit_stream(self, problem: StreamProblem) -> MethodFit:
        if self.algorithm == "cccp" or self.pairs_per_round != "auto":
            raise ValueError(
                "Rows that are not in memory need algorithm='switch' or 'anneal', all pairs per"
                " round."
            )
        check_share_has_one_meaning(self.positive_fraction, problem.labels.n_classes)
        found = problem.fit_pairs("ovr", self._fit_stream_pair)
        self.positive_fraction_, self.positive_fraction_interval_ = report_shares(
            [fit.outcome for fit in found.fits]
        )
        return found

    def _fit_stream_pair(self, pair: Pair, rounds: StreamRounds) -> BinaryFit:
        kind = StreamedAnnealing if self.algorithm == "anneal" else StreamedSwitching
        machine = kind(rounds, pair, self.C, self._price_of_unlabeled)
        share = None
        with rounds.until_stopped():
            supervised = rounds.solve_prices(machine.labeled, rounds.problem.labeled_rows())
            share = machine.settle_share(self.positive_fraction)
            rounds.done(objective=supervised.objective, positive_fraction=share.value)
            if rounds.problem.n_of_class.sum() < rounds.problem.rows.n_rows:
                machine.use_unlabeled(share)
        return rounds.fit(outcome=share)

    def _fit_binary(self, task: BinaryTask) -> BinaryFit:
        machine = self._machine(task)
        rounds = Rounds(task)
        share = None
        with rounds.until_stopped():
            rounds.solve(machine.supervised())
            share = settle_share(
                self.positive_fraction, task.sign, rounds.decision_values, task.counts
            )
            rounds.done(**share.as_details())
            if (task.sign == 0).any():
                machine.use_unlabeled(rounds, share)
        if isinstance(machine, RampMachine):
            return machine.fit(rounds, share)
        return rounds.fit(outcome=share)

    @property
    def _price_of_unlabeled(self) -> float:
        if self.C_unlabeled is not None:
            return self.C_unlabeled
        return self.C if len(self.classes_) == 2 else SHARE_WITH_MANY * self.C

    def _machine(self, task: BinaryTask) -> SwitchMachine | RampMachine | SoftMachine:
        price = self._price_of_unlabeled
        if self.algorithm == "cccp" and (task.sign == 0).any():
            return RampMachine(task, self.C, price, self.ramp)
        if self.algorithm == "anneal":
            return SoftMachine(task, self.C, price)
        return SwitchMachine(
            task, self.C, price, None if self.pairs_per_round == "auto" else self.pairs_per_round
        )
