"""
How far do 30 labels get with ten classes?
==========================================

This example classifies handwritten digits with three labels per class and without tuning. `AutoSVC`
computes kernels from all rows, labeled or not. The first picture shows its errors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from semisvm import AutoSVC, SupervisedSVC

# %%
# 1,000 digits, three labels per class
# ------------------------------------

X, digit = load_digits(return_X_y=True)
rows = np.random.default_rng(0).permutation(len(X))[:1000]
X = X[rows]
digit = digit[rows]
labeled = np.concatenate([np.flatnonzero(digit == k)[:3] for k in range(10)])
y = np.full(len(X), -1)
y[labeled] = digit[labeled]
rest = y == -1

model = AutoSVC(random_state=0).fit(X, y)
baseline = SupervisedSVC(C=10).fit(X, y)
print(f"AutoSVC: {model.score(X[rest], digit[rest]):.3f}")
print(f"SupervisedSVC: {baseline.score(X[rest], digit[rest]):.3f}")

# %%
# Its mistakes
# ------------
#
# The true digit, and the prediction:

wrong = np.flatnonzero((model.transduction_ != digit) & rest)
figure, axes = plt.subplots(2, 8, figsize=(9, 2.8), layout="constrained")
for ax in axes.flat:
    ax.set_axis_off()
for ax, row in zip(axes.flat, wrong, strict=False):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{digit[row]} → {model.transduction_[row]}", fontsize=11)
figure.suptitle(f"{len(wrong)} of {rest.sum()} rows are wrong; the first {min(16, len(wrong))}")
plt.show()

# %%
# What helped
# -----------
#
# These are the weights of the kernels in the average:

names, weights = zip(*sorted(model.weights_.items(), key=lambda item: item[1]), strict=True)
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.barh(names, weights, color="#2f6db3")
ax.set(xlabel="weight in the average")
plt.show()
