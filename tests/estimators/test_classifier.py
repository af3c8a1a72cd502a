"""No label from a score that is not a number: float32 is widened, and what float64 can't hold is
refused by name.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from oracles import as_dense, gap_by_definition
from semisvm import (
    ClusterSVC,
    LabelMeanSVC,
    LaplacianSVC,
    MixtureClassifier,
    PreferenceSVC,
    ProgressiveSVC,
    SelfTrainingSVC,
    SupervisedSVC,
    TransductiveSVC,
)
from semisvm.estimators import classifier
from semisvm.estimators.problem import FEW_ROWS
from semisvm.kernels import precision

SVCS = (
    SupervisedSVC,
    ClusterSVC,
    LabelMeanSVC,
    LaplacianSVC,
    PreferenceSVC,
    ProgressiveSVC,
    SelfTrainingSVC,
    TransductiveSVC,
)
WEIGHED = [
    method for method in SVCS if method is not PreferenceSVC
]  # its threshold would undo class weights
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    truth = np.array([0, 1] * 6)
    X = rng.normal(size=(12, 2)) + 3 * truth[:, None]
    return X, np.where(np.arange(12) < 6, truth, -1)


@pytest.mark.parametrize("method", [*SVCS, MixtureClassifier])
@pytest.mark.parametrize("scale", [1e19, 1e30, 1e-30])
def test_float32_rows_whose_squares_overflow_are_learned_from_in_float64(method, scale, rows):
    X, y = rows
    extreme = (X * scale).astype(np.float32)
    narrow = method().fit(extreme, y)
    wide = method().fit(extreme.astype(np.float64), y)
    assert np.isfinite(narrow.decision_function(extreme)).all()
    np.testing.assert_array_equal(narrow.predict(extreme), wide.predict(extreme))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(
    ("kernel", "place", "parameters"),
    [
        ("linear", 300.0, {}),
        (lambda left, right: as_dense(left @ right.T), 300.0, {}),
        ("poly", 10.0, {"gamma": 0.5, "coef0": 1.0, "degree": 2}),
        ("rbf", 1e4, {"gamma": 1.0}),  # groups of rows that are far apart for the kernel
    ],
)
def test_the_gap_of_large_kernel_values_is_that_of_exact_ones(kernel, place, parameters, form):
    rng = np.random.default_rng(0)
    n = FEW_ROWS + 100
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    X += place * (1 if kernel != "rbf" else rng.integers(0, 2, (n, 2)))
    model = SupervisedSVC(kernel=kernel, **parameters).fit(form(X), y)
    sign = 2.0 * y - 1
    beta = np.zeros(n)
    beta[model.support_] = as_dense(model.dual_coef_)[0]
    K = pairwise_kernels(X, metric="linear" if callable(kernel) else kernel, **parameters)
    gap = gap_by_definition(K, -sign, np.minimum(sign, 0), np.maximum(sign, 0), beta)
    assert model.gap_[0] == pytest.approx(gap, abs=1e-6)


@pytest.mark.parametrize("method", [*SVCS, MixtureClassifier])
@pytest.mark.parametrize("scale", [1e160, 1e300])
def test_rows_whose_squares_overflow_float64_are_refused_with_the_name_of_the_feature(
    method, scale, rows
):
    X, y = rows
    frame = pd.DataFrame({"size": X[:, 0], "price": X[:, 1] * scale})
    with pytest.raises(ValueError, match=r"Feature 'price' is .* in row"):
        method().fit(frame, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
def test_a_new_row_without_a_score_is_refused_with_the_names_of_row_and_feature(kernel, rows):
    X, y = rows
    model = SupervisedSVC(kernel=kernel).fit(pd.DataFrame(X, columns=["size", "price"]), y)
    new = pd.DataFrame([[0.0, 0.0], [0.0, 1e300]], columns=["size", "price"])
    if (
        kernel != "poly"
    ):  # a linear score of 1e300 is a number, and so are tanh of anything and exp(-infinity)
        assert np.isfinite(model.decision_function(new)).all()
        return
    with pytest.raises(ValueError, match=r"Row 1 has no score.*'price' is 1e\+300"):
        model.decision_function(new)
    with pytest.raises(ValueError, match="Row 1 has no score"):
        model.predict(new)


def test_a_kernel_that_overflows_is_refused_with_the_name_of_the_largest_feature(rows):
    X, y = rows
    with pytest.raises(
        ValueError, match=r"kernel of these rows is not finite in float64: feature [01] is"
    ):
        SupervisedSVC(kernel="poly", degree=50, gamma=1.0).fit(X * 1e30, y)


@pytest.mark.parametrize(
    ("parameters", "remedy"),
    [
        ({"kernel": "poly", "degree": 2.5}, r"Choose a whole degree: .* no power of 2\.5"),
        ({"kernel": lambda left, right: np.nan * (left @ right.T)}, "Correct the kernel function"),
    ],
)
def test_the_remedy_is_that_of_the_kernel(parameters, remedy, rows):
    X, y = rows
    with pytest.raises(ValueError, match=f"not finite in float64: feature .* {remedy}"):
        SupervisedSVC(**parameters).fit(X - 2, y)


@pytest.mark.parametrize(
    "model",
    [
        LaplacianSVC(kernel="poly", degree=0.001),
        ClusterSVC(kernel="poly", coef0=-1e300),
        SupervisedSVC(kernel="poly", degree=0.5),
    ],
    ids=str,
)
def test_a_kernel_that_is_not_finite_inside_a_library_is_refused_in_the_same_words(model, rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"kernel of these rows is not finite in float64: feature"):
        model.fit(X - 2, y)


def test_extreme_weights_are_refused_with_the_row(rows):
    X, y = rows
    for value in (1e300, 1e-300):
        with pytest.raises(
            ValueError, match=r"sample_weight is .* in row 3: weights must be 0 or between"
        ):
            SupervisedSVC().fit(X, y, sample_weight=np.where(np.arange(12) == 3, value, 1.0))


def test_many_rows_of_large_numbers_keep_their_kernel_in_float64():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1200)
    X = rng.normal(size=(1200, 2)) + 4 * y[:, None]
    for rows in (X * 1e20, sparse.csr_matrix(X * 1e20)):
        model = SupervisedSVC(kernel="linear", C=1e-40).fit(rows, y)
        assert model.score(rows, y) > 0.98


@pytest.mark.parametrize("method", SVCS)
def test_a_precomputed_kernel_that_is_not_square_or_not_dense_is_refused_in_words(method, rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"square matrix .* got \(12, 5\)"):
        method(kernel="precomputed").fit(np.ones((12, 5)), y)
    with pytest.raises(TypeError, match="Sparse precomputed kernels are not supported"):
        method(kernel="precomputed").fit(sparse.csr_matrix(X @ X.T), y)


@pytest.mark.parametrize("method", SVCS)
def test_a_kernel_function_that_returns_complex_values_is_refused(method, rows):
    X, y = rows
    with pytest.raises(ValueError, match="complex128; it must return real numbers"):
        method(kernel=lambda left, right: (left @ right.T) * (1 + 1j)).fit(X, y)


@pytest.mark.parametrize("method", [*SVCS, lambda: ClusterSVC(embed=None)])
def test_sparse_rows_with_64_bit_indices_are_taken(method, rows):
    X, y = rows
    wide = sparse.csr_matrix(X)
    wide.indices = wide.indices.astype(np.int64)
    wide.indptr = wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(
        method().fit(wide, y).predict(wide), method().fit(sparse.csr_matrix(X), y).predict(X)
    )


@pytest.mark.parametrize("method", WEIGHED)
@pytest.mark.parametrize("value", [-1, np.inf, np.nan, "two", None])
def test_class_weights_that_are_not_numbers_from_0_on_are_refused_with_the_class(
    method, value, rows
):
    X, y = rows
    with pytest.raises(
        ValueError, match=r"class_weight must be finite and not negative .* for class 0"
    ):
        method(class_weight={0: value, 1: 1.0}).fit(X, y)


@pytest.mark.parametrize("method", WEIGHED)
def test_class_weights_that_are_all_0_are_refused(method, rows):
    X, y = rows
    with pytest.raises(ValueError, match="class_weight is 0 for every class"):
        method(class_weight={0: 0, 1: 0.0}).fit(X, y)


@pytest.mark.parametrize("names", [[0, 1, 2], [0.0, 1.0, 2.0], ["eggs", "ham", "spam"]])
def test_a_class_whose_rows_all_have_weight_0_is_named(names):
    y = np.array(names)
    name = names[2]
    with pytest.raises(ValueError, match=f"^No row of class {name!r} has a positive sample_weight"):
        SupervisedSVC().fit(np.arange(3.0)[:, None], y, sample_weight=[1, 1, 0])


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("method", WEIGHED)
def test_the_labeled_rows_of_a_class_of_weight_0_take_no_part(method, multi_class):
    """Where they lie makes no difference to the machine, and no score speaks for their class."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, -1], 8)
    X = rng.normal(size=(32, 3)) + 3 * np.eye(4, 3)[y]
    moved = np.where((y == 0)[:, None], rng.normal(size=X.shape), X)
    same = {"class_weight": {0: 0.0}, "gamma": 0.3, "multi_class": multi_class}
    one = method(**same).fit(X, y)
    other = method(**same).fit(moved, y)
    assert not (one.predict(X) == 0).any()
    if method is SupervisedSVC:  # the others also learn from where all rows lie
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("layout", ["C", "F", "every other row", "object", "sparse", "no columns"])
def test_picked_rows_are_those_that_an_index_gives(layout, monkeypatch):
    monkeypatch.setattr(precision, "BYTES_PER_PART", 64)
    X = np.arange(120.0).reshape(40, 3)
    X = {
        "C": X,
        "F": np.asfortranarray(X),
        "every other row": X[::2],
        "object": X.astype(object),
        "sparse": sparse.csr_matrix(X),
        "no columns": X[:, :0].copy(),
    }[layout]
    for rows in (np.array([19, 0, 7, 7]), np.array([], dtype=np.intp)):
        picked = classifier.pick_rows(X, rows)
        expected = X[rows]
        assert type(picked) is type(expected)
        assert picked.dtype == expected.dtype
        assert picked.shape == expected.shape
        assert abs(picked - expected).sum() == 0


def test_the_largest_magnitude_is_that_of_all_parts(monkeypatch):
    monkeypatch.setattr(precision, "BYTES_PER_PART", 64)
    X = np.random.default_rng(0).normal(size=(50, 4))
    X[37, 2] = -9.0
    assert (
        classifier.largest_magnitude(X) == classifier.largest_magnitude(sparse.csr_matrix(X)) == 9.0
    )
    assert classifier.largest_magnitude(X[:0]) == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_large_array_is_refused_in_the_words_for_a_small_one(monkeypatch, rows, dtype, wrong):
    X = rows[0].astype(dtype)
    y = rows[1]
    X[3, 1] = wrong
    told = []
    for many in (classifier.MANY_NUMBERS, 1):
        monkeypatch.setattr(classifier, "MANY_NUMBERS", many)
        with pytest.raises(ValueError, match=r"NaN|infinity") as refused:
            SupervisedSVC().fit(X, y)
        told.append(str(refused.value))
    assert told[0] == told[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_large_array_is_fitted_as_a_small_one_is(monkeypatch, rows, dtype):
    X = rows[0].astype(dtype)
    y = rows[1]
    few = SupervisedSVC().fit(X, y).decision_function(X)
    monkeypatch.setattr(classifier, "MANY_NUMBERS", 1)
    assert np.array_equal(SupervisedSVC().fit(X, y).decision_function(X), few)
    with (
        pytest.raises(ValueError, match=r"1e\+200" if dtype == np.float64 else "infinity"),
        np.errstate(over="ignore"),
    ):
        SupervisedSVC().fit(np.where(X == X[0, 0], dtype(1e200), X), y)
