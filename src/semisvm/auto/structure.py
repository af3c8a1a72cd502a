"""How much structure the rows have, regardless of the labels: without any, unlabeled rows can't
help.

components   the largest eigenvalue of the centered kernel, over that of rows whose columns are
             independent (each column's values are dealt to the rows at random): 1 where no
             direction stands out
links        the mean distance to the k nearest rows in a Gaussian cloud, or in a uniform box where
             that is less, of the same covariance, over that of the rows: 1 where rows fill the
             space evenly
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.auto.geometry import (
    SAME_DISTANCE,
    between,
    centered_products,
    find_components,
    median_of,
    nearest_rows,
    squared_distances,
)
from semisvm.matrices import is_sparse_matrix

# Ratios between which the kernels of components come into use, and graphs.
COMPONENTS_FROM, COMPONENTS_FULLY = 1.1, 1.3
LINKS_FROM, LINKS_FULLY = 1.02, 1.08
LINKS_MORE_FROM, LINKS_POWER = 1.1, 8  # above it the prior weight of graphs grows with this power
SEEN_FROM = 300  # of the random rows, so many are looked at


@dataclass(frozen=True)
class Structure:
    """The two ratios, that of links by number of neighbors, and the prior weights that follow: an
    ordinary kernel has 1.
    """

    component_ratio: float
    link_ratios: dict[int, float]

    @property
    def prior_of_components(self) -> float:
        return _ramp(self.component_ratio, COMPONENTS_FROM, COMPONENTS_FULLY)

    def prior_of_graph(self, k: int) -> float:
        ratio = self.link_ratios[k]
        return (
            _ramp(ratio, LINKS_FROM, LINKS_FULLY) * max(1.0, ratio / LINKS_MORE_FROM) ** LINKS_POWER
        )


def _ramp(value: float, start: float, end: float) -> float:
    return float(np.clip((value - start) / (end - start), 0, 1))


def find_structure(
    rows: Any,
    mass: np.ndarray,
    mean: np.ndarray,
    products: np.ndarray,
    values: np.ndarray,
    counts: dict[int, int],
    lengths: dict[int, float],
) -> Structure:
    """Compare rows with random ones; `values` are the largest eigenvalues of the centered kernel,
    `lengths` the mean links of the graphs. Main directions of texts are not compared: they always
    stand out.
    """
    rng = np.random.default_rng(0)
    n = rows.shape[0]
    component_ratio = 2.0
    if is_sparse_matrix(rows):
        spectrum = brief_spectrum(products, values)
    else:
        expected = largest_component(rng.permuted(rows, axis=0))
        component_ratio = values[0] / mass.sum() / expected if expected > 0 else 1.0
        spectrum = covariance_spectrum(rows, mass, mean, products)
    scale = np.sqrt(spectrum)
    unit = SAME_DISTANCE * float(spectrum.sum()) or 1.0
    shortest = dict.fromkeys(counts, np.inf)
    for draw in (rng.standard_normal, lambda size: rng.uniform(-(3**0.5), 3**0.5, size)):
        random = draw((n, len(scale))) * scale
        distances2 = between(random[:SEEN_FROM], random)
        np.fill_diagonal(distances2, np.inf)
        distance = nearest_rows(distances2, max(counts.values(), default=1), unit)[1]
        shortest = {
            k: min(shortest[k], float(distance[:, :count].mean())) for k, count in counts.items()
        }
    return Structure(float(component_ratio), {k: shortest[k] / lengths[k] for k in counts})


def largest_component(rows: np.ndarray) -> float:
    """The largest eigenvalue of the centered Gaussian kernel of rows, over their number."""
    products = centered_products(rows, rows, rows.mean(axis=0))
    squares = np.diagonal(products)
    distances2 = squared_distances(products, squares, squares)
    np.fill_diagonal(distances2, 0)
    median = median_of(distances2)
    components, _ = find_components(products, distances2, np.ones(len(rows)), median, 1)
    return float(components.values[0] / len(rows))


def covariance_spectrum(
    rows: np.ndarray, mass: np.ndarray, mean: np.ndarray, products: np.ndarray
) -> np.ndarray:
    """The eigenvalues of the rows' covariance, from the smaller of two matrices."""
    root = np.sqrt(mass)[:, None]
    centered = root * (rows - mean)
    is_wide = rows.shape[1] >= len(rows)
    spectrum = np.linalg.eigvalsh(root * products * root.T if is_wide else centered.T @ centered)
    return np.maximum(spectrum, 0)[::-1][: min(rows.shape)] / mass.sum()


def brief_spectrum(products: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """The largest eigenvalues and as many equal ones as keep the sums of all and of all squares:
    the mean and the variance of distances between random rows follow from these.
    """
    rest = max(float(np.trace(products) - largest.sum()), 0.0)
    squares = float(np.vdot(products, products) - largest @ largest)
    n_equal = (
        min(max(1, round(rest**2 / squares)), len(products) - len(largest))
        if squares > 0 and rest > 0
        else 0
    )
    return np.append(largest, np.full(n_equal, rest / max(n_equal, 1))) / len(products)
