"""Named data sets of the papers, and splits into labeled, unlabeled and test rows.

`load` gives a set by name, `available` lists the names, `describe` says what a set is and where to get it. `split`
draws labeled, unlabeled and test rows, and `hide` replaces the other labels by the marker of unlabeled rows.
"""

from semisvm.datasets.dataset import Dataset
from semisvm.datasets.named import available, describe, load
from semisvm.datasets.splits import Split, hide, split

__all__ = ["Dataset", "Split", "available", "describe", "hide", "load", "split"]
