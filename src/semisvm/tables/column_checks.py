"""Columns that deserve a second look: one that gives the label away, and those that look different
when a model is used.

A column that alone nearly decides the label is often a consequence of it ("collection_fee" after a
default). It is empty, or something else, in the rows that the model is for. So `fit` points at it,
and `predict` compares the share of rows it accepts with that of the fit, and says which columns
have moved.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from semisvm.columns.table import DATE_PARTS, Columns
from semisvm.errors import MOST_NAMES_SHOWN, counted
from semisvm.tables.summary import ColumnProfile, FitSummary

# A tree of one column that is right for 98% of each class: with ten labels of each class, chance
# gives that less than once in a million columns.
NEARLY_DECIDES = 0.98
FEWEST_OF_A_CLASS = 10
MOST_ROWS = 2_000  # labeled rows that columns are judged on: a bound on the time
MOST_LEVELS = 20  # categories of a column that are told apart
FEWEST_ROWS = 50  # predicted rows, from which on their share is compared
CLEAR_GAP = 4.0  # standard errors between two shares accepted that are far from each other,
LARGE_RATIO = 2.0  # and how many times larger one of them is
# of the rows: a change of a column that is worth naming, and one where the share accepted changed
MOVED = 0.25
MOVED_WITH_SHARE = 0.1
TAIL = 0.05  # of the rows of the fit that are below `low`, and above `high`
GIVES_AWAY = "Careful: the column {} alone nearly decides the label."


def say_deciding_columns(rows: Columns, codes: np.ndarray) -> list[str]:
    """Name columns that alone nearly decide the label of labeled rows."""
    from sklearn.tree import DecisionTreeClassifier

    labeled = np.flatnonzero(codes >= 0)[:MOST_ROWS]
    classes, counts = np.unique(codes[labeled], return_counts=True)
    if len(classes) < 2 or counts.min() < FEWEST_OF_A_CLASS:
        return []
    numbers, categories = _comparable(rows[labeled])
    features = {name: _as_numbers(values) for name, values in numbers.items()}
    features |= {name: _as_levels(texts) for name, texts in categories.items()}
    true = codes[labeled]
    share_right = {}
    for name, X in features.items():
        tree = DecisionTreeClassifier(max_depth=2, class_weight="balanced", random_state=0)
        is_right = tree.fit(X, true).predict(X) == true
        share_right[name] = np.mean([is_right[true == code].mean() for code in classes])
    deciding = [name for name, share in share_right.items() if share >= NEARLY_DECIDES]
    deciding.sort(key=lambda name: -share_right[name])
    return [
        f"{GIVES_AWAY.format(repr(name))} Is it known before the label is? If not, leave it out"
        " (`drop`)."
        for name in deciding[:MOST_NAMES_SHOWN]
    ]


def _comparable(rows: Columns) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The columns of numbers, with dates as days, and those of categories."""
    names = [f"{name} (day)" for name in rows.of_type("date")]
    days = dict(zip(names, rows.dates.T[:: len(DATE_PARTS)], strict=True))
    return rows.of_type("number") | days, rows.of_type("category")


def _as_numbers(values: np.ndarray) -> np.ndarray:
    """Return a number as a tree takes it: the number, and whether it is missing."""
    is_missing = ~np.isfinite(values)
    return np.column_stack([np.where(is_missing, 0.0, values), is_missing])


def _as_levels(texts: np.ndarray) -> np.ndarray:
    """Return a category as a tree takes it: one column per frequent value."""
    frequent = [level for level, _ in Counter(texts.tolist()).most_common(MOST_LEVELS)]
    return np.column_stack([texts == level for level in frequent]).astype(np.float64)


def profile_columns(rows: Columns) -> dict[str, ColumnProfile]:
    """Return what columns look like, to tell later whether they have moved."""
    numbers, categories = _comparable(rows)
    profiles = {}
    for name, values in numbers.items():
        known = values[np.isfinite(values)]
        if len(known):
            low, high = np.quantile(known, [TAIL, 1 - TAIL]).tolist()
            profiles[name] = ColumnProfile(1 - len(known) / len(values), low, high)
    for name, texts in categories.items():
        shares = _shares(texts)
        missing = shares.pop("", 0.0)
        common = dict(list(shares.items())[:MOST_LEVELS])
        profiles[name] = ColumnProfile(missing, common=common)
    return profiles


def _shares(texts: np.ndarray) -> dict[str, float]:
    """The share of each value, the most frequent first."""
    return {level: n / len(texts) for level, n in Counter(texts.tolist()).most_common()}


def say_far_from_fit(
    summary: FitSummary, n_accepted: int, n_rows: int, rows: Columns | None
) -> tuple[str, ...]:
    """Say that the share of rows that a model accepts is far from that at its fit, and which
    columns have moved.

    `rows` are the first ones; None where the model knows no columns.
    """
    sample = summary.scores.get(summary.positive or "")
    if sample is None or n_rows < FEWEST_ROWS:
        return ()
    scores = np.array(sample.unlabeled or sample.labeled, dtype=np.float64)
    if not len(scores):
        return ()
    at_fit = float(np.mean(scores > 0))
    now = n_accepted / n_rows
    pooled = (at_fit * len(scores) + n_accepted) / (len(scores) + n_rows)
    error = math.sqrt(max(pooled * (1 - pooled), 1e-12) * (1 / len(scores) + 1 / n_rows))
    is_clear = abs(now - at_fit) > CLEAR_GAP * error
    if not is_clear or max(now, at_fit) < LARGE_RATIO * min(now, at_fit):
        return ()
    moved = columns_that_moved(summary, rows, MOVED_WITH_SHARE)
    shown = "; ".join(moved[:MOST_NAMES_SHOWN])
    which = f" Columns that look different: {shown}." if moved else ""
    return (
        f"Careful: it accepts {now:.1%} of {counted(n_rows, 'row')}, and {at_fit:.1%} at the fit."
        f"{which} What was measured at the fit may not hold for these rows.",
    )


def columns_that_moved(
    summary: FitSummary, rows: Columns | None, least: float = MOVED
) -> list[str]:
    """Return columns that look different from the fit in a share `least` of the rows, in words,
    the most different first; none where the model knows no columns.
    """
    if rows is None or len(rows) < FEWEST_ROWS:
        return []
    numbers, categories = _comparable(rows)
    changes = []
    for name, profile in summary.data.profiles.items():
        if name in categories:
            shares = _shares(categories[name])
            missing = shares.pop("", 0.0)
            gap = sum(abs(shares.get(level, 0.0) - at) for level, at in profile.common.items())
            strange = sum(share for level, share in shares.items() if level not in profile.common)
            usual = max(0.0, 1 - profile.missing - sum(profile.common.values()))
            gap = (gap + abs(strange - usual) + abs(missing - profile.missing)) / 2
            words = "other values"
        else:
            values = numbers[name]
            known = values[np.isfinite(values)]
            missing = 1 - len(known) / max(len(values), 1)
            below = float(np.mean(known < profile.low)) if len(known) else 0.0
            above = float(np.mean(known > profile.high)) if len(known) else 0.0
            gap = max(below, above) - TAIL
            words = (
                f"{max(below, above):.0%} {'below' if below > above else 'above'}"
                f" {profile.low if below > above else profile.high:.4g}, at the fit {TAIL:.0%}"
            )
        if abs(missing - profile.missing) >= max(gap, least):
            gap = abs(missing - profile.missing)
            words = f"{missing:.0%} empty, at the fit {profile.missing:.0%}"
        if gap >= least:
            changes.append((gap, f"{name!r} ({words})"))
    return [words for _, words in sorted(changes, key=lambda change: -change[0])]
