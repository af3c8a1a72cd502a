"""Splits of rows into labeled, unlabeled and test rows, drawn with a seed.

    labeled     rows whose label the learner sees
    unlabeled   rows that the learner sees without their label
    test        rows that the learner does not see

Rows without a label in y can only be in the unlabeled part.

The test rows are drawn first and the labeled rows after them, both from the front of one random
order. So two splits with the same seed and test size have the same test rows, and the smaller
labeled set is a part of the larger one, so that the points of a learning curve are comparable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from semisvm.labels import Labels, encode

Draw = Literal["random", "stratified", "balanced"]
RowNumbers = NDArray[np.intp]
MARKER = -1  # the default marker of an unlabeled row, here and in scikit-learn


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of the labeled, unlabeled and test parts, in increasing order and disjoint.

    Attributes
    ----------
    labeled : ndarray of shape (n_labeled,)
        Training rows with their label.
    unlabeled : ndarray of shape (n_unlabeled,)
        Training rows without their label.
    test : ndarray of shape (n_test,)
        Test rows.

    See Also
    --------
    split : Draws the parts at random.

    Examples
    --------
    >>> Split(np.array([0, 3]), np.array([1, 2]), np.array([4])).train.tolist()
    [0, 1, 2, 3]
    """

    labeled: RowNumbers
    unlabeled: RowNumbers
    test: RowNumbers

    @property
    def train(self) -> RowNumbers:
        """Rows the learner sees, labeled or not."""
        return np.sort(np.concatenate([self.labeled, self.unlabeled]))


def split(
    y: ArrayLike,
    *,
    labeled: float | Mapping,
    test: float = 0,
    unlabeled: float | None = None,
    draw: Draw = "random",
    draw_test: Literal["random", "stratified"] = "random",
    random_state: int | np.random.RandomState | None = None,
    marker: float | str | None = MARKER,
) -> Split:
    """Split rows at random into labeled, unlabeled and test rows.

    Parameters
    ----------
    y : array of shape (n_rows,)
        The labels; `marker` marks rows without one.
    labeled, test, unlabeled : int, or float between 0 and 1
        Number of rows in each part, or their share of all rows. `labeled` may also be a mapping
        from each class to a number. By default all remaining rows are unlabeled.
    draw : {"random", "stratified", "balanced"}
        How to draw labeled rows: regardless of class, in proportion to the classes (at least one of
        each), or equally many of each class.
    draw_test : {"random", "stratified"}
        How to draw test rows.
    random_state : int, RandomState or None
        Seed of the draws. Pass an int for reproducible results.
    marker : number, str or None
        Value of y that marks unlabeled rows; NaN, None and "" always mark them too.

    Returns
    -------
    parts : Split
        Row numbers of the labeled, unlabeled and test rows.

    Raises
    ------
    ValueError
        If there are not enough rows, or a class would have no labeled row.

    Examples
    --------
    A tenth labeled, a tenth for the test, the rest unlabeled:

    >>> import numpy as np
    >>> parts = split(np.arange(100) % 2, labeled=0.1, test=0.1, random_state=0)
    >>> len(parts.labeled), len(parts.unlabeled), len(parts.test)
    (10, 80, 10)
    """
    labels = encode(y, unlabeled=marker)
    n_rows = len(labels.codes)
    _require_choice("draw", draw, ("random", "stratified", "balanced"))
    _require_choice("draw_test", draw_test, ("random", "stratified"))
    order = check_random_state(random_state).permutation(n_rows)

    pool = order[labels.is_labeled[order]]
    test_rows = _take(pool, labels, _count("test", test, n_rows), draw_test, "test")
    pool = pool[~np.isin(pool, test_rows)]
    wanted = labeled if isinstance(labeled, Mapping) else _count("labeled", labeled, n_rows)
    labeled_rows = _take(pool, labels, wanted, draw, "labeled")
    _require_each_class(labels, labeled_rows)

    rest = order[~np.isin(order, np.concatenate([test_rows, labeled_rows]))]
    n_unlabeled = len(rest) if unlabeled is None else _count("unlabeled", unlabeled, n_rows)
    if n_unlabeled > len(rest):
        raise ValueError(
            f"unlabeled asks for {n_unlabeled} rows, but {len(rest)} are left. Ask for fewer."
        )
    return Split(np.sort(labeled_rows), np.sort(rest[:n_unlabeled]), np.sort(test_rows))


def hide(y: ArrayLike, keep: ArrayLike, *, marker: float | str = MARKER) -> NDArray:
    """Hide all labels except those of some rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels.
    keep : array-like
        The rows that keep their label: row numbers, or a boolean mask of shape (n_rows,).
    marker : float or str, default=-1
        Value that replaces hidden labels. If the labels are text and the marker is a number, it is
        "".

    Returns
    -------
    shown : ndarray of shape (n_rows,)
        A copy of y with the other labels hidden.

    Examples
    --------
    >>> hide([0, 1, 1, 0], keep=[0, 1]).tolist()
    [0, 1, -1, -1]
    """
    labels = encode(y, unlabeled=marker)
    if np.ndim(keep) != 1:
        raise ValueError(
            f"keep holds the numbers of rows, or a mask, and is {keep!r}."
            " semisvm.model_selection.split(y, labeled=40).labeled draws 40 rows."
        )
    shown = np.zeros(len(labels.codes), dtype=bool)
    shown[np.asarray(keep)] = True
    if not labels.is_labeled[shown].all():
        row = int(np.flatnonzero(shown & ~labels.is_labeled)[0])
        raise ValueError(f"Row {row} is in keep, but has no label. Keep labeled rows only.")
    is_text = labels.classes.dtype.kind in "OU"
    value = "" if is_text and not isinstance(marker, str) else marker
    # asarray, so that booleans and unsigned labels are promoted to a type with room for -1
    return np.where(shown, labels.classes[labels.codes], np.asarray(value))


def _count(name: str, size: float, n_rows: int) -> int:
    """Return a count of rows for a count or a share."""
    if isinstance(size, Integral) and not isinstance(size, bool) and size >= 0:
        return int(size)
    if isinstance(size, float | np.floating) and 0 < size < 1:
        return round(float(size) * n_rows)
    raise ValueError(f"{name} must be a count of rows, or a share between 0 and 1; got {size!r}.")


def _take(
    pool: RowNumbers, labels: Labels, wanted: int | Mapping, draw: Draw, name: str
) -> RowNumbers:
    """Take the `wanted` rows from the front of the pool, by class unless the draw is random."""
    if isinstance(wanted, int):
        if wanted > len(pool):
            raise ValueError(
                f"{name} asks for {wanted} rows, but {len(pool)} with a label are left. Ask for"
                " fewer."
            )
        if draw == "random":
            return pool[:wanted]
    codes = labels.codes[pool]
    available = np.bincount(codes, minlength=labels.n_classes)
    counts = _counts_by_class(wanted, available, labels.classes.tolist(), draw)
    for label, count, there in zip(labels.classes.tolist(), counts, available, strict=True):
        if count > there:
            raise ValueError(
                f"{name} asks for {count} rows of class {label!r}, but {there} are left. Ask for"
                " fewer."
            )
    return np.concatenate([pool[codes == code][:count] for code, count in enumerate(counts)])


def _counts_by_class(
    wanted: int | Mapping, available: NDArray, classes: list, draw: Draw
) -> NDArray[np.intp]:
    if isinstance(wanted, Mapping):
        for label in wanted:
            if label not in classes:
                raise ValueError(f"labeled names the class {label!r}, but y has {classes}.")
            if not isinstance(wanted[label], Integral) or wanted[label] < 0:
                raise ValueError(
                    f"labeled must give a count for class {label!r}; got {wanted[label]!r}."
                )
        return np.array([wanted.get(label, 0) for label in classes], dtype=np.intp)
    if draw == "balanced":
        return wanted // len(classes) + (np.arange(len(classes)) < wanted % len(classes))
    return _proportional(wanted, available)


def _proportional(wanted: int, available: NDArray) -> NDArray[np.intp]:
    """Share `wanted` out by largest remainders of `available`, one to each class first."""
    floor = (
        np.minimum(available, 1)
        if wanted >= np.count_nonzero(available)
        else np.zeros_like(available)
    )
    exact = wanted * available / max(available.sum(), 1)
    counts = np.maximum(np.floor(exact).astype(np.intp), floor)
    while counts.sum() != wanted:
        step = 1 if counts.sum() < wanted else -1
        movable = counts < available if step > 0 else counts > floor
        # the class that is furthest from its exact share moves
        counts[np.argmax(np.where(movable, step * (exact - counts), -np.inf))] += step
    return counts


def _require_each_class(labels: Labels, rows: RowNumbers) -> None:
    missing = np.setdiff1d(np.arange(labels.n_classes), labels.codes[rows])
    if len(missing):
        raise ValueError(
            f"No labeled row of class {labels.classes.tolist()[missing[0]]!r} among {len(rows)}"
            " drawn. Ask for more labeled rows, draw='stratified' or 'balanced', or another"
            " random_state."
        )


def _require_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")
