"""
Errors that cost different amounts
==================================

A matrix of costs says what each kind of error costs. In this example three classes overlap, and
predicting green for a row of the blue class costs ten times as much as any other error. An SVM that
knows the costs avoids this error.
"""

import matplotlib.pyplot as plt
import numpy as np

from semisvm import SupervisedSVC

# %%
# Three classes, and what each error costs
# ----------------------------------------
#
# A row of the matrix is the true class, a column the predicted one.

rng = np.random.default_rng(0)
centers = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]])
truth = rng.integers(3, size=900)
X = centers[truth] + 0.8 * rng.standard_normal((900, 2))
train = slice(0, 150)
test = slice(150, None)

costs = np.array([[0, 10, 1], [1, 0, 1], [1, 1, 0]])


def cost_of(predicted):
    """Return the mean cost of the test rows."""
    return costs[truth[test], predicted].mean()


# %%
# With and without the costs
# --------------------------

colors = np.array(["#2f6db3", "#5a9e4b", "#d9822b"])
across, up = np.meshgrid(np.linspace(-2.2, 4.2, 150), np.linspace(-2, 4, 130))
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained", sharey=True)
for ax, model, title in [
    (axes[0], SupervisedSVC(C=10, gamma=0.3), "costs not known"),
    (axes[1], SupervisedSVC(C=10, gamma=0.3, costs=costs), "costs known"),
]:
    model.fit(X[train], truth[train])
    regions = model.predict(np.c_[across.ravel(), up.ravel()]).reshape(across.shape)
    ax.contourf(across, up, regions, levels=[-0.5, 0.5, 1.5, 2.5], colors=colors, alpha=0.3)
    ax.scatter(*X[train].T, c=colors[truth[train]], s=14, edgecolor="white", linewidth=0.3)
    ax.set_title(f"{title}: {cost_of(model.predict(X[test])):.2f} per row")
    ax.set(xticks=[], yticks=[], xlabel="blue called green costs 10, all else 1")
plt.show()

# %%
# The boundary between blue and green moves into green. The regions also differ far from all rows,
# because a matrix of costs is learned with one SVM per class, while without costs there is one SVM
# per pair of classes. :doc:`/costs` describes costs per class and costs per row.
