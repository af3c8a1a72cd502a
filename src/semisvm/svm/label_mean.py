"""CS4VM, the cost-sensitive semi-supervised SVM of Li, Kwok and Zhou (AAAI 2010); with equal costs,
meanS3VM.

The unlabeled rows enter by the means of their two classes. With ten labels most single rows can't
be labeled reliably, but the means can be estimated: misplaced rows hardly move them. Three steps:

    1  the supervised SVM of the labeled rows
    2  which rows are positive, by sorting and solving by turns        `LabelMeans`, Eq. 7
    3  the SVM of those guesses, every mistake at its cost             `GuessedMargins`, Eq. 6
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from semisvm.engine import Formula
from semisvm.sklearn_private import Interval

from ._base import BaseSVC
from ._binary import BinaryFit, BinaryProblem
from ._estimator import estimator
from ._label_means import GuessedMargins, LabelMeans
from ._rounds import Rounds
from ._shares import POSITIVE_FRACTION, check_share_has_one_meaning, set_shares, settle_share

SHARE_OF_C = 0.1  # C_unlabeled=None: the authors' choice


@estimator
class LabelMeanSVC(BaseSVC):
    """Cost-sensitive support vector classifier of labeled and unlabeled rows (CS4VM, meanS3VM).

    It uses the unlabeled rows only through the means of the classes, for as few as ten labels.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a labeled row on the wrong side of its margin.
    C_unlabeled : float, default=None
        Penalty for an unlabeled row on the wrong side of its margin, under its guessed label. None:
        C / 10, the authors' choice. It is multiplied by the cost of that label.
    positive_fraction : {"labeled", "estimated"} or float, default="labeled"
        Fraction of the unlabeled rows that are of the second class: as among the labeled rows; as
        predicted by the supervised SVM, within the confidence interval from the labels; or a number
        (two classes only). Pass a number if you know one: a wrong fraction is the main cause of
        failure of this method.

    Attributes
    ----------
    positive_fraction_ : ndarray of shape (n_problems,)
        The fraction that was used.
    positive_fraction_interval_ : ndarray of shape (n_problems, 2)
        The 90% confidence interval of the fraction, from the labels.

    See Also
    --------
    SupervisedSVC : The SVM of the labeled rows only, with the same costs.
    TransductiveSVC : Labels single rows instead of using class means.

    Notes
    -----
    The first record in `history_` is for the supervised SVM, then there is one for each update of
    the label means, with the number of guesses that ``changed``; the last is for the final SVM,
    with the number of ``opposite`` pieces and of guesses that it ``contradicted``.

    With ten labels and costs of 10 to 1 a constant prediction often costs less than any classifier:
    compare the costs on held-out labels with those of predicting one class for every row.

    References
    ----------
    .. [1] Y.-F. Li, J. T. Kwok and Z.-H. Zhou, "Cost-sensitive semi-supervised support vector
       machine", AAAI 2010. :doi:`10.1609/aaai.v24i1.7661`
    .. [2] Y.-F. Li, J. T. Kwok and Z.-H. Zhou, "Semi-supervised learning using label mean", ICML
       2009. :doi:`10.1145/1553374.1553456`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    >>> y[20:] = -1  # all but twenty labels are hidden
    >>> model = LabelMeanSVC(kernel="linear", costs={0: 5, 1: 1}, positive_fraction=0.6).fit(X, y)
    >>> model.predict(X[20:23])
    array([1, 1, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), None],
        "positive_fraction": POSITIVE_FRACTION,
    }

    C_unlabeled: float | None = None
    positive_fraction: str | float = "labeled"

    def _set_model(self, formula: Formula, fits: list[BinaryFit]) -> None:
        super()._set_model(formula, fits)
        set_shares(self, fits)

    def _fit_binary(self, problem: BinaryProblem) -> BinaryFit:
        check_share_has_one_meaning(self.positive_fraction, len(self.classes_))
        rounds = Rounds(problem)
        found = rounds.solve(problem.supervised(self.C))  # 1
        share = settle_share(self.positive_fraction, problem, found)
        rounds.done(objective=-found.objective, positive_fraction=share.value)
        # One row alone has no two means, and a class whose errors are free has none that matters.
        if (~problem.is_labeled).sum() > 1 and all(problem.sign_cost.values()):
            price = SHARE_OF_C * self.C if self.C_unlabeled is None else self.C_unlabeled
            guess = LabelMeans(problem, self.C, price).search(rounds, share)  # 2
            GuessedMargins(problem, guess, self.C, price).solve(rounds)  # 3
        return rounds.fit(facts={"share": share})
