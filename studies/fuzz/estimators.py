"""Random estimators on random rows: scales from 1e-300 to 1e308, ties, odd types, wrong values, all
parameters.

What must hold: a fit ends with a model or with a ValueError or TypeError in words about the input,
within 20 s of the processor on a few rows; every prediction is a class and every score a finite
number; labels stay as they were given; the same fit gives the same model, and so do a pickle and a
model file. Then the model is used: in a campaign, for a model card, as ONNX; and the rows for an
`UnlabeledKernel`.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from semisvm import UnlabeledKernel, export, load, save
from studies.fuzz.parameters import ESTIMATORS, EXTREME, choices_of, make_estimator
from studies.fuzz.verdict import Verdict, of_error, watched

Recipe = dict[str, Any]
SHAPES = (
    "normal",
    "normal",
    "integers",
    "line",
    "constant",
    "duplicates",
    "one hot",
    "zeros",
    "constant column",
)
SCALES = (
    1.0,
    1.0,
    1.0,
    1e-300,
    1e-160,
    1e-30,
    1e-8,
    1e4,
    1e6,
    1e19,
    1e30,
    1e100,
    1e149,
    1e160,
    1e308,
)
CONTAINERS = (
    "array", "array", "csr", "csc", "csr int64", "frame", "list", "fortran", "read-only", "strided", "named", "table",
    "texts",
)  # fmt: skip
THEN = (None, "campaign", "file", "onnx", "unlabeled kernel")
TYPES = (
    "float64",
    "float64",
    "float32",
    "int64",
    "float16",
    "object",
    "bool",
    "uint8",
    "str",
    "complex128",
)
POISONS = (None, None, None, None, "nan", "inf", "-inf", "text", "none", "one huge", "one tiny")
TARGETS = (
    "int",
    "int",
    "text",
    "bool",
    "float nan",
    "object none",
    "Int64",
    "category",
    "list",
    "column",
    "2d",
    "short",
)
WEIGHTS = (
    None,
    None,
    None,
    "ones",
    "integers",
    "some zero",
    "tiny",
    "huge",
    "nan",
    "negative",
    "short",
    "all zero",
)


def draw_parameters(random: np.random.Generator, name: str) -> dict[str, Any]:
    """Draw some parameters of an estimator and their values."""
    parameters: dict[str, Any] = {}
    choices = choices_of(name)
    for parameter in random.permutation(list(choices))[: random.choice([0, 0, 1, 2, 3, 5, 20])]:
        values = [
            *choices[parameter],
            *(EXTREME.get(parameter, []) if random.random() < 0.3 else []),
        ]
        if values:
            parameters[str(parameter)] = values[int(random.integers(len(values)))]
    if random.random() < 0.5 and "random_state" in choices:
        parameters.setdefault("random_state", 0)
    return parameters


def make(random: np.random.Generator) -> Recipe:
    """Draw an estimator, some of its parameters, rows, a target and weights."""
    name = str(random.choice(list(ESTIMATORS)))
    parameters = draw_parameters(random, name)

    def pick(options: Any, plain: float = 0.5) -> Any:
        return (
            options[0] if random.random() < plain else options[int(random.integers(len(options)))]
        )

    return {
        "estimator": name,
        "parameters": parameters,
        "n": int(random.choice([1, 2, 3, 5, *[12] * 12])),
        "d": int(random.choice([1, 2, 3, 3, 20])),
        "classes": int(random.choice([1, *[2] * 9, 3, 3, 3, 6])),
        "labeled": float(random.choice([0.0, 0.3, 0.5, *[0.7] * 5, 1.0])),
        "shape": pick(SHAPES, 0.3),
        "scale": pick(SCALES, 0.3),
        "uneven": bool(random.random() < 0.1),
        "container": pick(CONTAINERS),
        "type": pick(TYPES, 0.8),
        "poison": pick(POISONS, 0.8),
        "target": pick(TARGETS, 0.8),
        "weights": pick(WEIGHTS, 0.75),
        "seed": int(random.integers(1000)),
        "then": pick(THEN, 0.7),
    }


PLAIN = {
    "shape": "normal", "scale": 1.0, "uneven": False, "container": "array", "type": "float64", "poison": None,
    "target": "int", "weights": None, "labeled": 0.7, "classes": 2, "d": 2, "n": 12, "seed": 0, "then": None,
}  # fmt: skip


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """Leave out one parameter, or make one thing about the rows plain."""
    for name in list(recipe["parameters"]):
        yield {
            **recipe,
            "parameters": {
                key: value for key, value in recipe["parameters"].items() if key != name
            },
        }
    for name, value in PLAIN.items():
        if recipe[name] != value:
            yield {**recipe, name: value}


def rows_of(recipe: Recipe) -> np.ndarray:
    """The rows as an array of float64."""
    random = np.random.default_rng(recipe["seed"])
    n = recipe["n"]
    d = recipe["d"]
    code = np.arange(n) % recipe["classes"]
    X = {
        "normal": lambda: random.normal(size=(n, d)) + 2.0 * code[:, None],
        "integers": lambda: random.integers(0, 3, (n, d)).astype(float),
        "line": lambda: np.tile(code[:, None] + 0.5 * random.integers(-1, 2, (n, 1)), (1, d)),
        "constant": lambda: np.ones((n, d)),
        "duplicates": lambda: random.normal(size=(3, d))[random.integers(0, 3, n)],
        "one hot": lambda: np.eye(max(n, d))[:n, :d],
        "zeros": lambda: np.zeros((n, d)),
        "constant column": lambda: np.hstack(
            [random.normal(size=(n, max(d - 1, 1))), np.full((n, 1), 7.0)]
        ),
    }[recipe["shape"]]()
    with np.errstate(over="ignore"):
        X = X * recipe["scale"]
        if recipe["uneven"]:
            X[:, 0] *= 1e6
    return X


def given_rows(recipe: Recipe) -> Any:
    """The rows as the estimator is given them."""
    X: Any = rows_of(recipe)
    poison = recipe["poison"]
    at = (recipe["n"] // 2, 0)
    numbers = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "one huge": 1e300, "one tiny": 5e-324}
    if poison in numbers:
        X[at] = numbers[poison]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = X.astype(recipe["type"])
    if poison in ("text", "none"):
        X = X.astype(object)
        X[at] = "text" if poison == "text" else None
    return _contained(X, recipe["container"])


def _contained(X: np.ndarray, container: str) -> Any:
    if container in ("csr", "csc", "csr int64"):
        if X.dtype.kind not in "fiub":
            return X
        made = (sparse.csc_array if container == "csc" else sparse.csr_array)(X.astype(float))
        if container == "csr int64":
            made.indices = made.indices.astype(np.int64)
            made.indptr = made.indptr.astype(np.int64)
        return made
    if container == "fortran":
        return np.asfortranarray(X)
    if container == "strided":
        return np.repeat(X, 2, axis=1)[:, ::2]
    if container == "read-only":
        X.flags.writeable = False
    if container == "list":
        return X.tolist()
    if container == "frame":
        return pd.DataFrame(X, index=np.arange(len(X)) + 100)
    words = np.array([" ".join(f"w{cell}" for cell in row) for row in X.tolist()], dtype=object)
    if container == "texts":
        return words
    if container in ("named", "table"):
        frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
        kinds = np.array(["red", "blue", None], dtype=object)[np.arange(len(X)) % 3]
        return (
            frame
            if container == "named"
            else frame.assign(kind=kinds, note=words + " and some more words")
        )
    return X


def given_target(recipe: Recipe) -> tuple[Any, np.ndarray]:
    """The target as the estimator is given it, and the codes behind it, -1 for no label."""
    n = recipe["n"]
    classes = recipe["classes"]
    random = np.random.default_rng(recipe["seed"] + 1)
    code = np.arange(n) % classes
    is_labeled = random.random(n) < recipe["labeled"]
    is_labeled[: min(n, classes)] |= recipe["labeled"] > 0
    codes = np.where(is_labeled, code, -1)
    if recipe["estimator"] == "PositiveUnlabeledSVC":
        codes = np.where(code == 1, codes, -1) if classes > 1 else codes
    names = np.array([f"c{k}" for k in range(classes)], dtype=object)
    made = {
        "int": lambda: codes,
        "text": lambda: np.where(codes < 0, "", names[codes]).astype(str),
        "bool": lambda: np.where(codes < 0, None, (codes > 0).astype(object)),
        "float nan": lambda: np.where(codes < 0, np.nan, codes),
        "object none": lambda: np.where(codes < 0, None, codes.astype(object)),
        "Int64": lambda: pd.Series(np.where(codes < 0, None, codes.astype(object)), dtype="Int64"),
        "category": lambda: pd.Categorical(np.where(codes < 0, None, names[codes])),
        "list": codes.tolist,
        "column": lambda: codes[:, None],
        "2d": lambda: np.stack([codes, codes], axis=1),
        "short": lambda: codes[:-1],
    }
    return made[recipe["target"]](), codes


def given_weights(recipe: Recipe) -> np.ndarray | None:
    """The sample weights."""
    n = recipe["n"]
    random = np.random.default_rng(recipe["seed"] + 2)
    return {
        None: lambda: None,
        "ones": lambda: np.ones(n),
        "integers": lambda: random.integers(1, 4, n).astype(float),
        "some zero": lambda: (np.arange(n) % 3 > 0).astype(float),
        "tiny": lambda: np.full(n, 1e-300),
        "huge": lambda: np.full(n, 1e300),
        "nan": lambda: np.where(np.arange(n) == 0, np.nan, 1.0),
        "negative": lambda: -np.ones(n),
        "short": lambda: np.ones(max(n - 1, 0)),
        "all zero": lambda: np.zeros(n),
    }[recipe["weights"]]()


def check(recipe: Recipe) -> Verdict:
    """Fit, predict, and compare with the same fit done in other ways."""
    try:
        with watched():
            return _fit_and_compare(recipe)
    except Exception as error:
        verdict = of_error(error)
        if verdict.kind == "refused" and _is_harmless(recipe):
            return Verdict("refused a plain input", verdict.told, verdict.where)
        return verdict


def _is_harmless(recipe: Recipe) -> bool:
    """Whether defaults on these rows have to work."""
    plain = {name: PLAIN[name] for name in PLAIN if name not in ("d", "seed", "shape", "labeled")}
    return not set(recipe["parameters"]) - {"random_state"} and all(recipe[key] == plain[key] for key in plain) and (
        recipe["labeled"] == 0.7 and recipe["estimator"] not in ("PreferenceClassifier",)
    )  # fmt: skip


def _fit_and_compare(recipe: Recipe) -> Verdict:
    X, (y, codes), weight = given_rows(recipe), given_target(recipe), given_weights(recipe)
    if (
        recipe["parameters"].get("kernel") == "precomputed"
        and isinstance(X, np.ndarray)
        and X.dtype.kind == "f"
    ):
        with np.errstate(all="ignore"):
            X = X @ X.T
    keywords = {} if weight is None else {"sample_weight": weight}
    model = make_estimator(recipe["estimator"], recipe["parameters"]).fit(X, y, **keywords)
    labels = model.predict(X)
    scores = _scores(model, X)
    found = _judge(model, X, labels, scores, codes, recipe)
    if found is not None:
        return found
    again = make_estimator(recipe["estimator"], recipe["parameters"])
    is_repeatable = (
        again.get_params().get("random_state", 0) == 0
        and again.get_params().get("time_limit") is None
    )
    if is_repeatable and not np.array_equal(_scores(again.fit(X, y, **keywords), X), scores):
        return Verdict("not repeatable", "the same fit has other scores")
    if not np.array_equal(_scores(pickle.loads(pickle.dumps(model)), X), scores):
        return Verdict("not repeatable", "a pickle has other scores")
    return _use(model, X, y, scores, recipe["then"])


def _use(model: Any, X: Any, y: Any, scores: np.ndarray, then: str | None) -> Verdict:
    """What users do with a fitted model; a refusal has to be in words here too."""
    if then == "campaign":
        campaign = model.campaign(X, min_precision=0.8, seed="00")
        asked = campaign.draw(3)
        campaign.tell(asked, [model.classes_[-1]] * len(asked))
        return Verdict("done" if campaign.verdict().reason else "no reason")
    if then == "onnx" and find_spec("skl2onnx") is not None:
        export.to_onnx(model)
    if then == "file":
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            path = save(model, Path(folder) / "model.skops")
            if not np.array_equal(_scores(load(path), X), scores):
                return Verdict("not repeatable", "a model file has other scores")
    if then == "unlabeled kernel" and not np.isfinite(UnlabeledKernel().fit_transform(X, y)).all():
        return Verdict("nan", "a kernel is not finite")
    return Verdict("done")


def _scores(model: Any, X: Any) -> np.ndarray:
    return np.asarray(
        model.decision_function(X)
        if hasattr(model, "decision_function")
        else model.predict_proba(X)
    )


def _judge(
    model: Any, X: Any, labels: Any, scores: np.ndarray, codes: np.ndarray, recipe: Recipe
) -> Verdict | None:
    if not np.isin(labels, model.classes_).all():
        return Verdict("label", f"{labels[~np.isin(labels, model.classes_)][0]!r} is no class")
    if not np.isfinite(scores).all():
        return Verdict("nan", "a score is not finite")
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        if not (np.isfinite(shares).all() and np.allclose(shares.sum(axis=1), 1)):
            return Verdict("nan", "probabilities are not finite or do not add up to 1")
    if (
        len(model.transduction_) != recipe["n"]
        or not np.isin(model.transduction_, model.classes_).all()
    ):
        return Verdict("label", "transduction_ holds what is no class")
    if (
        recipe["target"] in ("int", "list")
        and (model.transduction_[codes >= 0] != codes[codes >= 0]).any()
    ):
        return Verdict("label", "transduction_ changed a label of the user")
    return None
