"""In which order the runs of a cell are made, and which of them are left out.

Repetitions alternate between the solvers (a, b, c, a, b, c, ...), so that a machine that slows down for
a while slows them all. A solver that fails or passes the limit once is not asked again in that cell.
"""

REPEATS = {"10%": 5, "all": 3}
REPEATS_OTHERWISE = 1
# LIBSVM on all rows takes minutes to hours and its time varies by a few percent.
ONCE = {("libsvm", "all")}


def count_repeats(solver, size, asked=None):
    """Return how often a solver is run in a cell of that size."""
    if asked is not None:
        return asked
    if (solver.partition(":")[0], size) in ONCE:
        return 1
    return REPEATS.get(size, REPEATS_OTHERWISE)


def interleave(solvers, size, asked=None):
    """Yield (repeat, solver) in order."""
    repeats = {solver: count_repeats(solver, size, asked) for solver in solvers}
    for repeat in range(max(repeats.values(), default=0)):
        for solver in solvers:
            if repeat < repeats[solver]:
                yield repeat, solver
