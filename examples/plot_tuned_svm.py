"""
My first tuned SVM
==================

An SVM with an RBF kernel has two important parameters: C, the penalty of an error, and gamma,
how near rows must be to matter to each other. `SVCCV` tries a grid of both in one call. The map
shows the score of each combination on held-out rows; the cross marks the choice.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

from semisvm import SVCCV, SupervisedSVC

X, digit = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, digit > 4, test_size=0.4, random_state=0)
Cs, gammas = np.geomspace(0.1, 1000, 9), np.geomspace(0.003, 10, 7)
folds = StratifiedKFold(5, shuffle=True, random_state=0)

# %%
# One call
# --------

began = time.perf_counter()
model = SVCCV(Cs=Cs, gammas=gammas, cv=folds).fit(X, y)
seconds = time.perf_counter() - began
print(f"C = {model.C_:.3g}, gamma = {model.gamma_:.3g}, found in {seconds:.1f} s")
print(f"accuracy on new rows: {model.score(X_test, y_test):.3f}")

# %%
# The same by GridSearchCV
# ------------------------

began = time.perf_counter()
grid = {"C": Cs, "gamma": gammas}
search = GridSearchCV(SupervisedSVC(), grid, cv=folds, scoring="balanced_accuracy").fit(X, y)
seconds = time.perf_counter() - began
chosen = search.best_params_
print(f"C = {chosen['C']:.3g}, gamma = {chosen['gamma']:.3g}, found in {seconds:.1f} s")

# %%
# What was measured
# -----------------

figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
mesh = ax.pcolormesh(gammas, Cs, model.scores_.mean(axis=2), shading="nearest")
ax.plot(model.gamma_, model.C_, "x", color="white", markersize=12, markeredgewidth=3)
ax.set(xscale="log", yscale="log", xlabel="gamma", ylabel="C")
figure.colorbar(mesh, label="balanced accuracy, 5 folds")
plt.show()
