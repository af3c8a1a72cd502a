"""PSVM: the preference SVM, which is told the precision or recall it must reach, and says how sure it is of it.

A threshold on the scores of a support vector machine trades precision for recall. Where it lies is chosen on labeled
rows that the machine was not trained on. In the paper these are half of the labels, and while the threshold is found
unlabeled rows join the training rows with soft labels (`preference_loop`). Here, by default, every label trains and
every label calibrates (`preference_cross`), and unlabeled rows join where the labels say that they help.
"""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from semisvm.dual import Status
from semisvm.estimators.base import BaseSVC
from semisvm.estimators.binary import BinaryFit, BinaryTask
from semisvm.estimators.preference_decision import PreferenceMixin
from semisvm.estimators.preference_learner import ALL, SvmLearner
from semisvm.estimators.preference_outcome import Outcome, beyond
from semisvm.estimators.repeats import Repeats, find_repeats
from semisvm.estimators.rounds import Rounds
from semisvm.labels import UNLABELED_CODE, Labels
from semisvm.sklearn_private import Interval


@dataclass(frozen=True)
class PreferenceFit(BinaryFit):
    """A binary fit with its operating point."""

    outcome: Outcome | None = None


class PreferenceSVC(PreferenceMixin, BaseSVC):
    """Support vector classifier that keeps a minimum precision or recall (PSVM), with unlabeled rows where they help.

    Fitting gives scores and a threshold on them, `predict` accepts what is above it. How far the threshold's promise
    reaches is part of the result: `operating_point_` says what it is expected to give, with intervals, and `audit_`
    what the threshold and the unlabeled rows each did.

    Parameters
    ----------
    C : float, default=1.0
        The price of a labeled row on the wrong side of its margin.
    min_precision, min_recall : float in (0, 1] or dict {class: float}, optional
        What is asked of the second of two classes, or of each of several against the rest. Both may be asked together.
        Among thresholds that give it the one with the best F1 is taken; without a preference, the best F1 of all.
    calibration : {"cross", "part", "full"}, default="cross"
        "cross": the threshold is chosen on out-of-fold scores of five folds, so that every label trains and every
        label calibrates. "part" is the paper's: a part of the labels calibrates, and the rest train. "full", also the
        paper's, trains and calibrates on the same labels and flatters itself.
    calibration_size : float, default=0.5
        The part of the labels that calibrates ("part"), and the part that is kept for the certificate.
    pool : {"grow", "rebuild"}, default="grow"
        For "part" and "full": soft labels stay once they are given (the paper's INC), or are made anew in each round
        (REC).
    adjust : {"best", "paper"} or None, default="best"
        For "part" and "full": how the threshold above which unlabeled rows are taken for positive is found in each
        round (`semisvm.decision.adjust`); None leaves it at 0, and all unlabeled rows are labeled at once.
    C_unlabeled : float, optional
        The price of rows with soft labels; by default C, as in the paper.
    certify : float, optional
        The risk of a certificate: with 0.1, the target holds with probability 90% over the draw of the labels kept
        for it (`calibration_size` of them, used for nothing else; of several classes each has its own risk). Where
        they are too few, `operating_point_` says how many it would take.
    max_rounds : int, default=20
        For "part" and "full": most trainings.
    kernel, degree, gamma, coef0, costs, class_weight, unlabeled, tol, max_iter, time_limit, cache_size, device, verbose
        As in `SupervisedSVC`; ``gamma="scale"`` looks at the rows in training. Costs multiply C_unlabeled
        too, by the label that a row is given. max_iter and time_limit hold for all rounds of a binary problem.
    random_state : int, RandomState or None, default=None
        Deals the labels into parts and folds.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_, intercept_, n_iter_
        As in `SupervisedSVC`, one-vs-rest for several classes. The intercept is the machine's own.
    threshold_ : (n_problems,) what is taken off the scores: `decision_function` is above 0 where a class is accepted.
        With several classes the largest such difference wins, whether one class accepts the row, several or none.
    operating_point_ : the `OperatingPoint` in use, {class: point} for several classes.
    audit_ : {"supervised": point, "supervised + threshold": point, "with unlabeled": point}, measured alike; for
        several classes {class: that}.
    calibration_scores_, calibration_sign_ : what the operating point was chosen on; for several classes by class.
    transduction_ : a label for every row of X: its own, or the prediction where it has none.
    labeled_iter_ : the round that gave it its last soft label; 0 for the user's own, -1 for rows without one.
    history_ : a record a round: precision, recall and F1 on the calibration rows at the threshold 0 and at the adjusted
        one, both thresholds, how many rows have a soft label of each sign, steps and seconds so far.
    termination_condition_ : "converged"; "cycle" where remade soft labels came back, "max_rounds"; a reason of the
        solver's where a limit came first.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import PreferenceSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[200:] = -1  # all but two hundred labels are hidden
    >>> model = PreferenceSVC(min_precision=0.95, random_state=0).fit(scale(X), y)
    >>> model.operating_point_.level, model.operating_point_.reached
    ('cross-fitted', True)
    """

    multi_class = "ovr"  # a target is of one class against the rest

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{name: rule for name, rule in BaseSVC._parameter_constraints.items() if name != "multi_class"},
        **PreferenceMixin._preference_constraints,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        C=1.0,
        *,
        min_precision=None,
        min_recall=None,
        calibration="cross",
        calibration_size=0.5,
        pool="grow",
        adjust="best",
        C_unlabeled=None,
        certify=None,
        max_rounds=20,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        costs=None,
        class_weight=None,
        unlabeled=-1,
        tol=1e-3,
        max_iter=None,
        time_limit=None,
        cache_size=None,
        device="auto",
        random_state=None,
        verbose=False,
    ):
        self.C = C
        self.min_precision = min_precision
        self.min_recall = min_recall
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.pool = pool
        self.adjust = adjust
        self.C_unlabeled = C_unlabeled
        self.certify = certify
        self.max_rounds = max_rounds
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.costs = costs
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.cache_size = cache_size
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _rows_set_aside(self, labels: Labels, weight: np.ndarray) -> np.ndarray:
        return self._ask(labels, weight)

    def _fit_pairs(self, X, labels: Labels, weight) -> list[BinaryFit]:
        """In the paper's rounds equal rows without a label get equal ones: one row, of the weight of all of them."""
        may_merge = isinstance(self.kernel, str) and self.kernel != "precomputed" and self.calibration != "cross"
        apart = np.where(labels.is_labeled, np.arange(len(labels.codes)), UNLABELED_CODE)
        repeats = find_repeats(X, apart) if may_merge else None
        self._copies = None if repeats is None else np.bincount(repeats.group)
        if repeats is None:
            return super()._fit_pairs(X, labels, weight)
        merged_X, merged_labels, merged_weight = repeats.merge(X, labels, weight)
        fits = super()._fit_pairs(merged_X, merged_labels, merged_weight)
        return [_dealt(fit, repeats, weight, merged_weight) for fit in fits]

    def _fit_binary(self, task: BinaryTask) -> PreferenceFit:
        rounds = Rounds(self, task)
        learner = SvmLearner(rounds, self.C, self.C if self.C_unlabeled is None else self.C_unlabeled)
        copies = np.ones(len(task.sign), dtype=np.intp) if self._copies is None else self._copies
        run = self._run_of(learner, task.sign, copies, self._problem_of(task.positive))
        with rounds.until_stopped():
            run.run()
        last = learner.newest.get(ALL, rounds.solution)
        outcome = run.outcome(unfinished=(last, last.decision_values))
        rounds.go_back(outcome.model)
        rounds.labeled_in = outcome.labeled_in
        return PreferenceFit(**vars(rounds.fit()), outcome=outcome)

    def _problem_of(self, positive: int) -> int:
        """Where the binary problem of a class is in lists of them."""
        return 0 if len(self.classes_) == 2 else positive

    def _learn(self, X, rows_in_use, labels: Labels, fits: list[BinaryFit]) -> None:
        super()._learn(X, rows_in_use, labels, fits)
        ends = [fit.outcome.ended for fit in fits if isinstance(fit, PreferenceFit) and fit.outcome is not None]
        if self.termination_condition_ == Status.CONVERGED:
            self.termination_condition_ = next((end for end in ends if end != Status.CONVERGED), "converged")
        self._warn_unless_reached()

    def _transduce(self, X, rows_in_use, labels: Labels, fits: list[BinaryFit]) -> None:
        """Settle the thresholds first: which label a row gets hangs on them."""
        self._learn_points(self._outcomes(X, labels, fits))
        beyond_threshold = [
            replace(fit, scores=beyond(fit.scores, threshold))
            for fit, threshold in zip(fits, self.threshold_, strict=True)
        ]
        super()._transduce(X, rows_in_use, labels, beyond_threshold)

    def _outcomes(self, X, labels: Labels, fits: list[BinaryFit]) -> list[Outcome | None]:
        """What each problem came to, certified where that was asked."""
        rows = self._certificate
        scores = self._scores(X[rows]) if len(rows) else np.empty((0, len(fits)))
        found: list[Outcome | None] = []
        for number, fit in enumerate(fits):
            outcome = fit.outcome if isinstance(fit, PreferenceFit) else None
            if outcome is not None and len(rows):
                sign = labels.sign(1 if len(fits) == 1 else number)[rows]
                outcome = self._certified(outcome, self._targets[number], scores[:, number], sign)
            found.append(outcome)
        return found

    def decision_function(self, X):
        """Scores minus thresholds: shape (n,) for two classes, (n, n_classes) for more; above 0 is accepted."""
        return self._decide(super().decision_function(X))


def _dealt(fit: BinaryFit, repeats: Repeats, weight: np.ndarray, merged_weight: np.ndarray) -> BinaryFit:
    """A fit on the distinct rows as a fit on all of them: copies share a coefficient as they share the weight."""
    group = repeats.group
    dealt = replace(fit, row_beta=weight * (fit.row_beta / merged_weight)[group], scores=fit.scores[group])
    if not isinstance(dealt, PreferenceFit) or dealt.outcome is None:
        return dealt
    outcome = dealt.outcome
    of_rows = {name: getattr(outcome, name)[group] for name in ("values", "is_unlabeled", "labeled_in")}
    return replace(dealt, rounds=of_rows["labeled_in"], outcome=replace(outcome, **of_rows))
