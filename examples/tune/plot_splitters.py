"""
Why not scikit-learn's KFold?
=============================

Unlabeled rows can be used for training, but not for evaluation. `KFold` does not know which rows
are unlabeled: it tests on rows without a label, and removes unlabeled rows from training.
:class:`~semisvm.SemiSupervisedKFold` tests on labeled rows only, and trains on all unlabeled rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.model_selection import KFold

from semisvm import SemiSupervisedKFold

# %%
# 60 rows, 15 labels
# ------------------

rng = np.random.default_rng(0)
y = np.full(60, -1)
y[:15] = rng.permutation(np.arange(15) % 2)
y = rng.permutation(y)
X = np.zeros((60, 1))

# %%
# One line per fold, one cell per row
# -----------------------------------

figure, axes = plt.subplots(2, 1, figsize=(9, 3.8), layout="constrained")
colors = ListedColormap(
    ["0.9", "#8fb6dd", "#d9822b", "#b03a2e"]
)  # unlabeled, labeled, tested, tested without a label
for ax, splitter in zip(axes, [KFold(5), SemiSupervisedKFold(5)], strict=True):
    cells = np.zeros((5, 60))
    for fold, (train, test) in enumerate(splitter.split(X, y)):
        cells[fold, train] = np.where(y[train] == -1, 0, 1)
        cells[fold, test] = np.where(y[test] == -1, 3, 2)
    ax.pcolormesh(cells, cmap=colors, vmin=-0.5, vmax=3.5, edgecolor="white", linewidth=0.6)
    ax.set(yticks=[], ylabel="folds", xticks=[], title=type(splitter).__name__)
names = ["trains, no label", "trains, label", "tested", "tested without a label"]
handles = [plt.Rectangle((0, 0), 1, 1, color=colors(k)) for k in range(4)]
figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
plt.show()

# %%
# Pass it as ``cv=`` to `GridSearchCV` and `cross_val_score`. For out-of-fold scores, use
# :func:`semisvm.model_selection.cross_fit_scores`.
