"""The contract of all estimators: scikit-learn's own checks, and what this library promises
beside them.
"""

import functools
import inspect
import pickle
import warnings
from dataclasses import fields, is_dataclass
from typing import get_args

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from numpydoc.docscrape import ClassDoc
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from every_estimator import (
    CASES,
    each_case,
    each_class,
    few_labels,
    is_first_of_its_class,
    scores_of,
)
from semisvm import PreferenceSVC, SupervisedSVC, TableEncoder, ThresholdClassifier, UnlabeledKernel
from semisvm.estimators.base import BaseSVC
from semisvm.estimators.preference.paper import PaperPreferenceSVC
from semisvm.estimators.progress import RoundRecord, TerminationCondition
from semisvm.model_selection import SemiSupervisedCalibratedClassifierCV

pytestmark = pytest.mark.filterwarnings("ignore:.*one side of the boundary:UserWarning")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """On so few rows threads only wait for each other: with two of them k-means takes ten times
    as long.
    """
    with threadpool_limits(1):
        yield


# ---- scikit-learn's contract ----

MINUS_ONE = "trains on {-1, +1}, where -1 marks unlabeled rows: refused, never guessed"
POSITIVES_ALONE = (
    "trains on {-1, +1}, where -1 marks unlabeled rows: it learns from positives and unlabeled rows"
)
OTHER_CLASSES = "scikit-learn 1.6 makes other classes of shuffled labels than of repeated ones"


def expected_failures(estimator):
    """The one check that every estimator fails, with the reason: what -1 means."""
    if type(estimator).__name__ != "PositiveUnlabeledSVC":
        return {"check_classifiers_classes": MINUS_ONE}
    failures = {"check_classifiers_classes": POSITIVES_ALONE}
    if sklearn.__version__.startswith("1.6."):
        for kind in ("dense", "sparse"):
            failures[f"check_sample_weight_equivalence_on_{kind}_data"] = OTHER_CLASSES
    return failures


OTHERS = [
    SemiSupervisedCalibratedClassifierCV(SupervisedSVC()),
    ThresholdClassifier(SupervisedSVC()),
]


@pytest.mark.filterwarnings("ignore:y has no unlabeled rows")  # of PositiveUnlabeledSVC
@parametrize_with_checks(
    [*(case.make() for case in CASES), *OTHERS], expected_failed_checks=expected_failures
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_checks([UnlabeledKernel()])
def test_scikit_learn_contract_of_a_kernel(estimator, check):
    check(estimator)


@functools.cache
def fitted(case, n_classes=2):
    """A fit that tests look at and leave as it is, with its rows, target and true classes."""
    X, y, truth = few_labels(n_classes)
    return case.make().fit(X, y), X, y, truth


def draws_by_class(case):
    """Whether random draws depend on the order of the classes, so that other names are another
    draw.

    The preference methods draw folds for one class after the other; positives and unlabeled rows
    can't be swapped; k-means draws its first centers.
    """
    return case.class_name.startswith(
        ("Preference", "PaperPreference", "PositiveUnlabeled")
    ) or case.parameters.get("n_clusters")


def draws_nothing_by_class(case):
    return not draws_by_class(case)


def draws_nothing_by_place(case):
    """Whether other places of the rows are the same problem; k-means draws its first centers by
    place.
    """
    return not case.parameters.get("n_clusters")


# ---- targets ----

NAMES = np.array(["ham", "offer", "spam"], dtype=object)


def marked_targets(y, n_classes):
    """The same target in every way in which unlabeled rows can be marked: (marker, target,
    classes).
    """
    unlabeled = y == -1
    strings = NAMES[:n_classes][y]
    numbers = y.astype(object)
    yield -1, y.tolist(), range(n_classes)
    yield None, np.where(unlabeled, np.nan, y), range(n_classes)
    yield None, np.where(unlabeled, None, numbers), range(n_classes)
    yield -1, pd.Series(np.where(unlabeled, None, numbers), dtype="Int64"), range(n_classes)
    yield 7, np.where(unlabeled, 7, y), range(n_classes)
    yield -1, np.where(unlabeled, "", strings).astype(str), NAMES[:n_classes]
    yield "?", np.where(unlabeled, "?", strings), NAMES[:n_classes]
    yield -1, np.where(unlabeled, -1, strings), NAMES[:n_classes]
    yield -1, pd.Series(np.where(unlabeled, None, strings)), NAMES[:n_classes]


@each_case(only=is_first_of_its_class)
def test_unlabeled_rows_may_be_marked_in_any_way_and_classes_have_any_type(case):
    expected, X, y, _ = fitted(case)
    for marker, target, classes in marked_targets(y, 2):
        model = case.make(unlabeled=marker).fit(X, target)
        assert model.classes_.tolist() == list(classes)
        assert_array_equal(scores_of(model, X), scores_of(expected, X))
        assert_array_equal(model.predict(X), model.classes_[expected.predict(X)])
        assert_array_equal(model.transduction_, model.classes_[expected.transduction_])


@each_case()
def test_labeled_rows_keep_their_labels_and_unlabeled_rows_get_one(case):
    model, _, y, _ = fitted(case, case.most_classes)
    assert_array_equal(model.transduction_[y != -1], y[y != -1])
    assert set(model.transduction_) <= set(range(case.most_classes))
    assert model.labeled_iter_.shape == y.shape
    assert_array_equal(model.labeled_iter_ == 0, y != -1)


@each_case(only=draws_nothing_by_class)
def test_the_order_of_three_classes_does_not_matter(case):
    """The names change the order of the classes: 0, 1, 2 become the third, the first and the
    second.
    """
    X, y, _ = few_labels(3)
    renamed = np.where(y == -1, -1, np.array([2, 0, 1])[y])
    one, other = (case.make(tol=1e-9).fit(X, target) for target in (y, renamed))
    agree = np.array([2, 0, 1])[one.predict(X)] == other.predict(X)
    assert agree.mean() >= 0.95  # rows between three classes may be tied
    assert_allclose(scores_of(other, X)[:, [2, 0, 1]][agree], scores_of(one, X)[agree], atol=1e-3)


@each_case(only=draws_nothing_by_class)
def test_the_order_of_two_classes_does_not_matter(case):
    X, y, _ = few_labels()
    one, other = (
        case.make(tol=1e-9).fit(X, target) for target in (y, np.where(y == -1, -1, 1 - y))
    )
    if hasattr(one, "decision_function"):
        assert_allclose(other.decision_function(X), -one.decision_function(X), atol=1e-4)
    assert_array_equal(other.predict(X), 1 - one.predict(X))


@each_case()
def test_score_judges_the_labeled_rows(case):
    model, X, y, truth = fitted(case)
    labeled = y != -1
    assert model.score(X, y) == accuracy_score(truth[labeled], model.predict(X[labeled]))
    assert model.score(X, truth) == accuracy_score(truth, model.predict(X))
    with pytest.raises(ValueError, match="unlabeled"):
        model.score(X, np.full(len(y), -1))


# ---- rows ----


def assert_same_model(one, other, X, atol=1e-4):
    assert_allclose(scores_of(one, X), scores_of(other, X), atol=atol)


def takes_sparse_rows_as_dense_ones(case):
    """AutoSVC compares sparse rows by their angle, unless told otherwise: another model by
    design.
    """
    is_another_metric = case.class_name == "AutoSVC" and "metric" not in case.parameters
    return get_tags(case.make()).input_tags.sparse and not is_another_metric


def csr_in_two_parts(X):
    """CSR rows that store each number as two halves, as an array of sums may do."""
    rows = sparse.csr_array(X)
    halves = np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr
    return sparse.csr_array(halves, shape=rows.shape)


@each_case(only=takes_sparse_rows_as_dense_ones)
def test_sparse_rows_give_the_same_model(case):
    X, y, _ = few_labels()
    X[np.abs(X) < 0.5] = 0
    dense = case.make(tol=1e-6).fit(X, y)
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, csr_in_two_parts):
        model = case.make(tol=1e-6).fit(form(X), y)
        assert_allclose(scores_of(model, form(X)), scores_of(dense, X), atol=1e-4)


@each_case(only=draws_nothing_by_place)
def test_the_order_of_the_rows_does_not_matter(case):
    X, y, _ = few_labels()
    order = np.random.default_rng(1).permutation(len(y))
    assert_same_model(case.make(tol=1e-8).fit(X, y), case.make(tol=1e-8).fit(X[order], y[order]), X)


def tied_rows(n_classes):
    """Classes along one axis, in steps: many rows are equal, and many scores are."""
    truth = np.arange(45) % n_classes
    X = truth[:, None] + 0.5 * np.random.default_rng(0).integers(-1, 2, (45, 1))
    return X, np.where(np.arange(45) < 12, truth, -1)


@each_case()
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_order_of_the_rows_does_not_matter_where_scores_are_tied(case):
    for n_classes in {2, case.most_classes}:
        X, y = tied_rows(n_classes)
        one = case.make().fit(X, y)
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(len(y))
            other = case.make().fit(X[order], y[order])
            assert_array_equal(other.predict(X), one.predict(X))
            assert_array_equal(np.sort(other.transduction_), np.sort(one.transduction_))


@each_case(only=lambda case: not draws_by_class(case) or case.class_name == "ClusterSVC")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_names_of_two_classes_do_not_matter_where_scores_are_tied(case):
    X = np.random.default_rng(1).integers(0, 4, (60, 2)).astype(float)
    y = np.where(np.arange(60) < 14, (X[:, 0] + 0.3 * X[:, 1] > 1.8).astype(int), -1)
    if case.class_name in ("SelfTrainingSVC", "LabelMeanSVC") or str(case) == "TransductiveSVC":
        # a tie trains as the first class, or as the rows come; switching begins with a price of its
        # own
        return
    # The exact scores of a few rows are 0 with LaplacianSVC, whose deformed kernel is scaled up:
    # rounding leaves 1e-8.
    exact, zero = ({"tol": 1e-9}, 1e-7) if case.class_name == "LaplacianSVC" else ({}, 1e-8)
    one, other = (case.make(**exact).fit(X, target) for target in (y, np.where(y == -1, -1, 1 - y)))
    is_clear = (
        np.abs(one.decision_function(X)) > zero
    )  # a score of 0 is the first class, whatever its name
    assert is_clear.mean() > 0.5
    assert_array_equal(other.predict(X)[is_clear], 1 - one.predict(X)[is_clear])


def weights_and_repetitions(which):
    """Rows with weights 1, 2 and 3, and the same rows given so many times."""
    X, y, _ = few_labels(seed=1)
    weight = np.where(which(y), np.random.default_rng(2).integers(1, 4, len(y)), 1)
    times = np.repeat(np.arange(len(y)), weight)
    return X, y, weight.astype(float), X[times], y[times]


@each_case(only=draws_nothing_by_place)
@pytest.mark.parametrize("which", ["labeled", "unlabeled"])
def test_a_row_of_weight_k_is_k_rows(case, which):
    of = {"labeled": lambda y: y != -1, "unlabeled": lambda y: y == -1}[which]
    X, y, weight, X_repeated, y_repeated = weights_and_repetitions(of)
    weighted = case.make(tol=1e-8).fit(X, y, sample_weight=weight)
    repeated = case.make(tol=1e-8).fit(X_repeated, y_repeated)
    assert_same_model(weighted, repeated, X)


def looks_for_copies(case):
    """Whether a method that labels a share of the weight takes equal unlabeled rows for one row."""
    return case.class_name in ("TransductiveSVC", "LabelMeanSVC") and case.has_support


@each_case(only=looks_for_copies)
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_share_of_the_weight_may_end_between_copies_of_a_row(case, seed):
    """Copies of an unlabeled row are one row from the start, so none of them gets another label
    than the rest.
    """
    X, y, _ = few_labels(seed=seed)
    weight = np.where(y == -1, np.random.default_rng(seed).integers(1, 4, len(y)), 1)
    times = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(y)), weight))
    weighted = case.make(tol=1e-8).fit(X, y, sample_weight=weight.astype(float))
    repeated = case.make(tol=1e-8).fit(X[times], y[times])
    assert_same_model(weighted, repeated, X)
    assert (repeated.transduction_ == weighted.transduction_[times]).all()


@each_case()
def test_a_row_of_weight_0_is_no_row(case):
    X, y, _ = few_labels()
    weight = (np.arange(len(y)) % 4 != 0).astype(float)
    kept = weight > 0
    weighted = case.make(tol=1e-8).fit(X, y, sample_weight=weight)
    assert_same_model(weighted, case.make(tol=1e-8).fit(X[kept], y[kept]), X)
    assert weighted.transduction_.shape == y.shape


@each_case()
def test_equal_weights_are_no_weights(case):
    model, X, y, _ = fitted(case)
    weighted = case.make().fit(X, y, sample_weight=np.ones(len(y)))
    assert_same_model(weighted, model, X, atol=1e-12)


# ---- objects ----


@each_case()
def test_a_fit_changes_neither_the_data_nor_the_parameters_and_can_be_repeated(case):
    X, y, _ = few_labels(case.most_classes)
    X_before = X.copy()
    y_before = y.copy()
    model = case.make()
    parameters = {name: repr(value) for name, value in model.get_params().items()}
    first = scores_of(model.fit(X, y), X)
    assert_array_equal(scores_of(model.fit(X, y), X), first)
    assert_array_equal(X, X_before)
    assert_array_equal(y, y_before)
    assert {name: repr(value) for name, value in model.get_params().items()} == parameters


@each_case()
def test_a_second_fit_forgets_the_first(case):
    X, y, _ = few_labels(case.most_classes)
    other_X, other_y, _ = few_labels(2, seed=1)
    model = case.make().fit(X, y).fit(other_X[:, :2], other_y)
    fresh = case.make().fit(other_X[:, :2], other_y)
    assert_array_equal(scores_of(model, other_X[:, :2]), scores_of(fresh, other_X[:, :2]))
    assert set(vars(model)) == set(vars(fresh))


@each_case()
def test_clones_pickles_and_set_params(case):
    X, y, _ = few_labels()
    model = case.make(tol=1e-4).fit(X, y)
    copy = clone(model)
    assert copy.get_params().keys() == model.get_params().keys()
    assert not [name for name in vars(copy) if name.endswith("_") and not name.startswith("_")]
    assert_array_equal(scores_of(copy.fit(X, y), X), scores_of(model, X))
    assert_array_equal(scores_of(pickle.loads(pickle.dumps(model)), X), scores_of(model, X))
    changed = case.make().set_params(**model.get_params(deep=False))
    assert_array_equal(scores_of(changed.fit(X, y), X), scores_of(model, X))


@each_case(only=is_first_of_its_class)
def test_names_of_features_are_kept_and_checked(case):
    X, y, _ = few_labels()
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    model = case.make().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["age", "height", "weight"]
    assert model.n_features_in_ == 3
    # AutoSVC takes a DataFrame for a table, and an array for points unless it is told otherwise.
    told = {"columns": "table"} if "columns" in case.estimator_class._get_param_names() else {}
    assert_allclose(scores_of(model, frame), scores_of(case.make(**told).fit(X, y), X), atol=1e-6)
    if told:  # a table: columns are told by their names
        other_order = frame[["height", "age", "weight"]]
        assert_array_equal(scores_of(model, other_order), scores_of(model, frame))
        return
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["height", "age", "weight"]])


# ---- what is fitted, and how it is documented ----

# Everything that every estimator has after a fit; those of the second line only where there are
# support vectors.
FITTED = {
    "classes_",
    "transduction_",
    "labeled_iter_",
    "history_",
    "termination_condition_",
    "n_features_in_",
}
FITTED_SVC = {"intercept_", "n_iter_", "gap_"}
FITTED_WITH_SUPPORT = {"support_", "support_vectors_", "dual_coef_", "n_support_"}
TERMINATIONS = set(get_args(TerminationCondition))


def is_svc(estimator_class):
    """Whether it is one machine in one kernel; `AutoSVC` is an average of several."""
    return issubclass(estimator_class, BaseSVC)


def public_fitted(model):
    return {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}


def takes_numbers_alone(case):
    return case.class_name not in ("AutoSVC", "PreferenceClassifier")


@each_case(only=lambda case: is_first_of_its_class(case) and takes_numbers_alone(case))
def test_columns_of_text_and_dates_are_named_with_what_encodes_them(case):
    X, y, _ = few_labels()
    numbers = pd.DataFrame(X, columns=["size", "color", "sent"])
    words = numbers.assign(size=numbers["size"].map(str), color="red")
    dates = numbers.assign(sent=pd.Timestamp("2024-01-01"))
    encode = f"make_pipeline(semisvm.TableEncoder(), {case.class_name}())"
    for rows, told in [
        (words, "column 'color' holds text, for example 'red'."),
        (dates, "column 'sent' holds dates."),
        (words.to_numpy(), "column 1 holds text, for example 'red'."),
        (words.to_numpy().astype(str), "column 1 holds text, for example 'red'."),
    ]:
        with pytest.raises(ValueError) as error:
            case.make().fit(rows, y)
        assert f"takes numbers, and {told}" in str(error.value)
        assert encode in str(error.value)
    with pytest.raises(ValueError, match="takes numbers, and X holds texts"):
        case.make().fit([f"row {label}" for label in y], y)
    make_pipeline(TableEncoder(), case.make()).fit(words.assign(color=words["size"].str[:1]), y)
    with pytest.raises(
        ValueError, match=r"column 'color' holds text, for example 'red'\. Give rows as in fit"
    ):
        case.make().fit(numbers, y).predict(words)


@each_case()
def test_every_fit_leaves_the_same_attributes(case):
    model, X, y, _ = fitted(case, case.most_classes)
    expected = FITTED | (FITTED_SVC if is_svc(case.estimator_class) else set())
    assert not {name for name in expected if not hasattr(model, name)}
    assert {name for name in FITTED_WITH_SUPPORT if hasattr(model, name)} == (
        FITTED_WITH_SUPPORT if case.has_support else set()
    )
    assert model.n_iter_ >= 1
    assert callable(model.decision_function)
    assert model.decision_function(X).shape == (
        (len(y), 3) if case.most_classes == 3 else (len(y),)
    )


@each_case(only=lambda case: case.has_support)
def test_the_support_vectors_and_coefficients_give_the_scores(case):
    X, y, _ = few_labels()
    model = case.make(kernel="linear").fit(X, y)
    assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.n_support_.sum() == len(model.support_)
    assert model.coef_.shape == (1, 3)
    assert_allclose(model.coef_, model.dual_coef_ @ model.support_vectors_, atol=1e-9)
    linear = X @ model.coef_[0] + model.intercept_[0]
    shift = linear - model.decision_function(X)  # a threshold, where a method has one
    assert_allclose(shift, shift[0], atol=1e-6)


@each_case()
def test_the_termination_condition_is_one_of_a_closed_set(case):
    model, X, y, _ = fitted(case)
    assert model.termination_condition_ in TERMINATIONS
    if "max_iter" in case.make().get_params():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert case.make(max_iter=1).fit(X, y).termination_condition_ in TERMINATIONS


@each_case()
def test_the_history_is_a_list_of_one_record_type(case):
    history = fitted(case, case.most_classes)[0].history_
    assert isinstance(history, list)
    assert history
    assert is_dataclass(RoundRecord)
    names = [field.name for field in fields(RoundRecord)]
    assert names == ["problem", "round", "n_iter", "gap", "seconds", "objective", "details"]
    assert all(type(record) is RoundRecord for record in history)
    assert all(set(record.details) <= set(record.as_dict()) for record in history)


BEFORE = ["C"]
AFTER = [
    *("kernel", "degree", "gamma", "coef0"),
    *("costs", "class_weight", "multi_class"),
    "unlabeled",
    *("solver", "tol", "max_iter", "time_limit", "cache_size", "device"),
    *("random_state", "verbose"),
]


@each_class()
def test_the_parameters_come_in_one_order(estimator_class):
    """C, then the method's own, then the shared ones in the same order everywhere; all but the
    first by keyword.
    """
    parameters = list(inspect.signature(estimator_class).parameters.values())
    names = [parameter.name for parameter in parameters]
    own = [name for name in names if name not in BEFORE + AFTER]
    shared = [name for name in AFTER if name in names]
    first = [name for name in BEFORE if name in names]
    assert names == first + own + shared
    assert parameters[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert {parameter.kind for parameter in parameters[1:]} == {inspect.Parameter.KEYWORD_ONLY}
    if is_svc(estimator_class):
        assert first == ["C"]
        assert {"unlabeled", "verbose", *AFTER[:4]} <= set(names)


@each_class()
def test_the_constructor_and_fit_are_typed(estimator_class):
    parameters = inspect.signature(estimator_class).parameters.values()
    assert not [
        parameter.name
        for parameter in parameters
        if parameter.annotation is inspect.Parameter.empty
    ]
    fit = inspect.signature(inspect.unwrap(estimator_class.fit))
    rest = list(fit.parameters.values())[1:]
    assert not [
        parameter.name for parameter in rest if parameter.annotation is inspect.Parameter.empty
    ]


@each_class()
def test_every_parameter_and_attribute_is_documented(estimator_class):
    documented = ClassDoc(estimator_class)
    if estimator_class is PaperPreferenceSVC:  # documents what it adds to PreferenceSVC
        added = set(inspect.signature(estimator_class).parameters)
        added -= set(inspect.signature(PreferenceSVC).parameters)
        assert added <= {entry.name for entry in documented["Parameters"]}
        return
    entries = [name.strip() for entry in documented["Parameters"] for name in entry.name.split(",")]
    assert entries == list(inspect.signature(estimator_class).parameters)
    assert all(entry.type and entry.desc for entry in documented["Parameters"])
    case = next(case for case in CASES if case.estimator_class is estimator_class)
    X, y, _ = few_labels()
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    fitted = public_fitted(case.make().fit(frame, y))
    described = {
        name.strip() for entry in documented["Attributes"] for name in entry.name.split(",")
    }
    assert fitted <= described, f"not documented: {sorted(fitted - described)}"
    assert all(entry.type and entry.desc for entry in documented["Attributes"])
    assert documented["Examples"]
    assert documented["See Also"]
