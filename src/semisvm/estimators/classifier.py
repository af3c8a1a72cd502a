"""What all classifiers here share: checks of the input, and labels from scores.

Kernels are made of sums of squares. Squares of float32 numbers leave the range of float32 beyond
1e19 and below 1e-19, and squares of float64 numbers leave that of float64 beyond 1e154: float32 is
widened where float64 is enough, other rows are refused by name. A score that is not a number would
compare as false and become a label, so no score leaves an estimator without `refuse_undefined`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from semisvm.device import TensorRows
from semisvm.errors import UndefinedError, not_numbers, not_numbers_but_texts
from semisvm.kernels.precision import largest_magnitude, parts_of_rows
from semisvm.kernels.threads import for_each
from semisvm.labels import Labels, is_missing_value
from semisvm.matrices import (
    PickedRows,
    columns_of_words,
    is_frame,
    is_plain_float,
    is_sparse_matrix,
    stored_numbers,
    with_small_indices,
    without_duplicates,
)
from semisvm.model_selection.scoring import LabelsAndScoresMixin
from semisvm.primal.dask_rows import is_dask, map_lazily
from semisvm.sklearn_private import check_sample_weight

if TYPE_CHECKING:
    from semisvm.campaign import Campaign, ThresholdClassifier
    from semisvm.decision import OperatingPoint

FLOATS = [np.float64, np.float32]
LARGEST = 1e150  # a sum of squares of a million such numbers is finite in float64
LARGEST_WEIGHT = 1e30  # of a row, and the inverse of the smallest
# largest magnitude, and the inverse of the smallest, whose squares are far from the limits
SAFE_IN_FLOAT32 = 1e12
MANY_NUMBERS = 1 << 22  # with fewer, NumPy is done before a compiled function is loaded
CHECKS_OF_NUMBERS = {"ensure_all_finite", "skip_check_array"}  # parameters of `validate_data`


def validated(estimator: Any, X: Any, **how: Any) -> Any:
    """What scikit-learn's `validate_data` returns, without warnings of overflows."""
    return measured(estimator, X, **how)[0]


def measured(estimator: Any, X: Any, **how: Any) -> tuple[Any, float | None]:
    """The same, and the largest magnitude where all threads have looked for infinite numbers."""
    if isinstance(X, TensorRows):
        is_plain = len(X.shape) == 2 and min(X.shape) > 0
        if is_plain and np.isfinite(largest := largest_magnitude(X)):
            validate_data(estimator, X, skip_check_array=True, reset=how.get("reset", True))
            return X, largest
        X = np.asarray(X)  # scikit-learn says below what is wrong
    with np.errstate(over="ignore", invalid="ignore"):
        if (
            type(X) is np.ndarray
            and X.size > MANY_NUMBERS
            and is_plain_float(X)
            and not CHECKS_OF_NUMBERS & set(how)
        ):
            checked = validate_data(estimator, X, ensure_all_finite=False, **how)
            # Where it is not finite, scikit-learn says below what is wrong.
            if np.isfinite(largest := largest_magnitude(checked)):
                return checked, largest
        try:
            checked = validate_data(estimator, X, **how)
        except (TypeError, ValueError):
            if words := columns_of_words(X):
                raise not_numbers(
                    type(estimator).__name__, words, is_fit=how.get("reset", True)
                ) from None
            if isinstance(X, list | tuple) and X and all(isinstance(x, str) for x in X):
                raise not_numbers_but_texts(type(estimator).__name__) from None
            raise
    # Norms of sparse rows are sums over the stored numbers, here and in scikit-learn.
    return (without_duplicates(checked) if is_sparse_matrix(checked) else checked), None


def read_texts(X: Any, *, are_expected: bool = False) -> np.ndarray | None:
    """One string per row, "" where it is missing; None where X is something else. Where texts are
    expected all may be missing.
    """
    if (
        is_sparse_matrix(X)
        or is_frame(X)
        or not hasattr(X, "__len__")
        or isinstance(X, str | dict)
        or len(X) == 0
        or getattr(X, "ndim", 1) != 1
    ):
        return None
    cells = list(X)
    if not are_expected and not any(isinstance(cell, str) for cell in cells):
        return None
    for row, cell in enumerate(cells):
        if not isinstance(cell, str) and not is_missing_value(cell):
            raise ValueError(
                f"X holds one string per row, but row {row} is {cell!r}: make it a string, or None"
                " where it is missing."
            )
    # Strings of Python: those of NumPy look different where rows are compared by what they hold.
    texts = [str(cell) if isinstance(cell, str) else "" for cell in cells]
    return np.array(texts, dtype=object)


def row_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """One weight per row, 1 where none were passed; a negative weight is 0, as in scikit-learn's
    SVC. NaN, extreme and all-zero weights raise ValueError.
    """
    if sample_weight is None:
        return np.ones(X.shape[0])
    weight = np.asarray(sample_weight)
    if weight.dtype.kind in "biuf" and weight.size and weight.max() <= 0:
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. Give some rows of each"
            " class a positive sample_weight."
        )
    weight = np.maximum(check_sample_weight(sample_weight, X, dtype=np.float64), 0.0)
    is_extreme = (weight > LARGEST_WEIGHT) | ((weight > 0) & (weight < 1 / LARGEST_WEIGHT))
    if is_extreme.any():
        row = int(np.argmax(is_extreme))
        raise ValueError(
            f"sample_weight is {weight[row]:g} in row {row}: weights must be 0 or between"
            f" {1 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}. Divide them by their mean."
        )
    return weight


def read_random_sample(random_sample: Any, n_rows: int) -> np.ndarray | None:
    """The mask of the labels that are a random sample; None where all of them are."""
    if random_sample is None:
        return None
    mask = np.asarray(random_sample)
    if mask.dtype != bool or mask.shape != (n_rows,):
        raise ValueError(
            f"random_sample must be a boolean mask with one entry for each of the {n_rows} rows;"
            f" got an array of shape {mask.shape} and type {mask.dtype}."
        )
    return mask


def check_every_class_is_used(labels: Labels, in_use: np.ndarray) -> None:
    """Refuse weights that leave a class of y with no row at all."""
    gone = np.setdiff1d(labels.codes[labels.is_labeled], labels.codes[in_use & labels.is_labeled])
    if len(gone):
        one_left = "Invalid input - all samples with positive weights belong to the same class. "
        name = labels.classes.tolist()[gone[0]]
        raise ValueError(
            f"{one_left if labels.n_classes - len(gone) == 1 else ''}"
            f"No row of class {name!r} has a positive sample_weight: give one some weight or leave"
            " the class out of y."
        )


def check_codes(codes: Any, weight: Any, n_classes: int) -> None:
    """Refuse class codes that are no index of a class and weights that are no weights."""
    codes = np.asarray(codes)
    if codes.dtype.kind not in "iu":
        raise ValueError(
            "codes must be whole numbers, -1 for a row without a label; got the type"
            f" {codes.dtype}."
        )
    if codes.size and not -1 <= codes.min() <= codes.max() < n_classes:
        wrong = codes.max() if codes.max() >= n_classes else codes.min()
        raise ValueError(
            f"codes holds {wrong}: with {n_classes} classes, codes are -1 to {n_classes - 1}."
        )
    if weight is not None:
        row_weights(weight, codes[:, np.newaxis])


def check_class_counts(labels: Labels, counts: np.ndarray) -> None:
    """Refuse fewer than two classes, and a class without a labeled row; counts: (n_classes,)."""
    if labels.n_classes < 2 or not counts.all():
        found = ", ".join(
            f"{n:g} of {name!r}" for name, n in zip(labels.classes.tolist(), counts, strict=True)
        )
        raise ValueError(
            "A fit needs labeled rows of at least two classes, and of each class; there are"
            f" {found or 'none'}."
        )


def training_rows(estimator: Any, X: Any, *, is_kernel: bool) -> Any:
    """The rows of a fit, checked, in a precision that is wide enough; or their kernel matrix."""
    if is_kernel:
        if is_sparse_matrix(X):
            raise TypeError("Sparse precomputed kernels are not supported: pass X.toarray().")
        K = validated(estimator, X, dtype=FLOATS)
        if K.shape[0] != K.shape[1]:
            raise ValueError(
                "A precomputed kernel must be a square matrix of shape (n_samples, n_samples) in"
                f" fit, got {K.shape}."
            )
        return K
    X, largest = measured(estimator, X, accept_sparse="csr", dtype=FLOATS)
    usable = with_small_indices(widened(X, largest))
    # Numbers in float32 are all small enough.
    if X.dtype != np.float32 and (largest is None or largest > LARGEST):
        refuse_too_large(usable, getattr(estimator, "feature_names_in_", None))
    return usable


def pick_rows(X: Any, rows: np.ndarray, out: np.ndarray | None = None) -> Any:
    """X[rows], copied by all threads; `rows` are numbers from 0 on."""
    if (
        not isinstance(X, np.ndarray)
        or X.ndim != 2
        or not X.flags.c_contiguous
        or X.dtype.hasobject
    ):
        return X[rows]
    picked = np.empty((len(rows), X.shape[1]), dtype=X.dtype) if out is None else out
    parts = parts_of_rows(len(rows), picked.nbytes)
    for_each(lambda part: np.take(X, rows[part], axis=0, out=picked[part], mode="clip"), parts)
    return picked


def widened(X: Any, largest: float | None = None) -> Any:
    """X itself, or in float64 where squares of its float32 numbers would overflow or vanish."""
    if X.dtype != np.float32:
        return X
    largest = largest_magnitude(X) if largest is None else largest
    is_safe = largest == 0 or 1 / SAFE_IN_FLOAT32 <= largest <= SAFE_IN_FLOAT32
    return X if is_safe else X.astype(np.float64)


def refuse_too_large(X: Any, names: Any = None) -> None:
    """Refuse rows whose squares are too large for float64; the message names the feature."""
    if largest_magnitude(X) > LARGEST:
        row, told = _largest_number(X, names)
        raise UndefinedError(
            f"{told[0].upper()}{told[1:]} in row {row}: numbers beyond {LARGEST:g} have no squares"
            " in float64. Correct the value, or scale the feature, for example to units in which"
            " it is near 1.",
            row,
        )


def refuse_undefined(scores: np.ndarray, X: Any, names: Any = None) -> None:
    """Raise UndefinedError, with the row and its largest feature, if a score is not finite."""
    is_finite = np.isfinite(scores) if scores.ndim == 1 else np.isfinite(scores).all(axis=1)
    if is_finite.all():
        return
    row = int(np.flatnonzero(~is_finite)[0])
    X = X[:] if isinstance(X, PickedRows) else X
    is_matrix = is_sparse_matrix(X) or isinstance(X, np.ndarray | TensorRows)
    told = (
        _largest_number(X[[row]], names)[1]
        if is_matrix and X.dtype.kind == "f"
        else "see its columns"
    )
    raise UndefinedError(
        f"Row {row} has no score, because numbers on the way to it are not finite in float64:"
        f" {told}. Correct it, or scale the features.",
        row,
    )


def finite_scores(score: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
    """What a function scores rows with; a row whose score is not a finite number is refused."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = score(X)
    refuse_undefined(scores, X)
    return scores


def kernel_overflow(kernel: Any, degree: float, X: Any, names: Any = None) -> UndefinedError:
    """The error for training rows whose kernel is not finite."""
    row, told = _largest_number(X, names)
    if callable(kernel):
        remedy = "Correct the kernel function, or scale the features."
    elif kernel == "poly" and degree % 1:
        remedy = f"Choose a whole degree: negative numbers have no power of {degree:g}."
    else:
        remedy = (
            "Scale the features (StandardScaler makes them alike), or lower gamma, degree or C."
        )
    return UndefinedError(
        f"The kernel of these rows is not finite in float64: {told} in row {row}. {remedy}", row
    )


def _largest_number(X: Any, names: Any) -> tuple[int, str]:
    """The row of the number of largest magnitude, and in words which feature it is of."""
    numbers: Any = X.tocoo() if is_sparse_matrix(X) else np.asarray(X)
    values = stored_numbers(numbers).ravel()
    if not values.size:
        return 0, "there are no values"
    at = int(np.argmax(np.abs(values)))
    where = (
        (numbers.row[at], numbers.col[at]) if is_sparse_matrix(X) else np.unravel_index(at, X.shape)
    )
    row = int(where[0])
    column = int(where[1])
    value = values[at]
    name = f"feature {column}" if names is None else f"feature {names[column]!r}"
    return row, f"{name} is {value:.6g}"


class SemiSupervisedMixin(LabelsAndScoresMixin):
    """Mixin for the estimators: labels and scores, `campaign` and `with_threshold`."""

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy. It passes Ctrl-C on to whoever cloned it: a search or an
        ensemble would otherwise begin the next fit.
        """
        copy = super().__sklearn_clone__()  # type: ignore[misc]
        copy._is_clone = True
        return copy

    def decision_function(self: Any, X: Any) -> np.ndarray:
        """Return signed scores, from which any thresholds are subtracted; the largest wins.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or with ``kernel="precomputed"`` the kernel values between them and the
            training rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes one score per row, positive for the second class; else one per row and
            class.
        """
        if not is_dask(X):
            return self._decide(self._raw_scores(X))
        check_is_fitted(self)
        n_columns = None if len(self.classes_) == 2 else len(self.classes_)
        return map_lazily(self.decision_function, X, n_columns, np.float64)

    def campaign(self, X_pool: Any, **options: Any) -> Campaign:
        """Start a campaign that labels rows of a pool until a threshold of this model is certified.

        Parameters
        ----------
        X_pool : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows whose labels are not known: the unlabeled rows of `fit`, or others.
        **options
            Parameters of `Campaign.for_model`: `min_precision`, `min_recall`, `min_f`, `max_cost`
            with `costs`, `confidence`, `claim`, `pos_label`, `training` and others.

        Returns
        -------
        campaign : Campaign
            The campaign, with the methods `draw`, `tell`, `verdict`, `accepted`, `prices` and
            `save`. The risks of several campaigns add up: pass the earlier ones as `after`.

        See Also
        --------
        with_threshold : The model with a certified threshold.
        """
        from semisvm.campaign import Campaign

        check_is_fitted(self)
        return Campaign.for_model(self, X_pool, **options)

    def with_threshold(
        self, point: OperatingPoint | float, *, pos_label: Any = None, X_pool: Any = None
    ) -> ThresholdClassifier:
        """Return this model with another threshold; the model itself does not change.

        Parameters
        ----------
        point : OperatingPoint or float
            A certified operating point, or a plain threshold: rows with a higher score are
            accepted.
        pos_label : label, default=None
            The positive class; by default the second of two.
        X_pool : {array-like, sparse matrix} of shape (n_rows, n_features), optional
            The pool of the campaign, needed if the point comes from `Campaign.load`. It is scored
            again, because a certificate only holds for the model that was certified.

        Returns
        -------
        model : ThresholdClassifier
            A fitted classifier with the certificate in `operating_point_`.
        """
        from semisvm.campaign import ThresholdClassifier

        return ThresholdClassifier.around(self, point, pos_label, X_pool=X_pool)
