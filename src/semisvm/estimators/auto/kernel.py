"""The kernels of `AutoSVC`, averaged with its weights, as one kernel for any other estimator.

K* = sum_j w_j K_j        w the weights that `AutoSVC` finds for the same rows and labels
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from semisvm.device import on_host
from semisvm.estimators.auto.geometry import chunks_of
from semisvm.estimators.auto.members import FamilyTask, train_kernels
from semisvm.estimators.auto.stacking import FamilySettings
from semisvm.estimators.classifier import FLOATS, finite_scores, refuse_too_large, validated
from semisvm.estimators.least_squares import labeled_target
from semisvm.estimators.problem import Costs
from semisvm.estimators.progress import warn_of_scales
from semisvm.kernels.threads import with_limited_threads
from semisvm.labels import encode
from semisvm.sklearn_private import Interval, StrOptions, fit_context

MOST_KERNEL_ROWS = 5000  # a kernel matrix of so many rows takes 200 MB, and a few are held at once


class UnlabeledKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transformer that makes a kernel from all rows, labeled or not, for ``kernel="precomputed"``.

    The kernel is the average of the kernels of `AutoSVC`, with the weights that `AutoSVC` finds. In
    a pipeline, any SVM can use the unlabeled rows through it, and add what `AutoSVC` lacks, such as
    matrices of costs.

    Parameters
    ----------
    n_neighbors : tuple of int, default=(3, 15)
        Numbers of nearest neighbors that each row is linked to; one graph for each number.
    ridge : float, default=0.1
        The ridge of the SVMs that the kernels are compared by, as a multiple of the mean of the
        kernel's diagonal.
    prior_strength : float, default=0.5
        Strength of the prior weights, which do not depend on the labels; see `AutoSVC`.
    safe : bool, default=True
        Whether to leave out kernels for structure that the rows do not have; see `AutoSVC`.
    metric : {"auto", "euclidean", "cosine"}, default="auto"
        Metric between rows; "auto" is "cosine" for sparse matrices and "euclidean" for dense
        arrays.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.

    Attributes
    ----------
    weights_ : dict of {str: float}
        The weight of each kernel; see `AutoSVC`.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    AutoSVC : Averages SVMs on these kernels instead of the kernels; also for tables and texts.
    sklearn.kernel_approximation.Nystroem : Features of an ordinary kernel.

    Notes
    -----
    The weights depend on the labels. An estimator that evaluates itself by cross-validation, such
    as `PreferenceSVC`, uses a kernel that was chosen with all labels, so that with few labels its
    estimates are somewhat optimistic. A certificate needs labels that the pipeline was not fitted
    on.

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

    @with_limited_threads
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Make the kernels from all rows, and find their weights from the labeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one (see also :doc:`/scikit-learn`).

        Returns
        -------
        self : object
            The fitted transformer.
        """
        y = on_host(y)
        if y is not None:
            X = validated(self, on_host(X), accept_sparse="csr", dtype=FLOATS, reset=True)
            refuse_too_large(X, getattr(self, "feature_names_in_", None))
            warn_of_scales(self, X)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=None if y is None else X.shape[0])
        settings = FamilySettings.of(self, labels.n_classes)
        n_rows = X.shape[0]
        if n_rows > MOST_KERNEL_ROWS:
            raise ValueError(
                f"UnlabeledKernel keeps a kernel matrix of all rows, and takes at most"
                f" {MOST_KERNEL_ROWS} of them, not {n_rows}: fit it on the labeled rows and a"
                " sample of the others."
            )
        self._n_features_out = n_rows  # one column per row of the fit; scikit-learn names them
        weight = np.ones(n_rows)
        costs = Costs(np.ones(labels.n_classes))
        target = labeled_target(X, labels, costs, weight, np.arange(n_rows))
        self._family = train_kernels(
            "rows", FamilyTask({"rows": X}, weight, target, settings)
        ).family
        geometry = self._family.library.geometry
        self._node = geometry.find(geometry.prepare(X))
        self.weights_ = self._family.weights
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the kernel between rows and the training rows.

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
        return finite_scores(self._kernel_in_parts, X)

    def _kernel_in_parts(self, X: Any) -> np.ndarray:
        place = self._family.library.place
        return np.concatenate(
            [
                self._family.kernel(place(X[part]), self._node)
                for part in chunks_of(X.shape[0], self._n_features_out)
            ]
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
