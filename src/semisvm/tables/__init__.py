"""Tables of mixed columns: raw rows in, labels out; models are saved in files that run no code
when opened.
"""

from semisvm.tables.files import load, save
from semisvm.tables.model import Model
from semisvm.tables.partition_rows import rows_on_disk
from semisvm.tables.summary import FitSummary

__all__ = ["FitSummary", "Model", "load", "rows_on_disk", "save"]
