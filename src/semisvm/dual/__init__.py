"""The one quadratic problem behind every method here, and its solvers."""

from semisvm.dual.problem import DualProblem, DualSolution, Status
from semisvm.dual.repair import repair
from semisvm.dual.solve import solve

__all__ = ["DualProblem", "DualSolution", "Status", "repair", "solve"]
