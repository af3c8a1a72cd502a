"""SSVM and CS-SVM of the papers: the support vector classifier trained on the labeled rows only.

    minimize  1/2 |w|^2 + C sum_i weight_i cost_i max(0, 1 - y_i f(x_i))      f(x) = <w, x> + bias

In signed variables beta_i = y_i alpha_i this is the dual problem with linear = -y and the box
[0, C weight_i cost_i] for a positive row, [-C weight_i cost_i, 0] for a negative one. It is the
baseline that every semi-supervised method has to beat.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from semisvm.sklearn_private import Interval

from ._base import PrimalSVC
from ._binary import BinaryFit, BinaryProblem, TrainingSet
from ._copies import distinct_rows, has_many_copies, over_copies
from ._estimator import estimator
from ._rounds import Rounds

LARGEST_C = 1e10  # what C=inf, a hard margin, is solved with, as in scikit-learn's SVC


@estimator
class SupervisedSVC(PrimalSVC):
    """Support vector classifier trained on the labeled rows; unlabeled rows are ignored.

    The papers call it SSVM, and CS-SVM when the classes have costs.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a row on the wrong side of its margin. ``inf`` is solved as 1e10.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One-vs-one or one-vs-rest.
    random_state : int or None, default=None
        Not used, since nothing is drawn; it is there so that code for scikit-learn's SVC runs.

    See Also
    --------
    TransductiveSVC : Uses the unlabeled rows.
    sklearn.svm.SVC : The same SVM without unlabeled rows and costs.

    References
    ----------
    .. [1] C. Cortes and V. Vapnik, "Support-vector networks", Machine Learning 20, 1995.
       :doi:`10.1007/BF00994018`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> y[57:] = -1  # nine labels in ten are hidden
    >>> SupervisedSVC(C=10).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PrimalSVC._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="right")],
        "random_state": ["random_state"],
    }
    _uses_unlabeled = False
    _takes_dask = True

    multi_class: Literal["ovr", "ovo"] = "ovo"
    random_state: int | None = None

    def _fit_classes(self, data: TrainingSet) -> list[BinaryFit]:
        """Where many rows repeat, each is solved for once, the weights of its copies added up."""
        if not has_many_copies(data):
            return super()._fit_classes(data)
        _, group = distinct_rows(data.X)
        # Copies with another label are other rows.
        key = group * data.labels.n_classes + data.labels.codes
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        merged = replace(data.take(first), weight=np.bincount(group, data.weight))
        return [over_copies(fit, first, group) for fit in super()._fit_classes(merged)]

    def _fit_binary(self, problem: BinaryProblem) -> BinaryFit:
        rounds = Rounds(problem)
        found = rounds.solve(problem.supervised(min(self.C, LARGEST_C)))
        rounds.done(objective=found.objective)
        return rounds.fit()
