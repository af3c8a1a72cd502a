"""Small tasks for the tests of preferences.

Their rows are in the order in which the estimators arrange them, so that a test can draw the same
folds by place.
"""

import numpy as np

from semisvm import PreferenceSVC
from semisvm.estimators.equal_rows import content_order
from semisvm.estimators.preference.paper import PaperPreferenceSVC


def preference_svc(calibration="cross", **parameters):
    """`PreferenceSVC`, or the rounds of the paper where its calibration is "part" or "full"."""
    if calibration == "cross":
        return PreferenceSVC(**parameters)
    return PaperPreferenceSVC(calibration=calibration, **parameters)


def arranged(X, *others):
    """Rows, and what belongs to them, in the order of their content."""
    order = content_order(X)
    return X[order], *(other[order] for other in others)


def overlapping(seed=0, n=300, n_labeled=60, share_positive=0.3, arranges=True):
    """Two Gaussian classes that overlap, so that the threshold matters and there are several
    rounds.

    arranges   False: in random order, the labeled rows first
    """
    rng = np.random.default_rng(seed)
    truth = (rng.uniform(size=n) < share_positive).astype(int)
    X = rng.standard_normal((n, 4)) + 0.9 * truth[:, None]
    made = X, np.where(np.arange(n) < n_labeled, truth, -1), truth
    return arranged(*made) if arranges else made


def three_classes(seed=0, n=240, n_labeled=90):
    """Three Gaussian classes with names; unlabeled rows are empty strings."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    centers = np.array([[0, 0], [2, 0], [0, 2]])
    X = centers[truth] + 0.8 * rng.standard_normal((n, 2))
    names = np.array(["ham", "offer", "spam"])
    return arranged(X, np.where(np.arange(n) < n_labeled, names[truth], ""), names[truth])


def noisy_clouds(seed=1, n=500, n_labeled=40):
    """Two clouds in fifty dimensions, eight of which differ: with few labels a narrow kernel
    learns little.
    """
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.standard_normal((n, 50)) + 0.55 * (2 * truth - 1)[:, None] * (np.arange(50) < 8)
    return arranged(X, np.where(np.arange(n) < n_labeled, truth, -1), truth)
