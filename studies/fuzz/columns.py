"""A table at the fit and another one at `predict`: columns in another order, more of them, other
types that hold the same values, columns that are missing or renamed.

The same values give the same scores, however they are stored and wherever the columns are. A column
that is missing, has another name or was not there at the fit is named in the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from studies.fuzz.verdict import Verdict, of_error, watched

Recipe = dict[str, Any]
N_ROWS = 60
# What each column may be stored as without a change of its values.
STORED: dict[str, tuple[str, ...]] = {
    "whole": ("int64", "int32", "float64", "Int64", "object", "int64[pyarrow]", "float32"),
    "real": ("float64", "Float64", "object", "double[pyarrow]"),
    "flag": ("bool", "boolean", "object", "bool[pyarrow]"),
    "color": ("object", "category", "string", "string[pyarrow]"),
    "grade": ("category of ints", "category of floats"),
    "day": ("ns", "s", "us", "dates", "text", "object", "utc", "date32[pyarrow]"),
}
DAMAGE = ("none", "none", "none", "missing", "renamed", "missing and extra")


def make(random: np.random.Generator) -> Recipe:
    """Draw an order, types, more columns, and what is wrong."""
    return {
        "order": random.permutation(len(STORED)).tolist(),
        "stored": {name: str(random.choice(kinds)) for name, kinds in STORED.items()},
        "n_extra": int(random.choice([0, 0, 1, 3])),
        "damage": str(random.choice(DAMAGE)),
        "column": str(random.choice(list(STORED))),
        "index": str(random.choice(["range", "text", "reversed"])),
        "rows": sorted(random.choice(N_ROWS, int(random.integers(1, 20)), replace=False).tolist()),
    }


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """The order, the types and the index of the fit."""
    for name, value in (("order", list(range(len(STORED)))), ("n_extra", 0), ("index", "range")):
        if recipe[name] != value:
            yield {**recipe, name: value}
    for name, kinds in STORED.items():
        if recipe["stored"][name] != kinds[0]:
            yield {**recipe, "stored": recipe["stored"] | {name: kinds[0]}}


@cache
def fitted() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """A model of a table with a column of each kind, the table, and its scores."""
    from semisvm import AutoSVC

    random = np.random.default_rng(0)
    truth = np.arange(N_ROWS) % 2
    frame = pd.DataFrame(
        {
            "whole": random.integers(0, 50, N_ROWS) + 20 * truth,
            "real": random.normal(size=N_ROWS) + truth,
            "flag": random.random(N_ROWS) < 0.3 + 0.4 * truth,
            "color": random.choice(["red", "green", "blue"], N_ROWS).astype(object),
            "grade": pd.Categorical(random.integers(1, 4, N_ROWS)),
            "day": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(random.integers(0, 300, N_ROWS) + 100 * truth, unit="D"),
        }
    )
    y = np.where(np.arange(N_ROWS) % 3 == 0, -1, truth)
    model = AutoSVC(random_state=0).fit(frame, y)
    return model, frame, model.decision_function(frame)


def stored_as(name: str, column: pd.Series, kind: str) -> pd.Series:
    """The same values in another form."""
    if name == "day":
        forms: dict[str, Callable[[], Any]] = {
            "dates": lambda: column.dt.date.astype(object),
            "text": lambda: column.dt.strftime("%Y-%m-%d").astype(object),
            "object": lambda: column.astype(object),
            "utc": lambda: column.dt.tz_localize("UTC"),
            "date32[pyarrow]": lambda: column.dt.date.astype("date32[pyarrow]"),
        }
        return forms[kind]() if kind in forms else column.astype(f"datetime64[{kind}]")
    if kind.startswith("category of"):
        codes = column.astype(int)
        return codes.astype(float if kind.endswith("floats") else int).astype("category")
    return column.astype(kind)


def check(recipe: Recipe) -> Verdict:
    """Score the table in its other form, and compare."""
    try:
        model, frame, scores = fitted()
        with watched():
            return _compare(recipe, model, frame, scores)
    except Exception as error:
        return of_error(error)


def _compare(recipe: Recipe, model: Any, frame: pd.DataFrame, scores: np.ndarray) -> Verdict:
    rows = recipe["rows"]
    own = frame.iloc[rows]
    names = [list(STORED)[place] for place in recipe["order"]]
    new = pd.DataFrame({name: stored_as(name, own[name], recipe["stored"][name]) for name in names})
    for number in range(recipe["n_extra"]):
        new.insert(number, f"extra{number}", "x")
    if recipe["index"] != "range":
        new.index = (
            [f"r{k}" for k in range(len(new))] if recipe["index"] == "text" else new.index[::-1]
        )
    column = "extra0" if recipe["n_extra"] else ""
    if recipe["damage"] != "none":
        column = recipe["column"]
        new = (
            new.rename(columns={column: f"{column} "})
            if recipe["damage"] == "renamed"
            else new.drop(columns=column)
        )
        if recipe["damage"] == "missing and extra":
            new["another"] = 1
    if column:
        try:
            model.decision_function(new)
        except ValueError as error:
            if column not in str(error):
                return Verdict("unhelpful", f"{recipe['damage']} {column!r} is not named: {error}")
            return Verdict("refused", str(error))
        return Verdict("wrong", f"{recipe['damage']} {column!r} is not noticed")
    found = model.decision_function(new)
    if not np.allclose(found, scores[rows], rtol=1e-6, atol=1e-9):
        worst = float(np.abs(found - scores[rows]).max())
        stored = {name: kind for name, kind in recipe["stored"].items() if kind != STORED[name][0]}
        return Verdict("wrong", f"scores differ by {worst:.2g} with {sorted(stored.items())}")
    return Verdict("done")
