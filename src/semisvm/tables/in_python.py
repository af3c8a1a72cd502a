"""The command's work in Python: compare methods on rows in memory, and put a fitted estimator into a `FitSummary`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from semisvm.decision import Target, measure
from semisvm.errors import DataError
from semisvm.estimators import METHODS
from semisvm.labels import encode
from semisvm.matrices import is_sparse_matrix
from semisvm.tables.classes import Classes
from semisvm.tables.columns import as_read, settle_columns
from semisvm.tables.findings import describe_machine, installed_versions, now, sample_scores, say_weights
from semisvm.tables.fit import compare_on
from semisvm.tables.held_out import MOST_UNLABELED
from semisvm.tables.methods import Settings, score_rows
from semisvm.tables.model import Model
from semisvm.tables.operating import scores_per_class
from semisvm.tables.summary import ComparisonSummary, DataSummary, FeatureSummary, FitSummary, MethodSummary
from semisvm.tables.training import Training, take_rows

MEASURED_ON_GIVEN_ROWS = (
    "Measured on the rows that were given. On rows that the model was fitted to, every model looks good."
)


def compare(
    X: Any,
    y: Any,
    *,
    methods: Sequence[str] = (),
    pos_label: Any = None,
    costs: Any = None,
    tune: bool = True,
    max_unlabeled: int = MOST_UNLABELED,
    unlabeled: Any = -1,
    random_state: int = 0,
) -> ComparisonSummary:
    """Compare methods on the labeled rows, each row predicted by fits that have not seen its label.

    Two classes are compared by ranking: how often a row of the positive class has a higher score than one of the other
    class. So the supervised method counts with the best threshold of its own, and a gain is one beyond it. More classes
    are compared by balanced accuracy, and with `costs` by the expected cost per row.

    Parameters
    ----------
    X : DataFrame, array-like or sparse matrix of shape (n_samples, n_features)
        The rows. The columns of a DataFrame may hold numbers, categories, dates and text.
    y : array-like of shape (n_samples,)
        A label for each row, the marker `unlabeled` where there is none.
    methods : sequence of str, optional
        Names of methods (`semisvm.estimators.METHODS`), such as "transductive"; by default all.
    pos_label : label, optional
        Of two classes, the positive one; by default the rarer one.
    costs : dict of {label: float}, optional
        What it costs to take a row of each class for another class.
    tune : bool, default=True
        Whether to choose the kernel, C and gamma on the labels first.
    max_unlabeled : int, default=5000
        Unlabeled rows that are used at most.
    unlabeled : number, string or None, default=-1
        The marker of rows without a label; see `semisvm.labels`.
    random_state : int, default=0
        Draws the folds.

    Returns
    -------
    ComparisonSummary
        One line per method with its gain over the supervised one; printing it shows a table and the verdict.

    See Also
    --------
    AutoSVC : A good choice without a comparison.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> import semisvm
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> y[40:] = -1
    >>> found = semisvm.compare(X, y, methods=["self-training"], tune=False)
    >>> [line.name for line in found.methods]
    ['supervised', 'self-training']
    >>> found.measure
    'ranking'
    """
    training = training_of(X, y, pos_label=pos_label, unlabeled=unlabeled)
    by_name = None if costs is None else {str(label): cost for label, cost in dict(costs).items()}
    settings = Settings(costs=by_name, seed=random_state)
    return compare_on(training, settings, methods, most_unlabeled=max_unlabeled, tune=tune).summary()


def training_of(X: Any, y: Any, *, pos_label: Any = None, unlabeled: Any = -1) -> Training:
    """Return rows in memory as what a table model is fitted to; classes are known by their text."""
    labels = encode(y, unlabeled=unlabeled, n_rows=X.shape[0] if hasattr(X, "shape") else len(X))
    names = [str(label) for label in labels.classes]
    codes = labels.codes.copy()
    if len(names) == 2:
        counts = np.bincount(codes[codes >= 0], minlength=2)
        positive = str(pos_label) if pos_label is not None else names[0] if counts[0] < counts[1] else names[1]
        if positive not in names:
            raise ValueError(f"pos_label={pos_label!r} is not a label: there are {names}.")
        if positive == names[0]:
            names, codes = names[::-1], np.where(codes >= 0, 1 - codes, -1)
    columns, left_out, rows = None, {}, X
    if hasattr(X, "columns"):
        frame = X.rename(columns=str).reset_index(drop=True)
        rows = frame.assign(**{name: as_read(frame[name]) for name in frame.columns})
        columns, unused = settle_columns({name: rows[name] for name in rows.columns})
        left_out = {one.name: one.why for one in unused}
        rows = rows[[column.name for column in columns]]
    elif not is_sparse_matrix(X):
        rows = np.asarray(X, dtype=np.float64)
    return Training("X", "y", rows, codes, Classes(tuple(names), False), columns, left_out=left_out)


def summarize_estimator(model: Any, X: Any, y: Any, *, unlabeled: Any = -1) -> FitSummary:
    """Return what labeled rows say of a fitted classifier, as a report shows it.

    Parameters
    ----------
    model : classifier or Model
        Fitted; with `decision_function` or `predict_log_proba`.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Rows as the model takes them, best of all rows that it was not fitted to.
    y : array-like of shape (n_samples,)
        Their labels, the marker `unlabeled` where there is none.
    unlabeled : number, string or None, default=-1
        The marker of rows without a label.

    Returns
    -------
    FitSummary
        With one operating point per class (of two: of the second), measured at the model's own threshold.
    """
    labels = encode(y, unlabeled=unlabeled, n_rows=X.shape[0] if hasattr(X, "shape") else len(X))
    known = list(model.classes.names) if isinstance(model, Model) else [str(label) for label in model.classes_]
    own = [str(label) for label in labels.classes]
    if strange := [name for name in own if name not in known]:
        raise DataError(f"y holds the label {strange[0]!r}, which the model does not know: its classes are {known}.")
    place = np.array([known.index(name) for name in own])
    codes = np.where(labels.is_labeled, place[labels.codes], -1)
    scores = model.decision_function(X) if isinstance(model, Model) else score_rows(model, X)
    labeled, true = scores[codes >= 0], codes[codes >= 0]
    if missing := [name for code, name in enumerate(known) if not (true == code).any()]:
        raise DataError(f"No row of class {missing[0]!r} has a label: give rows with labels of every class.")
    asked = getattr(model, "operating_points_", None) or {}
    targets = {str(name): point.target for name, point in asked.items() if point is not None}
    classes = tuple(known)
    points, samples = {}, {}
    pool = scores[codes < 0]
    columns = np.empty((0, len(classes))) if not len(pool) else np.atleast_2d(pool.T).T
    for k, (name, shown, sign) in enumerate(scores_per_class(labeled, true, classes)):
        points[name] = measure(shown, sign, 0.0, target=targets.get(name, Target()))
        samples[name] = sample_scores(shown, sign, "empirical", columns[:, k])
    class_name = type(model.estimator if isinstance(model, Model) else model).__name__
    method = next((one for one in METHODS if one.class_name == class_name), None)
    counts = np.bincount(true, minlength=len(classes)).tolist()
    audits = getattr(model, "audits_", None) or {}
    return FitSummary(
        title=f"{class_name} on {len(true):,} labeled rows",
        created=now(),
        data=DataSummary(
            name="X",
            rows=len(codes),
            labeled=len(true),
            unlabeled=int((codes < 0).sum()),
            target=str(getattr(y, "name", None) or "y"),
            features=_features(X),
            class_counts=dict(zip(classes, counts, strict=True)),
        ),
        classes=classes,
        positive=classes[1] if len(classes) == 2 else None,
        method=MethodSummary(
            method.name if method else class_name, method.paper_name if method else "", "It was given.", _plain(model)
        ),
        operating_points=points,
        audits={str(name): dict(steps) for name, steps in audits.items() if steps is not None},
        scores=samples,
        rounds=tuple(getattr(model, "history_", ())),
        notes=(MEASURED_ON_GIVEN_ROWS, *say_weights(model)),
        versions=installed_versions(),
        machine=describe_machine(),
    )


def _features(X: Any) -> tuple[FeatureSummary, ...]:
    if hasattr(X, "columns"):
        return tuple(FeatureSummary(str(name), str(X[name].dtype)) for name in X.columns)
    n_features = take_rows(X, slice(0, 1)).shape[1] if hasattr(X, "shape") and len(X.shape) > 1 else 1
    return (FeatureSummary("x1" if n_features == 1 else f"x1 to x{n_features}", "number"),)


def _plain(model: Any) -> dict[str, Any]:
    """The constructor's parameters that are numbers or words."""
    values = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return {name: value for name, value in values.items() if isinstance(value, bool | int | float | str)}
