"""The one quadratic problem behind every method here, and its solvers."""

from semisvm.dual.problem import DualProblem, DualSolution, SolveStore, Status
from semisvm.dual.repair import repair
from semisvm.dual.solve import solve, solve_many
from semisvm.dual.together import run_together

__all__ = ["DualProblem", "DualSolution", "SolveStore", "Status", "repair", "run_together", "solve", "solve_many"]
