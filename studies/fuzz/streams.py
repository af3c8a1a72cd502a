"""Random rows that are not in memory: .npy files and folders of tables, with odd types, codes,
weights and damage.

What must hold is what must hold of an estimator on rows in memory; the same file gives the same
model.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.fuzz.estimators import PLAIN, SCALES, SHAPES, draw_parameters, given_weights, rows_of
from studies.fuzz.parameters import make_estimator
from studies.fuzz.verdict import Verdict, of_error, watched

Recipe = dict[str, Any]
CONTAINERS = ("npy", "npy", "npy", "csv folder", "parquet folder", "csv", "memory")
TYPES = (
    "float64",
    "float64",
    "float32",
    "int64",
    "float16",
    "object",
    "complex128",
    "one row",
    "fortran",
    "bytes",
)
DAMAGE = (
    "none",
    "none",
    "none",
    "cut",
    "header",
    "empty",
    "flip",
    "longer",
    "nan",
    "text",
    "other columns",
    "gone",
)
CODES = (
    "right",
    "right",
    "right",
    "y",
    "no classes",
    "too large",
    "short",
    "floats",
    "all unlabeled",
    "one class",
)


def make(random: np.random.Generator) -> Recipe:
    """Draw an estimator, its parameters, and a file of rows."""

    def pick(options: Any, plain: float = 0.6) -> Any:
        return (
            options[0] if random.random() < plain else options[int(random.integers(len(options)))]
        )

    name = str(
        random.choice(
            ["SupervisedSVC", "TransductiveSVC", "TransductiveSVC", "LabelMeanSVC"],
            p=[0.5, 0.2, 0.2, 0.1],
        )
    )
    parameters = draw_parameters(random, name)
    if random.random() < 0.8:
        parameters |= {"kernel": "linear"}
        for other in ("solver", "guard"):
            parameters.pop(other, None)
    return {
        "estimator": name,
        "parameters": parameters,
        **PLAIN,
        "n": int(random.choice([1, 3, *[40] * 8])),
        "d": int(random.choice([1, 2, 3, 20])),
        "classes": int(random.choice([1, *[2] * 9, 3])),
        "shape": pick(SHAPES, 0.4),
        "scale": pick(SCALES, 0.5),
        "uneven": bool(random.random() < 0.1),
        "container": str(random.choice(CONTAINERS)),
        "type": pick(TYPES, 0.7),
        "damage": pick(DAMAGE, 0.7),
        "codes": pick(CODES, 0.5),
        "weights": pick(
            (None, "ones", "integers", "some zero", "tiny", "huge", "nan", "negative", "short"), 0.7
        ),
        "seed": int(random.integers(1000)),
    }


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """Leave out one parameter, or make one thing about the rows plain."""
    for name in list(recipe["parameters"]):
        yield {
            **recipe,
            "parameters": {
                key: value for key, value in recipe["parameters"].items() if key != name
            },
        }
    for name, value in {
        **PLAIN,
        "n": 40,
        "container": "npy",
        "damage": "none",
        "codes": "right",
    }.items():
        if recipe[name] != value:
            yield {**recipe, name: value}


def check(recipe: Recipe) -> Verdict:
    """Write the file, fit twice, predict."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        with watched():
            return _fit_and_compare(recipe, folder)
    except Exception as error:
        return of_error(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fit_and_compare(recipe: Recipe, folder: Path) -> Verdict:
    X = rows_of(recipe)
    code = np.arange(recipe["n"]) % recipe["classes"]
    codes = np.where(np.arange(recipe["n"]) % 5 < 3, code, -1)
    scores = []
    for _ in range(2):
        rows, y = given_rows(recipe, folder, X, codes)
        model = make_estimator(recipe["estimator"], recipe["parameters"]).fit(rows, y)
        labels = model.predict(X)
        scores.append(np.asarray(model.decision_function(X)))
        if not np.isin(labels, model.classes_).all():
            return Verdict("label", "a prediction is no class")
        if not np.isfinite(scores[-1]).all():
            return Verdict("nan", "a score is not finite")
    if model.time_limit is None and not np.array_equal(*scores):
        return Verdict("not repeatable", "the same fit has other scores")
    return Verdict("done")


def given_rows(recipe: Recipe, folder: Path, X: np.ndarray, codes: np.ndarray) -> tuple[Any, Any]:
    """The rows and the target as the estimator is given them."""
    from semisvm.primal import FileRows
    from semisvm.primal.rows import MemoryRows
    from semisvm.tables import rows_on_disk

    kind = recipe["codes"]
    how = recipe["damage"]
    if how == "nan":
        X = X.copy()
        X[len(X) // 2, 0] = np.nan
    given = {
        "too large": codes + 5, "short": codes[:-1], "floats": codes + 0.5, "all unlabeled": np.full(len(codes), -1),
        "one class": np.minimum(codes, 0),
    }.get(kind, codes)  # fmt: skip
    classes = (
        None if kind == "no classes" else np.array([f"c{k}" for k in range(recipe["classes"])])
    )
    weight = given_weights(recipe)
    if recipe["container"] == "memory":
        return MemoryRows(X, None if kind == "y" else given, weight), given if kind == "y" else None
    if recipe["container"] == "npy":
        path = folder / "rows.npy"
        _save(path, X, recipe["type"])
        _damage(path, how, recipe["seed"])
        if kind == "y":
            return FileRows(path, None, weight), given
        return FileRows(path, given, weight, classes), None
    return rows_on_disk(_write_tables(recipe, folder, X, given), target="kind"), None


def _save(path: Path, X: np.ndarray, type: str) -> None:
    with np.errstate(all="ignore"):
        made = {
            "one row": lambda: X[0], "fortran": lambda: np.asfortranarray(X), "object": lambda: X.astype(object),
            "bytes": lambda: X.astype("S8"),
        }.get(type, lambda: X.astype(type))()  # fmt: skip
    np.save(path, made, allow_pickle=type == "object")


def _write_tables(recipe: Recipe, folder: Path, X: np.ndarray, codes: np.ndarray) -> Path:
    kind = recipe["container"]
    how = recipe["damage"]
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])[: len(codes)]
    frame["kind"] = [f"c{code:g}" if code >= 0 else "" for code in codes]
    half = len(frame) // 2
    parts = folder / "parts"
    parts.mkdir(exist_ok=True)
    for number, part in enumerate((frame[:half], frame[half:])):
        if number and how == "other columns":
            part = part.rename(columns={"f0": "g"})
        if number and how == "text":
            part = part.assign(f0="text")
        path = parts / f"{number}.{'parquet' if kind.startswith('parquet') else 'csv'}"
        if path.suffix == ".csv":
            part.to_csv(path, index=False)
        else:
            part.to_parquet(path, index=False)
    _damage(path, how, recipe["seed"])
    return path if kind == "csv" else parts


def _damage(path: Path, how: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    content = bytearray(path.read_bytes())
    at = int(random.integers(max(len(content), 1)))
    if how == "flip":
        content[at] ^= 1 << int(random.integers(8))
    elif how == "gone":
        path.unlink()
        return
    cut = {
        "cut": content[:at],
        "header": content[:90],
        "empty": b"",
        "longer": content + content[-16:],
    }
    path.write_bytes(bytes(cut.get(how, content)))
