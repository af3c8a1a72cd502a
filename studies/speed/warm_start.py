"""After one label flips in a solved problem, what does the re-solve cost against refitting an SVC?

3,000 rows, 20 features, RBF, tol 1e-3. Semi-supervised methods flip thousands of labels, so their
fits consist of such re-solves. One label of a solved problem is flipped, and the new problem is
solved in four ways: ours from the old solution, right after a refit of SVC, which has emptied the
processor's caches; ours in the same way for another flipped label, as in a sequence of flips; ours
from nothing (kernel rows are kept); and scikit-learn's SVC from nothing. Then the label is restored
and another one is flipped.

The objectives are compared, so that a fast wrong answer would show.
"""

import argparse
import statistics
import sys
import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from studies.speed.certificate import rbf_product

N_ROWS, N_FEATURES = 3_000, 20
NAMES = {
    "sequence": "ours, in a sequence of flips",
    "warm": "ours, after a refit of SVC",
    "cold": "ours, from nothing",
    "refit": "SVC, from nothing",
}
C = 1.0
GAMMA = 1.0 / N_FEATURES
TOL = 1e-3


def make_engine(X):
    """Return a function solve(sign, start=None) -> (beta, solution).

    Kernel rows are made once for X and shared by all solves, as in a semi-supervised fit.
    """
    from semisvm.dual import DualProblem, solve
    from semisvm.kernels import kernel_rows, make_formula

    rows = kernel_rows(X, make_formula("rbf", X, gamma=GAMMA), cache_size=1000)

    def solve_for(sign, start=None):
        lower = np.minimum(0.0, C * sign)
        upper = np.maximum(0.0, C * sign)
        problem = DualProblem(rows, linear=-sign, lower=lower, upper=upper)
        solution = solve(problem, start=start, tol=TOL)
        return solution.beta, solution

    return solve_for


def refit_svc(X, sign):
    """Return beta of scikit-learn's SVC, fitted from nothing with room for the whole kernel."""
    model = SVC(C=C, gamma=GAMMA, tol=TOL, cache_size=1000).fit(X, sign)
    beta = np.zeros(len(sign))
    beta[model.support_] = model.dual_coef_.ravel()
    return beta


def objective(X, beta):
    """Return the dual objective, in float64, outside of any timing."""
    support = np.flatnonzero(beta)
    return float(0.5 * beta @ rbf_product(X, support, beta[support], GAMMA) - np.abs(beta).sum())


def timed(function, *arguments, **options):
    """Return seconds and result."""
    start = time.perf_counter()
    result = function(*arguments, **options)
    return time.perf_counter() - start, result


def measure(n_rows, flips):
    """Return the seconds of each way, one list per way, and the largest relative difference of
    objectives.
    """
    X, y = make_classification(n_rows, N_FEATURES, n_informative=10, flip_y=0.05, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    sign = np.where(y == 1, 1.0, -1.0)
    solve_for = make_engine(X)
    _, solved = solve_for(sign)  # compiles, and makes the kernel rows that later solves share
    solve_for(sign, start=solved)
    seconds = {way: [] for way in NAMES}
    worst = 0.0
    for row, next_row in np.random.default_rng(0).choice(n_rows, size=(flips, 2), replace=False):
        flipped = sign.copy()
        flipped_next = sign.copy()
        flipped[row], flipped_next[next_row] = -flipped[row], -flipped_next[next_row]
        warm_s, (warm, _) = timed(solve_for, flipped, start=solved)
        sequence_s, _ = timed(solve_for, flipped_next, start=solved)
        cold_s, (cold, _) = timed(solve_for, flipped)
        refit_s, refit = timed(refit_svc, X, flipped)
        for way, took in (
            ("sequence", sequence_s),
            ("warm", warm_s),
            ("cold", cold_s),
            ("refit", refit_s),
        ):
            seconds[way].append(took)
        values = [objective(X, beta) for beta in (warm, cold, refit)]
        worst = max(worst, (max(values) - min(values)) / abs(min(values)))
    return seconds, worst


def main(argv=None):
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m studies.speed.warm_start", description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS, metavar="N")
    parser.add_argument("--flips", type=int, default=15, metavar="N")
    options = parser.parse_args(argv)
    seconds, worst = measure(options.rows, options.flips)
    first = statistics.median(seconds["sequence"])
    print(f"{options.rows:,} rows, {N_FEATURES} features; medians of {options.flips} flips")
    for way, times in seconds.items():
        middle = statistics.median(times)
        print(
            f"{NAMES[way]:28} {1e3 * middle:8.2f} ms"
            f" ({1e3 * min(times):.2f}–{1e3 * max(times):.2f}), {middle / first:.1f} times the"
            " first"
        )
    print(f"largest relative difference of the objectives: {worst:.0e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
