"""A precision or a recall with the labels that I have: the preference SVM's idea, for any
classifier.

The model is trained on all labels. Its threshold is chosen on out-of-fold scores: each label is
scored by a model that has not seen it (`choosing`). Unlabeled rows join the training with soft
labels if the same scores say that it helps (`soft_labels`). In the paper a half of the labels
trains and the other calibrates (`semisvm.svm.psvm`).
"""

from __future__ import annotations

import warnings
from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state, get_tags, indexable
from sklearn.utils.validation import has_fit_parameter

from semisvm.labels import UNLABELED_CODE, Labels, encode
from semisvm.model_selection.cross_fit import cross_fit, fit_on, scores_of
from semisvm.model_selection.split import as_split
from semisvm.sklearn_private import (
    HasMethods,
    Interval,
    check_sample_weight,
    num_samples,
    safe_split,
)
from semisvm.svm._base import PrimalSVC
from semisvm.svm._binary import BinaryFit, TrainingSet
from semisvm.svm._classifier import WHOEVER_CALLED_FIT, SemiSupervisedMixin
from semisvm.svm._estimator import estimator
from semisvm.svm._rounds import Rounds
from semisvm.threshold.choosing import OperatingPoint, check_targets, choose_threshold
from semisvm.threshold.soft_labels import (
    CrossFit,
    Fold,
    Training,
    cross_fit_candidates,
    draw_pool,
    with_soft_labels,
)

FEWEST_LABELS = 2  # of each class: one to train on, one to calibrate
N_DRAWS = 3  # of the folds of an SVM: with few labels much of the noise comes from the draw
ENOUGH_LABELS = 300  # from here on there is one draw
TARGETS: dict[str, Any] = {
    "min_precision": [Interval(Real, 0, 1, closed="right"), None],
    "min_recall": [Interval(Real, 0, 1, closed="right"), None],
    "random_state": ["random_state"],
}


@estimator
class PreferenceClassifier(SemiSupervisedMixin, MetaEstimatorMixin, BaseEstimator):
    """Classifier with a threshold for a minimum precision or recall.

    It takes two classes; the second one, sorted, is positive. `decision_function` is the score
    minus the threshold.

    Parameters
    ----------
    estimator : classifier
        A classifier with `decision_function`, or with `predict_proba`, whose log-odds are used. One
        that knows unlabeled rows, such as `TransductiveSVC`, gets all rows. Any other gets the
        labeled ones, and if it takes a `sample_weight` and the labels say that it helps, unlabeled
        rows with soft labels. A ``FrozenEstimator`` is not trained: pass rows to `fit` that it was
        not trained on.
    min_precision, min_recall : float, default=None
        The least precision and recall, in (0, 1]. Among the thresholds that reach them, the one
        with the best F1 is chosen.
    cv : int or splitter, default=5
        The folds: a number of stratified, shuffled folds, at most the labels of the rarest class,
        or a splitter of scikit-learn.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws of the fit. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of folds to train in parallel, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels.
    estimator_ : classifier
        The classifier, trained on all labels.
    threshold_ : float
        What is subtracted from its scores.
    operating_point_ : OperatingPoint
        The precision and recall to expect, with intervals.
    out_of_fold_scores_ : ndarray of shape (n_samples,)
        Decision values by models that have not seen the label; NaN for unlabeled rows.
    uses_soft_labels_ : bool
        Whether unlabeled rows were trained on with soft labels.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features and their names, if `estimator_` has them.

    See Also
    --------
    PreferenceSVC : The same for an SVM, faster.
    certify : Proves a precision or recall, by labels that were put aside.
    sklearn.model_selection.TunedThresholdClassifierCV : Tunes the threshold for one metric.

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
        **TARGETS,
        "estimator": [
            HasMethods(["fit", "decision_function"]),
            HasMethods(["fit", "predict_proba"]),
        ],
        "cv": ["cv_object"],
        "unlabeled": "no_validation",
        "n_jobs": [Integral, None],
    }

    estimator: Any = field(kw_only=False)
    min_precision: float | None = None
    min_recall: float | None = None
    cv: Any = 5
    unlabeled: Any = -1
    random_state: Any = None
    n_jobs: int | None = None

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y = indexable(X, y)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=num_samples(X))
        weight = check_sample_weight(sample_weight, X, dtype=np.float64)
        labels = Labels(labels.classes, np.where(weight > 0, labels.codes, UNLABELED_CODE))
        check_two_classes(self, labels)
        fit = self._fit_all_rows if knows_unlabeled(self.estimator) else self._fit_labeled_rows
        seed = draw_seed(self.random_state)
        self.estimator_, found = fit(X, y, labels, None if sample_weight is None else weight, seed)
        known = np.asarray(self.estimator_.classes_).tolist()
        if known != labels.classes.tolist():
            names = labels.classes.tolist()
            raise ValueError(f"The estimator knows the classes {known}, and y has {names}.")
        point = choose_threshold(
            np.nan_to_num(found.scores),
            np.where(np.isnan(found.scores), 0, labels.sign(1)),
            min_precision=self.min_precision,
            min_recall=self.min_recall,
            weight=weight,
        )
        self.classes_ = labels.classes
        self.threshold_, self.operating_point_ = point.threshold, point
        self.out_of_fold_scores_ = found.scores - point.threshold
        self.uses_soft_labels_ = found.uses_soft
        warn_unless_reached(point)

    def _fit_all_rows(
        self, X: Any, y: Any, labels: Labels, weight: np.ndarray | None, seed: int
    ) -> tuple[Any, CrossFit]:
        """Train an estimator that knows unlabeled rows, and score the labeled ones out of fold."""
        model = fit_on(self.estimator, X, y, np.arange(num_samples(X)), weight)
        scores = cross_fit(
            self.estimator,
            X,
            y,
            cv=self.cv,
            sample_weight=weight,
            unlabeled=self.unlabeled,
            random_state=seed,
            n_jobs=self.n_jobs,
        )
        return model, CrossFit(scores)

    def _fit_labeled_rows(
        self, X: Any, y: Any, labels: Labels, weight: np.ndarray | None, seed: int
    ) -> tuple[Any, CrossFit]:
        """Train on the labels, and with soft labels if these help."""
        if get_tags(self.estimator).input_tags.pairwise:
            raise ValueError("Labels alone have no precomputed kernel: use PreferenceSVC for one.")
        takes_weight = has_fit_parameter(self.estimator, "sample_weight")
        if weight is not None and not takes_weight:
            name = type(self.estimator).__name__
            raise ValueError(f"{name} takes no sample_weight: leave it out.")
        own_weight = np.ones(len(labels.codes)) if weight is None else weight
        sign = labels.sign(1).astype(np.float64)
        pool = draw_pool((sign == 0) & (own_weight > 0), seed) if takes_weight else np.empty(0, int)
        scored = np.union1d(np.flatnonzero(sign), pool)

        def fit(training: Training) -> tuple[Any, np.ndarray]:
            learned, share = training
            rows = np.flatnonzero(share)
            price = share[rows] * own_weight[rows]
            weights = {"sample_weight": price} if weight is not None or (price != 1).any() else {}
            model = clone(self.estimator)
            X_train, _ = safe_split(model, X, None, rows)
            model.fit(X_train, labels.classes[(learned[rows] > 0).astype(int)], **weights)
            values = np.full(len(sign), np.nan)
            values[scored] = scores_of(model, safe_split(model, X, None, scored, rows)[0])
            return model, values

        def train_many(trainings: list[Training]) -> list[np.ndarray]:
            fitted = Parallel(self.n_jobs)(delayed(fit)(training) for training in trainings)
            return [values for _, values in fitted]

        splitter = as_split(self.cv, labels, unlabeled=self.unlabeled, random_state=seed)
        folds = list(splitter.split(labels.codes, labels))
        asked = check_targets(self.min_precision, self.min_recall)
        found = cross_fit_candidates(train_many, sign, pool, [folds], asked, seed=seed)
        model, values = fit((sign, np.abs(sign)))
        if found.uses_soft:
            model, _ = fit(with_soft_labels(sign, values, pool))
        return model, found

    def _checked(self, X: Any, *, reset: bool) -> Any:
        return indexable(X)[0]  # the estimator knows what rows it takes

    def _decide(self, X: Any) -> np.ndarray:
        return scores_of(self.estimator_, X) - self.threshold_

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if X had feature names."""
        return self.estimator_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.classifier_tags.multi_class = False
        return tags


@estimator
class PreferenceSVC(PrimalSVC):
    """Support vector classifier with a threshold for a minimum precision or recall.

    `PreferenceClassifier` for an SVM, all of whose fits share their kernel rows. It takes two
    classes; the second one, sorted, is positive. `decision_function` is the score minus the
    threshold.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a labeled row on the wrong side of its margin.
    min_precision, min_recall : float, default=None
        The least precision and recall, in (0, 1]. Among the thresholds that reach them, the one
        with the best F1 is chosen.
    cv : int or splitter, default=5
        The folds, as in `PreferenceClassifier`. With fewer than 300 labels, those of an int are
        drawn three times.
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws of the fit. Pass an int for reproducible results.

    Attributes
    ----------
    threshold_ : float
        What is subtracted from the scores of the SVM.
    operating_point_ : OperatingPoint
        The precision and recall to expect, with intervals.
    out_of_fold_scores_ : ndarray of shape (n_samples,)
        Decision values by SVMs that have not seen the label; NaN for unlabeled rows.
    uses_soft_labels_ : bool
        Whether unlabeled rows were trained on with soft labels.

    See Also
    --------
    PreferenceClassifier : The same for any classifier.
    certify : Proves a precision or recall, by labels that were put aside.
    PaperPreferenceSVC : The algorithm of the paper.

    References
    ----------
    .. [1] Z. Wen, R. Zhang and K. Ramamohanarao, "Enabling precision/recall preferences for
       semi-supervised SVM training", CIKM 2014. :doi:`10.1145/2661829.2661977`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import PreferenceSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[np.random.default_rng(0).permutation(len(y))[200:]] = -1  # 200 labels are kept
    >>> model = PreferenceSVC(min_precision=0.95, random_state=0).fit(scale(X), y)
    >>> model.operating_point_.reached
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PrimalSVC._parameter_constraints,
        **TARGETS,
        "cv": ["cv_object"],
    }
    class_weight: ClassVar[None] = None  # type: ignore[misc]  # a threshold would undo it
    multi_class: ClassVar[Literal["ovr"]] = "ovr"  # type: ignore[misc]

    min_precision: float | None = None
    min_recall: float | None = None
    cv: Any = 5
    random_state: Any = None

    def _training_set(self, X: Any, labels: Labels, weight: np.ndarray) -> TrainingSet:
        pool = draw_pool(~labels.is_labeled & (weight > 0), draw_seed(self.random_state))
        used = labels.is_labeled.copy()
        used[pool] = True
        return super()._training_set(X, labels, np.where(used, weight, 0.0))

    def _fit_classes(self, data: TrainingSet) -> list[BinaryFit]:
        check_two_classes(self, data.labels)
        (problem,) = data.binary_problems()
        sign, seed = problem.sign, draw_seed(self.random_state)
        pool = np.flatnonzero(sign == 0)
        rounds = Rounds(problem)

        def train(training: Training, start: Any = None) -> np.ndarray:
            learned, share = training
            rounds.solve(problem.svm(learned, share * problem.box(learned, self.C, self.C)), start)
            return rounds.decision_values

        values = train((sign, np.abs(sign)))
        whole = rounds.solution
        found = cross_fit_candidates(
            lambda trainings: [train(training, whole) for training in trainings],
            sign,
            pool,
            self._draw_folds(data, seed),
            check_targets(self.min_precision, self.min_recall),
            seed=seed,
        )
        rounds.solution = whole
        if found.uses_soft:
            values = train(with_soft_labels(sign, values, pool), whole)
        point = choose_threshold(
            np.nan_to_num(found.scores),
            np.where(np.isnan(found.scores), 0, sign),
            min_precision=self.min_precision,
            min_recall=self.min_recall,
            weight=problem.weight,
        )
        warn_unless_reached(point, WHOEVER_CALLED_FIT + 1)
        rounds.done(threshold=point.threshold, gain=found.gain, gain_error=found.gain_error)
        self.threshold_, self.operating_point_ = point.threshold, point
        self.out_of_fold_scores_ = data.spread(found.scores - point.threshold, np.nan)
        self.uses_soft_labels_ = found.uses_soft
        return [rounds.fit(scores=values - point.threshold)]

    def _draw_folds(self, data: TrainingSet, seed: int) -> list[list[Fold]]:
        """Folds of the rows of `data`; drawn several times where labels are few."""
        codes, n_labeled = data.labels.codes, data.labels.n_labeled
        if isinstance(self.cv, Integral):
            n_draws = N_DRAWS if n_labeled < ENOUGH_LABELS else 1
            splits = [
                as_split(self.cv, data.labels, unlabeled=-1, random_state=seed + draw)
                for draw in range(n_draws)
            ]
            return [list(split.split(codes, data.labels)) for split in splits]
        theirs = Labels(data.labels.classes, data.spread(codes, UNLABELED_CODE))
        place = data.spread(np.arange(data.n_rows), -1)
        rows = np.zeros((data.n_given, 1))
        folds = as_split(self.cv, theirs, unlabeled=-1).split(rows, theirs)
        return [[(place[train], place[test]) for train, test in folds]]

    def _scores(self, X: Any) -> np.ndarray:
        return super()._scores(X) - self.threshold_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def knows_unlabeled(estimator: Any) -> bool:
    """Whether a classifier, or the last step of a pipeline, learns from unlabeled rows."""
    while (inner := getattr(estimator, "estimator", None)) is not None or hasattr(
        estimator, "steps"
    ):
        estimator = estimator.steps[-1][1] if inner is None else inner
    if type(estimator).__module__.startswith("sklearn.semi_supervised"):
        return True
    return hasattr(estimator, "unlabeled") and getattr(estimator, "_uses_unlabeled", True)


def draw_seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(2**31 - N_DRAWS))


def check_two_classes(classifier: Any, labels: Labels) -> None:
    """Refuse a target with more than two classes, or with a class too rare to calibrate."""
    name = type(classifier).__name__
    if labels.n_classes > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: y has"
            f" {labels.n_classes} classes. A precision or recall is that of one class: fit {name}"
            " on one class against the rest, with the marker where it is."
        )
    rarest, fewest = labels.rarest
    if fewest < FEWEST_LABELS:
        raise ValueError(
            f"{name} needs at least {FEWEST_LABELS} labeled rows of each class, and class"
            f" {rarest!r} has {fewest}: label more rows of it."
        )


def warn_unless_reached(point: OperatingPoint, stacklevel: int = WHOEVER_CALLED_FIT) -> None:
    if not point.reached:
        warnings.warn(f"The nearest threshold is taken: {point}.", stacklevel=stacklevel)
