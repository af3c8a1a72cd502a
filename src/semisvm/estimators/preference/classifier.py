"""The idea of PSVM for any classifier; the paper names Bayesian networks and neural networks.

The calibration is that of `PreferenceSVC` (`_cross`), with a classifier of scikit-learn that is
trained from the beginning each time. The classifier has to give scores:
`decision_function`, or `predict_proba`, whose log-odds are used.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from semisvm.decision.counts import count_all, f_score, precision, recall
from semisvm.estimators.binary import pairs
from semisvm.estimators.classifier import (
    SemiSupervisedMixin,
    check_every_class_is_used,
    read_random_sample,
    read_texts,
    refuse_undefined,
    row_weights,
    validated,
)
from semisvm.estimators.equal_rows import as_repetitions, content_order
from semisvm.estimators.preference._cross import FEW_CANDIDATES, Outcome
from semisvm.estimators.preference._decision import PREFERENCE_CONSTRAINTS, PreferenceMixin
from semisvm.estimators.preference._learner import ClassifierLearner, scores_of_classifier
from semisvm.estimators.progress import Progress
from semisvm.estimators.rounds import EndedEarlyError
from semisvm.estimators.streams import fit_gathered, scores_of_rows
from semisvm.estimators.targets import begin_check
from semisvm.labels import Labels, encode, refuse_marker_as_class
from semisvm.matrices import is_frame
from semisvm.model_selection.scoring import winning_codes
from semisvm.primal.dask_rows import is_streamed
from semisvm.primal.rows import Rows
from semisvm.sklearn_private import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    fit_context,
    safe_indexing,
    with_callbacks,
)


class PreferenceClassifier(
    PreferenceMixin,
    CallbackSupportMixin,
    SemiSupervisedMixin,
    MetaEstimatorMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Meta-estimator that gives any classifier a threshold for a minimum precision or recall.

    `fit` chooses the threshold on cross-validated scores, and uses the unlabeled rows if they help.
    The method is that of `PreferenceSVC` (PSVM).

    Parameters
    ----------
    estimator : classifier
        A classifier with `decision_function` or `predict_proba`. It is cloned and trained on two
        classes, 0 and 1; with more classes, on each class against the rest. For each class it is
        trained 10 to 17 times: on five folds with the labels only, on the same folds with soft
        labels, if these help again with better ones, and once or twice on all labels. A
        ``FrozenEstimator`` of a fitted binary classifier is not trained: pass rows to `fit` that it
        was not trained on.
    n_jobs : int, default=None
        Number of folds to train in parallel, as in scikit-learn.
    unlabeled_weight : float, default=1.0
        Weight of a row with a soft label, relative to a labeled row. If `estimator.fit` takes no
        `sample_weight`, a row of weight w below 1 is included in the training with probability w
        instead.
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
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws of the fit. Pass an int for reproducible results.
    verbose : bool, default=False
        Print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    estimators_, estimator_ : list of classifiers, classifier
        The trained classifiers: one per class, or with two classes a single one, `estimator_`.
    best_threshold_ : float
        The only entry of `threshold_`, a decision value, or the log-odds if the classifier only has
        probabilities; only with two classes.
    cv_results_ : dict of ndarrays
        "thresholds" that accept different rows, and "precision", "recall" and "f1" of each on the
        calibration scores; only with two classes.
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
        One record per round, as in :class:`PreferenceSVC`; number of trainings over all binary
        problems; why the fit ended: "converged" or "stopped_by_callback".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    PreferenceSVC : The same method for SVMs, faster.
    sklearn.model_selection.TunedThresholdClassifierCV : Tunes the threshold of any classifier for
        one metric, without unlabeled rows, minimum values or certificates.
    sklearn.semi_supervised.SelfTrainingClassifier : Uses unlabeled rows with any classifier,
        without a threshold.

    References
    ----------
    .. [1] Z. Wen, R. Zhang and K. Ramamohanarao, "Enabling precision/recall preferences for
       semi-supervised SVM training", CIKM 2014. :doi:`10.1145/2661829.2661977`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from semisvm import PreferenceClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[np.random.default_rng(0).permutation(len(y))[200:]] = -1  # 200 labels are kept
    >>> model = PreferenceClassifier(GaussianNB(), min_recall=0.95, random_state=0).fit(X, y)
    >>> model.operating_point_.reached
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PREFERENCE_CONSTRAINTS,
        "estimator": [
            HasMethods(["fit", "decision_function"]),
            HasMethods(["fit", "predict_proba"]),
        ],
        "n_jobs": [Integral, None],
        "unlabeled_weight": [Interval(Real, 0, 1, closed="right")],
        "unlabeled": "no_validation",
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        n_jobs: int | None = None,
        unlabeled_weight: float = 1.0,
        min_precision: float | dict | None = None,
        min_recall: float | dict | None = None,
        confidence: float | None = None,
        calibration_size: float = 0.5,
        probability: bool = False,
        unlabeled: Any = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self._keep(locals())

    estimator: Any
    n_jobs: int | None
    unlabeled_weight: float

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, random_sample: Any = None) -> Self:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, in any form that the estimator takes.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one (see also :doc:`/scikit-learn`).
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A weight of 2 equals duplicating the row; a weight of 0 removes it. If
            the weights are not all whole numbers, or above 10 on average, they are passed on to the
            estimator only, and each row counts once in folds, thresholds and intervals. A
            certificate always counts each row once.
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
        return self._fit_in_memory(X, y, sample_weight, random_sample)

    def _fit_in_memory(self, X: Any, y: Any, sample_weight: Any, random_sample: Any) -> Self:
        if y is not None:
            X = self._check_X(X, reset=True)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=None if y is None else X.shape[0])
        weight = row_weights(sample_weight, X)
        check_every_class_is_used(labels, weight > 0)
        if isinstance(self.estimator, FrozenEstimator):
            _check_prefitted(self.estimator, labels.classes)
        self.classes_ = labels.classes
        sample = read_random_sample(random_sample, X.shape[0])
        in_use = self._within_pool(labels, np.flatnonzero(weight > 0))
        in_use, counts_rows = _arranged(X, in_use, labels, weight, sample)
        own_labels = labels.take(in_use)
        own_sample = None if sample is None else sample[in_use]
        plan = self._make_plan(own_labels, own_sample, self.calibration_size, in_use)
        rows = in_use[plan.learns]
        price = np.where(labels.is_labeled[rows], 1.0, self.unlabeled_weight)
        own_weight = None if counts_rows else weight[rows]
        given = self.estimator, safe_indexing(X, rows), own_weight, price
        measures = plan.measures[plan.learns]
        outcomes: list[Outcome] = []
        self.history_ = []
        self.n_iter_ = 0
        was_stopped = False
        with Progress(self).whole_fit(type(self).__name__) as watch:
            for number, pair in enumerate(pairs(labels.n_classes, "ovr")):
                # Once a callback has asked to stop, every class that is left ends after its first
                # round.
                how: dict[str, Any] = {"problem": pair.name(labels.classes), "n_jobs": self.n_jobs}
                learner = ClassifierLearner(*given, plan.random, watch, is_last=was_stopped, **how)
                # One draw of folds and one way to use unlabeled rows: trainings of others may be
                # expensive.
                few: dict[str, Any] = {"n_draws": 1, "candidates": FEW_CANDIDATES}
                sign = labels.sign(pair.positive)[rows]
                run = self._make_run(plan, measures, number, learner, sign, **few)
                try:
                    run.run()
                except EndedEarlyError:
                    was_stopped = True
                outcomes.append(run.outcome())
                self.n_iter_ += learner.n_iter
                self.history_ += outcomes[-1].marked(learner.history)
        begun = None
        if not plan.is_vouched_for:
            begun = begin_check(_as_numbers(safe_indexing(X, in_use)), own_labels)
        self.estimators_ = [outcome.model for outcome in outcomes]
        held_out = safe_indexing(X, in_use[plan.certifies])
        self._conclude(
            plan, own_labels, [*outcomes], begun, lambda: self._scores_of_models(held_out)
        )
        self.termination_condition_ = "stopped_by_callback" if was_stopped else "converged"
        self._transduce(X, rows, labels, outcomes)
        return self

    def _transduce(self, X: Any, rows: np.ndarray, labels: Labels, outcomes: list[Outcome]) -> None:
        """A label for every training row, and the round that gave it."""
        self.labeled_iter_ = np.where(labels.is_labeled, 0, -1)
        for outcome in outcomes:
            np.maximum.at(self.labeled_iter_, rows, outcome.labeled_in)
        codes = labels.codes.copy()
        unlabeled = np.flatnonzero(~labels.is_labeled)
        if len(unlabeled):
            codes[unlabeled] = winning_codes(
                self._decide(self._score_checked(safe_indexing(X, unlabeled)))
            )
        self.transduction_ = labels.decode(codes)

    @property
    def estimator_(self) -> Any:
        """The trained classifier; only with two classes."""
        return self._only("estimator_", "estimators_")

    @property
    def best_threshold_(self) -> float:
        """The threshold; only with two classes."""
        return float(self._only("best_threshold_", "threshold_"))

    @property
    def cv_results_(self) -> dict[str, np.ndarray]:
        """Precision, recall and F1 by threshold on the calibration scores; of two classes."""
        check_is_fitted(self)
        scores = self._of_positive_class("cv_results_", "calibration_scores_")
        sign = self._of_positive_class("cv_results_", "calibration_sign_")
        curve = count_all(scores, sign)
        return {
            "thresholds": curve.thresholds,
            "precision": precision(curve.counts),
            "recall": recall(curve.counts),
            "f1": f_score(curve.counts),
        }

    def _only(self, name: str, of_all: str) -> Any:
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise AttributeError(f"{name} is only available with two classes: use {of_all}.")
        return getattr(self, of_all)[0]

    def _raw_scores(self, X: Any) -> np.ndarray:  # type: ignore[override]
        """Check the rows and score them without thresholds, (n, n_problems)."""
        check_is_fitted(self)
        refuse_marker_as_class(self.unlabeled)
        if isinstance(X, Rows):
            return scores_of_rows(self, X)
        return self._score_checked(self._check_X(X, reset=False))

    def _in_training_units(self, X: Any) -> Any:
        return X

    def _scores_of_models(self, X: Any) -> np.ndarray:
        return np.stack([scores_of_classifier(model, X) for model in self.estimators_], axis=1)

    def _score_checked(self, X: Any) -> np.ndarray:
        scores = self._scores_of_models(X)
        refuse_undefined(scores, X, getattr(self, "feature_names_in_", None))
        return scores

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """The rows: a DataFrame as it is, as columns may be told by their names; texts; an array or
        CSR matrix, in which NaN is allowed where the estimator takes it.
        """
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        if (texts := read_texts(X)) is not None:
            return texts
        tags = get_tags(self.estimator).input_tags
        return validated(
            self,
            X,
            accept_sparse="csr" if tags.sparse else False,
            dtype=None,
            ensure_all_finite="allow-nan" if tags.allow_nan else True,
            reset=reset,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


def _check_prefitted(frozen: FrozenEstimator, classes: np.ndarray) -> None:
    """Raise ValueError unless a fitted classifier knows exactly the two classes of y."""
    check_is_fitted(frozen)
    known = np.asarray(frozen.classes_).tolist()
    if known != classes.tolist() or len(known) != 2:
        raise ValueError(
            "A FrozenEstimator keeps its classes, so it must have the two classes of y: it has"
            f" {known}, and y has {classes.tolist()}. Pass the classifier itself to train it."
        )


def _arranged(
    X: Any, rows: np.ndarray, labels: Labels, weight: np.ndarray, sample: np.ndarray | None
) -> tuple[np.ndarray, bool]:
    """These rows by content, those of weight 2 twice; and whether that settles the weights."""
    ties = [labels.codes[rows], weight[rows]]
    ties = ties if sample is None else [sample[rows], *ties]
    rows = rows[content_order(_as_numbers(safe_indexing(X, rows)), *ties)]
    times = as_repetitions(weight[rows])
    if times is None:
        return rows, bool((weight[rows] == 1).all())
    return np.repeat(rows, times), True


def _as_numbers(X: Any) -> Any:
    """Objects that are all numbers as float64, and a DataFrame as an array; others as they are."""
    if is_frame(X):
        X = check_array(X, dtype=None, ensure_all_finite=False)
    if not isinstance(X, np.ndarray) or X.dtype.kind != "O":
        return X
    if any(isinstance(cell, str | bytes) for cell in X.flat):
        return X
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError):
        return X
