"""SupervisedSVC: LIBSVM's answers, and everything a scikit-learn user does with an estimator."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from semisvm import PositiveUnlabeledSVC, SelfTrainingSVC, SemiSupervisedKFold, SupervisedSVC
from semisvm.estimators.equal_rows import content_order
from semisvm.model_selection.calibration import fit_sigmoid
from semisvm.model_selection.cross_fit import assign_folds

LIBSVM_PRECISION = 2e-5  # it keeps kernel values in float32, whatever its tolerance


@pytest.fixture(scope="module")
def two_classes():
    return make_classification(
        n_samples=300, n_features=8, n_informative=5, class_sep=0.7, random_state=0
    )


@pytest.fixture(scope="module")
def three_classes():
    return load_iris(return_X_y=True)


KERNELS = [
    {"kernel": "linear", "C": 0.5},
    {"kernel": "rbf", "C": 10.0, "gamma": "scale"},
    {"kernel": "rbf", "gamma": "auto"},
    {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 1.0},
    {"kernel": "sigmoid", "gamma": 0.01, "coef0": -0.5},
]


@pytest.mark.parametrize("parameters", KERNELS, ids=str)
@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_decision_values_are_those_of_libsvm(two_classes, parameters, as_input):
    X, y = two_classes
    ours = SupervisedSVC(**parameters, tol=1e-8).fit(as_input(X), y)
    theirs = SVC(**parameters, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(as_input(X)), theirs.decision_function(X), atol=LIBSVM_PRECISION
    )
    assert set(ours.support_) == set(theirs.support_)


def test_weights_costs_and_class_weights_multiply_c_as_in_libsvm(two_classes):
    X, y = two_classes
    weight = np.random.default_rng(0).uniform(0, 3, len(y))
    gamma = 0.2
    ours = SupervisedSVC(costs={0: 1, 1: 4}, class_weight={0: 0.5, 1: 2}, gamma=gamma, tol=1e-8)
    theirs = SVC(class_weight={0: 0.5, 1: 8}, gamma=gamma, tol=1e-8)
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=LIBSVM_PRECISION
    )


def test_balanced_class_weights_are_those_of_the_labeled_rows(two_classes):
    X, y = two_classes
    hidden = y.copy()
    hidden[100:] = -1
    ours = SupervisedSVC(class_weight="balanced", gamma=0.1, tol=1e-8).fit(X, hidden)
    theirs = SVC(class_weight="balanced", gamma=0.1, tol=1e-8).fit(X[:100], y[:100])
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=LIBSVM_PRECISION
    )


def test_one_vs_one_scores_and_labels_are_those_of_libsvm(three_classes):
    X, y = three_classes
    ours = SupervisedSVC(multi_class="ovo", gamma=0.3, tol=1e-8).fit(X, y)
    theirs = SVC(gamma=0.3, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_one_vs_rest_is_one_binary_fit_a_class(three_classes):
    X, y = three_classes
    ours = SupervisedSVC(gamma=0.3, multi_class="ovr", tol=1e-8).fit(X, y).decision_function(X)
    for k in range(3):
        alone = SVC(gamma=0.3, tol=1e-8).fit(X, y == k).decision_function(X)
        np.testing.assert_allclose(ours[:, k], alone, atol=LIBSVM_PRECISION)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_a_precomputed_kernel_gives_the_same_model(three_classes, multi_class):
    X, y = three_classes
    y = y.copy()
    y[::3] = -1
    K = rbf_kernel(X, gamma=0.3)
    by_matrix = SupervisedSVC(kernel="precomputed", multi_class=multi_class, tol=1e-8).fit(K, y)
    by_name = SupervisedSVC(kernel="rbf", gamma=0.3, multi_class=multi_class, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        by_matrix.decision_function(K), by_name.decision_function(X), atol=1e-6
    )
    by_function = SupervisedSVC(
        kernel=lambda a, b: rbf_kernel(a, b, gamma=0.3), multi_class=multi_class, tol=1e-8
    )
    np.testing.assert_allclose(
        by_function.fit(X, y).decision_function(X), by_name.decision_function(X), atol=1e-6
    )


def test_unlabeled_rows_change_nothing_but_get_a_label(two_classes):
    X, y = two_classes
    hidden = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    labeled = hidden != -1
    with_them = SupervisedSVC(gamma="scale").fit(X, hidden)
    without = SupervisedSVC(gamma="scale").fit(X[labeled], y[labeled])
    np.testing.assert_allclose(with_them.decision_function(X), without.decision_function(X))
    np.testing.assert_array_equal(with_them.transduction_[labeled], y[labeled])
    np.testing.assert_array_equal(with_them.transduction_[~labeled], without.predict(X[~labeled]))
    np.testing.assert_array_equal(with_them.labeled_iter_, np.where(labeled, 0, -1))
    assert np.isin(with_them.support_, np.flatnonzero(labeled)).all()


@pytest.mark.parametrize("unlabeled", ["", None, np.nan])
def test_classes_may_be_strings(three_classes, unlabeled):
    X, codes = three_classes
    y = np.array(["setosa", "versicolor", "virginica"], dtype=object)[codes]
    y[::4] = unlabeled
    model = SupervisedSVC().fit(X, y)
    assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
    assert set(model.predict(X)) == set(model.classes_)
    assert (model.transduction_ != "").all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_are_taken_as_they_are(three_classes, frame):
    X, y = three_classes
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    model = SupervisedSVC().fit(
        frame(columns), pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    )
    # The protocol that scikit-learn before 1.9 asks for names is gone from polars 2.
    if frame is pd.DataFrame or hasattr(frame, "__dataframe__") or sklearn.__version__ >= "1.9":
        assert list(model.feature_names_in_) == list(columns)
    np.testing.assert_array_equal(
        model.predict(frame(columns)), SupervisedSVC().fit(X, y).predict(X)
    )


def test_it_works_in_a_pipeline_and_a_grid_search_that_never_scores_unlabeled_rows():
    X, y = load_breast_cancer(return_X_y=True)
    hidden = y.copy()
    hidden[150:] = -1
    model = make_pipeline(StandardScaler(), SupervisedSVC())
    cv = SemiSupervisedKFold(3)
    search = GridSearchCV(model, {"supervisedsvc__C": [0.01, 1, 10]}, cv=cv).fit(X, hidden)
    assert search.best_score_ > 0.9
    assert (search.predict(X[150:]) == y[150:]).mean() > 0.9
    assert cross_val_score(model, X, hidden, cv=cv).mean() > 0.9


def test_a_calibrated_classifier_gives_probabilities(two_classes):
    X, y = two_classes
    probabilities = CalibratedClassifierCV(SupervisedSVC(), cv=3).fit(X, y).predict_proba(X)
    assert probabilities.shape == (len(y), 2)


def test_a_pickle_and_a_clone_keep_the_model(two_classes):
    X, y = two_classes
    model = SupervisedSVC(C=3.0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()


def test_fit_leaves_the_constructor_parameters_alone(two_classes):
    model = SupervisedSVC(gamma="scale", class_weight="balanced", costs={0: 1, 1: 2})
    before = dict(model.get_params())
    model.fit(*two_classes)
    assert model.get_params() == before


def test_the_model_does_not_depend_on_the_order_of_rows(two_classes):
    X, y = two_classes
    order = np.random.default_rng(1).permutation(len(y))[:200]
    forward = SupervisedSVC(C=5).fit(X[order], y[order]).decision_function(X)
    backward = SupervisedSVC(C=5).fit(X[order[::-1]], y[order[::-1]]).decision_function(X)
    np.testing.assert_allclose(forward, backward, atol=1e-7)


class StopsAfter:
    """A scikit-learn callback that asks to stop, or presses Ctrl-C, at the n-th look of the
    solver.
    """

    def __init__(self, n_looks, raises=None):
        self.n_looks = n_looks
        self.raises = raises
        self.seen = 0

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "look":
            self.seen += 1
            if self.seen >= self.n_looks:
                if self.raises:
                    raise self.raises
                return True
        return False


@pytest.mark.parametrize(
    ("callback", "reason"),
    [(StopsAfter(1), "stopped_by_callback"), (StopsAfter(1, KeyboardInterrupt), "interrupted")],
    ids=["callback", "ctrl-c"],
)
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_a_fit_that_is_stopped_leaves_a_usable_model_and_says_so(
    three_classes, callback, reason, multi_class
):
    X, y = three_classes
    callback.seen = 0
    model = SupervisedSVC(multi_class=multi_class).set_callbacks(callback)
    with pytest.warns(ConvergenceWarning, match=reason):
        model.fit(X, y)
    assert model.termination_condition_ == reason
    assert set(model.predict(X)) <= set(y)


def test_limits_end_a_fit_with_a_reason_and_a_remedy(two_classes):
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*Raise max_iter"):
        model = SupervisedSVC(max_iter=5).fit(*two_classes)
    assert model.n_iter_ == 5
    assert model.termination_condition_ == "max_iter"


def test_scikit_learns_progress_bar_shows_our_fit(three_classes, capsys):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rich may complain about the terminal of the test runner
        SupervisedSVC().set_callbacks(callback.ProgressBar()).fit(*three_classes)
    assert "SupervisedSVC" in capsys.readouterr().out


def test_verbose_tells_of_a_long_solve(two_classes, capsys, monkeypatch):
    monkeypatch.setattr("semisvm.estimators.progress.SECONDS_BETWEEN_LINES", 0.0)
    SupervisedSVC(verbose=True).fit(*two_classes)
    assert "gap" in capsys.readouterr().out


BAD = [
    ({"C": 0}, {}, "C"),
    ({"kernel": "nonsense"}, {}, "kernel"),
    ({"gamma": -1.0}, {}, "gamma"),
    ({"device": "cuda:99"}, {}, "use device='cpu'"),
    ({"costs": {0: 1}}, {}, r"missing \[1\]"),
    ({"costs": {0: 1, 1: 1, 2: 1}}, {}, r"not a class \[2\]"),
    ({"costs": {0: 1, 1: -1}}, {}, "positive and finite"),
    ({"costs": [[0, 1]]}, {}, r"costs has shape \(1, 2\)"),
    ({}, {"sample_weight": -np.ones(300)}, "[Nn]egative"),
    ({}, {"sample_weight": np.zeros(300)}, "all samples have zero or negative weights"),
    ({}, {"sample_weight": np.ones(7)}, "sample_weight"),
    ({"kernel": "precomputed"}, {}, "square"),
]


@pytest.mark.parametrize(
    ("parameters", "fit_parameters", "message"), BAD, ids=lambda v: str(v)[:40]
)
def test_bad_input_is_refused_with_a_sentence(two_classes, parameters, fit_parameters, message):
    with pytest.raises(ValueError, match=message):
        SupervisedSVC(**parameters).fit(*two_classes, **fit_parameters)


def test_a_class_without_weight_is_refused(two_classes):
    X, y = two_classes
    with pytest.raises(ValueError, match=r"class np.int64\(1\)|class 1"):
        SupervisedSVC().fit(X, y, sample_weight=(y == 0).astype(float))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_and_infinite_values_are_refused(two_classes, value):
    X, y = two_classes
    X = X.copy()
    X[3, 2] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        SupervisedSVC().fit(X, y)


# ---- what SVC has as well ----


@pytest.mark.parametrize("break_ties", [False, True])
def test_scores_of_pairs_and_ties_are_those_of_svc(break_ties):
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    ours = SupervisedSVC(kernel="linear", tol=1e-6, break_ties=break_ties).fit(X, y)
    theirs = SVC(kernel="linear", tol=1e-6, break_ties=break_ties).fit(X, y)
    new = np.random.default_rng(0).uniform(X.min(axis=0) - 3, X.max(axis=0) + 3, (2000, 2))
    assert_array_equal(ours.predict(new), theirs.predict(new))
    ours.set_params(decision_function_shape="ovo")
    theirs.set_params(decision_function_shape="ovo", break_ties=False)
    assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=1e-3)
    one_by_rest = SupervisedSVC(multi_class="ovr", decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="needs a fit of pairs of classes"):
        one_by_rest.decision_function(new)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_sigmoids_of_the_scores_of_rows_left_out(n_classes):
    X, truth = make_blobs(90, centers=[[0, 0], [2, 0], [0, 2]][:n_classes], random_state=0)
    y = np.where(np.arange(90) < 70, truth, -1)
    model = SupervisedSVC(probability=True, tol=1e-8, gamma=0.5).fit(X, y)
    order = content_order(X[:70])  # the folds do not depend on the places of rows
    fold = np.full(90, -1)
    fold[order] = assign_folds(y[order], 5)[0]
    left_out = np.full((90, n_classes), np.nan)
    for k in range(5):
        part = SupervisedSVC(tol=1e-8, gamma=0.5).fit(X, np.where(fold == k, -1, y))
        scores = part.decision_function(X[fold == k])
        left_out[fold == k] = scores if n_classes > 2 else np.column_stack([-scores, scores])
    chance = np.empty((90, n_classes))
    scores = model.decision_function(X)
    scores = scores if n_classes > 2 else np.column_stack([-scores, scores])
    for c in range(n_classes):
        slope, offset = fit_sigmoid(left_out[:70, c], np.where(y[:70] == c, 1, -1))
        chance[:, c] = expit(slope * scores[:, c] + offset)
    chance /= chance.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), chance, atol=1e-4)
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    assert log_loss(truth, model.predict_proba(X)) < 0.75 * np.log(n_classes)


def test_without_probabilities_the_error_says_what_to_do():
    X, y = make_blobs(40, centers=2, random_state=0)
    for model, remedy in [
        (SupervisedSVC(), r"fit SupervisedSVC\(probability=True\)"),
        (SelfTrainingSVC(), r"SemiSupervisedCalibratedClassifierCV\(SelfTrainingSVC"),
        (PositiveUnlabeledSVC(), "CalibratedClassifierCV"),
        (SelfTrainingSVC().fit(X, y).with_threshold(0.5), "SemiSupervisedCalibratedClassifierCV"),
    ]:
        for method in ("predict_proba", "predict_log_proba"):
            assert not hasattr(model, method)
            with pytest.raises(AttributeError, match=remedy) as raised:
                getattr(model, method)
            name = type(model).__name__
            assert str(raised.value).startswith(f"This {name!r} has no attribute {method!r}. ")


def test_a_negative_weight_is_no_row_as_in_svc():
    X, y = make_blobs(40, centers=2, cluster_std=4, random_state=0)
    weight = np.where(np.arange(40) % 5 == 0, -1.0, 1.0)
    model = SupervisedSVC(tol=1e-6).fit(X, y, sample_weight=weight)
    alone = SupervisedSVC(tol=1e-6).fit(X[weight > 0], y[weight > 0])
    assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-4)
