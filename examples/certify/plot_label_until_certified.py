"""
How many labels does a certificate take?
========================================

The target is a precision of at least 0.9, and the certificate may be wrong in at most one of ten
cases. With a fitted model and a pool of rows without labels, there are two ways to a certificate:

- a :class:`~semisvm.Campaign`: label rows that the library draws, and test after every ten;
- random labels: draw n rows from the pool, label them, and test a threshold on them once.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from semisvm import SupervisedSVC
from semisvm.decision import Target, certify

# %%
# A model and a pool
# ------------------
#
# The model is trained on 200 labels. The pool has 5,800 rows, whose labels are hidden.

X, truth = make_classification(
    6000, 20, n_informative=8, weights=[0.85], class_sep=1.3, random_state=1
)
model = SupervisedSVC(C=1).fit(X[:200], truth[:200])
pool, answers = X[200:], truth[200:]  # the answers play the person who labels
scores = model.decision_function(pool)
budgets = np.arange(10, 201, 10)
repeats = 30


# %%
# Two ways to a certificate
# -------------------------


def certified_by_campaign(number):
    """Return after how many labels a campaign certifies its first threshold; infinity if it does
    not.
    """
    campaign = model.campaign(pool, min_precision=0.9, confidence=0.9, seed=f"{number:02x}")
    for budget in budgets:
        rows = campaign.draw(10)
        campaign.tell(rows, answers[rows])
        if campaign.verdict().certified:
            return budget
    return np.inf


def certified_by_random_labels(number, n_labels):
    """Return whether n random labels certify a threshold."""
    rows = np.random.default_rng(number).choice(len(pool), n_labels, replace=False)
    sign = np.where(answers[rows] == 1, 1, -1)
    return certify(scores[rows], sign, Target(min_precision=0.9), confidence=0.9).reached


# %%
# Thirty repeats of both
# ----------------------

needed = np.array([certified_by_campaign(number) for number in range(repeats)])
many = np.arange(50, 1001, 50)
random = [
    np.mean([certified_by_random_labels(number, n) for number in range(repeats)]) for n in many
]

figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
ax.plot(
    budgets,
    [100 * np.mean(needed <= n) for n in budgets],
    color="#2f6db3",
    lw=2.5,
    label="campaign",
)
ax.plot(
    many,
    np.multiply(100, random),
    color="0.4",
    lw=2,
    ls="--",
    label="random labels, certified once",
)
ax.set(
    xlabel="labels of the pool", ylabel="certified, % of 30 repeats", ylim=(-3, 103), xlim=(0, 1000)
)
ax.set_title("Precision at least 0.9, confidence 90%")
ax.legend(loc="center right")
plt.show()

print(f"campaign: half of the repeats are certified after {np.median(needed):.0f} labels")

# %%
# Most randomly drawn rows are rejected by the model, and their labels say nothing about its
# precision. A campaign draws mostly accepted rows, and its tests remain valid if you look after
# every label. A random sample may be tested only once: repeated tests while it grows would be wrong
# more often than promised.
