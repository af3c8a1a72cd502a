"""The rows on which `studies.speed.methods` fits the semi-supervised methods.

Each function returns X and y, -1 where there is no label. A name of `load_rows` is one of

    adult           326 labeled and 4,000 unlabeled rows of Adult
    example         SVMlight's own example, 10 and 600 Reuters documents
    documents       10 labeled and 1,990 unlabeled Reuters documents
    dense N         100 labeled and N unlabeled rows of 20 columns
    tenth SET       a set of the papers of which a tenth is labeled, without its test rows
    b1 N            N rows of model B1 of the cluster-SVM paper, a tenth of them labeled
    unlabeled N     N rows of IJCNN1, five of each class labeled
    labels SET      half of a set of the CS4VM paper, between 0 and 1, five of each class labeled
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification

from studies.data import load
from studies.speed.paper_sets import SEED


def load_rows(name):
    """Return X, y, and the true class of every row, or None where no task asks for it."""
    kind, *words = name.split()
    if kind == "adult":
        data = load("adult")
        rows = np.random.default_rng(0).permutation(len(data.y))[:4326]
        return data.X[rows], np.where(np.arange(4326) < 326, data.y[rows], -1), data.y[rows]
    if kind == "example":
        data = load("reuters-transduction")
        return data.X, data.y, np.append(data.y[:10], load("reuters-test").y)
    if kind == "documents":
        return documents()
    if kind == "dense":
        X, truth = make_classification(
            int(words[0]) + 100, 20, n_informative=10, flip_y=0.02, random_state=0
        )
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        return X, np.where(np.arange(len(truth)) < 100, truth, -1), truth
    draw = {"tenth": tenth_labeled, "b1": draw_b1, "unlabeled": draw_ijcnn1, "labels": half_of_set}
    return *draw[kind](words[0]), None


def documents():
    """The ten labeled documents, then the training file without its copies of them."""
    labeled = load("reuters-induction")
    train = load("reuters-train")
    copies = [0, 1, 2, 996, 997, 1001, 1083, 1217, 1512, 1999]
    rows = np.setdiff1d(np.arange(len(train.y)), copies)
    X = sparse.vstack([labeled.X, train.X[rows]], format="csr")
    y = np.append(labeled.y, np.full(len(rows), -1))
    return X, y, np.append(labeled.y, train.y[rows])


def tenth_labeled(name):
    from semisvm.model_selection import hide, split

    data = load(name)
    parts = split(data.y, labeled=0.1, test=0.1, random_state=SEED)
    return data.X[parts.train], hide(data.y, parts.labeled)[parts.train]


def draw_b1(n_rows):
    """Classes by the sign of log(2 |x|^2) - 1.02 + noise."""
    n = int(n_rows)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    y = (np.log(2 * (X**2).sum(axis=1)) - 1.02 + 3 * rng.standard_normal(n) > 0).astype(int)
    y[rng.permutation(n)[: round(0.9 * n)]] = -1
    return X, y


def draw_ijcnn1(n_rows):
    data = load("ijcnn1")
    rows = np.random.default_rng(0).permutation(data.X.shape[0])[: int(n_rows)]
    return data.X[rows].toarray(), with_five_labels(data.y[rows])


def half_of_set(name):
    data = load(name)
    half = np.random.default_rng(0).permutation(len(data.y))[: len(data.y) // 2]
    X = np.asarray(data.X, dtype=np.float64)[half]
    spread = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(spread > 0, spread, 1), with_five_labels(data.y[half])


def with_five_labels(truth):
    """The first five labels of each class."""
    y = np.full(len(truth), -1)
    for label in (0, 1):
        y[np.flatnonzero(truth == label)[:5]] = label
    return y
