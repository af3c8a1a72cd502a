"""Documentation that the estimators share, written once: a decorator fills it into their docstrings.

A docstring holds ``%(name)s`` on a line of its own where the text of that name goes.
"""

from __future__ import annotations

from typing import TypeVar

Class = TypeVar("Class", bound=type)

_PARTS = {
    "kernel_parameters": """
kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
    The kernel, as in :class:`sklearn.svm.SVC`. A callable takes two matrices of rows and returns the kernel matrix
    between them.
degree : float, default=3
    Degree of the polynomial kernel.
gamma : {"scale", "auto"} or float, default="scale"
    Coefficient of the RBF, polynomial and sigmoid kernels. "scale" is 1 / (n_features * variance of the training
    rows), each row counted by its weight; "auto" is 1 / n_features.
coef0 : float, default=0.0
    Constant term of the polynomial and sigmoid kernels.
""",
    "costs": """
costs : dict {class: cost of misclassifying it} or array-like of shape (n_classes, n_classes), default=None
    What errors cost. A dictionary multiplies C for the rows of each class; every class must be named. In a matrix,
    rows are true and columns predicted classes, in the order of `classes_`, with zeros on the diagonal.
""",
    "class_weight": """
class_weight : dict or "balanced", default=None
    Multiplies C for the rows of each class, as in scikit-learn.
""",
    "multi_class": """
multi_class : {"auto", "ovr", "ovo"}, default="auto"
    How more than two classes become binary problems: one per class against the rest, or one per pair of classes.
    "auto" is "ovo" where every row of a binary problem has one of its two classes, and "ovr" where unlabeled rows
    take part in every binary problem.
""",
    "unlabeled": """
unlabeled : int, float, str or None, default=-1
    The marker of rows without a label in y. Missing values and empty strings always mark them.
""",
    "solver_parameters": """
tol : float, default=1e-3
    The duality gap at which a solution counts as optimal. Below 1e-5 kernel rows are kept in float64.
max_iter : int, default=None
    Most solver steps for each binary problem, all its rounds together. None: until it has converged.
time_limit : float, default=None
    Most seconds for the whole fit. None: no limit. The best model so far is kept when a limit is reached.
cache_size : float, default=None
    Megabytes for kernel rows. None: half of the free memory. More is faster, less always works.
device : {"auto", "cpu", "cuda"}, default="auto"
    Where to solve and to score new rows. "cuda" (or "cuda:1") needs an NVIDIA GPU and
    ``pip install 'semisvm[gpu]'``; "auto" uses it where it is there and the rows are many.
""",
    "random_state": """
random_state : int, RandomState instance or None, default=None
    Makes every random draw of the fit repeatable.
""",
    "verbose": """
verbose : bool, default=False
    Print progress.
""",
    "classes": """
classes_ : ndarray of shape (n_classes,)
    The class labels.
""",
    "machine": """
support_ : ndarray of shape (n_support,)
    Indices of the training rows with a nonzero coefficient.
support_vectors_ : {ndarray, sparse matrix} of shape (n_support, n_features)
    Those rows; empty with a precomputed kernel.
n_support_ : ndarray of shape (n_classes,)
    Number of support vectors of each class, by the label that each row was trained with.
dual_coef_ : ndarray of shape (n_problems, n_support)
    Signed coefficients of the support vectors, one line per binary problem.
intercept_ : ndarray of shape (n_problems,)
    The constant of each decision function.
coef_ : ndarray of shape (n_problems, n_features)
    Weights of the features; only with a linear kernel.
""",
    "transduction": """
transduction_ : ndarray of shape (n_samples,)
    A label for every training row: its own, or the one that the fit gives it.
labeled_iter_ : ndarray of shape (n_samples,)
    The round that gave each row its label: 0 for the labels in y, -1 for rows that are only predicted.
""",
    "course": """
history_ : list of RoundRecord
    One record per round: the binary problem, solver steps, gap, seconds, objective and the method's own details.
n_iter_ : int
    Solver steps over all binary problems.
termination_condition_ : str
    Why the fit ended: "converged", or what came first.
n_features_in_ : int
    Number of features seen during fit.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features seen during fit; only where X has string column names.
""",
}


def with_shared_docs(cls: Class) -> Class:
    """Fill the shared parts into a class's docstring."""
    assert cls.__doc__ is not None
    lines = []
    for line in cls.__doc__.splitlines():
        word = line.strip()
        if word.startswith("%(") and word.endswith(")s"):
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + part if part else part for part in _PARTS[word[2:-2]].strip("\n").splitlines()]
        else:
            lines.append(line)
    cls.__doc__ = "\n".join(lines)
    return cls
