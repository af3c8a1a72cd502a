"""The primal form: linear machines on rows in memory, in files or on a cluster, with certified gaps."""

from semisvm.primal.dask_rows import DaskRows
from semisvm.primal.files import FileRows, ScratchWriter
from semisvm.primal.problem import ClassPrices, GivenPrices, PrimalProblem, PrimalSolution, RowPart
from semisvm.primal.rows import MemoryRows, Rows
from semisvm.primal.solve import solve_primal

__all__ = [
    "ClassPrices",
    "DaskRows",
    "FileRows",
    "GivenPrices",
    "MemoryRows",
    "PrimalProblem",
    "PrimalSolution",
    "RowPart",
    "Rows",
    "ScratchWriter",
    "solve_primal",
]
