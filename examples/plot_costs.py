"""
Errors that cost different amounts
==================================

Missing a defect costs ten times as much as a false alarm. An SVM that knows it moves its
boundary, and does so where it is cheap: not by the same distance everywhere, as a shifted
threshold does.
"""

import matplotlib.pyplot as plt
import numpy as np

from semisvm import SupervisedSVC

rng = np.random.default_rng(0)
truth = np.where(rng.random(900) < 0.3, "defect", "fine")
spread = np.where(truth == "defect", 1.3, 0.8)[:, None]
centers = np.where((truth == "defect")[:, None], [1.6, 0.6], [0.0, 0.0])
X = centers + spread * rng.standard_normal((900, 2))
train, test = slice(0, 200), slice(200, None)
costs = {"defect": 10, "fine": 1}


def cost_of(predicted):
    """Return the mean cost of the test rows."""
    return np.mean([costs[t] * (t != p) for t, p in zip(truth[test], predicted, strict=True)])


# %%
# With and without the costs
# --------------------------

across, up = np.meshgrid(np.linspace(-3, 5.5, 150), np.linspace(-3.5, 4.5, 130))
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained", sharey=True)
for ax, model, title in (
    (axes[0], SupervisedSVC(C=10, gamma=0.3), "costs not known"),
    (axes[1], SupervisedSVC(C=10, gamma=0.3, costs=costs), "costs known"),
):
    model.fit(X[train], truth[train])
    scores = model.decision_function(np.c_[across.ravel(), up.ravel()]).reshape(across.shape)
    ax.contourf(
        across, up, scores > 0, levels=[-0.5, 0.5, 1.5], colors=["#d9822b", "#2f6db3"], alpha=0.3
    )
    is_defect = truth[test] == "defect"
    ax.scatter(*X[test][~is_defect].T, s=10, color="#2f6db3", label="fine")
    ax.scatter(*X[test][is_defect].T, s=10, color="#d9822b", label="defect")
    ax.set(title=f"{title}: {cost_of(model.predict(X[test])):.2f} per row", xticks=[], yticks=[])
axes[0].legend(fontsize=11)
plt.show()
