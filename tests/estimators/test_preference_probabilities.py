"""Probabilities of PreferenceSVC and PreferenceClassifier: calibrated on rows that were not
used, or refused.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale

from preference_data import overlapping, three_classes
from semisvm import PreferenceClassifier, PreferenceSVC
from semisvm.estimators.preference.paper import PaperPreferenceSVC
from semisvm.model_selection.calibration import fit_sigmoid

ASKED = {"probability": True, "random_state": 0}
MODELS = [
    PreferenceSVC(kernel="linear", **ASKED),
    PaperPreferenceSVC(kernel="linear", **ASKED),
    PreferenceSVC(kernel="linear", min_recall=0.9, confidence=0.9, **ASKED),
    PreferenceClassifier(GaussianNB(), **ASKED),
]


def calibration_error(probability, is_positive, n_bins=10):
    """The mean difference between probability and frequency, over bins of equally many rows."""
    bins = np.array_split(np.argsort(probability), n_bins)
    return np.mean([abs(probability[rows].mean() - is_positive[rows].mean()) for rows in bins])


def error_by_chance(model, name, scores, n_bins=10, n_draws=100):
    """The calibration error that is exceeded once in a hundred times where the model's sigmoid is
    the truth.

    Both sources of chance are simulated: the labels that the sigmoid is fitted to, and those of the
    new rows.
    """
    rng = np.random.default_rng(0)
    errors = []
    slope, offset = model._sigmoids[list(model.operating_points_).index(name)]
    old = model.calibration_scores_[name]
    new = scores
    for _ in range(n_draws):
        sign = np.where(rng.uniform(size=len(old)) < expit(slope * old + offset), 1, -1)
        again = fit_sigmoid(old, sign)
        is_positive = rng.uniform(size=len(new)) < expit(slope * new + offset)
        errors.append(calibration_error(expit(again[0] * new + again[1]), is_positive, n_bins))
    return np.quantile(errors, 0.99)


class GivenScores(ClassifierMixin, BaseEstimator):
    """The only feature is the score."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


@pytest.mark.parametrize(
    ("n", "noise", "unit"), [(15, 0.5, 1.0), (200, 1.0, 1.0), (200, 0.1, 1.0), (200, 1.0, 0.01)]
)
def test_the_sigmoid_is_that_of_scikit_learn(n, noise, unit):
    """Few rows, many rows, nearly separable ones, and scores in a small unit."""
    rng = np.random.default_rng(0)
    sign = np.where(np.arange(n) % 3 == 0, 1, -1)
    scores = unit * (5.0 + sign + noise * rng.standard_normal(n))
    oracle = CalibratedClassifierCV(
        FrozenEstimator(GivenScores().fit(scores[:, None], sign)), method="sigmoid"
    )
    expected = oracle.fit(scores[:, None], sign).predict_proba(scores[:, None])[:, 1]
    slope, offset = fit_sigmoid(scores, sign)
    assert_allclose(expit(slope * scores + offset), expected, atol=1e-4)


def test_scores_that_rank_the_wrong_way_give_the_share_of_positives():
    """A higher score is never less probable."""
    slope, offset = fit_sigmoid(np.array([3.0, 2.0, 1.0, 0.0]), np.array([-1, -1, 1, 1]))
    assert slope == 0
    assert expit(offset) == pytest.approx(0.5)
    assert fit_sigmoid(np.ones(6), np.array([1, 1, -1, -1, -1, -1]))[0] == 0


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_probabilities_are_calibrated_on_new_rows(model):
    """Five draws of 200 labels, 800 new rows each, beside the true probabilities of the two
    Gaussian classes.

    The error of a frequency from 1,000 labels is at most sqrt(0.25 / 1000) = 0.016; twice that is
    allowed.
    """
    probability = []
    true_probability = []
    is_positive = []
    for seed in range(5):
        X, y, truth = overlapping(seed, n=1100, n_labeled=200, arranges=False)
        probability.append(model.fit(X[:300], y[:300]).predict_proba(X[300:])[:, 1])
        true_probability.append(
            expit(np.log(0.3 / 0.7) + 0.9 * X[300:].sum(axis=1) - 4 * 0.9**2 / 2)
        )
        is_positive.append(truth[300:] == 1)
    found, best, is_positive = map(np.concatenate, (probability, true_probability, is_positive))
    assert calibration_error(best, is_positive) < 0.02  # the oracle itself
    assert calibration_error(found, is_positive) < 0.032
    assert np.mean((found - is_positive) ** 2) < np.mean((best - is_positive) ** 2) + 0.01


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_probabilities_are_calibrated_on_measured_data(model):
    """Breast cancer, 240 labels: the error on 229 other rows is one that chance explains."""
    X, truth = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(truth))
    X = scale(X)[order]
    truth = truth[order]
    y = np.where(np.arange(len(truth)) < 240, truth, -1)
    found = model.fit(X[:340], y[:340]).predict_proba(X[340:])[:, 1]
    is_positive = truth[340:] == 1
    if isinstance(
        model, PreferenceSVC
    ):  # naive Bayes ranks these rows badly: a sigmoid can't mend its shape
        scores = model.decision_function(X[340:]) + model.threshold_[0]
        assert calibration_error(found, is_positive) < error_by_chance(model, 1, scores)
    assert np.mean((found - is_positive) ** 2) < 0.25 * np.var(is_positive)


def test_several_classes_have_probabilities_that_sum_to_one():
    X, truth = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(truth))
    X = scale(X)[order]
    truth = truth[order]
    y = np.where(np.arange(len(truth)) < 80, truth, -1)
    model = PreferenceSVC(**ASKED).fit(X[:110], y[:110])
    found = model.predict_proba(X[110:])
    scores = model.decision_function(X[110:]) + model.threshold_
    assert_allclose(found.sum(axis=1), 1)
    for number, name in enumerate(model.classes_.tolist()):
        is_class = truth[110:] == name
        by_chance = error_by_chance(model, name, scores[:, number], n_bins=5)
        assert calibration_error(found[:, number], is_class, n_bins=5) < by_chance
        assert np.mean((found[:, number] - is_class) ** 2) < 0.2 * np.var(is_class)


@pytest.mark.parametrize("target", [{}, {"min_precision": 1.0}, {"min_recall": 1.0}], ids=str)
def test_probabilities_rise_with_the_decision_function(target):
    """Also where the threshold accepts every row or none."""
    X, y, _ = overlapping(0)
    model = PreferenceSVC(**ASKED, **target).fit(X, y)
    order = np.argsort(model.decision_function(X))
    probability = model.predict_proba(X)[order]
    assert (np.diff(probability[:, 1]) >= 0).all()
    assert_allclose(probability.sum(axis=1), 1)


def test_of_several_classes_each_probability_rises_with_its_own_score():
    X, y, _ = three_classes()
    model = PreferenceSVC(**ASKED).fit(X, y)
    scores = model.decision_function(X)
    found = model.predict_proba(X)
    assert (model._sigmoids[:, 0] > 0).all()
    raw = expit((scores + model.threshold_) * model._sigmoids[:, 0] + model._sigmoids[:, 1])
    assert_allclose(found, raw / raw.sum(axis=1, keepdims=True))


def test_scores_of_training_rows_give_no_probabilities():
    X, y, _ = overlapping(0)
    model = PaperPreferenceSVC(calibration="full", **ASKED).fit(X, y)
    assert not hasattr(model, "predict_proba")
    reason = "calibration='full' the calibration scores are those of training rows"
    with pytest.raises(AttributeError, match=f"has no attribute 'predict_proba'. With {reason}"):
        model.predict_proba(X)


def test_a_fit_that_ended_before_its_folds_gives_no_probabilities():
    X, y, _ = overlapping(0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = PreferenceSVC(C=10, max_iter=1, **ASKED).fit(X, y)
    reason = "scores of labeled rows that were not trained on, and this model has none"
    with pytest.raises(AttributeError, match=reason):
        model.predict_proba(X)


def test_an_estimator_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        PreferenceSVC(**ASKED).predict_proba(np.zeros((2, 2)))


def test_probabilities_are_asked_for_before_the_fit_or_after_it():
    """They are not where the threshold is: scikit-learn's own checks hold where nobody asks for
    them.
    """
    X, y, _ = overlapping(0)
    model = PreferenceSVC(random_state=0).fit(X, y)
    other = PreferenceSVC(**ASKED).fit(X, y)
    assert not hasattr(model, "predict_proba")
    remedy = r"Turn on probabilities by set_params\(probability=True\)"
    with pytest.raises(AttributeError, match=remedy):
        model.predict_proba(X)
    found = other.predict_proba(X)
    assert_allclose(model.set_params(probability=True).predict_proba(X), found)
    assert (other.predict(X) != found.argmax(axis=1)).any()


@pytest.mark.parametrize("largest", [1.0, 1e30])
def test_a_sigmoid_counts_rows_by_their_weights(largest):
    scores = np.array([-1.0, 0.2, -0.1, 2.0])
    sign = np.array([-1, -1, 1, 1])
    weight = np.array([1, 3, 2, 1])
    times = np.repeat(np.arange(4), weight)
    assert_allclose(
        fit_sigmoid(scores, sign, weight), fit_sigmoid(scores[times], sign[times]), atol=1e-5
    )
    assert np.isfinite(fit_sigmoid(scores, sign, np.array([largest, 1.0, 1e-30, 1e-30]))).all()
