"""
How many rows can be accepted unseen?
=====================================

A model is trained on 60 labels. A campaign then asks about 150 rows, ten at a time, and says
after each ten how many of the *other* rows can be kept without looking, with at least 90% of
them right. Here the truth is known, so that the promise can be checked: it holds at every
moment.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from semisvm import AutoSVC, Campaign

X, digit = load_digits(return_X_y=True)
is_odd = digit % 2
y = np.where(np.arange(len(X)) % 30 == 0, is_odd, -1)
model = AutoSVC(random_state=0).fit(X, y)
pool, answers = X[y == -1], is_odd[y == -1]

# %%
# Six campaigns
# -------------
#
# They differ in chance alone: in which rows are asked.

figure, (above, below) = plt.subplots(2, 1, figsize=(5.4, 5), sharex=True, layout="constrained")
for seed in range(6):
    campaign = Campaign.for_model(model, pool, min_precision=0.9, random_state=seed)
    sizes, precisions, labels = [], [], []
    for rows in campaign.batches(10, budget=150):
        campaign.tell(rows, answers[rows])
        accepted = campaign.accepted()
        labels.append(campaign.n_labels)
        sizes.append(len(accepted))
        precisions.append(answers[accepted].mean() if len(accepted) else np.nan)
    above.plot(labels, sizes, color="#2f6db3", alpha=0.8)
    below.plot(labels, precisions, color="#2f6db3", alpha=0.8)
below.axhline(0.9, color="#b03a2e", ls=":")
below.text(150, 0.895, "promised: 0.9", color="#b03a2e", ha="right", va="top", fontsize=11)
above.set(ylabel="rows accepted unseen")
below.set(xlabel="labels by a person", ylabel="true precision of these", ylim=(0.85, 1.005))
plt.show()

# %%
# What the last of them says:

print(campaign.verdict())
