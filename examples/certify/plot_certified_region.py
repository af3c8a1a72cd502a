"""
Which part of the precision-recall curve is certified?
======================================================

A campaign tests several thresholds, from strict to loose. The strict ones are certified first, and
more labels extend the certified part of the curve. In this example the true labels are known, so
that the true curve can be drawn for comparison.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import precision_recall_curve

from semisvm import SupervisedSVC

# %%
# A model and a pool
# ------------------

X, truth = make_classification(
    6000, 20, n_informative=8, weights=[0.8], class_sep=1.3, random_state=3
)
model = SupervisedSVC(C=1).fit(X[:250], truth[:250])
pool = X[250:]
answers = truth[250:]
scores = model.decision_function(pool)
precision, recall, _ = precision_recall_curve(answers, scores)

# %%
# Label, and look after every ten labels
# --------------------------------------

campaign = model.campaign(
    pool, min_precision=0.85, confidence=0.9, training=(X[:250], truth[:250]), seed="01"
)
certified = {}
for n_labels in range(10, 301, 10):
    rows = campaign.draw(10)
    if not rows:
        break
    campaign.tell(rows, answers[rows])
    point = campaign.verdict().operating_point
    if point is not None:
        accepted = scores > point.threshold
        certified[n_labels] = answers[accepted].sum() / answers.sum(), answers[accepted].mean()

# %%
# What is certified, and the truth
# --------------------------------

figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
ax.plot(
    recall,
    precision,
    color="0.6",
    lw=1.5,
    label="true curve of the pool (not known in practice)",
)
ax.axhline(0.85, color="#b03a2e", lw=1, ls=":")
ax.text(0.01, 0.84, "target: precision at least 0.85", color="#b03a2e", va="top", fontsize=9)
reached = np.array(list(certified.values()))
last = reached[-1, 0]
steps = {
    tuple(place): n for n, place in reversed(certified.items())
}  # the first time each threshold was certified
ax.axvspan(
    0, last, color="#2f6db3", alpha=0.12, label=f"certified after {max(steps.values())} labels"
)
ax.plot(*np.transpose(list(steps)), "o", color="#2f6db3", ms=7)
for place, n_labels in steps.items():
    if n_labels in (min(steps.values()), 60, max(steps.values())):
        ax.annotate(
            f"{n_labels} labels", place, xytext=(0, 9), textcoords="offset points", ha="center"
        )
ax.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0.4, 1.06))
ax.legend(loc="lower left")
plt.show()

print(campaign.verdict().reason)
