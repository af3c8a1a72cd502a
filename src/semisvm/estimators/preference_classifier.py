"""PSVM's idea around any classifier: the paper names Bayesian networks and neural networks.

The rounds and the calibration are those of `PreferenceSVC` (`preference_loop`, `preference_cross`), on a classifier of
scikit-learn's that is trained from nothing each time. What it needs is a score: `decision_function`, or `predict_proba`
of which the log-odds are taken.
"""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from semisvm.estimators.base import require_two_classes
from semisvm.estimators.multiclass import Pair, pairs
from semisvm.estimators.preference_decision import PreferenceMixin
from semisvm.estimators.preference_learner import ClassifierLearner, scores_of
from semisvm.estimators.preference_outcome import Outcome
from semisvm.estimators.weights import sample_weights
from semisvm.labels import Labels, encode
from semisvm.sklearn_private import HasMethods, Interval, fit_context, safe_indexing


class PreferenceClassifier(PreferenceMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Any classifier, held to a minimum precision or recall, with unlabeled rows where they help (after PSVM).

    Parameters
    ----------
    estimator : classifier
        With `decision_function` or `predict_proba`. It is cloned and trained on two classes, 0 and 1, for several
        classes each against the rest: about ten times with calibration="part", forty with "cross".
    min_precision, min_recall, calibration, calibration_size, pool, adjust, certify, max_rounds, unlabeled, random_state
        As in `PreferenceSVC`.
    unlabeled_weight : float, default=1.0
        What a row with a soft label weighs beside a labeled one. Where `estimator.fit` takes no `sample_weight`, a row
        of weight w below 1 is trained on with chance w instead.
    verbose : bool, default=False
        Print a line a round.

    Attributes
    ----------
    classes_ : the classes, sorted.
    estimators_ : the trained classifiers, one for two classes, else one a class.
    threshold_, operating_point_, audit_, calibration_scores_, calibration_sign_, transduction_, labeled_iter_, \
history_, termination_condition_
        As in `PreferenceSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from semisvm import PreferenceClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[200:] = -1  # all but two hundred labels are hidden
    >>> model = PreferenceClassifier(GaussianNB(), min_recall=0.95, random_state=0).fit(X, y)
    >>> model.operating_point_.reached
    True
    """

    _n_draws = 1  # a stranger's training may be dear

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PreferenceMixin._preference_constraints,
        "estimator": [HasMethods(["fit", "decision_function"]), HasMethods(["fit", "predict_proba"])],
        "unlabeled_weight": [Interval(Real, 0, 1, closed="right")],
        "unlabeled": "no_validation",
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator,
        *,
        min_precision=None,
        min_recall=None,
        calibration="cross",
        calibration_size=0.5,
        pool="grow",
        adjust="best",
        unlabeled_weight=1.0,
        certify=None,
        max_rounds=20,
        unlabeled=-1,
        random_state=None,
        verbose=False,
    ):
        self.estimator = estimator
        self.min_precision = min_precision
        self.min_recall = min_recall
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.pool = pool
        self.adjust = adjust
        self.unlabeled_weight = unlabeled_weight
        self.certify = certify
        self.max_rounds = max_rounds
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, in any form that the estimator takes.
        y : array-like of shape (n_samples,)
            A label for each row, the marker `unlabeled` where there is none.
        sample_weight : array-like of shape (n_samples,), optional
            Handed on to the estimator; a row of weight 0 is left out.
        """
        if y is not None:
            X = self._checked(X, reset=True)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=None if y is None else X.shape[0])
        weight = sample_weights(sample_weight, X)
        in_use = (weight > 0) & ~self._ask(labels, weight)
        kept = require_two_classes(labels, in_use)
        self.classes_ = labels.classes

        rows, certificate = np.flatnonzero(in_use), self._certificate
        X_in_use, certificate_X = safe_indexing(X, rows), safe_indexing(X, certificate)
        outcomes: list[Outcome] = []
        self.history_ = []
        for number, pair in enumerate(pairs(labels.n_classes, "ovr")):
            sign = kept.sign(pair.positive)
            learner = self._learner(X_in_use, sign, None if sample_weight is None else weight[rows], pair)
            run = self._run_of(learner, sign, np.ones(len(sign), dtype=np.intp), number)
            run.run()
            outcome = run.outcome()
            if len(certificate):
                scores, truth = scores_of(outcome.model, certificate_X), labels.sign(pair.positive)[certificate]
                outcome = self._certified(outcome, self._targets[number], scores, truth)
            outcomes.append(outcome)
            self.history_ += learner.history
        self.estimators_ = [outcome.model for outcome in outcomes]
        self._learn_points(list(outcomes))
        self.termination_condition_ = next((o.ended for o in outcomes if o.ended != "converged"), "converged")
        self._transduce(X, rows, labels, outcomes)
        self._warn_unless_reached()
        return self

    def _learner(self, X, sign: np.ndarray, weight: np.ndarray | None, pair: Pair) -> ClassifierLearner:
        price = np.where(sign != 0, 1.0, self.unlabeled_weight)
        name = pair.name(self.classes_)
        return ClassifierLearner(self.estimator, X, weight, price, self._random, problem=name, verbose=self.verbose)

    def _transduce(self, X, rows_in_use: np.ndarray, labels: Labels, outcomes: list[Outcome]) -> None:
        """A label for every training row, and the round that gave it."""
        self.labeled_iter_ = np.where(labels.is_labeled, 0, -1)
        for outcome in outcomes:
            self.labeled_iter_[rows_in_use] = np.maximum(self.labeled_iter_[rows_in_use], outcome.labeled_in)
        codes = labels.codes.copy()
        unlabeled = np.flatnonzero(~labels.is_labeled)
        if len(unlabeled):
            codes[unlabeled] = self._codes_of(self._decision(safe_indexing(X, unlabeled)))
        self.transduction_ = labels.decode(codes)

    def decision_function(self, X):
        """Scores minus thresholds: shape (n,) for two classes, (n, n_classes) for more; above 0 is accepted."""
        check_is_fitted(self)
        return self._decision(self._checked(X, reset=False))

    def _decision(self, X) -> np.ndarray:
        scores = np.stack([scores_of(model, X) for model in self.estimators_], axis=1)
        return self._decide(scores[:, 0] if len(self.estimators_) == 1 else scores)

    def predict(self, X):
        """The class of each row; with two classes, the second where the score is above its threshold."""
        codes = self._codes_of(self.decision_function(X))
        return self.classes_[codes]

    def _codes_of(self, decision: np.ndarray) -> np.ndarray:
        return (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)

    def _checked(self, X, *, reset: bool):
        """The rows as an array or CSR matrix; NaN passes where the estimator takes it."""
        tags = get_tags(self.estimator).input_tags
        return validate_data(
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
