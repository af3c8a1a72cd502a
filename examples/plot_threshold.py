"""
What does it take to reach a recall of 0.95?
============================================

`PreferenceSVC` moves the threshold of an SVM to reach a precision or recall that you choose. It
measures both on scores by SVMs that have not seen the label, and says how certain the numbers
are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import precision_recall_curve
from sklearn.preprocessing import scale

from semisvm import PreferenceSVC

# %%
# Tumors, 120 of 569 with a label
# -------------------------------

X, target = load_breast_cancer(return_X_y=True)
X = scale(X)
truth = np.where(target == 0, "malignant", "benign")
labeled = np.random.default_rng(0).permutation(len(X))[:120]
y = np.full(len(X), "", dtype=object)  # "": no label
y[labeled] = truth[labeled]

model = PreferenceSVC(min_recall=0.95, random_state=0).fit(X, y)
point = model.operating_point_
print(point)

# %%
# Every threshold is a trade
# --------------------------
#
# The curve of the labels, out of fold; the chosen threshold with its intervals; and the truth on
# the other rows.

out_of_fold = model.out_of_fold_scores_[labeled]
rest = np.setdiff1d(np.arange(len(X)), labeled)
figure, ax = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
for scores, rows, label, color in (
    (out_of_fold, labeled, "120 labels, out of fold", "#2f6db3"),
    (model.decision_function(X[rest]), rest, "the other rows (not known in practice)", "0.6"),
):
    precision, recall, _ = precision_recall_curve(truth[rows] == "malignant", scores)
    ax.step(recall, precision, where="post", color=color, label=label)
ax.errorbar(
    point.recall.value,
    point.precision.value,
    xerr=[[point.recall.value - point.recall.low], [point.recall.high - point.recall.value]],
    yerr=[
        [point.precision.value - point.precision.low],
        [point.precision.high - point.precision.value],
    ],
    fmt="o",
    color="#b03a2e",
    capsize=4,
    label="chosen, with intervals",
)
ax.axvline(0.95, color="#b03a2e", ls=":")
ax.set(xlabel="recall", ylabel="precision", xlim=(0.5, 1.01), ylim=(0.5, 1.01))
ax.legend(loc="lower left", fontsize=11)
plt.show()
