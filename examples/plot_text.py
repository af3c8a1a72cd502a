"""
How do I classify text with 50 labels?
======================================

TF-IDF rows stay sparse. From the unlabeled documents, the vectorizer learns its vocabulary, and the
classifier learns how the documents are distributed. The documents are generated: most words are
common words, the others belong to a topic, and some of these are shared by both topics.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from semisvm import AutoSVC, SelfTrainingSVC, SupervisedSVC, TransductiveSVC

# %%
# Documents of two topics
# -----------------------

rng = np.random.default_rng(0)
N, VOCABULARY = 600, 900


def write_document(topic):
    """Return 30 words: common ones by Zipf's law, and words of the topic, each used in few
    documents.
    """
    common = rng.zipf(1.6, 22) % 300
    own = 300 + 250 * topic + rng.integers(350, size=8)
    return " ".join(f"word{number}" for number in np.r_[common, own])


topic = rng.permutation(np.arange(N) % 2)
X = TfidfVectorizer(sublinear_tf=True).fit_transform([write_document(t) for t in topic])

# %%
# Four methods, five draws of 50 labels
# -------------------------------------

methods = {
    "SupervisedSVC": SupervisedSVC(kernel="linear"),
    "SelfTrainingSVC": SelfTrainingSVC(kernel="linear"),
    "TransductiveSVC": TransductiveSVC(kernel="linear"),
    "AutoSVC": AutoSVC(random_state=0),
}
errors = {name: [] for name in methods}
for seed in range(5):
    labeled = np.random.default_rng(seed).choice(N, 50, replace=False)
    y = np.full(N, -1)
    y[labeled] = topic[labeled]
    for name, method in methods.items():
        errors[name].append(100 * (1 - method.fit(X, y).score(X[y == -1], topic[y == -1])))

# %%
# The errors
# ----------

figure, ax = plt.subplots(figsize=(5.8, 3.4), layout="constrained")
for place, found in enumerate(errors.values()):
    ax.plot(found, np.full(5, place), "o", color="0.6", ms=5)
    ax.plot(np.mean(found), place, "D", color="#2f6db3", ms=9)
    ax.annotate(
        f"{np.mean(found):.0f}%",
        (np.mean(found), place),
        xytext=(0, 9),
        textcoords="offset points",
        ha="center",
    )
ax.set(
    yticks=range(len(errors)),
    yticklabels=errors,
    xlabel="errors on 550 unlabeled documents, %",
    ylim=(3.6, -0.6),
)
ax.set_title("50 labels: five draws, and their mean")
ax.set_xlim(0, None)
plt.show()

# %%
# `TransductiveSVC` assumes that the topics have the same shares among all documents as among the
# labels, which is about right here. If the shares are not known, `AutoSVC` is the safer choice.
# On real texts give it the strings themselves.
