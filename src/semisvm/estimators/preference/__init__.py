"""PSVM: the preference SVM, which reaches a minimum precision or recall and says how certain that
is.

A threshold on the scores of an SVM trades precision for recall. It is chosen on labeled rows that
the SVM was not trained on. In the paper these are half of the labels, and unlabeled rows join the
training rows with soft labels while the threshold is found (`paper`). Here every label is used both
for training and for calibration, and unlabeled rows are added if they help on the labels
(`_cross`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from semisvm.estimators.base import FORM_CONSTRAINTS, BaseSVC
from semisvm.estimators.binary import BinaryFit, BinaryTask, MethodFit, fit_pairs, spread
from semisvm.estimators.equal_rows import arrange_repeated
from semisvm.estimators.preference._decision import PREFERENCE_CONSTRAINTS, PreferenceMixin
from semisvm.estimators.preference._learner import ALL_LABELS, SvmLearner
from semisvm.estimators.preference.classifier import PreferenceClassifier
from semisvm.estimators.problem import Loss, TrainingProblem
from semisvm.estimators.rounds import Rounds
from semisvm.estimators.streams import fit_gathered
from semisvm.estimators.targets import Plan, begin_check
from semisvm.kernels.threads import with_limited_threads
from semisvm.machines import Solver
from semisvm.primal.dask_rows import is_streamed
from semisvm.sklearn_private import Interval, fit_context, with_callbacks

__all__ = ["PreferenceClassifier", "PreferenceSVC"]
# A threshold undoes class weights; targets are one-vs-rest.
NOT_HERE = ("class_weight", "multi_class")


class PreferenceSVC(PreferenceMixin, BaseSVC):
    """Support vector classifier with a threshold for a minimum precision or recall (PSVM).

    `fit` chooses a threshold on cross-validated scores, and uses the unlabeled rows if they help;
    `predict` accepts the rows above the threshold. `operating_point_` has the expected precision
    and recall, with intervals, and `audit_` the contributions of the threshold and of the unlabeled
    rows.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a labeled row on the wrong side of its margin.
    C_unlabeled : float, default=None
        Penalty for a row with a soft label. None: C, as in the paper. It is multiplied by the cost
        of the label that the row is given.
    min_precision : float or dict {class: float}, default=None
        Minimum precision, in (0, 1]: of the second class if there are two, else of each class
        against the rest. Among the thresholds that reach all targets, the one with the best F1 is
        chosen.
    min_recall : float or dict {class: float}, default=None
        Minimum recall. It can be combined with `min_precision`.
    confidence : float, default=None
        Certify each target: with 0.9 it holds with probability 90% over the random draw of the
        labels held out for the certificate (`calibration_size` of all labels). If these are too
        few, the operating point says how many are needed. None: no certificate.
    calibration_size : float, default=0.5
        Share of the labels held out for the certificate; a smaller share if a class would be left
        with fewer than two labels.
    probability : bool, default=False
        Whether to provide `predict_proba`; it can be changed after the fit. `predict` uses the
        threshold, so the predicted class is not always the most probable one.
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
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws of the fit. Pass an int for reproducible results.
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
    threshold_ : ndarray of shape (n_problems,)
        The thresholds that are subtracted from the scores: a row is accepted if `decision_function`
        is above 0. With more than two classes the largest difference wins.
    fair_sample_ : FairSampleCheck or None
        Whether the labels look like a random sample of all rows (`semisvm.check_fair_sample`); None
        without unlabeled rows, or if `random_sample` was given.
    operating_points_, operating_point_ : dict {class: OperatingPoint}, OperatingPoint
        The expected precision and recall of the rows above each threshold, with intervals. With two
        classes there is only the positive class, and `operating_point_` is its operating point.
        With more, `predict` gives each row only one class, so its precision and recall differ.
    audits_, audit_ : dict {class: dict {str: OperatingPoint}}, dict {str: OperatingPoint}
        The contribution of each step, measured on the same rows: "supervised", "supervised +
        threshold", "with unlabeled"; `audit_` only with two classes.
    calibration_scores_, calibration_sign_ : dict {class: ndarray of shape (n_calibration,)}
        The scores that each threshold was chosen on, and +1 for rows of the class, -1 for other
        rows.
    transduction_, labeled_iter_ : ndarray of shape (n_samples,)
        Label of each training row, and the round that assigned it: 0 if in y, -1 if predicted.
    history_, n_iter_, termination_condition_ : list of RoundRecord, int, str
        One record per round, number of solver steps, and why the fit ended, such as "converged".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    PreferenceClassifier : The same method for any classifier.
    semisvm.estimators.preference.paper.PaperPreferenceSVC : The algorithm of the paper.
    SupervisedSVC : The SVM without a threshold.
    sklearn.model_selection.TunedThresholdClassifierCV : Tunes the threshold of any classifier for
        one metric, without unlabeled rows, minimum values or certificates.

    Notes
    -----
    More than two classes are always one-vs-rest, because a target is about one class against the
    rest. ``gamma="scale"`` is computed from the training rows. The records in `history_` have, for
    each candidate, precision, recall and F1 on the calibration rows at threshold 0 and at the
    adjusted threshold (``adjusted_...``), the threshold, the numbers of soft labels of each sign,
    the gain over the supervised SVM, and whether the candidate was chosen.

    References
    ----------
    .. [1] Z. Wen, R. Zhang and K. Ramamohanarao, "Enabling precision/recall preferences for
       semi-supervised SVM training", CIKM 2014. :doi:`10.1145/2661829.2661977`
    .. [2] J. Platt, "Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods", Advances in Large Margin Classifiers, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import PreferenceSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[np.random.default_rng(0).permutation(len(y))[200:]] = -1  # 200 labels are kept
    >>> model = PreferenceSVC(min_precision=0.95, probability=True, random_state=0).fit(scale(X), y)
    >>> model.operating_point_.level, model.operating_point_.reached
    ('cross-fitted', True)
    >>> model.predict_proba(scale(X)[203:206]).round(1)
    array([[1. , 0. ],
           [0. , 1. ],
           [0.5, 0.5]])
    """

    _keeps_tensors = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: rule
            for name, rule in BaseSVC._parameter_constraints.items()
            if name not in NOT_HERE
        },
        **PREFERENCE_CONSTRAINTS,
        **FORM_CONSTRAINTS,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), None],
    }

    C_unlabeled: float | None

    class_weight = None
    multi_class = "ovr"

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_unlabeled: float | None = None,
        min_precision: float | dict | None = None,
        min_recall: float | dict | None = None,
        confidence: float | None = None,
        calibration_size: float = 0.5,
        probability: bool = False,
        loss: Loss = "hinge",
        kernel: Any = "rbf",
        degree: float = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        costs: Any = None,
        unlabeled: Any = -1,
        solver: Solver = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float | None = None,
        device: str = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ):
        self._keep(locals())

    @with_limited_threads
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, random_sample: Any = None) -> Self:  # type: ignore[override]
        """Learn from labeled and unlabeled rows.

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
        random_sample : array-like of bool of shape (n_samples,), default=None
            Mask of the labels that are a random sample of all rows. Other labels, for example of
            rows that a model was uncertain about, are used for training only. None: all labels, and
            this is checked (`fair_sample_`): if they do not look like a random sample, a
            `FairSampleWarning` is issued and no certificate is given. A mask is not checked.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if is_streamed(X):
            return fit_gathered(self, X, y, sample_weight, random_sample)
        return self._fit_rows(X, y, sample_weight, None, random_sample=random_sample)

    def _fit_in_memory(self, X: Any, y: Any, sample_weight: Any, random_sample: Any) -> Self:
        return self._fit_rows(X, y, sample_weight, None, random_sample=random_sample)

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        rows, problem = arrange_repeated(
            problem, self._within_pool(problem.labels, np.arange(problem.n_rows))
        )
        is_tested = problem.random_sample is None and not self._is_precomputed()
        begun = begin_check(problem.X, problem.labels) if is_tested else None
        plan = self._make_plan(problem.labels, problem.random_sample, self.calibration_size, rows)
        part = problem.select(plan.learns).settle_form()
        formula = part.formula()
        trained, make_run, deal_out = self._prepare_runs(part, plan)
        fits = fit_pairs(trained, formula, partial(self._fit_binary, make_run))
        fits = [deal_out(fit) for fit in fits]
        outcomes = [fit.outcome for fit in fits]
        assert problem.numbers is not None
        certifying = problem.numbers[plan.certifies]

        def settle(score: Callable[[np.ndarray], np.ndarray]) -> None:
            self._conclude(plan, problem.labels, outcomes, begun, partial(score, certifying))

        fits = [spread(fit, plan.learns) for fit in fits]
        return MethodFit(fits, formula, "ovr", rows=rows, settle=settle)

    def _prepare_runs(
        self, part: TrainingProblem, plan: Plan
    ) -> tuple[TrainingProblem, Callable[..., Any], Callable[[BinaryFit], BinaryFit]]:
        """The rows to train on, what makes the run of a binary problem (`_make_run`), and what
        turns a fit on these rows into one on the rows of `part`.
        """
        return part, partial(self._make_run, plan, plan.measures[plan.learns]), lambda fit: fit

    def _fit_binary(self, make_run: Callable[..., Any], task: BinaryTask) -> BinaryFit:
        rounds = Rounds(task)
        learner = SvmLearner(
            rounds, self.C, self.C if self.C_unlabeled is None else self.C_unlabeled
        )
        run = make_run(task.number, learner, task.sign)
        with rounds.until_stopped():
            run.run()
        last = learner.newest.get(ALL_LABELS, rounds.solution)
        outcome = run.outcome(unfinished=(last, last.decision_values))
        rounds.go_back(outcome.model)
        rounds.labeled_in = outcome.labeled_in
        rounds.history = outcome.marked(rounds.history)
        return rounds.fit(ended=outcome.ended, outcome=outcome)
