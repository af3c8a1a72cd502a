"""TSVM: the transductive support vector machine, by label switching or by a ramp loss.

    minimize over f and the unknown labels y_j, j unlabeled

        1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                  + C_unlabeled sum_unlabeled weight_j max(0, 1 - y_j f(x_j))

    with a given fraction of the y_j positive

The best y_j for a given f is its sign, so the last sum charges for every unlabeled row inside the
margin: the boundary is pushed to where rows are few. The problem has many local minima, and the
algorithms differ in how they find their way: see `_switching` and `_ramp`.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from semisvm.engine import Formula
from semisvm.sklearn_private import Interval, StrOptions

from ._base import PrimalSVC
from ._binary import BinaryFit, TrainingSet
from ._dask import RankSwitching
from ._estimator import estimator
from ._ramp import RampSVM
from ._rounds import Rounds
from ._shares import POSITIVE_FRACTION, check_share_has_one_meaning, set_shares, settle_share
from ._switching import switch_labels

SHARE_WITH_MANY = 0.1  # of C, the penalty of unlabeled rows with more than two classes


@estimator
class TransductiveSVC(PrimalSVC):
    """Transductive support vector classifier (TSVM, S3VM) of labeled and unlabeled rows.

    It puts the boundary where there are few rows, which helps if the classes are clusters.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a labeled row on the wrong side of its margin.
    C_unlabeled : float, default=None
        Penalty for an unlabeled row on the wrong side of its margin, under its assigned label.
        None: C with two classes; C / 10 with more, because class shares estimated from few labels
        are uncertain. It is multiplied by the cost of that label.
    algorithm : {"switch", "cccp"}, default="switch"
        "switch": assign labels by rank, and switch pairs of them while the objective decreases, for
        increasing C_unlabeled [1]_. "cccp": minimize a ramp loss by a sequence of convex problems,
        with the classes balanced on average [2]_.
    positive_fraction : {"labeled", "estimated"} or float, default="labeled"
        Fraction of the unlabeled rows that are of the second class: as among the labeled rows; as
        predicted by the supervised SVM, within the confidence interval from the labels; or a number
        (two classes only). A wrong fraction forces as many wrong labels.
    pairs_per_round : "auto" or int, default="auto"
        For "switch": number of pairs of labels to switch before training again. "auto" switches all
        disjoint pairs that lower the objective; 1, as in Joachims' paper, is slower and about as
        good.

    Attributes
    ----------
    positive_fraction_ : ndarray of shape (n_problems,)
        The fraction that was used.
    positive_fraction_interval_ : ndarray of shape (n_problems, 2)
        The 90% confidence interval of the fraction, from the labels.

    See Also
    --------
    ProgressiveSVC : Needs no fraction of positives.
    LabelMeanSVC : Uses the class means of the unlabeled rows; more robust with few labels.

    References
    ----------
    .. [1] T. Joachims, "Transductive inference for text classification using support vector
       machines", ICML 1999.
    .. [2] R. Collobert, F. Sinz, J. Weston and L. Bottou, "Large scale transductive SVMs", Journal
       of Machine Learning Research 7, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> y[20:] = -1  # all but twenty labels are hidden
    >>> TransductiveSVC(kernel="linear", positive_fraction=0.6).fit(X, y).predict(X[20:23])
    array([1, 1, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PrimalSVC._parameter_constraints,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), None],
        "algorithm": [StrOptions({"switch", "cccp"})],
        "positive_fraction": POSITIVE_FRACTION,
        "pairs_per_round": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    }

    C_unlabeled: float | None = None
    algorithm: Literal["switch", "cccp"] = "switch"
    positive_fraction: str | float = "labeled"
    pairs_per_round: Literal["auto"] | int = "auto"

    _takes_dask = True

    def _why_not_primal(self) -> str | None:
        return None if self.algorithm == "switch" else "has no form for algorithm='cccp'"

    def _fit_classes(self, data: TrainingSet) -> list[BinaryFit]:
        fits = super()._fit_classes(data)
        if len(fits) > 1:  # solved apart, two of them may have claimed the same row: f decides
            fits = [replace(fit, guess=None) for fit in fits]
        return fits

    def _set_model(self, formula: Formula, fits: list[BinaryFit]) -> None:
        super()._set_model(formula, fits)
        set_shares(self, fits)

    def _fit_binary(self, problem: Any) -> BinaryFit:
        check_share_has_one_meaning(self.positive_fraction, len(self.classes_))
        rounds = Rounds(problem)
        found = rounds.solve(problem.supervised(self.C))
        share = settle_share(self.positive_fraction, problem, found)
        rounds.done(positive_fraction=share.value)
        guess = None
        if np.isnan(problem.predicted_share(found)):  # every row has a label
            pass
        elif not problem.is_in_memory:
            RankSwitching(rounds, share, self.C, self._price).run()
        elif self.algorithm == "cccp":
            return RampSVM(problem, self.C, self._price, share).fit(rounds)
        else:
            most_pairs = None if self.pairs_per_round == "auto" else self.pairs_per_round
            guess = switch_labels(rounds, share, self.C, self._price, most_pairs)
        return rounds.fit(guess=guess, facts={"share": share})

    @property
    def _price(self) -> float:
        """C_unlabeled, or what None stands for."""
        if self.C_unlabeled is not None:
            return self.C_unlabeled
        return self.C if len(self.classes_) == 2 else SHARE_WITH_MANY * self.C
