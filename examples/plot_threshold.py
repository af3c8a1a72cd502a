"""
What does it take to reach a recall of 0.95?
============================================

`PreferenceSVC` moves the threshold of an SVM to a precision or recall that you ask for. It measures both on labels that
did not train, and says how certain the numbers are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from semisvm import PreferenceSVC
from semisvm.report import OperatingPointDisplay, ScoresDisplay

X, target = load_breast_cancer(return_X_y=True)
X, truth = scale(X), np.where(target == 0, "malignant", "benign")
rng = np.random.default_rng(0)
labeled = rng.choice(len(X), 120, replace=False)
y = np.full(len(X), "", dtype=object)  # "": no label
y[labeled] = truth[labeled]

model = PreferenceSVC(min_recall=0.95, random_state=0).fit(X, y)
print(model.operating_point_)

# %%
# The curve of all thresholds, with the chosen one:

OperatingPointDisplay.from_estimator(model)
plt.show()

# %%
# The scores of the labeled rows by class. Rows right of the line are accepted:

display = ScoresDisplay.from_estimator(model, X, y)
display.ax_.set_ylim(0, 0.5)
display.ax_.legend(loc="upper center", ncols=2)
plt.show()
