"""Kernel principal components of all rows, each row counted by its mass.

    K0        (n, n)  exp(-D2 / (2 median D2)), or the inner products with the cosine metric
    Kc        (n, n)  K0 with the mean of the mapped rows subtracted
    values    (r,)    the largest eigenvalues of M^1/2 Kc M^1/2, M the diagonal matrix of masses
    vectors   (n, r)  its eigenvectors divided by M^1/2: the whitened components of the rows, sum_i mass_i v_i^2 = 1

A new row x has the components Kc(x, .) M v / value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.estimators.auto.eigen import largest_eigenpairs
from semisvm.estimators.auto.geometry import Geometry, median_distance2, squared_distances_between

SMALLEST_VALUE = 1e-10  # of the largest eigenvalue: below it, components are rounding errors


@dataclass(frozen=True)
class KernelComponents:
    """See the module's docstring.

    median        the median squared distance, the width of K0; None with the cosine metric
    column_mean   (n,) mean of each column of K0; `mean` is that of all its entries
    trace         of Kc, each row counted by its mass
    white_median  the median squared distance between rows in the whitened components
    """

    median: float | None
    column_mean: np.ndarray
    mean: float
    trace: float
    values: np.ndarray
    vectors: np.ndarray
    white_median: float

    def kernel(self, products: np.ndarray, distances2: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Kc between some rows and those of the fit."""
        if self.median is None:
            return products
        K = _gaussian(distances2, self.median)
        K -= (K @ mass / mass.sum())[:, None]
        K -= self.column_mean
        K += self.mean
        return K

    def place(self, kernel: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """The components of rows from their lines of Kc."""
        return kernel @ (mass[:, None] * self.vectors / self.values)


def make_components(
    geometry: Geometry, products: np.ndarray, distances2: np.ndarray, n_components: int
) -> tuple[KernelComponents, np.ndarray]:
    """The components, and Kc between the rows of the fit."""
    mass, total = geometry.mass, geometry.total
    if geometry.is_cosine:
        median, column_mean, mean, kernel = None, np.zeros(len(mass)), 0.0, products
    else:
        median = median_distance2(distances2, mass)
        kernel = _gaussian(distances2, median)
        column_mean = mass @ kernel / total
        mean = float(mass @ column_mean / total)
        kernel -= column_mean
        kernel -= column_mean[:, None]
        kernel += mean
    values, vectors = whitened_components(kernel, mass, n_components)
    white_median = median_distance2(squared_distances_between(vectors, vectors), mass)
    trace = float(mass @ np.diagonal(kernel))
    return KernelComponents(median, column_mean, mean, trace, values, vectors, white_median), kernel


def whitened_components(kernel: np.ndarray, mass: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues and vectors of the module's docstring; at least one."""
    root = np.sqrt(mass)
    weighted: Any = kernel if (mass == 1).all() else kernel * root * root[:, None]
    values, vectors = largest_eigenpairs(weighted, n_components)
    is_real = values > SMALLEST_VALUE * max(float(values[0]), 0.0)
    is_real[0] = True
    values, vectors = np.maximum(values[is_real], np.finfo(float).tiny), vectors[:, is_real]
    return values, vectors / root[:, None]


def _gaussian(distances2: np.ndarray, median: float) -> np.ndarray:
    kernel = distances2 * (-0.5 / median)
    return np.exp(kernel, out=kernel)
