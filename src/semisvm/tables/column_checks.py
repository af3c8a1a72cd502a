"""Checks of columns: those that give the label away, and those that have changed when a model is
used.

A column that alone nearly decides the label is often a consequence of it ("collection_fee" after a
default). It is empty, or something else, in the rows that the model is for. So `fit` warns about
it, and counts how many cells of each column are empty, in which bin or category. `predict` and
`monitor` count the cells of new rows in the same way, and test which columns have changed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from semisvm.columns.table import DATE_PARTS, FIRST_DAY, Columns
from semisvm.errors import MOST_NAMES_SHOWN, counted
from semisvm.tables.summary import ColumnProfile, FitSummary

# A tree of one column that is right for 98% of each class: with ten labels of each class, chance
# gives that less than once in a million columns.
NEARLY_DECIDES = 0.98
FEWEST_OF_A_CLASS = 10
MOST_ROWS = 2_000  # labeled rows that columns are judged on: a bound on the time
MOST_LEVELS = 20  # categories of a column that are distinguished
N_BINS = 10  # of equal numbers of rows, for a column of numbers
FEWEST_ROWS = 50  # predicted rows, from which on they are compared with those of the fit
CLEAR_GAP = 4.0  # standard errors between two shares accepted that are far from each other,
LARGE_RATIO = 2.0  # and how many times larger one of them is
RISK = 0.05  # that any column is named although none has changed
FEWEST_EXPECTED = 5  # rows in a cell of a chi-squared test
SMALLEST_MOVE = 0.1  # of the rows: in large files smaller changes are significant, but of no use
MOST_MOVES_SHOWN = 5
GIVES_AWAY = "Careful: the column {} alone nearly decides the label."


def say_deciding_columns(rows: Columns, codes: np.ndarray) -> list[str]:
    """Name columns that alone nearly decide the label of labeled rows."""
    from sklearn.tree import DecisionTreeClassifier

    labeled = np.flatnonzero(codes >= 0)[:MOST_ROWS]
    classes, counts = np.unique(codes[labeled], return_counts=True)
    if len(classes) < 2 or counts.min() < FEWEST_OF_A_CLASS:
        return []
    features = {
        name: _as_levels(cells) if cells.dtype == object else _as_numbers(cells)
        for name, cells in _comparable(rows[labeled]).items()
    }
    true = codes[labeled]
    share_right = {}
    tree = DecisionTreeClassifier(max_depth=2, class_weight="balanced", random_state=0)
    for name, X in features.items():
        is_right = tree.fit(X, true).predict(X) == true
        share_right[name] = np.mean([is_right[true == code].mean() for code in classes])
    deciding = [name for name, share in share_right.items() if share >= NEARLY_DECIDES]
    deciding.sort(key=lambda name: -share_right[name])
    return [
        f"{GIVES_AWAY.format(repr(name))} Is it known before the label is? If not, leave it out"
        " (`drop`)."
        for name in deciding[:MOST_NAMES_SHOWN]
    ]


def _comparable(rows: Columns) -> dict[str, np.ndarray]:
    """The columns of numbers, dates as days, and categories."""
    days = dict(zip(rows.of_type("date"), rows.dates.T[:: len(DATE_PARTS)], strict=True))
    return rows.of_type("number") | days | rows.of_type("category")


def _as_numbers(values: np.ndarray) -> np.ndarray:
    """Return a number as a tree takes it: the number, and whether it is missing."""
    is_missing = ~np.isfinite(values)
    return np.column_stack([np.where(is_missing, 0.0, values), is_missing])


def _as_levels(texts: np.ndarray) -> np.ndarray:
    """Return a category as a tree takes it: one column per frequent value."""
    frequent = [level for level, _ in Counter(texts.tolist()).most_common(MOST_LEVELS)]
    return np.column_stack([texts == level for level in frequent]).astype(np.float64)


def profile_columns(rows: Columns) -> dict[str, ColumnProfile]:
    """Return a profile of the columns, to test later whether they have changed.

    Bins and categories are chosen on every other row and counted on the rest: on the rows that they
    were chosen on, the frequent ones would be too frequent.
    """
    profiles = {}
    for name, cells in (_comparable(rows) | rows.of_type("text")).items():
        chosen_on = cells[::2]
        edges: list[float] = []
        levels: list[str] = []
        if cells.dtype != object:
            known = _without_empty(chosen_on)
            shares = np.linspace(0, 1, N_BINS + 1)[1:]
            edges = np.unique(np.quantile(known, shares)).tolist() if len(known) else []
        elif name in rows.of_type("category"):
            frequent = Counter(text for text in chosen_on.tolist() if text).most_common(MOST_LEVELS)
            levels = [level for level, _ in frequent]
        counts = _count_cells(cells[1::2], edges, levels)
        profiles[name] = ColumnProfile(tuple(counts.tolist()), tuple(edges), tuple(levels))
    return profiles


def _without_empty(cells: np.ndarray) -> np.ndarray:
    return cells[np.isfinite(cells)] if cells.dtype != object else cells[cells != ""]


def _count_cells(cells: np.ndarray, edges: Sequence[float], levels: Sequence[str]) -> np.ndarray:
    """Count numbers up to each edge and above, or each level and others; then empty cells."""
    known = _without_empty(cells)
    if cells.dtype != object:
        counts = np.bincount(np.searchsorted(edges, known), minlength=len(edges) + 1).tolist()
    else:
        per_level = Counter(known.tolist())
        counts = [per_level[level] for level in levels]
        counts.append(len(known) - sum(counts))
    return np.array([*counts, len(cells) - len(known)])


def say_far_from_fit(
    summary: FitSummary, n_accepted: int, n_rows: int, rows: Columns
) -> tuple[str, ...]:
    """Warn if far more or fewer rows are accepted than at the fit, or if a column has become empty;
    `rows` are the first rows.
    """
    if n_rows < FEWEST_ROWS:
        return ()
    sample = summary.scores.get(summary.positive or "")
    scores = np.array([] if sample is None else sample.unlabeled or sample.labeled, dtype=float)
    if len(scores):
        at_fit = float(np.mean(scores > 0))
        now = n_accepted / n_rows
        if shares_differ((now, at_fit), (n_rows, len(scores))):
            return (
                f"Careful: it accepts {now:.1%} of {counted(n_rows, 'row')}, and {at_fit:.1%} at"
                f" the fit.{say_moved(columns_that_moved(summary, rows))}"
                " What was measured at the fit may not hold for these rows.",
            )
    emptied = columns_without_cells(summary, rows)
    if not emptied:
        return ()
    names = ", ".join(map(repr, emptied[:MOST_NAMES_SHOWN]))
    none = "no row has" if len(rows) == n_rows else f"none of the first {len(rows):,} rows has"
    return (
        f"Careful: {none} a value in {counted(len(emptied), 'column')} that most rows of the"
        f" fit had one in: {names}. Predictions may be poor.",
    )


def columns_without_cells(summary: FitSummary, rows: Columns) -> list[str]:
    """Return columns that are empty in all rows, and were not in most rows of the fit."""
    columns = _comparable(rows) | rows.of_type("text")
    return [
        name
        for name, profile in summary.data.profiles.items()
        if 2 * profile.counts[-1] < sum(profile.counts) and not len(_without_empty(columns[name]))
    ]


def shares_differ(shares: tuple[float, float], n_rows: tuple[int, int]) -> bool:
    """Whether two shares of rows that are accepted are far from each other, beyond chance."""
    pooled = np.average(shares, weights=n_rows)
    error = math.sqrt(max(pooled * (1 - pooled), 1e-12) * sum(1 / n for n in n_rows))
    low, high = sorted(shares)
    return high - low > CLEAR_GAP * error and high >= LARGE_RATIO * low


def say_moved(moved: list[str]) -> str:
    """Return a sentence on columns that have changed, with a space before it; "" without any."""
    if not moved:
        return ""
    others = len(moved) - MOST_MOVES_SHOWN
    shown = [*moved[:MOST_MOVES_SHOWN], *([counted(others, "other")] if others > 0 else [])]
    return f" Columns that look different from the fit: {'; '.join(shown)}."


def columns_that_moved(summary: FitSummary, rows: Columns) -> list[str]:
    """Return columns that look different from the fit, in words, the most different first.

    Chi-squared tests compare the cells of each column with those of the fit, by Holm's procedure
    over the columns: if none has changed, one is named in at most 5% of all files. A column is
    named if it also differs in a share SMALLEST_MOVE of the rows.
    """
    if len(rows) < FEWEST_ROWS:
        return []
    columns = _comparable(rows) | rows.of_type("text")
    counts = {
        name: _count_cells(columns[name], profile.edges, profile.levels)
        for name, profile in summary.data.profiles.items()
    }
    p_values = {
        name: _p_value(np.array(profile.counts), counts[name])
        for name, profile in summary.data.profiles.items()
    }
    moves = []
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        if p_values[name] > RISK / (len(p_values) - rank):
            break
        profile = summary.data.profiles[name]
        at_fit = np.array(profile.counts) / sum(profile.counts)
        now = counts[name] / len(rows)
        size = np.abs(now - at_fit).sum() / 2
        if size >= SMALLEST_MOVE:
            is_date = name in rows.of_type("date")
            moves.append((size, f"{name!r} ({_largest_change(profile, at_fit, now, is_date)})"))
    return [words for _, words in sorted(moves, key=lambda move: -move[0])]


def _p_value(at_fit: np.ndarray, now: np.ndarray) -> float:
    """Return the p-value of the test that two arrays of counts come from the same source."""
    from scipy.stats import chi2_contingency  # takes its time to import

    table = np.array([at_fit, now])
    expected = table.sum(axis=0) * table.sum(axis=1).min() / table.sum()
    is_rare = expected < FEWEST_EXPECTED
    table = np.column_stack([table[:, ~is_rare], table[:, is_rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    return float(chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0


def _largest_change(
    profile: ColumnProfile, at_fit: np.ndarray, now: np.ndarray, is_date: bool
) -> str:
    """Say which share changed most: of empty cells, a level, or numbers beyond an edge."""
    if profile.edges:
        edges = [f"{edge:.4g}" for edge in profile.edges]
        if is_date:
            edges = [str(FIRST_DAY + math.floor(day)) for day in profile.edges]
        names = ["empty", *(f"{side} {edge}" for side in ("up to", "above") for edge in edges)]
        up_to = [np.cumsum(shares[:-2]) for shares in (at_fit, now)]
        before, after = (
            np.concatenate([shares[-1:], below, shares[:-1].sum() - below])
            for shares, below in zip((at_fit, now), up_to, strict=True)
        )
    else:
        names = ["empty", *map(repr, profile.levels), "other values"]
        before, after = np.roll(at_fit, 1), np.roll(now, 1)
    change = (after - before).round(6)
    largest = max(range(len(names)), key=lambda k: (abs(change[k]), change[k]))
    return f"{after[largest]:.0%} {names[largest]}, at the fit {before[largest]:.0%}"
