"""Columns of very different scales: estimators whose kernels take them as they are say so once."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from semisvm import (
    SVCCV,
    AutoSVC,
    ClusterSVC,
    LabelMeanSVC,
    LaplacianSVC,
    PositiveUnlabeledSVC,
    PreferenceSVC,
    ProgressiveSVC,
    SelfTrainingSVC,
    SupervisedSVC,
    TransductiveSVC,
    UnlabeledKernel,
    hide,
)
from semisvm.columns.arrays import very_different_ranges

METHODS = (
    SupervisedSVC,
    SVCCV,
    ClusterSVC,
    LabelMeanSVC,
    LaplacianSVC,
    PreferenceSVC,
    ProgressiveSVC,
    SelfTrainingSVC,
    TransductiveSVC,
    UnlabeledKernel,
)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X, hide((y == 0).astype(int), keep=range(0, len(y), 4))


def warnings_of_scales(fit):
    """The messages about scales of all warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(each.message) for each in caught if "different scales" in str(each.message)]


@pytest.mark.parametrize("method", METHODS)
def test_raw_columns_are_pointed_at_once_by_name_with_the_line_to_write(wine, method):
    (message,) = warnings_of_scales(lambda: method().fit(*wine))
    assert "'proline' is 2,645 times that of 'nonflavanoid_phenols'" in message
    assert f"make_pipeline(StandardScaler(), {method.__name__}())" in message
    (of_array,) = warnings_of_scales(lambda: method().fit(wine[0].to_numpy(), wine[1]))
    assert "the range of column 12 is 2,645 times that of column 7, so" in of_array


def test_nothing_is_said_where_columns_are_scaled_or_taken_care_of(wine):
    X, y = wine
    positives = np.where(y == 1, 1, -1)
    K = rbf_kernel(X, gamma=1e-6)
    digits, digit = load_digits(return_X_y=True)
    for fit in (
        lambda: make_pipeline(StandardScaler(), SupervisedSVC()).fit(X, y),
        lambda: AutoSVC().fit(X, y),
        lambda: PositiveUnlabeledSVC(random_state=0).fit(X, positives),
        lambda: SupervisedSVC(kernel="precomputed").fit(K, y),
        lambda: SupervisedSVC(kernel=rbf_kernel).fit(X.to_numpy(), y),
        lambda: SupervisedSVC().fit(sparse.csr_matrix(X), y),
        lambda: SupervisedSVC().fit(digits, digit),
    ):
        assert not warnings_of_scales(fit)


def test_ranges_are_those_of_columns_that_vary():
    X = np.zeros((100, 4))
    assert very_different_ranges(X) is None
    X[:, 1] = np.linspace(0, 1, 100)
    X[:, 2] = np.linspace(5, 5 + 999, 100)
    assert very_different_ranges(X) is None
    X[:, 3] = np.linspace(-1000, 0, 100)
    assert very_different_ranges(X) == (1, 3, pytest.approx(1000))
    assert very_different_ranges(X[:49]) is None  # too few rows to tell
