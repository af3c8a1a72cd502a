"""What a target says: its classes, a code for each row, and which rows carry no label.

    y        (n,)  the user's target: labels, with markers where a row has none
    classes  (k,)  the distinct labels in the user's dtype: sorted, or in the order of a pandas
             Categorical's categories
    codes    (n,)  intp; classes[codes[i]] is the label of row i, and codes[i] = -1 where there is
             none
    sign     (n,)  int8; +1 on the positive class, -1 on every other labeled row, 0 on unlabeled
             rows

No other file knows how "unlabeled" is written. A row is unlabeled when its value

* equals the marker `unlabeled`: -1 by default, as in scikit-learn; 0 in SVMlight's files;
* is missing (None, NaN, pandas' NA, a polars null), whatever the marker;
* is the empty string, whatever the marker.

The last two could never be classes. What could be read in two ways is refused, with a sentence that
says how to mend it: a wrong guess here would train without complaint on the wrong problem.

pandas and polars are recognized by the methods their Series have, and never imported.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from semisvm.sklearn_private import targets_of_callers

__all__ = ["UNLABELED_CODE", "Labels", "encode", "find_labeled", "refuse_marker_as_class"]

UNLABELED_CODE = -1

# How a Series says which of its values are missing, and how it gives the others: pandas, then
# polars.
_MISSING_VALUE_METHODS = (("isna", "dropna"), ("is_null", "drop_nulls"))
# pandas' scalars for "missing": they refuse `==`, so they are known by the name of their type.
_MISSING_SCALAR_TYPES = frozenset({"NAType", "NaTType"})


@dataclass(frozen=True, eq=False)
class Labels:
    """A target as classes and codes; see the module's docstring for both."""

    classes: np.ndarray
    codes: np.ndarray

    @property
    def is_labeled(self) -> np.ndarray:
        """(n,) boolean: does this row carry a label?"""
        return self.codes != UNLABELED_CODE

    @property
    def n_labeled(self) -> int:
        return int(np.count_nonzero(self.is_labeled))

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_of_class(self) -> np.ndarray:
        """(k,) how many rows carry each label."""
        return np.bincount(self.codes[self.is_labeled], minlength=self.n_classes)

    @property
    def rarest(self) -> tuple[Any, int]:
        """The class with the fewest labels, and how many these are."""
        at = int(np.argmin(self.n_of_class))
        return self.classes.tolist()[at], int(self.n_of_class[at])

    def sign(self, positive: int) -> np.ndarray:
        """One class against the rest: +1, -1 for any other label, 0 for none."""
        if not 0 <= positive < self.n_classes:
            raise ValueError(
                f"positive={positive} must be a class index, from 0 to {self.n_classes - 1}."
            )
        sign = np.where(self.codes == positive, np.int8(1), np.int8(-1))
        sign[~self.is_labeled] = 0
        return sign

    def take(self, rows: np.ndarray) -> Labels:
        """The labels of these rows."""
        return Labels(self.classes, self.codes[rows])

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Give the user's label for each code; a code of no class, -1 included, is refused."""
        codes = np.asarray(codes)
        # classes[-1] is a valid index and the wrong label: NumPy would not complain.
        if codes.size and not (codes.min() >= 0 and codes.max() < self.n_classes):
            raise ValueError(
                f"decode needs codes from 0 to {self.n_classes - 1}, got codes from {codes.min()}"
                f" to {codes.max()}: every row must have been given a class first."
            )
        return self.classes[codes]


def encode(
    y: Any, *, unlabeled: Any = -1, n_rows: int | None = None, may_be_one_class: bool = False
) -> Labels:
    """Read a target: numbers, booleans or text in a list, an array, a pandas or polars Series;
    or `Labels`, which stay as they are.

    unlabeled         the marker of rows without a label; None: only missing values and ""
    n_rows            how many rows X has, where y must match it
    may_be_one_class  whether the labels may all be of one class: of positives and unlabeled rows

    Raises ValueError where y has no single meaning as the target of a classifier, or where a tool
    of scikit-learn that calls takes the marker for a class; the message says how to mend it.
    """
    refuse_marker_as_class(unlabeled)
    if isinstance(y, Labels):
        return y
    marker = _check_marker(unlabeled)
    is_labeled, values = _read(y)
    _check_length(is_labeled.size, n_rows)
    is_marked = _find_unlabeled(values, marker)
    labels = _settle_dtype(values[~is_marked])
    is_labeled[is_labeled] = ~is_marked

    classes, codes_of_labeled = _index_classes(labels, _categories(y))
    is_one_alone = not may_be_one_class and classes.tolist() == [1] and marker == -1
    if is_one_alone and any(
        not _is_missing(value) and value == -1 for value in values[is_marked].tolist()
    ):
        raise ValueError(
            "y holds only -1 and +1, and -1 marks unlabeled rows (unlabeled=-1), which leaves one"
            " class. If -1 is a class, recode y to {0, 1}, with -1 for unlabeled rows; or pass"
            " unlabeled=0 if 0 marks the unlabeled rows, or unlabeled=None if no row is unlabeled."
            " PositiveUnlabeledSVC learns from +1 as the positives and -1 as unlabeled rows."
        )
    n_unlabeled = is_labeled.size - len(labels)
    fewest = 1 if may_be_one_class else 2
    _check_classes(classes, codes_of_labeled, marker=marker, n_unlabeled=n_unlabeled, fewest=fewest)
    codes = np.full(is_labeled.size, UNLABELED_CODE, dtype=np.intp)
    codes[is_labeled] = codes_of_labeled
    return Labels(classes, codes)


_LABELED_ALONE = "give it the labeled rows alone"
_FROZEN = (
    "fit the model first, and give the tool sklearn.frozen.FrozenEstimator(model) and labeled rows"
)
_ITSELF = "semisvm's estimators take several classes themselves; see multi_class"
# What to write in place of a tool that takes the marker for a class.
_INSTEAD = {
    "scoring": "pass scoring=semisvm.metrics.make_labeled_scorer(...), or cv=SemiSupervisedKFold()",
    "CalibratedClassifierCV": "use semisvm.SemiSupervisedCalibratedClassifierCV",
    "cross_val_predict": "use semisvm.model_selection.cross_fit_scores",
    "VotingClassifier": _FROZEN,
    "StackingClassifier": f"{_FROZEN}, with cv='prefit'",
    "OneVsRestClassifier": _ITSELF,
    "OneVsOneClassifier": _ITSELF,
    "OutputCodeClassifier": _ITSELF,
}


def refuse_marker_as_class(unlabeled: Any) -> None:
    """Raise ValueError where a tool of scikit-learn that calls takes the marker for a class."""
    marker = _check_marker(unlabeled)
    for tool, values in targets_of_callers():
        is_target = np.ndim(values) == 1 and len(values) > 0
        if is_target and not find_labeled(values, unlabeled=marker).all():
            raise ValueError(
                f"{tool} counts the marker of unlabeled rows"
                f"{'' if marker is None else f', {marker!r},'} as a class, and its result would be"
                f" wrong: {_INSTEAD.get(tool, _LABELED_ALONE)}. docs/scikit-learn.md has a table of"
                " tools."
            )


def find_labeled(y: Any, *, unlabeled: Any = -1, n_rows: int | None = None) -> np.ndarray:
    """Which rows of a target carry a label, (n,), whatever the labels are; see `encode`."""
    marker = _check_marker(unlabeled)
    is_labeled, values = _read(y)
    _check_length(is_labeled.size, n_rows)
    is_labeled[is_labeled] = ~_find_unlabeled(values, marker)
    return is_labeled


def _check_length(n_labels: int, n_rows: int | None) -> None:
    if n_rows is not None and n_rows != n_labels:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} in X and"
            f" {n_labels} in y."
        )


def _read(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Give which rows hold a value, and those values as a 1-D array (not yet free of markers)."""
    if y is None:
        raise ValueError(
            "Semi-supervised learning requires y to be passed, but the target y is None. "
            "Mark the rows without a label by -1 instead of leaving y out."
        )
    if hasattr(y, "columns"):  # a data frame
        _check_is_column(y.shape)
        y = y[y.columns[0]]
    for find_missing, drop_missing in _MISSING_VALUE_METHODS:
        if hasattr(y, find_missing) and hasattr(y, drop_missing):
            is_missing = np.asarray(getattr(y, find_missing)(), dtype=bool)
            return ~is_missing, np.asarray(getattr(y, drop_missing)())
    values = _as_array(y)
    if values.ndim != 1:
        _check_is_column(values.shape)
        values = values.ravel()
    return np.ones(values.size, dtype=bool), values


def _as_array(y: Any) -> np.ndarray:
    """Convert a NumPy array, anything with `__array__`, or a sequence."""
    values = np.asarray(y)
    # NumPy reads ["spam", -1, nan] as the three strings "spam", "-1" and "nan".
    if (
        values.dtype.kind == "U"
        and isinstance(y, list | tuple)
        and not set(map(type, y)) <= {str, np.str_}
    ):
        return np.asarray(y, dtype=object)
    if values.dtype.kind == "T":  # NumPy's variable-width strings, which may hold a missing value
        return values.astype(object)
    return values


def _check_is_column(shape: tuple[int, ...]) -> None:
    """Let a column vector pass with scikit-learn's warning, and no other shape."""
    if len(shape) != 2 or shape[1] != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {shape} instead. Pass one label for"
            " each row."
        )
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to"
        " (n_samples, ), for example using ravel().",
        DataConversionWarning,
        stacklevel=4,  # whoever called encode
    )


def _check_marker(unlabeled: Any) -> Any:
    """Give the marker as a plain Python value, or None where it is a missing value."""
    marker = unlabeled.item() if isinstance(unlabeled, np.generic) else unlabeled
    if _is_missing(marker):
        return None
    if isinstance(marker, Real | str):
        return marker
    raise ValueError(
        f"unlabeled={unlabeled!r} can't mark a row: pass a number, a string, or None when only"
        " missing values do."
    )


def _is_missing(value: Any) -> bool:
    is_nan = isinstance(value, Real) and value != value  # NaN alone differs from itself
    return value is None or type(value).__name__ in _MISSING_SCALAR_TYPES or is_nan


def _find_unlabeled(values: np.ndarray, marker: Any) -> np.ndarray:
    """Tell which values say "no label"."""
    kind = values.dtype.kind
    if kind == "O":
        return _find_unlabeled_objects(values, marker)
    is_unlabeled = np.zeros(values.size, dtype=bool)
    if kind == "f":
        is_unlabeled |= np.isnan(values)
    if kind in "biuf" and isinstance(marker, Real):
        is_unlabeled |= values == marker
    if kind == "U":
        is_unlabeled |= values == ""
        if isinstance(marker, str):
            is_unlabeled |= values == marker
    return is_unlabeled


def _find_unlabeled_objects(values: np.ndarray, marker: Any) -> np.ndarray:
    """The same of objects, asking once for each distinct one."""
    objects = values.tolist()
    try:
        distinct = set(objects)
    except TypeError as error:
        raise ValueError(f"A label must be a string, a number or a boolean: {error}.") from error
    means_unlabeled = {
        value: _is_missing(value) or value == "" or (marker is not None and value == marker)
        for value in distinct
    }
    return np.fromiter(map(means_unlabeled.__getitem__, objects), dtype=bool, count=len(objects))


def _settle_dtype(labels: np.ndarray) -> np.ndarray:
    """Let labels be all text or all numbers; Python numbers become a NumPy dtype."""
    if labels.dtype.kind == "O" and labels.size:
        types = set(map(type, labels.tolist()))
        is_text = [issubclass(t, str) for t in types]
        if all(is_text):
            return labels
        if any(is_text):
            examples = {isinstance(label, str): label for label in labels.tolist()}
            raise ValueError(
                f"y mixes strings and other labels, such as {examples[True]!r} and"
                f" {examples[False]!r}: there is no order to sort them in. Make every label a"
                " string, or every label a number."
            )
        if all(issubclass(t, Real | np.bool_) for t in types):
            labels = np.array(labels.tolist())
    if labels.size and labels.dtype.kind not in "biufU":
        found = (
            type(labels.tolist()[0]).__name__
            if labels.dtype.kind == "O"
            else f"dtype {labels.dtype}"
        )
        raise ValueError(
            f"Unknown label type: {found}. A label must be a string, a number or a boolean: "
            "convert y first, for example with y.astype(str)."
        )
    return labels


def _categories(y: Any) -> list[Any] | None:
    """Give the categories of a pandas Categorical in their order; None for other targets."""
    categories = getattr(getattr(y, "dtype", None), "categories", None)
    return None if categories is None or not hasattr(y, "isna") else categories.tolist()


def _index_classes(
    labels: np.ndarray, categories: list[Any] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Give the distinct labels, sorted or in the order of the categories, and their codes."""
    if categories is not None or labels.dtype.kind in "OU":
        # Hashing a million strings is many times faster than sorting them.
        texts = labels.tolist()
        distinct = set(texts)
        ordered = (
            sorted(distinct)
            if categories is None
            else [one for one in categories if one in distinct]
        )
        code_of = {text: code for code, text in enumerate(ordered)}
        codes = np.fromiter(map(code_of.__getitem__, texts), dtype=np.intp, count=len(texts))
        return np.array(list(code_of), dtype=labels.dtype), codes
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError(
            f"Input y contains infinity or a value too large for {labels.dtype!r}. "
            "Mark rows without a label by the marker `unlabeled` or by NaN."
        )
    if labels.dtype.kind == "f" and labels.size:
        # Refuses 0.5: a classifier can't fit a continuous target.
        check_classification_targets(labels)
    classes = np.unique(labels)
    return classes, np.searchsorted(classes, labels).astype(np.intp, copy=False)


def _check_classes(
    classes: np.ndarray, codes: np.ndarray, *, marker: Any, n_unlabeled: int, fewest: int
) -> None:
    """Refuse a target that no classifier can learn from, or that can be read in two ways."""
    marked_by = "missing values" if marker is None else f"unlabeled={marker!r} or missing values"
    if len(classes) == 0:
        raise ValueError(
            f"y has no labeled row: all {n_unlabeled} of its rows are marked by {marked_by}. "
            "Label at least one row of each class."
        )
    if classes.dtype.kind in "OU":
        _check_no_class_reads_as_marker(classes, marker)
    if len(classes) < fewest:
        remedy = (
            ", or use PositiveUnlabeledSVC: it learns from one class and unlabeled rows"
            if n_unlabeled
            else ""
        )
        raise ValueError(
            f"y has labeled rows of only one class, {classes.tolist()[0]!r} ({len(codes)} with a"
            f" label, {n_unlabeled} unlabeled by {marked_by}). Label at least one row of another"
            f" class{remedy}."
        )
    # All that scikit-learn could say of codes is that they are too many; floats were checked before
    # they were sorted.
    if classes.dtype.kind != "f" and 2 * len(classes) > len(codes):
        check_classification_targets(codes)


def _check_no_class_reads_as_marker(classes: np.ndarray, marker: Any) -> None:
    """Refuse classes such as "-1" and "nan", which NumPy makes of markers among strings."""
    if isinstance(marker, str):  # a user who marks by a string has told strings and markers apart
        return
    marker_as_text = (str(marker), str(float(marker))) if isinstance(marker, Real) else ()
    for text in (*marker_as_text, "nan", "<NA>", *filter(str.isspace, classes.tolist())):
        if text in classes:
            raise ValueError(
                f"y holds the string {text!r}, which may be a marker turned into text. Pass "
                f"unlabeled={text!r} if it marks unlabeled rows, or unlabeled='' if it is a class."
            )
