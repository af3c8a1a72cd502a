"""
How much should unlabeled rows count?
=====================================

`C_unlabeled` is the penalty of an unlabeled row on the wrong side of the margin, as `C` is for a
labeled row. Choose it by cross-validation with a splitter that tests on labeled rows only:
:class:`~semisvm.SemiSupervisedKFold`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from semisvm import SemiSupervisedKFold, TransductiveSVC

# %%
# Four kinds of digits, 60 labels
# -------------------------------

X, digit = load_digits(return_X_y=True)
keep = np.isin(digit, (3, 5, 8, 9))
rows = np.random.default_rng(0).permutation(np.flatnonzero(keep))[:500]
X = X[rows] / 16
is_eight_or_nine = (digit[rows] > 5).astype(int)
y = np.where(np.arange(500) < 60, is_eight_or_nine, -1)

# %%
# A grid of penalties
# -------------------

shares = [0.001, 0.01, 0.1, 1, 10]
search = GridSearchCV(
    TransductiveSVC(C=10, gamma=0.05),
    {"C_unlabeled": [10 * share for share in shares]},
    cv=SemiSupervisedKFold(5),
)
search.fit(X, y)

# %%
# Cross-validation and the true accuracy
# --------------------------------------
#
# The accuracy on the other rows is not known in practice.

real = [
    TransductiveSVC(C=10, gamma=0.05, C_unlabeled=10 * share)
    .fit(X, y)
    .score(X[60:], is_eight_or_nine[60:])
    for share in shares
]
results = search.cv_results_
error = results["std_test_score"] / np.sqrt(5)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.errorbar(
    shares,
    results["mean_test_score"],
    error,
    marker="o",
    capsize=4,
    color="#2f6db3",
    label="5 folds of 60 labels",
)
ax.plot(shares, real, "s--", color="0.4", label="on the 440 other rows")
ax.set(xscale="log", xlabel="C_unlabeled / C", ylabel="accuracy")
ax.legend()
plt.show()

# %%
# Mind the error bars: with 60 labels, differences of a few points may be chance. If two values are
# within one error bar, use the smaller one, which gives the unlabeled rows less influence.
