"""The kernels of `AutoSVC`, averaged with its weights, as one kernel for any other estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from semisvm.auto.classifier import MOST_FUNCTIONS, PRIOR_STRENGTH
from semisvm.auto.members import CHUNK_NUMBERS, kernel_block
from semisvm.auto.rows import read_rows
from semisvm.auto.stacking import average, make_target
from semisvm.labels import encode

MOST_ROWS = 5_000  # a kernel matrix of so many rows takes 200 MB, and a few are held at once


class UnlabeledKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transformer that makes a kernel from all rows, labeled or not, for ``kernel="precomputed"``.

    The kernel is the average of the kernels of `AutoSVC`, with the weights that `AutoSVC` finds. In
    a pipeline, any SVM can use the unlabeled rows through it.

    Parameters
    ----------
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
    The weights depend on the labels. An estimator that evaluates itself by cross-validation uses a
    kernel that was chosen with all labels, so that with few labels its estimates are somewhat
    optimistic. A certificate needs labels that the pipeline was not fitted on.

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

    columns = "points"  # as `AutoSVC` reads rows

    def __init__(self, *, unlabeled: Any = -1):
        self.unlabeled = unlabeled

    def fit(self, X: Any, y: Any) -> UnlabeledKernel:
        """Make the kernels from all rows, and find their weights from the labeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        if y is not None:
            X = read_rows(self, X, reset=True)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=None if y is None else X.shape[0])
        n = self._n_features_out = X.shape[0]
        if n > MOST_ROWS:
            raise ValueError(
                f"UnlabeledKernel keeps a kernel matrix of all rows, and takes {MOST_ROWS:,} of"
                f" them at most, not {n:,}: fit it on the labeled rows and a sample of the others."
            )
        target = make_target(labels.codes, labels.classes, np.ones(n), None)
        block = kernel_block("rows", "rows", X, target.position, target, MOST_FUNCTIONS)
        self.weights_ = average([block], target, PRIOR_STRENGTH, PRIOR_STRENGTH).of_members()
        self._weights: dict[str, float] = {}
        for member, weight in self.weights_.items():  # of all ridges of a kernel
            kernel = member.partition(",")[0]
            self._weights[kernel] = self._weights.get(kernel, 0) + weight
        self._kernels, self._node = block.model.kernels, block.model.kernels.node
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
        X = read_rows(self, X, reset=False)
        parts = gen_batches(X.shape[0], max(1, CHUNK_NUMBERS // self._n_features_out))
        return np.concatenate([self._kernel(X[part]) for part in parts])

    def _kernel(self, X: Any) -> np.ndarray:
        matrices = self._kernels.matrices(self._kernels.place(X), self._node)
        return sum(self._weights[name] * K for name, K in matrices if name in self._weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
