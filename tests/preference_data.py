"""Small tasks for the tests of preferences."""

import numpy as np


def overlapping(seed=0, n=300, n_labeled=60, share_positive=0.3):
    """Two Gaussian classes that overlap, so that the threshold matters and there are several rounds."""
    rng = np.random.default_rng(seed)
    truth = (rng.uniform(size=n) < share_positive).astype(int)
    X = rng.standard_normal((n, 4)) + 0.9 * truth[:, None]
    return X, np.where(np.arange(n) < n_labeled, truth, -1), truth


def three_classes(seed=0, n=240, n_labeled=90):
    """Three Gaussian classes with names; unlabeled rows are empty strings."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    centers = np.array([[0, 0], [2, 0], [0, 2]])
    X = centers[truth] + 0.8 * rng.standard_normal((n, 2))
    names = np.array(["ham", "offer", "spam"])
    return X, np.where(np.arange(n) < n_labeled, names[truth], ""), names[truth]


def noisy_clouds(seed=1, n=500, n_labeled=40):
    """Two clouds in fifty dimensions, eight of which differ: with few labels a narrow kernel learns little."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.standard_normal((n, 50)) + 0.55 * (2 * truth - 1)[:, None] * (np.arange(50) < 8)
    return X, np.where(np.arange(n) < n_labeled, truth, -1), truth
