"""The two transductive loops as one would write them around scikit-learn's SVC: every round trains from nothing.

In their favor the kernel matrix is made once and handed over ("precomputed"), and scores of all rows come from
one product with it. `sign` is +1, -1, or 0 for a row without a label; C is the price of every row. Both return f.
"""

import numpy as np
from sklearn.svm import SVC


def train(K, sign, box):
    """Train on the rows with a sign and return f for all rows."""
    used = np.flatnonzero(sign)
    model = SVC(kernel="precomputed", cache_size=1000).fit(K[np.ix_(used, used)], sign[used], sample_weight=box[used])
    return K[:, used[model.support_]] @ model.dual_coef_.ravel() + model.intercept_[0]


def progressive(K, sign, C=1.0):
    """PTSVM, one pair a round."""
    given, sign, box = sign != 0, sign.copy(), np.full(len(sign), C)
    f = train(K, sign, box)
    while True:
        inside = np.flatnonzero((sign == 0) & (np.abs(f) < 1) & (f != 0))
        if len(inside) == 0:
            return f
        best, worst = inside[np.argmax(f[inside])], inside[np.argmin(f[inside])]
        if f[best] > 0:
            sign[best] = 1
        if f[worst] < 0:
            sign[worst] = -1
        f = train(K, sign, box)
        sign[~given & (sign * f < 0)] = 0


def transductive(K, sign, C=1.0):
    """TSVM, one pair switched at a time, prices doubling from 1e-5."""
    unlabeled = np.flatnonzero(sign == 0)
    n_positive = round(len(unlabeled) * (sign > 0).sum() / (sign != 0).sum())
    f, guess, box = train(K, sign, np.full(len(sign), C)), sign.copy(), np.full(len(sign), C)
    order = unlabeled[np.argsort(-f[unlabeled], kind="stable")]
    guess[order[:n_positive]], guess[order[n_positive:]] = 1, -1
    price = {-1: 1e-5, 1: 1e-5 * n_positive / (len(unlabeled) - n_positive)}
    while True:
        box[unlabeled] = np.where(guess[unlabeled] > 0, price[1], price[-1])
        f = train(K, guess, box)
        while (pair := _pair_to_switch(f, guess, unlabeled)) is not None:
            guess[pair] *= -1
            box[unlabeled] = np.where(guess[unlabeled] > 0, price[1], price[-1])
            f = train(K, guess, box)
        if min(price.values()) >= C:
            return f
        price = {s: min(2 * p, C) for s, p in price.items()}


def _pair_to_switch(f, guess, unlabeled):
    slack = np.maximum(0, 1 - guess * f)
    ends = [unlabeled[guess[unlabeled] == s] for s in (1, -1)]
    pair = np.array([rows[np.argmax(slack[rows])] for rows in ends])
    return pair if slack[pair].min() > 0 and slack[pair].sum() > 2 + 1e-3 else None
