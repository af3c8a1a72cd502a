"""Kernels: from data rows to rows of the kernel matrix, made on demand under a memory budget; scores of new rows.

`make_formula` settles a kernel's parameters on the data, `kernel_rows` gives the rows of its matrix between the
training rows, and `scores_of_new_rows` evaluates a trained machine on other rows.
"""

from semisvm.kernels.choose import kernel_rows, scores_of_new_rows
from semisvm.kernels.formula import Formula, make_formula
from semisvm.kernels.rows import CachedRows, GivenRows, KernelRows
from semisvm.kernels.virtual import VirtualRows

__all__ = [
    "CachedRows",
    "Formula",
    "GivenRows",
    "KernelRows",
    "VirtualRows",
    "kernel_rows",
    "make_formula",
    "scores_of_new_rows",
]
