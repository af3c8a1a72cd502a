"""
How does it compare with scikit-learn's semi-supervised classifiers?
====================================================================

scikit-learn has `SelfTrainingClassifier`, `LabelPropagation` and `LabelSpreading`. They also mark
unlabeled rows by -1, so that the estimators of semisvm can replace them with the same data.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from semisvm import AutoSVC, LaplacianSVC, SelfTrainingSVC, SupervisedSVC

# %%
# Digits, three labels per class
# ------------------------------

X, digit = load_digits(return_X_y=True)
rows = np.random.default_rng(0).permutation(len(X))[:700]
X = X[rows] / 16
digit = digit[rows]

methods = {
    "SVC, labels only (scikit-learn)": SVC(C=10),
    "SelfTrainingClassifier (scikit-learn)": SelfTrainingClassifier(
        LogisticRegression(max_iter=1000), threshold=0.8
    ),
    "LabelSpreading, 7 neighbors (scikit-learn)": LabelSpreading(kernel="knn", n_neighbors=7),
    "SupervisedSVC, labels only": SupervisedSVC(C=10),
    "SelfTrainingSVC": SelfTrainingSVC(C=10),
    "LaplacianSVC": LaplacianSVC(C=10, C_intrinsic=10),
    "AutoSVC": AutoSVC(random_state=0),
}

# %%
# Fit each of them on four draws
# ------------------------------

errors = {}
seconds = {}
for name, method in methods.items():
    found = []
    started = time.process_time()
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(X))
        labeled = np.concatenate([order[digit[order] == k][:3] for k in range(10)])
        y = np.full(len(X), -1)
        y[labeled] = digit[labeled]
        rest = y == -1
        # scikit-learn's SVC does not know what -1 means: it gets the labeled rows only.
        method.fit(*((X[~rest], y[~rest]) if isinstance(method, SVC) else (X, y)))
        found.append(100 * np.mean(method.predict(X[rest]) != digit[rest]))
    errors[name], seconds[name] = np.mean(found), (time.process_time() - started) / 4

# %%
# Errors and seconds
# ------------------

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
colors = ["0.6" if "scikit-learn" in name else "#2f6db3" for name in errors]
bars = ax.barh(list(errors), list(errors.values()), color=colors)
ax.bar_label(
    bars,
    [f"{errors[name]:.1f}%  ({seconds[name]:.2f} s)" for name in errors],
    padding=4,
    fontsize=11,
)
ax.set(
    xlabel="errors, % (CPU seconds per fit)",
    title="Digits, 30 labels, mean of 4 draws",
    xlim=(0, 1.3 * max(errors.values())),
)
ax.invert_yaxis()
plt.show()

# %%
# With three labels per class, a graph of all rows is worth more than any other setting. `AutoSVC`
# finds that by itself.
