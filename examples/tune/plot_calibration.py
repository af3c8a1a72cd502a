"""
Can I trust the probabilities?
==============================

Scores of an SVM are not probabilities. `AutoSVC` and `MixtureClassifier` have `predict_proba`, and
some other estimators have it with ``probability=True``, for example `PreferenceSVC`. Otherwise, use
:class:`~semisvm.SemiSupervisedCalibratedClassifierCV`, which calibrates on held-out labeled rows.
scikit-learn's own `CalibratedClassifierCV` would treat the marker -1 as a class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_classification

from semisvm import PreferenceSVC, SemiSupervisedCalibratedClassifierCV, SupervisedSVC

# %%
# 300 labels
# ----------

X, truth = make_classification(
    4000, 10, n_informative=4, n_redundant=0, flip_y=0.1, class_sep=0.8, random_state=2
)
y = np.where(np.arange(len(X)) < 300, truth, -1)
new = X[300:]
answer = truth[300:]

# %%
# Three ways to a probability
# ---------------------------

svm = SupervisedSVC().fit(X, y)
calibrated = SemiSupervisedCalibratedClassifierCV(SupervisedSVC()).fit(X, y)
preference = PreferenceSVC(random_state=0, probability=True).fit(X, y)
naive = 1 / (1 + np.exp(-4 * svm.decision_function(new)))  # a guess that is often made

# %%
# Predicted probabilities and true shares
# ---------------------------------------

figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for name, probability, color in [
    ("sigmoid of the score, a guess", naive, "0.5"),
    ("SemiSupervisedCalibratedClassifierCV", calibrated.predict_proba(new)[:, 1], "#2f6db3"),
    ("PreferenceSVC", preference.predict_proba(new)[:, 1], "#d9822b"),
]:
    CalibrationDisplay.from_predictions(
        answer, probability, n_bins=8, strategy="quantile", name=name, color=color, ax=ax
    )
ax.set(xlabel="predicted probability", ylabel="share of positives among such rows")
ax.legend(loc="upper left", fontsize=9)
plt.show()
