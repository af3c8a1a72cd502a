"""TSVM: the transductive support vector machine, by three algorithms that lower the same kind of objective.

    minimize over f and the unknown labels y_j, j unlabeled

        1/2 |w|^2 + C sum_labeled weight_i max(0, 1 - y_i f(x_i))
                  + C_unlabeled sum_unlabeled weight_j max(0, 1 - y_j f(x_j))

    with a given fraction of the y_j positive

The best y_j for a given f is its sign, so the last sum charges for every unlabeled row inside the margin: the
boundary is pushed to where rows are few. The problem has many local minima, and the algorithms differ in how they
pick their way: `transductive_switch` (the default), `transductive_cccp` and `transductive_anneal` say how.
"""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from semisvm.estimators.base import BaseSVC
from semisvm.estimators.binary import BinaryFit, BinaryTask
from semisvm.estimators.costs import SAMPLE_COST
from semisvm.estimators.fraction import check_fraction_has_one_meaning, settle_fraction
from semisvm.estimators.rounds import Rounds
from semisvm.estimators.transductive_anneal import SoftMachine
from semisvm.estimators.transductive_cccp import RampMachine
from semisvm.estimators.transductive_switch import SwitchMachine
from semisvm.labels import Labels
from semisvm.sklearn_private import Interval, StrOptions


class TransductiveSVC(BaseSVC):
    """Transductive support vector classifier (TSVM, S3VM) of labeled and unlabeled rows.

    Parameters
    ----------
    C : float, default=1.0
        The price of a labeled row on the wrong side of its margin.
    C_unlabeled : float, optional
        The same for unlabeled rows, under the label they are given; by default C.
    algorithm : {"switch", "cccp", "anneal"}, default="switch"
        "switch": guess by rank and switch pairs of labels while the objective falls, as C_unlabeled grows (Joachims
        1999). "cccp": a ramp loss lowered by a sequence of convex bounds, the classes balanced on average
        (Collobert et al. 2006). "anneal": soft labels that harden as a temperature falls (Sindhwani et al. 2006), at
        its best with a C_unlabeled below C (on SVMlight's Reuters example 21 errors at 0.3, against 24 by switching).
    positive_fraction : {"labeled", "estimated"} or float, default="labeled"
        The fraction of unlabeled rows that are of the second class: as among the labeled rows; as the supervised
        machine sees it, inside the interval that the labels allow; or a number (two classes only). It matters:
        a wrong fraction forces as many wrong labels.
    pairs_per_round : "auto" or int, default="auto"
        For "switch": how many pairs of labels are switched before solving again. "auto" switches all disjoint
        pairs that pay at once; 1 is Joachims' own way, slower and about as good.
    ramp : float, default=0.0
        For "cccp": the margin below which the loss is constant, above -1 and at most 0.
    kernel, degree, gamma, coef0, costs, class_weight, multi_class, unlabeled, tol, max_iter, time_limit, cache_size, \
device, verbose
        As in `SupervisedSVC`; ``gamma="scale"`` looks at all rows. Costs multiply C_unlabeled too, by the label that
        an unlabeled row is given. max_iter and time_limit hold for all rounds of a binary problem together.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_, intercept_, n_iter_, termination_condition_
        As in `SupervisedSVC`.
    transduction_ : a label for every row of X: its own, or the side of the boundary that it is on.
    labeled_iter_ : the round that gave it; 0 for the user's own labels.
    positive_fraction_ : (n_problems,) the fraction in use; `positive_fraction_interval_`, (n_problems, 2), where the
        labels allow it to lie (90%).
    history_ : a record a round, the objective among its entries.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import TransductiveSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> y[20:] = -1  # all but twenty labels are hidden
    >>> TransductiveSVC(kernel="linear", positive_fraction=0.6).fit(X, y).predict(X[20:23])
    array([1, 1, 0])
    """

    _honors = frozenset({SAMPLE_COST})
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), None],
        "algorithm": [StrOptions({"switch", "cccp", "anneal"})],
        "positive_fraction": [StrOptions({"labeled", "estimated"}), Interval(Real, 0, 1, closed="neither")],
        "pairs_per_round": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "ramp": [Interval(Real, -1, 0, closed="right")],
    }

    def __init__(
        self,
        C=1.0,
        *,
        C_unlabeled=None,
        algorithm="switch",
        positive_fraction="labeled",
        pairs_per_round="auto",
        ramp=0.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        costs=None,
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
        self.algorithm = algorithm
        self.positive_fraction = positive_fraction
        self.pairs_per_round = pairs_per_round
        self.ramp = ramp
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.costs = costs
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.cache_size = cache_size
        self.device = device
        self.verbose = verbose

    def _fit_binary(self, task: BinaryTask) -> BinaryFit:
        check_fraction_has_one_meaning(self.positive_fraction, len(self.classes_))
        machine = self._machine(task)
        rounds = Rounds(self, task)
        with rounds.until_stopped():
            rounds.solve(machine.supervised())
            fraction = settle_fraction(self.positive_fraction, task.sign, rounds.solution.decision_values)
            rounds.done(positive_fraction=fraction.value, interval=(fraction.low, fraction.high))
            if (task.sign == 0).any():
                machine.use_unlabeled(rounds, fraction)
        return machine.fit(rounds)

    def _machine(self, task: BinaryTask) -> SwitchMachine | RampMachine | SoftMachine:
        price = self.C if self.C_unlabeled is None else self.C_unlabeled
        if self.algorithm == "cccp" and (task.sign == 0).any():
            return RampMachine(task, self.C, price, self.ramp)
        if self.algorithm == "anneal":
            return SoftMachine(task, self.C, price)
        return SwitchMachine(task, self.C, price, None if self.pairs_per_round == "auto" else self.pairs_per_round)

    def _learn(self, X, rows_in_use, labels: Labels, fits: list[BinaryFit]) -> None:
        super()._learn(X, rows_in_use, labels, fits)
        starts = [record for record in self.history_ if "positive_fraction" in record]
        self.positive_fraction_ = np.array([record["positive_fraction"] for record in starts])
        self.positive_fraction_interval_ = np.array([record["interval"] for record in starts]).reshape(-1, 2)
