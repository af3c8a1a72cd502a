"""
Which method draws which boundary?
==================================

The data are two moons of 200 rows, with three labels per class (the large dots). Every method is
fitted to the same rows. The background is the prediction, and the number is the accuracy on the
rows without a label.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from semisvm import (
    AutoSVC,
    ClusterSVC,
    LabelMeanSVC,
    LaplacianSVC,
    MixtureClassifier,
    ProgressiveSVC,
    SelfTrainingSVC,
    SupervisedSVC,
    TransductiveSVC,
)

# %%
# Two moons, six labels
# ---------------------

X, truth = make_moons(200, noise=0.08, random_state=0)
labeled = np.r_[np.flatnonzero(truth == 0)[:3], np.flatnonzero(truth == 1)[:3]]
y = np.full(len(X), -1)  # -1: no label
y[labeled] = truth[labeled]

# %%
# Nine methods
# ------------

methods = [
    SupervisedSVC(C=10),
    AutoSVC(),
    LaplacianSVC(C=10, C_intrinsic="auto"),
    ClusterSVC(C=10, n_clusters=12, random_state=0),
    TransductiveSVC(C=10, C_unlabeled=1, gamma=3),
    LabelMeanSVC(C=10),
    ProgressiveSVC(C=10),
    SelfTrainingSVC(C=10),
    MixtureClassifier(n_components=2, random_state=0),
]

# %%
# What each predicts
# ------------------

across, up = np.meshgrid(np.linspace(-1.6, 2.6, 120), np.linspace(-1.1, 1.6, 90))
grid = np.c_[across.ravel(), up.ravel()]
colors = np.array(["#2f6db3", "#d9822b"])

figure, axes = plt.subplots(3, 3, figsize=(9, 7), layout="constrained")
for ax, method in zip(axes.flat, methods, strict=True):
    method.fit(X, y)
    ax.contourf(
        across, up, method.predict(grid).reshape(across.shape), levels=1, colors=colors, alpha=0.25
    )
    ax.scatter(*X.T, c="0.35", s=5)
    ax.scatter(*X[labeled].T, c=colors[truth[labeled]], s=70, edgecolor="black")
    accuracy = method.score(X[y == -1], truth[y == -1])
    ax.set_title(f"{type(method).__name__}: {accuracy:.0%}", fontsize=10)
    ax.set(xticks=[], yticks=[], xlim=(-1.6, 2.6), ylim=(-1.1, 1.6))
plt.show()

# %%
# Methods that use a graph of neighbors (`AutoSVC`, `LaplacianSVC`) find the moons. Methods that
# look for clusters, for Gaussian classes, or for a boundary in a gap need more labels or luck.
# The picture shows the assumptions of the methods and is not a ranking: on the data of
# :doc:`plot_help_or_harm`, the order is different.
