"""The kernels of `AutoSVC`, averaged with its weights, as one kernel for any other machine.

K* = sum_j w_j K_j        w the weights that `AutoSVC` finds for the same rows and labels
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from semisvm.device import on_host
from semisvm.estimators.auto.average import fit_average, labeled_target
from semisvm.estimators.auto.geometry import chunks_of
from semisvm.estimators.auto.library import check_neighbors, make_library
from semisvm.estimators.base import FLOATS
from semisvm.estimators.costs import Costs
from semisvm.estimators.inputs import validated
from semisvm.labels import encode
from semisvm.shared_docs import with_shared_docs
from semisvm.sklearn_private import Interval, StrOptions, fit_context

MOST_KERNEL_ROWS = 5000  # of which the kernel matrix, and a few more of that size, are kept


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
        How strongly the weights are pulled towards the ones that the rows suggest without labels.
    safe : bool, default=True
        Leave out the kernels whose structure the rows do not have; see `AutoSVC`.
    metric : {"auto", "euclidean", "cosine"}, default="auto"
        How rows are compared; "auto" is "cosine" for sparse matrices and "euclidean" for dense ones.
    %(unlabeled)s

    Attributes
    ----------
    weights_ : dict of {str: float}
        The weight of each kernel; see `AutoSVC`.
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
        unlabeled: Any = -1,
    ):
        self.n_neighbors = n_neighbors
        self.ridge = ridge
        self.prior_strength = prior_strength
        self.safe = safe
        self.metric = metric
        self.unlabeled = unlabeled

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Make the kernels from all rows, and weigh them by the labeled ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            A label for each row, the marker `unlabeled` where there is none.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        X, y = on_host(X), on_host(y)
        if y is not None:
            X = validated(self, X, accept_sparse="csr", dtype=FLOATS)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=None if y is None else X.shape[0])
        n_rows = X.shape[0]
        if n_rows > MOST_KERNEL_ROWS:
            raise ValueError(
                f"UnlabeledKernel keeps a kernel matrix of all rows, and takes at most {MOST_KERNEL_ROWS} of them, not "
                f"{n_rows}: fit it on the labeled rows and a sample of the others."
            )
        library, self._node, at = make_library(
            X,
            np.ones(n_rows),
            labels.n_classes,
            n_neighbors=check_neighbors(self.n_neighbors),
            is_cosine=self.metric == "cosine" or (self.metric == "auto" and sparse.issparse(X)),
            is_safe=self.safe,
        )
        target = labeled_target(labels, Costs(np.ones(labels.n_classes)), np.ones(n_rows), np.arange(n_rows))
        self._average, _ = fit_average(
            library,
            at,
            replace(target, labeled=self._node[target.labeled]),
            ridge=self.ridge,
            strength=self.prior_strength,
            tell=lambda record: False,
        )
        self.weights_ = self._average.weights
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the kernel between rows and the rows of the fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        K : ndarray of shape (n_samples, n_samples_fit)
            The kernel matrix, for ``kernel="precomputed"``.
        """
        check_is_fitted(self)
        X = validated(self, on_host(X), accept_sparse="csr", dtype=FLOATS, reset=False)
        place, parts = self._average.library.place, chunks_of(X.shape[0], len(self._node))
        return np.concatenate([self._average.kernel(place(X[part]), self._node) for part in parts])

    @property
    def _n_features_out(self) -> int:
        """How many columns `transform` gives, one per row of the fit; scikit-learn names them."""
        return len(self._node)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
