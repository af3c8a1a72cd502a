"""How much structure the rows have, without a look at labels: unlabeled rows can only help where there is some.

Two ratios compare the rows with random rows that have none:

    components   the largest eigenvalue of the centered kernel, over that of rows whose columns are independent (each
                 column's values are dealt to the rows at random): 1 where no direction stands out
    links        the mean distance to the k nearest rows in a Gaussian cloud, or in a uniform box where that is less,
                 of the same covariance, over that of the rows: 1 where rows fill the space evenly

Kernels whose ratio is about 1 are left out; graphs of rows that are much nearer to each other than the random ones are
believed in more than the ordinary kernels. The thresholds were chosen on four sets and on synthetic rows: docs/auto.md.
The random rows depend on the covariance and on each column's values alone, and are drawn from a fixed seed, so that the
order of the rows does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.estimators.auto.embedding import KernelComponents, make_components
from semisvm.estimators.auto.geometry import (
    Geometry,
    as_rows,
    make_geometry,
    nearest_rows,
    squared_distances_between,
)

COMPONENTS_FROM, COMPONENTS_FULLY = 1.1, 1.3  # ratios between which the kernels of components come into use
LINKS_FROM, LINKS_FULLY = 1.02, 1.08  # the same for graphs
LINKS_MORE_FROM, LINKS_POWER = 1.1, 8  # above this ratio graphs are believed in more, as a power of it


@dataclass(frozen=True)
class Structure:
    """The ratios of the module's docstring, and the beliefs that follow from them: 1 is that in an ordinary kernel.

    component_ratio   that of the components
    link_ratios       those of the links, by the number of neighbors asked for
    components        the belief in each kernel of components
    graphs            the belief in each kernel of a graph, by the number of neighbors asked for
    """

    component_ratio: float
    link_ratios: dict[int, float]
    components: float
    graphs: dict[int, float]


def find_structure(
    geometry: Geometry,
    products: np.ndarray,
    components: KernelComponents,
    n_neighbors: dict[int, int],
    lengths: dict[int, float],
) -> Structure:
    """Compare the rows of a geometry with random ones; `lengths` are the mean links of the graphs."""
    rng = np.random.default_rng(0)
    component_ratio = _component_ratio(geometry, components, rng)
    covariance = _covariance_spectrum(geometry, products)
    without = _random_lengths(covariance, geometry.n_rows, n_neighbors, rng)
    link_ratios = {k: without[k] / lengths[k] for k in n_neighbors}
    return Structure(
        component_ratio=component_ratio,
        link_ratios=link_ratios,
        components=_ramp(component_ratio, COMPONENTS_FROM, COMPONENTS_FULLY),
        graphs={k: _belief_in_links(ratio) for k, ratio in link_ratios.items()},
    )


def _component_ratio(geometry: Geometry, components: KernelComponents, rng: np.random.Generator) -> float:
    rows = as_rows(_with_independent_columns(geometry.rows, rng), is_cosine=geometry.is_cosine)
    random, _ = make_geometry(rows, np.ones(rows.shape[0]), is_cosine=geometry.is_cosine)
    products = random.products(random.rows)
    found, _ = make_components(random, products, random.squared_distances(random.rows, products), 1)
    expected = found.values[0] / random.total
    return float(components.values[0] / geometry.total / expected) if expected > 0 else 1.0


def _with_independent_columns(rows: Any, rng: np.random.Generator) -> Any:
    """Rows with the same values in each column, dealt at random; the same ones for sparse and for dense rows."""
    dealt = sparse.csc_matrix(rows, copy=True)
    dealt.eliminate_zeros()
    n, d = rows.shape
    for j in range(d):
        part = slice(dealt.indptr[j], dealt.indptr[j + 1])
        dealt.data[part] = np.sort(dealt.data[part])
        dealt.indices[part] = rng.choice(n, part.stop - part.start, replace=False)
    dealt.has_sorted_indices = False
    return sparse.csr_matrix(dealt) if sparse.issparse(rows) else dealt.toarray()


def _covariance_spectrum(geometry: Geometry, products: np.ndarray) -> np.ndarray:
    """The eigenvalues of the rows' covariance, each row counted by its mass, from the smaller of two matrices."""
    rows, mass = geometry.rows, geometry.mass
    if not sparse.issparse(rows) and rows.shape[1] < len(mass):
        centered = rows - geometry.mean
        spectrum = np.linalg.eigvalsh((centered * mass[:, None]).T @ centered)
    else:
        root = np.sqrt(mass)
        spectrum = np.linalg.eigvalsh(products * root * root[:, None])
    return np.maximum(spectrum[::-1][: min(rows.shape)], 0) / geometry.total


def _random_lengths(
    covariance: np.ndarray, n_rows: int, n_neighbors: dict[int, int], rng: np.random.Generator
) -> dict[int, float]:
    """Mean distances to the nearest rows among random ones, the smaller of the two kinds."""
    scale, shape = np.sqrt(covariance), (n_rows, len(covariance))
    found = dict.fromkeys(n_neighbors, np.inf)
    for draw in (rng.standard_normal, lambda size: rng.uniform(-np.sqrt(3), np.sqrt(3), size)):
        rows = draw(shape) * scale
        distances2 = squared_distances_between(rows, rows)
        np.fill_diagonal(distances2, np.inf)
        for k, count in n_neighbors.items():
            found[k] = min(found[k], float(nearest_rows(distances2, count)[1].mean()))
    return found


def _belief_in_links(ratio: float) -> float:
    return _ramp(ratio, LINKS_FROM, LINKS_FULLY) * max(1.0, ratio / LINKS_MORE_FROM) ** LINKS_POWER


def _ramp(value: float, start: float, end: float) -> float:
    return float(np.clip((value - start) / (end - start), 0, 1))
