"""
What does it take to reach a recall of 0.95?
============================================

`PreferenceSVC` moves the threshold of an SVM to reach a precision or recall that you choose. It
measures both on held-out labels, and reports how certain the numbers are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from semisvm import PreferenceSVC
from semisvm.report import OperatingPointDisplay

# %%
# Tumors, 120 of 569 with a label
# -------------------------------

X, target = load_breast_cancer(return_X_y=True)
X = scale(X)
truth = np.where(target == 0, "malignant", "benign")
rng = np.random.default_rng(0)
labeled = rng.choice(len(X), 120, replace=False)
y = np.full(len(X), "", dtype=object)  # "": no label
y[labeled] = truth[labeled]

# %%
# One fit with a target
# ---------------------

model = PreferenceSVC(min_recall=0.95, random_state=0).fit(X, y)
print(model.operating_point_)

# %%
# Every threshold is a trade-off between precision and recall. The chosen one is marked, with its
# intervals:

OperatingPointDisplay.from_estimator(model)
plt.show()
