"""What every class of the room promises, at its default settings."""

import inspect
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import check_estimator

from estimator_properties import PROPERTIES, holds, scores_of
from semisvm import svm

CLASSES = [getattr(svm, name) for name in svm.__all__]
EXCEPT_PAPER = [c for c in CLASSES if c is not svm.PaperPreferenceSVC]
# What a class does not promise, and why.
NOT_PROMISED = {
    ("MixtureClassifier", "sparse"),  # covariances are dense
    ("MixtureClassifier", "sparse, int64"),
    ("ProgressiveSVC", "copies"),  # a round labels one row, whatever its weight
    ("TransductiveSVC", "copies"),  # a row of weight 2 gets one label
    ("ClusterSVC", "float32"),  # other numbers, other draws
    ("PaperPreferenceSVC", "float32"),
    ("ClusterSVC", "copies"),  # k-means draws its starts from rows
    ("PaperPreferenceSVC", "copies"),  # it halves the labeled rows
    ("SVCCV", "copies"),  # folds are of rows
}


SMALL_SEARCH = {svm.SVCCV: {"Cs": [1.0], "gammas": [0.1], "cv": 2}}


def make(estimator_class, **parameters):
    """An estimator whose draws are repeatable, otherwise with its defaults."""
    if "random_state" in inspect.signature(estimator_class).parameters:
        parameters.setdefault("random_state", 0)
    return estimator_class(**parameters)


def few_labels(load, n_labels, seed=0, n_rows=300):
    """Rows, and a target with about so many labels, the same number of each class."""
    X, true = load(return_X_y=True)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(true))[:n_rows]
    X, true = scale(X[chosen]), true[chosen]
    y = np.full(len(true), -1)
    for c in np.unique(true):
        y[np.flatnonzero(true == c)[: n_labels // len(np.unique(true))]] = c
    return X, y, true


@pytest.mark.filterwarnings("ignore:.*rounds of ProgressiveSVC:UserWarning")
@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("estimator_class", CLASSES, ids=lambda c: c.__name__)
def test_it_holds(estimator_class, name):
    if (estimator_class.__name__, name) in NOT_PROMISED:
        pytest.skip("not promised")
    X, y, _ = few_labels(load_breast_cancer, 30)
    holds(name, make(estimator_class), X, y)
    if "booleans" not in name:
        X, y, _ = few_labels(load_iris, 30, n_rows=120)
        holds(name, make(estimator_class), X, y)


@pytest.mark.filterwarnings("ignore:.*rounds of ProgressiveSVC:UserWarning")
@pytest.mark.parametrize("name", ["order of rows", "order of columns", "sparse", "Fortran order"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("estimator_class", [svm.ProgressiveSVC, svm.ClusterSVC])
def test_even_where_four_labels_and_many_zeros_leave_much_to_chance(estimator_class, name, seed):
    X, digit = load_digits(return_X_y=True)
    X, odd = X[:400] / 16, digit[:400] % 2
    rng = np.random.default_rng(seed)
    y = np.full(400, -1)
    for c in (0, 1):
        y[rng.permutation(np.flatnonzero(odd == c))[:2]] = c
    holds(name, make(estimator_class), X, y)


def test_folds_of_svccv_do_not_depend_on_the_order_of_the_rows():
    X, y, _ = few_labels(load_iris, 60, n_rows=150)
    by_class = np.argsort(y, kind="stable")
    one, other = svm.SVCCV().fit(X, y), svm.SVCCV().fit(X[by_class], y[by_class])
    assert (one.C_, one.gamma_) == (other.C_, pytest.approx(other.gamma_))
    np.testing.assert_allclose(other.scores_, one.scores_, atol=1e-9)


@pytest.mark.parametrize("estimator_class", CLASSES, ids=lambda c: c.__name__)
def test_it_can_be_cloned_pickled_and_fitted_again(estimator_class):
    X, y, _ = few_labels(load_breast_cancer, 30, n_rows=100)
    model = make(estimator_class).fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), scores)
    assert not [name for name in vars(clone(model)) if name.endswith("_")]
    np.testing.assert_array_equal(model.fit(X, y).decision_function(X), scores)
    assert model.transduction_.shape == y.shape if hasattr(model, "transduction_") else True


class _CtrlC:
    """Presses Ctrl-C when the n-th function of the room is called."""

    def __init__(self, at=None):
        self.at = at
        self.n_calls = 0

    def __call__(self, frame, event, _):
        if event == "call" and Path(frame.f_code.co_filename).parent.name == "svm":
            self.n_calls += 1
            if self.n_calls == self.at:
                raise KeyboardInterrupt

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)


@pytest.mark.parametrize("estimator_class", CLASSES, ids=lambda c: c.__name__)
def test_an_interrupted_refit_leaves_the_old_model_whole(estimator_class, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # with more, this thread calls by chance
    X, y, _ = few_labels(load_breast_cancer, 30, n_rows=80)
    other_X, other_y, _ = few_labels(load_iris, 30, n_rows=80)
    model = make(estimator_class, **SMALL_SEARCH.get(estimator_class, {})).fit(X, y)
    before = pickle.dumps(vars(model))
    with _CtrlC() as counter:
        clone(model).fit(other_X, other_y)
    for at in np.unique(np.linspace(2, counter.n_calls - 2, 12).astype(int)):
        with _CtrlC(at), pytest.raises(KeyboardInterrupt):
            model.fit(other_X, other_y)
        assert pickle.dumps(vars(model)) == before, f"after {at} of {counter.n_calls} calls"


def entries(estimator_class, section):
    """The names that a section of the docstring describes."""
    text = inspect.cleandoc(estimator_class.__doc__)
    body = text.split(f"{section}\n{'-' * len(section)}\n")[1].split("\n\n")[0]
    lines = [line for line in body.splitlines() if line and not line.startswith(" ")]
    return [name for line in lines for name in line.partition(" :")[0].split(", ")]


@pytest.mark.parametrize("estimator_class", CLASSES, ids=lambda c: c.__name__)
def test_every_parameter_and_attribute_has_an_entry(estimator_class):
    documented = entries(estimator_class, "Parameters")
    assert sorted(documented) == sorted(inspect.signature(estimator_class).parameters)
    assert set(documented) == set(estimator_class._parameter_constraints)
    X, y, _ = few_labels(load_breast_cancer, 30, n_rows=60)
    model = make(estimator_class).fit(pd.DataFrame(X).add_prefix("x"), y)
    learned = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert learned <= set(entries(estimator_class, "Attributes"))


def test_the_room_has_these_classes():
    assert svm.__all__ == [
        "SVCCV",
        "ClusterSVC",
        "LabelMeanSVC",
        "LaplacianSVC",
        "MixtureClassifier",
        "PaperPreferenceSVC",
        "ProgressiveSVC",
        "SelfTrainingSVC",
        "SupervisedSVC",
        "TransductiveSVC",
    ]


MINUS_ONE = "check_classifiers_classes"  # y of -1 and 1, where -1 marks unlabeled rows
FAILED_CHECKS = {
    "PaperPreferenceSVC": {
        "check_sample_weight_equivalence_on_dense_data",  # halves are of rows
        "check_sample_weight_equivalence_on_sparse_data",
        "check_class_weight_classifiers",  # the threshold undoes the weights
    }
}


@pytest.mark.parametrize("estimator_class", CLASSES, ids=lambda c: c.__name__)
def test_scikit_learn_finds_nothing_but_the_marker(estimator_class):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            make(estimator_class, **SMALL_SEARCH.get(estimator_class, {})),
            on_skip=None,
            on_fail=None,
        )
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == {MINUS_ONE} | FAILED_CHECKS.get(estimator_class.__name__, set())


@pytest.mark.parametrize("estimator_class", CLASSES, ids=lambda c: c.__name__)
def test_classes_are_sorted_and_true_labels_stay(estimator_class):
    X, y, true = few_labels(load_breast_cancer, 30, n_rows=100)
    names = pd.Categorical.from_codes(y, ["yes", "no"])  # 0 is "yes"
    model = make(estimator_class).fit(X, names)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, np.array(["yes", "no"])[true]) > 0.8
    transduction = getattr(model, "transduction_", None)
    if transduction is not None:
        assert (transduction[y >= 0] == np.asarray(names)[y >= 0]).all()


@pytest.mark.parametrize(
    "target",
    [
        lambda y: np.where(y < 0, None, y).astype(str),  # "None" among "0" and "1"
        lambda y: np.where(y < 0, np.nan, y).astype(str),
        lambda y: y.astype(np.uint8),  # -1 becomes 255
    ],
    ids=["None as text", "nan as text", "-1 as 255"],
)
def test_markers_that_a_conversion_made_classes_are_refused(target):
    X, y, _ = few_labels(load_breast_cancer, 30, n_rows=60)
    with pytest.raises(ValueError, match=r"None|nan|255"):
        svm.SupervisedSVC().fit(X, target(y))


def test_costs_are_weights_and_must_name_each_class_once():
    X, y, _ = few_labels(load_iris, 30, n_rows=100)
    costs = {0: 1, 1: 2, 2: 4}
    for estimator_class in EXCEPT_PAPER:
        if estimator_class in (svm.SVCCV, svm.MixtureClassifier):
            continue
        one = make(estimator_class, costs=costs).fit(X, y)
        other = make(estimator_class, class_weight=costs).fit(X, y)
        np.testing.assert_allclose(scores_of(one, X), scores_of(other, X), atol=1e-9)
    for bad in ({0: 1, 1: 2}, {0: 1, 1: 2, 2: 4, 3: 1}, {0: 1, 1: 2, 2: 0}, {0: 1, 1: 2, 2: "x"}):
        with pytest.raises(ValueError, match="costs must"):
            svm.SupervisedSVC(costs=bad).fit(X, y)


def test_gaps_are_never_negative():
    X, y, _ = few_labels(load_iris, 6, n_rows=60)
    for estimator_class in CLASSES:
        if estimator_class in (svm.SVCCV, svm.MixtureClassifier, svm.PaperPreferenceSVC):
            continue
        assert (make(estimator_class).fit(X, y).gap_ >= 0).all()
