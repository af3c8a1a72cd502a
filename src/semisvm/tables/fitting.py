"""The steps of a fit: classes, method, threshold, and what labels left out of it say.

    read_labels      the column of labels -> classes and codes
    decide_columns   what each column is; read_values: its cells as numbers, dates and words
    make_method      the classifier that a name stands for
    fit              the fit, and scores of labeled rows by fits without their labels
    place            the score from which rows are accepted
    figures_of       precision and recall at that score
    gain_of          how much better rows are ranked than by a supervised SVM of the same labels

Messages have the name of the file in front, and name parameters; the command words its own cases.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from semisvm.errors import DataError
from semisvm.tables.columns import CellError, Columns, DecimalMarkError
from semisvm.tables.frame import as_written, has_no_label
from semisvm.tables.matrix import TableMatrix
from semisvm.tables.summary import Interval

POSITIVE_WORDS = ("1", "yes", "true", "y", "t", "positive", "spam", "+")
MOST_CLASSES = 50
FEWEST_LABELS = 3  # of a class
FEWEST_COMPARED, MOST_COMPARED = 5, 3_000  # labels: rows are compared in pairs
N_FOLDS = 5


class ClassLabels(NamedTuple):
    """The column of labels: the positive class is the last of two; -1 is no label."""

    classes: list[str]
    positive: str | None
    codes: np.ndarray


def read_labels(cells: pd.Series, unlabeled: str, positive: str | None, source: str) -> ClassLabels:
    """Read the column of labels, and refuse one that can't be learned."""
    missing = has_no_label(cells, unlabeled).to_numpy()
    words = pd.Series(as_written(cells), dtype=object).str.strip()
    counts = words[~missing].value_counts()
    _check_classes(counts, str(cells.name), source)
    classes = sorted(map(str, counts.index))
    if positive is not None and positive not in classes:
        raise DataError(
            f"{source}: {positive!r} (positive) is none of the classes {', '.join(classes)}."
        )
    if len(classes) == 2:
        likely = [name for name in classes if name.casefold() in POSITIVE_WORDS]
        positive = positive or (likely[0] if len(likely) == 1 else str(counts.idxmin()))
        classes = [name for name in classes if name != positive] + [positive]
    codes = words.map({name: code for code, name in enumerate(classes)})
    return ClassLabels(classes, positive, np.where(missing, -1, codes).astype(int))


def _check_classes(counts: pd.Series, target: str, source: str) -> None:
    if len(counts) < 2:
        held = f"only {counts.index[0]!r}" if len(counts) else "no label"
        raise DataError(
            f"{source}: column {target!r} holds {held}: labels of two classes are needed."
        )
    if len(counts) > MOST_CLASSES:
        raise DataError(
            f"{source}: column {target!r} holds {len(counts):,} different labels, for example"
            f" {counts.index[0]!r}: is it the right column?"
        )
    first: dict[str, str] = {}
    for name in counts.index:
        if first.setdefault(name.casefold(), name) != name:
            raise DataError(
                f"{source}: {first[name.casefold()]!r} and {name!r} in {target!r} are two classes."
                " Write them in one way."
            )
    if counts.min() < FEWEST_LABELS:
        raise DataError(
            f"{source}: {counts.idxmin()!r} has {counts.min()} of the labels in {target!r}: label"
            " at least three rows of each class."
        )


# ---- columns ----


def decide_columns(
    frame: pd.DataFrame, types: dict[str, str], decimal: str | None, source: str
) -> Columns:
    """Decide what each column is; where nobody can say it, name the option to add."""
    try:
        return Columns.decide(frame, kinds=types, decimal=decimal)
    except DecimalMarkError as error:
        is_comma = "," in error.example
        ends, separates = (",", ".") if is_comma else (".", ",")
        mark = "comma" if is_comma else "point"
        raise DataError(
            f"{source}: {error.example!r} in column {error.column!r} may be a large number or a"
            f" decimal one. Add one option:\n    --decimal {separates}     the {mark} separates"
            f" thousands\n    --decimal {ends}     the {mark} ends the whole part"
        ) from None
    except ValueError as error:  # a library's good error, with the file in front
        raise DataError(f"{source}: {error}") from None


def read_values(
    columns: Columns, frame: pd.DataFrame, source: str, first_row: int = 0
) -> tuple[pd.DataFrame, list[str]]:
    """The cells of rows as numbers, dates and words, and remarks on those that can't be read."""
    try:
        values, remarks = columns.read(frame)
    except CellError as error:
        kind = next(each.kind for each in columns.used if each.name == error.column)
        raise DataError(
            f"{source}: row {first_row + error.row + 1:,}: {error.cell!r} in {error.column!r} is no"
            f" {kind}, and so are many. Write them as at the fit, or leave them empty."
        ) from None
    except ValueError as error:
        raise DataError(f"{source}: {error}") from None
    return pd.DataFrame(values, index=frame.index), remarks


# ---- the method ----


def make_method(
    name: str,
    columns: dict[str, list[str]],
    classes: list[str],
    *,
    costs: dict[str, float] | None,
    text_encoder: str | None,
    seed: int,
) -> Any:
    """The classifier that a name stands for: "autosvc", or a method on the table as a matrix."""
    import semisvm

    if costs and set(costs) != set(classes):
        raise DataError(f"costs must name each class once: {', '.join(classes)}.")
    prices = {classes.index(each): cost for each, cost in (costs or {}).items()} or None
    if name == "autosvc":
        if isinstance(text_encoder, str) and text_encoder != "wordllama":
            raise DataError(
                f"there is no text_encoder {text_encoder!r}: wordllama, or a Python object."
            )
        given: dict[str, Any] = {"class_weight": prices, "text_encoder": text_encoder}
        given = {key: value for key, value in given.items() if value is not None}
        return semisvm.AutoSVC(columns=columns, random_state=seed, **given)
    if text_encoder:
        raise DataError("text_encoder is for the method autosvc.")
    methods = method_names()
    if name not in methods:
        raise DataError(f"there is no method {name!r}: {', '.join(['autosvc', *methods])}.")
    method = getattr(semisvm, methods[name])()
    known = method.get_params()
    if prices is not None and "costs" not in known:
        raise DataError(f"the method {name} takes no costs; autosvc does.")
    given = {"costs": prices, "random_state": seed}
    method.set_params(**{key: given[key] for key in given.keys() & known.keys()})
    return make_pipeline(TableMatrix(columns), method)


def method_names() -> dict[str, str]:
    """The names of methods on the command line, each with that of its class."""
    import semisvm

    names = [
        name for name in semisvm.__all__ if name.endswith(("SVC", "SVCCV", "MixtureClassifier"))
    ]
    others = ("AutoSVC", "PreferenceSVC", "PaperPreferenceSVC", "PositiveUnlabeledSVC")
    short = {name: name.removesuffix("SVC").removesuffix("Classifier") for name in names}
    return {short[name].lower(): name for name in names if name not in others}


# ---- what labels that were left out say ----


def fit(
    estimator: Any, values: pd.DataFrame, codes: np.ndarray, seed: int, source: str
) -> np.ndarray:
    """Fit, and return scores of the labeled rows by fits without the labels of their fold."""
    from semisvm.model_selection import cross_fit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator.fit(values, codes)
            if not hasattr(estimator, "out_of_fold_scores_"):
                return cross_fit(estimator, values, codes, random_state=seed)[codes >= 0]
        except ValueError as error:  # a library's good error, with the file in front
            raise DataError(f"{source}: {error}") from None
    return (estimator.out_of_fold_scores_ - estimator.threshold_)[codes >= 0]


def wanted(min_precision: float | None, min_recall: float | None) -> str:
    """What a threshold is chosen for, in words."""
    if min_recall is not None:
        return f"recall at least {min_recall:g}"
    return "fewest errors" if min_precision is None else f"precision at least {min_precision:g}"


def place(
    scores: np.ndarray, codes: np.ndarray, min_precision: float | None, min_recall: float | None
) -> tuple[float, bool]:
    """The score above which rows are accepted: 0, or where left-out scores reach the target; and
    whether they do.
    """
    if min_precision is None and min_recall is None:
        return 0.0, True
    from semisvm.threshold import choose_threshold

    signs = np.where(codes == 1, 1, -1)
    point = choose_threshold(scores, signs, min_precision=min_precision, min_recall=min_recall)
    return point.threshold, point.reached


def figures_of(scores: np.ndarray, codes: np.ndarray) -> dict[str, Interval]:
    """Precision and recall of the accepted rows; with more classes, the share that is right."""
    if scores.ndim > 1:
        found = {"right": (scores.argmax(axis=1) == codes, np.ones(len(codes), bool))}
    else:
        accepted, is_positive = scores > 0, codes == 1
        found = {"precision": (is_positive, accepted), "recall": (accepted, is_positive)}
    figures = {
        name: Interval.of_share(int((hit & among).sum()), int(among.sum()))
        for name, (hit, among) in found.items()
    }
    return {name: each for name, each in figures.items() if each is not None}


def gain_of(
    values: pd.DataFrame,
    columns: dict[str, list[str]],
    codes: np.ndarray,
    scores: np.ndarray,
    seed: int,
) -> Interval | None:
    """ROC AUC of left-out scores minus that of a supervised SVM of the same labels.

    The interval is DeLong's: both rankings are compared on the same pairs of rows. None where there
    are too few labels to compare, or so many that some are better put aside for `evaluate`.
    """
    fewest = np.bincount(codes).min()
    if scores.ndim > 1 or fewest < FEWEST_COMPARED or len(codes) > MOST_COMPARED:
        return None
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    import semisvm

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
        supervised = cross_val_predict(
            semisvm.SupervisedSVC(),
            TableMatrix(columns).fit_transform(values),
            codes,
            cv=folds,
            method="decision_function",
        )
    wins = []
    for each in (scores, supervised):
        high, low = each[codes == 1][:, None], each[codes == 0]
        wins.append((high > low) + 0.5 * (high == low))
    more = wins[0] - wins[1]
    variance = sum(more.mean(axis=axis).var(ddof=1) / more.shape[1 - axis] for axis in (0, 1))
    mean, reach = float(more.mean()), 1.96 * float(variance) ** 0.5
    return Interval(mean, mean - reach, mean + reach)
