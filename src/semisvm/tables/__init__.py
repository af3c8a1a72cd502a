"""Tables of mixed columns: raw rows in, labels out; models are saved in files that run no code
when opened.
"""

# Before all others: when skops is imported, it looks for each function of this module in all
# modules that were imported earlier, for a fifth of a second.
import scipy.special  # noqa: F401

from semisvm.tables.files import load, save
from semisvm.tables.model import Model
from semisvm.tables.partition_rows import rows_on_disk
from semisvm.tables.summary import FitSummary

__all__ = ["FitSummary", "Model", "load", "rows_on_disk", "save"]
