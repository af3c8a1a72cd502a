"""
Can a model learn from positives alone?
=======================================

Sometimes only positives are labeled: for example, you have known frauds and a pool that contains
more of them. `PositiveUnlabeledSVC` ranks the pool, chooses a threshold, and reports what can be
known without negatives: intervals of recall and lift, and a bound on the share of positives.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from semisvm import PositiveUnlabeledSVC

# %%
# 60 threes are known
# -------------------

X, digit = load_digits(return_X_y=True)
is_three = digit == 3
rng = np.random.default_rng(0)
known = rng.choice(np.flatnonzero(is_three), 60, replace=False)
y = np.full(len(X), -1)  # -1: not known
y[known] = 1

model = PositiveUnlabeledSVC(min_recall=0.9, random_state=0).fit(X, y)
print(model.operating_point_)

# %%
# The scores of the pool
# ----------------------
#
# The colors are not known to the model: it has seen 60 threes and 1,737 rows without a label.

pool = y == -1
scores = model.decision_function(X)
bins = np.linspace(scores.min(), scores.max(), 45)
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.hist(scores[pool & ~is_three], bins, color="0.75", label="unlabeled, other digits")
ax.hist(scores[pool & is_three], bins, color="#d9822b", alpha=0.9, label="unlabeled, threes")
ax.axvline(0, color="black", lw=1.5)
ax.text(0.02, 0.97, " accepted →", transform=ax.get_xaxis_transform(), va="top")
ax.set(xlabel="score", ylabel="rows (bars are cut at 120)", ylim=(0, 120))
ax.legend()
plt.show()

accepted = scores[pool] > 0
print(
    f"true recall {accepted[is_three[pool]].mean():.2f}, true precision"
    f" {is_three[pool][accepted].mean():.2f}"
)
