"""Comparisons: the values are scikit-learn's, and the intervals hold the true difference."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.preprocessing import scale

from semisvm import SupervisedSVC, TransductiveSVC, compare
from semisvm.model_selection import cross_fit
from semisvm.model_selection.compare import _judge, paired_interval


@pytest.mark.parametrize(("gap", "n"), [(1.0, 15), (2.0, 40), (0.5, 100)])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_the_interval_of_the_gain_in_auc_covers(gap, n, correlation):
    """Two rankings of the same rows, whose AUC is known: Phi(gap / sqrt 2)."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], [2 * n, n])
    true = norm.cdf(gap / np.sqrt(2)) - norm.cdf(0.8 * gap / np.sqrt(2))
    covered = []
    for _ in range(600):
        noise, other = rng.normal(size=(2, len(codes)))
        other = correlation * noise + np.sqrt(1 - correlation**2) * other
        first, second = (_judge(s, codes) for s in (gap * codes + noise, 0.8 * gap * codes + other))
        gain, low, high = paired_interval(first - second, codes, 0.9)
        assert low <= gain <= high
        covered.append(low <= true <= high)
    assert np.mean(covered) > 0.88


@pytest.mark.parametrize("n", [10, 40])
def test_the_interval_of_the_gain_in_balanced_accuracy_covers(n):
    """Three classes; the first method is right in 80, 70 and 60%, the second in 70% of each."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [n, 2 * n, n])
    covered = []
    for _ in range(600):
        judged = []
        for rates in ((0.8, 0.7, 0.6), (0.7, 0.7, 0.7)):
            right = rng.random(len(codes)) < np.array(rates)[codes]
            scores = np.eye(3)[np.where(right, codes, (codes + 1) % 3)]
            judged.append(_judge(scores, codes))
        _, low, high = paired_interval(judged[0] - judged[1], codes, 0.9)
        covered.append(low <= 0 <= high)
    assert 0.88 < np.mean(covered) < 0.97


def test_values_are_those_of_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X), np.where(np.arange(569) < 80, y, -1)
    methods = {"svm": SupervisedSVC(), "tsvm": TransductiveSVC()}
    found = compare(X, y, methods, random_state=3)
    for name, method in methods.items():
        scores = cross_fit(method, X, y, random_state=3)
        assert found.values[name] == pytest.approx(roc_auc_score(y[:80], scores[:80]))
    gain = found.values["tsvm"] - found.values["svm"]
    assert found.gains["tsvm"][0] == pytest.approx(gain)
    assert found.measure == "ROC AUC"
    X, y = load_iris(return_X_y=True)
    y[::3] = -1
    found = compare(X, y, [SupervisedSVC()])
    best = cross_fit(SupervisedSVC(), X, y, random_state=0).argmax(axis=1)
    assert found.values["SupervisedSVC"] == pytest.approx(
        balanced_accuracy_score(y[y >= 0], best[y >= 0])
    )
    assert found.measure == "balanced accuracy"


def test_the_verdict_says_what_the_labels_tell():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X), np.where(np.arange(569) < 300, y, -1)
    good, bad = SupervisedSVC(), SupervisedSVC(kernel="sigmoid", gamma=10)
    found = compare(X, y, {"good": good, "bad": bad})
    assert found.verdict == "good is better than all others."
    assert compare(X, y, {"bad": bad, "good": good}).verdict == "Better than bad: good."
    alike = compare(X, y, {"a": good, "b": SupervisedSVC(C=1.01)})
    assert alike.verdict == "These labels can't tell whether any method is better than a."
    assert str(found).splitlines()[-1] == found.verdict
    assert len(str(found).splitlines()) == 4
    with pytest.raises(ValueError, match="of one class: pass a dict"):
        compare(X, y, [good, bad])
