"""Tables and texts of the study of practitioners: rows as a method sees them, and which class each
is of. Many of them served the development of `AutoSVC`; the study of few labels has others, in
`public`.

Tables are numbers in a DataFrame, so that `AutoSVC` prepares their columns and scikit-learn's
classifiers get them standardized. A set of several classes becomes one class (in brackets) against
the others. Texts are the docstrings of installed libraries, cut to the first paragraph or to what
follows it; the class is the library. Names of the libraries are struck out.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from studies.data import load

TABLES = (
    "german",
    "heart-statlog",
    "diabetes",
    "liver-disorders",
    "spectf",
    "clean1",
    "krvskp",
    "house-votes",
    "isolet",
    "wdbc",
    "wine (2)",
    "adult",
    "vehicle_full (4)",
    "texture_full (2)",
    "optdigits_full (8)",
)
TEXTS = (
    "docstrings: scipy",
    "docstrings: sklearn",
    "docstrings: pandas",
    "docstring bodies: scipy",
    "docstring bodies: sklearn",
)
LIBRARIES = ("numpy", "scipy", "sklearn", "pandas")
FEWEST_CHARACTERS = 20


@lru_cache(maxsize=32)
def load_task(name: str) -> tuple[Any, np.ndarray]:
    """The rows of a set, a DataFrame or an array of strings, and its classes, 0 or 1."""
    if name.startswith("docstring"):
        kind, positive = name.split(": ")
        return _docstrings(positive, is_body=kind == "docstring bodies")
    stem, _, code = name.partition(" (")
    data = load(stem)
    X = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X, dtype=float)
    y = (data.y == int(code[:-1])).astype(int) if code else np.asarray(data.y).astype(int)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y


def _docstrings(positive: str, *, is_body: bool) -> tuple[np.ndarray, np.ndarray]:
    texts: dict[str, int] = {}
    for library in LIBRARIES:
        for text in _documented(library):
            first, _, rest = inspect.cleandoc(text).partition("\n\n")
            part = re.sub(
                "|".join((*LIBRARIES, "scikit-learn", "np", "sp", "pd")),
                "",
                rest if is_body else first,
            )
            if len(part) >= FEWEST_CHARACTERS:
                texts.setdefault(part[:2000], int(library == positive))
    return np.array(list(texts), dtype=object), np.array(list(texts.values()))


def _documented(library: str) -> Iterator[str]:
    """The docstrings of the public functions, classes and methods of a library, each once, in a
    fixed order.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = importlib.import_module(library)
        names = sorted(
            found.name
            for found in pkgutil.iter_modules(root.__path__)
            if not found.name.startswith("_")
        )
        for module_name in (
            library,
            *(f"{library}.{name}" for name in names if "test" not in name),
        ):
            try:
                module = importlib.import_module(module_name)
            except ImportError:
                continue
            for name in sorted(vars(module)):
                thing = getattr(module, name)
                if not name.startswith("_") and str(getattr(thing, "__module__", "")).startswith(
                    library
                ):
                    yield from _of_thing(thing)


def _of_thing(thing: Any) -> Iterator[str]:
    things = [thing]
    if inspect.isclass(thing):
        things += [value for name, value in sorted(vars(thing).items()) if not name.startswith("_")]
    for one in things:
        text = getattr(one, "__doc__", None)
        if callable(one) and isinstance(text, str):
            yield text
