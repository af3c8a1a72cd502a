"""
How do I use a kernel of my own?
================================

Any function that takes two blocks of rows and returns the kernel values between them can be a
kernel. In this example the rows are times of the day: 23:50 and 0:10 are close to each other on a
clock, but not for an RBF kernel.
"""

import matplotlib.pyplot as plt
import numpy as np

from semisvm import SupervisedSVC

# %%
# A kernel is a function
# ----------------------


def kernel_on_the_clock(left, right):
    """Return exp(-d^2 / 2) with d the distance in hours around the clock, in units of two hours."""
    apart = np.abs(left[:, [0]] - right[:, 0])
    return np.exp(-0.5 * (np.minimum(apart, 24 - apart) / 2) ** 2)


# %%
# Night or day, 14 labels
# -----------------------

rng = np.random.default_rng(0)
hour = rng.uniform(0, 24, 400)
is_night = ((hour > 22) | (hour < 5)).astype(int)
labeled = np.flatnonzero(hour < 20)[:14]  # nobody labeled the late evening
y = np.full(400, -1)
y[labeled] = is_night[labeled]
X = hour[:, None]

# %%
# The scores around the clock
# ---------------------------

clock = np.linspace(0, 24, 500)[:, None]
figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for kernel, gamma, name, color in [
    (kernel_on_the_clock, "scale", "kernel on the clock", "#2f6db3"),
    ("rbf", 1 / 8, "rbf", "#d9822b"),
]:
    model = SupervisedSVC(C=10, kernel=kernel, gamma=gamma).fit(X, y)
    score = f"{name}: {model.score(X[y == -1], is_night[y == -1]):.0%} right"
    ax.plot(clock, model.decision_function(clock), color=color, lw=2, label=score)
ax.axhline(0, color="black", lw=0.8)
ax.plot(hour[labeled], np.where(is_night[labeled], 1, -1), "ko", ms=6, label="14 labels")
for start, end in [(0, 5), (22, 24)]:
    ax.axvspan(start, end, color="0.9", zorder=0)
ax.set(xlabel="hour", ylabel="score (above 0: night)", xticks=range(0, 25, 4), xlim=(0, 24))
ax.legend(loc="upper center", fontsize=9)
plt.show()

# %%
# A kernel must be symmetric and positive semi-definite on your rows. The function is called for
# blocks of rows when they are needed. For a matrix that you have computed yourself, pass
# ``kernel="precomputed"``. Such a model can be saved without pickle; a model with a kernel function
# can't.
