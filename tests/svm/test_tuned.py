"""SVCCV chooses as GridSearchCV with scikit-learn's SVC does, on the same folds."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.svm import SVC

from semisvm import svm

CS, GAMMAS = [0.05, 0.5, 5.0, 50.0], [0.02, 0.2, 2.0]


def three_classes(n=120):
    X, y = make_classification(
        n, 5, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, flip_y=0.1, random_state=0
    )  # fmt: skip
    return X, np.where(np.arange(n) % 4 == 0, -1, y)


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_search_is_that_of_gridsearchcv(classes, kernel):
    X, y = three_classes()
    used = np.isin(y, classes)
    cv = StratifiedKFold(3, shuffle=True, random_state=1)
    grid = {"C": CS, "gamma": GAMMAS} if kernel == "rbf" else {"C": CS}
    theirs = GridSearchCV(
        SVC(kernel=kernel, tol=1e-8, break_ties=True), grid, cv=cv, scoring="balanced_accuracy"
    )
    theirs.fit(X[used], y[used])
    hidden = np.where(used, y, -1)
    ours = svm.SVCCV(svm.SupervisedSVC(kernel=kernel, tol=1e-8), Cs=CS, gammas=GAMMAS, cv=cv)
    ours.fit(X, hidden)
    table = theirs.cv_results_["mean_test_score"].reshape(len(CS), -1)
    np.testing.assert_allclose(ours.scores_.mean(axis=2), table, atol=1e-9)
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert ours.C_ == theirs.best_params_["C"]
    assert ours.gamma_ == theirs.best_params_.get("gamma")
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)


def test_out_of_fold_scores_are_those_of_fits_without_the_fold():
    X, y = three_classes()
    y[y == 2] = -1
    known = np.flatnonzero(y >= 0)
    folds = [
        (known[known % 2 == 0], known[known % 2 == 1]),
        (known[known % 2 == 1], known[known % 2 == 0]),
    ]
    model = svm.SVCCV(svm.SupervisedSVC(tol=1e-8), Cs=CS, gammas=[0.2], cv=folds).fit(X, y)
    for train, test in folds:
        plain = SVC(C=model.C_, gamma=0.2, tol=1e-8).fit(X[train], y[train])
        np.testing.assert_allclose(
            model.out_of_fold_scores_[test], plain.decision_function(X[test]), atol=1e-5
        )
    assert np.isnan(model.out_of_fold_scores_[y < 0]).all()


@pytest.mark.parametrize("cache_size", [None, 0.01])
def test_memory_does_not_change_the_scores(cache_size):
    X, y = three_classes()
    estimator = svm.SupervisedSVC(cache_size=cache_size, tol=1e-6)
    model = svm.SVCCV(estimator, Cs=CS, gammas=GAMMAS).fit(X, y)
    whole = svm.SVCCV(svm.SupervisedSVC(tol=1e-6), Cs=CS, gammas=GAMMAS).fit(X, y)
    np.testing.assert_allclose(model.scores_, whole.scores_)


def test_batches_are_what_paths_are(monkeypatch):
    """On a device cells are solved in batches; here batches are solved on the CPU."""
    X, y = three_classes()
    paths = svm.SVCCV(svm.SupervisedSVC(tol=1e-6), Cs=CS, gammas=GAMMAS).fit(X, y)
    monkeypatch.setattr("semisvm.svm.tuned.is_on_device", lambda rows: True)
    monkeypatch.setattr("semisvm.svm.tuned.MOST_IN_BATCH", 7)
    monkeypatch.setattr("semisvm.svm.tuned.FEWEST_IN_BATCH", 7)
    batches = svm.SVCCV(svm.SupervisedSVC(tol=1e-6), Cs=CS, gammas=GAMMAS).fit(X, y)
    np.testing.assert_allclose(batches.scores_, paths.scores_)


def test_costs_are_what_the_default_score_minimizes_and_any_scorer_may_judge():
    X, y = three_classes()
    y[y == 2] = -1
    costs = {0: 1.0, 1: 10.0}
    dear = svm.SVCCV(svm.SupervisedSVC(costs=costs), gammas=GAMMAS).fit(X, y)
    assert dear.best_score_ <= 0
    assert (dear.predict(X) == 1).sum() > (svm.SVCCV(gammas=GAMMAS).fit(X, y).predict(X) == 1).sum()
    balanced = svm.SVCCV(svm.SupervisedSVC(class_weight="balanced"), gammas=GAMMAS).fit(X, y)
    assert balanced.best_score_ > 0.5, "a weight is no cost"
    by_auc = svm.SVCCV(gammas=GAMMAS, scoring="roc_auc").fit(X, y)
    assert by_auc.best_score_ > 0.9
    with pytest.raises(ValueError, match="parameter of SupervisedSVC"):
        svm.SVCCV(svm.SupervisedSVC(C=-1)).fit(X, y)


def test_splitters_take_the_labeled_rows_in_the_users_order():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    theirs = GridSearchCV(SVC(gamma=0.2), {"C": CS}, cv=KFold(4), scoring="balanced_accuracy").fit(
        X, y
    )
    ours = svm.SVCCV(Cs=CS, gammas=[0.2], cv=KFold(4)).fit(X, y)
    np.testing.assert_allclose(
        ours.scores_[:, 0].mean(axis=1), theirs.cv_results_["mean_test_score"]
    )
