"""
A model of your own as a member of AutoSVC
==========================================

You have 20 labels, and somebody else's model for nearly the same question. The parameter `members`
adds any classifier with `predict_proba` to the average of `AutoSVC`. A classifier that is not
fitted yet is fitted on your labels. A classifier that is wrapped in scikit-learn's
`FrozenEstimator` is used as it is, and your labels determine its weight.

In this example the question is whether a handwritten digit is odd. The other model was trained on
500 digits that are not among yours.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from semisvm import AutoSVC

# %%
# Their model
# -----------

X, digit = load_digits(return_X_y=True)
is_odd = digit % 2

theirs = ExtraTreesClassifier(random_state=0).fit(X[:500], is_odd[:500])

# %%
# Your rows
# ---------
#
# Your rows are 800 of the other digits, with 20 labels, which are drawn five times. The number next
# to a member is its prior weight, before the labels are used; the models of `AutoSVC` have 1.

rows = np.arange(500, 1300)
choices = {
    "AutoSVC alone": [],
    "with gradient boosting": [("boosting", HistGradientBoostingClassifier(min_samples_leaf=5))],
    "with their model, weight 1": [("theirs", FrozenEstimator(theirs), 1.0)],
    "with their model, weight 10": [("theirs", FrozenEstimator(theirs), 10.0)],
}
accuracy = {name: [] for name in choices}
for seed in range(5):
    labeled = np.random.default_rng(seed).choice(rows, 20, replace=False)
    y = np.where(np.isin(rows, labeled), is_odd[rows], -1)
    for name, members in choices.items():
        model = AutoSVC(members=members, max_rows=800).fit(X[rows], y)
        accuracy[name].append(np.mean(model.transduction_[y < 0] == is_odd[rows][y < 0]))
accuracy["their model alone"] = [theirs.score(X[rows], is_odd[rows])]
for name, values in accuracy.items():
    print(f"{name:28} {np.mean(values):.3f}")

# %%
# The accuracy on the rows without a label
# ----------------------------------------

figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
for height, values in enumerate(reversed(accuracy.values())):
    axes.plot(values, [height] * len(values), "o", color="#2f6db3", alpha=0.4)
    axes.plot(np.mean(values), height, "|", color="#b3382f", markersize=22, markeredgewidth=2)
axes.set(yticks=range(len(accuracy)), yticklabels=list(accuracy)[::-1], xlabel="accuracy")
plt.show()

# %%
# Gradient boosting learns from the same 20 labels and does not help. Their model was trained on
# more labels than yours: the average of both is better than either, and you did not have to know
# beforehand which of the two is better (:doc:`/auto`). ``families_`` has the weight of each member.
