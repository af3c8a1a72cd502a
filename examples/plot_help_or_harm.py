"""
When do unlabeled rows help, and when do they harm?
===================================================

Unlabeled rows show how the rows are distributed. This helps if the classes follow the distribution,
and can only mislead if they do not. Left: each class is a curve. Middle: a line divides a single
cloud, and the distribution does not show where. Right: the two curves again, but nine of ten rows
belong to one class, while both classes have the same number of labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from semisvm import AutoSVC, SelfTrainingSVC, SupervisedSVC, TransductiveSVC

N = 200


# %%
# Three kinds of data
# -------------------


def two_curves(rng):
    """Two moons."""
    return make_moons(N, noise=0.07, random_state=int(rng.integers(1000)))


def one_cloud(rng):
    """One Gaussian cloud, cut by a line."""
    X = rng.standard_normal((N, 2))
    return X, (X @ [1.0, 0.5] > 0).astype(int)


def uneven_curves(rng):
    """Two moons, one with nine times as many rows."""
    return make_moons((N * 9 // 10, N // 10), noise=0.07, random_state=int(rng.integers(1000)))


def error(method, make, n_labels, seed):
    """Return the share of wrong predictions on the unlabeled rows."""
    X, truth = make(np.random.default_rng(seed))
    y = np.full(N, -1)
    for label in (0, 1):  # the same number of labels for both classes
        rows = np.flatnonzero(truth == label)[: n_labels // 2]
        y[rows] = label
    return 1 - method.fit(X, y).score(X[y == -1], truth[y == -1])


# %%
# Four methods
# ------------

methods = {
    "SupervisedSVC: labels only": (SupervisedSVC(C=10), "black"),
    "AutoSVC": (AutoSVC(random_state=0), "#2f6db3"),
    "TransductiveSVC": (TransductiveSVC(C=10, C_unlabeled=1), "#d9822b"),
    "SelfTrainingSVC": (SelfTrainingSVC(C=10), "#5a9e4b"),
}
data = {
    two_curves: "classes are curves",
    one_cloud: "one cloud, cut by a line",
    uneven_curves: "9 to 1, labels 1 to 1",
}
# %%
# Errors against the number of labels
# -----------------------------------

sizes = [4, 8, 16]
seeds = range(4)
rng = np.random.default_rng(0)
figure, axes = plt.subplots(2, 3, figsize=(10, 6), layout="constrained", height_ratios=[1, 1.2])
for column, (make, title) in enumerate(data.items()):
    X, truth = make(rng)
    axes[0, column].scatter(*X.T, c=np.array(["#2f6db3", "#d9822b"])[truth], s=8)
    axes[0, column].set(title=title, xticks=[], yticks=[], aspect="equal")
    for name, (method, color) in methods.items():
        errors = [np.mean([error(method, make, n, seed) for seed in seeds]) for n in sizes]
        style = "--" if color == "black" else "-"
        axes[1, column].plot(
            sizes, np.multiply(100, errors), style, marker="o", color=color, label=name
        )
    axes[1, column].set(
        xscale="log", xticks=sizes, xticklabels=sizes, xlabel="labels", ylim=(0, None)
    )
    axes[1, column].minorticks_off()
axes[1, 0].set_ylabel("errors on unlabeled rows, %")
lines, words = axes[1, 1].get_legend_handles_labels()
figure.legend(lines, words, loc="outside lower center", ncols=4, fontsize=11)
plt.show()

# %%
# Left: the classes follow the shape of the rows, and a few labels are enough. Middle: they do
# not, and no method can gain. Right: `TransductiveSVC` assumes that the fraction of positives is
# the same among unlabeled and labeled rows, which is false here. Pass the fraction, or let it be
# estimated: ``TransductiveSVC(positive_fraction="estimated")``.
#
# For your own rows, `semisvm.compare` says whether your labels can tell.
