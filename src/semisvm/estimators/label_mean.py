"""CS4VM, the cost-sensitive semi-supervised SVM of Li, Kwok and Zhou (AAAI 2010); with equal costs, meanS3VM.

The unlabeled rows enter by the means of their two classes. With ten labels most labels of single rows can't be told,
and the means can: misplaced rows hardly move them. Three steps:

    the supervised machine         of the labeled rows (`hinge`)
    which rows are positive        by sorting and solving by turns (`label_mean_search`, Eq. 7)
    the machine of those guesses   every mistake at its cost (`label_mean_margin`, Eq. 6)
"""

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from semisvm.dual import DualSolution
from semisvm.estimators.binary import BinaryFit, BinaryTask
from semisvm.estimators.costs import MATRIX, SAMPLE_COST
from semisvm.estimators.fraction import Fraction, check_fraction_has_one_meaning, settle_fraction
from semisvm.estimators.guarding import GuardedSVC
from semisvm.estimators.hinge import hinge_problem
from semisvm.estimators.label_mean_margin import GuessedMargins
from semisvm.estimators.label_mean_search import LabelMeans
from semisvm.estimators.one_sided_guess import fit_one_sided
from semisvm.estimators.rounds import Rounds
from semisvm.labels import Labels
from semisvm.sklearn_private import Interval, StrOptions


class LabelMeanSVC(GuardedSVC):
    """Cost-sensitive support vector classifier of labeled and unlabeled rows (CS4VM, meanS3VM).

    Parameters
    ----------
    C : float, default=1.0
        The price of a labeled row on the wrong side of its margin.
    C_unlabeled : float, default=0.1
        The same for an unlabeled row, under the label it is guessed to have.
    costs : dict {class: cost of misclassifying it} or array of shape (n_classes, n_classes), optional
        As in `SupervisedSVC`; costs multiply C_unlabeled too, by the label that an unlabeled row is guessed to have.
        Without costs, or with equal ones, the method is meanS3VM. Only their ratio matters to the guesses.
        A matrix between more than two classes makes it one-sided regression, in which each unlabeled row is given a
        class such that their estimated costs are least and the classes have the shares that `positive_fraction` says.
    positive_fraction : {"labeled", "estimated"} or float, default="labeled"
        The fraction of unlabeled rows that are of the second class: as among the labeled rows; as the supervised
        machine sees it, inside the interval that the labels allow; or a number (two classes only). A wrong fraction is
        the main failure of this method: give a number where you know one. It is rounded up to a number of rows, at
        least one and at most all but one; rows count by their weights.
    guard : bool, default=True
        Where costs are given, compare the machine with predicting one class for every row, by the smoothed expected
        cost of labeled rows left out of the fit, and predict the constant where it is cheaper (`guard_` says so). With
        ten labels and a cost ratio of ten it nearly always is. The comparison takes a fit a label, 20 at most, and
        none where no outcome of them could help the machine.
    kernel, degree, gamma, coef0, class_weight, multi_class, unlabeled, tol, max_iter, time_limit, cache_size, \
device, verbose
        As in `SupervisedSVC`; ``gamma="scale"`` looks at all rows. max_iter and time_limit hold for all rounds of a
        binary problem together, with a cost matrix for each solve, and for each fit of the guard anew.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_, intercept_, n_iter_, termination_condition_, guard_
        As in `SupervisedSVC`.
    transduction_ : a label for every row of X: its own, or the prediction.
    labeled_iter_ : the round in which an unlabeled row was last given the guess that was trained on; 0 for the
        user's own labels.
    positive_fraction_ : (n_problems,) the fraction in use; `positive_fraction_interval_`, (n_problems, 2), where the
        labels allow it to lie (90%).
    history_ : a record a round, `objective` among its entries. The first is of the supervised machine and has the
        fraction; then one for each time the label means were moved, with the number of guesses that `changed`; the
        last is of the final machine, with the number of `opposite` pieces it needed and of guesses that it
        `contradicted`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import LabelMeanSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    >>> y[20:] = -1  # all but twenty labels are hidden
    >>> model = LabelMeanSVC(kernel="linear", costs={0: 5, 1: 1}, positive_fraction=0.6).fit(X, y)
    >>> model.predict(X[20:23])
    array([1, 1, 0])
    >>> model.guard_["constant"] is None  # the machine is worth having
    True
    """

    _honors = frozenset({MATRIX, SAMPLE_COST})
    _few_rows = 256  # beyond it no solve is carried on past tol, and the kernel matrix is most of the work
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GuardedSVC._parameter_constraints,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither")],
        "positive_fraction": [StrOptions({"labeled", "estimated"}), Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        C=1.0,
        *,
        C_unlabeled=0.1,
        costs=None,
        positive_fraction="labeled",
        guard=True,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        class_weight=None,
        multi_class="ovr",
        unlabeled=-1,
        tol=1e-3,
        max_iter=None,
        time_limit=None,
        cache_size=None,
        device="auto",
        verbose=False,
    ):
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.costs = costs
        self.positive_fraction = positive_fraction
        self.guard = guard
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.cache_size = cache_size
        self.device = device
        self.verbose = verbose

    def _fit_pairs(self, X, labels: Labels, weight) -> list[BinaryFit]:
        if self._costs.matrix is None:
            return super()._fit_pairs(X, labels, weight)
        check_fraction_has_one_meaning(self.positive_fraction, labels.n_classes)
        known = [fit.history[0] for fit in self._known.values()]
        shares = [Fraction(record["positive_fraction"], *record["interval"]) for record in known]
        return fit_one_sided(self, X, labels, weight, shares or None)

    def _fit_binary(self, task: BinaryTask) -> BinaryFit:
        check_fraction_has_one_meaning(self.positive_fraction, len(self.classes_))
        known = self._known.get(task.watch.name)
        rounds = Rounds(self, task)
        with rounds.until_stopped():
            supervised = rounds.solve(hinge_problem(task.kernel, task.sign, self.C * task.weight))
            fraction = self._settle_fraction(task, supervised, known)
            rounds.done(
                positive_fraction=fraction.value,
                interval=(fraction.low, fraction.high),
                objective=-supervised.objective,
            )
            if (task.sign == 0).sum() > 1:  # one row alone has no two means
                guess = LabelMeans(task, self.C, self.C_unlabeled).search(rounds, fraction)
                start = known.row_beta if known is not None and len(known.row_beta) == len(guess) else None
                GuessedMargins(task, guess, self.C, self.C_unlabeled).solve(rounds, start)
        return rounds.fit()

    def _settle_fraction(self, task: BinaryTask, supervised: DualSolution, known: BinaryFit | None) -> Fraction:
        """As asked; the guard's fits, which lack a label, keep that of all labels, lest the label lacking tell."""
        if known is not None:
            return Fraction(known.history[0]["positive_fraction"], *known.history[0]["interval"])
        return settle_fraction(self.positive_fraction, task.sign, supervised.decision_values, task.counts)

    def _class_shares(self, labels: Labels, weight, fits: list[BinaryFit]) -> np.ndarray:
        if labels.n_classes > 2 or not fits[0].history:  # a limit may have come before the first record
            return super()._class_shares(labels, weight, fits)
        positive = fits[0].history[0]["positive_fraction"]
        return np.array([1 - positive, positive])

    def _learn(self, X, rows_in_use, labels: Labels, fits: list[BinaryFit]) -> None:
        super()._learn(X, rows_in_use, labels, fits)
        starts = [record for record in self.history_ if "positive_fraction" in record]
        self.positive_fraction_ = np.array([record["positive_fraction"] for record in starts])
        self.positive_fraction_interval_ = np.array([record["interval"] for record in starts]).reshape(-1, 2)
