"""Files and names -> X, y, split.

`read` reads a file of numbers, `read_table` any table as a DataFrame, `load` a named set; `split` draws
labeled, unlabeled and test rows, and `hide` takes the other labels away. What can't be read raises a
`DataError` that says where, what and what to do.
"""

from semisvm.data.dataset import Dataset
from semisvm.data.delimited import read_delimited
from semisvm.data.errors import DataError
from semisvm.data.formats import read, read_table
from semisvm.data.libsvm import read_libsvm
from semisvm.data.named import load, names
from semisvm.data.partition import Split, hide, split

__all__ = [
    "DataError",
    "Dataset",
    "Split",
    "hide",
    "load",
    "names",
    "read",
    "read_delimited",
    "read_libsvm",
    "read_table",
    "split",
]
