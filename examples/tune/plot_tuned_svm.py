"""
My first tuned SVM
==================

An SVM with an RBF kernel has two important parameters: C, the penalty of an error, and gamma, which
determines how far the influence of a row reaches. `SVCCV` tries a grid of both in one call. The map
shows the score of each combination on held-out rows; the cross marks the one that was chosen.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split

from semisvm import SVCCV, SemiSupervisedKFold, SupervisedSVC

X, digit = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, digit > 4, test_size=0.4, random_state=0)

# %%
# One call
# --------

Cs = np.geomspace(0.1, 1000, 9)
gammas = np.geomspace(0.003, 10, 7)
began = time.perf_counter()
model = SVCCV(Cs, gammas=gammas, cv=5).fit(X, y)
seconds = time.perf_counter() - began
print(f"C = {model.C_:.3g}, gamma = {model.gamma_:.3g}, found in {seconds:.1f} s")
print(f"accuracy on new rows: {model.score(X_test, y_test):.3f}")

# %%
# The same by GridSearchCV
# ------------------------
#
# It gives the same scores and makes the same choice, with one fit for each combination and fold.

began = time.perf_counter()
search = GridSearchCV(
    SupervisedSVC(),
    {"C": Cs, "gamma": gammas},
    cv=SemiSupervisedKFold(5),
    scoring="balanced_accuracy",
).fit(X, y)
seconds = time.perf_counter() - began
chosen = search.best_params_
print(f"C = {chosen['C']:.3g}, gamma = {chosen['gamma']:.3g}, found in {seconds:.1f} s")

# %%
# What was measured
# -----------------

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
mesh = ax.pcolormesh(model.gammas_, model.Cs_, model.scores_.mean(axis=2), shading="nearest")
ax.plot(model.gamma_, model.C_, "x", color="white", markersize=12, markeredgewidth=3)
ax.set(xscale="log", yscale="log", xlabel="gamma", ylabel="C")
figure.colorbar(mesh, label="balanced accuracy, 5 folds")
plt.show()
