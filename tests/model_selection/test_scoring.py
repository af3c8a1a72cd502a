"""A scorer of the labeled rows gives what scikit-learn's own gives on these rows alone."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import get_scorer, make_scorer, recall_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import scale

from semisvm import SupervisedSVC, make_labeled_scorer

X, TRUTH = load_breast_cancer(return_X_y=True)
X = scale(X)
Y = np.where(np.arange(569) % 3, -1, TRUTH)
MODEL = SupervisedSVC(C=0.05).fit(X, Y)


@pytest.mark.parametrize(
    "scoring",
    ["accuracy", "roc_auc", "f1", make_scorer(recall_score), lambda model, X, y: float(len(y))],
)
def test_it_is_the_inner_scorer_on_the_labeled_rows(scoring):
    inner = get_scorer(scoring) if isinstance(scoring, str) else scoring
    expected = inner(MODEL, X[::3], TRUTH[::3])
    assert make_labeled_scorer(scoring)(MODEL, X, Y) == expected
    names = np.where(Y < 0, "?", Y)
    with_names = SupervisedSVC(C=0.05, unlabeled="?").fit(X, names)
    if scoring not in ("f1",) and isinstance(scoring, str):
        scorer = make_labeled_scorer(scoring, unlabeled="?")
        assert scorer(with_names, X, names) == expected


def test_parameters_of_rows_are_those_of_labeled_rows():
    weight = np.random.default_rng(0).uniform(size=569)
    found = make_labeled_scorer("accuracy")(MODEL, X, Y, sample_weight=weight)
    expected = get_scorer("accuracy")(MODEL, X[::3], TRUTH[::3], sample_weight=weight[::3])
    assert found == expected


def test_in_scikit_learns_tools():
    scoring = make_labeled_scorer("roc_auc")
    assert cross_val_score(SupervisedSVC(), X, Y, scoring=scoring).min() > 0.95
    search = GridSearchCV(SupervisedSVC(), {"C": [0.01, 1]}, scoring={"auc": scoring}, refit="auc")
    assert search.fit(X, Y).best_score_ > 0.95
    with config_context(enable_metadata_routing=True):
        scoring = make_labeled_scorer("accuracy").set_score_request(sample_weight=True)
        svm = SupervisedSVC().set_fit_request(sample_weight=True)
        weight = np.ones(569)
        params = {"sample_weight": weight}
        assert cross_val_score(svm, X, Y, scoring=scoring, params=params).min() > 0.8


def test_repr_and_refusal():
    assert repr(make_labeled_scorer("f1")) == "make_labeled_scorer('f1')"
    assert "unlabeled='?'" in repr(make_labeled_scorer("f1", unlabeled="?"))
    with pytest.raises(ValueError, match="scoring must be the name of a scorer or a function"):
        make_labeled_scorer(3)
