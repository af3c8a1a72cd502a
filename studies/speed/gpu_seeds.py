"""Twenty seeds of a supervised SVM on one kernel: as one batch (`dual.solve_many`), and one after
the other.

Each seed draws its own training rows, a tenth, and its own test rows, another tenth. Rows that a
seed does not train on are rows of the kernel whose boxes have width 0 in its problem.
"""

import numpy as np
import torch
from sklearn.metrics import f1_score

from semisvm.dual import DualProblem, solve, solve_many
from semisvm.kernels import kernel_rows, make_formula
from studies.speed.paper_sets import PAPER_SETS, load_signed

N_SEEDS = 20
SEEDS_TOL = 1e-3


def rows_of_seed(seed, n_rows):
    """Return the training rows and the test rows of a seed."""
    order = np.random.default_rng(seed).permutation(n_rows)
    tenth = n_rows // 10
    return order[tenth : 2 * tenth], order[:tenth]


def problems_of_seeds(kernel, sign, C):
    """Yield one C-SVC per seed, all on the same kernel rows."""
    for seed in range(N_SEEDS):
        train, _ = rows_of_seed(seed, len(sign))
        known = np.zeros(len(sign))
        known[train] = sign[train]
        yield DualProblem(
            kernel, linear=-known, lower=np.minimum(C * known, 0), upper=np.maximum(C * known, 0)
        )


def f1_of_seed(seed, solution, sign):
    """Return F1 on the test rows of a seed; their decision values come with the solution."""
    _, test = rows_of_seed(seed, len(sign))
    return f1_score(sign[test] > 0, solution.decision_values[test] > 0)


def seeds(timed, compare):
    """All seeds as one batch, and one after the other, kernel included."""
    paper_set = PAPER_SETS["adult"]
    X, sign = load_signed("adult")
    there = torch.from_numpy(X.toarray().astype(np.float32)).cuda()

    def run(way):
        kernel = kernel_rows(
            there, make_formula("rbf", np.zeros((1, 1)), gamma=paper_set.gamma), device="cuda"
        )
        problems = list(problems_of_seeds(kernel, sign, paper_set.C))
        if way == "one batch":
            return solve_many(problems, tol=SEEDS_TOL)
        return [solve(problem, tol=SEEDS_TOL) for problem in problems]

    for way in ("one batch", "one by one"):
        measures, found = timed(lambda way=way: run(way))
        f1 = [f1_of_seed(seed, solution, sign) for seed, solution in enumerate(found)]
        measures |= {
            "f1_mean": np.mean(f1),
            "f1_std": np.std(f1),
            "steps": sum(one.n_iter for one in found),
        }
        yield {"set": "adult", "rows": len(sign), "seeds": N_SEEDS, "way": way}, measures
