"""Small worlds whose truth is known, and an adversary who stops as soon as a promise is false.

The tests use them too.
"""

import numpy as np

from semisvm.evidence.answers import NO, YES


def truths(n, wrong_share, rng):
    """Which rows (highest score first) are wrong: the worst cases of prefixes, and usual ones."""
    just_false = np.zeros(n, dtype=bool)  # every prefix has just too many
    for k in range(n):
        just_false[k] = just_false[:k].sum() <= wrong_share * (k + 1)
    half = np.ones(n, dtype=bool)
    half[: n // 2] = False
    clump = np.zeros(n, dtype=bool)
    clump[: int(1.2 * wrong_share * n) + 1] = True
    return {
        "all wrong": np.ones(n, dtype=bool),
        "just false": just_false,
        "usual": rng.random(n) < 1.2 * wrong_share,
        "half": half,
        "the surest are wrong": clump,
    }


def first_false(procedure, truth, is_false, rng, *, n_at_once=2, budget=None, order="drawn"):
    """Answer rows until the promise is false (True), or until there are no more (False).

    `order` is how rows are answered: as they are drawn, or at random, whatever is drawn.
    """
    most = len(truth) if budget is None else budget
    by_chance = rng.permutation(len(truth))[:most]
    n_labels = 0
    while True:
        if order == "at random":
            rows = by_chance[n_labels : n_labels + n_at_once].tolist()
        else:
            left = None if budget is None else budget - n_labels
            rows = procedure.draw(min(n_at_once, most - n_labels), left) if n_labels < most else []
        if not rows:
            return False
        for row in rows:
            procedure.tell(row, YES if truth[row] else NO)
        n_labels += len(rows)
        proved = procedure.proved()
        if proved.is_certified and is_false(procedure, proved.rows, truth):
            return True


def breaks(make, truth_of, is_false, n_campaigns, *, seed=0, **how):
    """Return the share of campaigns in which a promise is ever false."""
    rng = np.random.default_rng(seed)
    n_false = 0
    for number in range(n_campaigns):
        truth = truth_of(rng)
        n_false += first_false(make(number), truth, is_false, rng, **how)
    return n_false / n_campaigns


def too_imprecise(p):
    """Is the promise that a share p of the unseen rows is positive false?"""
    return lambda procedure, rows, truth: truth[rows].sum() < p * len(rows) - 1e-9


def too_imprecise_with_found(p):
    """The same of the unseen rows and those found positive."""

    def is_false(procedure, rows, truth):
        n_found = (procedure.codes == YES).sum()
        return truth[rows].sum() + n_found < p * (len(rows) + n_found) - 1e-9

    return is_false


def too_many_left(b):
    """Is the promise that at most b of the kept labels are wrong false?"""
    return lambda procedure, rows, truth: (~truth[rows]).sum() > b


def too_few_found(r):
    """Is the promise that the other rows hold a share r of all positives false?"""
    return lambda procedure, rows, truth: truth[rows].sum() > (1 - r) * truth.sum() + 1e-9
