"""Twenty seeds of the paper's algorithm on one kernel: each in a thread, their solves batched (`dual.run_together`).

A seed draws its own test rows, which must not train: they are rows of the kernel that its problems give no room.
"""

import numpy as np
import torch
from sklearn.metrics import f1_score

from semisvm.decision import Target
from semisvm.dual import run_together, solve
from semisvm.estimators.hinge import hinge_problem
from semisvm.estimators.preference_loop import PaperRounds
from semisvm.kernels import kernel_rows, make_formula
from studies.speed.paper_sets import PAPER_SETS, load_signed

N_SEEDS = 20
TOL = 1e-3


class SomeRows:
    """A learner (`preference_learner`) on some of the rows of a kernel."""

    def __init__(self, kernel, rows, C):
        self.kernel, self.rows, self.C = kernel, rows, C
        self.model, self.n_iter = None, 0

    def train(self, sign, share, sequence):
        everywhere, box = np.zeros(self.kernel.n_rows), np.zeros(self.kernel.n_rows)
        everywhere[self.rows], box[self.rows] = sign, self.C * share
        self.model = solve(hinge_problem(self.kernel, everywhere, box), self.model, tol=TOL)
        self.n_iter += self.model.n_iter
        return self.model.decision_values[self.rows]

    def done(self, **facts):
        return facts


def run_seed(seed, kernel, sign, C):
    """One run of the paper's algorithm; F1 on the seed's own test rows, and its steps."""
    order = np.random.default_rng(seed).permutation(len(sign))
    tenth = len(sign) // 10
    test, rest = order[:tenth], order[tenth:]
    known = np.where(np.arange(len(rest)) < tenth, sign[rest], 0.0)
    calibrates = np.arange(len(rest)) < tenth // 2
    trains = (known != 0) & ~calibrates
    learner = SomeRows(kernel, rest, C)
    rounds = PaperRounds(
        learner, known, np.ones(len(rest)), trains, calibrates, Target(), pool="grow", rule="best", max_rounds=50
    )
    rounds.run()
    outcome = rounds.outcome()
    accepted = outcome.model.decision_values[test] > outcome.point.threshold
    return f1_score(sign[test] > 0, accepted), learner.n_iter


def seeds(timed, compare):
    """All seeds as one batch, kernel included; and one after the other on the same kernel, for comparison."""
    paper_set = PAPER_SETS["adult"]
    X, sign = load_signed("adult")
    there = torch.from_numpy(X.toarray().astype(np.float32)).cuda()

    def runs():
        kernel = kernel_rows(there, make_formula("rbf", np.zeros((1, 1)), gamma=paper_set.gamma), device="cuda")
        return [lambda seed=seed: run_seed(seed, kernel, sign, paper_set.C) for seed in range(N_SEEDS)]

    for way in ("one batch", "one by one"):
        measures, found = timed(lambda way=way: run_together(runs()) if way == "one batch" else [r() for r in runs()])
        f1, steps = zip(*found, strict=True)
        measures |= {"f1_mean": np.mean(f1), "f1_std": np.std(f1), "steps": int(sum(steps))}
        yield {"set": "adult", "rows": len(sign), "seeds": N_SEEDS, "way": way}, measures
