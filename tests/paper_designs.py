"""The simulated designs of the cluster-SVM paper, drawn with few lines, and the accuracy of a
method on them.
"""

import numpy as np

N_TRAIN, N_TEST = 500, 4000
# The terciles of 2 cos(x1) + log(1 + x2^2), x standard normal, which cut B2 into its classes
B2_CUTS = (1.5600, 2.1825)


def draw_a1(n, rng):
    y = rng.integers(0, 2, n)
    return 0.7 * (2 * y - 1)[:, None] + 2 * rng.standard_normal((n, 20)), y


def draw_a2(n, rng, variance):
    y = rng.integers(0, 3, n)
    return (y + 1.0)[:, None] + np.sqrt(variance) * rng.standard_normal((n, 20)), y


def draw_b1(n, rng):
    X = rng.standard_normal((n, 2))
    return X, (np.log(2 * (X**2).sum(axis=1)) - 1.02 + 3 * rng.standard_normal(n) > 0).astype(int)


def draw_b2(n, rng):
    X = rng.standard_normal((n, 2))
    return X, np.searchsorted(B2_CUTS, 2 * np.cos(X[:, 0]) + np.log(1 + X[:, 1] ** 2))


def mean_accuracy(draw, make, share_hidden, repetitions):
    """Mean test accuracy over repetitions, each with labels hidden so that every class keeps
    one.
    """
    return np.mean([one_accuracy(draw, make, share_hidden, r) for r in range(repetitions)])


def one_accuracy(draw, make, share_hidden, repetition):
    rng = np.random.default_rng([repetition, round(100 * share_hidden)])
    X, y = draw(N_TRAIN, rng)
    return make(repetition).fit(X, hide(y, share_hidden, rng)).score(*draw(N_TEST, rng))


def hide(y, share, rng):
    """y with a share of it replaced by -1, drawn again until every class keeps a label."""
    while True:
        hidden = np.where(rng.permutation(len(y)) < round(share * len(y)), -1, y)
        if len(np.unique(hidden)) == len(np.unique(y)) + 1:
            return hidden
