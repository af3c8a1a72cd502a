"""Rows without structure, where unlabeled rows can't help, and two moons with very few labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.datasets import make_moons

from studies.harness.tables import markdown_table
from studies.ssl_book.errors import KernelsOfSet, error_on_unlabeled, supervised_codes

METHODS = ("SupervisedSVC, rbf", "AutoSVC(safe=False)", "AutoSVC()")
SEED = 1000  # the thresholds of AutoSVC were chosen with other seeds


def gaussian(n_columns: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A round Gaussian cloud, cut in two by a random plane through its middle."""
    X = rng.standard_normal((1000, n_columns))
    return X, (X @ rng.standard_normal(n_columns) > 0).astype(int)


def ellipse(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian cloud of 20 columns with very different variances; every column matters as much
    for the class.
    """
    scale = np.exp(-np.arange(20) / 6)
    X = rng.standard_normal((1000, 20))
    return X * scale, (X @ rng.standard_normal(20) > 0).astype(int)


def box(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A box of 3 columns, filled evenly."""
    X = rng.uniform(-1, 1, (1000, 3))
    return X, (X @ np.array([1, 1, 0.5]) > 0).astype(int)


def moons(noise: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two moons."""
    return make_moons(200, noise=noise, random_state=int(rng.integers(1 << 31)))


def at_random(n_labeled: int, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """So many rows, both classes among them."""
    while True:
        rows = rng.permutation(len(codes))[:n_labeled]
        if len(np.unique(codes[rows])) == 2:
            return rows


def per_class(n_labeled: int, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """So many rows of each class."""
    return np.concatenate([rng.permutation(np.flatnonzero(codes == c))[:n_labeled] for c in (0, 1)])


TWENTY_AND_100 = tuple(partial(at_random, count) for count in (20, 100))
ONE_AND_THREE = tuple(partial(per_class, count) for count in (1, 3))
CASES: dict[str, tuple[Callable, tuple[Callable, ...]]] = {
    "Gaussian, 10 columns": (partial(gaussian, 10), TWENTY_AND_100),
    "Gaussian, 50 columns": (partial(gaussian, 50), TWENTY_AND_100),
    "long ellipse, 20 columns": (ellipse, TWENTY_AND_100),
    "box, 3 columns": (box, TWENTY_AND_100),
    "two moons, noise 0.05": (partial(moons, 0.05), ONE_AND_THREE),
    "two moons, noise 0.08": (partial(moons, 0.08), ONE_AND_THREE),
    "two moons, noise 0.1": (partial(moons, 0.1), ONE_AND_THREE),
}


def measure(n_draws: int) -> list[dict]:
    """Mean errors in % over the draws: one cell per kind of rows and number of labels."""
    cells = []
    for title, (make, choices) in CASES.items():
        errors: dict[int, list[list[float]]] = {}
        for draw in range(n_draws):
            rng = np.random.default_rng(SEED + draw)
            X, codes = make(rng)
            free, safe = (KernelsOfSet(X, codes, is_safe=is_safe) for is_safe in (False, True))
            for choose in choices:
                labeled = choose(codes, rng)
                predicted = (
                    supervised_codes(X, codes, labeled, safe.library.components.median),
                    free.predict(labeled),
                    safe.predict(labeled),
                )
                errors.setdefault(len(labeled), []).append(
                    [error_on_unlabeled(one, codes, labeled) for one in predicted]
                )
        for n_labeled, values in errors.items():
            means = dict(zip(METHODS, np.mean(values, axis=0).tolist(), strict=True))
            cells.append({"rows": title, "labels": n_labeled, "draws": n_draws} | means)
            print(cells[-1], flush=True)
    return cells


def table_of(cells: list[dict]) -> str:
    """The cells as a table, which docs/measured/ssl-book.md shows."""
    lines = [
        [cell["rows"], str(cell["labels"]), *(f"{cell[method]:.1f}" for method in METHODS)]
        for cell in cells
    ]
    return markdown_table(["rows", "labels", *METHODS], lines)
