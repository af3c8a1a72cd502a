"""Classification with few labels and nothing to tune: arrays, tables and texts.

rows -> views -> blocks of members (scores left out) -> weights -> threshold

rows.py           what the user gives: an array, a table or texts
../tables         columns.py: what a column is; views.py: rows as matrices
kernels.py        ten kernels of a view; on geometry.py, graph.py and structure.py
members.py        what is trained: least-squares SVMs, trees, logistic regression, naive Bayes
stacking.py       their weights
threshold.py      decisions and probabilities
classifier.py     `AutoSVC`: all of these in order
plan.py           the same scores, fast, for new rows
unlabeled_kernel.py   `UnlabeledKernel`: the kernels for any other SVM
"""

from semisvm.auto.classifier import AutoSVC
from semisvm.auto.unlabeled_kernel import UnlabeledKernel

__all__ = ["AutoSVC", "UnlabeledKernel"]
