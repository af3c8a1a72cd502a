"""One module or sub-package per method, each a sequence of dual problems; and what is asked of all of them together.

`METHODS` is the one list that everything else derives from: the command's help and `--method`, `compare`, the types
that model files may hold, and the tests that run over every estimator. A new method is one line there. `compile_all`
compiles what they need.

An estimator is imported when it is first asked for, so that a model file is read with its own estimator alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semisvm.estimators.auto import AutoSVC, UnlabeledKernel
    from semisvm.estimators.cluster import ClusterSVC
    from semisvm.estimators.label_mean import LabelMeanSVC
    from semisvm.estimators.laplacian import LaplacianSVC
    from semisvm.estimators.mixture import MixtureClassifier
    from semisvm.estimators.positive_unlabeled import PositiveUnlabeledSVC
    from semisvm.estimators.preference import PreferenceClassifier, PreferenceSVC
    from semisvm.estimators.progressive import ProgressiveSVC
    from semisvm.estimators.self_training import SelfTrainingSVC
    from semisvm.estimators.supervised import SupervisedSVC
    from semisvm.estimators.transductive import TransductiveSVC

__all__ = [
    "AutoSVC",
    "ClusterSVC",
    "LabelMeanSVC",
    "LaplacianSVC",
    "MixtureClassifier",
    "PositiveUnlabeledSVC",
    "PreferenceClassifier",
    "PreferenceSVC",
    "ProgressiveSVC",
    "SelfTrainingSVC",
    "SupervisedSVC",
    "TransductiveSVC",
    "UnlabeledKernel",
    "all_estimators",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # LabelMeanSVC is in label_mean, MixtureClassifier in mixture.
    own_name = "_".join(re.findall("[A-Z][a-z]+", name)).lower().removesuffix("_classifier")
    home = "auto" if name == "UnlabeledKernel" else own_name
    found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


@dataclass(frozen=True)
class Method:
    """A name on the command line, the class behind it, and what the papers call it."""

    name: str
    class_name: str
    paper_name: str
    about: str
    takes_sparse: bool = True
    n_squares: int = 0  # matrices of all rows by all rows that a fit holds in memory whatever its cache_size
    sets_threshold: bool = False  # whether it answers a precision or recall itself, its scores being above 0 there
    for_one_class: bool = False  # whether it is for targets with labels of one class only

    @property
    def estimator_class(self) -> Any:
        """The class."""
        return getattr(import_module(__name__), self.class_name)


# In the order of how much there is to them: of two that are as good as each other, the first is chosen.
METHODS = (
    Method("supervised", "SupervisedSVC", "SVM (SSVM)", "the labeled rows alone: the baseline"),
    Method(
        "mixture",
        "MixtureClassifier",
        "generative model (EM)",
        "a Gaussian for each class, all rows",
        takes_sparse=False,
    ),
    Method("self-training", "SelfTrainingSVC", "self-training", "retrained on its own predictions"),
    Method("cluster", "ClusterSVC", "cluster-SVM", "unlabeled rows take the label of their cluster"),
    Method("laplacian", "LaplacianSVC", "Laplacian SVM", "neighbors are given similar scores", n_squares=3),
    Method("label-mean", "LabelMeanSVC", "CS4VM (meanS3VM)", "the means of the unlabeled rows' classes"),
    Method("transductive", "TransductiveSVC", "TSVM", "the boundary where unlabeled rows are few"),
    Method("progressive", "ProgressiveSVC", "PTSVM", "pairs of rows labeled round by round"),
    Method("auto-kernel", "AutoSVC", "stacked kernels", "an average over kernels made from all rows"),
    Method("preference", "PreferenceSVC", "PSVM", "a precision or recall to reach", sets_threshold=True),
    Method(
        "positive-unlabeled",
        "PositiveUnlabeledSVC",
        "weighted SVM, uPU",
        "only positives are labeled",
        sets_threshold=True,
        for_one_class=True,
    ),
)
NAMES = tuple(method.name for method in METHODS)


def find_method(name: str) -> Method:
    """Return the method of that name."""
    from difflib import get_close_matches

    found = next((method for method in METHODS if method.name == name), None)
    if found is None:
        names = ["auto", *NAMES]
        close = get_close_matches(name, names, n=1) if name != "auto" else []
        hint = f"Perhaps {close[0]!r} is meant; there are " if close else "There are "
        raise ValueError(f"There is no method {name!r}. {hint}{', '.join(names)}.")
    return found


def all_estimators(type_filter: str | None = None) -> list[tuple[str, type]]:
    """Return every public estimator of this library, as `sklearn.utils.discovery.all_estimators` does.

    Parameters
    ----------
    type_filter : {"classifier", "transformer"}, optional
        Only those of this type.

    Returns
    -------
    list of (str, type)
        Names and classes, sorted by name. Some need an argument to be made, such as the classifier that they are put
        around.

    Examples
    --------
    >>> from semisvm import all_estimators
    >>> [name for name, _ in all_estimators("transformer")]
    ['TableEncoder', 'UnlabeledKernel']
    """
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

    package = import_module("semisvm")
    kinds = {None: BaseEstimator, "classifier": ClassifierMixin, "transformer": TransformerMixin}
    if type_filter not in kinds:
        raise ValueError(f"type_filter must be 'classifier', 'transformer' or None, got {type_filter!r}.")
    found = [(name, getattr(package, name)) for name in sorted(package.__all__)]
    classes = [(name, one) for name, one in found if isinstance(one, type) and issubclass(one, BaseEstimator)]
    return [(name, one) for name, one in classes if issubclass(one, kinds[type_filter])]


ROWS_TO_COMPILE = 40


def compile_all() -> dict[str, float]:
    """Compile everything that a fit on the CPU may need, or find it on disk, where machine code is kept.

    The first fit after an installation compiles what it uses, for a few seconds. This does it for all of them: rows of
    both precisions, dense, sparse and of whole numbers, both ways to advance, scores of new rows, linear machines on
    sparse rows, values of resamples, and the trees of `AutoSVC`.

    Returns
    -------
    dict of str to float
        The seconds that each part took; hundredths of a second where it was on disk already.

    Examples
    --------
    >>> from semisvm.estimators import compile_all
    >>> seconds = compile_all()  # doctest: +SKIP
    """
    import numpy as np
    from scipy import sparse

    from semisvm.decision import Target
    from semisvm.decision.audit import FEW_COPIES, resample, resampled_values
    from semisvm.dual.advance import PairwiseSteps, WorkingSets
    from semisvm.estimators.auto.trees import FEW_WALKS, grow_forest, grow_leaf_shares
    from semisvm.estimators.classifier import MANY_NUMBERS
    from semisvm.estimators.equal_rows import content_key
    from semisvm.kernels import SHORT_ROW, WORTH_COMPILING, kernel_rows, make_formula, scores_of_new_rows
    from semisvm.kernels.panel_source import FEW_NUMBERS, WORDS_PAY_FROM_ROWS

    seconds: dict[str, float] = {}

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - began

    rng, types = np.random.default_rng(0), (np.float32, np.float64)
    few, long = rng.normal(size=(ROWS_TO_COMPILE, 3)), rng.normal(size=(ROWS_TO_COMPILE, 200))
    sign, formula = np.where(few[:, 0] > 0, 1.0, -1.0), make_formula("rbf", few, gamma=1.0)
    forms: dict[str, Any] = {"short or sparse rows": sparse.csr_matrix(few), "long rows": long}
    cases = [(f"{name}, {dtype.__name__}", X, dtype) for dtype in types for name, X in forms.items()]
    cases.append(("rows of whole numbers", sparse.csr_matrix(np.eye(WORDS_PAY_FROM_ROWS, 3)), np.float32))
    for name, X, dtype in cases:
        for what, way in (("pairwise steps", PairwiseSteps), ("working sets", WorkingSets)):
            with timed(f"{what}, {name}"):
                _advance(X, np.resize(sign, X.shape[0]), dtype, way)
    with timed("dense rows to sparse ones"):
        for dtype in types:
            kernel_rows(np.zeros((FEW_NUMBERS // 2 + 1, 2), dtype=dtype), formula, cache_size=1.0)
    with timed("scores of new rows"):
        new = np.zeros((WORTH_COMPILING // ROWS_TO_COMPILE + 1, min(3, SHORT_ROW)))
        scores_of_new_rows(new, few, sign[None], formula)
    for dtype in types:
        with timed(f"linear machines, sparse rows, {dtype.__name__}"):
            _solve_linear(sparse.csr_array(few, dtype=dtype), sign)
    with timed("passes over many rows"):
        for dtype in types:
            content_key(np.zeros((4, MANY_NUMBERS // 4 + 1), dtype=dtype))
    with timed("values of resamples"):
        is_positive = np.resize(sign > 0, FEW_COPIES // 100 + 1)
        resampled_values(is_positive.astype(np.float64), is_positive, resample(is_positive, 100, rng), Target())
    with timed("trees"):  # and more rows through them than NumPy sends
        codes = (sign > 0).astype(np.intp)
        forest = grow_forest(few, codes, np.ones(len(few)), 2, n_trees=2, per_cut=1, is_random=False)
        many = np.zeros((FEW_WALKS + 1, few.shape[1]))
        forest.trees.sums(many, forest.shares)
        forest.trees.leaves(many)
        grow_leaf_shares(few)
    return seconds


def _advance(X: Any, sign: Any, dtype: Any, way: Any) -> None:
    """Take a few steps of a small problem in one of the ways, from a start that is not 0."""
    from semisvm.dual import DualProblem
    from semisvm.dual.host import SolverState
    from semisvm.kernels import kernel_rows, make_formula

    kernel: Any = kernel_rows(X, make_formula("rbf", X, gamma=1.0), dtype=dtype, cache_size=1.0)
    state = SolverState(DualProblem(kernel, -sign, sign.clip(max=0), sign.clip(min=0)), 0.1 * sign, kernel)
    state.survey()
    way(state).advance(1e-3, 10)
    state.solution(None, 0.0)  # type: ignore[arg-type]


def _solve_linear(X: Any, sign: Any) -> None:
    """Solve a linear machine on CSR rows in both ways, and sum over its rows as conjugate gradients do."""
    import numpy as np

    from semisvm.primal import GivenPrices, MemoryRows, PrimalProblem, Watcher
    from semisvm.primal.descent import solve_descent
    from semisvm.primal.newton import solve_newton
    from semisvm.primal.passes import curvature_times, slopes_along

    rows, prices, d = MemoryRows(X), GivenPrices.of_signs(sign, np.ones(len(sign))), X.shape[1]
    for solve in (solve_descent, solve_newton):
        solve(PrimalProblem(rows, prices), None, Watcher(tol=1e-9, max_iter=3, deadline=None, callback=None))
    for part in rows.parts():
        curvature_times(part, prices, np.zeros(d), 0.0, 1.0, np.ones(d + 1))
        slopes_along(part, prices, np.ones((2, d + 1)), np.ones(1), 1.0)
