"""The idea of PSVM around any classifier; the paper names Bayesian networks and neural networks.

The rounds and the calibration are those of `PreferenceSVC` (`_cross`, `_paper`), with a classifier of scikit-learn that
is trained from the beginning each time. The classifier has to give scores: `decision_function`, or `predict_proba`,
whose log-odds are used.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from semisvm.estimators.binary import pairs
from semisvm.estimators.classifier import (
    SemiSupervisedMixin,
    check_every_class_is_used,
    read_random_sample,
    refuse_undefined,
    row_weights,
    validated,
    winning_codes,
)
from semisvm.estimators.equal_rows import as_repetitions, content_order
from semisvm.estimators.preference._cross import FEW_CANDIDATES, CrossFitted
from semisvm.estimators.preference._decision import (
    PREFERENCE_CONSTRAINTS,
    PreferenceMixin,
    begin_check,
)
from semisvm.estimators.preference._learner import ClassifierLearner, scores_of_classifier
from semisvm.estimators.preference._plan import Outcome
from semisvm.estimators.progress import Progress
from semisvm.estimators.rounds import EndedEarlyError
from semisvm.estimators.streams import Gathered, decide_rows, fit_gathered, scores_of_rows
from semisvm.labels import Labels, encode
from semisvm.primal import Rows
from semisvm.primal.dask_rows import is_streamed
from semisvm.shared_docs import with_shared_docs
from semisvm.sklearn_private import HasMethods, Interval, fit_context, safe_indexing


@with_shared_docs
class PreferenceClassifier(
    PreferenceMixin, CallbackSupportMixin, SemiSupervisedMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator
):
    """Any classifier with a minimum precision or recall, and with unlabeled rows where they help (after PSVM).

    Parameters
    ----------
    estimator : classifier
        With `decision_function` or `predict_proba`. It is cloned and trained on two classes, 0 and 1; with more
        classes on each against the rest. For each class it is trained about ten times with calibration="part" and 10 to
        17 times with "cross": on five folds with the labels alone, on the same folds with soft labels, if these help a
        second time with better ones, and once or twice on all labels.
    n_jobs : int, default=None
        How many folds are trained at the same time, as in scikit-learn.
    unlabeled_weight : float, default=1.0
        The weight of a row with a soft label, relative to a labeled row. Where `estimator.fit` takes no
        `sample_weight`, a row of weight w below 1 is trained on with probability w instead.
    %(preference_targets)s
    %(unlabeled)s
    %(random_state)s
    %(verbose)s

    Attributes
    ----------
    %(classes)s
    estimators_ : list of classifiers
        The trained classifiers: one with two classes, else one per class.
    %(operating_points)s
    %(transduction)s
    history_ : list of RoundRecord
        One record per round, as in :class:`PreferenceSVC`; ``n_iter`` counts trainings.
    n_iter_ : int
        Number of trainings over all binary problems.
    termination_condition_ : str
        Why the fit ended: "converged", "cycle", "max_rounds" or "stopped_by_callback".
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit; only where X has string column names.

    See Also
    --------
    PreferenceSVC : The same for support vector machines, faster.
    sklearn.model_selection.TunedThresholdClassifierCV : Tunes the threshold of any classifier for one metric, without
        unlabeled rows, minimum values or certificates.
    sklearn.semi_supervised.SelfTrainingClassifier : Uses unlabeled rows with any classifier, without a threshold.

    References
    ----------
    .. [1] Z. Wen, R. Zhang and K. Ramamohanarao, "Enabling precision/recall preferences for semi-supervised SVM
       training", CIKM 2014. :doi:`10.1145/2661829.2661977`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from semisvm import PreferenceClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[np.random.default_rng(0).permutation(len(y))[200:]] = -1  # all but two hundred labels are hidden
    >>> model = PreferenceClassifier(GaussianNB(), min_recall=0.95, random_state=0).fit(X, y)
    >>> model.operating_point_.reached
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PREFERENCE_CONSTRAINTS,
        "estimator": [HasMethods(["fit", "decision_function"]), HasMethods(["fit", "predict_proba"])],
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
        calibration: Literal["cross", "part", "full"] = "cross",
        calibration_size: float = 0.5,
        pool: Literal["grow", "rebuild"] = "grow",
        adjust: Literal["best", "paper"] | None = "best",
        max_rounds: int = 20,
        probability: bool = False,
        unlabeled: Any = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.unlabeled_weight = unlabeled_weight
        self.min_precision = min_precision
        self.min_recall = min_recall
        self.confidence = confidence
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.pool = pool
        self.adjust = adjust
        self.max_rounds = max_rounds
        self.probability = probability
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    @with_shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None, random_sample: Any = None) -> Self:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, in any form that the estimator takes.
        %(labels)s
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight 2 is two rows, for the estimator, folds, thresholds and intervals. Weights that are not
            whole numbers, or above 10 on average, are passed on to the estimator, and folds, thresholds and intervals
            count each row once. A row of weight 0 is left out.
        %(random_sample)s

        Returns
        -------
        %(fitted_self)s
        """
        if is_streamed(X):
            return fit_gathered(self, X, y, sample_weight, random_sample)
        if y is not None:
            X = self._check_X(X, reset=True)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=None if y is None else X.shape[0])
        return self._fit_labeled(X, labels, sample_weight, random_sample)

    def _fit_gathered(self, rows: Gathered) -> None:
        weight = None if (rows.weight == 1).all() else rows.weight
        self._fit_labeled(self._check_X(rows.X, reset=True), rows.labels, weight, rows.random_sample)

    def _fit_labeled(self, X: Any, labels: Labels, sample_weight: Any, random_sample: Any) -> Self:
        weight = row_weights(sample_weight, X)
        check_every_class_is_used(labels, weight > 0)
        self.classes_ = labels.classes
        sample = read_random_sample(random_sample, X.shape[0])
        in_use = self._within_pool(labels, np.flatnonzero(weight > 0))
        in_use, counts_rows = _arranged(X, in_use, labels, weight, sample)
        own_labels = Labels(labels.classes, labels.codes[in_use])
        own_sample = None if sample is None else sample[in_use]
        plan = self._make_plan(own_labels, own_sample, self.calibration, self.calibration_size)
        rows = in_use[plan.learns]
        own_X, own_weight = safe_indexing(X, rows), None if counts_rows else weight[rows]
        price = np.where(labels.is_labeled[rows], 1.0, self.unlabeled_weight)
        outcomes: list[Outcome] = []
        self.history_, self.n_iter_, was_stopped = [], 0, False
        with Progress(self).whole_fit(type(self).__name__) as watch:
            for number, pair in enumerate(pairs(labels.n_classes, "ovr")):
                # Once a callback has asked to stop, every class that is left ends after its first round.
                learner = ClassifierLearner(
                    self.estimator,
                    own_X,
                    own_weight,
                    price,
                    plan.random,
                    problem=pair.name(labels.classes),
                    tell=lambda record: watch.round_done(record) or was_stopped,  # noqa: B023
                    look=watch.training_done,
                    n_jobs=self.n_jobs,
                )
                # One draw of folds and one way to use unlabeled rows: trainings of others may be expensive.
                sign = labels.sign(pair.positive)[rows]
                run = self._make_run(plan, number, learner, sign, plan.measures[plan.learns], n_draws=1)
                if isinstance(run, CrossFitted):
                    run.candidates = FEW_CANDIDATES
                try:
                    run.run()
                except EndedEarlyError:
                    was_stopped = True
                outcomes.append(run.outcome())
                self.n_iter_ += learner.n_iter
                self.history_ += run.mark_chosen(learner.history) if isinstance(run, CrossFitted) else learner.history
        begun = None if plan.is_vouched_for else begin_check(safe_indexing(X, in_use), own_labels)
        certificate_X = safe_indexing(X, in_use[plan.certifies])
        self._conclude(
            plan,
            own_labels,
            [*outcomes],
            begun,
            lambda: np.stack([scores_of_classifier(outcome.model, certificate_X) for outcome in outcomes], axis=1),
        )
        self.estimators_ = [outcome.model for outcome in outcomes]
        ended = next((o.ended for o in outcomes if o.ended is not None), "converged")
        self.termination_condition_ = "stopped_by_callback" if was_stopped else ended
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
            codes[unlabeled] = winning_codes(self._decide(self._score_checked(safe_indexing(X, unlabeled))))
        self.transduction_ = labels.decode(codes)

    @with_shared_docs
    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores minus thresholds: above 0 is accepted.

        Parameters
        ----------
        %(rows)s

        Returns
        -------
        %(scores)s
        """
        return decide_rows(self, X)

    def _raw_scores(self, X: Any) -> np.ndarray:  # type: ignore[override]
        """Check the rows and score them without thresholds, (n, n_problems)."""
        check_is_fitted(self)
        if isinstance(X, Rows):
            return scores_of_rows(self, X)
        return self._score_checked(self._check_X(X, reset=False))

    def _score_checked(self, X: Any) -> np.ndarray:
        scores = np.stack([scores_of_classifier(model, X) for model in self.estimators_], axis=1)
        refuse_undefined(scores, X, getattr(self, "feature_names_in_", None))
        return scores

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """The rows as an array or CSR matrix; NaN is allowed where the estimator takes it."""
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


def _arranged(
    X: Any, rows: np.ndarray, labels: Labels, weight: np.ndarray, sample: np.ndarray | None
) -> tuple[np.ndarray, bool]:
    """These rows in the order of their content, those of weight 2 twice; and whether that settles the weights."""
    ties = [labels.codes[rows], weight[rows]]
    rows = rows[content_order(safe_indexing(X, rows), *(ties if sample is None else [sample[rows], *ties]))]
    times = as_repetitions(weight[rows])
    return (rows, bool((weight[rows] == 1).all())) if times is None else (np.repeat(rows, times), True)
