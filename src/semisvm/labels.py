"""What "unlabeled" means: reading a target as classes, a code for each row, and -1 for no label.

    y        (n,)  the user's target: labels, with markers where a row has none
    classes  (k,)  the distinct labels, sorted, in the user's dtype
    codes    (n,)  intp; classes[codes[i]] is the label of row i, and codes[i] = -1 for none
    sign     (n,)  int8; +1 on one class, -1 on every other labeled row, 0 on unlabeled rows

No other file knows how "unlabeled" is written. A row is unlabeled when its value

* equals the marker `unlabeled`: -1 by default, as in scikit-learn;
* is missing (None, NaN, pandas' NA, a polars null) or the empty string, whatever the marker.

A target that can be read in two ways is refused, because a wrong guess would silently train on
another problem. pandas and polars are known by the methods of their Series, and never imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d

from semisvm.sklearn_private import num_samples, safe_indexing

__all__ = [
    "UNLABELED_CODE",
    "Labels",
    "ScoredOnLabels",
    "encode",
    "find_labeled",
    "is_missing_value",
]

UNLABELED_CODE = -1

# How a Series says which values are missing, and how it gives the others: pandas, then polars.
_MISSING_VALUE_METHODS = (("isna", "dropna"), ("is_null", "drop_nulls"))
# pandas' scalars for "missing" refuse `==`, so they are known by the name of their type.
_MISSING_SCALAR_TYPES = ("NAType", "NaTType")
# What astype(str) makes of missing values.
_MISSING_AS_TEXT = ("None", "nan", "NaN", "<NA>", "NaT")


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
        """The user's label for each code; a code of no class, -1 included, is refused."""
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
    """Read a target: numbers, booleans or text in a list, an array, a pandas or polars Series.

    unlabeled         the marker of rows without a label; None: only missing values and ""
    n_rows            how many rows X has, which y must match
    may_be_one_class  whether the labels may all be of one class, as of positives and unlabeled rows

    `Labels` stay as they are. A ValueError says what is wrong with a target, and what to do.
    """
    if isinstance(y, Labels):
        return y
    marker = _check_marker(unlabeled)
    distinct, place = _read(y, n_rows)
    is_label = _find_labels(distinct, marker)
    _refuse_converted_markers(distinct[is_label], marker)
    classes, code = np.unique(_settle_dtype(distinct[is_label]), return_inverse=True)
    code_of = np.full(len(distinct) + 1, UNLABELED_CODE, dtype=np.intp)  # the last: missing rows
    code_of[:-1][is_label] = code
    labels = Labels(classes, code_of[place])
    if labels.n_classes < (1 if may_be_one_class else 2):
        raise _too_few_classes(labels, marker, distinct[~is_label].tolist())
    return labels


def find_labeled(y: Any, *, unlabeled: Any = -1, n_rows: int | None = None) -> np.ndarray:
    """Which rows of a target carry a label, (n,), whatever the labels are; see `encode`."""
    distinct, place = _read(y, n_rows)
    return np.append(_find_labels(distinct, _check_marker(unlabeled)), False)[place]


def is_missing_value(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas has in their place."""
    is_nan = isinstance(value, Real) and value != value  # NaN alone differs from itself
    return value is None or type(value).__name__ in _MISSING_SCALAR_TYPES or is_nan


def _read(y: Any, n_rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of a target, and which of them each row has; -1: a Series has none."""
    if y is None:
        raise ValueError(
            "Semi-supervised learning requires y to be passed, but the target y is None. "
            "Mark the rows without a label by -1 instead of leaving y out."
        )
    if hasattr(y, "columns"):  # a data frame
        y = y[y.columns[0]] if y.shape[1] == 1 else np.asarray(y)
    for find_missing, drop_missing in _MISSING_VALUE_METHODS:
        if hasattr(y, find_missing) and hasattr(y, drop_missing):
            is_there = ~np.asarray(getattr(y, find_missing)(), dtype=bool)
            values = np.asarray(getattr(y, drop_missing)())
            break
    else:
        values = column_or_1d(_as_array(y), warn=True)
        is_there = np.ones(len(values), dtype=bool)
    if n_rows is not None and n_rows != len(is_there):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} in X and"
            f" {len(is_there)} in y."
        )
    place = np.full(len(is_there), -1)
    if values.dtype.kind not in "OU":
        distinct, place[is_there] = np.unique(values, return_inverse=True)
        return distinct, place
    # Hashing a million strings is many times faster than sorting them.
    objects = values.tolist()
    try:
        number_of = {value: number for number, value in enumerate(dict.fromkeys(objects))}
    except TypeError as error:
        raise ValueError(f"A label must be a string, a number or a boolean: {error}.") from error
    distinct = np.empty(len(number_of), dtype=values.dtype)
    distinct[:] = list(number_of)
    place[is_there] = [number_of[value] for value in objects]
    return distinct, place


def _as_array(y: Any) -> np.ndarray:
    values = np.asarray(y)
    is_mixed = isinstance(y, list | tuple) and not {type(value) for value in y} <= {str, np.str_}
    # NumPy reads ["spam", -1, nan] as strings; its variable-width strings may have missing values.
    as_objects = (values.dtype.kind == "U" and is_mixed) or values.dtype.kind == "T"
    return np.asarray(y, dtype=object) if as_objects else values


def _find_labels(distinct: np.ndarray, marker: Any) -> np.ndarray:
    """Which of the distinct values of a target are labels, a mask."""
    is_unlabeled = [
        is_missing_value(value) or value == "" or (marker is not None and value == marker)
        for value in distinct.tolist()
    ]
    return ~np.array(is_unlabeled, dtype=bool)


def _check_marker(unlabeled: Any) -> Any:
    """The marker as a plain Python value, or None where it is a missing value."""
    marker = unlabeled.item() if isinstance(unlabeled, np.generic) else unlabeled
    if is_missing_value(marker):
        return None
    if isinstance(marker, Real | str):
        return marker
    raise ValueError(
        f"unlabeled={unlabeled!r} can't mark a row: pass a number, a string, or None when only"
        " missing values do."
    )


def _settle_dtype(classes: np.ndarray) -> np.ndarray:
    """Let classes be all text or all numbers; Python numbers become a NumPy dtype."""
    if classes.dtype.kind == "O":
        names = classes.tolist()
        texts = [name for name in names if isinstance(name, str)]
        others = [name for name in names if not isinstance(name, str)]
        if texts and others:
            raise ValueError(
                f"y mixes strings and other labels, such as {texts[0]!r} and {others[0]!r}: there"
                " is no order to sort them in. Make every label a string, or every label a number."
            )
        if texts or not others:
            return classes
        if not all(isinstance(name, Real | np.bool_) for name in others):
            raise _unknown_type(type(others[0]).__name__)
        classes = np.array(others)
    if classes.dtype.kind not in "biufU":
        raise _unknown_type(f"dtype {classes.dtype}")
    if classes.dtype.kind == "f" and np.isinf(classes).any():
        raise ValueError(
            f"Input y contains infinity or a value too large for {classes.dtype!r}. "
            "Mark rows without a label by the marker `unlabeled` or by NaN."
        )
    if classes.dtype.kind == "f" and (classes % 1 != 0).any():
        raise _unknown_type("continuous")
    return classes


def _unknown_type(name: str) -> ValueError:
    return ValueError(
        f"Unknown label type: {name}. A label must be a string, a whole number or a boolean:"
        " number the classes, with -1 for rows without a label."
    )


def _refuse_converted_markers(classes: np.ndarray, marker: Any) -> None:
    """Refuse classes that look like markers after a conversion: 255 of uint8, the string "nan"."""
    if isinstance(marker, str):  # who marks by a string has told strings and markers apart
        return
    lost: Any = None
    if classes.dtype.kind == "u" and marker == -1 and np.iinfo(classes.dtype).max in classes:
        lost = int(np.iinfo(classes.dtype).max)
    elif classes.dtype.kind in "OU":
        as_text = (str(marker), str(float(marker))) if isinstance(marker, Real) else ()
        found = [text for text in classes.tolist() if isinstance(text, str)]
        lost = next((t for t in found if t in (*as_text, *_MISSING_AS_TEXT) or t.isspace()), None)
    if lost is not None:
        kind = "the string " if isinstance(lost, str) else f"{classes.dtype} "
        remedy = "''" if isinstance(lost, str) else "None"
        raise ValueError(
            f"y holds {kind}{lost!r}, which may be a marker of unlabeled rows that was converted:"
            f" mark the rows after the conversion, or pass unlabeled={lost!r} if it marks them,"
            f" unlabeled={remedy} if it is a class."
        )


def _too_few_classes(labels: Labels, marker: Any, markers: list[Any]) -> ValueError:
    n_unlabeled = len(labels.codes) - labels.n_labeled
    marked_by = "missing values" if marker is None else f"unlabeled={marker!r} or missing values"
    if labels.n_classes == 0:
        return ValueError(
            f"y has no labeled row: all {n_unlabeled} of its rows are marked by {marked_by}. "
            "Label at least one row of each class."
        )
    if marker == -1 and -1 in markers and labels.classes.tolist() == [1]:
        return ValueError(
            "y holds only -1 and +1, and -1 marks unlabeled rows, which leaves one class. If -1 is"
            " a class, recode y to {0, 1}, or pass unlabeled=0 if 0 marks unlabeled rows,"
            " unlabeled=None if no row is unlabeled. If it marks unlabeled rows,"
            " PositiveUnlabeledSVC learns from positives alone."
        )
    more = ", or use PositiveUnlabeledSVC: it learns from one class and unlabeled rows"
    return ValueError(
        f"y has labeled rows of only one class, {labels.classes.tolist()[0]!r} ({labels.n_labeled}"
        f" with a label, {n_unlabeled} unlabeled by {marked_by}). Label at least one row of"
        f" another class{more if n_unlabeled else ''}."
    )


class ScoredOnLabels(ClassifierMixin):
    """A classifier whose accuracy is that on the labeled rows."""

    unlabeled: Any

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the labeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, as in `predict`.
        y : array-like of shape (n_samples,)
            The true labels; rows without one are left out.
        sample_weight : array-like of shape (n_samples,), default=None
            One weight per row.

        Returns
        -------
        score : float
            The accuracy on the labeled rows.
        """
        labeled = np.flatnonzero(find_labeled(y, unlabeled=self.unlabeled, n_rows=num_samples(X)))
        if len(labeled) == 0:
            raise ValueError("score needs rows with a label, and y has none.")
        weight = None if sample_weight is None else np.asarray(sample_weight)[labeled]
        return super().score(safe_indexing(X, labeled), safe_indexing(y, labeled), weight)
