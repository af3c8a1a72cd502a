"""Reading a target: its classes, a code for each row, and which rows have no label.

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

The last two could never be classes. An ambiguous target is rejected, with a message that says how
to fix it: a wrong guess here would silently train on the wrong problem.

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

__all__ = [
    "UNLABELED_CODE",
    "Labels",
    "encode",
    "find_labeled",
    "is_missing_value",
    "refuse_marker_as_class",
]

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
    of scikit-learn that calls takes the marker for a class; the message says how to fix it.
    """
    refuse_marker_as_class(unlabeled)
    if isinstance(y, Labels):
        return y
    marker = _check_marker(unlabeled)
    distinct, place = _read(y, n_rows)
    is_label = _find_labels(distinct, marker)
    classes, code = np.unique(_settle_dtype(distinct[is_label]), return_inverse=True)
    if (categories := _categories(y)) is not None:
        order = sorted(range(len(classes)), key=lambda k: categories.index(classes[k]))
        classes = classes[order]
        code = np.argsort(order)[code]
    code_of = np.full(len(distinct) + 1, UNLABELED_CODE, dtype=np.intp)  # the last: missing rows
    code_of[:-1][is_label] = code
    labels = Labels(classes, code_of[place])
    is_one_alone = not may_be_one_class and classes.tolist() == [1] and marker == -1
    markers = [value for value in distinct[~is_label].tolist() if not is_missing_value(value)]
    if is_one_alone and -1 in markers:
        raise ValueError(
            "y holds only -1 and +1, and -1 marks unlabeled rows (unlabeled=-1), which leaves one"
            " class. If -1 is a class, recode y to {0, 1}, with -1 for unlabeled rows; or pass"
            " unlabeled=0 if 0 marks the unlabeled rows, or unlabeled=None if no row is unlabeled."
            " PositiveUnlabeledSVC learns from +1 as the positives and -1 as unlabeled rows."
        )
    _check_classes(labels, marker=marker, fewest=1 if may_be_one_class else 2)
    return labels


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
    distinct, place = _read(y, n_rows)
    return np.append(_find_labels(distinct, _check_marker(unlabeled)), False)[place]


def _read(y: Any, n_rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of a target, and which of them each row has; -1 for missing cells of a
    Series.
    """
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
            is_there = ~np.asarray(getattr(y, find_missing)(), dtype=bool)
            values = np.asarray(getattr(y, drop_missing)())
            break
    else:
        values = _as_array(y)
        if values.ndim != 1:
            _check_is_column(values.shape)
            values = values.ravel()
        is_there = np.ones(len(values), dtype=bool)
    if n_rows is not None and n_rows != len(is_there):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} in X and"
            f" {len(is_there)} in y."
        )
    place = np.full(len(is_there), -1)
    distinct, place[is_there] = _list_distinct(values)
    return distinct, place


def _list_distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, and which of them each one is."""
    if values.dtype.kind not in "OU":
        distinct = np.unique(values)
        return distinct, np.searchsorted(distinct, values)
    # Hashing a million strings is many times faster than sorting them.
    objects = values.tolist()
    try:
        number_of = {value: number for number, value in enumerate(dict.fromkeys(objects))}
    except TypeError as error:
        raise ValueError(f"A label must be a string, a number or a boolean: {error}.") from error
    distinct = np.empty(len(number_of), dtype=values.dtype)
    distinct[:] = list(number_of)
    place = np.fromiter(map(number_of.__getitem__, objects), dtype=np.intp, count=len(objects))
    return distinct, place


def _find_labels(distinct: np.ndarray, marker: Any) -> np.ndarray:
    """Which of the distinct values of a target are labels, a mask."""
    is_unlabeled = [
        is_missing_value(value) or value == "" or (marker is not None and value == marker)
        for value in distinct.tolist()
    ]
    return ~np.array(is_unlabeled, dtype=bool)


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
    if is_missing_value(marker):
        return None
    if isinstance(marker, Real | str):
        return marker
    raise ValueError(
        f"unlabeled={unlabeled!r} can't mark a row: pass a number, a string, or None when only"
        " missing values do."
    )


def is_missing_value(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas has in their place."""
    is_nan = isinstance(value, Real) and value != value  # NaN alone differs from itself
    return value is None or type(value).__name__ in _MISSING_SCALAR_TYPES or is_nan


def _settle_dtype(classes: np.ndarray) -> np.ndarray:
    """Let classes be all text or all numbers; Python numbers become a NumPy dtype."""
    if classes.dtype.kind == "O" and classes.size:
        names = classes.tolist()
        is_text = [isinstance(name, str) for name in names]
        if all(is_text):
            return classes
        if any(is_text):
            raise ValueError(
                f"y mixes strings and other labels, such as {names[is_text.index(True)]!r} and"
                f" {names[is_text.index(False)]!r}: there is no order to sort them in. Make every"
                " label a string, or every label a number."
            )
        if not all(isinstance(name, Real | np.bool_) for name in names):
            raise ValueError(_UNKNOWN_TYPE.format(type(names[0]).__name__))
        classes = np.array(names)
    if classes.size and classes.dtype.kind not in "biufU":
        raise ValueError(_UNKNOWN_TYPE.format(f"dtype {classes.dtype}"))
    if classes.dtype.kind == "f" and np.isinf(classes).any():
        raise ValueError(
            f"Input y contains infinity or a value too large for {classes.dtype!r}. "
            "Mark rows without a label by the marker `unlabeled` or by NaN."
        )
    if classes.dtype.kind == "f" and (classes % 1 != 0).any():
        check_classification_targets(classes[:2])  # which refuses a continuous target
    return classes


_UNKNOWN_TYPE = (
    "Unknown label type: {}. A label must be a string, a number or a boolean: convert y first, for"
    " example with y.astype(str)."
)


def _categories(y: Any) -> list[Any] | None:
    """Give the categories of a pandas Categorical in their order; None for other targets."""
    categories = getattr(getattr(y, "dtype", None), "categories", None)
    return None if categories is None or not hasattr(y, "isna") else categories.tolist()


def _check_classes(labels: Labels, *, marker: Any, fewest: int) -> None:
    """Refuse a target that no classifier can learn from, or that can be read in two ways."""
    classes = labels.classes
    n_unlabeled = len(labels.codes) - labels.n_labeled
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
            f"y has labeled rows of only one class, {classes.tolist()[0]!r} ({labels.n_labeled}"
            f" with a label, {n_unlabeled} unlabeled by {marked_by}). Label at least one row of"
            f" another class{remedy}."
        )
    if 2 * len(classes) > labels.n_labeled:  # scikit-learn warns of so many classes
        check_classification_targets(labels.codes[labels.is_labeled])


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
