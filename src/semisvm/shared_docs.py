"""Documentation that classes share, written once: a decorator fills it into their docstrings.

A docstring holds ``%(name)s`` on a line of its own where the text of that name goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Documented = TypeVar("Documented", bound=Callable)

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
    Multiplies C for the rows of each class, as in scikit-learn: finite numbers, 0 or more, not all 0. The labeled rows
    of a class of weight 0 take no part in training.
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
    The gap (see `gap_`) at which a solution counts as optimal. Below 1e-5 kernel rows are kept in float64.
max_iter : int, default=None
    Most solver steps for each binary problem, all its rounds together. None: until it has converged.
time_limit : float, default=None
    Most seconds for the whole fit. None: no limit. The best model so far is kept when a limit is reached.
cache_size : float, default=None
    Megabytes for kernel rows, or for inner products of rows that a linear machine in its primal form keeps. None:
    half of the free memory. More is faster, less always works.
device : {"auto", "cpu", "cuda"}, default="auto"
    Where to solve and to score new rows. "cuda" (or "cuda:1") needs an NVIDIA GPU and
    ``pip install 'semisvm[gpu]'``; "auto" uses it where it is there and the rows are many.
""",
    "loss": """
loss : {"hinge", "squared_hinge"}, default="hinge"
    What rows short of their margin are charged: the distance, or its square, which needs ``kernel="linear"``. They are
    different machines, and neither is ever taken for the other.
""",
    "solver": """
solver : {"auto", "dual", "primal"}, default="auto"
    The form in which machines with ``kernel="linear"`` are solved. "dual": in the kernel. "primal": in the features,
    for many rows; the fit has `coef_` and no support vectors. "auto": "primal" for dense rows from 2,000 on and ten
    times the number of features, for sparse rows from 5,000 on, and for the squared hinge.
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
gap_ : ndarray of shape (n_problems,)
    How far from optimal each solution may be: the largest violation of the optimality conditions; of fits in the primal
    form, the certified bound (objective - lower bound) / objective.
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
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of the features seen during fit; only where X has string column names.
""",
    "rows": """
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The rows.
""",
    "kernel_values": """
dtype : numpy.dtype
    Float type of the kernel values.
diagonal : ndarray of shape (n_rows,)
    The values k(x_i, x_i).
""",
    "scores_and_sign": """
scores : array-like of shape (n,)
    Scores of labeled rows.
sign : array-like of shape (n,)
    Their true classes, +1 or -1.
""",
    "counts": """
counts : Counts
    Scalars or arrays.
""",
    "raw_rows": """
rows : DataFrame or matrix
    With the columns that the model was fitted to.
""",
    "frame": """
frame : DataFrame
    Rows with the columns of the fit.
""",
    "new_rows": """
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The rows, or with ``kernel="precomputed"`` the kernel values between them and the training rows.
""",
    "labels": """
y : array-like of shape (n_samples,)
    A label for each row, the marker `unlabeled` where there is none.
""",
    "scores": """
scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
    With two classes one score per row, above 0 for the second; with more, one per row and class.
""",
    "predicted": """
y : ndarray of shape (n_samples,)
    Class labels.
""",
    "probabilities": """
probabilities : ndarray of shape (n_samples, n_classes)
    One column per class, in the order of `classes_`.
""",
    "rows_and_labels": """
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The rows, or with ``kernel="precomputed"`` the kernel matrix between them.
y : array-like of shape (n_samples,)
    A label for each row, the marker `unlabeled` where there is none.
""",
    "store": """
store : SolveStore
    Where finished solves are kept and looked up; see :func:`semisvm.dual.solve`.
""",
    "sample_weight": """
sample_weight : array-like of shape (n_samples,), default=None
    How many rows each row counts for; it multiplies C. A row of weight 0 is left out.
""",
    "notes_on_copies": """
A row of weight 2 is two rows, unlabeled rows included: equal unlabeled rows are one row, with their weights added up,
before any is given a label. With a precomputed kernel, a kernel function, costs of single rows or a primal solver,
equal rows are not looked for. There copies may get different labels where the share of positives ends between them,
which a single row of their weight can't.
""",
    "sample_weight_of_scores": """
sample_weight : array-like of shape (n_samples,), default=None
    A row of weight 2 is two rows, for the machine, folds, thresholds and intervals. Weights that are not whole numbers,
    or above 10 on average, multiply C alone: folds, thresholds and intervals then count each row once. A row of weight
    0 is left out.
""",
    "random_sample": """
random_sample : array-like of bool of shape (n_samples,), default=None
    Which labels are a random sample of all rows. Labels that were chosen in another way, for example because the model
    was in doubt, train, but they set no threshold and enter no interval, audit or certificate. Entries of unlabeled
    rows do not matter. None: all labels are said to be a random sample. This is checked where figures are measured on
    them (`fair_sample_`): a `FairSampleWarning` says that they do not look like one, and no certificate is given then.
    A mask is taken at its word.
""",
    "sample_cost": """
sample_cost : array-like of up to three dimensions (n_samples, n_classes, n_classes), default=None
    What errors on each row cost, in place of `costs`. (n_samples,): whatever its class. (n_samples, n_classes): by the
    class that the row may be of, known or not. In three dimensions, one matrix per row: [i, true class, predicted
    class].
""",
    "fitted_self": """
self : object
    The fitted estimator.
""",
    "drawn_class": """
positive : label, optional
    The class to draw; needed for more than two.
""",
    "axes": """
ax : matplotlib.axes.Axes, optional
    By default new ones.
""",
    "axes_of_charts": """
axes : sequence of matplotlib.axes.Axes, optional
    One for each chart; by default new ones.
""",
    "columns_to_draw": """
columns : list of str, optional
    Which numbers to draw; by default all that change.
""",
    "line_options": """
**line : dict
    Passed to matplotlib's `plot`.
""",
    "bins": """
bins : int, default=30
    Number of bins.
""",
    "drawn_display": """
Returns
-------
display
    The display, drawn.
""",
    "figure_of_charts": """
axes_ : ndarray of matplotlib.axes.Axes
    One for each chart, after `plot`.
figure_ : matplotlib.figure.Figure
    Their figure.
""",
    "figure": """
ax_ : matplotlib.axes.Axes
    The axes, after `plot`.
figure_ : matplotlib.figure.Figure
    Their figure.
""",
    "preference_targets": """
min_precision : float or dict {class: float}, default=None
    The precision to keep, in (0, 1]: that of the second of two classes, or that of each of several classes against the
    rest. Among the thresholds that keep everything that is asked, the one with the best F1 is chosen; if nothing is
    asked, the one with the best F1 of all.
min_recall : float or dict {class: float}, default=None
    The recall to keep. It can be combined with `min_precision`.
confidence : float, default=None
    Ask for a certificate: with 0.9 the target holds with probability 90% over the draw of the labels that are kept for
    it (`calibration_size` of all labels, used for nothing else). Where they are too few, the operating point says how
    many labels it would take. Each of several classes has its own certificate. None: no certificate.
calibration : {"cross", "part", "full"}, default="cross"
    The rows that the threshold is chosen on. "cross": all labels, by out-of-fold scores of five folds, so that every
    label trains and every label calibrates; unlabeled rows train where the labels say that this helps. "part" is the
    paper's way: a part of the labels calibrates, and the rest train. "full", also in the paper, trains and calibrates
    on the same labels, and its estimates are too optimistic.
calibration_size : float, default=0.5
    The part of the labels that calibrates ("part"), and the part that is kept for the certificate.
pool : {"grow", "rebuild"}, default="grow"
    For "part" and "full": soft labels stay once they are given (INC in the paper), or are made again in each round
    (REC).
adjust : {"best", "paper"} or None, default="best"
    For "part" and "full": the rule for the threshold above which unlabeled rows are taken as positive in each round
    (see :func:`semisvm.decision.adjust`). None leaves it at 0, and all unlabeled rows are labeled at once.
max_rounds : int, default=20
    For "part" and "full": most trainings.
probability : bool, default=False
    Whether there is `predict_proba`. The threshold decides, so the most probable class is not always the one that is
    predicted, which much of scikit-learn takes for granted: hence it has to be asked for, before the fit or after it.
""",
    "operating_points": """
threshold_ : ndarray of shape (n_problems,)
    The thresholds that are subtracted from the scores: `decision_function` is above 0 where a class is accepted. With
    more than two classes the largest difference wins, even if several classes accept the row or none does.
fair_sample_ : FairSampleCheck or None
    Whether the labels look like a random sample of all rows (`semisvm.check_fair_sample`); None where there are no
    unlabeled rows to compare with, or where `random_sample` was given.
operating_points_ : dict {class: OperatingPoint}
    What each threshold is expected to give, with intervals; the positive class alone with two classes. None for a class
    whose fit was stopped before it began.
operating_point_ : OperatingPoint
    That of the positive class; only with two classes.
audits_ : dict {class: dict {str: OperatingPoint}}
    The contribution of each step, measured on the same rows: "supervised", "supervised + threshold", "with unlabeled".
audit_ : dict {str: OperatingPoint}
    That of the positive class; only with two classes.
calibration_scores_ : dict {class: ndarray of shape (n_calibration,)}
    The scores that each threshold was chosen on, in the order of `calibration_sign_`, which is not that of the rows.
calibration_sign_ : dict {class: ndarray of shape (n_calibration,)}
    Whether these rows are of the class, +1 or -1.
""",
}


def with_shared_docs(documented: Documented) -> Documented:
    """Fill the shared parts into the docstring of a class or a function."""
    if documented.__doc__ is None:  # python -OO
        return documented
    lines = []
    for line in documented.__doc__.splitlines():
        word = line.strip()
        if word.startswith("%(") and word.endswith(")s"):
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + part if part else part for part in _PARTS[word[2:-2]].strip("\n").splitlines()]
        else:
            lines.append(line)
    documented.__doc__ = "\n".join(lines)
    return documented
