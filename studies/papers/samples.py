"""From the name of a set, a split and a seed to the rows that a method sees and the rows that it is
judged on.

Everything random about a `Sample` comes from its seed: methods that are compared see the same draw.

    A1, A2, B1, B2   {"hidden": fraction, "n": 500, "variance": ..., "noise": ...}; 1000 test rows
    iris, wdbc       {"hidden": fraction, "train": rows, "standardize": bool}
    reuters          {"draw": "random" | "file", "positive": n, "negative": n}, {"draw": "example"}
    tutorial         {}: comes with its split
    psvm's sets      {"labeled": fraction, "test": fraction}
    cs4vm's sets     {"positive": n, "cost": number or "uniform"}

The simulated sets are those of cluster-SVM (section 4):

    A1   two classes, x in R^20 normal around -0.7 and +0.7, covariance `variance` I (4)
    A2   three classes around 1, 2, 3, covariance `variance` I (printed 4; the table fits 2)
    B1   x in R^2 standard normal, y = sign(log(2 x1^2 + 2 x2^2) + shift + N(0, noise^2)), noise 3
    B2   x in R^2 standard normal, y = which third of 2 cos(x1) + log(1 + x2^2) + N(0, noise^2),
         noise 0 as printed; thirds cut at the 33% and 66% points

B1's shift, which the paper leaves open, balances the classes as its results require. `bayes_rate`
is the accuracy of a classifier that knows the distribution: no mean accuracy may be above it, so it
reveals a wrong simulator or a split that leaks.

The CS4VM paper does not say how its sets were prepared; each choice is the one that its numbers fit:
columns scaled to [0, 1] over all rows (Wdbc standardized and projected on 14 principal components
first); halves drawn at random, the training half with the odd row; ten labels of the training half,
`positive` of them from class 1; the cost is that of a missed row of class 1, where an accepted row of
class 0 costs 1, and "uniform" draws it from U[0, 1000] for every seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse import csr_matrix, vstack
from scipy.stats import norm

from studies.data import NamedSet, load, why_missing

UNLABELED = -1
REUTERS = ("reuters-train", "reuters-test", "reuters-induction")
SIMULATED = {"A1": 1, "A2": 2, "B1": 3, "B2": 4}  # the number keeps equal seeds of two sets apart
N_TEST = 1000
EACH_LABELED = 5  # documents of each class that Reuters starts from
N_LABELED = 10  # of CS4VM's sets
# The rows of reuters-train that are among the ten labeled documents of SVMlight's example.
KNOWN_ROWS = (0, 1, 2, 996, 997, 1001, 1083, 1217, 1512, 1999)
N_FEATURES, B1_SHIFT, CUTS = 20, -1.02, (0.33, 0.66)
GRID = 400  # midpoints of equal shares of a normal distribution, over which B2 is integrated


@dataclass(frozen=True, eq=False)
class Sample:
    """Training rows with the labels that a method may see, their true labels, and test rows.

    costs   of a missed row of class 1 and of an accepted row of class 0, where a task has costs
    """

    X: Any
    y: NDArray
    truth: NDArray
    X_test: Any
    y_test: NDArray
    costs: tuple[float, float] | None = None

    @property
    def is_labeled(self) -> NDArray[np.bool_]:
        """Which training rows show their label."""
        return self.y != UNLABELED


def draw_sample(data: str, how: dict[str, Any], seed: int) -> Sample:
    """Draw a sample."""
    if data in SIMULATED:
        return _simulated(data, seed, **how)
    if data == "tutorial":
        return _published_split(_load("tutorial"))
    if data == "reuters":
        return _reuters(seed, **how)
    if "cost" in how:
        return _costed(data, seed, **how)
    if "labeled" in how:
        return _plain(_load(data), seed, **how)
    return _bundled(_load(data), seed, **how)


def why_no_sample(data: str) -> str:
    """Return which file of a set is missing here and how to get it; "" if none is."""
    names = () if data in SIMULATED else REUTERS if data == "reuters" else (data,)
    return next(filter(None, map(why_missing, names)), "")


_load = lru_cache(maxsize=8)(load)


def _hide(truth: NDArray, kept: NDArray) -> NDArray:
    """Return the labels with all but the kept rows' hidden."""
    y = np.full_like(truth, UNLABELED)
    y[kept] = truth[kept]
    return y


def _hide_at_random(truth: NDArray, hidden: float, rng: np.random.Generator) -> NDArray:
    """Hide a fraction of the labels at random, drawn again until every class shows one."""
    n_labeled = round(len(truth) * (1 - hidden))
    n_classes = len(np.unique(truth))
    while True:
        shown = rng.permutation(len(truth))[:n_labeled]
        if len(np.unique(truth[shown])) == n_classes:
            return _hide(truth, shown)


def _simulated(
    name: str,
    seed: int,
    hidden: float,
    n: int = 500,
    variance: float = 4.0,
    noise: float | None = None,
) -> Sample:
    rng = np.random.default_rng([seed, SIMULATED[name]])
    X, truth = simulate(name, n, rng, variance=variance, noise=noise)
    X_test, y_test = simulate(name, N_TEST, rng, variance=variance, noise=noise)
    return Sample(X, _hide_at_random(truth, hidden, rng), truth, X_test, y_test)


def _bundled(
    data: NamedSet, seed: int, hidden: float, train: int, standardize: bool = False
) -> Sample:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.y))
    X = np.asarray(data.X, dtype=float)
    if standardize:
        seen = X[order[:train]]
        X = (X - seen.mean(axis=0)) / seen.std(axis=0)
    rows, rest = order[:train], order[train:]
    truth = data.y[rows]
    return Sample(X[rows], _hide_at_random(truth, hidden, rng), truth, X[rest], data.y[rest])


def _published_split(data: NamedSet) -> Sample:
    parts = data.split
    assert parts is not None, "a set without a published split"
    y = _hide(data.y, parts.labeled)
    train, test = parts.train, parts.test
    return Sample(data.X[train], y[train], data.y[train], data.X[test], data.y[test])


def _plain(data: NamedSet, seed: int, labeled: float, test: float) -> Sample:
    """Test rows and labeled rows are fractions of all rows, drawn among those with a label."""
    n = len(data.y)
    order = np.random.RandomState(seed).permutation(n)
    pool = order[data.y[order] != UNLABELED]
    n_test, n_labeled = round(test * n), round(labeled * n)
    rows = np.sort(pool[:n_test])
    y = _hide(data.y, pool[n_test : n_test + n_labeled])
    train = np.setdiff1d(np.arange(n), rows)
    return Sample(data.X[train], y[train], data.y[train], data.X[rows], data.y[rows])


def _reuters(seed: int, draw: str, positive: int = 0, negative: int = 0) -> Sample:
    test = _load("reuters-test")
    if draw == "random":
        X, truth, n_labeled = _random_documents(seed, positive, negative)
    else:
        X, truth, n_labeled = _known_documents(draw, positive, negative)
    return Sample(X, _hide(truth, np.arange(n_labeled)), truth, test.X, test.y)


def _random_documents(seed: int, positive: int, negative: int) -> tuple[csr_matrix, NDArray, int]:
    """Return five labeled documents per class, and as many unlabeled ones as asked for or left."""
    pool = _load("reuters-train")
    order = np.random.default_rng(seed).permutation(len(pool.y))
    of_class = [order[pool.y[order] == label] for label in (1, 0)]
    rest = [
        rows[EACH_LABELED : EACH_LABELED + n]
        for rows, n in zip(of_class, (positive, negative), strict=True)
    ]
    rows = np.concatenate([*(rows[:EACH_LABELED] for rows in of_class), *rest])
    return pool.X[rows], pool.y[rows], 2 * EACH_LABELED


def _known_documents(draw: str, positive: int, negative: int) -> tuple[csr_matrix, NDArray, int]:
    """SVMlight's ten labeled documents, then the first of each class in file order, or the test's."""
    known = _load("reuters-induction")
    others = _load("reuters-test" if draw == "example" else "reuters-train")
    rows = np.arange(len(others.y))
    if draw == "file":
        fresh = np.setdiff1d(rows, KNOWN_ROWS)
        of_class = [fresh[others.y[fresh] == label] for label in (1, 0)]
        rows = np.sort(np.concatenate([of_class[0][:positive], of_class[1][:negative]]))
    X = csr_matrix(vstack([known.X, others.X[rows]]))
    return X, np.concatenate([known.y, others.y[rows]]), len(known.y)


# ---- CS4VM ----


def _costed(name: str, seed: int, positive: int, cost: float | str) -> Sample:
    X, y = _prepared(name)
    number = crc32(name.encode())  # keeps equal seeds of two sets apart
    order = np.random.default_rng([seed, number]).permutation(len(y))
    train, test = np.split(order, [(len(y) + 1) // 2])
    labeled = np.concatenate(
        [train[y[train] == 1][:positive], train[y[train] == 0][: N_LABELED - positive]]
    )
    if cost == "uniform":
        cost = np.random.default_rng([seed, number, 1]).uniform(0, 1000.0)
    shown = _hide(y, labeled)[train]
    return Sample(X[train], shown, y[train], X[test], y[test], (float(cost), 1.0))


@lru_cache(maxsize=32)
def _prepared(name: str) -> tuple[NDArray[np.float64], NDArray]:
    """Return the rows of a set of CS4VM, scaled, and their classes."""
    data = _load(name)
    X = np.asarray(data.X, dtype=np.float64)
    if name == "wdbc":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        X = X @ np.linalg.svd(X, full_matrices=False)[2][:14].T
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0), data.y


# ---- the simulated sets of cluster-SVM ----


def simulate(
    name: str, n: int, rng: np.random.Generator, *, variance: float = 4.0, noise: float | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw n rows (X, y) of a simulated set; classes count from 0."""
    if name in ("A1", "A2"):
        centers = np.array([-0.7, 0.7] if name == "A1" else [1.0, 2.0, 3.0])
        y = rng.integers(len(centers), size=n)
        spread = np.sqrt(variance) * rng.standard_normal((n, N_FEATURES))
        return centers[y][:, None] + spread, y
    X = rng.standard_normal((n, 2))
    if name == "B1":
        score = np.log(2 * (X**2).sum(axis=1)) + B1_SHIFT
        score += (3.0 if noise is None else noise) * rng.standard_normal(n)
        return X, (score > 0).astype(np.int64)
    sd = noise or 0.0
    return X, np.searchsorted(_b2_cuts(sd), _b2_score(X) + sd * rng.standard_normal(n))


@cache
def bayes_rate(name: str, variance: float = 4.0, noise: float | None = None) -> float:
    """Return the best accuracy possible on a simulated set."""
    if name in ("A1", "A2"):
        step = 1.4 if name == "A1" else 1.0  # between neighboring centers, in every coordinate
        inner = norm.cdf(np.sqrt(N_FEATURES) * step / (2 * np.sqrt(variance)))
        return float(inner if name == "A1" else (4 * inner - 1) / 3)
    if name == "B1":  # x1^2 + x2^2 is twice a standard exponential variable
        shares = (np.arange(GRID**2) + 0.5) / GRID**2
        score = np.log(-4 * np.log1p(-shares)) + B1_SHIFT
        return float(norm.cdf(np.abs(score) / (3.0 if noise is None else noise)).mean())
    if not noise:
        return 1.0
    score = _b2_score(_b2_grid())
    low, high = (norm.cdf((cut - score) / noise) for cut in _b2_cuts(noise))
    return float(np.stack([low, high - low, 1 - high]).max(axis=0).mean())


def _b2_score(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return 2 * np.cos(X[:, 0]) + np.log1p(X[:, 1] ** 2)


def _b2_grid() -> NDArray[np.float64]:
    points = norm.ppf((np.arange(GRID) + 0.5) / GRID)
    return np.stack(np.meshgrid(points, points), axis=-1).reshape(-1, 2)


@cache
def _b2_cuts(noise: float) -> NDArray[np.float64]:
    """Return where B2's classes are separated: the 33% and 66% points of its noisy score."""
    score = _b2_score(_b2_grid())
    if noise == 0:
        return np.quantile(score, CUTS)
    return np.array(
        [brentq(lambda t, p=p: norm.cdf((t - score) / noise).mean() - p, -20, 40) for p in CUTS]
    )
