"""What every classifier here offers after `fit`: labels by its scores, accuracy on labeled rows, and a campaign."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from semisvm.estimators.binary import winning_codes
from semisvm.model_selection.scoring import LabeledRowsScoreMixin
from semisvm.primal.dask_rows import is_dask, map_lazily
from semisvm.shared_docs import with_shared_docs

if TYPE_CHECKING:
    from semisvm.campaign import Campaign, ThresholdClassifier
    from semisvm.decision import OperatingPoint


class SemiSupervisedMixin(LabeledRowsScoreMixin):
    """Mixin for classifiers with `decision_function`: `predict`, `score`, `campaign` and `with_threshold`.

    It must come before scikit-learn's `ClassifierMixin` among the base classes.
    """

    classes_: np.ndarray
    decision_function: Callable[..., np.ndarray]

    @with_shared_docs
    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        %(new_rows)s

        Returns
        -------
        %(predicted)s
        """
        if is_dask(X):
            check_is_fitted(self)
            return map_lazily(self.predict, X, None, self.classes_.dtype)
        decision = self.decision_function(X)
        return self.classes_[winning_codes(decision)]

    def campaign(self, X_pool: Any, **options: Any) -> Campaign:
        """Begin to label rows of a pool until a threshold of this model is certified.

        Parameters
        ----------
        X_pool : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows whose labels are not known; the unlabeled rows of `fit`, or others.
        **options
            What `Campaign.for_model` takes: `min_precision`, `min_recall`, `min_f`, `max_cost` with `costs`,
            `confidence`, `claim`, `pos_label`, `training` and others.

        Returns
        -------
        campaign : Campaign
            With `draw`, `tell`, `verdict`, `prices` and `save`. It is entered in `campaigns_`, the ledger of this
            model: the risks of all campaigns add up.

        See Also
        --------
        with_threshold : The model with what a campaign has certified.
        """
        from semisvm.campaign import Campaign

        check_is_fitted(self)
        return Campaign.for_model(self, X_pool, **options)

    def with_threshold(self, point: OperatingPoint | float, *, pos_label: Any = None) -> ThresholdClassifier:
        """Return this model with another threshold; the model itself stays as it is.

        Parameters
        ----------
        point : OperatingPoint or float
            What a campaign has certified, or a plain threshold: rows with a higher score are accepted.
        pos_label : label, default=None
            The positive class; by default the second of two.

        Returns
        -------
        model : ThresholdClassifier
            A fitted classifier; `operating_point_` says what is promised.
        """
        from semisvm.campaign import ThresholdClassifier

        return ThresholdClassifier.around(self, point, pos_label)
