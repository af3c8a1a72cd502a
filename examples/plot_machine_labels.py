"""
Finish the labels of a machine
==============================

A language model labeled 10,000 messages, and says how sure it is. At most 5% of all labels may
be wrong in the end. How many does a person have to look at? That depends on how honest the
machine's confidences are.
"""

import matplotlib.pyplot as plt
import numpy as np

from semisvm import Campaign

rng = np.random.default_rng(0)
n = 10_000
kinds = np.array(["bug", "billing", "praise", "question"])
truth = rng.choice(kinds, n)
sure = rng.beta(6, 1, n)
labels = np.where(rng.random(n) > sure**0.6, rng.choice(kinds, n), truth)
print(f"{np.mean(labels != truth):.1%} of the machine's labels are wrong")

# %%
# Three machines with the same errors
# -----------------------------------
#
# One says how sure it is, one rounds that to three words, and one says nothing.

confidences = {
    "honest confidences": sure,
    "low, medium or high": np.digitize(sure, [0.7, 0.9]) / 2,
    "no confidences": None,
}
figure, ax = plt.subplots(figsize=(7.5, 3), layout="constrained")
colors = {"machine": "#2f6db3", "person": "#d9822b", "open": "0.75"}
for name, confidence in confidences.items():
    campaign = Campaign.for_labels(labels, confidence, max_error=0.05, random_state=0)
    for rows in campaign.batches(20, budget=400):
        campaign.tell(rows, truth[rows])
    source = campaign.completed()[1]
    left = 0.0
    for part, color in colors.items():
        share = np.mean(source == part)
        ax.barh(name, share, left=left, color=color, label=part)
        left += share
handles, names = ax.get_legend_handles_labels()
words = ["machine's label stays", "labeled in the campaign", "left for people"]
figure.legend(handles[:3], words, loc="outside lower center", ncols=3, fontsize=11)
ax.invert_yaxis()
ax.set(xlabel="fraction of all rows", xlim=(0, 1))
plt.show()
