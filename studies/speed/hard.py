"""What do hard problems cost, with a large C and few free variables, by exact steps and by pairwise
steps alone?

Rows are normal, labels are the sign of the first feature with noise, the tolerance is 1e-3. Each
problem is solved in both ways by turns, on rows of its own; the least processor time is printed,
with the gap in float64 computed from the coefficients alone.
"""

import argparse
import sys
import time

import numpy as np

from studies.harness.tables import markdown_table

# kernel, rows, features, C, gamma
HARD_PROBLEMS = (
    ("rbf", 400, 3, 1e4, 0.2),
    ("rbf", 400, 3, 1e5, 0.2),
    ("rbf", 600, 5, 1e4, 0.1),
    ("rbf", 2000, 3, 1e2, 0.2),
    ("rbf", 2000, 3, 1e3, 0.2),
    ("linear", 200, 3, 1e3, 1.0),
    ("poly", 600, 5, 10.0, 0.5),
)
NOISE, TOL = 0.8, 1e-3


def solve_hard(kernel, n_rows, n_features, C, gamma, most_free):
    """Solve with exact steps for at most so many free variables; return seconds, the solution
    and its gap.
    """
    from semisvm.dual import DualProblem, advance, solve
    from semisvm.kernels import kernel_rows, make_formula

    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, n_features))
    sign = np.sign(X[:, 0] + NOISE * rng.normal(size=n_rows))
    rows = kernel_rows(X, make_formula(kernel, X, gamma=gamma, coef0=1.0, degree=3))
    problem = DualProblem(rows, -sign, np.minimum(0, C * sign), np.maximum(0, C * sign))
    usual = advance.MOST_FREE
    advance.MOST_FREE = most_free
    try:
        began = time.process_time()
        solution = solve(problem, tol=TOL)
        seconds = time.process_time() - began
    finally:
        advance.MOST_FREE = usual
    gradient = rows.fetch(np.arange(n_rows)).astype(np.float64) @ solution.beta + problem.linear
    may_rise = solution.beta < problem.upper
    may_fall = solution.beta > problem.lower
    return seconds, solution, float(gradient[may_fall].max() - gradient[may_rise].min())


def main(argv=None):
    """Measure and print; return the exit status."""
    from semisvm.dual.advance import MOST_FREE

    parser = argparse.ArgumentParser(prog="python -m studies.speed.hard", description=__doc__)
    parser.add_argument("--repeats", type=int, default=2, metavar="N")
    options = parser.parse_args(argv)
    ways = {"pairwise steps": 0, "exact steps": MOST_FREE}
    lines = []
    solve_hard("rbf", 200, 3, 1e3, 0.2, MOST_FREE)  # compiles
    for problem in HARD_PROBLEMS:
        runs = [
            [solve_hard(*problem, most_free) for most_free in ways.values()]
            for _ in range(options.repeats)
        ]
        kernel, n_rows, n_features, C, gamma = problem
        line = [f"{kernel}, {n_rows:,} x {n_features}, C = {C:,.0f}, gamma = {gamma}"]
        for way in zip(*runs, strict=True):
            seconds, solution, gap = min(way, key=lambda run: run[0])
            line.append(
                f"{solution.n_iter:,}, {seconds:.3f} s, gap {gap:.1e}, {solution.status.value}"
            )
        lines.append(line)
        print(*line, sep=" | ", flush=True)
    print("\n" + markdown_table(["problem", *ways], lines, n_text=3))
    return 0


if __name__ == "__main__":
    sys.exit(main())
