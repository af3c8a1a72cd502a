"""Only positives are labeled: known frauds, known customers, and a pool that may hold more of them.

A weighted SVM separates the labeled positives from the unlabeled rows (`search`). The share of
positives among the unlabeled rows is not used in training, because a prior set too low ruins it. It
is used for the threshold and the report only (`threshold`).
"""

import math
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from semisvm.columns.arrays import looks_like_a_table
from semisvm.decision import Target
from semisvm.estimators.base import BaseSVC, Kernel
from semisvm.estimators.binary import BinaryFit, BinaryTask, MethodFit, fit_pairs
from semisvm.estimators.equal_rows import arrange_repeated
from semisvm.estimators.positive_unlabeled.search import (
    UNTUNED_WEIGHT,
    PuMachine,
    draw_folds_of_all_rows,
    search_weight,
    weights_to_try,
)
from semisvm.estimators.positive_unlabeled.threshold import (
    hold_out,
    read_positives,
    read_prior,
    settle_threshold,
)
from semisvm.estimators.problem import TrainingProblem
from semisvm.estimators.targets import CONFIDENCE_CONSTRAINT, OperatingPointsMixin
from semisvm.kernels.threads import with_limited_threads
from semisvm.matrices import is_sparse_matrix
from semisvm.sklearn_private import Interval, StrOptions, fit_context, with_callbacks

__all__ = ["PositiveUnlabeledSVC"]


class PositiveUnlabeledSVC(OperatingPointsMixin, BaseSVC):
    """Support vector classifier of labeled positives and unlabeled rows.

    It assumes that **the labeled positives are a random sample of all positives**. If easy
    positives were labeled first, the recall is lower than reported; the user guide shows how to
    check this by labeling a few unlabeled rows at random.

    The weight of positives relative to unlabeled rows is chosen by the out-of-fold AUC of the
    former against the latter. The threshold has the largest estimated F1, unless a recall or a
    number of rows is given. Recall and lift can be certified. Precision is the prior times the
    lift, so it is only reported if the prior is given.

    Labeled negatives are used if there are any: with two labels in y, the second is the positive
    one. Without unlabeled rows it is then an ordinary SVC, with a warning.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a labeled positive on the wrong side of its margin; it is multiplied by the
        positive weight. The unlabeled rows have in all the same penalty as the labeled positives at
        a weight of 1; a labeled negative has the penalty C.
    prior : "estimated", float or (float, float), default="estimated"
        The share of positives among the unlabeled rows, if it is known from elsewhere: a number, or
        a lower and an upper bound. At least this share of the unlabeled rows is then accepted, and
        precision is reported. It is not used in training.
    positive_weight : "auto", "balanced" or float, default="auto"
        The weight of all positives relative to all unlabeled rows. "balanced" is 1. "auto" tries
        0.06, 0.2, 0.5 and 1, and takes the one with the largest out-of-fold AUC of positives
        against unlabeled rows.
    loss : {"hinge", "double_hinge"}, default="hinge"
        Loss function. "hinge" is the weighted SVC of [1]_. "double_hinge" is the convex unbiased
        risk of [2]_, with a linear loss for positives; the positive weight, twice its prior, must
        then be below 2.
    min_recall : float, default=None
        Choose the highest threshold with at least this recall.
    accept : int or float, default=None
        Choose the threshold by the number of rows that it accepts. An int is the number of
        unlabeled training rows (only approximate with `confidence`); a float in (0, 1] is the share
        of unlabeled rows, in the training data and in new data.
    confidence : float, default=None
        With 0.9, the lower bounds of recall and lift (and of precision if the prior is given) each
        hold with probability 90%. Half of the positives and a fifth of the unlabeled rows are held
        out for this and not used in training. None: no certificate.
    n_folds : int, default=5
        Number of folds, at most the number of positives. With fewer than 300 positives,
        cross-validation is repeated three times to reduce the noise from the draw of the folds.
    negative : int, float, str or bool, default=None
        The label that `predict` returns for rows that are not positive, if y has no label for them.
        None: 0 if the positive label is a number, False if it is True, "not spam" if it is "spam".
    scale : bool or "auto", default="auto"
        Whether to divide each column by its standard deviation over all rows, or if it has two
        values, by half of their difference. "auto": if the columns look like those of a table, as
        in `AutoSVC` (different scales, few values or long tails), and never with a precomputed or
        callable kernel.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.svm.SVC`; a callable returns the kernel between two matrices of rows.
    degree : float, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        As in :class:`sklearn.svm.SVC`; the variance in "scale" is weighted by `sample_weight`.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
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
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws of the fit. Pass an int for reproducible results.
    verbose : bool, default=False
        Print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The negative and the positive label.
    threshold_ : ndarray of shape (1,)
        Rows with an SVM score above it are accepted. `decision_function` subtracts it, so that
        accepted rows have positive values.
    operating_point_, operating_points_ : OperatingPoint or None, dict {label: OperatingPoint}
        Recall, share of accepted rows and lift of the threshold, and the evidence for them; None,
        or empty, if y has no unlabeled rows.
    prior_, prior_bound_ : float
        The share of positives among the unlabeled rows, given (the geometric mean of two bounds) or
        estimated, and an upper bound on it, at 90% or at `confidence`. With `confidence` the bound
        is exact, from the held-out rows; otherwise it is based on out-of-fold scores. NaN if
        unknown, with fewer than 10 positives.
    positive_weight_, pu_auc_ : float
        The positive weight that was used, and its out-of-fold AUC of positives against unlabeled
        rows; NaN without folds.
    out_of_fold_scores_ : ndarray of shape (n_samples,)
        Values of `decision_function` from SVMs that were not trained on the row, averaged over the
        repetitions of the folds. NaN for rows in no fold.
    support_, support_vectors_ : ndarray or sparse matrix
        Indices of the support vectors, and the support vectors themselves.
    scale_ : ndarray of shape (n_features,) or None
        What each column is divided by, also in `support_vectors_`; None if X is not scaled.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
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
    semisvm.model_selection.pu_auc : Scorer for grid searches over C and gamma.
    semisvm.model_selection.PositiveUnlabeledKFold : Folds for this scorer.
    PreferenceSVC : Reaches a minimum precision or recall if both classes are labeled.

    References
    ----------
    .. [1] B. Liu, Y. Dai, X. Li, W. S. Lee and P. S. Yu, "Building text classifiers using positive
       and unlabeled examples", ICDM 2003. :doi:`10.1109/ICDM.2003.1250918`
    .. [2] M. C. du Plessis, G. Niu and M. Sugiyama, "Convex formulation for learning from positive
       and unlabeled data", ICML 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import PositiveUnlabeledSVC
    >>> X, truth = load_breast_cancer(return_X_y=True)
    >>> y = np.full(len(truth), -1)
    >>> y[np.flatnonzero(truth == 0)[:100]] = 1  # 100 of the 212 malignant rows
    >>> model = PositiveUnlabeledSVC(random_state=1).fit(X, y)
    >>> model.classes_
    array([0, 1])
    >>> bool(model.operating_point_.recall.value > 0.85)
    True
    >>> model.operating_point_.precision.value  # nobody gave the prior
    nan
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: allowed
            for name, allowed in BaseSVC._parameter_constraints.items()
            if name not in ("costs", "class_weight", "multi_class")
        },
        "prior": [StrOptions({"estimated"}), Interval(Real, 0, 1, closed="neither"), tuple, list],
        "positive_weight": [
            StrOptions({"auto", "balanced"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "loss": [StrOptions({"hinge", "double_hinge"})],
        "min_recall": [Interval(Real, 0, 1, closed="right"), None],
        "accept": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            None,
        ],
        "confidence": CONFIDENCE_CONSTRAINT,
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "negative": [Real, str, "boolean", None],
        "scale": ["boolean", StrOptions({"auto"})],
        "random_state": ["random_state"],
    }

    prior: str | float | tuple[float, float]
    positive_weight: str | float
    accept: float | int | None
    n_folds: int
    negative: Any
    scale: bool | Literal["auto"]

    costs = class_weight = None
    multi_class = "auto"

    def __init__(
        self,
        C: float = 1.0,
        *,
        prior: str | float | tuple[float, float] = "estimated",
        positive_weight: str | float = "auto",
        loss: Literal["hinge", "double_hinge"] = "hinge",
        min_recall: float | None = None,
        accept: float | int | None = None,
        confidence: float | None = None,
        n_folds: int = 5,
        negative: Any = None,
        scale: bool | Literal["auto"] = "auto",
        kernel: Kernel = "rbf",
        degree: float = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        unlabeled: Any = -1,
        tol: float = 1e-3,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float | None = None,
        device: str = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ):
        self._keep(locals())

    def _why_no_probabilities(self) -> str:
        return (
            "Positives and unlabeled rows alone do not determine probabilities. With labeled rows"
            " of both classes that the model has not seen, fit sklearn.calibration."
            "CalibratedClassifierCV(FrozenEstimator(model))."
        )

    @with_limited_threads
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learn from labeled positives and unlabeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or with ``kernel="precomputed"`` the kernel matrix between them.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one (see also :doc:`/scikit-learn`).
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A weight of 2 equals duplicating the row. If the weights are not all
            whole numbers, or above 10 on average, they only multiply C, and each row counts once in
            folds, thresholds and intervals. A certificate always counts each row once.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_rows(
            X, y, sample_weight, None, read_labels=partial(read_positives, negative=self.negative)
        )

    def _read_problem(self, *given: Any, **how: Any) -> TrainingProblem:
        problem = super()._read_problem(*given, **how)
        X = problem.X
        in_use = problem.weight > 0
        of_rows = self.kernel != "precomputed" and not callable(self.kernel)
        wanted = self.scale
        if wanted == "auto":
            wanted = of_rows and looks_like_a_table(X[in_use])
        elif wanted and not of_rows:
            raise ValueError("scale=True is for the kernels that are computed here: scale X.")
        self.scale_ = None
        if wanted:
            scaler = StandardScaler(with_mean=False).fit(X, sample_weight=problem.weight)
            self.scale_ = scaler.scale_
            if not is_sparse_matrix(X):  # an indicator that is rarely 1 is not made larger
                low = X[in_use].min(axis=0)
                high = X[in_use].max(axis=0)
                is_indicator = ((X[in_use] == low) | (X[in_use] == high)).all(axis=0) & (high > low)
                self.scale_ = np.where(is_indicator, (high - low) / 2, self.scale_)
        return replace(problem, X=self._scaled(X))

    def _scaled(self, X: Any) -> Any:
        if self.scale_ is None:
            return X
        return X.multiply(1 / self.scale_).tocsr() if is_sparse_matrix(X) else X / self.scale_

    def _in_training_units(self, X: Any) -> Any:
        return self._scaled(X)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, for unscaled rows; only with a linear kernel."""
        coef = super().coef_
        return coef if self.scale_ is None else coef / self.scale_

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        prior = read_prior(self.prior)
        target = Target(min_recall=self.min_recall, accept=self.accept)
        rows, problem = arrange_repeated(problem)
        sign = problem.labels.sign(1)
        weights = weights_to_try(self.positive_weight, self.loss)
        loss = self.loss
        has_unlabeled = bool((sign == 0).any())
        if not has_unlabeled:  # the ordinary SVM of positives and negatives
            self._refuse_without_unlabeled(problem)
            weights = (1.0,)
            loss = "hinge"
        rng = check_random_state(self.random_state)
        held, learns = np.zeros(len(sign), dtype=bool), np.ones(len(sign), dtype=bool)
        if self.confidence is not None:
            held, learns = hold_out(sign, rows, rng)
        folds = draw_folds_of_all_rows(problem.labels.codes, learns, self.n_folds, rng)
        if has_unlabeled and folds is None and self.positive_weight == "auto":
            weights = (UNTUNED_WEIGHT,)
        formula = problem.select(learns).formula()

        def fit_binary(task: BinaryTask) -> BinaryFit:
            return search_weight(PuMachine(task, self.C, loss), weights, learns, folds)

        fits = fit_pairs(problem, formula, fit_binary)
        search = fits[0].outcome
        self.positive_weight_ = weights[0] if search.best is None else search.best.weight
        self.pu_auc_ = np.nan if search.best is None else search.best.pu_auc
        self.prior_ = self.prior_bound_ = np.nan
        self.threshold_ = np.zeros(1)
        self.operating_points_ = {}
        negative, positive = problem.labels.classes.tolist()
        warnings: list[Warning] = [
            UserWarning(
                f"y has no unlabeled rows, so this is an ordinary SVC of {negative!r} and"
                f" {positive!r}. If {negative!r} marks the rows that are not known, pass"
                f" unlabeled={negative!r}."
            )
        ]
        if has_unlabeled:
            point, warnings = settle_threshold(
                target, prior, self.confidence, search, fits[0].scores, sign, held, learns
            )
            known = point.positive_unlabeled
            assert known is not None
            self.prior_ = known.prior_estimate if prior is None else math.sqrt(math.prod(prior))
            self.prior_bound_ = known.prior_bound
            self.threshold_ = np.array([point.threshold])
            self.operating_points_ = {positive: point}
        per_row = {"out_of_fold_scores_": search.mean_scores(len(sign)) - self.threshold_}
        return MethodFit(fits, formula, "ovr", rows=rows, per_row=per_row, warnings=tuple(warnings))

    def _refuse_without_unlabeled(self, problem: TrainingProblem) -> None:
        """Refuse a fit without unlabeled rows if there are no negatives, or if a parameter needs
        them.
        """
        if not (problem.labels.codes == 0).any():
            raise ValueError(
                f"y has labels of one class, {problem.labels.classes.tolist()[1]!r}, and no"
                " unlabeled row to compare it with. Add unlabeled rows; to describe one class"
                " alone use sklearn.svm.OneClassSVM."
            )
        if (self.min_recall, self.accept, self.confidence) != (None, None, None):
            raise ValueError(
                "min_recall, accept and confidence need unlabeled rows, and y has none. Where all"
                " rows are labeled, use PreferenceSVC."
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
