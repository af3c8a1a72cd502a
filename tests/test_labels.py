"""A target is read as its user meant it, or refused with a sentence that says how to mend it."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.neighbors import NearestCentroid
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted, validate_data

from semisvm.labels import encode, find_labeled

NAN = float("nan")
# Targets of two classes and one unlabeled row, the second, in every guise they come in.
TWO_CLASSES_AND_A_GAP = {
    "list of ints": ([0, -1, 1], [0, 1]),
    "list with None": ([0, None, 1], [0, 1]),
    "list with NaN": ([0, NAN, 1], [0.0, 1.0]),
    "list of strings": (["ham", "", "spam"], ["ham", "spam"]),
    "list of strings with None": (["ham", None, "spam"], ["ham", "spam"]),
    "list of strings with NaN": (["ham", NAN, "spam"], ["ham", "spam"]),
    "list of strings with -1": (["ham", -1, "spam"], ["ham", "spam"]),
    "list of booleans with None": ([False, None, True], [False, True]),
    "int8": (np.array([0, -1, 1], dtype=np.int8), [0, 1]),
    "float with -1": (np.array([0.0, -1.0, 1.0]), [0.0, 1.0]),
    "float with NaN": (np.array([0.0, np.nan, 1.0]), [0.0, 1.0]),
    "object ints": (np.array([0, -1, 1], dtype=object), [0, 1]),
    "str array": (np.array(["ham", "", "spam"]), ["ham", "spam"]),
    "object array with NA": (np.array(["ham", pd.NA, "spam"], dtype=object), ["ham", "spam"]),
    "pandas int": (pd.Series([0, -1, 1], index=[7, 7, 9]), [0, 1]),
    "pandas Int64": (pd.Series([0, None, 1], dtype="Int64"), [0, 1]),
    "pandas boolean": (pd.Series([False, None, True], dtype="boolean"), [False, True]),
    "pandas str": (pd.Series(["ham", None, "spam"]), ["ham", "spam"]),
    "pandas string": (pd.Series(["ham", None, "spam"], dtype="string"), ["ham", "spam"]),
    "pandas category": (pd.Series(["ham", None, "spam"], dtype="category"), ["ham", "spam"]),
    "pandas category of ints": (pd.Series([0, -1, 1], dtype="category"), [0, 1]),
    "another order": (
        pd.Categorical(["ham", None, "spam"], categories=["spam", "unused", "ham"]),
        ["ham", "spam"],
    ),
    "pandas object": (pd.Series([False, -1, True], dtype=object), [False, True]),
    "pandas frame": (pd.DataFrame({"y": [0, None, 1]}, dtype="Int64"), [0, 1]),
    "polars int": (pl.Series([0, -1, 1]), [0, 1]),
    "polars int with null": (pl.Series([0, None, 1]), [0, 1]),
    "polars float with NaN": (pl.Series([0.0, NAN, 1.0]), [0.0, 1.0]),
    "polars bool": (pl.Series([False, None, True]), [False, True]),
    "polars string": (pl.Series(["ham", None, "spam"]), ["ham", "spam"]),
    "polars Categorical": (pl.Series(["ham", None, "spam"], dtype=pl.Categorical), ["ham", "spam"]),
    "polars frame": (pl.DataFrame({"y": [0, None, 1]}), [0, 1]),
}
if hasattr(np.dtypes, "StringDType"):  # from NumPy 2 on
    texts = np.array(["ham", "", "spam"], dtype=np.dtypes.StringDType())
    TWO_CLASSES_AND_A_GAP["StringDType"] = (texts, ["ham", "spam"])


@pytest.mark.parametrize(
    ("y", "classes"), TWO_CLASSES_AND_A_GAP.values(), ids=TWO_CLASSES_AND_A_GAP.keys()
)
def test_the_default_marker_reads_every_container_alike(y, classes):
    labels = encode(y)
    assert labels.codes.tolist() == [0, -1, 1]
    assert labels.codes.dtype == np.intp
    assert labels.classes.tolist() == classes
    assert [type(c) for c in labels.classes.tolist()] == [type(c) for c in classes]
    assert find_labeled(y).tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, bool, "U4", object])
def test_classes_keep_the_dtype_of_the_array(dtype):
    y = np.array([0, 1, 1]).astype(dtype)
    y = np.array(["b", "a"], dtype=object) if dtype is object else y
    assert encode(y).classes.dtype == y.dtype
    assert encode(y).classes.tolist() == sorted(set(y.tolist()))


@pytest.mark.parametrize(
    ("y", "marker", "codes"),
    [
        ([-1, 0, 1], 0, [0, -1, 1]),  # SVMlight
        ([-1, 0, 1], np.int64(0), [0, -1, 1]),
        ([-1.0, 0.0, 1.0], 0, [0, -1, 1]),
        ([-1, 1, 1], None, [0, 1, 1]),
        ([-1, 99, 1], 99, [0, -1, 1]),
        (np.array([0, 255, 1], dtype=np.uint8), 255, [0, -1, 1]),
        (np.array([0, 255, 1], dtype=np.uint8), None, [0, 2, 1]),
        ([-1.0, np.nan, 1.0], np.nan, [0, -1, 1]),
        ([-1.0, np.nan, 1.0], pd.NA, [0, -1, 1]),
        (["a", "?", "b"], "?", [0, -1, 1]),
        (["None", "a", "b"], "None", [-1, 0, 1]),
        (["None", "a", ""], "", [0, 1, -1]),
        (["a", "b", None], "", [0, 1, -1]),
        ([2, 1, 0], "unknown", [2, 1, 0]),
    ],
)
def test_any_other_marker_may_be_chosen(y, marker, codes):
    assert encode(y, unlabeled=marker).codes.tolist() == codes


@pytest.mark.parametrize("marker", [-1, 0.5, "?", "", None])
def test_missing_values_are_unlabeled_whatever_the_marker(marker):
    missing = [None, NAN, np.float64("nan"), pd.NA, pd.NaT, ""]
    y = np.array(["a", "b", *missing], dtype=object)
    assert encode(y, unlabeled=marker).codes.tolist() == [0, 1, *[-1] * 6]


CONVERTED = "may be a marker of unlabeled rows that was converted: mark the rows after"


@pytest.mark.parametrize(
    ("y", "marker", "message"),
    [
        (None, -1, "requires y to be passed, but the target y is None"),
        ([-1, -1], -1, "no labeled row: all 2 of its rows are marked by unlabeled=-1"),
        ([np.nan, np.nan], None, "no labeled row: all 2 of its rows are marked by missing values"),
        ([], -1, "no labeled row"),
        ([1, 1, 1], -1, "only one class, 1 "),
        ([1, np.nan, 1], -1, "only one class, 1.0 "),
        (["spam", "", "spam"], -1, r"only one class, 'spam' \(2 with a label, 1 unlabeled"),
        ([True, False], 0, "only one class, True"),
        ([-1, 1, 1], -1, r"recode y to \{0, 1\}.*unlabeled=0 if.*unlabeled=None if"),
        ([-1.0, 1.0], -1, r"recode y to \{0, 1\}.*unlabeled=0 if.*unlabeled=None if"),
        ([0.1, 0.7, 0.3], -1, "Unknown label type: continuous"),
        ([0.5, None, 1], -1, "Unknown label type: continuous"),
        ([0, 1, np.inf], -1, "Input y contains infinity"),
        ([1j, 2j], -1, "Complex data not supported"),
        ([b"a", b"b"], -1, "Unknown label type: dtype"),
        (pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])), -1, "dtype datetime64"),
        ([["a"], ["b", "c"]], -1, "inhomogeneous"),
        (np.array([(1,), (2,), None, "a"], dtype=object), -1, "y mixes strings and other labels"),
        (np.array([(1,), (2,), None], dtype=object), -1, "Unknown label type: tuple"),
        (pd.Series([[1], [2]]), -1, "must be a string, a number or a boolean: unhashable"),
        (["ham", 1, "spam"], -1, "y mixes strings and other labels, such as 'ham' and 1"),
        (np.array([0, -1, 1]).astype(np.uint8), -1, f"uint8 255, which {CONVERTED}.*unlabeled=255"),
        (np.array([0, -1, 1]).astype(np.uint16), -1, f"uint16 65535, which {CONVERTED}"),
        (np.array([0, -1]).astype(str), -1, f"the string '-1', which {CONVERTED}.*unlabeled='-1'"),
        (np.array(["ham", None]).astype(str), -1, f"the string 'None', which {CONVERTED}"),
        (np.array(["ham", None], dtype=object).astype(str), None, "the string 'None'"),
        (np.array(["ham", np.nan]), None, "the string 'nan'"),
        (pd.Series(["ham", pd.NA, "spam"]).astype(object).map(str), -1, "'(<NA>|nan)'"),
        (np.array(["ham", "0.0"]), 0, "the string '0.0'"),
        (["ham", " ", "spam"], -1, "string ' ', which may be.*unlabeled=' ' if.*unlabeled='' if"),
        ([[0, 1], [1, 0]], -1, r"y should be a 1d array, got an array of shape \(2, 2\)"),
        (pd.DataFrame({"a": [0, 1], "b": [1, 0]}), -1, r"y should be a 1d array, got .* \(2, 2\)"),
        ("spam", -1, r"y should be a 1d array, got an array of shape \(\)"),
        ([0, 1], [-1], r"unlabeled=\[-1\] can't mark a row"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_with_a_reason(y, marker, message):
    with pytest.raises(ValueError, match=message):
        encode(y, unlabeled=marker)


def test_one_class_may_be_allowed():
    labels = encode([1, -1, 1], may_be_one_class=True)
    assert (labels.classes.tolist(), labels.codes.tolist()) == ([1], [0, -1, 0])


def test_the_length_must_be_that_of_X():
    assert encode([0, 1, -1], n_rows=3).codes.size == 3
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: 4 in X and 3 in y\."):
        encode([0, 1, -1], n_rows=4)


@pytest.mark.parametrize("column", [np.array([[0], [-1], [1]]), [["ham"], [-1], ["spam"]]])
def test_a_column_vector_is_read_with_scikit_learns_warning(column):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        assert encode(column).codes.tolist() == [0, -1, 1]


def test_reading_changes_nothing_and_labels_stay_as_they_are():
    y = np.array([0.0, np.nan, -1.0, 1.0])
    y.setflags(write=False)
    labels = encode(y)
    assert labels.codes.tolist() == [0, -1, -1, 1]
    assert encode(labels) is labels
    with pytest.raises(AttributeError):
        labels.codes = np.array([1, 0])


def test_a_code_of_no_class_is_refused_rather_than_given_the_last_class():
    labels = encode([0, -1, 1])
    assert labels.decode([1, 0, 1]).tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="every row must have been given a class"):
        labels.decode(labels.codes)
    with pytest.raises(ValueError, match="from 0 to 1"):
        labels.sign(2)


codes_with_two_classes = arrays(np.int64, st.integers(0, 30), elements=st.integers(-1, 3)).map(
    lambda y: np.concatenate([y, [0, 2]])
)
names = np.array(["", "ant", "bee", "cat", "dog"])


@given(codes_with_two_classes, st.randoms(use_true_random=False))
def test_properties(y, random):
    order = list(range(len(y)))
    random.shuffle(order)
    expected = encode(y)
    for target in (y, names[y + 1], names[y + 1].astype(object), pd.Series(names[y + 1])):
        target = np.asarray(target)
        labels = encode(target)
        np.testing.assert_array_equal(labels.classes, np.unique(target[y != -1]))
        np.testing.assert_array_equal(labels.codes, expected.codes)  # names sort as numbers do
        np.testing.assert_array_equal(
            labels.decode(labels.codes[labels.is_labeled]), target[labels.is_labeled]
        )
        np.testing.assert_array_equal(encode(target[order]).codes, labels.codes[order])
        signs = np.array([labels.sign(k) for k in range(labels.n_classes)])
        np.testing.assert_array_equal((signs == 1).sum(axis=0), labels.is_labeled)
        np.testing.assert_array_equal((signs == 0).all(axis=0), y == -1)
        assert labels.n_of_class.tolist() == [(labels.codes == k).sum() for k in range(len(signs))]
        assert labels.n_labeled == labels.n_of_class.sum()
        assert labels.rarest[1] == labels.n_of_class.min()


def test_a_target_is_read_where_pandas_and_polars_are_not_installed():
    code = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars"):
            raise ImportError(name)

sys.meta_path.insert(0, NotInstalled())
from semisvm.labels import encode
print(encode(["ham", None, "spam"]).codes.tolist())
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[0, -1, 1]"


class CentroidClassifier(ClassifierMixin, BaseEstimator):
    """The least estimator that reads its target by `encode`: what it fails, `encode` fails."""

    def fit(self, X, y):
        X = validate_data(self, X)
        labels = encode(y, n_rows=len(X))
        self.classes_ = labels.classes
        known = labels.is_labeled
        self.centroids_ = NearestCentroid().fit(X[known], labels.codes[known])
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.classes_[self.centroids_.predict(validate_data(self, X, reset=False))]


@pytest.mark.filterwarnings("default")  # scikit-learn's checks provoke warnings of their own
def test_scikit_learns_checks_pass_but_the_one_on_classes_minus_and_plus_one():
    results = check_estimator(CentroidClassifier(), on_fail=None, on_skip=None)
    failed = {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "failed"}
    assert set(failed) == {"check_classifiers_classes"}
    assert "y holds only -1 and +1" in failed["check_classifiers_classes"]
