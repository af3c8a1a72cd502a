"""X -> kernel rows: every kernel, dense or sparse, made lazily under a memory budget; and scores of new rows."""

from semisvm.kernels.formula import Formula, make_formula
from semisvm.kernels.predict import scores_of_new_rows
from semisvm.kernels.rows import GivenRows, KernelRows
from semisvm.kernels.training import kernel_rows

__all__ = ["Formula", "GivenRows", "KernelRows", "kernel_rows", "make_formula", "scores_of_new_rows"]
