"""The SVM that tunes itself gives what a grid search over `SupervisedSVC` gives, and says what is
wrong with a grid, a fold or a scorer.
"""

import _thread
import threading
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import get_scorer, make_scorer, recall_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from semisvm import SVCCV, SemiSupervisedKFold, SupervisedSVC, load, save
from semisvm.estimators import grid, progress
from semisvm.model_selection.calibration import fit_calibrator

CS = [0.1, 1.0, 10.0, 100.0]
GAMMAS = [0.03, 0.1, 0.3]
COSTS = np.array([[0.0, 1, 4], [2, 0, 1], [1, 3, 0]])


def rows_and_labels(n_classes=2, n=300, n_labeled=200):
    X, y = make_classification(
        n, 8, n_informative=6, n_classes=n_classes, flip_y=0.1, random_state=0
    )
    return X, np.where(np.arange(n) < n_labeled, y, -1)


@parametrize_with_checks(
    [SVCCV([0.1, 1], gammas=["scale"], cv=2)],
    expected_failed_checks=lambda estimator: {
        "check_classifiers_classes": "trains on {-1, +1}, where -1 marks unlabeled rows"
    },
)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


@pytest.mark.parametrize(
    ("n_classes", "parameters"),
    [
        (2, {}),
        (2, {"class_weight": "balanced"}),
        (2, {"costs": {0: 1.0, 1: 3.0}}),
        (3, {"multi_class": "ovo"}),
        (3, {"multi_class": "ovr"}),
        (3, {"costs": COSTS}),
        (2, {"kernel": "poly", "degree": 2, "coef0": 1.0}),
    ],
)
def test_the_search_is_that_of_gridsearchcv(n_classes, parameters):
    X, y = rows_and_labels(n_classes)
    scoring = "balanced_accuracy"
    parameters = {"tol": 1e-6, **parameters}
    search = GridSearchCV(
        SupervisedSVC(**parameters),
        {"C": CS, "gamma": GAMMAS},
        cv=SemiSupervisedKFold(4),
        scoring=scoring,
    ).fit(X, y)
    model = SVCCV(CS, gammas=GAMMAS, cv=4, scoring=scoring, **parameters).fit(X, y)
    assert_allclose(
        model.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"], atol=1e-12
    )
    assert model.cv_results_["params"] == search.cv_results_["params"]
    assert_array_equal(model.cv_results_["rank_test_score"], search.cv_results_["rank_test_score"])
    for k in range(4):
        name = f"split{k}_test_score"
        assert_allclose(model.cv_results_[name], search.cv_results_[name], atol=1e-12)
    assert {"C": model.C_, "gamma": model.gamma_} == search.best_params_
    assert model.best_score_ == pytest.approx(search.best_score_)
    assert_allclose(model.decision_function(X), search.decision_function(X), atol=1e-8)


@pytest.mark.parametrize(
    ("solver", "loss"), [("dual", "hinge"), ("primal", "hinge"), ("primal", "squared_hinge")]
)
def test_linear_machines_are_tuned_in_either_form(solver, loss):
    X, y = rows_and_labels()
    settings = {"kernel": "linear", "solver": solver, "loss": loss, "tol": 1e-8}
    search = GridSearchCV(
        SupervisedSVC(**settings), {"C": CS}, cv=SemiSupervisedKFold(3), scoring="roc_auc"
    ).fit(X, y)
    model = SVCCV(CS, cv=3, scoring="roc_auc", **settings).fit(X, y)
    assert_allclose(
        model.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"], atol=1e-12
    )
    assert (model.C_, model.gamma_) == (search.best_params_["C"], None)


def test_values_may_come_in_any_order_and_kernels_may_be_given():
    X, y = rows_and_labels()
    model = SVCCV(CS, gammas=[0.1], cv=3).fit(X, y)
    backward = SVCCV(CS[::-1], gammas=[0.1], cv=3).fit(X, y)
    assert_allclose(backward.scores_[::-1], model.scores_, atol=1e-12)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    given = SVCCV(CS, kernel="precomputed", cv=3).fit(np.exp(-0.1 * squares), y)
    assert_allclose(given.scores_, model.scores_, atol=1e-12)


def test_any_scorer_judges_the_cells():
    X, y = rows_and_labels()
    recall = make_scorer(recall_score, pos_label=0)
    for scoring in ("roc_auc", "f1", recall):
        search = GridSearchCV(
            SupervisedSVC(), {"C": CS, "gamma": GAMMAS}, cv=SemiSupervisedKFold(3), scoring=scoring
        ).fit(X, y)
        model = SVCCV(CS, gammas=GAMMAS, cv=3, scoring=scoring).fit(X, y)
        assert_allclose(
            model.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"], atol=1e-12
        )


def test_the_default_score_counts_rare_classes_and_costs():
    X, y = rows_and_labels()
    model = SVCCV(CS, gammas=[0.1], cv=3).fit(X, y)
    balanced = SVCCV(CS, gammas=[0.1], cv=3, scoring="balanced_accuracy").fit(X, y)
    assert_array_equal(model.scores_, balanced.scores_)

    def minus_cost(estimator, X, y):
        wrong = estimator.predict(X) != y
        return -np.mean(wrong * np.where(y == 1, 5.0, 1.0))

    costs = {0: 1.0, 1: 5.0}
    model = SVCCV(CS, gammas=[0.1], cv=3, costs=costs).fit(X, y)
    by_hand = SVCCV(CS, gammas=[0.1], cv=3, costs=costs, scoring=minus_cost).fit(X, y)
    assert_allclose(model.scores_, by_hand.scores_)
    X, y = rows_and_labels(3)
    model = SVCCV(CS, gammas=[0.1], cv=3, costs=COSTS).fit(X, y)
    by_hand = SVCCV(
        CS,
        gammas=[0.1],
        cv=3,
        costs=COSTS,
        scoring=lambda model, X, y: -np.mean(COSTS[y, model.predict(X)]),
    ).fit(X, y)
    assert_allclose(model.scores_, by_hand.scores_)
    per_row = np.where(y[:, None, None] == 1, 2 * COSTS, COSTS)
    assert np.isfinite(SVCCV(CS, gammas=[0.1], cv=3).fit(X, y, sample_cost=per_row).scores_).all()


def test_folds_come_from_splitters_groups_and_lists():
    X, y = rows_and_labels()
    groups = np.arange(len(y)) % 10
    labeled = np.flatnonzero(y >= 0)
    by_groups = SVCCV([1], gammas=[0.1], cv=GroupKFold(5)).fit(X, y, groups=groups)
    splits = list(GroupKFold(5).split(X[labeled], y[labeled], groups[labeled]))
    # In a list, rows are those of X; unlabeled ones are left out.
    whole = [(np.append(labeled[train], [250, 260]), labeled[test]) for train, test in splits]
    assert_array_equal(SVCCV([1], gammas=[0.1], cv=whole).fit(X, y).scores_, by_groups.scores_)
    weight = np.ones(len(y))
    weight[labeled[:7]] = 0
    without = [[part[~np.isin(part, labeled[:7])] for part in pair] for pair in whole]
    assert_array_equal(
        SVCCV([1], gammas=[0.1], cv=whole).fit(X, y, sample_weight=weight).scores_,
        SVCCV([1], gammas=[0.1], cv=without).fit(X, y).scores_,
    )
    assert SVCCV([1], gammas=[0.1], cv=ShuffleSplit(3, random_state=0)).fit(X, y).n_splits_ == 3


def test_default_grids_come_from_the_data():
    X, y = rows_and_labels()
    model = SVCCV(4, cv=2).fit(X, y)
    assert_allclose(model.Cs_, np.logspace(-2, 3, 4))
    scale = 1 / (X.shape[1] * X[y >= 0].var())
    assert_allclose(model.gammas_, scale * 4.0 ** np.arange(-3, 3))
    assert model.scores_.shape == (4, 6, 2)
    rarest = np.where(np.arange(len(y)) < 3, 1, np.where(y >= 0, 0, -1))
    assert SVCCV([1], gammas=["scale"]).fit(X, rarest).n_splits_ == 3


def test_probabilities_come_from_the_folds_of_the_search():
    X, y = rows_and_labels()
    X, y = X[y >= 0], y[y >= 0]
    cv = StratifiedKFold(4)
    model = SVCCV(CS, gammas=GAMMAS, cv=cv, probability=True).fit(X, y)
    out_of_fold = cross_val_predict(
        SupervisedSVC(C=model.C_, gamma=model.gamma_), X, y, cv=cv, method="decision_function"
    )
    assert_allclose(model.out_of_fold_scores_, out_of_fold, atol=1e-6)
    expected = fit_calibrator(out_of_fold, y, model.classes_)
    assert_allclose(
        model.predict_proba(X),
        expected.predict_proba(model.decision_function(X)[:, None]),
        atol=1e-6,
    )
    X, y = rows_and_labels(3)
    model = SVCCV(CS, gammas=[0.1], probability=True).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("refit", [True, False])
def test_out_of_fold_scores_have_a_place_for_every_row(n_classes, refit):
    X, y = rows_and_labels(n_classes)
    weight = np.ones(len(y))
    weight[::7] = 0
    model = SVCCV([1.0], gammas=[0.1], refit=refit).fit(X, y, sample_weight=weight)
    assert model.out_of_fold_scores_.shape == ((len(y),) if n_classes == 2 else (len(y), 3))
    is_known = np.isfinite(model.out_of_fold_scores_.reshape(len(y), -1)).all(axis=1)
    assert_array_equal(is_known, (y >= 0) & (weight > 0))
    kept = SVCCV([1.0], gammas=[0.1], refit=refit).fit(X[weight > 0], y[weight > 0])
    assert_allclose(model.out_of_fold_scores_[weight > 0], kept.out_of_fold_scores_, atol=1e-6)


def test_a_tuned_model_goes_through_a_file(tmp_path):
    X, y = rows_and_labels()
    model = SVCCV(CS, gammas=GAMMAS, probability=True).fit(X, y)
    back = load(save(model, tmp_path / "m.skops"))
    assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    assert (back.C_, back.gamma_) == (model.C_, model.gamma_)


def test_without_probability_the_error_says_what_to_write():
    X, y = rows_and_labels()
    model = SVCCV([1], gammas=[0.1]).fit(X, y)
    with pytest.raises(AttributeError, match=r"predict_proba.*SVCCV\(probability=True\)"):
        model.predict_proba(X)


def test_without_a_refit_there_is_a_choice_and_no_model():
    X, y = rows_and_labels()
    model = SVCCV(CS, gammas=GAMMAS, refit=False).fit(X, y)
    fitted = SVCCV(CS, gammas=GAMMAS).fit(X, y)
    assert (model.C_, model.gamma_) == (fitted.C_, fitted.gamma_)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(
    "way", ["one thread", "more threads than paths", "kernel rows beyond memory"]
)
def test_threads_and_memory_do_not_change_the_scores(way, monkeypatch):
    X, y = rows_and_labels(3)
    # What is in the cache decides which steps are taken: within the tolerance, scores may differ.
    settings = {"gammas": GAMMAS, "cv": 3, "multi_class": "ovr", "tol": 1e-6}
    usual = SVCCV(CS, **settings).fit(X, y)
    n_threads = {"one thread": 1, "more threads than paths": 40}.get(way, 2)
    monkeypatch.setattr(grid, "n_threads", lambda: n_threads)
    monkeypatch.setattr(grid, "ROWS_WORTH_WORKERS", 0)
    cache_size = 0.05 if way == "kernel rows beyond memory" else None
    other = SVCCV(CS, cache_size=cache_size, **settings).fit(X, y)
    assert_array_equal(other.scores_, usual.scores_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Cs": [0.0, 1.0]}, "Cs must hold positive, finite numbers"),
        ({"Cs": [1.0, np.inf]}, "Cs must hold positive, finite numbers"),
        ({"Cs": []}, "at least one"),
        ({"gammas": []}, "gammas must hold positive numbers"),
        ({"gammas": [0.1, -1.0]}, "gammas must hold positive numbers"),
        ({"gammas": ["large"]}, "gammas must hold positive numbers"),
        ({"gammas": [0.1], "kernel": "linear"}, "has no gamma"),
        ({"cv": []}, "no folds"),
        (
            {"cv": [(np.arange(100), [])]},
            "Fold 0 does not train on every class, or tests no labeled row",
        ),
        ({"cv": [(np.arange(5, 10), np.arange(5))]}, "Fold 0 does not train on every class"),
        ({"scoring": "neg_log_loss"}, "The scorer failed in fold 0 at C=0.1"),
        ({"scoring": lambda model, X, y: np.nan}, "The scorer returned nan in fold 0"),
        (
            {"scoring": lambda model, X, y: model.predict(X[:1])},
            "all held-out rows of a fold at once",
        ),
    ],
)
def test_what_is_wrong_is_said_before_the_search_or_with_its_place(parameters, message):
    X, y = rows_and_labels()
    y[:10] = 0
    model = SVCCV(**{"Cs": CS, "gammas": None, "cv": 3} | parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_a_grid_of_one_cell_is_a_fit():
    X, y = rows_and_labels()
    model = SVCCV([2.0], gammas=["scale"]).fit(X, y)
    plain = SupervisedSVC(C=2.0).fit(X, y)
    assert_array_equal(model.decision_function(X), plain.decision_function(X))


def test_verbose_says_how_far_the_search_is_and_what_is_best(capsys):
    X, y = rows_and_labels()
    model = SVCCV(CS, gammas=[0.1, 0.2], verbose=True).fit(X, y)
    lines = [line for line in capsys.readouterr().out.splitlines() if "[search]" in line]
    assert len(lines) == 2
    assert (
        f"of {2 * len(CS)} cells, best score {model.best_score_:.4g} at C={model.C_:.4g}"
        in (lines[-1])
    )


def test_rows_that_are_streamed_are_refused_in_words():
    dask = pytest.importorskip("dask.array")
    X, y = rows_and_labels()
    with pytest.raises(ValueError, match="choose C and gamma on a sample"):
        SVCCV(kernel="linear").fit(dask.from_array(X, chunks=100), y)


def test_a_time_limit_keeps_the_best_of_what_is_done(monkeypatch):
    X, y = rows_and_labels()
    run = grid.Search.run

    def run_one_gamma(self, gamma):
        decisions = run(self, gamma)
        self.deadline = -np.inf
        return decisions

    monkeypatch.setattr(grid.Search, "run", run_one_gamma)
    with pytest.warns(ConvergenceWarning, match=r"ended early \(time_limit\) after 4 of 12 cells"):
        model = SVCCV(CS, gammas=GAMMAS, time_limit=600).fit(X, y)
    assert model.gamma_ == GAMMAS[1]
    assert np.isnan(model.scores_[:, [0, 2]]).all()
    assert np.isfinite(model.decision_function(X)).all()
    with pytest.raises(ValueError, match="before a single cell was complete"):
        SVCCV(CS, gammas=GAMMAS, time_limit=1e-9).fit(X, y)


def test_a_time_limit_ends_the_search_while_the_kernel_is_computed():
    X, y = rows_and_labels()
    heights = []

    def kernel(left, right):
        heights.append(len(left))
        return left @ right.T

    with pytest.raises(ValueError, match="before a single cell was complete"):
        SVCCV(CS, kernel=kernel, time_limit=1e-9).fit(X, y)
    assert sum(heights) == np.sum(y != -1)  # for the diagonal


@pytest.mark.parametrize("n_threads", [1, 2])
def test_folds_advance_together_so_that_the_first_gamma_has_complete_cells(n_threads, monkeypatch):
    X, y = rows_and_labels()
    monkeypatch.setattr(grid, "n_threads", lambda: n_threads)
    monkeypatch.setattr(grid, "ROWS_WORTH_WORKERS", 0)
    looks = []

    def stop_halfway(self, n_iter, gap):
        looks.append(n_iter)
        return len(looks) >= 10  # of 4 values of C in 5 folds

    monkeypatch.setattr(progress.Watch, "look", stop_halfway)
    with pytest.warns(ConvergenceWarning, match=r"ended early \(stopped_by_callback\)"):
        model = SVCCV(CS, gammas=[0.1]).fit(X, y)
    assert np.isfinite(model.scores_[0]).all()
    # With two threads one fold may be ahead of the others, by as much as the machine lets it.
    is_unsolved = np.isnan(model.scores_[-1])
    assert is_unsolved.all() if n_threads == 1 else is_unsolved.any()


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "roc_auc", None])
def test_held_out_rows_count_by_their_weights(scoring):
    X, y = rows_and_labels()
    X, y = X[y >= 0], y[y >= 0]
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    folds = list(StratifiedKFold(3).split(X, y))
    costs = {0: 1.0, 1: 3.0} if scoring is None else None
    model = SVCCV([1.0], gammas=[0.1], cv=folds, scoring=scoring, costs=costs, tol=1e-6)
    model.fit(X, y, sample_weight=weight)
    for (train, test), score in zip(folds, model.scores_[0, 0], strict=True):
        plain = SupervisedSVC(gamma=0.1, costs=costs, tol=1e-6)
        plain.fit(X[train], y[train], sample_weight=weight[train])
        if scoring is None:
            cost = np.where(plain.predict(X[test]) != y[test], [costs[k] for k in y[test]], 0)
            expected = -np.average(cost, weights=weight[test])
        else:
            rows = np.repeat(test, weight[test].astype(int))
            expected = get_scorer(scoring)(plain, X[rows], y[rows])
        assert score == pytest.approx(expected)


@pytest.mark.posix
@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_keeps_the_best_of_what_is_done(n_threads, monkeypatch):
    X, y = rows_and_labels()
    monkeypatch.setattr(grid, "n_threads", lambda: n_threads)
    monkeypatch.setattr(grid, "ROWS_WORTH_WORKERS", 0)
    run = grid.Search.run
    gammas_run = []

    def interrupt_the_second(self, gamma):
        gammas_run.append(gamma)
        if len(gammas_run) == 2:
            stopping = threading.Event()

            def wait_and_interrupt(*_):
                if not stopping.is_set():
                    stopping.set()
                    _thread.interrupt_main()
                return run_path(*_)

            run_path = self._solve_path
            monkeypatch.setattr(self, "_solve_path", wait_and_interrupt)
        return run(self, gamma)

    monkeypatch.setattr(grid.Search, "run", interrupt_the_second)
    with pytest.warns(ConvergenceWarning, match="ended early"):
        model = SVCCV(CS, gammas=GAMMAS).fit(X, y)
    assert len(gammas_run) == 2
    assert np.isfinite(model.scores_[:, 1]).all()
    assert np.isfinite(model.decision_function(X)).all()


def test_a_device_chooses_as_the_cpu_does(other_device):
    X, y = rows_and_labels(n=40, n_labeled=30)
    settings = {"gammas": [0.1], "cv": 2, "scoring": "roc_auc"}
    on_cpu = SVCCV([0.1, 10.0], device="cpu", **settings).fit(X, y)
    there = SVCCV([0.1, 10.0], device=other_device, **settings).fit(X, y)
    assert (there.C_, there.gamma_) == (on_cpu.C_, on_cpu.gamma_)
    assert_allclose(there.scores_, on_cpu.scores_, atol=1e-2)


def test_costs_whose_squares_are_infinite_warn_of_nothing():
    """Their mean is finite, and the standard deviation over folds is not."""
    X, y = rows_and_labels(n=60, n_labeled=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = SVCCV([1.0], gammas=[0.1], cv=3, costs={0: 1e300, 1: 1e300}).fit(X, y)
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()
    assert np.isinf(model.cv_results_["std_test_score"]).all()
