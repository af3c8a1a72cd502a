"""The kernels of `AutoSVC`, averaged with its weights, as one kernel for any other machine.

K* = sum_j w_j K_j        w the weights that `AutoSVC` finds for the same rows and labels

On tables and texts the families are summed in the same way, those that are kernels: forests have no part in it.
`UnlabeledKernel` gives its matrix to estimators with a precomputed kernel. `settle_kernel` puts a method on it from
within (``PreferenceSVC(kernel="unlabeled")``), made from the rows that the method learns from and no others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from semisvm.device import on_host
from semisvm.estimators.auto.families import FamiliesFit, FamilyAverage, fit_families, labeled_target
from semisvm.estimators.auto.geometry import chunks_of
from semisvm.estimators.auto.library import check_neighbors
from semisvm.estimators.auto.members import FamilyTask, FeatureFamily, KernelAverage, KernelFamily, train_library
from semisvm.estimators.auto.preparation import read_rows
from semisvm.estimators.auto.stacking import FamilySettings, fit_least_squares
from semisvm.estimators.classifier import finite_scores, refuse_undefined
from semisvm.estimators.problem import Costs, KernelParameters, TrainingProblem
from semisvm.kernels import Formula
from semisvm.kernels.sources import cross_kernel
from semisvm.labels import Labels, encode
from semisvm.matrices import as_dense
from semisvm.shared_docs import with_shared_docs
from semisvm.sklearn_private import Interval, StrOptions, fit_context

MOST_KERNEL_ROWS = 5000  # of which the kernel matrix, and a few more of that size, are kept


@dataclass(frozen=True)
class StackedKernel:
    """The kernel between any rows and rows that it was made from, as a function of both."""

    average: KernelAverage

    def __call__(self, left: Any, right: Any) -> np.ndarray:
        library = self.average.library
        node = library.geometry.find(library.geometry.prepare(right))
        if (node < 0).any():
            raise ValueError("One side of this kernel must be rows that it was made from.")
        parts = chunks_of(left.shape[0], library.geometry.n_rows)
        return np.concatenate([self.average.kernel(library.place(left[part]), node) for part in parts])


def _refuse_many(name: str, n_rows: int) -> None:
    if n_rows > MOST_KERNEL_ROWS:
        raise ValueError(
            f"{name} keeps a kernel matrix of all rows, and takes at most {MOST_KERNEL_ROWS} of them, not {n_rows}: "
            "fit it on the labeled rows and a sample of the others."
        )


@np.errstate(over="ignore", invalid="ignore")  # a kernel that is not finite is refused
def settle_kernel(problem: TrainingProblem) -> tuple[TrainingProblem, Formula]:
    """The problem with the matrix of the stacked kernel for X, and what stands for that kernel with new rows.

    The kernel is made from all rows of the problem, and weighed as `AutoSVC` does by default. With the kernel "auto" it
    stays in the RBF kernel, unless leave-one-out is better in the stacked one: the sum of squared errors of
    least-squares SVMs, weights of the stack from other folds than the row is in.
    """
    asked, X, labels, weight = problem.kernel, problem.X, problem.labels, problem.weight
    plain = replace(problem, kernel=replace(asked, kernel="rbf"))
    if asked.kernel == "auto" and problem.n_rows > MOST_KERNEL_ROWS:
        return plain, plain.formula()
    _refuse_many('kernel="unlabeled"', problem.n_rows)
    settings = FamilySettings(labels.n_classes)
    target = labeled_target(X, labels, Costs(np.ones(labels.n_classes)), weight, np.arange(len(weight)))
    average, members, at, node = train_library("rows", FamilyTask({"rows": X}, weight, target, settings))
    K = average.kernel(at, node)[node]
    refuse_undefined(K, X)
    if asked.kernel == "auto":
        labeled = X[labels.is_labeled]
        K_plain = np.asarray(cross_kernel(plain.formula(), labeled, labeled))
        alone = fit_least_squares(K_plain, target.Y, target.weight, target.price, ridge=settings.ridge).left_out
        errors = [float(target.count @ ((target.Y - own) ** 2).sum(axis=1)) for own in (members.crossed, alone)]
        if errors[0] >= errors[1]:
            return plain, plain.formula()
    matrix = KernelParameters("precomputed", asked.gamma, asked.coef0, asked.degree)
    formula = Formula("callable", function=StackedKernel(average))
    return replace(problem, X=(K + K.T) / 2, kernel=matrix), formula


@dataclass(frozen=True)
class FamiliesKernel:
    """The kernel between any rows and those of the fit, summed over families.

    own   by family what its kernels compare with: numbers of rows in a library, or by view a share and the features
    """

    average: FamilyAverage
    own: dict[str, Any]

    def __call__(self, X: Any) -> np.ndarray:
        views = self.average.views.of(X)
        weights = self.average.weights
        return np.sum([w * self._of_family(name, views) for name, w in weights.items()], axis=0)

    def _of_family(self, name: str, views: dict[str, Any]) -> np.ndarray:
        family, own = self.average.families[name], self.own[name]
        if isinstance(family, KernelFamily):
            return family.average.kernel(family.average.library.place(views[family.view]), own)
        assert isinstance(family, FeatureFamily)
        parts = [share * (family.features[view].of(views[view]) @ Z.T) for view, (share, Z) in own.items()]
        return np.sum([as_dense(part) for part in parts], axis=0)


def _families_kernel(X: Any, found: FamiliesFit) -> FamiliesKernel:
    """The kernel of families that were fitted to these rows."""
    views = found.average.views.of(X)
    own: dict[str, Any] = {}
    for name, fit in found.fits.items():
        if isinstance(fit.family, KernelFamily):
            geometry = fit.family.average.library.geometry
            own[name] = geometry.find(geometry.prepare(views[fit.family.view]))
        elif isinstance(fit.family, FeatureFamily):
            share = dict.fromkeys(fit.family.features, 0.0)
            for member in fit.members.members:
                share[member.kernel] += fit.members.weights[member.name]
            own[name] = {view: (share[view], maker.of(views[view])) for view, maker in fit.family.features.items()}
    return FamiliesKernel(found.average, own)


def read_input(estimator: Any, X: Any, y: Any) -> tuple[Any, Labels, FamilySettings]:
    """The rows, labels and settings of a fit, by the parameters that `UnlabeledKernel` and `AutoSVC` have in common."""
    X, y = on_host(X), on_host(y)
    if y is not None:
        X = read_rows(estimator, X, reset=True)
    labels = encode(y, unlabeled=estimator.unlabeled, n_rows=None if y is None else X.shape[0])
    settings = FamilySettings(
        n_classes=labels.n_classes,
        n_neighbors=check_neighbors(estimator.n_neighbors),
        metric=estimator.metric,
        is_safe=estimator.safe,
        ridge=estimator.ridge,
        strength=estimator.prior_strength,
    )
    return X, labels, settings


@with_shared_docs
class UnlabeledKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A kernel made from all rows, labeled or not, for estimators with ``kernel="precomputed"``.

    It is the average of the kernels of `AutoSVC`, with the weights that `AutoSVC` finds. In a pipeline it gives any SVM
    most of what the unlabeled rows are worth, and leaves to it what it is good at: costs, a precision to reach.

    Parameters
    ----------
    n_neighbors : tuple of int, default=(3, 15)
        How many nearest rows each row is linked to; one graph for each number.
    ridge : float, default=0.1
        The ridge of the machines by which the kernels are compared, as a multiple of the mean of the kernel's diagonal.
    prior_strength : float, default=0.5
        How strongly the weights are pulled toward the ones that the rows suggest without labels.
    safe : bool, default=True
        Leave out the kernels whose structure the rows do not have; see `AutoSVC`.
    metric : {"auto", "euclidean", "cosine"}, default="auto"
        How rows are compared; "auto" is "cosine" for sparse matrices and "euclidean" for dense ones.
    columns : {"auto", "points", "table"} or dict, default="auto"
        What X is: points, a table, or texts; see `AutoSVC`.
    %(unlabeled)s

    Attributes
    ----------
    weights_ : dict of {str: float}
        The weight of each kernel; see `AutoSVC`. For a table they differ, since forests and logistic regression, which
        are no kernels, have none here.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit; only where X has string column names.

    See Also
    --------
    AutoSVC : Averages machines on these kernels instead of the kernels.
    sklearn.kernel_approximation.Nystroem : Features of an ordinary kernel.

    Notes
    -----
    The weights have seen the labels. An estimator that leaves labels out to judge itself, as `PreferenceSVC` does, sees
    kernels that were chosen with them; with few labels its estimates are then somewhat too good. A certificate needs
    labels that the pipeline was not fitted on.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.pipeline import make_pipeline
    >>> from semisvm import SupervisedSVC, UnlabeledKernel
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> hidden = y.copy()
    >>> hidden[6:] = -1  # six labels are left
    >>> model = make_pipeline(UnlabeledKernel(), SupervisedSVC(C=10, kernel="precomputed"))
    >>> model.fit(X, hidden).score(X, y)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [tuple, list],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "prior_strength": [Interval(Real, 0, None, closed="neither")],
        "safe": ["boolean"],
        "metric": [StrOptions({"auto", "euclidean", "cosine"})],
        "columns": [StrOptions({"auto", "points", "table"}), dict],
        "unlabeled": "no_validation",
    }

    def __init__(
        self,
        n_neighbors: tuple[int, ...] = (3, 15),
        *,
        ridge: float = 0.1,
        prior_strength: float = 0.5,
        safe: bool = True,
        metric: Literal["auto", "euclidean", "cosine"] = "auto",
        columns: Any = "auto",
        unlabeled: Any = -1,
    ):
        self.n_neighbors = n_neighbors
        self.ridge = ridge
        self.prior_strength = prior_strength
        self.safe = safe
        self.metric = metric
        self.columns = columns
        self.unlabeled = unlabeled

    @with_shared_docs
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Make the kernels from all rows, and weigh them by the labeled ones.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features) or array-like of str
            The rows.
        %(labels)s

        Returns
        -------
        self : object
            The fitted transformer.
        """
        X, labels, settings = read_input(self, X, y)
        self._n_features_out = X.shape[0]  # one column per row of the fit; scikit-learn names them
        _refuse_many("UnlabeledKernel", self._n_features_out)
        weight = np.ones(self._n_features_out)
        target = labeled_target(X, labels, Costs(np.ones(labels.n_classes)), weight, np.arange(len(weight)))
        found = fit_families(X, weight, target, replace(settings, kernels_only=True))
        self._kernel, self.weights_ = _families_kernel(X, found), found.weights
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the kernel between rows and the rows of the fit.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features) or array-like of str
            The rows.

        Returns
        -------
        K : ndarray of shape (n_samples, n_samples_fit)
            The kernel matrix, for ``kernel="precomputed"``.
        """
        check_is_fitted(self)
        X = read_rows(self, on_host(X), reset=False)
        return finite_scores(self._kernel_in_parts, X)

    def _kernel_in_parts(self, X: Any) -> np.ndarray:
        return np.concatenate([self._kernel(X[part]) for part in chunks_of(X.shape[0], self._n_features_out)])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
