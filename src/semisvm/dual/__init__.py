"""The one quadratic problem behind every method of this library, and its solvers.

`DualProblem` states it, `solve` and `solve_many` solve it on the CPU or on a device, `DualSolution` is what they
return.
"""

from semisvm.dual.problem import DualProblem, DualSolution, SolveStore, Status
from semisvm.dual.solve import repair, solve, solve_many

__all__ = ["DualProblem", "DualSolution", "SolveStore", "Status", "repair", "solve", "solve_many"]
